"""What is particular to this paper's experiments; tests/papers/test_evidence.py builds them all."""

from dataclasses import asdict, replace
from itertools import product

import pytest

from lab.run.identity import run_name
from papers.ners import train, train_pendulum_draws, train_rainbow
from papers.ners.agents.tasks import make_env
from papers.ners.evidence import experiments, plan
from papers.ners.evidence.experiments import EXPERIMENTS
from papers.ners.evidence.labels import split
from papers.ners.evidence.paper_values import BASELINES, FIG5, RANDOM_STEPS, TABLE2, TIME_LIMITS
from papers.ners.samplers.methods import METHODS
from papers.ners.samplers.samplers import Settings

SCALES = ("smoke", "quick", "full")
VARIANTS = {
    "sac ners*": dict(replay_reward="training"), "sac ners few": dict(features="few"),
    "sac ners no-global": dict(global_context=False),
    "sac random-iid": {},
}  # fmt: skip


def configs(name: str, scale: str) -> dict:
    """All that is run of an experiment, whatever parts its results are kept in."""
    entries = [entry for part in plan.files(name) for entry in EXPERIMENTS[part](scale)]
    found = {(entry.method, entry.env, entry.seed): entry.config for entry in entries}
    assert len(found) == len(entries)
    return found


def test_the_games_are_those_of_table_2_and_quick_has_the_one_where_ners_gains_the_largest_share():
    """Of the best other sampler's return, where that is positive."""
    assert len(set(plan.GAMES)) == 16 and {game for _, game in TABLE2} == set(plan.GAMES)
    best = {game: max(cell[other] for other in BASELINES) for (_, game), cell in TABLE2.items()}
    shares = {game: TABLE2["rainbow", game]["ners"] / best[game] - 1 for game in plan.GAMES if best[game] > 0}
    assert sorted(shares, key=lambda game: -shares[game])[:1] == list(plan.QUICK_GAMES)


TABLE_B1 = dict(gamma=0.99, batch_size=128, capacity=1_000_000, random_steps=5_000, tau=5e-3, policy_delay=2)
TABLE_B1 |= dict(action_noise=0.1, target_noise=0.2, noise_clip=0.5)
RAINBOW_B1 = dict(gamma=0.99, batch_size=32, random_steps=1_600, multi_step=20, stack=4, hidden=256, sigma=0.1)
RAINBOW_B1 |= dict(atoms=51, lr=1e-4, max_gradient=10.0, target_every=2_000, eval_every=1_000, eval_episodes=10)
SAMPLERS_B1 = dict(alpha=0.5, beta=0.4, scorer_lr=1e-4, train_size=128, widths="paper")


@pytest.mark.parametrize(
    ("config", "printed"),
    [
        (train.Config(), TABLE_B1 | dict(steps=500_000, eval_episodes=1, timeout_terminal=False)),
        (train_rainbow.Config(), RAINBOW_B1 | dict(steps=100_000)),
        (Settings(), SAMPLERS_B1 | dict(replay_reward="evaluation", features="full", global_context=True)),
    ],
    ids=["train", "train_rainbow", "samplers"],
)
def test_defaults_are_what_the_paper_prints(config, printed):
    """Table B.1 and App. B. SAC's and TD3's rates are None, which is 3e-4 and 1e-3 (test_train.py)."""
    found = asdict(config)
    assert {name: found[name] for name in printed} == printed


def test_full_is_the_papers_protocol():
    """Nothing is set but what the label says; the defaults are the paper's, by the test above."""
    for name in ("fig3", "table1"):
        for (_, env, seed), c in configs(name, "full").items():
            lr = 1e-3 if c.agent == "td3" else None
            assert c == train.Config(env, c.method, c.agent, seed, lr=lr) and c.steps == 500_000
            assert c.random_steps == RANDOM_STEPS[c.agent]
    for c in configs("table2", "full").values():
        assert c == train_rainbow.Config(c.env, c.method, c.seed) and c.steps == 100_000
        assert c.random_steps == RANDOM_STEPS["rainbow"]
    for (method, _, _), c in configs("table3", "full").items():
        plain = train.Config("Pendulum-v1", c.method, "sac", c.seed)
        terminal = method.endswith("terminal")
        assert c == replace(plain, steps=10_000, random_steps=1_000, timeout_terminal=terminal)
    for (method, _, _), c in configs("fig1", "full").items():
        assert c == train_pendulum_draws.Config(seed=c.seed, timeout_terminal=method.endswith("terminal"))
        assert c.steps == 30_000
    assert {*FIG5} <= {*plan.PLANS["fig3"].tasks.full, *plan.PLANS["table1"].tasks.full}
    for env, limit in TIME_LIMITS.items():
        assert make_env(env).spec.max_episode_steps == limit


