"""Sweeps over random steps: distances by hand, a value that moves one step per copy, what the predecessors change."""

import pytest

from lab.run.errors import UserError
from papers.ter.evidence.measures import sweeps
from papers.ter.evidence.measures.sweeps import Config, distances, main
from tests.papers.runs import rows


def test_distances_by_hand():
    """a -> b -> c -> end, with a shortcut from a to c, a loop, and d from which nothing leads to an end."""
    edges = [("a", "b", False), ("b", "c", False), ("c", "G", True), ("a", "c", False), ("b", "b", False),
             ("c", "d", False), ("d", "d", False), ("z", "a", False)]  # fmt: skip
    assert distances(edges) == {"c": 1, "b": 2, "a": 2, "z": 3}


def test_a_value_moves_one_step_per_copy(tmp_path, monkeypatch):
    """A corridor of nine steps to the end, walked five times: all of it is drawn between two copies."""
    corridor = [(bytes([k]), bytes([k + 1]), k == 8) for k in range(9)] * 5
    steps = [sweeps.Step(v, 0, -1.0, v_next, end, False) for v, v_next, end in corridor]
    monkeypatch.setattr(sweeps, "random_steps", lambda config: (corridor, steps))
    main(Config(transitions=45, copies=12), tmp_path / "run")
    found = [(int(step), float(value)) for step, metric, value in rows(tmp_path / "run") if metric == "distance"]
    assert found == [(copy, min(copy, 9)) for copy in range(1, 13)]
    summary = main(Config(transitions=45, copies=12), tmp_path / "run")
    assert summary["grounded"] == 1.0 and summary["transitions_per_sweep"] == pytest.approx(9, rel=0.01)
    assert summary["terminal_share"] == pytest.approx(1 / 9, rel=0.01) and summary["terminal_stored"] == pytest.approx(
        1 / 9
    )


def test_fewer_predecessors_make_shorter_sweeps_with_more_ends(tmp_path):
    settings = dict(env="5x5-1", transitions=4_000, copies=3)
    three, one = (main(Config(**settings, predecessors=k), tmp_path / str(k)) for k in (3, 1))
    assert one["transitions_per_sweep"] < 0.5 * three["transitions_per_sweep"]
    assert one["terminal_share"] > 2 * three["terminal_share"] > 2 * three["terminal_stored"]
    uniform = main(Config(**settings, method="uer"), tmp_path / "uer")
    assert "terminal_share" not in uniform and 0 < uniform["grounded"] <= 1


def test_without_an_end_there_is_nothing_to_measure(tmp_path):
    with pytest.raises(UserError, match="no random step has ended a task: use more transitions than 30"):
        main(Config(env="6x6-3", transitions=30), tmp_path / "run")
