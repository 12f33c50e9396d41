"""ReLo: priorities from two losses, worked out by hand."""

import numpy as np

from common.replay.not_in_the_papers.reducible import ReLo


def priorities(huber_delta: float | None, td: list[float], target_td: list[float]) -> list[float]:
    sampler = ReLo(4, np.random.default_rng(0), huber_delta=huber_delta, alpha=0.5, epsilon=0.01, beta_steps=10)
    for index in range(len(td)):
        sampler.add(index)
    signals = {"td_error": np.array(td), "target_td_error": np.array(target_td)}
    sampler.update(np.arange(len(td)), signals)
    return [float(p) ** 2 - 0.01 for p in sampler.tree[: len(td)]]  # undone: alpha and epsilon


def test_only_what_the_target_network_does_better_counts():
    np.testing.assert_allclose(priorities(None, [2.0, -3.0, 1.0], [1.0, -1.0, 2.0]), [1.5, 4.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(priorities(1.0, [0.5, -3.0, 1.0], [0.0, -1.0, 2.0]), [0.125, 2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(priorities(2.0, [0.5, -3.0, 1.0], [0.0, -1.0, 2.0]), [0.125, 3.5, 0.0], atol=1e-12)


def test_noise_that_both_networks_share_is_not_replayed():
    """A TD error of 9 in both is worth no more than one of 0."""
    np.testing.assert_allclose(priorities(None, [9.0, 0.0], [9.0, 0.0]), [0.0, 0.0], atol=1e-12)
