"""Valid values of settings: ranges that annotate a config's fields, and the check with which every run begins.

lr: Positive = 1e-3
gamma: Annotated[float, Range("lie in (0, 1)", lambda value: 0 < value < 1)] = 0.98
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import torch

from lab import options
from lab.run.errors import UserError


@dataclasses.dataclass(frozen=True)
class Range:
    """Annotation of a number: it must `text`, which `right` tests. NaN never passes, infinity only with `infinite`."""

    text: str
    right: Callable[[float], bool]
    infinite: bool = False

    def apply(self, name: str, value: float) -> None:
        if not self.right(value):
            raise UserError(f"{name} must {self.text}, not {value}")
        if not (self.infinite or math.isfinite(value)):
            raise UserError(f"{name} must be finite, not {value}")


def at_least(least: int) -> Range:
    return Range(f"be at least {least}", lambda value: value >= least)


NOT_NEGATIVE = Range("not be negative", lambda value: value >= 0)

Count = Annotated[int, at_least(1)]
Natural = Annotated[int, NOT_NEGATIVE]
Positive = Annotated[float, Range("be positive", lambda value: value > 0)]
NotNegative = Annotated[float, NOT_NEGATIVE]
Share = Annotated[float, Range("lie in [0, 1]", lambda value: 0 <= value <= 1)]


def check(config: Any) -> None:
    """Raise UserError for the first setting that is wrong: one line with its name, its value and what is right.

    Checks every field against its Range or Literal, a field `device` against this machine, a `seed` against what
    results have room for, and dataclasses in fields likewise; None passes. Last comes `config.check()`, if there is
    one: rules that concern several settings.
    """
    hints = get_type_hints(type(config), include_extras=True)
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.name == "seed":
            options.check_seed(value)
        if field.name == "device":
            check_device(value)
        elif dataclasses.is_dataclass(value):
            check(value)
        elif value is not None:
            for rule in _rules(hints[field.name]):
                if isinstance(rule, Range):
                    rule.apply(field.name, value)
                elif value not in (known := get_args(rule)):
                    raise UserError(f"unknown {field.name} {value!r}; choose from: {', '.join(known)}")
    if hasattr(config, "check"):
        config.check()


def _rules(hint: Any) -> Iterator[Any]:
    """Yield the Ranges and Literals of an annotation, also inside a union."""
    if get_origin(hint) is Literal or isinstance(hint, Range):
        yield hint
    else:
        for part in get_args(hint):
            yield from _rules(part)


def check_device(device: str) -> None:
    """Raise UserError unless `device` is cpu or an available CUDA device: cuda, cuda:0, cuda:1, ..."""
    options.check("device", device)
    kind, _, number = device.partition(":")
    if kind == "cuda" and int(number or 0) >= (there := torch.cuda.device_count()):
        sees = f"{there} CUDA devices" if there else "no CUDA device"
        raise UserError(f"device {device!r} is not available: this PyTorch sees {sees}; use cpu")
