"""Every experiment at every scale: what is run, with which settings, and what is shared."""

import importlib
from collections import Counter
from dataclasses import replace

import pytest

from lab.identity import run_name
from papers.ners import pendulum_draws, train, train_rainbow
from papers.ners.evidence import experiments
from papers.ners.evidence.experiments import EXPERIMENTS, GAMES, HEADLINE, QUICK_GAMES
from papers.ners.evidence.figures import FIGURES
from papers.ners.evidence.paper_values import BASELINES, TABLE2
from papers.ners.methods import METHODS
from papers.ners.samplers import Settings
from papers.ners.tasks import TASKS

SCALES = ("smoke", "quick", "full")
FOUR = {agent: {f"{agent} {method}" for method in METHODS} for agent in ("sac", "td3", "rainbow")}
BOTH = FOUR["sac"] | FOUR["td3"]
VARIANTS = {"sac ners*", "sac ners few", "sac ners no-global"}
WALKER, LANDER = "BipedalWalker-v3", "LunarLanderContinuous-v3"
LIMITS = {"SparsePendulum": 200, LANDER: 1000, "Hopper-v4": 1000}
RATES = {"td3 lr 0.005", "td3 lr 0.001", "td3 lr 0.0003"}
FULL: dict[str, dict[str, set[str]]] = {
    "fig1": {"Pendulum-v1": {"sac random"}},
    "fig3": dict.fromkeys(("SparsePendulum", LANDER, WALKER), BOTH),
    "fig4": {WALKER: FOUR["sac"] | VARIANTS, LANDER: FOUR["sac"] | {"sac ners*"}},
    "table1": dict.fromkeys(("Ant-v4", "Walker2d-v4", "Hopper-v4"), BOTH),
    "table2": dict.fromkeys(GAMES, FOUR["rainbow"]),
    "table3": {"Pendulum-v1": FOUR["sac"]},
    "own-td3-lr": {"Hopper-v4": RATES},
}
QUICK = FULL | {
    "fig3": dict.fromkeys(("SparsePendulum", LANDER), BOTH),
    "fig4": {LANDER: FOUR["sac"] | VARIANTS},
    "table1": {"Hopper-v4": BOTH},
    "table2": dict.fromkeys(QUICK_GAMES, FOUR["rainbow"]),
}
SMOKE = QUICK | {"table2": {QUICK_GAMES[0]: FOUR["rainbow"]}}
WANTED = {"smoke": SMOKE, "quick": QUICK, "full": FULL}
SEEDS = {"smoke": {1}, "quick": {2, 3, 4, 5}, "full": {5}}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", FULL)
def test_every_experiment_builds(name, scale):
    found = EXPERIMENTS[name](scale)
    kinds: dict[str, set[str]] = {}
    for entry in found:
        kinds.setdefault(entry.env, set()).add(entry.method)
    assert kinds == WANTED[scale][name]
    assert max(Counter((entry.method, entry.env, entry.seed) for entry in found).values()) == 1
    assert max(Counter(run_name(entry.config) for entry in found).values()) == 1
    for env in kinds:  # as many seeds for each method
        seeds = {entry.method: [e.seed for e in found if (e.method, e.env) == (entry.method, env)] for entry in found
                 if entry.env == env}  # fmt: skip
        assert len({*map(str, seeds.values())}) == 1
        assert all(each == [*range(len(each))] and len(each) in SEEDS[scale] for each in seeds.values())
    for entry in found:
        module, function = entry.target.split(":")
        script = importlib.import_module(module)
        assert callable(getattr(script, function)) and isinstance(entry.config, script.Config)
        assert (entry.env, entry.seed) == (entry.config.env, entry.config.seed)
        if script is train:
            assert entry.env in TASKS and entry.method.split()[0] == entry.config.agent
        if hasattr(script, "check"):
            script.check(entry.config)


def test_the_experiments_are_those_of_the_figures():
    assert EXPERIMENTS.keys() == FULL.keys() and set(HEADLINE) <= set(FIGURES)
    assert {name for figure in FIGURES.values() for name in figure.experiments} == set(EXPERIMENTS)


def test_the_games_are_those_of_table_2():
    assert len(set(GAMES)) == 16 and {game for _, game in TABLE2} == set(GAMES)


def test_quick_has_the_games_where_ners_gains_the_largest_share():
    """Of the best other sampler's return, where that is positive."""
    best = {game: max(cell[other] for other in BASELINES) for (_, game), cell in TABLE2.items()}
    shares = {game: TABLE2["rainbow", game]["ners"] / best[game] - 1 for game in GAMES if best[game] > 0}
    assert sorted(shares, key=lambda game: -shares[game])[:2] == list(QUICK_GAMES)
    assert [round(100 * shares[game]) for game in QUICK_GAMES] == [38, 37]


def configs(name: str, scale: str) -> dict:
    return {(entry.method, entry.env, entry.seed): entry.config for entry in EXPERIMENTS[name](scale)}


