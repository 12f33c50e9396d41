"""Evaluations and checkpoints of a run whose trainer only counts."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lab.run.errors import NonFiniteLoss
from lab.run.runs import Run, execute
from papers.ref_er.agents import progress
from papers.ref_er.agents.progress import after_step, finish
from tests.papers.runs import rows


@dataclass(frozen=True)
class Config:
    env: str = "None"
    method: str = "count"
    seed: int = 0
    steps: int = 23
    bins: int = 4


class Counting:
    """Episodes of three steps."""

    def __init__(self, config, **found):
        self.agent = SimpleNamespace(weights=lambda: {"w": torch.zeros(1)})
        self.memory = SimpleNamespace(mean=np.zeros(2, np.float32), inverse_std=np.ones(2, np.float32))
        self.config, self.t, self.bins_done, self.save_due = config, 0, 0, False
        self.found = {"td_error": 0.0} | found

    def metrics(self):
        self.bins_done += 1
        return self.found

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "agent"}

    def __setstate__(self, state):
        self.__init__(state["config"])
        self.__dict__.update(state)


def train(run, trainer):
    while trainer.t < trainer.config.steps:
        trainer.t += 1
        after_step(run, trainer, trainer.t % 3 == 0)
    return finish(run, trainer)


def test_evaluations_are_evenly_spaced_and_the_last_is_at_the_end(tmp_path):
    done = execute(Config(), tmp_path, train, Counting)
    assert [step for step, name, _ in rows(tmp_path) if name == "td_error"] == ["6", "12", "18", "23"]
    assert done == {"steps": 23, "td_error": 0.0}


def test_checkpoints_wait_for_the_end_of_an_episode_and_are_gone_on_from(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "SAVE_EVERY", 1)
    saved, save = [], Run.save

    def interrupt(self, state):
        save(self, state)
        saved.append(state.t)
        if len(saved) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Run, "save", interrupt)
    config = Config(steps=40, bins=10)  # every 4 steps
    with pytest.raises(KeyboardInterrupt):
        execute(config, tmp_path / "one", train, Counting)
    assert saved == [6, 9]
    monkeypatch.setattr(Run, "save", save)
    execute(config, tmp_path / "one", train, Counting)
    execute(config, tmp_path / "two", train, Counting)
    assert rows(tmp_path / "one") == rows(tmp_path / "two") and len(rows(tmp_path / "one")) == 10


@pytest.mark.parametrize("metric", ["td_error", "kl"])
def test_what_is_not_finite_stops_the_run(metric, tmp_path):
    with pytest.raises(NonFiniteLoss, match=f"{metric} is nan at step 6"):
        execute(Config(), tmp_path, train, lambda config: Counting(config, **{metric: float("nan")}))
