"""Experiments as data: what a grid makes of its tables, and in which order."""

import pytest

from lab.sweep.grid import Scales, each, grid
from tests.lab import toy_train

BUDGET = Scales(smoke=dict(steps=10, pause=1.0), full=dict(steps=1_000))


def runs(experiment, scale="quick"):
    return [(entry.method, entry.env, entry.seed) for entry in experiment(scale)]


def test_tasks_then_variants_then_seeds_or_grouped_otherwise():
    both = grid(toy_train, ["Line", "Curve"], ["plain", "dies"], Scales(1, 2, range(5, 7)))
    assert runs(both)[:3] == [("plain", "Line", 0), ("plain", "Line", 1), ("dies", "Line", 0)]
    assert runs(both.by("seed"))[:3] == [("plain", "Line", 0), ("dies", "Line", 0), ("plain", "Curve", 0)]
    assert runs((both.by("seed")).by("env")) == sorted(runs(both), key=lambda run: (run[1] == "Curve", run[2]))
    assert runs(both + grid(toy_train, "Line", "raises", 1))[-2:] == [("dies", "Curve", 1), ("raises", "Line", 0)]
    assert {seed for _, _, seed in runs(both, "full")} == {5, 6} and len(runs(both, "smoke")) == 4
    assert runs(both.full_as_quick(), "full") == runs(both) != runs(both, "full")
    assert runs(both.only(lambda entry: entry.env == "Curve")) == [run for run in runs(both) if run[1] == "Curve"]


def test_a_task_goes_before_the_budget_and_a_variant_before_both():
    """A run is what its label says, also where its task needs more than others."""
    variants = {"plain (long)": dict(steps=2_000), "mine": dict(method="dies", pause=Scales(2.0, 3.0, 4.0))}
    tasks = {"Line (noisy)": {}, "hers": Scales(quick=dict(steps=7, pause=9.0)) | dict(env="Curve")}
    found = grid(toy_train, tasks, variants, 1, BUDGET)
    config = toy_train.Config
    assert [entry.config for entry in found("full")] == [
        config("Line", "plain", 0, 2_000), config("Line", "dies", 0, 1_000, pause=4.0),
        config("Curve", "plain", 0, 2_000), config("Curve", "dies", 0, 1_000, pause=4.0),
    ]  # fmt: skip
    assert [entry.config.steps for entry in found("quick")] == [2_000, 60, 2_000, 7]
    assert [entry.config.pause for entry in found("quick")][2:] == [9.0, 3.0]
    assert [entry.config.pause for entry in found("smoke")] == [1.0, 2.0, 1.0, 2.0]
    assert {(entry.target, entry.shared) for entry in found("smoke")} == {("tests.lab.toy_train:main", True)}
    assert not any(entry.shared for entry in grid(toy_train, "Line", "plain", 3, shared=False)("quick"))


def test_tables_of_settings_are_merged_scale_by_scale():
    merged = BUDGET | dict(steps=Scales(1, 2, 3)) | Scales(full=dict(pause=5.0))
    assert merged == Scales(dict(steps=1, pause=1.0), dict(steps=2), dict(steps=3, pause=5.0))
    assert each(merged, len) == Scales(2, 1, 2) and merged["quick"] == {"steps": 2}
    assert "long" not in merged and merged.get("long", 0) == 0 and len(merged) == 3


NIGHTS = Scales(dict(steps=10), dict(steps=100), dict(steps=900), long=dict(steps=300))


@pytest.mark.parametrize(
    ("seeds", "budget", "variants", "steps"),
    [
        (Scales(1, 5, 5, long=2), NIGHTS, {"plain": {}}, [300, 300]),
        (2, NIGHTS, "plain", [300, 300]),  # what is no table is the same at every scale
        (2, NIGHTS | dict(pause=1.0), {"plain": dict(pause=Scales(1.0, 2.0, 3.0, long=4.0))}, [300, 300]),
        (2, NIGHTS | Scales(smoke=dict(steps=1)), "plain", [300, 300]),  # merging changes only what it names
        (1, Scales(quick=dict(pause=1.0)) | NIGHTS, "plain", [300]),
        (Scales(1, 5, 5), NIGHTS, "plain", []),  # no table may be silent
        (2, BUDGET, "plain", []),
        (2, BUDGET | dict(pause=1.0), "plain", []),
        (2, NIGHTS | dict(pause=Scales(1.0, 2.0, 3.0)), "plain", []),
        (2, NIGHTS, {"plain": {}, "dies": Scales(quick=dict(pause=1.0))}, []),
        (2, NIGHTS, {"plain": dict(pause=Scales(1.0, 2.0, 3.0))}, []),
        (2, {}, "plain", []),  # nor all of them be absent
    ],
)
def test_long_is_planned_where_every_table_has_it(seeds, budget, variants, steps):
    found = grid(toy_train, "Line", variants, seeds, budget)
    assert [entry.config.steps for entry in found("long")] == steps
    assert all(found(scale) for scale in ("smoke", "quick", "full"))
    assert runs(found.full_as_quick(), "long") == runs(found, "long")


def test_a_function_of_a_table_has_its_scales():
    assert each(NIGHTS, lambda settings: settings["steps"]) == Scales(10, 100, 900, long=300)
    assert each(Scales(1, 2, 3), lambda n: -n) == Scales(-1, -2, -3)
