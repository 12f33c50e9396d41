"""Every experiment at every scale: what is run, with which settings, and what is shared."""

import dataclasses
import importlib
from collections import Counter
from pathlib import Path

import pytest

from envs.minigrid_tasks import TASKS
from papers.ter import batch_time, nchain, train
from papers.ter.experiments import EXPERIMENTS, HEADLINE, METHODS

SCALES = ("smoke", "quick", "full")
ALL = [(name, scale) for name in EXPERIMENTS for scale in SCALES]
ON_MINIGRID = [name for name in EXPERIMENTS if name not in ("fig2", "table-b1")]
BUDGET = ("steps", "capacity", "warmup", "epsilon_steps", "target_interval", "eval_every", "eval_episodes")


def seeds(entries) -> dict:
    found: dict = {}
    for entry in entries:
        found.setdefault((entry.method, entry.env), []).append(entry.seed)
    return found


@pytest.mark.parametrize(("name", "scale"), ALL)
def test_every_experiment_builds(name, scale):
    entries = EXPERIMENTS[name](scale)
    assert entries
    assert max(Counter((entry.method, entry.env, entry.seed) for entry in entries).values()) == 1
    for entry in entries:
        module, function = entry.target.split(":")
        assert callable(getattr(importlib.import_module(module), function))
        assert entry.config.seed == entry.seed
        assert entry.env.startswith(entry.config.env)
        if isinstance(entry.config, train.Config):
            train.check(entry.config)
    assert len({tuple(found) for found in seeds(entries).values()}) == 1  # all methods with the same seeds


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_unknown_scale_is_an_error(name):
    with pytest.raises(KeyError):
        EXPERIMENTS[name]("huge")


@pytest.mark.parametrize("name", [name for name in ON_MINIGRID if name != "own-target"])
def test_full_is_the_papers_protocol(name):
    """5 seeds, 3M steps, 6M for DoorKey, and nothing of the budget changed from the defaults."""
    default = train.Config()
    entries = EXPERIMENTS[name]("full")
    for entry in entries:
        assert entry.config.steps == (6_000_000 if entry.config.env == "DoorKey" else 3_000_000)
        for field in (*BUDGET[1:], "batch_size", "lr", "gamma", "eval_noise", "update_every", "epsilon_end",
                      "reward_scale", "per_alpha", "per_beta", "discor_tau", "timeout_is_done"):  # fmt: skip
            assert getattr(entry.config, field) == getattr(default, field)
    assert {tuple(found) for found in seeds(entries).values()} == {(0, 1, 2, 3, 4)}


def test_full_tasks_are_the_papers():
    for name in ("fig3a", "fig-f8", "fig-i11", "fig-j12"):
        assert {entry.env for entry in EXPERIMENTS[name]("full")} == set(TASKS)
    for name in ("fig4", "fig5"):
        assert {entry.env for entry in EXPERIMENTS[name]("full")} == {"LavaCrossing-Hard", "Unlock"}
    for name in ("fig-h10", "fig-k13"):
        tasks = {entry.config.env for entry in EXPERIMENTS[name]("full")}
        assert tasks == {"SimpleCrossing-Hard", "LavaCrossing-Hard"}
    assert {entry.config.env for entry in EXPERIMENTS["fig-g9"]("full")} == {"LavaCrossing-Hard"}
    assert len(TASKS) == 7


def settings(name: str, scale: str = "full") -> dict[str, train.Config]:
    """Label -> settings of one run."""
    return {entry.method: entry.config for entry in EXPERIMENTS[name](scale)}


@pytest.mark.parametrize("scale", SCALES)
def test_what_each_figure_varies(scale):
    assert {label: config.method for label, config in settings("fig3a", scale).items()} == {m: m for m in METHODS}
    ratios = {(config.method, config.replay_ratio) for config in settings("fig4", scale).values()}
    baselines = {(method, ratio) for method in METHODS if method != "ter" for ratio in (0.25, 1.0, 2.0)}
    assert ratios == baselines | {("ter", 0.25)}
    fig5 = settings("fig5", scale)
    assert {config.eta for config in fig5.values()} == {0.0, 0.05, 0.1, 0.2, 0.5, 0.7}
    assert {config.method for config in fig5.values()} == {"ter"}
    ter, ebu = sorted(settings("fig6", scale).values(), key=lambda config: config.method, reverse=True)
    assert (ter.method, ter.roots, ter.predecessors, ter.eta) == ("ter", 1, 1, 0.0)
    assert (ebu.method, ebu.ebu_beta, ebu.ebu_timeouts) == ("ebu", 0.0, False)
    assert {config.ebu_beta for config in settings("fig-f8", scale).values()} == {0.0, 0.25, 0.5, 0.75, 1.0}
    assert {config.random_action_probability for config in settings("fig-g9", scale).values()} == {0.1}
    assert settings("fig-i11", scale)["ebu + per"].ebu_per_share == settings("fig-i11", scale)["ter"].eta == 0.5
    assert not settings("fig-j12", scale)["ebu (no timeout)"].ebu_timeouts
    assert settings("fig-j12", scale)["ebu"].ebu_timeouts
    assert {config.projection_dim for config in settings("fig-k13", scale).values()} >= {1, 3}
    assert set(settings("table-b1", scale)) == set(METHODS)
    assert set(settings("fig2", scale)) == set(nchain.METHODS)


