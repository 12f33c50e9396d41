"""Statistics of a whole run from those of its stretches."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.judge.results import COLUMNS, MissingData
from papers.ners.evidence.pooled import METRICS, pool, replayed

NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6)


@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_pooled_statistics_are_those_of_all_values(parts):
    mean, sd = pool([len(p) for p in parts], [np.mean(p) for p in parts], [np.std(p) for p in parts])
    every = np.concatenate(parts)
    assert mean == pytest.approx(every.mean(), abs=1e-6) and sd == pytest.approx(every.std(), abs=1e-6)


def test_of_nothing_there_are_none():
    with pytest.raises(ValueError, match="no draws"):
        pool([0.0], [1.0], [1.0])


def rows(runs) -> pd.DataFrame:
    """runs: seed -> step -> values of METRICS."""
    lines = [
        ("table3", "full", "sac per", "Pendulum-v1", seed, step, name, value, 0.1)
        for seed, run in runs.items() for step, values in run.items() for name, value in zip(METRICS, values)
    ]  # fmt: skip
    return pd.DataFrame(lines, columns=COLUMNS)


def test_each_run_is_pooled_by_itself():
    found = replayed(rows({0: {10: (2, 1, 1, -1, 0), 20: (4, 5, 0, -4, 0)}, 3: {10: (7, 3, 2, -9, 6)}}))
    first = (pool([2, 4], [1, 5], [1, 0])[1], 2**0.5, 22 / 6, -3.0)  # Q: -1 twice and -4 four times
    np.testing.assert_allclose(found, [first, (2, 6, 3, -9)])


def test_stretches_without_draws_do_not_count():
    nothing = (0, np.nan, np.nan, np.nan, np.nan)
    found = replayed(rows({0: {10: nothing, 20: (4, 5, 1, -4, 2), 30: (0, 100, 0, 100, 0)}}))
    np.testing.assert_allclose(found, [(1, 2, 5, -4)])
    with pytest.raises(MissingData, match="replayed"):
        replayed(rows({0: {10: nothing}}))
    with pytest.raises(MissingData, match="replayed"):
        replayed(rows({}))
