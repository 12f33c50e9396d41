"""Write the report: one HTML page that holds all it shows and needs neither a server nor the net.

    .venv/bin/python -m lab.pages.report [--out FILE]

It is made of the committed results, figures and READMEs; nothing is trained or drawn, and the same files give the same
page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from lab.arguments import parse
from lab.errors import UserError, guard
from lab.results import write_if_changed
from lab.rooms import House

NEEDED = ("jinja2", "markdown")


@dataclass(frozen=True)
class Options:
    """Write all papers' results as one HTML page."""

    out: Annotated[Path | None, arg(metavar="FILE")] = None
    """Where to, if not site/report.html."""


def _page(house: House) -> str:
    try:
        from lab.pages.report.content import gather
        from lab.pages.report.page import render
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        raise UserError(f"the report needs {error.name}, which is not installed; `make setup` installs it") from None
    return render(gather(house))


@guard
def main(argv: Sequence[str] | None = None, house: House | None = None) -> int:
    """Write the page; returns 0. A mistake, or a place that cannot be written, is one line and SystemExit(2)."""
    house = house or House()
    options = parse(Options, argv, prog=".venv/bin/python -m lab.pages.report")
    out = options.out or house.root / "site" / "report.html"
    if out.is_dir():
        raise UserError(f"{out} is a directory; --out names a file, e.g. {out / 'report.html'}")
    text = _page(house)
    try:
        write_if_changed(out, text.encode())
    except OSError as error:
        raise UserError(f"cannot write {out} ({error.strerror}); name another place with --out") from None
    print(f"written: {out} ({len(text.encode()) / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
