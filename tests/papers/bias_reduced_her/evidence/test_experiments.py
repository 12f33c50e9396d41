"""Every experiment at every scale: what is run, with which settings, and what is shared."""

import dataclasses

import pytest

from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS
from papers.bias_reduced_her.evidence.labels import TRAINING
from papers.bias_reduced_her.train import METHODS, Config
from papers.bias_reduced_her.worlds import TASKS

SCALES = ("smoke", "quick", "full")


def trained(scale):
    return [entry for name in TRAINING.split("+") for entry in EXPERIMENTS[name](scale)]


@pytest.mark.parametrize(("scale", "seeds", "control"), [("smoke", 1, 1), ("quick", 10, 5), ("full", 15, 15)])
def test_three_tasks_five_methods_and_fresh_seeds(scale, seeds, control):
    found = [(entry.env, entry.method, entry.seed) for entry in trained(scale)]
    assert len(found) == 3 * (5 * seeds + control)
    counts = dict.fromkeys(METHODS, seeds) | {"none": control}
    assert set(found) == {(env, m, seed) for env in TASKS for m, n in counts.items() for seed in range(5, 5 + n)}


@pytest.mark.parametrize(("scale", "epochs"), [("quick", (100, 200, 100)), ("full", (200, 200, 200))])
def test_nothing_but_the_length_differs_from_the_defaults_and_curves_have_50_points(scale, epochs):
    """The defaults are the paper's values, where it states any."""
    length = dict(zip(("Hand", "HandWall", "Robot"), epochs, strict=True))
    for entry in trained(scale):
        run = Config(entry.env, entry.method, entry.seed, epochs=length[entry.env], eval_every=length[entry.env] // 50)
        assert entry.config == run


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("env", TASKS)
def test_one_budget_for_all_methods(scale, env):
    runs = [entry.config for entry in trained(scale) if entry.env == env]
    assert len({dataclasses.replace(config, method="her", seed=0) for config in runs}) == 1


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("own-grid", {f"{method} (20 x 20, sigma^2)": dict(grid=20, sigma_squared=True)
         for method in ("her-ibs", "filtered-her-ibs")}),
        ("own-goals", {f"{method} ({goals})": dict(goals=goals) for method in ("filtered-her", "filtered-her-ibs")
         for goals in ("mixture", "moving")}),
        ("own-her", {f"{method} (uniform replay)": dict(per_alpha=0.0) for method in ("her", "filtered-her")}
         | {f"{method} (bootstrapped)": dict(end_at_success=False) for method in ("her", "filtered-her")}
         | {"filtered-her (drawn again)": dict(redraw=True)}),
        ("own-penalty", {f"{method} (penalty 1)": dict(action_penalty=1.0) for method in ("her", "filtered-her")}),
    ],
)  # fmt: skip
def test_own_experiments_change_one_setting_each(name, changes, scale):
    found = EXPERIMENTS[name](scale)
    envs = set(TASKS) if name == "own-penalty" else {"Hand"}
    assert {entry.method for entry in found} == set(changes) and {entry.env for entry in found} == envs
    plain = {(entry.env, entry.method, entry.seed): entry.config for entry in trained(scale)}
    for entry in found:
        twin = plain[entry.env, entry.method.split()[0], entry.seed]  # a run of the figures to compare it with
        assert entry.config == dataclasses.replace(twin, **changes[entry.method]) != twin
