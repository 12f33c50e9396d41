"""Table B.1 in small."""

import pytest

from common.replay.samplers import UniformSampler
from papers.ter import train
from papers.ter.evidence.measures import batch_time
from papers.ter.evidence.measures.batch_time import Config, main
from papers.ter.replay.memory import TileMemory
from tests.papers.runs import assert_refused


@pytest.mark.parametrize("method", ["uer", "per", "ebu", "discor", "ter"])
def test_every_method_is_timed(method, tmp_path, monkeypatch):
    config, trained = Config(method=method, steps=500, warmup=400), []
    made = train.Trainer
    monkeypatch.setattr(train, "Trainer", lambda config: trained.append(config) or made(config))
    summary = main(config, tmp_path / "run")
    assert trained[0].epsilon_end == 1.0, "a random policy"
    for time in ("choose_seconds", "batch_seconds"):
        smallest, median, largest = (summary[f"{time}_{name}"] for name in ("min", "median", "max"))
        assert 0 < smallest <= median <= largest
        assert smallest <= summary[f"{time}_mean"] <= largest
    rows = (tmp_path / "run" / "metrics.csv").read_text().splitlines()[1:]
    assert {row.split(",")[1] for row in rows} == set(summary)
    assert {row.split(",")[0] for row in rows} == {"500"}
    assert main(config, tmp_path / "run") == summary  # at once


def test_choosing_is_timed_apart_from_drawing(tmp_path, monkeypatch):
    """A clock that choosing moves by 1 and drawing by 10."""
    clock = [0.0]

    def moves(kind, name, seconds):
        function = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda *a: (clock.append(clock[-1] + seconds), function(*a))[1])

    moves(UniformSampler, "sample", 1.0)
    moves(TileMemory, "batch", 10.0)
    monkeypatch.setattr(batch_time, "perf_counter", lambda: clock[-1])
    summary = main(Config(method="uer", steps=440, warmup=400), tmp_path / "run")
    assert {summary[f"choose_seconds_{name}"] for name in ("mean", "median", "min", "max")} == {1.0}
    assert {summary[f"batch_seconds_{name}"] for name in ("mean", "median", "min", "max")} == {11.0}


@pytest.mark.parametrize(("steps", "warmup"), [(1000, 100), (500, 1000), (500, 500)])
def test_settings_without_a_batch(steps, warmup, tmp_path):
    words = rf"warmup must lie in 324\.\.steps - 4, not {warmup}"
    assert_refused(batch_time, Config(steps=steps, warmup=warmup), words, tmp_path)
