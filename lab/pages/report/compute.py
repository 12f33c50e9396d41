"""What the committed results cost: runs, steps and core-hours, and on which code and machine they were made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import UserError
from lab.results import EVIDENCE, REMEDY, Results

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Run:
    """One run: what identifies it, its steps (in the unit that the experiment counts), its cost and its origins.

    A run that was interrupted may have gone on on other code or another machine: origins are in order, without
    repetitions, "unknown" where nothing was noted.
    """

    key: str
    steps: int
    core_hours: float
    commits: tuple[str, ...]
    machines: tuple[str, ...]
    versions: tuple[str, ...]
    dirty: bool
    """Whether Python files differed from a commit."""


@dataclass(frozen=True)
class Experiment:
    """The committed runs of one experiment at one scale; file: their CSV's path in the repository."""

    name: str
    scale: str
    file: str
    runs: tuple[Run, ...]

    @property
    def steps(self) -> tuple[int, int]:
        """Fewest and most steps of a run."""
        return min(run.steps for run in self.runs), max(run.steps for run in self.runs)

    @property
    def core_hours(self) -> float:
        """Of all runs, also of those that another name or experiment has, too."""
        return sum(run.core_hours for run in self.runs)


def distinct(runs: Iterable[Run], field: str) -> list[str]:
    """The different origins of a kind ("commits", "machines", "versions"), in order of appearance."""
    return list(dict.fromkeys(origin for run in runs for origin in getattr(run, field)))


def doubts(runs: Iterable[Run]) -> list[str]:
    """What keeps one commit from being all the code of these runs, e.g. "2 runs went on on another commit"."""
    runs = list(runs)
    counts = {
        "on Python files that differ from their commit": sum(run.dirty for run in runs),
        "begun on one commit and finished on another": sum(len(run.commits) > 1 for run in runs),
        "of unknown origin": sum(UNKNOWN in run.commits for run in runs),
    }
    return [f"{count} {'run' if count == 1 else 'runs'} {what}" for what, count in counts.items() if count]


def once(experiments: Iterable[Experiment]) -> list[Run]:
    """Every run once: one that several names or experiments share is in each of their rows."""
    return list({run.key: run for experiment in experiments for run in experiment.runs}.values())


def experiments(results: Path, root: Path) -> list[Experiment]:
    """All experiments that have rows in a results tree (<scale>/<experiment>.csv) of the repository `root`, best scale
    first. Raises UserError when a file is damaged."""
    reader = Results(results)
    paths = [path for scale in EVIDENCE for path in sorted(Path(results).glob(f"{scale}/*.csv"))]
    found = [
        Experiment(path.stem, path.parent.name, Path(os.path.relpath(path, root)).as_posix(), _runs(reader, path))
        for path in paths
    ]
    return [experiment for experiment in found if experiment.runs]


def _runs(results: Results, path: Path) -> tuple[Run, ...]:
    frame = results.at(path.stem, path.parent.name)
    last = frame.groupby(["method", "env", "seed"])[["step", "hours"]].max()
    origins = _origins(path)
    return tuple(
        _run(path, f"{method}|{env}|{seed}", int(step), float(hours), origins)
        for (method, env, seed), step, hours in last.itertuples(name=None)
    )


def _origins(path: Path) -> dict[str, Any]:
    beside = path.with_suffix(".provenance.json")
    if not beside.exists():
        return {}
    try:
        return dict(json.loads(beside.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{beside} cannot be read ({error}); {REMEDY}") from None


def _run(path: Path, name: str, steps: int, hours: float, origins: dict[str, Any]) -> Run:
    origin = origins.get(name, {})
    attempts = [origin, *origin.get("resumed", [])]
    config = origin.get("config", {})
    device = config.get("device") or "cpu"

    def in_order(words: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(words))

    return Run(
        # a run is a function of its settings and its code
        key=json.dumps([config, *(attempt["commit"] for attempt in attempts)] if origin else [str(path), name]),
        steps=steps,
        core_hours=hours * origin.get("threads", 1),
        commits=in_order(attempt.get("commit", UNKNOWN)[:7] for attempt in attempts),
        machines=in_order(_machine(attempt.get("machine", {}), device) for attempt in attempts),
        versions=in_order(_versions(attempt) for attempt in attempts),
        dirty=any(attempt.get("dirty") for attempt in attempts),
    )


def _machine(machine: dict[str, Any], device: str) -> str:
    if not machine:
        return UNKNOWN
    parts = [machine.get("cpu", UNKNOWN), f"{machine.get('cores', '?')} cores", machine.get("platform", "")]
    return ", ".join([part for part in parts if part] + ([f"trained on {device}"] if device != "cpu" else []))


def _versions(attempt: dict[str, Any]) -> str:
    if "versions" not in attempt:
        return UNKNOWN
    versions = {"python": attempt.get("machine", {}).get("python", UNKNOWN), **attempt["versions"]}
    return ", ".join(f"{package} {version}" for package, version in versions.items())
