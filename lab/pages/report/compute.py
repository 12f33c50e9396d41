"""What the committed results cost: runs, steps and core-hours, and on which code and machine they were made."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import UserError
from lab.results import EVIDENCE, REMEDY, Results

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Run:
    """One run: what identifies it, its steps (in the unit that the experiment counts), its cost and its origin."""

    key: str
    steps: int
    core_hours: float
    commit: str
    machine: str
    versions: str


@dataclass(frozen=True)
class Experiment:
    """The committed runs of one experiment at one scale."""

    name: str
    scale: str
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
    """The different values of a field ("commit", "machine", "versions"), in order of appearance."""
    return list(dict.fromkeys(getattr(run, field) for run in runs))


def once(experiments: Iterable[Experiment]) -> list[Run]:
    """Every run once: one that several names or experiments share is in each of their rows."""
    return list({run.key: run for experiment in experiments for run in experiment.runs}.values())


def experiments(root: Path) -> list[Experiment]:
    """All experiments that have rows below `root` (results/<scale>/<experiment>.csv), best scale first.

    Raises UserError when a file is damaged.
    """
    results = Results(root)
    paths = [path for scale in EVIDENCE for path in sorted(Path(root).glob(f"{scale}/*.csv"))]
    found = [Experiment(path.stem, path.parent.name, _runs(results, path)) for path in paths]
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
    origin = origins.get(name)
    if origin is None:
        return Run(f"{path}|{name}", steps, hours, UNKNOWN, UNKNOWN, UNKNOWN)
    config = origin.get("config", {})
    commit = origin.get("commit", UNKNOWN)
    machine = origin.get("machine", {})
    parts = [machine.get("cpu", UNKNOWN), f"{machine.get('cores', '?')} cores", machine.get("platform", "")]
    if (device := config.get("device") or "cpu") != "cpu":
        parts.append(f"trained on {device}")
    versions = {"python": machine.get("python", UNKNOWN), **origin.get("versions", {})}
    return Run(
        key=json.dumps([config, commit], sort_keys=True),  # a run is a function of these
        steps=steps,
        core_hours=hours * origin.get("threads", 1),
        commit=commit[:7] + (" with changes" if origin.get("dirty") else ""),
        machine=", ".join(part for part in parts if part),
        versions=", ".join(f"{package} {version}" for package, version in versions.items()),
    )
