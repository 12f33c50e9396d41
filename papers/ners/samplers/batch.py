"""The batch that SAC and TD3 learn from, and the signals that they pass to the sampler."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Batch(NamedTuple):
    """Transitions, float32: states [n, s], actions [n, a] in [-1, 1], rewards [n], terminations [n] (0 or 1), loss
    weights [n]."""

    state: Tensor
    action: Tensor
    reward: Tensor
    next_state: Tensor
    terminal: Tensor
    weight: Tensor


class Signals(NamedTuple):
    """Per transition and before the update, float32 [n]: mean size of both critics' TD errors, mean of their squares,
    target value y, and mean of both Q(s, a)."""

    td: np.ndarray
    td2: np.ndarray
    y: np.ndarray
    q: np.ndarray


@torch.no_grad()
def signals_of(y: Tensor, q: Tensor) -> Signals:
    """From targets [n] and the values of both critics [2, n]."""
    error = (y - q).abs()
    rows = torch.stack([error.mean(dim=0), error.square().mean(dim=0), y, q.mean(dim=0)])
    return Signals(*rows.cpu().numpy())
