"""Every experiment at every scale: what is run, with which settings, and what is shared."""

import importlib
import re
from collections import Counter
from dataclasses import replace

import pytest

from papers.ref_er import train, train_acer, train_ppo
from papers.ref_er.evidence import experiments
from papers.ref_er.evidence.experiments import EXPERIMENTS, HEADLINE
from papers.ref_er.evidence.figures import FIGURES
from papers.ref_er.tasks import TASKS

SCALES = ("smoke", "quick", "full")
SEEDS = {"smoke": 1, "quick": 3, "full": 5}
PER_ENV = {"fig1": 6, "fig3": 5, "fig7": 17, "fig8": 6, "own-kl": 2}
"""Kinds of runs per task; fig4 differs between tasks."""


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_builds(name, scale):
    found = EXPERIMENTS[name](scale)
    assert max(Counter((entry.method, entry.env, entry.seed) for entry in found).values()) == 1
    kinds = Counter((entry.method, entry.env) for entry in found)
    assert set(kinds.values()) == {SEEDS[scale]}
    if name in PER_ENV:
        assert set(Counter(env for _, env in kinds).values()) == {PER_ENV[name]}
    for entry in found:
        module, function = entry.target.split(":")
        script = importlib.import_module(module)
        assert callable(getattr(script, function)) and isinstance(entry.config, script.Config)
        script.check(entry.config)
        assert entry.env == entry.config.env and entry.env in TASKS and entry.seed == entry.config.seed
        assert entry.method.startswith(entry.config.method)


def test_the_methods_of_figure_4():
    methods = {e.method for e in EXPERIMENTS["fig4"]("quick") if e.env == "HalfCheetah-v5"}
    replays = {f"vracer {kind}" for kind in ("refer", "refer-1", "refer-2", "er")}
    assert methods == replays | {"ppo", "acer (lr 1e-05)", "acer (lr 0.0001)"}
    assert {e.env for e in EXPERIMENTS["fig4"]("full") if e.method == "ppo"} == set(TASKS)


def test_full_is_the_papers_protocol():
    """Nothing is set but what the label says; the defaults are the paper's (test_train.py)."""
    for name in ("fig1", "fig3", "fig4"):
        for entry in EXPERIMENTS[name]("full"):
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
@pytest.mark.parametrize("name", ["fig7", "fig8"])
def test_a_sensitivity_run_differs_from_the_default_in_what_its_label_says(name, scale):
    fields = {
        "C": "c", "D": "tolerance", "B": "batch_size", "F": "steps_per_update", "lr": "lr", "A": "annealing",
        "S": "hidden", "advantage": "advantage",
    }  # fmt: skip
    base = {e.env: e.config for e in EXPERIMENTS[name](scale) if e.method == "vracer refer" and e.seed == 0}
    for entry in EXPERIMENTS[name](scale):
        label = re.fullmatch(r"vracer refer(?: \((\w+) (\S+)\))?", entry.method)
        expected = replace(base[entry.env], seed=entry.seed)
        if label[1] == "N":
            size = 2 ** int(label[2].removeprefix("2^"))
            expected = replace(expected, capacity=size, warmup=size)
        elif label[1]:
            now = getattr(entry.config, fields[label[1]])
            assert (now if isinstance(now, str) else float(now)) == type(now)(label[2])
            assert now != getattr(expected, fields[label[1]])
            expected = replace(expected, **{fields[label[1]]: now})
        assert entry.config == expected


def test_quick_is_scaled_as_a_whole():
    """A times steps is 5 and beta's rate 0.1 B / N, as at the paper's size; the warm-up fills the memory."""
    for name in ("fig1", "fig3", "fig4"):
        for entry in EXPERIMENTS[name]("quick"):
            c = entry.config
            plain_ddpg = entry.method in ("ddpg er", "ddpg er (untuned)", "ddpg per")
            assert c.annealing * c.steps == (0 if plain_ddpg else pytest.approx(5)) and c.warmup == 2**14
            if isinstance(c, train.Config):
                refer = train.make_refer(c)
                assert c.capacity == c.warmup and refer.rate == 0.1 * train.batch_size(c) / 2**14


def test_the_default_of_every_study_is_one_run():
    """fig7, fig8, own-kl and fig4 share their runs with default settings."""
    for scale in ("quick", "full"):
        there = {(e.env, e.seed): e.config for e in EXPERIMENTS["fig4"](scale) if e.method == "vracer refer"}
        for name in ("fig7", "fig8", "own-kl"):
            for entry in EXPERIMENTS[name](scale):
                if entry.method == "vracer refer":
                    assert entry.config == there[entry.env, entry.seed]


def test_figures_and_headline_exist():
    assert set(HEADLINE) <= set(FIGURES)
    assert {name for figure in FIGURES.values() for name in figure.experiments} == set(EXPERIMENTS)


def test_an_unknown_scale_is_an_error():
    for build in EXPERIMENTS.values():
        with pytest.raises(KeyError):
            build("huge")


def test_smoke_is_tiny():
    for build in EXPERIMENTS.values():
        for entry in build("smoke"):
            assert entry.config.steps <= 300 and entry.config.warmup <= 4096
    assert experiments.SEEDS["smoke"] == 1
