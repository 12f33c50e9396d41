"""Two runs, or two sets of seeds, side by side: where their settings differ, and their curves in one picture."""

from __future__ import annotations

import glob
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lab.commands import shown
from lab.errors import UserError
from lab.plotting import curves, legend, new_figure, save
from lab.results import RUN_COLUMNS
from lab.rooms import choose

COLUMNS = 3  # panels side by side


@dataclass(frozen=True)
class Side:
    """Runs that differ in their seed alone. config: setting -> value, "a.b" for a setting within a setting."""

    name: str
    config: dict[str, Any]
    seeds: list[int]
    frame: pd.DataFrame  # seed, step, metric, value


def read_side(text: str, *, all_seeds: bool = False) -> Side:
    """What `text` names: a run directory, a pattern such as "runs/ter/*-uer-s*", or a name without "-s<seed>-<hash>".

    all_seeds: of a run directory, the runs beside it with the same settings, too. Raises UserError when it names no
    run, runs with different settings, or a run without metrics.
    """
    first, *others = _directories(text)
    config = _config(first)
    runs = {config.pop("seed", 0): first}
    if all_seeds and not others:
        others = _directories(re.sub(r"-s\d+-\w+$", "", str(first)))
    for other in others:
        its = _config(other)
        seed, apart = its.pop("seed", 0), differences(config, its)
        if apart and not all_seeds:
            name, a, b = apart[0]
            raise UserError(
                f"{text} names runs with different settings: {name} is {a} in {first.name} and {b} in {other.name}; "
                "name one run, with --all-seeds"
            )
        if not apart:
            runs[seed] = other
    frames = [_metrics(directory).assign(seed=seed) for seed, directory in runs.items()]
    return Side(text, config, sorted(runs), pd.concat(frames))


def _directories(text: str) -> list[Path]:
    found = [text] if Path(text).is_dir() else sorted(glob.glob(text) or glob.glob(f"{text}-s[0-9]*"))
    runs = [path for path in map(Path, found) if (path / "config.json").exists()]
    if not runs:
        what = "a directory below runs/, a pattern, or a name without -s<seed>-<hash>"
        raise UserError(f"{text!r} is no run: name {what}")
    return runs


def _config(directory: Path) -> dict[str, Any]:
    try:
        config = json.loads((directory / "config.json").read_bytes())["config"]
        return {str(name): value for name, value in pd.json_normalize(config).to_dict("records")[0].items()}
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise UserError(f"{directory / 'config.json'} cannot be read ({error}); name another run") from None


def _metrics(directory: Path) -> pd.DataFrame:
    path = directory / "metrics.csv"
    try:
        whole_lines = path.read_text().rpartition("\n")[0]  # a run that goes on may be writing another
        frame = pd.read_csv(io.StringIO(whole_lines), usecols=RUN_COLUMNS).astype({"step": int, "value": float})
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({str(error).splitlines()[0]}); name another run") from None
    if frame.empty:
        raise UserError(f"{path} has no metrics yet; name another run or wait for its first evaluation")
    return frame


def differences(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """(setting, value in a, value in b) where they differ; "-" where one has no such setting."""
    names = dict.fromkeys([*a, *b])
    return [(name, a.get(name, "-"), b.get(name, "-")) for name in names if repr(a.get(name)) != repr(b.get(name))]


def compare(first: str, second: str, out: Path, *, metrics: str | None = None, all_seeds: bool = False) -> None:
    """Print where the settings of two runs (or sets of seeds) differ; draw the curves of common metrics to `out`.

    metrics: which, "a,b"; None: all that both have measured more than once, and where there is none, all. See
    `read_side`. Raises UserError for what is no run, for metrics that not both have, and where they have none in
    common.
    """
    a, b = read_side(first, all_seeds=all_seeds), read_side(second, all_seeds=all_seeds)
    print(table([("", a.name, b.name), *differences(a.config, b.config), ("seeds", _list(a.seeds), _list(b.seeds))]))
    common = [name for name in a.frame["metric"].unique() if (b.frame["metric"] == name).any()]
    if not common:
        raise UserError(f"{first} and {second} have no metric in common")
    chosen = _curves(a, b, common) if metrics is None else _named(metrics, common)
    columns = min(COLUMNS, len(chosen))
    rows, what = math.ceil(len(chosen) / columns), "mean and standard deviation over seeds"
    canvas, axes = new_figure(rows, columns, "Two runs compared", caption=what)
    both = pd.concat([side.frame.assign(method=label, env="") for label, side in zip("AB", (a, b))])
    names = {"A": f"A: {a.name}", "B": f"B: {b.name}"}
    for ax, metric in zip(axes.flat, chosen):
        curves(ax, both, metric, kind="mean-sd", order="AB", labels=names, xlabel="steps")
    for ax in list(axes.flat)[len(chosen) :]:
        ax.remove()
    legend(canvas)
    save(canvas, out)
    if left := len(common) - len(chosen):
        print(f"left out: {left} other metrics; --metrics NAME,NAME draws what it names")
    print(f"written: {shown(out)}")


def _curves(a: Side, b: Side, common: list[str]) -> list[str]:
    """Metrics that both sides have measured more than once; all of `common` where there is none."""
    often = (side.frame.groupby("metric")["step"].nunique() > 1 for side in (a, b))
    in_a, in_b = (set(many.index[many]) for many in often)
    return [name for name in common if name in in_a & in_b] or common


def _named(metrics: str, common: list[str]) -> list[str]:
    """The metrics that "a,b" names, in its order; UserError unless both sides have each."""
    return list(dict.fromkeys(choose("common metric", name.strip(), common) for name in metrics.split(",")))


def _list(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))


def table(rows: Sequence[tuple[Any, ...]]) -> str:
    """Rows of cells as text in columns."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells)
