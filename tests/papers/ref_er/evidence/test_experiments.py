"""What is particular to this paper's runs: the paper's protocol, what changes with the scale, what runs share."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from papers.ref_er import train, train_acer, train_ppo
from papers.ref_er.agents.tasks import FLOW, TASKS
from papers.ref_er.evidence.experiments import EXPERIMENTS, HEADLINE, entries_of
from papers.ref_er.evidence.paper_values import FIG1, FIG4, FIG7, FIG8


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_the_same_seeds_for_all_and_smoke_is_tiny(name):
    for scale, least in (("smoke", 1), ("quick", 3), ("full", 3 if name in ("fig6", "own-segments") else 5)):
        if not (found := EXPERIMENTS[name](scale)):
            assert name == "fig7-ant" and scale != "quick"  # at full it is a part of fig7
            continue
        [seeds] = set(Counter((entry.method, entry.env) for entry in found).values())
        assert seeds >= least and (scale == "quick" or seeds == least)
        assert all(e.env == e.config.env and e.env in {*TASKS, *FLOW} for e in found)
        assert all(e.method.startswith(e.config.method) for e in found)
    assert all(entry.config.steps <= 300 and entry.config.warmup <= 4096 for entry in EXPERIMENTS[name]("smoke"))


def test_what_reproduce_trains():
    wanted = [entry for name, choice in HEADLINE.items() for entry in entries_of(FIG4, "quick") if choice(entry)]
    assert Counter((e.method, e.env) for e in wanted) == {
        (f"vracer {replay}", "Hopper-v5"): 3 * len(HEADLINE) for replay in ("refer", "er")
    }


def test_full_is_the_papers_protocol():
    """Nothing is set but what the label says; the defaults are the paper's (test_train.py)."""
    for name in (FIG1, "fig3", FIG4):
        for entry in entries_of(name, "full"):
            c = entry.config
            assert c.steps == 10_000_000 and c.bins == 50
            if isinstance(c, train.Config):
                annealing = 0.0 if c.method == "ddpg" and c.replay in ("er", "per") else None
                untuned = dict(weight_decay=0.0, theta=1.0) if entry.method == "ddpg er (untuned)" else {}
                assert c == train.Config(c.env, c.method, c.replay, c.seed, annealing=annealing, **untuned)
                assert untuned or entry.method == f"{c.method} {c.replay}"
            elif isinstance(c, train_acer.Config):
                assert c == train_acer.Config(c.env, seed=c.seed, lr=c.lr)
            else:
                assert c == train_ppo.Config(c.env, seed=c.seed)


@pytest.mark.parametrize("scale", ["quick", "full"])
@pytest.mark.parametrize("name", [FIG7, FIG8])
def test_a_sensitivity_run_differs_from_the_default_in_what_its_label_says(name, scale):
    """And in nothing that would follow from it, as the rate of beta would from the memory and the batch."""
    fields = {
        "C": "c", "D": "tolerance", "N": "capacity", "B": "batch_size", "F": "steps_per_update", "lr": "lr",
        "A": "annealing", "S": "hidden", "advantage": "advantage",
    }  # fmt: skip
    base = {e.env: e.config for e in entries_of(name, scale) if e.method == "vracer refer" and e.seed == 0}
    for entry in entries_of(name, scale):
        label = re.fullmatch(r"vracer refer(?: \((\w+) (\S+)\))?", entry.method)
        usual = replace(base[entry.env], seed=entry.seed)
        assert train.make_refer(entry.config).rate == train.make_refer(usual).rate
        assert entry.config.warmup == usual.warmup
        expected = replace(usual, beta_rate=entry.config.beta_rate)
        if label[1]:
            now = getattr(entry.config, fields[label[1]])
            value = 2 ** int(label[2].removeprefix("2^")) if label[1] == "N" else type(now)(label[2])
            assert now == value != getattr(usual, fields[label[1]])
            expected = replace(expected, **{fields[label[1]]: now})
        assert entry.config == expected


