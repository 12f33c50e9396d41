"""Evaluations and checkpoints of a run whose trainer only counts."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lab.errors import NonFiniteLoss
from lab.runs import Run
from papers.ref_er import progress
from papers.ref_er.progress import Progress


@dataclass(frozen=True)
class Config:
    env: str = "None"
    method: str = "count"
    seed: int = 0
    steps: int = 23
    bins: int = 4


class Counting:
    """Episodes of three steps."""

    def __init__(self, error=0.0):
        self.agent = SimpleNamespace(weights=lambda: {"w": torch.zeros(1)})
        self.memory = SimpleNamespace(mean=np.zeros(2, np.float32), inverse_std=np.ones(2, np.float32))
        self.t = self.bins_done = self.warmed = 0
        self.error = error

    def warm_up(self):
        self.warmed += 1

    def metrics(self):
        self.bins_done += 1
        return {"td_error": self.error, "warmed": self.warmed}

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "agent"}

    def __setstate__(self, state):
        self.__init__()
        self.__dict__.update(state)


def train(config, directory, trainer):
    with Run.open(config, directory, total_steps=config.steps) as run:
        if run.finished is not None:
            return run.finished
        record = Progress(run, config, trainer)
        while record.trainer.t < config.steps:
            record.trainer.t += 1
            record.after_step(record.trainer.t % 3 == 0)
        return record.finish()


def rows(directory):
    lines = (directory / "metrics.csv").read_text().splitlines()[1:]
    return [line.rsplit(",", 1)[0] for line in lines]


def test_evaluations_are_evenly_spaced_and_the_last_is_at_the_end(tmp_path):
    done = train(Config(), tmp_path, Counting())
    assert [row for row in rows(tmp_path) if ",td_error," in row] == [f"{t},td_error,0.0" for t in (6, 12, 18, 23)]
    assert done == {"steps": 23, "td_error": 0.0, "warmed": 1}
    assert train(Config(), tmp_path, None) == done, "a finished run is only read"


def test_checkpoints_wait_for_the_end_of_an_episode_and_are_gone_on_from(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "SAVE_EVERY", 1)
    saved, save = [], Run.save

    def interrupt(self, state):
        save(self, state)
        saved.append(state["trainer"].t)
        if len(saved) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Run, "save", interrupt)
    config = Config(steps=40, bins=10)  # every 4 steps
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "one", Counting())
    assert saved == [6, 9]
    monkeypatch.setattr(Run, "save", save)
    train(config, tmp_path / "one", Counting())
    train(config, tmp_path / "two", Counting())
    assert rows(tmp_path / "one") == rows(tmp_path / "two") and len(rows(tmp_path / "one")) == 20


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path):
    with pytest.raises(NonFiniteLoss, match="td_error is nan at step 6"):
        train(Config(), tmp_path, Counting(error=float("nan")))
