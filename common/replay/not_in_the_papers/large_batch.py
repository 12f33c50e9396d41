"""Large batch experience replay (LaBER; Lahire et al. 2022, https://arxiv.org/abs/2110.01528).

The variance of a gradient estimate is least when transitions are drawn in proportion to the norms of their gradients.
Priorities from earlier replays are out of date. So LaBER draws several batches uniformly, estimates the gradient norms
of all their transitions with today's network, and draws one batch from these.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from common.replay.checks import drawable, positive, sizes
from common.replay.protocol import Chosen
from common.replay.samplers import UniformSampler

TINY = 1e-6
"""Added to norms so that none is 0."""


class LaBER(UniformSampler):
    """LaBER-mean: draw `factor` batches uniformly, and from these one in proportion to |TD error|, with replacement.

    errors: returns the TD errors float [n] of slots int64 [n] by today's networks. clip: largest |TD error| that
    counts: 1 for the Huber loss, whose gradient grows no further; None for the squared loss.
    """

    needs = frozenset({"errors"})

    def __init__(
        self,
        rng: np.random.Generator,
        errors: Callable[[np.ndarray], np.ndarray],
        *,
        factor: int = 4,
        clip: float | None = None,
    ):
        positive(factor=factor, clip=clip)
        super().__init__(rng)
        self.errors, self.factor, self.clip = errors, factor, np.inf if clip is None else clip

    def sample(self, n: int) -> Chosen:
        drawable(n, self.stored)
        large, _, _ = super().sample(self.factor * n)
        norms = np.minimum(sizes(self.errors, large), self.clip) + TINY
        drawn = self.rng.choice(len(large), n, p=norms / norms.sum())
        # With these weights the gradient is, in expectation, that of the large batch, which is uniform.
        return Chosen(large[drawn], (norms.mean() / norms[drawn]).astype(np.float32))

    def probabilities(self) -> None:  # type: ignore[override]
        """None: the law depends on the large batch."""
