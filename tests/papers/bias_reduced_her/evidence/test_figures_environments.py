"""Figs. 1 and 2: what they show."""

import numpy as np

from envs.throwing.experts import HandExpert
from envs.throwing.physics import WALL, WORKSPACE
from envs.throwing.tasks import GOAL_BOX, TOLERANCE, HandWall
from papers.bias_reduced_her.evidence.figures import FIGURES
from papers.bias_reduced_her.evidence.figures_environments import FLOOR, throw
from tests.papers.drawn import draw


def test_a_throw_is_pictured_while_the_ball_is_held():
    env = HandWall(render_mode="rgb_array")
    picture, flight = throw(env, HandExpert(WALL), (0.7, 0.4))
    assert np.hypot(*(flight[-1] - [0.7, 0.4])) < TOLERANCE
    assert np.hypot(*(flight[0] - HandExpert.start)) < 0.15 and flight[0, 0] < WORKSPACE[1]  # it begins as it is let go
    assert flight[:, 1].max() > WALL[1]
    assert not np.array_equal(env.render(), picture)  # by now the gripper is open and the ball far away


def test_fig2_shows_the_kernel_over_the_box_of_goals():
    centres = (np.arange(10) + 0.5) / 10
    for ax, variance in zip(draw(FIGURES["fig2"]).axes, (0.04, 0.2)):
        shown = ax.images[0].get_array()
        assert shown.shape == (10, 10) and shown.min() == FLOOR == 0.002
        # a kernel that is a product of one in x and one in y, over a box: so is the integral over the box
        inside = [low + (high - low) * (np.arange(1000) + 0.5) / 1000 for low, high in (GOAL_BOX[:2], GOAL_BOX[2:])]
        sums = [np.exp(-((centres[:, None] - goals) ** 2) / (2 * variance)).sum(axis=1) for goals in inside]
        expected = np.outer(sums[1], sums[0])  # rows are y
        np.testing.assert_allclose(shown, np.maximum(expected / expected.sum(), FLOOR), rtol=1e-5)
