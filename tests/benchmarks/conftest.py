"""What the tests of several benchmarks share."""

import pytest

from benchmarks import fast_peers


@pytest.fixture
def run_once(monkeypatch):
    """Of a benchmark (a module): each task runs once and counts as 2^i units, i being its place."""

    def patch(topic):
        def run(tasks, rounds):
            assert all(task() > 0 for task in tasks.values())
            return {name: float(2**i) for i, name in enumerate(tasks)}

        monkeypatch.setattr(topic, "interleaved", run)

    return patch


@pytest.fixture(autouse=True)
def _no_fast_peers(monkeypatch, tmp_path):
    """Their environment may be there, but takes minutes."""
    monkeypatch.setattr(fast_peers, "PYTHON", tmp_path / "none")
