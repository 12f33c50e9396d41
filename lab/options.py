"""Valid values of the options of `make` and of the lab's command lines.

`make` checks them before it installs anything, so this file needs nothing but Python:

    python3 -m lab.options SCALE=quick JOBS=two      prints the first mistake
"""

import re
import sys

from lab.rooms import choose
from lab.run.errors import UserError

SCALES = ("smoke", "quick", "long", "full")
LAUNCHERS = ("local", "ray", "slurm")
STALE = ("again", "keep")

SEED_DIGITS = 18
"""One more might not fit into the 64 bits that a results file has for it."""

CHOICES = {"scale": SCALES, "launcher": LAUNCHERS, "stale": STALE}
PATTERNS = {
    "jobs": (r"([1-9]\d*)?", "a number of processes, 1 or more"),
    "device": (r"cpu|cuda(:\d+)?", "one of cpu, cuda, cuda:0, cuda:1, ..."),
    "seeds": (r"([1-9]\d{0,3}|(\d+,)+\d*)?", "a number of seeds, 1 to 9999, or a list of them such as 3,7"),
    "tensorboard": ("[01]?", "1 (yes) or 0 (no)"),
    "hours": (r"(?=.*[1-9])(\d+\.?\d*|\.\d+)", "a number of hours above 0"),
    "dry": ("[01]?", "1 (yes) or 0 (no)"),
    "n": (r"[1-9]\d*", "a number of runs to kill, 1 or more"),
    "seed": (r"\d*", "a number of 0 or more, the seed by which `make torture` chooses runs and moments to kill"),
}
"""Option -> its pattern, and the pattern in words. An empty value means the default."""


def check(name: str, text: str) -> str:
    """Return the value `text` of an option; UserError if it is not valid."""
    if name in CHOICES:
        return choose(name, text, CHOICES[name])
    pattern, right = PATTERNS[name]
    if not re.fullmatch(pattern, text):
        raise UserError(f"{name} {text!r} is not {right}")
    if name == "seeds":
        for seed in text.split(","):
            check_seed(seed)
    return text


def check_seed(seed: int | str) -> None:
    """UserError for a seed that no results file has room for."""
    if len(str(seed)) > SEED_DIGITS:
        raise UserError(f"seed {seed} is too large; use one of at most {SEED_DIGITS} digits")


def read_seeds(text: str) -> tuple[int, ...] | None:
    """ "5": 0 to 4; "3,7": these; "": None."""
    if check("seeds", text).isdigit():
        return tuple(range(int(text)))
    return tuple(dict.fromkeys(int(seed) for seed in text.split(",") if seed)) or None


if __name__ == "__main__":
    try:
        for name, _, value in (word.partition("=") for word in sys.argv[1:]):
            check(name.lower(), value)
    except UserError as error:
        print(error)
