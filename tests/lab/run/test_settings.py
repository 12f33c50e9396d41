"""Values that a setting may not have, from the annotation of its field."""

from dataclasses import dataclass, field, replace
from math import inf, nan
from typing import Annotated, Literal

import pytest
import torch

from lab.run.errors import UserError
from lab.run.settings import Count, Natural, NotNegative, Positive, Range, Share, at_least, check


@dataclass(frozen=True)
class Part:
    depth: Count = 1


@dataclass(frozen=True)
class Inherited:
    kind: Literal["plain", "fancy"] = "plain"
    k: Natural = 0
    pairs: int = 1


@dataclass(frozen=True)
class Settings(Inherited):
    device: str = "cpu"
    n: Count | None = None
    lr: Positive = 0.5
    noise: NotNegative = 0.0
    share: Share = 1.0
    atoms: Annotated[int | None, at_least(2)] = 2
    threshold: Annotated[float, Range("not be negative", lambda value: value >= 0, infinite=True)] = inf
    pairs: Count = 1
    part: Part = field(default_factory=Part)

    def check(self) -> None:
        if self.k > self.atoms:
            raise UserError(f"k must be at most atoms ({self.atoms}), not {self.k}")


def test_what_is_in_range_passes():
    check(Settings())
    check(Settings(kind="fancy", k=2, n=1, lr=1e-9, noise=1.0, share=0.0, threshold=0.0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(n=0), "n must be at least 1, not 0"),
        (dict(atoms=1), "atoms must be at least 2, not 1"),
        (dict(lr=0.0), "lr must be positive, not 0.0"),
        (dict(lr=nan), "lr must be positive, not nan"),
        (dict(lr=inf), "lr must be finite, not inf"),
        (dict(noise=-1.0), "noise must not be negative, not -1.0"),
        (dict(noise=inf), "noise must be finite, not inf"),
        (dict(k=-1), "k must not be negative, not -1"),
        (dict(share=1.5), "share must lie in [0, 1], not 1.5"),
        (dict(share=nan), "share must lie in [0, 1], not nan"),
        (dict(threshold=nan), "threshold must not be negative, not nan"),
        (dict(kind="odd"), "unknown kind 'odd'; choose from: plain, fancy"),
        (dict(pairs=0), "pairs must be at least 1, not 0"),
        (dict(part=Part(0)), "depth must be at least 1, not 0"),
        (dict(k=3), "k must be at most atoms (2), not 3"),
        (dict(k=3, share=2.0), "share must lie in [0, 1], not 2.0"),
        (dict(device="tpu"), "device 'tpu' is not one of cpu, cuda, cuda:0, cuda:1, ..."),
    ],
)
def test_what_is_wrong_is_one_line(changes, message):
    with pytest.raises(UserError) as raised:
        check(replace(Settings(), **changes))
    assert str(raised.value) == message


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(UserError, match="device 'cuda' is not available: this PyTorch sees no CUDA device; use cpu"):
        check(Settings(device="cuda"))
