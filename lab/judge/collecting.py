"""Write tidy results: finished runs of any machine become `<results>/<scale>/<experiment>.csv`.

`collect` reads run directories, `share` the same runs in another experiment or at another scale, `merge_trees` another
tree. Beside each CSV, `<experiment>.provenance.json` says where each run comes from.

A process that changes a tree holds the lock of its file `.lock`, so two processes lose none of each other's changes.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from filelock import FileLock

from lab.judge.results import COLUMNS, KEY, REMEDY, RUN_COLUMNS, csv_path, read, read_csv, write_if_changed
from lab.run.errors import UserError
from lab.run.identity import attempts, read_json, run_name
from lab.run.provenance import UNKNOWN
from lab.sweep.entry import Entry


class Collected(NamedTuple):
    """Outcome of `collect` for an experiment."""

    path: Path | None
    """File with its results; None if there are none."""
    refused: list[str]
    """A line for every finished run that was skipped, and why."""


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

    Rows already in the file stay, even if their runs are not in `runs_root` (other machines, deleted runs). A run is
    refused if its sources are not today's (unless stale="keep"), if its code was not committed or its commit is
    unknown, or if the file has other values for it.
    own: collect a machine's own results, from its present runs alone: the file is written anew, and uncommitted code is
    fine.
    """
    path, runs_root = csv_path(results_root, experiment, scale), Path(runs_root)
    directories: dict[str, Path] = {}
    done: dict[str, Entry] = {}
    for entry in entries:
        run, directory = _run_key(entry), entry.run_dir(runs_root)
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
            content = read_json(directory / "config.json")
            if reason := _why_not(entry, runs_root, content, own, stale == "keep"):
                refused.append(f"skipped {directory}: {reason}")
                continue
            rows = read_csv(directory / "metrics.csv", RUN_COLUMNS, f"delete {directory} and run it again")
            rows = _labelled(rows, experiment, scale, entry)
            had = rows if old is None else _rows_of(old, entry)
            if len(had) and (other := _difference(had, rows)):
                why = f"run {run} of {experiment} is in {path} (first) with other values than here (second), {other}"
                refused.append(f"skipped {directory}: {why}; to use it, delete that file and collect again")
                continue
            sources.append((directory / "metrics.csv", rows))
            provenance[run] = content
        if sources:
            _write(path, _merge(path, sources), provenance if own else {**provenance, **read_provenance(path)})
            return Collected(path, refused)
        for there in (path, path.with_suffix(".provenance.json")):
            there.unlink(missing_ok=True)
        return Collected(None, refused)


def _why_not(entry: Entry, runs_root: Path, content: dict[str, Any], own: bool, keep: bool) -> str:
    """Say why a finished run is refused; "" if it is not. content: of its config.json."""
    reason = entry.state(runs_root).reason
    if reason and not keep:
        return f"it is stale, {reason}"
    if not own and any(attempt.get("commit", UNKNOWN) == UNKNOWN for attempt in attempts(content)):
        return "its commit is unknown"
    if not own and any(attempt.get("dirty", True) for attempt in attempts(content)):
        return "its code was not committed"
    return ""


def share(
    experiment: str,
    scale: str,
    entries: Iterable[Entry],
    others: Mapping[tuple[str, str], Iterable[Entry]],
    results_root: Path,
) -> list[str]:
    """Copy missing runs into an experiment's results from other experiments or scales that have them: a run of the same
    config is the same run under another label. Returns the labels of the copied runs, as "method|env|seed".

    others: (experiment, scale) -> entries. Runs that today's code would not make, and entries that are not `shared`,
    are left alone. If nothing was run at `scale`, nothing is copied from other scales: a few runs planned at both do
    not mean that both were run.
    """
    path = csv_path(results_root, experiment, scale)
    with _changing(Path(results_root)):
        old = read(results_root, experiment, scale)
        lacking = [entry for entry in entries if entry.shared and (old is None or _rows_of(old, entry).empty)]
        names = {run_name(entry.config) for entry in lacking}
        found: dict[str, tuple[pd.DataFrame, dict[str, Any]]] = {}
        for place in sorted(others, key=lambda place: (place[1] == scale, place), reverse=True):
            if place[1] == scale or found or old is not None:
                wanted = [entry for entry in others[place] if run_name(entry.config) in names]
                found = _of_today(*place, wanted, results_root) | found  # this scale comes first and wins
        brought, provenance = [], {}
        for entry in lacking:
            if (name := run_name(entry.config)) in found:
                rows, content = found[name]
                brought.append((path, _labelled(rows, experiment, scale, entry)))
                provenance[_run_key(entry)] = content
        if brought:
            merged = _merge(path, brought if old is None else [(path, old), *brought])
            _write(path, merged, {**provenance, **read_provenance(path)})
    return list(provenance)


