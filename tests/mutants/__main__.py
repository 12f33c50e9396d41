"""Do the tests notice? Seeded faults, one by one in copies of the checkout, and a table of what caught them.

    .venv/bin/python -m tests.mutants

The TOML files beside this one name each fault and the tests that ought to catch it. Without names, all are tried and
the table in tests/README.md is written anew; with names, nothing is written.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from lab.run.arguments import parse
from lab.run.errors import UserError, guard
from tests.mutants.mutant import FOLDER, Mutant, read_all
from tests.mutants.trial import Outcome, copy_of, tried, with_kernels, without_faults

ROOT = FOLDER.parents[1]
BEGIN, END = "<!-- mutants:begin -->", "<!-- mutants:end -->"
ENOUGH = 0.95
"""Share of the faults that must be caught."""


@dataclass(frozen=True)
class Options:
    """Try seeded faults: which tests catch them?"""

    names: Positional[tuple[str, ...]] = ()
    """Faults to try, such as lab-no-lock; none: all, and write the table."""
    jobs: int = os.cpu_count() or 1
    """How many at a time, each in a copy of its own."""


@guard
def main(argv: Sequence[str] | None = None, root: Path = ROOT, folder: Path = FOLDER) -> int:
    """Returns the exit code: 1 where fewer than ENOUGH are caught, or a fault could not be tried; 130 after Ctrl-C.

    An unknown name, and tests that fail without any fault, are one line and SystemExit(2).
    """
    options = parse(Options, argv, prog=".venv/bin/python -m tests.mutants", description=__doc__)
    every = {mutant.name: mutant for mutant in read_all(folder)}
    if unknown := [name for name in options.names if name not in every]:
        raise UserError(f"unknown mutant {unknown[0]!r}: the names stand in {folder}/*.toml")
    if options.jobs < 1:
        raise UserError(f"--jobs {options.jobs} leaves nothing to work with; use 1 or more")
    chosen = [every[name] for name in options.names or every]
    try:
        found = try_all(chosen, options.jobs, root)
    except KeyboardInterrupt:
        print("interrupted: nothing is written", file=sys.stderr)
        return 130
    caught = sum(bool(outcome.caught_by) for outcome in found.values())
    print(f"{caught} of {len(found)} faults are caught ({100 * caught / len(found):.1f} %)")
    if not options.names:
        write(root / "tests/README.md", table(chosen, found))
    return int(caught < ENOUGH * len(found) or any(outcome.trouble for outcome in found.values()))


def try_all(mutants: Sequence[Mutant], jobs: int, root: Path) -> dict[str, Outcome]:
    """What becomes of each fault, by name; a line on each as it is known. UserError: tests fail without any fault."""
    start = time.monotonic()
    found: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        first, *others = copies = [Path(place, str(number)) for number in range(min(jobs, len(mutants)))]
        copy_of(root, first)
        tests = {test for mutant in mutants for test in mutant.tests}
        print(f"{len(mutants)} faults; first their {len(tests)} tests without any of them", flush=True)
        without_faults(tests, first, len(copies))
        for other in others:
            shutil.copytree(first, other)  # with what has been compiled
        for mutant, outcome in zip(mutants, tried(mutants, copies, with_kernels(root))):
            found[mutant.name] = outcome
            minutes = (time.monotonic() - start) / 60
            print(f"{minutes:5.1f} min {len(found)}/{len(mutants)} {mutant.name}: {in_words(outcome)}", flush=True)
    return found


def in_words(outcome: Outcome) -> str:
    """The test that caught it, as tests/README.md names tests; or that none did, or why it could not be tried."""
    file, _, name = outcome.caught_by.partition("::")
    return f"`{file.removeprefix('tests/')}`: `{name}`" if name else outcome.trouble or "not caught"


def table(mutants: Sequence[Mutant], found: Mapping[str, Outcome]) -> str:
    """One row per fault, in Markdown."""
    rows = [f"| {mutant.name} | {mutant.fault} | {in_words(found[mutant.name])} |" for mutant in mutants]
    return "\n".join(["| name | fault | caught by |", "|---|---|---|", *rows])


def write(path: Path, text: str) -> None:
    """Put the text between the two marks of a file. UserError where it has none."""
    before, begin, rest = path.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise UserError(f"{path} needs the line {BEGIN} and after it the line {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    sys.exit(main())
