"""Tidy results: one CSV per experiment and scale, merged from finished runs of any machine.

`collect` turns run directories into `<results>/<scale>/<experiment>.csv` (one row per logged number) with a
`<experiment>.provenance.json` beside it (where each run comes from). `share` brings there what another experiment has
of it. `merge_trees` merges two such trees. `Results` is how claims and figures read them; `matrix` and `final` cut one
metric of one method out of a frame.

Who changes a tree holds the lock of its file `.lock`, so that two processes lose nothing of each other.
"""

from __future__ import annotations

import csv
import fcntl
import functools
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lab.checkpoints import write_atomically
from lab.entry import Entry
from lab.errors import UserError
from lab.identity import attempts, run_name
from lab.provenance import UNKNOWN

COLUMNS = ["experiment", "scale", "method", "env", "seed", "step", "metric", "value", "hours"]
RUN_COLUMNS = ["step", "metric", "value", "hours"]  # of a run's own metrics.csv
EVIDENCE = ("full", "quick")  # best first; smoke runs only show that everything is wired
REMEDY = "restore the file or delete it"

_KEY = COLUMNS[:7]  # what makes a row unique, and the order of the file
_NUMBERS = {"seed": int, "step": int, "value": float, "hours": float}


class MissingData(Exception):
    """The results lack what a claim or a figure needs; the message says what. Not a user's mistake: "not run"."""


# ------------------------------------------------------------------------------------------------ files


def write_if_changed(path: Path, data: bytes) -> bool:
    """Replace `path` by `data`, atomically; True when that changed it. An equal file keeps its time stamp."""
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)
    return True


def _read_csv(path: Path, columns: list[str], remedy: str) -> pd.DataFrame:
    """Rows of `path`, every number parsed by Python's own int and float, hence exactly what was written."""
    try:
        frame = pd.read_csv(path, dtype=str, na_filter=False, skip_blank_lines=False)
    except pd.errors.EmptyDataError:
        frame = pd.DataFrame()
    except (OSError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as CSV ({str(error).strip()}); {remedy}") from None
    for name in columns:
        if name not in frame:
            raise UserError(f"{path}: column '{name}' is missing, expected {','.join(columns)}; {remedy}")
    if not isinstance(frame.index, pd.RangeIndex):  # what pandas makes of the columns too many
        raise UserError(f"{path}: line 2 has more than {len(frame.columns)} columns; {remedy}")
    frame = frame[columns]
    for name in columns:
        if name in _NUMBERS:
            frame = frame.assign(**{name: _parse(path, name, frame[name], remedy)})
    key = [name for name in columns if name in _KEY]
    twice = frame.duplicated(key)
    if twice.any():
        row = frame.loc[twice, key].iloc[0]
        raise UserError(f"{path}: {' '.join(f'{k} {row[k]}' for k in key)} occurs twice; {remedy}")
    # A few names stand in thousands of rows; as categories they are looked for a hundred times as fast.
    return frame.astype({name: "category" for name in columns if name not in _NUMBERS})


def _parse(path: Path, name: str, texts: pd.Series, remedy: str) -> np.ndarray:
    kind, numbers = _NUMBERS[name], []
    for line, text in enumerate(texts.tolist(), start=2):  # iterating over the series itself takes twice the time
        try:
            numbers.append(kind(text))
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise UserError(f"{path}: line {line}, column '{name}': {text!r} is not {what}; {remedy}") from None
    return np.array(numbers, dtype=np.int64 if kind is int else np.float64)


def _read_json(path: Path, remedy: str) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); {remedy}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} holds no JSON object; {remedy}")
    return content


def _csv_path(root: Path, experiment: str, scale: str) -> Path:
    return Path(root) / scale / f"{experiment}.csv"


def _read_provenance(path: Path) -> dict[str, Any]:
    beside = path.with_suffix(".provenance.json")
    return _read_json(beside, REMEDY) if beside.exists() else {}


