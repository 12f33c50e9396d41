"""What is particular to this paper's experiments: their settings, what they share, and what the README says of them."""

import re
from math import inf
from pathlib import Path

import pytest

from papers.sibling_rivalry import track
from papers.sibling_rivalry.evidence import experiments
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS
from papers.sibling_rivalry.evidence.figures import FIGURES

SCALES = ("smoke", "quick", "full")
SEEDS = {"smoke": 1, "quick": 3, "full": 5}
GRID = {"smoke": "PixelGrid-5-12", "quick": "PixelGrid-7-25", "full": "PixelGrid-13"}
RUNS = {"track": 3, "maze": 5, "grid": 6, "shapes": 22, "epsilon": 11, "starts": 4, "oracle": 4}
"""Per seed."""
QUICK = {"PointMaze": 15, "Corridor": 10, "UMaze": 10, "PixelGrid": 6}
"""Epochs at quick, by kind of task; at full there are 50."""
MAZES = [name for name in EXPERIMENTS if name != "track"]
README = Path(experiments.__file__).parents[1] / "README.md"


def settings_of(entry, scale) -> dict:
    """What a run of quick or full changes, by its scale, task and label; all else is the default."""
    kind = entry.env.split("-")[0]
    found: dict = dict(epochs=50) if scale == "full" else dict(epochs=QUICK[kind], adam_eps=1e-8)
    if kind == "PixelGrid" and scale == "quick" and entry.method.startswith("dqn"):
        found |= dict(batch_size=256)
    if kind == "PixelGrid" and entry.method.startswith("ppo-sr"):
        found |= dict(epsilon=inf, entropy=0.0)  # Table 1
    if kind in ("Corridor", "UMaze") and entry.method == "ppo-sr":
        found |= dict(epsilon=experiments.SHAPES_EPSILON)
    if entry.method.endswith("(independent starts)"):
        found |= dict(independent_starts=True)
    elif variant := re.search(r"\((epsilon|side) (\d+)\)", entry.method):
        found[{"epsilon": "epsilon", "side": "cell_side"}[variant[1]]] = float(variant[2])
    return found


@pytest.mark.parametrize("scale", ["quick", "full"])
@pytest.mark.parametrize("name", MAZES)
def test_nothing_but_what_the_label_says_differs_from_the_defaults(name, scale):
    """The defaults are the paper's values, where it states any."""
    for entry in EXPERIMENTS[name](scale):
        config = entry.config
        assert (entry.method.partition(" ")[0], entry.env) == (config.method, config.env)
        assert config == type(config)(config.env, config.method, config.seed, **settings_of(entry, scale))


@pytest.mark.parametrize("scale", SCALES)
def test_runs_that_figures_share_are_trained_once(scale):
    def of(name, method, env="PointMaze"):
        chosen = [entry for entry in EXPERIMENTS[name](scale) if (entry.method, entry.env) == (method, env)]
        return [entry.run_dir(Path("runs")) for entry in chosen]

    places = [("maze", "ppo-sr"), ("oracle", "ppo-sr"), ("starts", "ppo-sr"), ("epsilon", "ppo-sr (epsilon 5)")]
    assert len({tuple(of(*place)) for place in places}) == 1
    assert of("grid", "ppo-sr", GRID[scale]) == of("starts", "ppo-sr", GRID[scale])
    for env in ("Corridor-10", "UMaze-10"):
        assert of("shapes", "ppo-sr", env) == of("shapes", "ppo-sr (epsilon 1)", env)
    everything = {entry.run_dir(Path("runs")) for build in EXPERIMENTS.values() for entry in build(scale)}
    shared = 3 + 1 + 2  # ppo-sr: in the point maze, on the grid, on the longest corridor and U maze
    assert len(everything) == SEEDS[scale] * (sum(RUNS.values()) - shared)


def test_quick_and_full_share_the_runs_of_the_track_alone():
    quick, full = ({e.config for build in EXPERIMENTS.values() for e in build(scale)} for scale in ("quick", "full"))
    assert {type(config) for config in quick & full} == {track.Config}


# ---- README ----------------------------------------------------------------------------------------------------------


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
        [experiment] = FIGURES[name].experiments
        for cell, scale in zip(cells, ("quick", "full")):
            variants, seeds = re.match(r"(\d+)(?: \w+)? x (\d+)", cell).groups()
            assert (int(variants), int(seeds)) == (RUNS[experiment], SEEDS[scale]), f"{name} at {scale}"
            said = {int(number.replace(",", "")) for number in re.findall(r"\d+,000", cell)}
            if said:  # all numbers of thousands are of episodes
                assert said == {4_000 * entry.config.epochs for entry in EXPERIMENTS[experiment](scale)}, name
