"""Prioritised replay draws and weighs as cpprb's does, a library of nothing but replay memories."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from common.replay.samplers import PrioritizedSampler

cpprb = pytest.importorskip("cpprb", reason="it does not install on Python 3.13")
TD = np.array([0.1, 3.0, 1.0, 0.5, 2.0, 0.01, 7.0, 0.2], np.float32)


def test_the_same_law_and_weights():
    theirs = cpprb.PrioritizedReplayBuffer(8, {"x": {}}, alpha=0.6, eps=0.01)
    ours = PrioritizedSampler(8, np.random.default_rng(0), 0.6, 0.4, beta_steps=10**9, clip=None, stratified=True)
    for index in range(8):
        theirs.add(x=index)
        ours.add(index)
    theirs.update_priorities(np.arange(8), TD)
    ours.update(np.arange(8), {"td_error": TD})
    counts = np.zeros((2, 8))
    for _ in range(3_000):
        batch = theirs.sample(4, beta=0.4)
        slots, weights, _ = ours.sample(4)
        for k, (drawn, found) in enumerate(((batch["indexes"], batch["weights"]), (slots, weights))):
            np.add.at(counts[k], drawn, 1)
            law = ours.probabilities()[drawn]  # cpprb divides by the memory's largest weight, we by the batch's
            np.testing.assert_allclose(found / found.min(), (law / law.max()) ** -0.4, rtol=1e-3)
    assert chi2_contingency(counts).pvalue > 0.01
