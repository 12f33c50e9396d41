"""The training script of MiniGrid: its methods and variants, settings, the command line."""

from typing import Any

import pytest

from lab.run.settings import check
from papers.ter import train
from papers.ter.agents.settings import METHODS
from papers.ter.topological import PseudoTerminalRoots, terminal_roots
from papers.ter.train import Config
from tests.papers.runs import assert_refused, assert_resumes, rows, weights
from tests.papers.ter.test_trainer import config, play, short, trainer

__all__ = ["short"]  # a fixture: pytest looks it up here by its name

RUNS: dict[str, dict[str, Any]] = {
    **{method: dict(method=method) for method in METHODS},
    "endless ter": dict(method="ter", pseudo_terminal=True),
    "endless uer": dict(method="uer", pseudo_terminal=True),
    "stochastic ter": dict(method="ter", random_action_probability=0.1),
    "time-outs are ends": dict(method="ter", env="SimpleCrossing-Easy", timeout_is_done=True),
    "reduced ter": dict(method="ter", roots=1, predecessors=1, eta=0.0, projection_dim=1),
    "ebu + per": dict(method="ebu", ebu_per_share=0.5),
    "reduced ebu": dict(method="ebu", ebu_beta=0.0, ebu_timeouts=False, ebu_drop_first=3),
    "released discor": dict(method="discor", discor_released=True),
    "unclipped per": dict(method="per", per_clip=None, replay_ratio=1.0),
    "codes ter": dict(method="ter", network="codes", scale_output=True, epsilon_end=0.3),
    "codes ebu": dict(method="ebu", network="codes", scale_output=True, ebu_double=False),
    "codes discor": dict(method="discor", network="codes", scale_output=True, huber_delta=324.0),
    "narrow codes per": dict(method="per", network="codes", widths=(4, 8, 16), per_clip=324.0),
    "fixed levels": dict(method="ter", network="codes", levels=2),
    "six actions": dict(method="ter", env="DoorKey", n_actions=6),
}


@pytest.mark.parametrize("name", RUNS)
def test_interrupted_and_resumed_equals_uninterrupted(name, tmp_path, monkeypatch, short):
    """Also shows that every method and variant runs, and that a seed gives one result."""
    brief: dict[str, Any] = dict(steps=120, capacity=60, epsilon_steps=100, target_interval=30, eval_every=40)
    settings = config(**brief, **RUNS[name])
    # after the memory has wrapped round
    summary = assert_resumes(train, settings, tmp_path, monkeypatch, kills=[120], saved=80)

    # and what a run leaves behind
    metrics = {"return", "normalized_return", "success", "q_overestimation", "loss"}
    metrics |= {"vertices", "fallbacks"} if settings.method == "ter" else set()
    metrics |= {"tau"} if settings.method == "discor" else set()
    metrics |= {f"{name}_known" for name in ("return", "normalized_return", "success")} if settings.levels else set()
    assert summary["steps"] == 120
    assert set(summary) == metrics | {"steps"}
    assert {row[0] for row in rows(tmp_path / "whole")} == {"0", "40", "80", "120"}
    assert {row[1] for row in rows(tmp_path / "whole")} == metrics
    assert len(weights(tmp_path / "whole")["head.bias"]) == (settings.n_actions or 3)


def test_trainer_and_evaluation_play_the_variant_that_was_asked_for():
    one = trainer(env="LavaCrossing-Hard", n_actions=6, random_action_probability=0.1)
    for env in (one.world.env, one.world.make_env(training=False)):
        assert (env.task, env.action_space.n, env.random_action_probability, env.pseudo_terminal) == (
            "LavaCrossing-Hard", 6, 0.1, False,
        )  # fmt: skip
    one = trainer(pseudo_terminal=True)
    assert one.world.env.pseudo_terminal and one.world.make_env(training=False).pseudo_terminal


def test_the_stochastic_world_stores_the_intended_action():
    one = trainer(random_action_probability=1.0, method="uer", capacity=400)
    log = play(one, 300)
    assert one.memory["action"][:300].tolist() == [action for _, action, *_ in log]


def test_roots_of_endless_tasks_are_drawn_by_returns():
    plain, endless = (trainer(pseudo_terminal=flag, kappa=0.5).sampler for flag in (False, True))
    assert plain.choose_roots is terminal_roots and plain.graph.visits is None
    assert isinstance(endless.choose_roots, PseudoTerminalRoots) and endless.choose_roots.kappa == 0.5
    assert endless.graph.visits is not None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"capacity": 10}, "capacity and warmup must hold at least one batch of 16"),
        ({"warmup": 15}, "capacity and warmup must hold at least one batch of 16"),
        ({"replay_ratio": 0.3}, r"replay_ratio \* update_every must be whole, not 1.2"),
        ({"ebu_per_share": 1.0}, r"ebu_per_share must lie in \[0, 1\), not 1.0"),
        ({"n_actions": 9}, "n_actions must lie in 3..7, not 9"),
        ({"widths": (16, 0, 8)}, "widths must be at least 1, not 0"),
        ({"huber_delta": 0.0}, "huber_delta must be positive, not 0"),
        ({"levels": 3, "random_action_probability": 0.1}, "levels exclude random_action_probability"),
        ({"env": "DoorKey", "pseudo_terminal": True}, "pseudo_terminal needs a crossing task, not DoorKey"),
    ],
)
def test_settings_that_cannot_work_are_named_before_anything_is_written(settings, message, tmp_path):
    assert_refused(train, config(**settings), message, tmp_path)


@pytest.mark.parametrize("ends", [0.0, 1.0])
def test_the_limits_themselves_are_allowed(ends):
    check(Config(eta=ends, ebu_beta=ends, epsilon_end=ends, eval_noise=ends))
    check(Config(batch_size=16, capacity=16, warmup=16, update_every=2, replay_ratio=0.5))
