"""Every experiment at every scale: what is run, with which settings, and what is shared."""

import dataclasses
import importlib
from collections import Counter
from pathlib import Path

import pytest

from papers.ter import batch_time, nchain, train, train_atari, train_sokoban
from papers.ter.evidence.experiments import EXPERIMENTS, GAMES, HEADLINE, METHODS, SOKOBAN, TASKS
from papers.ter.settings import check_shared

SCALES = ("smoke", "quick", "full")
ALL = [(name, scale) for name in EXPERIMENTS for scale in SCALES]
TRAINED = [name for name in EXPERIMENTS if name not in ("fig2", "table-b1")]
WITHOUT = ("own-target", "own-memory")  # in which the budget is what differs
FULL_STEPS = {"DoorKey": 6_000_000} | {
    "5x5-1": 1_000_000, "5x5-2": 1_000_000, "6x6-1": 1_000_000, "6x6-2": 5_000_000, "6x6-3": 10_000_000,
    "7x7-1": 3_000_000, "7x7-2": 5_000_000,
} | dict.fromkeys(GAMES, 2_500_000)  # fmt: skip
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
        if name in TRAINED:
            check_shared(entry.config)
            getattr(importlib.import_module(module), "check", check_shared)(entry.config)
    assert len({tuple(found) for found in seeds(entries).values()}) == 1  # all methods with the same seeds


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_unknown_scale_is_an_error(name):
    with pytest.raises(KeyError):
        EXPERIMENTS[name]("huge")


@pytest.mark.parametrize("name", [name for name in TRAINED if name not in WITHOUT])
def test_full_is_the_papers_protocol(name):
    """5 seeds, the paper's steps, and nothing else of the budget changed from the defaults of the train script."""
    entries = EXPERIMENTS[name]("full")
    for entry in entries:
        default = type(entry.config)()
        assert entry.config.steps == FULL_STEPS.get(entry.config.env, 3_000_000)
        for field in (*BUDGET[1:], "batch_size", "lr", "gamma", "eval_noise", "update_every", "epsilon_end",
                      "reward_scale", "per_alpha", "per_beta", "discor_tau", "timeout_is_done"):  # fmt: skip
            assert getattr(entry.config, field) == getattr(default, field)
        assert getattr(entry.config, "pixels", 84) == 84
    assert {tuple(found) for found in seeds(entries).values()} == {(0, 1, 2, 3, 4)}


def test_full_tasks_are_the_papers():
    for name in ("fig3a", "fig-f8", "fig-i11", "fig-j12"):
        assert {entry.env for entry in EXPERIMENTS[name]("full")} == set(TASKS)
    for name in ("fig3b", "own-memory"):
        assert {entry.env for entry in EXPERIMENTS[name]("full")} == set(SOKOBAN)
    for name in ("fig4", "fig5"):
        assert {entry.env for entry in EXPERIMENTS[name]("full")} == {"LavaCrossing-Hard", "Unlock", "6x6-2", "6x6-3"}
    assert {entry.env for entry in EXPERIMENTS["fig-m15"]("full")} == {"Pong", "Kangaroo", "Venture", "Freeway"}
    for name in ("fig-h10", "fig-k13"):
        tasks = {entry.config.env for entry in EXPERIMENTS[name]("full")}
        assert tasks == {"SimpleCrossing-Hard", "LavaCrossing-Hard"}
    assert {entry.config.env for entry in EXPERIMENTS["fig-g9"]("full")} == {"LavaCrossing-Hard"}
    assert len(TASKS) == len(SOKOBAN) == 7


def settings(name: str, scale: str = "full") -> dict:
    """Label -> settings of one run on the experiment's first task."""
    entries = EXPERIMENTS[name](scale)
    return {entry.method: entry.config for entry in entries if entry.env == entries[0].env}


def test_each_task_has_the_settings_of_its_world():
    """App. B: batch, target network and eta as on MiniGrid or Sokoban; RMSProp's step size on Atari."""
    kinds = {train.Config: (64, 1_000, 0.5, 3e-4), train_sokoban.Config: (32, 10_000, 0.1, 3e-4),
             train_atari.Config: (32, 10_000, 0.1, 2.5e-4)}  # fmt: skip
    for name, kind in [("fig3a", train.Config), ("fig3b", train_sokoban.Config), ("fig-m15", train_atari.Config)]:
        for entry in EXPERIMENTS[name]("full"):
            config = entry.config
            assert type(config) is kind
            assert (config.batch_size, config.target_interval, config.eta, config.lr) == kinds[kind]


@pytest.mark.parametrize("scale", SCALES)
def test_what_each_figure_varies(scale):
    for name in ("fig3a", "fig3b", "fig-m15"):
        assert {label: config.method for label, config in settings(name, scale).items()} == {m: m for m in METHODS}
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


@pytest.mark.parametrize("scale", SCALES)
def test_own_memory_changes_nothing_but_the_baselines_memory(scale):
    plain = {(entry.env, entry.method, entry.seed): entry.config for entry in EXPERIMENTS["fig3b"](scale)}
    small = 0
    for entry in EXPERIMENTS["own-memory"](scale):
        method, _, memory = entry.method.partition(" ")
        config = plain[entry.env, method, entry.seed]
        if memory:
            assert method != "ter" and memory == "(small memory)"
            assert entry.config.capacity * (20 if scale != "smoke" else 4) == config.capacity
            config, small = dataclasses.replace(config, capacity=entry.config.capacity), small + 1
        assert entry.config == config
    assert small == (len(plain) * 4 // 5 if scale == "full" else 4 * (1 if scale == "smoke" else 3))
    assert scale != "full" or entry.config.capacity == 50_000


@pytest.mark.parametrize("name", [name for name in TRAINED if name not in WITHOUT])
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
    # So it is on Sokoban.
    ter |= {entry.env: entry.config for entry in EXPERIMENTS["fig3b"](scale) if entry.method == "ter"}
    for name, label in (("fig4", "ter x0.25"), ("fig5", "eta=0.5"), ("fig5", "eta=0.1"), ("fig-i11", "ter"),
                        ("fig-k13", "d=3"), ("own-memory", "ter")):  # fmt: skip
        for entry in EXPERIMENTS[name](scale):
            other_share = label.startswith("eta") and label != f"eta={ter.get(entry.env, entry.config).eta:g}"
            if entry.method == label and entry.env in ter and not other_share:
                assert dataclasses.replace(entry.config, seed=0) == dataclasses.replace(ter[entry.env], seed=0)


def test_smoke_is_small_and_quick_is_smaller_than_full():
    for name in TRAINED:
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
