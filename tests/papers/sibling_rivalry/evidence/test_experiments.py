"""Every experiment at every scale: what is run, with which settings, and what is shared."""

import importlib
import re
from collections import Counter
from math import inf
from pathlib import Path

import pytest

from papers.sibling_rivalry import track, train, train_off_policy
from papers.sibling_rivalry.evidence import experiments
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS, HEADLINE, LENGTHS, entries
from papers.sibling_rivalry.evidence.figures import FIGURES
from papers.sibling_rivalry.evidence.labels import NAMES
from papers.sibling_rivalry.tasks import make_task

SCALES = ("smoke", "quick", "full")
SEEDS = {"smoke": 1, "quick": 3, "full": 5}
GRID = {"smoke": "PixelGrid-5-12", "quick": "PixelGrid-7-25", "full": "PixelGrid-13"}
RUNS = {"track": 3, "maze": 5, "grid": 6, "shapes": 22, "epsilon": 11, "starts": 4, "oracle": 4}
"""Per seed."""
QUICK = {"PointMaze": 15, "Corridor": 10, "UMaze": 10, "PixelGrid": 6}
"""Epochs at quick, by kind of task; at full there are 50."""
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


# ---- every entry -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_builds(name, scale):
    found = EXPERIMENTS[name](scale)
    assert max(Counter((entry.method, entry.env, entry.seed) for entry in found).values()) == 1
    kinds = Counter((entry.method, entry.env) for entry in found)
    assert len(kinds) == RUNS[name] and set(kinds.values()) == {SEEDS[scale]}
    for entry in found:
        module, function = entry.target.split(":")
        script = importlib.import_module(module)
        assert callable(getattr(script, function)) and isinstance(entry.config, script.Config)
        script.check(entry.config)
        config = entry.config
        assert (entry.method.partition(" ")[0], entry.env, entry.seed) == (config.method, config.env, config.seed)
        assert config.method in script.METHODS and entry.seed in range(SEEDS[scale])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_unknown_scale_is_an_error(name):
    with pytest.raises(KeyError):
        EXPERIMENTS[name]("huge")


@pytest.mark.parametrize("scale", ["quick", "full"])
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "track"])
def test_nothing_but_what_the_label_says_differs_from_the_defaults(name, scale):
    """The defaults are the paper's values, where it states any (test_train.py)."""
    for entry in EXPERIMENTS[name](scale):
        config = entry.config
        expected = type(config)(config.env, config.method, config.seed, **settings_of(entry, scale))
        assert config == expected


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "track"])
def test_smoke_is_tiny_and_every_trainer_can_be_made(name):
    for entry in EXPERIMENTS[name]("smoke"):
        config = entry.config
        off_policy = isinstance(config, train_off_policy.Config)
        trainer = (train_off_policy if off_policy else train).Trainer(config)
        assert trainer.task.max_steps <= 50
        assert config.epochs == 2 and config.eval_episodes <= 4
        played = config.cycles * config.episodes if off_policy else config.updates * config.rollouts
        assert config.epochs * played <= 32
        if off_policy:  # it learns, all the same, and needs no large memory
            assert config.warmup < config.epochs * played * 5 and config.capacity <= 5_000


# ---- each experiment -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("maze", ["ppo", "ppo-sr", "ppo-icm", "ppo-rnd", "ddpg-her"]),
        ("grid", ["ppo", "ppo-sr", "ppo-icm", "dqn-her", "dqn", "ppo-sr (epsilon 2)"]),
        ("epsilon", [f"ppo-sr (epsilon {e})" for e in range(11)]),
        ("oracle", ["ppo-sr", "ppo-go (side 1)", "ppo-go (side 2)", "ppo-go (side 3)"]),
    ],
)
def test_methods_of_one_task(name, methods, scale):
    env = GRID[scale] if name == "grid" else "PointMaze"
    assert list(dict.fromkeys((entry.method, entry.env) for entry in EXPERIMENTS[name](scale))) == [
        (method, env) for method in methods
    ]


@pytest.mark.parametrize("scale", SCALES)
def test_methods_of_several_tasks(scale):
    starts = {(entry.method, entry.env) for entry in EXPERIMENTS["starts"](scale)}
    assert starts == {(m, e) for m in ("ppo-sr", "ppo-sr (independent starts)") for e in ("PointMaze", GRID[scale])}
    shapes = {(entry.method, entry.env) for entry in EXPERIMENTS["shapes"](scale)}
    on_longest = [*(f"ppo-sr (epsilon {e})" for e in (1, 2, 3, 5)), "ppo-icm", "ddpg-her"]
    for name in ("Corridor", "UMaze"):
        expected = {("ppo-sr", f"{name}-{length}") for length in LENGTHS}
        expected |= {(method, f"{name}-{max(LENGTHS)}") for method in on_longest}
        assert {pair for pair in shapes if pair[1].startswith(name)} == expected
    assert list(LENGTHS) == sorted(LENGTHS)  # "the longest" is the last


