"""Pages that show the code of the papers beside its comments and equations.

    .venv/bin/python -m lab.pages.read [PAPER] [--out DIR]     all papers, or one, into DIR (default: site/read)

Start with DIR/index.html. The pages need no network and no script. Each paper's own index.html is its README, the
reading path first, with a page for each file of its method and for each of common/ behind it.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pygments.formatters import HtmlFormatter
from tyro.conf import Positional, arg

from lab.arguments import parse
from lab.errors import UserError, guard
from lab.pages.read.pages import STYLE, Site, rooms
from lab.rooms import ROOT, choose


@dataclass(frozen=True)
class Options:
    """Write pages of code beside its comments and equations."""

    paper: Positional[Annotated[str, arg(metavar="[PAPER]")]] = "all"
    """A paper, or all."""
    out: Annotated[Path, arg(metavar="DIR")] = ROOT / "site" / "read"
    """Where to."""


def _style() -> str:
    """The style sheet: our own, and Pygments' colours for light and dark."""
    colours = {name: HtmlFormatter(style=name).get_style_defs(".highlight") for name in ("friendly", "github-dark")}
    own = (Path(__file__).parent / STYLE).read_text(encoding="utf-8")
    return f"{own}\n{colours['friendly']}\n@media (prefers-color-scheme: dark) {{\n{colours['github-dark']}\n}}\n"


@guard
def main(argv: Sequence[str] | None = None) -> int:
    """Write the pages; returns 0. A user's mistake is one line on stderr and SystemExit(2)."""
    options = parse(Options, argv, prog=".venv/bin/python -m lab.pages.read")
    name = choose("paper", options.paper, [*rooms(), "all"])
    if options.out.exists() and any(options.out.iterdir()) and not (options.out / STYLE).exists():
        raise UserError(f"{options.out} is not empty and holds no pages of lab.pages.read; name another folder")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / STYLE).write_text(_style(), encoding="utf-8")
    Site(options.out, list(rooms()) if name == "all" else [name]).build()
    print(f"written: {os.path.relpath(options.out / 'index.html')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
