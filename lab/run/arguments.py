"""Command lines that tyro builds from dataclasses; a user's mistake is reported in one line."""

import contextlib
import io
import re
from collections.abc import Sequence
from typing import Any

import tyro

from lab.run.errors import UserError

PLAIN = (tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes)  # --steps, not --config.steps


def parse(kind: Any, args: Sequence[str] | None = None, *, prog: str, description: str | None = None) -> Any:
    """Parse `args` (None: this process's) into an instance of the dataclass `kind`, or of one member of a union.

    The help text comes from its docstrings. Raises UserError for unknown or missing arguments and wrong types, and
    SystemExit after --help.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(kind, args=args, prog=prog, description=description, config=PLAIN)
    except SystemExit as end:
        if not end.code:
            raise
        raise UserError(_one_line(said.getvalue(), prog)) from None


def _one_line(box: str, prog: str) -> str:
    """Condense tyro's error box into one line: its first part says what is wrong, another may suggest a spelling."""
    parts: list[list[str]] = [[]]
    for line in (line.strip("│ ") for line in box.splitlines()):
        if re.match(r"[╭╰]|[─-]{3,}$", line):
            parts.append([])
        else:
            parts[-1].append(line)
    [_, wrong, *others] = [" ".join(filter(None, part)) for part in (*parts, [])]
    unknown = re.match(r"Unrecognized options: ([^\s,]+)", wrong)
    close = next((re.search(r"--[\w-]+", part) for part in others if part.startswith("Perhaps you meant")), None)
    if unknown:
        wrong = f"unknown {'option' if unknown[1].startswith('-') else 'argument'} {unknown[1]}"
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"{wrong.rstrip('.') or 'this command line is not understood'}{hint} ({prog} --help)"
