"""Figure 5: the pictures of a goal that is being built."""

import numpy as np
import pytest

from envs.voxel.build import VoxelBuild
from papers.sibling_rivalry import train_build
from papers.sibling_rivalry.evidence import watch
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS
from papers.sibling_rivalry.evidence.figures_build import strip
from tests.papers.runs import weights


@pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
def test_the_strip_goes_from_an_empty_arena_to_the_goal(scale, monkeypatch):
    pictured = []
    config = EXPERIMENTS["construction"](scale)[0].config
    cells = train_build.make_task(config).cells

    def picture(self, state, goal):
        pictured.append((state[:cells], goal))
        return np.zeros((2, 2, 3))

    monkeypatch.setattr(VoxelBuild, "picture", picture)
    steps = [step for _, step in strip(config)]
    assert steps[0] == 0 and steps == sorted(set(steps))
    wrong = [int((built != goal).sum()) for built, goal in pictured]
    assert wrong[0] > wrong[2] > wrong[3] == 0 and not pictured[0][0].any()


def test_a_trained_agent_can_be_watched(tmp_path):
    """Its environment draws, and it acts as its policy does; with a picture, too."""
    for settings in ({}, {"picture": (8, 8)}):
        config = train_build.Config(**{**vars(EXPERIMENTS["construction"]("smoke")[1].config), **settings})
        folder = tmp_path / f"watched {len(settings)}"
        train_build.main(config, folder)
        env, act = watch.player(config, weights(folder))
        seen, info = env.reset(seed=1)
        actions = [act(seen, info, np.random.default_rng(i)) for i in range(200)]
        assert len(set(map(int, actions))) > 10
        seen, *_ = env.step(actions[0])
        env.unwrapped.render_mode = "rgb_array"
        assert env.render().ndim == 3 and seen["observation"].shape == env.unwrapped.task.observation_shape
