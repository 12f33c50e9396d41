"""Figure 5, drawn from the results of tiny runs; and the pictures of a goal that is being built."""

import numpy as np
import pytest

from envs.voxel_build import VoxelBuild
from lab.collecting import collect
from lab.results import Results, matrix
from papers.sibling_rivalry import build
from papers.sibling_rivalry.evidence import figures_build, watch
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS
from papers.sibling_rivalry.evidence.figures_build import PANELS, fig5, strip
from tests.papers.runs import weights


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Runs of the smoke scale, and their results, as a sweep leaves them."""
    root = tmp_path_factory.mktemp("runs")
    for entry in EXPERIMENTS["construction"]("smoke"):
        build.main(entry.config, entry.run_dir(root))
    collect("construction", "smoke", EXPERIMENTS["construction"]("smoke"), root, root / "results", own=True)
    return root


@pytest.fixture
def drawn(monkeypatch):
    canvases = []
    monkeypatch.setattr(figures_build, "save", lambda canvas, path: canvases.append(canvas))
    return canvases


def test_curves_are_those_of_the_results(root, drawn):
    fig5(Results(root / "results"), "smoke", None)
    frame = Results(root / "results").at("construction", "smoke")
    for ax, metric in zip(drawn[0].axes[4:], PANELS):
        lines = {line.get_label(): line.get_xydata() for line in ax.lines if line.get_linewidth() > 1}
        assert set(lines) == {"IMPALA", "IMPALA+SR"}
        for name, method in (("IMPALA", "impala"), ("IMPALA+SR", "impala-sr")):
            steps, values = matrix(frame, metric, method, "VoxelBuildSmall")
            np.testing.assert_allclose(lines[name], np.column_stack([steps, values.mean(axis=0)]))
            low, high = ax.get_ylim()
            assert low <= values.min() and values.max() <= high


@pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
def test_the_strip_goes_from_an_empty_arena_to_the_goal(scale, monkeypatch):
    pictured = []
    config = EXPERIMENTS["construction"](scale)[0].config
    cells = build.make_task(config).cells

    def picture(self, state, goal):
        pictured.append((state[:cells], goal))
        return np.zeros((2, 2, 3))

    monkeypatch.setattr(VoxelBuild, "picture", picture)
    steps = [step for _, step in strip(config)]
    assert steps[0] == 0 and steps == sorted(set(steps))
    wrong = [int((built != goal).sum()) for built, goal in pictured]
    assert wrong[0] > wrong[2] > wrong[3] == 0 and not pictured[0][0].any()


def test_a_trained_agent_can_be_watched(root):
    """Its environment draws, and it acts as its policy does; with a picture, too."""
    for settings in ({}, {"picture": (8, 8)}):
        config = build.Config(**{**vars(EXPERIMENTS["construction"]("smoke")[1].config), **settings})
        folder = root / f"watched {len(settings)}"
        build.main(config, folder)
        env, act = watch.player(config, weights(folder))
        seen, info = env.reset(seed=1)
        actions = [act(seen, info, np.random.default_rng(i)) for i in range(200)]
        assert len(set(map(int, actions))) > 10
        seen, *_ = env.step(actions[0])
        env.unwrapped.render_mode = "rgb_array"
        assert env.render().ndim == 3 and seen["observation"].shape == env.unwrapped.task.observation_shape