def test_quick_is_scaled_as_a_whole():
    """A times steps is 5 and beta's rate 0.1 B / N, as at the paper's size; the warm-up fills the memory."""
    for name in (FIG1, "fig3", FIG4):
        for entry in entries_of(name, "quick"):
            c = entry.config
            plain_ddpg = entry.method in ("ddpg er", "ddpg er (untuned)", "ddpg per")
            assert c.annealing * c.steps == (0 if plain_ddpg else pytest.approx(5)) and c.warmup == 2**14
            if isinstance(c, train.Config):
                refer = train.make_refer(c)
                assert c.capacity == c.warmup and refer.rate == 0.1 * train.batch_size(c) / 2**14


def test_the_default_of_every_study_is_one_run():
    """Runs of one name are the same in all experiments, but for those of a million steps at quick."""
    for scale in ("quick", "full"):
        entries = [e for name in (FIG1, FIG4) for e in entries_of(name, scale)]
        there = {(e.method, e.env, e.seed): e.config for e in entries}
        shared = Counter()
        for name in ("fig7", "fig8", "own-kl", "own-memory", "own-annealing", "own-million"):
            for entry in EXPERIMENTS[name](scale):
                usual = there.get((entry.method, entry.env, entry.seed))
                if usual and (name, scale) != ("own-million", "quick"):
                    assert entry.config == usual
                    shared[name] += 1
        assert len(shared) == (5 if scale == "quick" else 6)


def test_a_variant_of_the_own_experiments_differs_in_what_its_label_says():
    for name, setting in (("own-memory", "capacity"), ("own-annealing", "annealing")):
        for scale in ("quick", "full"):
            entries = {(e.method, e.env, e.seed): e.config for e in EXPERIMENTS[name](scale)}
            variants = [run for run in entries if "(" in run[0]]
            assert variants
            for method, env, seed in variants:
                usual, changed = entries[method.split(" (")[0], env, seed], entries[method, env, seed]
                if method.endswith("(white noise)"):
                    assert replace(usual, theta=1.0) == changed != usual
                    continue
                assert replace(usual, **{setting: getattr(changed, setting)}) == changed != usual
                assert method.endswith("(A 0)") or getattr(changed, setting) == 2 ** int(method.split("^")[1][:-1])


def test_a_million_steps_are_the_papers_first():
    for entry in EXPERIMENTS["own-million"]("quick"):
        c = entry.config
        assert c == train.Config(c.env, "vracer", c.replay, c.seed, steps=10**6, bins=20)


def test_the_flow_task_changes_the_networks_only():
    """As in Sec. 5.4: nothing but 32 cells and windows of 16; at quick also what is scaled with the length."""
    for entry in EXPERIMENTS["fig6"]("full"):
        c = entry.config
        usual = replace(c, env="HalfCheetah-v5", network="mlp", hidden=128, steps=10_000_000, seed=0)
        if isinstance(c, train_acer.Config):
            assert usual == train_acer.Config() and entry.method == "acer (lr 1e-05)"
        else:
            annealing = 0.0 if entry.method == "ddpg er" else None
            assert usual == train.Config(method=c.method, replay=c.replay, annealing=annealing)
        assert (c.network, c.hidden, c.window, c.env) == ("lstm", 32, 16, "WakeFlow32-v0")
    for entry in EXPERIMENTS["fig6"]("quick"):
        c = entry.config
        assert (c.network, c.hidden, c.window, c.env) == ("lstm", 32, 16, "WakeFlow-v0")
        assert c.annealing * c.steps == (0 if entry.method == "ddpg er" else pytest.approx(5))
        assert c.capacity == c.warmup == 2**13 and c.steps == 50_000
        usual = dict(steps=1, bins=1, capacity=1, warmup=1, annealing=0.0, hidden=1, env="", seed=0, network="mlp")
        usual |= {"segment": 1} if isinstance(c, train_acer.Config) else {"beta": 0.0}
        standard = type(c)() if isinstance(c, train_acer.Config) else train.Config(method=c.method, replay=c.replay)
        assert replace(c, **usual) == replace(standard, **usual)
