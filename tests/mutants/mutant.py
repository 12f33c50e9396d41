"""Seeded faults: what is written in place of what, and the tests that ought to catch it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lab.run.errors import UserError

FOLDER = Path(__file__).parent


class Change(NamedTuple):
    """In `file`, `by` takes the place of `replace`, which stands there exactly once."""

    file: str
    replace: str
    by: str


@dataclass(frozen=True)
class Mutant:
    """name: begins with the area. fault: one sentence. tests: as pytest calls them."""

    name: str
    fault: str
    changes: tuple[Change, ...]
    tests: tuple[str, ...]

    @property
    def files(self) -> list[str]:
        """Those that it changes."""
        return list(dict.fromkeys(change.file for change in self.changes))


def read_all(folder: Path = FOLDER) -> list[Mutant]:
    """The faults in all TOML files of a folder, by name. UserError where something is missing."""
    found = []
    for path in folder.glob("*.toml"):
        try:
            found += [read(name, entry) for name, entry in tomllib.loads(path.read_text()).items()]
        except (tomllib.TOMLDecodeError, UserError) as error:
            raise UserError(f"{path.name}: {error}") from None
    return sorted(found, key=lambda mutant: mutant.name)


def read(name: str, entry: dict) -> Mutant:
    """One entry of a TOML file. UserError where it is not as tests/README.md says."""
    fault, changes, tests = (entry.get(key) for key in ("fault", "changes", "tests"))
    if not re.fullmatch(r"[A-Z][^|`]*\.", str(fault)):
        raise UserError(f"the fault of {name} is to be one sentence, not {fault!r}")
    if not changes or any(set(change) != set(Change._fields) for change in changes):
        raise UserError(f"each of the changes of {name} is to be {{ file, replace, by }}")
    if not tests or not all(re.fullmatch(r"\S+\.py::\w+", test) for test in tests):
        raise UserError(f"the tests of {name} are to be such as tests/lab/run/test_runs.py::test_x")
    return Mutant(name, str(fault), tuple(Change(**change) for change in changes), tuple(tests))


def faulty(mutant: Mutant, root: Path) -> dict[str, str]:
    """The changed files with the fault in them. ValueError unless each text to replace is there exactly once."""
    texts = {file: (root / file).read_text() for file in mutant.files}
    for file, replace, by in mutant.changes:
        if (count := texts[file].count(replace)) != 1:
            raise ValueError(f"{replace!r} is {count} times in {file}")
        texts[file] = texts[file].replace(replace, by)
    return texts
