"""Inputs of the networks, scaled by their running mean and standard deviation, as in the original HER."""

from __future__ import annotations

import numpy as np
import torch
from gymnasium.wrappers.utils import RunningMeanStd

LARGEST = 5.0
"""Scaled inputs are clipped to [-LARGEST, LARGEST]."""
SMALLEST_DEVIATION = 0.01
"""Smallest divisor, so that an input that hardly varies is not blown up."""


class Scaler:
    """Statistics of inputs [n, i] seen so far; called with inputs [n, i], it returns them scaled, float32.

    Before the first `add` it only clips. An input that is always the same in one place (the first state, say) moves
    with the statistics, which a batch normalisation behind it would blow up.
    """

    def __init__(self, size: int):
        self._seen = RunningMeanStd(epsilon=1e-8, shape=(size,))
        self._refresh()

    def add(self, inputs: np.ndarray) -> None:
        """Add the inputs [n, i] to the statistics, which changes the scale of all inputs from now on."""
        self._seen.update(inputs.astype(np.float64))
        self._refresh()

    def _refresh(self) -> None:
        self.mean = self._seen.mean.astype(np.float32)
        self.deviation = np.maximum(np.sqrt(self._seen.var), SMALLEST_DEVIATION).astype(np.float32)

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        return np.clip((inputs - self.mean) / self.deviation, -LARGEST, LARGEST)

    def weights(self) -> dict[str, torch.Tensor]:
        """What a run saves beside the networks' weights."""
        return {"scale.mean": torch.from_numpy(self.mean), "scale.deviation": torch.from_numpy(self.deviation)}

    def load(self, weights: dict[str, torch.Tensor]) -> None:
        """Scale as the run that saved these weights did."""
        self.mean, self.deviation = (weights[f"scale.{name}"].numpy() for name in ("mean", "deviation"))