def _write(path: Path, frame: pd.DataFrame, provenance: dict[str, Any]) -> None:
    # One line per run, so that a diff shows runs. Written first: a crash in between leaves a run too many, not too few.
    rows = sorted(frame[COLUMNS].itertuples(index=False, name=None), key=lambda row: row[: len(_KEY)])
    runs = dict.fromkeys(_run_key(row[2:5]) for row in rows)
    lines = [f"{json.dumps(run)}: {json.dumps(provenance[run], sort_keys=True)}" for run in runs if run in provenance]
    write_if_changed(path.with_suffix(".provenance.json"), ("{\n" + ",\n".join(lines) + "\n}\n").encode())
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])  # floats by repr: they read back the same
    write_if_changed(path, text.getvalue().encode())


# ------------------------------------------------------------------------------------------------ merging


def _run_key(run: tuple) -> str:
    method, env, seed = run
    return f"{method}|{env}|{seed}"


def _difference(old: pd.DataFrame, new: pd.DataFrame) -> str | None:
    """First (step, metric) in which two copies of a run differ, in words; hours may differ. None: the same run."""
    first, second = (
        {(step, metric): repr(value) for step, metric, value in zip(f["step"], f["metric"], f["value"])}
        for f in (old, new)
    )
    for step, metric in sorted(first.keys() | second.keys()):
        a, b = first.get((step, metric), "nothing"), second.get((step, metric), "nothing")
        if a != b:
            return f"{metric} at step {step} is {a} in the first and {b} in the second"
    return None


def _merge(path: Path, sources: list[tuple[Path, pd.DataFrame]]) -> pd.DataFrame:
    """All rows of `sources` (each with the file it comes from). Of two equal copies of a run, the first stays."""
    runs: dict[tuple, tuple[Path, pd.DataFrame]] = {}
    for source, frame in sources:
        for run, rows in frame.groupby(["method", "env", "seed"], sort=False):
            if run not in runs:
                runs[run] = source, rows
            elif difference := _difference(runs[run][1], rows):
                raise UserError(
                    f"run {_run_key(run)} of {path.stem} has two different results, {runs[run][0]} and {source}: "
                    f"{difference}; keep one of the two: remove the run's rows from the other file"
                )
    return pd.concat([rows for _, rows in runs.values()])[COLUMNS] if runs else pd.DataFrame(columns=COLUMNS)


class Collected(NamedTuple):
    """What `collect` has made of an experiment."""

    path: Path | None
    """The file with its results; None: there are none."""
    refused: list[str]
    """A line for every finished run that was left out: which, and why."""


def collect(
    experiment: str,
    scale: str,
    entries: Iterable[Entry],
    runs_root: Path,
    results_root: Path,
    *,
    own: bool = False,
    stale: str = "again",
) -> Collected:
    """Merge the finished runs among `entries` into `<results_root>/<scale>/<experiment>.csv`.

    Rows of runs that are in the file already stay, also where they are not in `runs_root` (other machines, deleted
    runs). Refused are runs of other sources than today's (unless stale="keep"), with uncommitted changes, of an unknown
    commit, and those that are in the file with other values.
    own: a machine's own results, a function of the runs that are there: what was in the file does not count, and
    uncommitted changes are welcome.
    """
    path, runs_root = _csv_path(results_root, experiment, scale), Path(runs_root)
    directories: dict[str, Path] = {}
    done: dict[str, Entry] = {}
    for entry in entries:
        run, directory = _run_key((entry.method, entry.env, entry.seed)), entry.run_dir(runs_root)
        if directories.setdefault(run, directory) != directory:
            raise ValueError(f"{experiment} lists two configs as {run}: {directories[run].name} and {directory.name}")
        if (directory / "done.json").exists():
            done[run] = entry
    if not done and not path.exists():
        return Collected(None, [])
    with _changing(Path(results_root)):
        old = None if own else read(results_root, experiment, scale)
        sources = [] if old is None else [(path, old)]
        provenance: dict[str, Any] = {}
        refused = []
        for run, entry in done.items():
            directory = directories[run]
            again = f"delete {directory} and run it again"
            content = _read_json(directory / "config.json", again)
            if reason := _why_not(entry, runs_root, content, own, stale == "keep"):
                refused.append(f"{directory} is left out: {reason}")
                continue
            rows = _read_csv(directory / "metrics.csv", RUN_COLUMNS, again)
            rows = rows.assign(experiment=experiment, scale=scale, method=entry.method, env=entry.env, seed=entry.seed)
            had = rows if old is None else _rows_of(old, entry)
            if len(had) and (other := _difference(had, rows)):
                why = f"run {run} of {experiment} is in {path} (first) with other values than here (second)"
                refused.append(
                    f"{directory} is left out: {why}, {other}; to take it, delete that file and collect again"
                )
                continue
            sources.append((directory / "metrics.csv", rows))
            provenance[run] = content
        if sources:
            merged = _merge(path, sources)
            _write(path, merged, provenance if own else {**provenance, **_read_provenance(path)})
        else:
            for there in (path, path.with_suffix(".provenance.json")):
                there.unlink(missing_ok=True)
    return Collected(path if sources else None, refused)


