"""Write one site with everything to read: texts, annotated code, figures, claims, notebooks.

    .venv/bin/python -m lab.pages.site [--out DIR]     into DIR (default: site)

Start with DIR/index.html; no server or network is needed. Notebooks that `make notebook` has written into DIR/notebooks
become pages, too.
"""

import os
import sys
from collections.abc import Sequence

from lab.pages import html, report
from lab.pages.read import Options, Site
from lab.rooms import House
from lab.run.arguments import parse
from lab.run.errors import guard


@guard
def main(argv: Sequence[str] | None = None) -> int:
    """Write the site; returns 0. A user's mistake is one line on stderr and SystemExit(2)."""
    out = parse(Options, argv, prog=".venv/bin/python -m lab.pages.site").out.resolve()
    html.own(out)
    Site(out, report=True).build()
    report.write(House(), out)
    print(f"written: {os.path.relpath(out / 'index.html')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
