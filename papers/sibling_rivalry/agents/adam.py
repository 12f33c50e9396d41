"""Adam with epsilon where the authors' code has it."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import Any

import torch
from torch import Tensor


class Adam(torch.optim.Adam):
    """Adam (Kingma and Ba 2015) that adds epsilon to the root of the second moment before the bias correction: the step
    is lr / (1 - beta1^t) m / ((sqrt(v) + eps) / sqrt(1 - beta2^t)).

    PyTorch adds it afterwards. In its terms, epsilon here is eps / sqrt(1 - beta2^t): 32 times as large in the first
    step, 10 times in the tenth, and hardly larger after some thousand. So this Adam starts more carefully.
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, eps: float):
        super().__init__(parameters, lr=lr, eps=eps, fused=True)
        for group in self.param_groups:  # in the groups, which are pickled
            group["own_eps"], group["steps"] = eps, 0

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """As `torch.optim.Adam.step`."""
        for group in self.param_groups:
            group["steps"] += 1
            group["eps"] = group["own_eps"] / sqrt(1.0 - group["betas"][1] ** group["steps"])
        return super().step(closure)
