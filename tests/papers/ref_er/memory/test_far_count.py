"""The running count of far-policy steps against a full one, whatever the bounds do."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.ref_er.memory import far_count
from papers.ref_er.memory.far_count import FarCount

N = 24


def far(rho: np.ndarray, c_max: float) -> int:
    low, high = np.float32(1.0 / c_max), np.float32(c_max)
    return int(((rho <= low) | (rho >= high)).sum())


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-3, 0.05, -0.05]))
@settings(deadline=None)
def test_it_is_always_that_of_a_full_count(seed, closing):
    """Some weights lie on the bounds; bounds that move away from 1 are counted anew, too."""
    rng, c_max = np.random.default_rng(seed), 4.0
    one = FarCount(np.ones(N, np.float32))
    for _ in range(40):
        slots = rng.choice(N, 5, replace=False)
        rho = np.exp(rng.normal(0, 1.2, 5)).astype(np.float32)
        rho[:2] = rng.choice([c_max, 1 / c_max, 1.0, np.nan], 2)
        one.put(slots, rho)
        c_max = max(c_max * (1 - closing), 1.01)
        assert one.count(c_max, int(rng.integers(N)), N) == far(one.rho, c_max)
    np.testing.assert_array_equal(one.rho[slots], rho)


def test_it_seldom_counts_in_full(monkeypatch):
    """Twenty thousand weights, a bound that closes slowly: not once in ten steps."""
    calls, count = [], far_count._count
    monkeypatch.setattr(far_count, "_count", lambda *arguments: calls.append(1) or count(*arguments))
    rng = np.random.default_rng(0)
    one, c_max = FarCount(np.exp(rng.normal(0, 0.7, 20_000)).astype(np.float32)), 3.0
    for _ in range(300):
        one.put(rng.choice(20_000, 256, replace=False), np.exp(rng.normal(0, 0.7, 256)).astype(np.float32))
        c_max -= 2e-6
        assert one.count(c_max, 0, 20_000) == far(one.rho, c_max)
    assert len(calls) < 30
