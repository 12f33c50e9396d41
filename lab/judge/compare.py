"""Compare two runs, or two sets of seeds: the settings that differ, and the curves in one picture."""

import glob
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lab.commands import shown
from lab.judge.plotting import curves, legend, new_figure, save
from lab.judge.results import RUN_COLUMNS
from lab.rooms import choose
from lab.run.errors import UserError

COLUMNS = 3  # panels side by side


@dataclass(frozen=True)
class Side:
    """Runs that differ only in their seeds. config: setting -> value, "a.b" for a nested setting."""

    name: str
    config: dict[str, Any]
    seeds: list[int]
    frame: pd.DataFrame  # seed, step, metric, value


def read_side(text: str) -> Side:
    """Read the runs that `text` names: a directory, a pattern such as "runs/ter/*-uer-s*", or a name without
    "-s<seed>-<hash>".

    Raises UserError if it names no run, runs with different settings, or a run without metrics.
    """
    first, *others = _directories(text)
    config = _config(first)
    runs = {config.pop("seed", 0): first}
    for other in others:
        its = _config(other)
        runs[its.pop("seed", 0)] = other
        if apart := differences(config, its):
            name, a, b = apart[0]
            two = f"{name} is {a} in {first.name} and {b} in {other.name}"
            raise UserError(f"{text} matches runs with different settings: {two}; name one run")
    frames = [_metrics(directory).assign(seed=seed) for seed, directory in runs.items()]
    return Side(text, config, sorted(runs), pd.concat(frames))


def _directories(text: str) -> list[Path]:
    found = [text] if Path(text).is_dir() else sorted(glob.glob(text) or glob.glob(f"{text}-s[0-9]*"))
    runs = [path for path in map(Path, found) if (path / "config.json").exists()]
    if not runs:
        what = "a directory below runs/, a pattern, or a name without -s<seed>-<hash>"
        raise UserError(f"{text!r} is not a run: name {what}")
    return runs


def _config(directory: Path) -> dict[str, Any]:
    path = directory / "config.json"
    try:
        return pd.json_normalize(json.loads(path.read_bytes())["config"]).to_dict("records")[0]
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise UserError(f"{path} cannot be read ({error}); name another run") from None


def _metrics(directory: Path) -> pd.DataFrame:
    path = directory / "metrics.csv"
    try:
        whole_lines = path.read_text().rpartition("\n")[0]  # a running process may be writing another
        frame = pd.read_csv(io.StringIO(whole_lines), usecols=RUN_COLUMNS).astype({"step": int, "value": float})
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({str(error).splitlines()[0]}); name another run") from None
    if frame.empty:
        raise UserError(f"{path} has no metrics yet; name another run or wait for its first evaluation")
    return frame


def differences(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """(setting, value in a, value in b) of settings that differ; "-" if one side has no such setting."""
    names = dict.fromkeys([*a, *b])
    return [(name, a.get(name, "-"), b.get(name, "-")) for name in names if repr(a.get(name)) != repr(b.get(name))]


def compare(first: str, second: str, out: Path, *, metrics: str | None = None) -> None:
    """Print the settings in which two runs (or sets of seeds) differ; draw the curves of common metrics to `out`.

    metrics: names, "a,b"; None: all that both have measured more than once, or all if there are none. See `read_side`.
    Raises UserError for something that is not a run, for metrics that one side lacks, and if none are in common.
    """
    sides = [read_side(text) for text in (first, second)]
    names, seeds = [side.name for side in sides], [", ".join(map(str, side.seeds)) for side in sides]
    rows = [("", *names), *differences(*(side.config for side in sides)), ("seeds", *seeds)]
    widths = [max(len(str(cell)) for cell in column) for column in zip(*rows)]
    for row in rows:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
    steps = [side.frame.groupby("metric", sort=False)["step"].nunique() for side in sides]
    common = [name for name in steps[0].index if name in steps[1].index]
    if not common:
        raise UserError(f"{first} and {second} have no metric in common")
    if metrics is None:
        chosen = [name for name in common if min(many[name] for many in steps) > 1] or common
    else:
        chosen = list(dict.fromkeys(choose("common metric", name.strip(), common) for name in metrics.split(",")))
    columns = min(COLUMNS, len(chosen))
    what = "mean and standard deviation over seeds"
    canvas, axes = new_figure(math.ceil(len(chosen) / columns), columns, "Two runs compared", caption=what)
    both = pd.concat([side.frame.assign(method=label, env="") for label, side in zip("AB", sides)])
    labels = {label: f"{label}: {name}" for label, name in zip("AB", names)}
    for ax, metric in zip(axes.flat, chosen):
        curves(ax, both, metric, kind="mean-sd", order="AB", labels=labels, xlabel="steps")
    for ax in axes.flat[len(chosen) :]:
        ax.remove()
    legend(canvas)
    save(canvas, out)
    if left := len(common) - len(chosen):
        print(f"left out: {left} other metrics; choose with --metrics NAME,NAME")
    print(f"written: {shown(out)}")