def _of_today(
    experiment: str, scale: str, entries: list[Entry], results_root: Path
) -> dict[str, tuple[pd.DataFrame, dict[str, Any]]]:
    """Run name -> its rows and their provenance, for entries whose results exist and are as today's code would make
    them."""
    frame, found = read(results_root, experiment, scale) if entries else None, {}
    if frame is not None:
        provenance = read_provenance(csv_path(results_root, experiment, scale))
        for entry in entries:
            content = provenance.get(_run_key(entry))
            if content is not None and not entry.made_by_other_code(content):
                found[run_name(entry.config)] = _rows_of(frame, entry), content
    return found


def merge_trees(source: Path, target: Path) -> list[Path]:
    """Merge a results tree (`<scale>/<experiment>.csv`, say from another machine) into another; returns files written.

    As in `collect`, rows are added and equal runs stay. A run with two different results raises UserError, and nothing
    is written.
    """
    origins = sorted(Path(source).glob("*/*.csv"))
    if not origins:
        wrong = "holds no results" if Path(source).is_dir() else "is not a directory"
        raise UserError(f"{source} {wrong}; expected a results tree, <scale>/<experiment>.csv")
    merged = []
    with _changing(Path(target)):
        for origin in origins:
            experiment, scale = origin.stem, origin.parent.name
            path = csv_path(target, experiment, scale)
            frames = [(p, read(root, experiment, scale)) for p, root in ((path, target), (origin, source))]
            frame = _merge(path, [(p, frame) for p, frame in frames if frame is not None])
            merged.append((path, frame, {**read_provenance(origin), **read_provenance(path)}))
        for path, frame, provenance in merged:
            _write(path, frame, provenance)
    return [path for path, _, _ in merged]


def _run_key(entry: Entry) -> str:
    return f"{entry.method}|{entry.env}|{entry.seed}"


def _labelled(rows: pd.DataFrame, experiment: str, scale: str, entry: Entry) -> pd.DataFrame:
    return rows.assign(experiment=experiment, scale=scale, method=entry.method, env=entry.env, seed=entry.seed)


def _difference(old: pd.DataFrame, new: pd.DataFrame) -> str | None:
    """Describe the first (step, metric) in which two copies of a run differ; None if only hours do."""
    first, second = ({(s, m): repr(v) for s, m, v in zip(f["step"], f["metric"], f["value"])} for f in (old, new))
    for step, metric in sorted(first.keys() | second.keys()):
        a, b = first.get((step, metric), "nothing"), second.get((step, metric), "nothing")
        if a != b:
            return f"{metric} at step {step} is {a} in the first and {b} in the second"
    return None


def _merge(path: Path, sources: list[tuple[Path, pd.DataFrame]]) -> pd.DataFrame:
    """Merge the rows of `sources`, each given with its file. Of two equal copies of a run, the first stays."""
    runs: dict[tuple, tuple[Path, pd.DataFrame]] = {}
    for source, frame in sources:
        for run, rows in frame.groupby(["method", "env", "seed"], sort=False):
            if run not in runs:
                runs[run] = source, rows
            elif difference := _difference(runs[run][1], rows):
                name = "|".join(map(str, run))
                raise UserError(
                    f"run {name} of {path.stem} has two different results, {runs[run][0]} and {source}: {difference}; "
                    "keep one of the two: remove the run's rows from the other file"
                )
    return pd.concat([rows for _, rows in runs.values()])[COLUMNS] if runs else pd.DataFrame(columns=COLUMNS)


def _rows_of(frame: pd.DataFrame, entry: Entry) -> pd.DataFrame:
    here = (frame["method"] == entry.method) & (frame["env"] == entry.env) & (frame["seed"] == entry.seed)
    return frame[here]


@contextmanager
def _changing(root: Path) -> Iterator[None]:
    """Wait for a results tree's lock and hold it: one process at a time reads, merges and writes."""
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(root / ".lock"):
        for left in root.glob("*/*.tmp"):  # by a process killed while writing
            left.unlink(missing_ok=True)
        yield


def read_provenance(path: Path) -> dict[str, Any]:
    """Provenance of a CSV's runs: "method|env|seed" -> provenance. UserError for a damaged file."""
    beside = path.with_suffix(".provenance.json")
    try:
        return dict(json.loads(beside.read_text(encoding="utf-8"))) if beside.exists() else {}
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{beside} cannot be read ({error}); {REMEDY}") from None


def _write(path: Path, frame: pd.DataFrame, provenance: dict[str, Any]) -> None:
    # One line per run, so that a diff shows runs. Written first: a crash in between leaves a run too many, not too few.
    rows = sorted(frame[COLUMNS].itertuples(index=False, name=None), key=lambda row: row[: len(KEY)])
    runs = dict.fromkeys("|".join(map(str, row[2:5])) for row in rows)
    lines = [f"{json.dumps(run)}: {json.dumps(provenance[run], sort_keys=True)}" for run in runs if run in provenance]
    write_if_changed(path.with_suffix(".provenance.json"), ("{\n" + ",\n".join(lines) + "\n}\n").encode())
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])  # floats by repr: they read back the same
    write_if_changed(path, text.getvalue().encode())
