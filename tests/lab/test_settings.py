from dataclasses import dataclass
from math import inf, nan

import pytest
import torch

from lab.errors import UserError
from lab.settings import check_settings


@dataclass
class Settings:
    device: str = "cpu"
    n: int | None = 1
    x: float = 0.5


RANGES = dict(at_least_1=("n",), positive=("x",))


def test_what_is_in_range_passes():
    check_settings(Settings(), **RANGES)
    check_settings(Settings(n=None, x=1e-9), **RANGES)
    check_settings(Settings(x=0.0), not_negative=("x",), in_0_1=("x",))
    check_settings(Settings(x=1.0), in_0_1=("x",))


@pytest.mark.parametrize(
    ("settings", "ranges", "message"),
    [
        (Settings(n=0), RANGES, "n must be at least 1, not 0"),
        (Settings(x=0.0), RANGES, "x must be positive, not 0.0"),
        (Settings(x=nan), RANGES, "x must be positive, not nan"),
        (Settings(x=inf), RANGES, "x must be finite, not inf"),
        (Settings(x=-1.0), dict(not_negative=("x",)), "x must not be negative, not -1.0"),
        (Settings(x=inf), dict(not_negative=("x",)), "x must be finite, not inf"),
        (Settings(x=1.5), dict(in_0_1=("x",)), r"x must lie in \[0, 1\], not 1.5"),
        (Settings(x=nan), dict(in_0_1=("x",)), r"x must lie in \[0, 1\], not nan"),
        (Settings(n=0, x=-1.0), RANGES, "n must be"),
    ],
)
def test_what_is_out_of_range_is_named(settings, ranges, message):
    with pytest.raises(UserError, match=f"^{message}"):
        check_settings(settings, **ranges)


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(UserError, match="device 'cuda' asked for, but this PyTorch sees no CUDA device; use cpu"):
        check_settings(Settings(device="cuda"))
