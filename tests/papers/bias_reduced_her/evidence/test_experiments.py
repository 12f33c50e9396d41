"""Every experiment at every scale: what is run, with which settings, and what is shared."""

import dataclasses

import pytest

from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS
from papers.bias_reduced_her.evidence.labels import TRAINING
from papers.bias_reduced_her.train import METHODS, Config
from papers.bias_reduced_her.worlds.tasks import TASKS

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
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.startswith(("own", "bootstrapped"))])
def test_own_experiments_change_one_setting_each(name, scale):
    plain = {(entry.env, entry.method, entry.seed): entry.config for entry in trained(scale)}
    for entry in EXPERIMENTS[name](scale):
        method, _, variant = entry.method.partition(" ")
        twin = dataclasses.asdict(plain[entry.env, method, entry.seed])  # a run of the figures to compare it with
        changed = {field for field, value in dataclasses.asdict(entry.config).items() if value != twin[field]}
        assert len(changed) == (2 if name == "own-grid" else 1) and variant, entry.method