def share(
    experiment: str, scale: str, entries: Iterable[Entry], others: Mapping[str, Iterable[Entry]], results_root: Path
) -> list[str]:
    """Bring into an experiment's results what it lacks and another experiment has: a run of the same config, which is
    the same run under another label. Returns the labels of the runs that were brought, as "method|env|seed".

    others: experiment -> entries. Left alone are runs that today's code would not make, and entries that are not
    `shared`.
    """
    path, brought, provenance = _csv_path(results_root, experiment, scale), [], {}
    with _changing(Path(results_root)):
        old = read(results_root, experiment, scale)
        there = set() if old is None else set(old[["method", "env", "seed"]].itertuples(index=False, name=None))
        lacking = [e for e in entries if e.shared and (e.method, e.env, e.seed) not in there]
        names = {run_name(entry.config) for entry in lacking}
        found: dict[str, tuple[pd.DataFrame, dict[str, Any]]] = {}  # by name of the run
        for other in sorted(others.keys() - {experiment}):
            donors = [entry for entry in others[other] if run_name(entry.config) in names]
            frame = read(results_root, other, scale) if donors else None
            if frame is None:
                continue
            contents = _read_provenance(_csv_path(results_root, other, scale))
            for donor in donors:
                content = contents.get(_run_key((donor.method, donor.env, donor.seed)))
                if content is not None and not donor.made_by_other_code(content):
                    found[run_name(donor.config)] = _rows_of(frame, donor), content
        for entry in lacking:
            if (name := run_name(entry.config)) in found:
                rows, content = found[name]
                run = _run_key((entry.method, entry.env, entry.seed))
                label = {"experiment": experiment, "method": entry.method, "env": entry.env, "seed": entry.seed}
                brought.append((path, rows.assign(**label)))
                provenance[run] = content
        if brought:
            merged = _merge(path, brought if old is None else [(path, old), *brought])
            _write(path, merged, {**provenance, **_read_provenance(path)})
    return list(provenance)


def _rows_of(frame: pd.DataFrame, entry: Entry) -> pd.DataFrame:
    here = (frame["method"] == entry.method) & (frame["env"] == entry.env) & (frame["seed"] == entry.seed)
    return frame[here]


def _why_not(entry: Entry, runs_root: Path, content: dict[str, Any], own: bool, keep: bool) -> str:
    """Why a finished run is no result; "" when it is one. content: of its config.json."""
    reason = entry.state(runs_root).reason
    if reason and not keep:
        return f"it is stale, {reason}"
    if not own and any(attempt.get("commit", UNKNOWN) == UNKNOWN for attempt in attempts(content)):
        return "nobody knows its commit"
    if not own and any(attempt.get("dirty", True) for attempt in attempts(content)):
        return "its code was not committed"
    return ""


