"""Figs. 1 and 2: what they show, and the same bytes each time."""

import numpy as np
import pytest

from envs.throwing import GOAL_BOX, TOLERANCE, HandWall
from envs.throwing_experts import HandExpert
from envs.throwing_physics import WALL, WORKSPACE
from lab.results import Results
from papers.bias_reduced_her.evidence import figures_environments
from papers.bias_reduced_her.evidence.figures_environments import FLOOR, fig1, fig2, throw


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draw a figure without results: its canvas and the bytes of its file."""

    def draw(figure, name="a.png"):
        canvases = []
        save = figures_environments.save

        def keep(canvas, path):
            canvases.append(canvas)
            save(canvas, path)

        with monkeypatch.context() as patch:
            patch.setattr(figures_environments, "save", keep)
            figure(Results(tmp_path), "quick", tmp_path / name)
        return canvases[0], (tmp_path / name).read_bytes()

    return draw


def test_fig1_shows_each_task_and_the_flight_to_its_black_hole(drawn):
    canvas, _ = drawn(fig1)
    assert [ax.get_title() for ax in canvas.axes] == ["(a) Hand", "(b) HandWall", "(c) Robot"]
    pictures = [ax.images[0].get_array() for ax in canvas.axes]
    assert len({picture.tobytes() for picture in pictures}) == 3
    for ax in canvas.axes:
        dots = ax.collections[0].get_offsets()
        assert np.hypot(*(dots[-1] - [0.83, 0.33])) < TOLERANCE
        assert len(dots) > 3 and (np.diff(dots[:, 0]) > 0).all()
        assert dots[:, 1].max() < ax.get_ylim()[1] and dots[0, 0] < GOAL_BOX[0]


def test_a_throw_is_pictured_while_the_ball_is_held():
    env = HandWall(render_mode="rgb_array")
    picture, flight = throw(env, HandExpert(WALL), (0.7, 0.4))
    assert picture.shape == (480, 480, 3)
    start = HandExpert.start
    assert np.hypot(*(flight[0] - start)) < 0.15 and flight[0, 0] < WORKSPACE[1]  # the flight begins at the swing's end
    assert flight[:, 1].max() > WALL[1]
    after = env.render()
    assert not np.array_equal(after, picture)  # by now the gripper is open and the ball far away


def test_fig2_shows_the_kernel_over_the_box_of_goals(drawn):
    canvas, _ = drawn(fig2)
    panels, bars = canvas.axes[:2], canvas.axes[2:]
    assert [ax.get_title() for ax in panels] == ["$\\sigma$ = 0.2", "$\\sigma^2$ = 0.2"]
    assert len(bars) == 2 and all(bar.get_ylabel() for bar in bars)
    centres = (np.arange(10) + 0.5) / 10
    for ax, variance in zip(panels, (0.04, 0.2)):
        shown = ax.images[0].get_array()
        assert shown.shape == (10, 10) and shown.min() == FLOOR == 0.002
        # a kernel that is a product of one in x and one in y, over a box: so is the integral over the box
        inside = [low + (high - low) * (np.arange(1000) + 0.5) / 1000 for low, high in (GOAL_BOX[:2], GOAL_BOX[2:])]
        sums = [np.exp(-((centres[:, None] - goals) ** 2) / (2 * variance)).sum(axis=1) for goals in inside]
        expected = np.outer(sums[1], sums[0])  # rows are y
        np.testing.assert_allclose(shown, np.maximum(expected / expected.sum(), FLOOR), rtol=1e-5)
        assert ax.images[0].origin == "lower" and ax.images[0].get_extent() == [0, 1, 0, 1]
        [box] = ax.patches
        assert (*box.get_xy(), box.get_width(), box.get_height()) == pytest.approx((0.65, 0.2, 0.3, 0.3))
