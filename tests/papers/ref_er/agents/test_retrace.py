"""Retrace as it is run against the form to read, in a ring of episodes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.ref_er.agents.retrace import correct, retrace, retrace_as_printed

GAMMA, SCALE = 0.9, 0.7
LENGTHS = (5, 1, 12, 7)
TAIL = 20
"""The first of the episodes begins here; the third one goes round the end of the 30 slots."""


def ring(seed: int) -> tuple[dict[str, np.ndarray], np.ndarray, list[tuple[int, int]]]:
    """The arrays in float64, t of every slot (-1: no step), and first slot and length of every episode."""
    rng, slots = np.random.default_rng(seed), 30
    arrays = {name: rng.normal(size=slots) for name in ("rewards", "values", "advantages")}
    arrays |= {"rho": np.exp(rng.normal(size=slots)), "returns": rng.normal(size=slots)}
    steps, episodes, first = np.full(slots, -1, np.int32), [], TAIL
    for length in LENGTHS:
        steps[(first + np.arange(length)) % slots] = np.arange(length)
        episodes.append((first % slots, length))
        first += length + 1
    return arrays, steps, episodes


def floats(arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    return [arrays[name].astype(np.float32) for name in ("rewards", "values", "advantages", "rho", "returns")]


@given(st.integers(0, 10**6))
@settings(deadline=None, max_examples=50)
def test_it_is_what_is_printed(seed):
    arrays, _, episodes = ring(seed)
    found = floats(arrays)
    for first, length in episodes:
        retrace(first, length, *found, GAMMA, SCALE)
        retrace_as_printed(first, length, *arrays.values(), GAMMA, SCALE)
    np.testing.assert_allclose(found[-1], arrays["returns"], rtol=1e-4, atol=1e-5)


@given(st.integers(0, 10**6), st.integers(1, 8), st.sampled_from([0.0, 1.0]))
@settings(deadline=None, max_examples=100)
def test_corrections_go_as_far_as_something_changes(seed, n, cut):
    """V, Q and rho of some steps change; then all returns are those of a whole pass. cut: 0 where traces end soon."""
    arrays, steps, episodes = ring(seed)
    rng = np.random.default_rng(seed)
    arrays["rho"] *= np.where(rng.random(30) < 0.5, cut, 1.0)
    *fixed, returns = floats(arrays)
    for first, length in episodes:
        retrace(first, length, *fixed, returns, GAMMA, SCALE)
    drawn = rng.choice(np.flatnonzero(steps >= 0), n, replace=False)
    for values in fixed[1:]:
        values[drawn] = np.abs(rng.normal(size=n))
    whole = returns.copy()
    for first, length in episodes:
        retrace(first, length, *fixed, whole, GAMMA, SCALE)
    correct(drawn, TAIL, steps, *fixed, returns, GAMMA, SCALE)
    np.testing.assert_allclose(returns, whole, rtol=1e-6, atol=1e-6)


def test_nothing_before_an_unchanged_return_is_touched():
    """Not even where it would be another: it has been computed before, from the same."""
    arrays, steps, [_, _, (first, length), _] = ring(0)
    *fixed, returns = floats(arrays)
    retrace(first, length, *fixed, returns, GAMMA, SCALE)
    slots = (first + np.arange(length)) % 30
    fixed[3][slots[6]] = 0.0  # the trace ends here: what is above it does not count below
    retrace(first, length, *fixed, returns, GAMMA, SCALE)
    returns[slots[2]] = 77.0
    before = returns.copy()
    fixed[1][slots[9]] += 1.0
    correct(slots[[9]], TAIL, steps, *fixed, returns, GAMMA, SCALE)
    changed = np.flatnonzero(returns != before)
    assert sorted(changed) == sorted(slots[6:9])


def test_what_is_not_a_number_goes_back_to_the_first_step():
    arrays, steps, [_, _, (first, length), _] = ring(0)
    *fixed, returns = floats(arrays)
    slots = (first + np.arange(length)) % 30
    fixed[1][slots[-1]] = np.nan
    correct(slots[[-1]], TAIL, steps, *fixed, returns, GAMMA, SCALE)
    assert np.isnan(returns[slots[:-1]]).all()
