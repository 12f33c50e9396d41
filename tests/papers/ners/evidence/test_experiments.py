"""What is particular to this paper's experiments; tests/papers/test_evidence.py builds them all."""

from dataclasses import replace

import pytest

from lab.identity import run_name
from papers.ners import pendulum_draws, train, train_rainbow
from papers.ners.evidence import experiments, plan
from papers.ners.evidence.experiments import EXPERIMENTS
from papers.ners.evidence.figures import FIGURES
from papers.ners.evidence.labels import split
from papers.ners.evidence.paper_values import BASELINES, FIG5, RANDOM_STEPS, TABLE2, TIME_LIMITS
from papers.ners.methods import METHODS
from papers.ners.samplers import Settings
from papers.ners.tasks import TASKS, make_env

SCALES = ("smoke", "quick", "full")
VARIANTS = {
    "sac ners*": dict(replay_reward="training"), "sac ners few": dict(features="few"),
    "sac ners no-global": dict(global_context=False),
}  # fmt: skip


def configs(name: str, scale: str) -> dict:
    return {(entry.method, entry.env, entry.seed): entry.config for entry in EXPERIMENTS[name](scale)}


@pytest.mark.parametrize("scale", SCALES)
def test_what_is_run_is_what_is_planned(scale):
    """Every agent and task with every sampler (with variants in Fig. 4) and the same seeds for each."""
    for name in EXPERIMENTS:
        found = configs(name, scale)
        assert {(split(method)[0], env) for method, env, _ in found} == {*plan.cells(name, scale)}
        for env in plan.tasks(name, scale):
            methods = {method for method, at, _ in found if at == env}
            assert len(methods) == {"fig1": 1, "own-td3-lr": 3}.get(name, 4 * len(plan.AGENTS[name]) + len(
                methods & VARIANTS.keys()))  # fmt: skip
            seeds = plan.seeds(scale, env, name)
            assert {(m, env, seed) for m in methods for seed in seeds} == {key for key in found if key[1] == env}
    assert {env for name in ("fig3", "fig4", "table1", "table3") for env in plan.FULL[name]} <= {*TASKS}
    assert {name for figure in FIGURES.values() for name in figure.experiments} == set(EXPERIMENTS)


def test_the_games_are_those_of_table_2_and_quick_has_two_where_ners_gains_the_largest_share():
    """Of the best other sampler's return, where that is positive."""
    assert len(set(plan.GAMES)) == 16 and {game for _, game in TABLE2} == set(plan.GAMES)
    best = {game: max(cell[other] for other in BASELINES) for (_, game), cell in TABLE2.items()}
    shares = {game: TABLE2["rainbow", game]["ners"] / best[game] - 1 for game in plan.GAMES if best[game] > 0}
    assert sorted(shares, key=lambda game: -shares[game])[:2] == list(plan.QUICK_GAMES)


def test_full_is_the_papers_protocol():
    """Nothing is set but what the label says; the defaults are the paper's (test_train.py)."""
    for name in ("fig3", "table1"):
        for (_, env, seed), c in configs(name, "full").items():
            lr = 1e-3 if c.agent == "td3" else None
            assert c == train.Config(env, c.method, c.agent, seed, lr=lr) and c.steps == 500_000
            assert c.random_steps == RANDOM_STEPS[c.agent]
    for c in configs("table2", "full").values():
        assert c == train_rainbow.Config(c.env, c.method, c.seed) and c.steps == 100_000
        assert c.random_steps == RANDOM_STEPS["rainbow"]
    for c in configs("table3", "full").values():
        plain = train.Config("Pendulum-v1", c.method, "sac", c.seed)
        assert c == replace(plain, steps=10_000, random_steps=1_000)
    for c in configs("fig1", "full").values():
        assert c == pendulum_draws.Config(seed=c.seed) and c.steps == 30_000
    assert {*FIG5} <= {*plan.FULL["fig3"], *plan.FULL["table1"]}
    for env, limit in TIME_LIMITS.items():
        assert make_env(env).spec.max_episode_steps == limit


@pytest.mark.parametrize("scale", SCALES)
def test_a_label_says_what_is_run_and_samplers_differ_in_nothing_else(scale):
    for name in ("fig3", "fig4", "table1", "table2", "table3"):
        found = configs(name, scale)
        for (method, env, seed), c in found.items():
            agent, sampler = split(method)
            plain = found[f"{agent} random", env, seed]
            sampling = replace(plain.sampling, **VARIANTS.get(method, {}))  # type: ignore[arg-type]
            assert c == replace(plain, method=sampler.split()[0].strip("*"), sampling=sampling)
            assert sampler in METHODS or method in VARIANTS
    for (method, _, _), c in configs("own-td3-lr", scale).items():
        assert method == f"td3 lr {c.lr:g}" and (c.agent, c.method) == ("td3", "random")


@pytest.mark.parametrize("scale", SCALES)
def test_runs_that_are_the_same_are_shared(scale):
    """Fig. 4 takes what Fig. 3 has, and the choice of TD3's learning rate its winner from Table 1 (not at quick, where
    it has fewer steps)."""
    fig3, fig4 = configs("fig3", scale), configs("fig4", scale)
    shared = fig3.keys() & fig4.keys()
    assert {method for method, _, _ in shared} == {f"sac {method}" for method in METHODS}
    assert all(run_name(fig3[key]) == run_name(fig4[key]) for key in shared)
    table1 = {run_name(c) for (method, env, _), c in configs("table1", scale).items()
              if (method, env) == ("td3 random", "Hopper-v4")}  # fmt: skip
    winner = {run_name(c) for (method, _, _), c in configs("own-td3-lr", scale).items() if method == "td3 lr 0.001"}
    assert winner == table1 or (scale == "quick" and not winner & table1)


def test_quick_changes_steps_and_evaluations_only():
    for name in ("fig3", "fig4", "table1"):
        for (_, env, _), c in configs(name, "quick").items():
            steps = experiments.QUICK[env]["steps"]
            assert c == train.Config(env, c.method, c.agent, c.seed, steps, lr=c.lr, sampling=c.sampling)
    for c in configs("table2", "quick").values():
        rest = {name: getattr(c, name) for name in ("steps", "eval_every", "eval_episodes")}
        assert c == train_rainbow.Config(c.env, c.method, c.seed, **rest)
    assert configs("table3", "quick") == configs("table3", "full")


def test_smoke_is_tiny_and_still_learns():
    for name in EXPERIMENTS:
        for c in configs(name, "smoke").values():
            assert c.steps <= 300
            if name != "fig1":
                assert c.random_steps < c.steps // 2 and c.steps // c.eval_every >= 5  # a row of statistics
                assert c.sampling.widths == "code" and c.sampling != Settings()