def test_full_is_the_papers_protocol():
    """Nothing is set but what the label says; the defaults are the paper's (test_train.py)."""
    for name in ("fig3", "table1"):
        for (_, env, seed), c in configs(name, "full").items():
            lr = 1e-3 if c.agent == "td3" else None
            assert c == train.Config(env, c.method, c.agent, seed, lr=lr) and c.steps == 500_000
    for c in configs("table2", "full").values():
        assert c == train_rainbow.Config(c.env, c.method, c.seed) and c.steps == 100_000
    for c in configs("table3", "full").values():
        plain = train.Config("Pendulum-v1", c.method, "sac", c.seed)
        assert c == replace(plain, steps=10_000, random_steps=1_000)
    for c in configs("fig1", "full").values():
        assert c == pendulum_draws.Config(seed=c.seed) and c.steps == 30_000


@pytest.mark.parametrize("scale", SCALES)
def test_a_label_says_what_is_run(scale):
    changes = {
        "sac ners*": dict(replay_reward="training"), "sac ners few": dict(features="few"),
        "sac ners no-global": dict(global_context=False),
    }  # fmt: skip
    for name in ("fig3", "fig4", "table1", "table3"):
        found = configs(name, scale)
        for (method, env, seed), c in found.items():
            plain = replace(found["sac ners", env, seed].sampling, **changes.get(method, {}))  # type: ignore[arg-type]
            assert c.sampling == plain and method.startswith(f"{c.agent} {c.method}")
            assert (method in changes) == (method != f"{c.agent} {c.method}")
    for (method, _, _), c in configs("own-td3-lr", scale).items():
        assert method == f"td3 lr {c.lr:g}" and (c.agent, c.method) == ("td3", "random")


@pytest.mark.parametrize("scale", SCALES)
def test_samplers_differ_in_nothing_but_their_name(scale):
    for name in ("fig3", "fig4", "table1", "table2", "table3"):
        found = configs(name, scale)
        for (method, env, seed), c in found.items():
            agent, kind = method.split(maxsplit=1)
            if kind in METHODS:
                assert replace(c, method="random") == found[f"{agent} random", env, seed]


@pytest.mark.parametrize("scale", SCALES)
def test_runs_that_are_the_same_are_shared(scale):
    """Fig. 4 takes what Fig. 3 has, and the choice of TD3's learning rate its winner from Table 1 (not at quick, where
    it has fewer steps)."""
    fig3, fig4 = configs("fig3", scale), configs("fig4", scale)
    shared = fig3.keys() & fig4.keys()
    assert {method for method, _, _ in shared} == FOUR["sac"]
    assert {env for _, env, _ in shared} == WANTED[scale]["fig4"].keys()
    assert all(run_name(fig3[key]) == run_name(fig4[key]) for key in shared)
    table1 = {run_name(c) for (method, env, _), c in configs("table1", scale).items()
              if (method, env) == ("td3 random", "Hopper-v4")}  # fmt: skip
    own = configs("own-td3-lr", scale)
    winner = {run_name(c) for (method, _, _), c in own.items() if method == "td3 lr 0.001"}
    assert winner == table1 or (scale == "quick" and not winner & table1)
    assert not table1 & {run_name(c) for (method, _, _), c in own.items() if method != "td3 lr 0.001"}


def test_quick_changes_steps_and_evaluations_only():
    for name in ("fig3", "fig4", "table1"):
        for (_, env, _), c in configs(name, "quick").items():
            steps = experiments.QUICK[env]["steps"]
            assert c == train.Config(env, c.method, c.agent, c.seed, steps, lr=c.lr, sampling=c.sampling)
    for c in configs("own-td3-lr", "quick").values():
        assert c == train.Config("Hopper-v4", "random", "td3", c.seed, c.steps, lr=c.lr)
    for c in configs("table2", "quick").values():
        rest = {name: getattr(c, name) for name in ("steps", "eval_every", "eval_episodes")}
        assert c == train_rainbow.Config(c.env, c.method, c.seed, **rest)
    for name in ("fig3", "table1", "table2", "own-td3-lr"):
        for c in configs(name, "quick").values():
            evaluations = c.steps // (c.eval_every or LIMITS[c.env])
            assert c.random_steps < c.steps < 500_000 and evaluations >= 10  # two rows of statistics
    assert configs("table3", "quick") == configs("table3", "full")


def test_smoke_is_tiny_and_still_learns():
    for name, build in EXPERIMENTS.items():
        for entry in build("smoke"):
            c = entry.config
            assert c.steps <= 300
            if name != "fig1":
                assert c.random_steps < c.steps // 2 and c.steps // c.eval_every >= 5  # a row of statistics
                assert c.sampling.widths == "code" and c.sampling != Settings()


def test_an_unknown_scale_is_an_error():
    for name, build in EXPERIMENTS.items():
        with pytest.raises(KeyError):
            assert build("huge"), name
    assert experiments.tasks("quick", ("Ant-v4", "Hopper-v4")) == ["Hopper-v4"]
