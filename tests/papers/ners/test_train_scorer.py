"""The networks alone: what is logged, against the sampler it is about; rewards; bad settings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.run.runs import Streams
from papers.ners import train_scorer
from papers.ners.ners import NERS
from papers.ners.samplers.samplers import Settings
from papers.ners.train_scorer import Config, filled, main, measured
from tests.papers.runs import assert_refused, rows

SMALL: dict[str, Any] = dict(transitions=450, updates=(0, 2, 4))


def table(run_dir: Path) -> dict[tuple[int, str], float]:
    return {(int(step), name): float(value) for step, name, value in rows(run_dir)}


def test_a_memory_of_random_actions():
    """Episodes of 200 steps; all transitions have been scored once."""
    config = Config(**SMALL, sampling=Settings(time="episode"))
    sampler = filled(config, Streams(0))
    time = sampler.features(np.arange(450))[:, 3 + 1 + 1 + 3]  # behind state, action, reward and next state
    assert time.tolist() == [*range(200), *range(200), *range(50)]
    assert sampler.prioritized.stored == 450 and (sampler.scores() < 0.9).all()


def test_what_is_logged_is_the_law_of_the_scores():
    sampler = filled(Config(**SMALL), Streams(3))
    features = sampler.features(np.arange(450)).detach()
    found = measured(sampler, features)
    sigma = sampler.network(features).detach().double().numpy()
    law = sigma**0.5 / (sigma**0.5).sum()
    assert found["tv_replayed"] == pytest.approx(0.5 * np.abs(law - 1 / 450).sum(), rel=1e-5)
    assert found["spread_scores"] == pytest.approx(sigma.std(), rel=1e-3)
    assert found["layer_0"] == 1.0 and [name for name in found if "layer" in name] == [f"layer_{k}" for k in range(9)]


def test_a_run_logs_after_so_many_steps_and_is_the_same_again(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        main(Config(seed=seed, **SMALL), tmp_path / name)
    found = table(tmp_path / "a")
    assert {step for step, _ in found} == {0, 2, 4} and found == table(tmp_path / "b") != table(tmp_path / "c")
    assert found[0, "tv_replayed"] != found[4, "tv_replayed"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(transitions=1), "transitions must be at least 2, not 1"),
        (dict(updates=(-5,)), r"from 0 on.*not \(-5,\)"),
        (dict(updates=(4, 2)), r"each above the one before, not \(4, 2\)"),
        (dict(updates=(2, 2)), r"each above the one before, not \(2, 2\)"),
        (dict(updates=()), r"updates must be numbers.*not \(\)"),
    ],
    ids=str,
)
def test_settings_that_cannot_work_are_named(changes, words, tmp_path):
    assert_refused(train_scorer, Config(**(SMALL | changes)), words, tmp_path)


def test_the_smallest_settings_that_are_allowed_do_run(tmp_path):
    assert main(Config(transitions=2, updates=(0,)), tmp_path)["steps"] == 0


@pytest.mark.parametrize(("rewards", "signs"), [("positive", {1.0}), ("signs", {1.0, -1.0})])
def test_rewards(rewards, signs, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(NERS, "reinforce", lambda self, slots, reward: seen.append((len(set(slots.tolist())), reward)))
    main(Config(rewards=rewards, **(SMALL | dict(updates=(40,)))), tmp_path)
    assert {reward for _, reward in seen} == signs and {size for size, _ in seen} == {128} and len(seen) == 40


def test_always_positive_rewards_raise_all_scores(tmp_path):
    """Which makes them equal once more: the sigmoid saturates."""
    config = Config(rewards="positive", updates=(0, 60), transitions=450, sampling=Settings(scorer_lr=1e-3))
    main(config, tmp_path)
    found = table(tmp_path)
    assert found[0, "score"] < 0.6 and found[60, "score"] > 0.99
