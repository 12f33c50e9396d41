"""Read tidy results: one CSV per experiment and scale, one row per logged number; collecting.py writes them.

Claims and figures read them through `Results`; `matrix` and `final` extract one metric of one method from a frame.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from lab.run.checkpoints import write_atomically
from lab.run.errors import UserError
from lab.sweep.entry import Entry

COLUMNS = ["experiment", "scale", "method", "env", "seed", "step", "metric", "value", "hours"]
RUN_COLUMNS = ["step", "metric", "value", "hours"]  # of a run's own metrics.csv
EVIDENCE = ("full", "long", "quick")  # best first; smoke runs only test the wiring
REMEDY = "restore the file or delete it"

KEY = COLUMNS[:7]  # what makes a row unique, and the order of the file
_NUMBERS = {"seed": "int64", "step": "int64", "value": "float64", "hours": "float64"}
_TYPES = dict.fromkeys(COLUMNS, "category") | _NUMBERS


class MissingData(Exception):
    """The results lack what a claim or figure needs; the message says what. Not a user's mistake: "not run"."""


def write_if_changed(path: Path, data: bytes) -> bool:
    """Replace the file `path` atomically; returns whether it changed. An equal file keeps its time stamp."""
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)
    return True


def read_csv(path: Path, columns: list[str], remedy: str) -> pd.DataFrame:
    """Rows of `path`, every number exactly as it was written; names, which stand in many rows, as categories."""
    nan = {"value": "nan"}
    try:
        with np.errstate(invalid="ignore"):  # a step of 1e30 is an error below, and no warning beside it
            frame = pd.read_csv(path, dtype=_TYPES, keep_default_na=False, na_values=nan, skip_blank_lines=False)
    except pd.errors.EmptyDataError:
        frame = pd.DataFrame()
    except (OSError, ValueError, OverflowError) as error:
        raise UserError(f"{path} cannot be read as CSV ({' '.join(str(error).split())}); {remedy}") from None
    if lacking := [name for name in columns if name not in frame]:
        raise UserError(f"{path}: column '{lacking[0]}' is missing, expected {','.join(columns)}; {remedy}")
    key = [name for name in columns if name in KEY]
    twice = frame.duplicated(key)
    if twice.any():
        row = frame.loc[twice, key].iloc[0]
        raise UserError(f"{path}: {' '.join(f'{k} {row[k]}' for k in key)} occurs twice; {remedy}")
    return frame[columns]