@pytest.mark.parametrize("scale", SCALES)
def test_endless_tasks_and_their_ordinary_twins(scale):
    endless, ordinary = Counter(), Counter()
    for entry in EXPERIMENTS["fig-h10"](scale):
        (endless if entry.config.pseudo_terminal else ordinary)[(entry.method, entry.config.env, entry.seed)] += 1
        assert ("no terminal" in entry.env) == entry.config.pseudo_terminal
    assert endless == ordinary


@pytest.mark.parametrize("scale", SCALES)
def test_own_target_changes_nothing_but_the_interval(scale):
    for entry in EXPERIMENTS["own-target"](scale):
        [plain] = [e for e in EXPERIMENTS["fig3a"](scale) if (e.config.env, e.method, e.seed) == (
            entry.env, entry.method.split()[0], entry.seed)]  # fmt: skip
        interval = int(entry.method.rstrip(")").split()[-1])
        assert entry.config == dataclasses.replace(plain.config, target_interval=interval)
        assert interval in (plain.config.target_interval, plain.config.target_interval // 5)


@pytest.mark.parametrize("name", [name for name in ON_MINIGRID if name != "own-target"])
@pytest.mark.parametrize("scale", SCALES)
def test_one_budget_for_all_methods(name, scale):
    """No method is given more steps, evaluations or memory than another on the same task."""
    budgets: dict = {}
    for entry in EXPERIMENTS[name](scale):
        fields = (*BUDGET, "batch_size", "lr", "gamma", "reward_scale")
        budgets.setdefault(entry.env, set()).add(tuple(getattr(entry.config, field) for field in fields))
    assert all(len(found) == 1 for found in budgets.values())


@pytest.mark.parametrize("scale", SCALES)
def test_runs_that_experiments_share_are_trained_once(scale):
    root = Path("runs")
    directory_of: dict = {}
    shared = Counter()
    for experiment in EXPERIMENTS.values():
        for entry in experiment(scale):
            known = directory_of.setdefault(entry.config, entry.run_dir(root))
            assert entry.run_dir(root) == known
            shared[known] += 1
    assert len(set(directory_of.values())) == len(directory_of)  # and no two configs share a directory
    assert max(shared.values()) >= 4
    # TER as it is in Fig. 3a is also in Figs. 4, 5, I.11, J.12 and K.13 wherever the task is the same.
    ter = {entry.env: entry.config for entry in EXPERIMENTS["fig3a"](scale) if entry.method == "ter"}
    for name, label in (("fig4", "ter x0.25"), ("fig5", "eta=0.5"), ("fig-i11", "ter"), ("fig-k13", "d=3")):
        for entry in EXPERIMENTS[name](scale):
            if entry.method == label and entry.env in ter:
                assert dataclasses.replace(entry.config, seed=0) == dataclasses.replace(ter[entry.env], seed=0)


def test_smoke_is_small_and_quick_is_smaller_than_full():
    for name in ON_MINIGRID:
        assert all(entry.config.steps <= 1000 for entry in EXPERIMENTS[name]("smoke"))
        longest = max(entry.config.steps for entry in EXPERIMENTS[name]("quick"))
        assert longest < min(entry.config.steps for entry in EXPERIMENTS[name]("full"))


def test_the_headline_is_part_of_it():
    assert set(HEADLINE) <= set(EXPERIMENTS)


def test_every_batch_that_is_timed_can_be_made():
    for scale in SCALES:
        for entry in EXPERIMENTS["table-b1"](scale):
            assert isinstance(entry.config, batch_time.Config)
            assert 324 <= entry.config.warmup <= entry.config.steps - 4
    assert EXPERIMENTS["table-b1"]("full")[0].config.steps == 1_000_000
