"""Checks of settings that every train script makes: each tells in one line what is wrong and what would be right."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

from lab import options
from lab.errors import UserError


def check_device(device: str) -> None:
    """Raise UserError unless `device` is cpu, or a CUDA device that is there: cuda, cuda:0, cuda:1, ..."""
    options.check("device", device)
    kind, _, number = device.partition(":")
    if kind == "cuda" and int(number or 0) >= (there := torch.cuda.device_count()):
        sees = f"{there} CUDA devices" if there else "no CUDA device"
        raise UserError(f"device {device!r} asked for, but this PyTorch sees {sees}; use cpu")


def check_settings(
    config: Any,
    *,
    at_least_1: Iterable[str] = (),
    positive: Iterable[str] = (),
    not_negative: Iterable[str] = (),
    in_0_1: Iterable[str] = (),
) -> None:
    """Raise UserError for a device that is not there, and for the first of the named settings that is out of range.

    config: may have a field `device`. A setting that is None is left alone. `positive` and `not_negative` ones must
    also be finite; NaN is never in range.
    """
    check_device(getattr(config, "device", "cpu"))
    ranges: list[tuple[Iterable[str], Callable[[float], bool], str]] = [
        (at_least_1, lambda value: value >= 1, "be at least 1"),
        (positive, lambda value: value > 0, "be positive"),
        (not_negative, lambda value: value >= 0, "not be negative"),
        ([*positive, *not_negative], math.isfinite, "be finite"),
        (in_0_1, lambda value: 0 <= value <= 1, "lie in [0, 1]"),
    ]
    for names, right, text in ranges:
        for name in names:
            value = getattr(config, name)
            if value is not None and not right(value):
                raise UserError(f"{name} must {text}, not {value}")