def stack(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all frames; names are categories, which are several times faster to compare than strings."""
    typed = [frame.astype(_TYPES) for frame in frames]
    for name in (name for name, kind in _TYPES.items() if kind == "category"):
        union = union_categoricals([frame[name] for frame in typed]).categories
        typed = [frame.assign(**{name: frame[name].cat.set_categories(union)}) for frame in typed]
    return pd.concat(typed, ignore_index=True)


def csv_path(root: Path, experiment: str, scale: str) -> Path:
    return Path(root) / scale / f"{experiment}.csv"


def read(results_root: Path, experiment: str, scale: str) -> pd.DataFrame | None:
    """Read the tidy frame (COLUMNS) of an experiment at a scale; None if there is no file.

    Raises UserError naming file and column (or line) if the file is damaged or belongs to another experiment.
    """
    path = csv_path(results_root, experiment, scale)
    if not path.exists():
        return None
    frame = read_csv(path, COLUMNS, REMEDY)
    for name, expected in (("experiment", experiment), ("scale", scale)):
        other = frame.loc[frame[name] != expected, name]
        if len(other):
            raise UserError(f"{path}: column '{name}' holds {other.iloc[0]!r}, expected {expected!r}; {REMEDY}")
    return frame


class Results:
    """Reader of a paper's results tree, for claims (best evidence first) and figures (at a given scale).

    An experiment's name is one word; "a+b" reads two as one, or the one that exists.
    """

    def __init__(self, root: Path, scales: tuple[str, ...] = EVIDENCE) -> None:
        self.root, self.scales = Path(root), scales
        self._frames: dict[tuple[str, str], pd.DataFrame | None] = {}
        self.sources: set[str] = set()
        """What has been read so far, as "<scale>/<experiment>"."""

    @functools.cached_property
    def apart(self) -> list[Results]:
        """One reader per scale; each reads a file only once."""
        return [Results(self.root, (scale,)) for scale in self.scales]

    def need(self, experiment: str) -> tuple[pd.DataFrame, str]:
        """(frame, scale) at the best scale that has results; raises MissingData if none has."""
        scale = self.best(experiment)
        return self.at(experiment, scale), scale

    def best(self, experiment: str) -> str:
        """The best scale that has results, which are noted as read; raises MissingData if none has."""
        for scale in self.scales:
            if self._read(experiment, scale):
                return scale
        raise MissingData(f"no {' or '.join(self.scales)} results of {experiment}")

    def at(self, experiment: str, scale: str) -> pd.DataFrame:
        """The frame at exactly this scale (even smoke, for figures); raises MissingData without a file."""
        if not (found := self._read(experiment, scale)):
            raise MissingData(f"no {scale} results of {experiment}")
        return stack(found) if len(found) > 1 else found[0].copy()

    def _read(self, experiment: str, scale: str) -> list[pd.DataFrame]:
        found = []
        for name in experiment.split("+"):
            if (name, scale) not in self._frames:
                self._frames[name, scale] = read(self.root, name, scale)
            if (frame := self._frames[name, scale]) is not None:
                self.sources.add(f"{scale}/{name}")
                found.append(frame)
        return found


class Grid:
    """An experiment's rows at a scale, for figures: only the runs that it plans, and which of them are missing.

    entries: the runs of experiments.py at this scale. MissingData if none of them has rows.
    """

    def __init__(self, results: Results, experiment: str, scale: str, entries: Iterable[Entry]) -> None:
        wanted = dict.fromkeys((entry.method, entry.env, entry.seed) for entry in entries)
        self.scale = scale
        self.methods = list(dict.fromkeys(method for method, _, _ in wanted))
        self.envs = list(dict.fromkeys(env for _, env, _ in wanted))
        frame = results.at(experiment, scale)
        self.frame = frame[frame["method"].isin(self.methods) & frame["env"].isin(self.envs)]
        if self.frame.empty:
            raise MissingData(f"none of the {scale} runs of {experiment}")
        done = set(self.frame[["method", "env", "seed"]].drop_duplicates().itertuples(index=False, name=None))
        self.wanted = list(wanted)
        """(method, env, seed) of every run."""
        self.missing = [run for run in self.wanted if run not in done]
        """Those that have no rows."""

    def of(self, env: str) -> pd.DataFrame:
        """The rows of one task."""
        return self.frame[self.frame["env"] == env]


def matrix(frame: pd.DataFrame, metric: str, method: str, env: str) -> tuple[np.ndarray, np.ndarray]:
    """Curves of one metric: steps int64[T] and values float64[seeds, T], seeds in ascending order.

    Only steps that every seed has, so a mean over seeds is over the same seeds at each step. Raises MissingData without
    rows, or if the seeds have no step in common.
    """
    rows = frame[(frame["metric"] == metric) & (frame["method"] == method) & (frame["env"] == env)]
    if rows.empty:
        raise MissingData(f"no {metric} of {method} on {env}")
    rows = rows.sort_values(["seed", "step"])
    seeds, steps, values = (rows[column].to_numpy() for column in ("seed", "step", "value"))
    starts = np.flatnonzero(seeds[1:] != seeds[:-1]) + 1
    of_seeds = list(zip(np.split(steps, starts), np.split(values, starts)))
    common = functools.reduce(np.intersect1d, (theirs for theirs, _ in of_seeds))
    if not len(common):
        raise MissingData(f"the seeds of {method} on {env} have no step of {metric} in common")
    curves = [theirs[np.isin(at, common)] for at, theirs in of_seeds]
    return np.asarray(common, np.int64), np.stack(curves)


def final(frame: pd.DataFrame, metric: str, method: str, env: str, last: int = 1) -> np.ndarray:
    """float64[seeds]: mean of the `last` rows of each seed's curve. Raises MissingData as `matrix`."""
    return matrix(frame, metric, method, env)[1][:, -last:].mean(axis=1)