@contextmanager
def _changing(root: Path) -> Iterator[None]:
    """The lock of a results tree: one process at a time reads, merges and writes. Waits for its turn."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in root.glob("*/*.tmp"):  # by a process that was killed while it wrote
            left.unlink(missing_ok=True)
        yield


def merge_trees(source: Path, target: Path) -> list[Path]:
    """Merge a results tree (`<scale>/<experiment>.csv`, from another machine say) into another; returns files written.

    The rule of `collect`: rows are added, equal runs stay, a run with two different results is a UserError and then
    nothing is written.
    """
    source, target = Path(source), Path(target)
    if not source.is_dir():
        raise UserError(f"{source} is not a directory; expected a results tree, <scale>/<experiment>.csv")
    origins = sorted(source.glob("*/*.csv"))
    if not origins:
        raise UserError(f"{source} holds no results; expected <scale>/<experiment>.csv below it")
    merged = []
    with _changing(target):
        for origin in origins:
            experiment, scale = origin.stem, origin.parent.name
            path = _csv_path(target, experiment, scale)
            frames = [(p, read(root, experiment, scale)) for p, root in ((path, target), (origin, source))]
            sources = [(p, frame) for p, frame in frames if frame is not None]
            frame = _merge(path, sources)
            merged.append((path, frame, {**_read_provenance(origin), **_read_provenance(path)}))
        for path, frame, provenance in merged:
            _write(path, frame, provenance)
    return [path for path, _, _ in merged]


# ------------------------------------------------------------------------------------------------ reading


def read(results_root: Path, experiment: str, scale: str) -> pd.DataFrame | None:
    """The tidy frame (COLUMNS) of an experiment at a scale, None when there is no file.

    Raises UserError naming file and column (or line) when the file is damaged or is another experiment's.
    """
    path = _csv_path(results_root, experiment, scale)
    if not path.exists():
        return None
    frame = _read_csv(path, COLUMNS, REMEDY)
    for name, expected in (("experiment", experiment), ("scale", scale)):
        other = frame.loc[frame[name] != expected, name]
        if len(other):
            raise UserError(f"{path}: column '{name}' holds {other.iloc[0]!r}, expected {expected!r}; {REMEDY}")
    return frame


def best_scale(results_root: Path, experiment: str, order: tuple[str, ...] = EVIDENCE) -> str | None:
    """The first scale of `order` that has results of an experiment, or of any of "a+b". Smoke is not in the default
    order: it is never evidence."""
    names = experiment.split("+")
    return next((s for s in order if any(_csv_path(results_root, name, s).exists() for name in names)), None)


class Results:
    """Reader of one paper's results tree, for claims (best evidence first) and figures (at a given scale).

    An experiment is named by one word; "a+b" are two that are read as one: those of them that there are.
    """

    def __init__(self, root: Path, scales: tuple[str, ...] = EVIDENCE) -> None:
        self.root, self.scales = Path(root), scales
        self._frames: dict[tuple[str, str], pd.DataFrame | None] = {}
        self.sources: set[str] = set()
        """What has been read, as "<scale>/<experiment>"."""

    @functools.cached_property
    def apart(self) -> list[Results]:
        """Readers of each scale alone; what one of them has read it does not read again."""
        return [Results(self.root, (scale,)) for scale in self.scales]

    def __call__(self, experiment: str) -> tuple[pd.DataFrame, str] | None:
        """(frame, scale) at the best scale that has results, else None."""
        scale = best_scale(self.root, experiment, self.scales)
        return None if scale is None else (self.at(experiment, scale), scale)

    def need(self, experiment: str) -> tuple[pd.DataFrame, str]:
        """As calling it, but raises MissingData instead of returning None."""
        found = self(experiment)
        if found is None:
            raise MissingData(f"no {' or '.join(self.scales)} results of {experiment}")
        return found

    def at(self, experiment: str, scale: str) -> pd.DataFrame:
        """The frame at this very scale (smoke too: figures show what is there); raises MissingData without a file."""
        found = []
        for name in experiment.split("+"):
            if (name, scale) not in self._frames:
                self._frames[name, scale] = read(self.root, name, scale)
            if (frame := self._frames[name, scale]) is not None:
                self.sources.add(f"{scale}/{name}")
                found.append(frame)
        if not found:
            raise MissingData(f"no {scale} results of {experiment}")
        return pd.concat(found, ignore_index=True)


class Grid:
    """An experiment's rows at a scale, for figures: only runs that the experiment has, and which of them are missing.

    entries: the runs of experiments.py at this scale. MissingData when none of them has rows.
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

    Only steps that every seed has, so that a mean over seeds is over the same seeds at each step. Raises MissingData
    without rows, or when the seeds have no step in common.
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
