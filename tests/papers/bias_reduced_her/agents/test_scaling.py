"""Scaled inputs against NumPy."""

import pickle

import numpy as np

from papers.bias_reduced_her.agents.scaling import Scaler


def test_mean_and_deviation_of_all_that_was_seen():
    rng, scale = np.random.default_rng(0), Scaler(3)
    parts = [rng.normal([1, -2, 0], [1, 10, 0.001], (n, 3)).astype(np.float32) for n in (1, 50, 7, 300)]
    for part in parts:
        scale.add(part)
    seen = np.concatenate(parts).astype(float)
    np.testing.assert_allclose(scale.mean, seen.mean(axis=0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(scale.deviation, [seen[:, 0].std(), seen[:, 1].std(), 0.01], rtol=1e-4)
    x = np.array([[1.0, -2.0, 0.0], [1e3, -1e3, 0.02]], np.float32)
    expected = np.clip((x - seen.mean(axis=0)) / scale.deviation, -5, 5)
    found = scale(x)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    assert found.dtype == np.float32 and found[1, 0] == 5 and found[1, 1] == -5


def test_before_anything_was_seen():
    np.testing.assert_array_equal(Scaler(2)(np.array([[0.5, -3.0]], np.float32)), [[0.5, -3.0]])


def test_what_a_run_leaves_scales_alike():
    scale, other = Scaler(2), Scaler(2)
    scale.add(np.random.default_rng(0).normal(3, 2, (20, 2)))
    other.load(scale.weights())
    x = np.ones((4, 2), np.float32)
    np.testing.assert_array_equal(other(x), scale(x))
    twin = pickle.loads(pickle.dumps(scale))
    scale.add(x), twin.add(x)
    np.testing.assert_array_equal(twin(x), scale(x))