@pytest.mark.parametrize("scale", SCALES)
def test_a_label_says_what_is_run_and_samplers_differ_in_nothing_else(scale):
    for name in ("fig3", "fig4", "table1", "table2", "table3"):
        found = configs(name, scale)
        for (method, env, seed), c in found.items():
            agent, sampler = split(method)
            sampler, terminal = sampler.removesuffix(" terminal"), sampler.endswith(" terminal")
            plain = found[f"{agent} random", env, seed]
            sampling = replace(plain.sampling, **VARIANTS.get(method, {}))  # type: ignore[arg-type]
            changed = replace(plain, method=sampler.split()[0].strip("*"), sampling=sampling)
            assert c == (replace(changed, timeout_terminal=True) if terminal else changed)
            assert sampler in METHODS or method in VARIANTS
    for (method, _, _), c in configs("own-td3-lr", scale).items():
        assert method == f"td3 lr {c.lr:g}" and (c.agent, c.method) == ("td3", "random")
    found = configs("own-law", scale)
    for (method, env, seed), c in found.items():
        plain = found["td3 ners", env, seed]
        changed = experiments.READINGS[method.removeprefix("td3 ")]
        assert c == replace(plain, sampling=replace(plain.sampling, **changed))
    for (method, _, _), c in configs("own-why", scale).items():
        assert method == f"none {c.sampling.time} {c.rewards}" and c.sampling == Settings(time=c.sampling.time)


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_registered_runs_are_as_registered_whichever_scale_is_judged(scale):
    """NOTEBOOK.md: "The reading that leaves uniform, as an agent", and "Hopper, long enough to compare"."""
    hopper, time = configs("own-hopper", scale), configs("own-time", scale)
    arms = [f"{agent} {sampler}" for agent, sampler in product(("sac", "td3"), ("random", "ners"))]
    assert {*hopper} == {*product(arms, ["Hopper-v4"], range(50, 60))}
    assert {*time} == {*product(["td3 random", "td3 ners environment"], ["SparsePendulum"], range(40, 50))}
    for (method, env, seed), c in (hopper | time).items():
        agent, sampler, *reading = method.split()
        steps, lr = 300_000 if env == "Hopper-v4" else 100_000, {"sac": None, "td3": 1e-3}[agent]
        sampling = Settings(widths="paper", time="environment" if reading else "share")
        assert c == train.Config(env, sampler, agent, seed, steps, lr=lr, sampling=sampling)
    for name, first in (("own-hopper", 50), ("own-time", 40)):
        kept = [{entry.seed for entry in EXPERIMENTS[part](scale)} for part in plan.files(name)]
        assert kept == [{*range(first, first + 5)}, {*range(first + 5, first + 10)}]


@pytest.mark.parametrize("scale", SCALES)
def test_runs_that_are_the_same_are_shared(scale):
    """Fig. 4 and own-law take what Fig. 3 has, and the learning rates their default from Fig. 3 and Table 1."""
    names = {name: {run_name(config) for config in configs(name, scale).values()} for name in plan.PLANS}
    fig3, fig4 = configs("fig3", scale), configs("fig4", scale)
    shared = fig3.keys() & fig4.keys()
    assert {method for method, _, _ in shared} == {f"sac {method}" for method in experiments.FOUR}
    assert all(run_name(fig3[key]) == run_name(fig4[key]) for key in shared)
    for key, config in configs("own-law", scale).items():
        ours = ("td3 ners", "td3 ners wide") if scale == "full" else ("td3 ners",)  # full has the paper's widths
        assert (run_name(config) in names["fig3"]) == (key[0] in ours)
    for (method, _, _), config in configs("own-td3-lr", scale).items():
        assert (run_name(config) in names["fig3"] | names["table1"]) == (method == "td3 lr 0.001")


def test_quick_changes_lengths_widths_and_evaluations_only():
    """Its seeds are fresh: none below 10."""
    sampling = Settings(widths="code")
    for name in ("fig3", "fig4", "table1"):
        for (_, env, _), c in configs(name, "quick").items():
            steps = 100_000 if env == "Hopper-v4" else {"sac": 25_000, "td3": 20_000}[c.agent]
            variant = replace(c.sampling, widths="code")
            assert c == train.Config(env, c.method, c.agent, c.seed, steps, lr=c.lr, sampling=variant)
    for c in configs("table2", "quick").values():
        rest = {name: getattr(c, name) for name in ("steps", "eval_every", "eval_episodes")}
        assert c == train_rainbow.Config(c.env, c.method, c.seed, **rest, sampling=sampling)
    for (method, env, seed), c in configs("table3", "quick").items():
        full = train.Config(env, c.method, "sac", seed, 10_000, random_steps=1_000, sampling=sampling)
        assert c == replace(full, timeout_terminal=method.endswith("terminal"))
    assert min(seed for name in plan.PLANS for _, _, seed in configs(name, "quick")) == plan.FIRST_SEED == 10
