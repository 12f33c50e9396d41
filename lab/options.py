"""What the options of `make` and of the lab's command lines may be.

`make` asks before it installs anything, so this needs nothing but Python:

    python3 -m lab.options SCALE=quick JOBS=two      prints what is wrong with the first that is wrong
"""

import math
import re
import sys
from collections.abc import Callable

from lab.errors import UserError
from lab.rooms import choose

SCALES = ("smoke", "quick", "full")
LAUNCHERS = ("local", "ray", "slurm")
STALE = ("again", "keep")


def whole(name: str, text: str, least: int = 1) -> int:
    """A whole number."""
    if not re.fullmatch(r"\d+", text) or int(text) < least:
        raise UserError(f"{name} {text!r} is not a whole number, {least} or more")
    return int(text)


def hours(text: str) -> float:
    """A time to train."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise UserError(f"hours {text!r} is not a number above 0")
    return number


def seeds(text: str) -> tuple[int, ...] | None:
    """ "5": 0 to 4; "3,7": these; "": None."""
    if not text:
        return None
    if re.fullmatch(r"[1-9]\d*", text):
        return tuple(range(int(text)))
    if re.fullmatch(r"(\d+,)+\d*", text):
        return tuple(dict.fromkeys(int(seed) for seed in text.split(",") if seed))
    raise UserError(f"seeds {text!r} are neither a number of seeds, 1 or more, nor a list of them such as 3,7")


def device(text: str) -> None:
    """Raise UserError unless `text` could be a device; lab.settings.check_device says whether it is there."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", text):
        raise UserError(f"unknown device {text!r}; right are: cpu, cuda, cuda:0, cuda:1, ...")


VARIABLES: dict[str, Callable[[str], object]] = {
    "SCALE": lambda text: choose("scale", text, SCALES),
    "JOBS": lambda text: text and whole("jobs", text),
    "DEVICE": device,
    "LAUNCHER": lambda text: choose("launcher", text, LAUNCHERS),
    "SEEDS": seeds,
    "STALE": lambda text: choose("value of STALE", text, STALE),
    "TENSORBOARD": lambda text: choose("value of TENSORBOARD", text or "0", ("0", "1")),
    "HOURS": hours,
    "DRY": lambda text: choose("value of DRY", text or "0", ("0", "1")),
    "N": lambda text: whole("N", text),
    "SEED": lambda text: text and whole("SEED", text, 0),
}
"""The Makefile's variables and what reads each."""

if __name__ == "__main__":
    try:
        for name, _, value in (word.partition("=") for word in sys.argv[1:]):
            VARIABLES[name](value)
    except UserError as error:
        print(error)
