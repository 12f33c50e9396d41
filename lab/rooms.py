"""The papers, and where their files lie. A paper is any folder of papers/ whose evidence/ has experiments.py,
figures.py and claims.py; there is no list of them."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from lab.run.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
FILES = ("experiments.py", "figures.py", "claims.py")  # in a paper's evidence/

Choice = Mapping[str, Callable[[Any], bool]]
"""Figure -> which entries of its experiments are wanted."""


def every(entry: Any) -> bool:
    """Choose every entry of an experiment."""
    return True


@dataclass(frozen=True)
class House:
    """Where things lie. Tests build their own, around toy papers."""

    package: str = "papers"  # importable package that holds the papers
    root: Path = ROOT  # of README.md and RESULTS.md
    runs: Path = ROOT / "runs"
    targets: bool = True  # every paper and figure is a target of the Makefile
    committed: bool = True  # results and figures of the papers' evidence/; else this machine's own, below `runs`

    def papers(self) -> dict[str, Paper]:
        """Name -> every folder of `package` that has a paper's three files."""
        folders = [Path(folder) for folder in importlib.import_module(self.package).__path__]
        found = [path for folder in folders for path in sorted(folder.iterdir())]
        papers = [Paper(self, path) for path in found if all((path / "evidence" / file).is_file() for file in FILES)]
        return {paper.name: paper for paper in papers}


@dataclass(frozen=True)
class Paper:
    """A paper's room. Its modules are imported when needed, so `list` does not load torch."""

    house: House
    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def evidence(self) -> Path:
        return self.folder / "evidence"

    @property
    def runs(self) -> Path:
        return self.house.runs / self.name

    @property
    def results(self) -> Path:
        return self.evidence / "results" if self.house.committed else self.house.runs / "results" / self.name

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(f"{self.house.package}.{self.name}.evidence.{name}")

    @cached_property
    def experiments(self) -> dict[str, Any]:
        return self._module("experiments").EXPERIMENTS

    @cached_property
    def headline(self) -> Choice:
        """Figures that `make reproduce` draws, and which of their runs it trains; default: all."""
        return getattr(self._module("experiments"), "HEADLINE", dict.fromkeys(self.figures, every))

    @cached_property
    def figures(self) -> dict[str, Any]:
        return self._module("figures").FIGURES

    @cached_property
    def claims(self) -> list[Any]:
        return list(self._module("claims").CLAIMS)

    @cached_property
    def summary(self) -> Any:
        """Sentences about the verdicts, each with the verdicts behind it; see lab.judge.claims.summary."""
        return getattr(self._module("claims"), "SUMMARY", {})

    @property
    def verdicts(self) -> Path:
        """Page of its verdicts."""
        return self.folder / "VERDICTS.md" if self.house.committed else self.house.runs / f"verdicts/{self.name}.md"

    def picture(self, figure: str, scale: str) -> Path:
        figures = self.evidence / "figures" if self.house.committed else self.house.runs / "figures" / self.name
        return figures / scale / f"{figure}.png"


def judge(paper: Paper) -> list[tuple[Any, Any]]:
    """All claims of the paper with their verdicts, from the best scale that has results."""
    from lab.judge import claims
    from lab.judge.results import Results

    return claims.evaluate(paper.claims, Results(paper.results))


def plain(name: str) -> str:
    """Normalise a name for comparison: lower case, with hyphens, as in Make targets."""
    return name.lower().replace("_", "-")


def choose(kind: str, name: str, valid: Iterable[str]) -> str:
    """Return the member of `valid` called `name`, ignoring case and `-` versus `_`. UserError lists the valid ones."""
    byplain = {plain(right): right for right in valid}
    if plain(name) in byplain:
        return byplain[plain(name)]
    close = difflib.get_close_matches(plain(name), byplain, n=1)
    hint = f", did you mean {close[0]}?" if close else ";"
    raise UserError(f"unknown {kind} {name!r}{hint} choose from: {', '.join(byplain) or 'none yet'}")
