"""The literal forms that TER's kernels are compared with are literal."""

import pytest

from benchmarks import tile_codes
from papers.ter.agents.dqn import DoubleDQN
from papers.ter.agents.fast_dqn import FastDoubleDQN
from papers.ter.replay.fast_sweep import FastTER
from papers.ter.topological import TER


@pytest.mark.parametrize("env", ["SimpleCrossing-Easy", "5x5-1"])
def test_both_forms(env, monkeypatch):
    monkeypatch.setattr(tile_codes, "WARMUP", 100)
    fast, literal = (tile_codes.warmed_up(env, "ter", literal) for literal in (False, True))
    assert (type(fast.agent), type(fast.sampler)) == (FastDoubleDQN, FastTER)
    assert (type(literal.agent), type(literal.sampler)) == (DoubleDQN, TER)
    assert tile_codes.operations(literal) > 1e5  # a share of a batch, through two layers at least
