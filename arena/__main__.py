"""Train, draw and judge the arena, with the commands of `python -m lab`.

.venv/bin/python -m arena run replay --scale smoke
"""

import sys
from collections.abc import Sequence

from lab.__main__ import main as lab
from lab.rooms import ROOT, House

HOUSE = House(package="arena", root=ROOT / "arena", targets=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of `python -m lab` on the arena; returns the exit code."""
    return lab(argv, HOUSE, module="arena")


if __name__ == "__main__":
    sys.exit(main())
