"""What is particular to this paper's experiments: their settings, what they share, and what the README says of them."""

import collections
import re
from pathlib import Path

import pytest

from papers.sibling_rivalry import track, train_low_level
from papers.sibling_rivalry.build import Config as BuildConfig
from papers.sibling_rivalry.evidence import experiments
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS
from papers.sibling_rivalry.evidence.figures import FIGURES

SCALES = ("smoke", "quick", "full")
SEEDS = {"smoke": 1, "quick": 5, "full": 5}
OTHER_SEEDS = {  # experiment, kind of task, at quick; one run each on the whole grid at any scale
    ("track", "CircularTrack"): 3, ("corridors", "Corridor"): 3, ("u-mazes", "UMaze"): 3, ("epsilon", "PointMaze"): 3,
    ("starts", "PointMaze"): 10, ("starts", "PixelGrid"): 10,
}  # fmt: skip
ANTS = ("ant", "ant-oracle")
GRID = {"smoke": "PixelGrid-5-12", "quick": "PixelGrid-7-25", "full": "PixelGrid-13"}
THRESHOLDS = {"smoke": range(11), "quick": (0, 1, 2, 3, 5, 7, 10), "full": range(11)}
QUICK = {"PointMaze": 25, "Corridor": 10, "UMaze": 10, "PixelGrid": 10, "AntMazeSmall": 30}
"""Epochs at quick, by kind of task; at full there are 50."""
MAZES = [name for name in EXPERIMENTS if name not in ("track", "construction", "low-level")]
README = Path(experiments.__file__).parents[1] / "README.md"


def seeds_of(experiment, method, env, scale) -> int:
    if experiment == "whole-grid":
        return 1
    if experiment == "low-level":
        return SEEDS["smoke"] if scale == "smoke" else 3
    if experiment == "ant-short":
        return SEEDS[scale]
    if experiment in ANTS and scale == "quick":
        return 5 if method in ("ppo", "ppo-sr") else 3
    return OTHER_SEEDS.get((experiment, env.split("-")[0]), 5) if scale == "quick" else SEEDS[scale]


def variants(experiment, scale) -> int:
    """Methods and tasks of an experiment."""
    found = {"track": 3, "maze": 5, "grid": 6, "starts": 4, "oracle": 4, "weighting": 2}
    found |= {"whole-grid": 3 if scale == "smoke" else 4}
    found |= {"corridors": 12, "u-mazes": 12, "construction": 2, "low-level": 1}
    found |= {"ant": 4, "ant-oracle": 2, "ant-short": 2}
    return len(THRESHOLDS[scale]) if experiment == "epsilon" else found[experiment]


def settings_of(entry, scale, experiment) -> dict:
    """What a run of quick or full changes, by its scale, task and label; all else is the default."""
    kind, _, length = entry.env.partition("-")
    found: dict = dict(epochs=50 if scale == "full" else QUICK[kind])
    if experiment == "whole-grid":
        found = dict(epochs=10)
    if experiment == "ant-short":
        found = dict(epochs=12, eval_episodes=50)
    if entry.method.startswith("dqn") and (scale == "quick" or experiment == "whole-grid"):
        found |= {} if entry.method.endswith("(batches of 2560)") else dict(batch_size=256)
    if kind in ("Corridor", "UMaze") and entry.method == "ppo-sr":
        found |= dict(epsilon=int(length) / 2)
    if entry.method.endswith("(independent starts)"):
        found |= dict(independent_starts=True)
    elif entry.method.endswith("(one pool)"):
        found |= dict(worker_rollouts=80)
    elif variant := re.search(r"\((epsilon|side) (\d+)\)", entry.method):
        found[{"epsilon": "epsilon", "side": "cell_side"}[variant[1]]] = float(variant[2])
    if experiment in ANTS:
        pairs = {"quick": 50, "full": 100}[scale]
        found |= dict(eval_episodes=2 * pairs if entry.method == "ddpg-her" else pairs)
        if entry.method == "ppo-go" and scale == "quick":
            found |= dict(cell_side=1.0)
        if entry.method == "ddpg-her" and scale == "quick":
            most = 5 * 20 * 1_600 * found["epochs"]  # a transition and four in hindsight for each of 20 decisions
            found |= dict(capacity=5_000_000)
            assert most <= found["capacity"]
    if experiment == "epsilon" and found["epsilon"] == 5:
        del found["epsilon"]  # the default, as in Fig. 3
    return found


@pytest.mark.parametrize("scale", SCALES)
def test_every_variant_has_its_seeds(scale):
    for name, build in EXPERIMENTS.items():
        runs = collections.Counter((entry.method, entry.env) for entry in build(scale))
        assert len(runs) == variants(name, scale)
        assert all(count == seeds_of(name, *run, scale) for run, count in runs.items()), name