def test_the_grid_of_full_is_the_papers():
    grids = {scale: make_task(env) for scale, env in GRID.items()}
    assert {scale: (g.goal_shape[1], g.max_steps) for scale, g in grids.items()} == {
        "smoke": (5, 12), "quick": (7, 25), "full": (13, 50),
    }  # fmt: skip


# ---- runs that experiments share -------------------------------------------------------------------------------------


def of(name, scale, method, env="PointMaze"):
    return [entry for entry in EXPERIMENTS[name](scale) if (entry.method, entry.env) == (method, env)]


@pytest.mark.parametrize("scale", SCALES)
def test_sibling_rivalry_in_the_point_maze_is_trained_once(scale):
    places = [("maze", "ppo-sr"), ("oracle", "ppo-sr"), ("starts", "ppo-sr"), ("epsilon", "ppo-sr (epsilon 5)")]
    runs = [[entry.run_dir(Path("runs")) for entry in of(name, scale, method)] for name, method in places]
    assert len(set(runs[0])) == SEEDS[scale] and all(other == runs[0] for other in runs)
    grid = [entry.config for entry in of("grid", scale, "ppo-sr", GRID[scale])]
    assert grid and grid == [entry.config for entry in of("starts", scale, "ppo-sr", GRID[scale])]
    for env in ("Corridor-10", "UMaze-10"):
        assert [e.config for e in of("shapes", scale, "ppo-sr", env)] == [
            e.config for e in of("shapes", scale, f"ppo-sr (epsilon {experiments.SHAPES_EPSILON:g})", env)
        ]


@pytest.mark.parametrize("scale", SCALES)
def test_all_other_runs_differ(scale):
    found = [entry for name in EXPERIMENTS for entry in EXPERIMENTS[name](scale)]
    directories = {entry.run_dir(Path("runs")) for entry in found}
    assert len(directories) == len({entry.config for entry in found})
    shared = 3 + 1 + 2  # ppo-sr: in the point maze, on the grid, on the longest corridor and U maze
    assert len(directories) == SEEDS[scale] * (sum(RUNS.values()) - shared)


def test_scales_share_no_runs():
    configs = [{entry.config for name in EXPERIMENTS for entry in EXPERIMENTS[name](scale)} for scale in SCALES]
    quick_and_full = {c for c in configs[1] & configs[2] if not isinstance(c, track.Config)}
    assert not quick_and_full and not {c for c in configs[0] if not isinstance(c, track.Config)} & configs[1]


# ---- names -----------------------------------------------------------------------------------------------------------


def test_a_suffix_names_what_settings_change():
    [entry] = entries("smoke", "PointMaze", ["ppo-sr"], " (epsilon 7)", epsilon=7.0)
    assert (entry.method, entry.config.method, entry.config.epsilon) == ("ppo-sr (epsilon 7)", "ppo-sr", 7.0)
    [entry] = entries("smoke", "Corridor-2", ["ddpg-her"], " (k 1)", k=1)
    assert (entry.method, entry.config.k, entry.target) == (
        "ddpg-her (k 1)", 1, "papers.sibling_rivalry.train_off_policy:main",
    )  # fmt: skip


def test_names_are_the_same_everywhere():
    assert set(HEADLINE) <= set(FIGURES)
    assert set(NAMES) == {*train.METHODS, *train_off_policy.METHODS}
    assert {name for figure in FIGURES.values() for name in figure.experiments} == set(EXPERIMENTS) == set(RUNS)


def readme_rows() -> dict[str, list[str]]:
    """Figure -> what the README says of its runs at quick and at full."""
    rows = {}
    for line in README.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for number in re.findall(r"-fig(\d)`", cells[0]):
            rows[f"fig{number}"] = cells[2:4]
    return rows


def test_the_readme_counts_runs_as_they_are():
    rows = readme_rows()
    assert set(rows) == {name for name in FIGURES if name.startswith("fig")}
    for name, cells in rows.items():
        [experiment] = FIGURES[name].experiments
        for cell, scale in zip(cells, ("quick", "full")):
            variants, seeds = re.match(r"(\d+)(?: \w+)? x (\d+)", cell).groups()
            assert (int(variants), int(seeds)) == (RUNS[experiment], SEEDS[scale]), f"{name} at {scale}"


def test_the_readme_knows_how_long_runs_are():
    """Where it says so: all numbers of thousands are of episodes."""
    for name, cells in readme_rows().items():
        for cell, scale in zip(cells, ("quick", "full")):
            said = {int(number.replace(",", "")) for number in re.findall(r"\d+,000", cell)}
            entries = [entry for experiment in FIGURES[name].experiments for entry in EXPERIMENTS[experiment](scale)]
            if said:
                assert said == {4_000 * entry.config.epochs for entry in entries}, f"{name} at {scale}: {cell}"