@pytest.mark.parametrize("scale", ["quick", "full"])
@pytest.mark.parametrize("name", MAZES)
def test_nothing_but_what_the_label_says_differs_from_the_defaults(name, scale):
    """The defaults are the paper's values, where it states any."""
    for entry in EXPERIMENTS[name](scale):
        config = entry.config
        assert (entry.method.partition(" ")[0], entry.env) == (config.method, config.env)
        assert config == type(config)(config.env, config.method, config.seed, **settings_of(entry, scale, name))


@pytest.mark.parametrize("scale", SCALES)
def test_runs_that_figures_share_are_trained_once(scale):
    def of(name, method, env="PointMaze"):
        chosen = [entry for entry in EXPERIMENTS[name](scale) if (entry.method, entry.env) == (method, env)]
        return [entry.run_dir(Path("runs")) for entry in chosen]

    maze = of("maze", "ppo-sr")
    assert of("oracle", "ppo-sr") == of("weighting", "ppo-sr") == of("starts", "ppo-sr")[: len(maze)] == maze != []
    ant = "AntMaze" if scale == "full" else "AntMazeSmall"
    assert of("ant", "ppo-sr", ant) == of("ant-oracle", "ppo-sr", ant) != []
    grid = of("grid", "ppo-sr", GRID[scale])
    assert of("starts", "ppo-sr", GRID[scale])[: len(grid)] == grid != []
    some = of("epsilon", "ppo-sr (epsilon 5)")
    assert maze[: len(some)] == some != []
    for experiment, env in (("corridors", "Corridor-10"), ("u-mazes", "UMaze-10")):
        assert of(experiment, "ppo-sr", env) == of(experiment, "ppo-sr (epsilon 5)", env)


def test_construction_is_the_papers_arena_with_a_picture_and_at_quick_a_small_one_without():
    for entry in EXPERIMENTS["construction"]("full"):
        assert entry.config == BuildConfig(method=entry.method, seed=entry.seed, picture=(24, 36))
    for entry in EXPERIMENTS["construction"]("quick"):
        assert entry.config == BuildConfig("VoxelBuildSmall", entry.method, entry.seed, episodes=100_000)


def test_quick_and_full_share_the_runs_of_track_whole_grid_short_ants_and_low_level_alone():
    quick, full = ({e.config for build in EXPERIMENTS.values() for e in build(scale)} for scale in ("quick", "full"))
    same = {entry.config for name in ("whole-grid", "ant-short") for entry in EXPERIMENTS[name]("full")}
    assert {type(c) for c in (quick & full) - same} == {track.Config, train_low_level.Config} and same < quick & full


def test_seeds_of_short_ants_are_not_used_again():
    short, long = (
        {entry.seed for name in names for entry in EXPERIMENTS[name]("quick")} for names in (["ant-short"], ANTS)
    )
    assert short == set(range(5)) and not short & long


def test_the_headline_is_the_point_maze_with_and_without_sibling_rivalry():
    entries = EXPERIMENTS["maze"]("quick") + EXPERIMENTS["ant"]("quick")
    chosen = [entry for entry in entries if experiments.HEADLINE["fig3"](entry)]
    assert {entry.env for entry in chosen} == {"PointMaze"}
    assert sorted((entry.method, entry.seed) for entry in chosen) == [
        (method, seed) for method in ("ppo", "ppo-sr") for seed in range(3)
    ]


# ---- README ----------------------------------------------------------------------------------------------------------


def episodes(config) -> int:
    return config.episodes if isinstance(config, BuildConfig) else 4_000 * config.epochs


def readme_rows() -> dict[str, list[str]]:
    """Figure -> what the README says of its runs at quick and at full."""
    rows = {}
    for line in README.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for number in re.findall(r"-fig(\d)`", cells[0]):
            rows[f"fig{number}"] = cells[2:4]
    return rows


def test_the_readme_counts_runs_and_episodes_as_they_are():
    rows = readme_rows()
    assert set(rows) == {name for name in FIGURES if name.startswith("fig")}
    for name, cells in rows.items():
        there = [one for one in FIGURES[name].experiments if one not in ANTS]  # the ant has lines of its own
        for cell, scale in zip(cells, ("quick", "full")):
            count, seeds = re.match(r"(\d+)(?: \w+)? x (\d+)", cell).groups()
            entries = [(one, entry) for one in there for entry in EXPERIMENTS[one](scale)]
            wanted = {seeds_of(one, entry.method, entry.env, scale) for one, entry in entries}
            assert int(count) == sum(variants(one, scale) for one in there), f"{name} at {scale}"
            assert {int(seeds)} == wanted, f"{name} at {scale}"
            said = {int(number.replace(",", "")) for number in re.findall(r"\d+,000", cell)}
            if said:  # all numbers of thousands are of episodes
                assert said == {episodes(entry.config) for _, entry in entries}, name
