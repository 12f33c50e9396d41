"""Figures from tidy results: a title of one line, the paper's own band over thin single runs, and a caption below with
budget, seeds and what is missing.

Neither pyplot nor a display is used, and the same data give the same file, byte for byte.
"""

import importlib
import io
import math
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import EngFormatter, MaxNLocator
from matplotlib.transforms import Bbox

from lab.judge.colours import PALETTE
from lab.judge.results import Grid, MissingData, Results, matrix, write_if_changed
from lab.judge.stats import band
from lab.sweep.entry import Entry

DASHES = ("-", "--", ":")  # a second and third round of the palette
DPI = 120
CAPTION = {"fontsize": 7.5, "color": "0.35"}
LETTERS_PER_INCH, LINE_INCHES = 16.0, 0.125  # of a caption
MISSING_NAMED = 3  # most gaps that a caption names

matplotlib.use("Agg")
matplotlib.rcdefaults()  # a reader's own matplotlibrc must not change the committed files
matplotlib.rcParams.update(
    {
        "axes.grid": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 10,
        "figure.titlesize": 11,
        "font.size": 9,
        "text.hinting": "none",  # hinted, a "+" touches the letters beside it
        "grid.alpha": 0.25,
        "legend.frameon": False,
    }
)


@dataclass(frozen=True)
class Figure:
    """A paper's figure or table: the experiments that it needs, and draw(results, scale, path of the PNG)."""

    experiments: tuple[str, ...]
    draw: Callable[[Results, str, Path], None]
    title: str


def method_styles(order: Sequence[str]) -> dict[str, dict]:
    """Line style of each method, by its place in `order`. Pass the same order for all figures of a paper, whichever
    methods they show, and a method keeps its colour."""
    n = len(PALETTE)
    return {m: {"color": PALETTE[i % n], "linestyle": DASHES[i // n % len(DASHES)]} for i, m in enumerate(order)}


def budget(frame: pd.DataFrame, scale: str) -> str:
    """ "quick: 3 seeds, 100,000 steps", with ranges where methods or tasks differ."""
    runs = frame.groupby(["method", "env", "seed"])["step"].max()
    seeds = runs.groupby(level=["method", "env"]).size()
    return f"{scale}: {_range(seeds, 'seed')}, {_range(runs, 'step')}"


def _range(values: pd.Series, unit: str) -> str:
    low, high = int(values.min()), int(values.max())
    return (f"{low:,}" if low == high else f"{low:,} to {high:,}") + f" {unit}" + ("" if high == 1 else "s")


Name = Callable[[str], str]


def caption(grid: Grid, note: str = "", *, unit: str = "step", label: Name = str, place: Name = str) -> str:
    """Caption of a figure: scale, seeds and steps of the runs drawn, `note`, and what is missing from the grid.

    unit: name of a step in the results, singular. label, place: names of methods and tasks.
    """
    wanted = Counter((method, env) for method, env, _ in grid.wanted)
    missing = Counter((method, env) for method, env, _ in grid.missing)
    there = set(grid.frame["env"])
    absent = [place(env) for env in grid.envs if env not in there]
    short = []
    for (method, env), n in missing.items():
        if env in there:
            some = f" ({n} of {wanted[method, env]} seeds)" if n < wanted[method, env] else ""
            short.append(f"{label(method)} on {place(env)}{some}")
    gaps = [*absent, *short]
    more = f" and {len(gaps) - MISSING_NAMED} more" if len(gaps) > MISSING_NAMED else ""
    parts = [budget(grid.frame, grid.scale).replace("step", unit), note]
    parts += [f"not run: {', '.join(gaps[:MISSING_NAMED])}{more}"] if gaps else []
    return "; ".join(filter(None, parts))


def shown(grid: Grid) -> list[str]:
    """Tasks to draw: at quick and long those with runs (the caption names the others), else all."""
    there = set(grid.frame["env"])
    return [env for env in grid.envs if env in there or grid.scale not in ("quick", "long")]


def new_figure(rows: int, cols: int, title: str, *, caption: str = "", size: tuple[float, float] = (3.4, 2.6)):
    """Create a canvas and its axes, an array [rows, cols]. size: one panel, in inches. title: one line. caption:
    wrapped and set in small letters below everything."""
    width = max(size[0] * cols, 4.2)
    lines = [
        part
        for line in caption.splitlines()
        for part in textwrap.wrap(line, int(width * LETTERS_PER_INCH), break_on_hyphens=False)
    ]
    below = LINE_INCHES * len(lines) + 0.08
    above = size[1] * rows + 0.7
    canvas = Canvas(figsize=(width, above + below), layout="constrained")
    panels, foot = canvas.subfigures(2, 1, height_ratios=(above, below))  # type: ignore[misc]  # an array of two
    axes = panels.subplots(rows, cols, squeeze=False)
    canvas.suptitle(title)
    foot.text(0.012, 1.0, "\n".join(lines), va="top", ha="left", linespacing=1.25, **CAPTION)
    return canvas, axes


def curves(
    ax: Axes,
    frame: pd.DataFrame,
    metric: str,
    *,
    kind: str,
    order: Sequence[str],
    labels: Mapping[str, str] | None = None,
    styles: Mapping[str, dict] | None = None,
    ylabel: str | None = None,
    xlabel: str = "environment steps",
) -> None:
    """Draw `metric` over steps for each method of `order` in `frame` (one env): line and band of `kind` (see
    stats.band) over the single runs. labels: names in the legend. ylabel: quantity and unit."""
    env, *others = frame["env"].unique() if len(frame) else [""]
    if others:
        raise ValueError(f"curves draws one env, got {env}, {', '.join(others)}")
    styles = styles or method_styles(order)
    for method in order:
        try:
            steps, values = matrix(frame, metric, method, env)
        except MissingData:
            continue
        centre, low, high = band(values, kind)
        ax.plot(steps, values.T, **styles[method], linewidth=0.5, alpha=0.35, zorder=1)
        ax.fill_between(steps, low, high, color=styles[method]["color"], alpha=0.18, linewidth=0, zorder=2)
        label = (labels or {}).get(method, method)
        marker = "o" if len(steps) == 1 else None  # a curve of one point is no line
        ax.plot(steps, centre, **styles[method], linewidth=1.6, zorder=3, label=label, marker=marker)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel or metric.replace("_", " "))
    round_steps(ax)
    if not ax.lines:
        not_run(ax)


def round_steps(ax: Axes) -> None:
    """Label x with a few round numbers: 200k, 1M."""
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def not_run(ax: Axes) -> None:
    """Mark a panel as having no runs."""
    ax.set(xticks=[], yticks=[])
    box = {"color": "white", "pad": 1.0}  # covers what is drawn even without runs, such as a maze's walls
    ax.text(0.5, 0.5, "not run", transform=ax.transAxes, ha="center", va="center", color="0.5", bbox=box)


def legend(canvas: Canvas) -> None:
    """Draw one legend below all panels, in as many even rows as it needs; none if a panel has its own."""
    if any(ax.get_legend() for ax in canvas.axes):
        return
    handles: dict[str, Artist] = {}
    for ax in canvas.axes:
        for handle, label in zip(*ax.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    if handles:
        column_inches = 0.75 + 0.085 * max(map(len, handles))
        rows = math.ceil(len(handles) * column_inches / canvas.get_figwidth())
        columns = math.ceil(len(handles) / rows)
        canvas.subfigs[0].legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns)


def break_titles(canvas: Canvas) -> bool:
    """Break drawn panel titles that leave the picture or meet a neighbour's: before the last bracket, and where a line
    would be wider than the panel. Whether one was broken."""
    panels = [ax for ax in canvas.axes if ax.get_title()]
    boxes = [ax.title.get_window_extent() for ax in panels]
    broken = False
    for ax, box in zip(panels, boxes):
        inside = 0 <= box.x0 and box.x1 <= canvas.bbox.width
        if not inside or any(box.overlaps(other) for other in boxes if other is not box):
            title = ax.get_title()
            letters = max(int(len(title) * ax.bbox.width / box.width), 1)
            parts = re.split(r" (?=\([^(]*$)", title)
            ax.title.set_text("\n".join(textwrap.fill(part, letters, break_long_words=False) for part in parts))
            broken = True
    return broken


def save(canvas: Canvas, path: Path) -> None:
    """Write a PNG atomically, without time or version in it."""
    picture = io.BytesIO()
    canvas.draw_without_rendering()
    if break_titles(canvas):
        canvas.draw_without_rendering()
    canvas.set_layout_engine("none")  # its solver's last digits differ from draw to draw, and pixels with them
    for ax in canvas.axes:
        if ax.get_axes_locator() is None:  # an inset follows its parent
            ax.set_position(np.round(ax.get_position().bounds, 4))
    canvas.savefig(picture, format="png", dpi=DPI, metadata={"Software": None})
    write_if_changed(Path(path), picture.getvalue())


# ------------------------------------------------------------------------------------------------ a paper's figures


class Data(Grid):
    """The rows of an experiment at a scale ("a+b": of several), with canvases and panels for them.

    Each paper derives a class that defines how its figures look.
    """

    paper: str
    """First words of every title."""
    plan: str
    """Module of its EXPERIMENTS; imported late, as it loads torch, which listing figures must not."""
    kind = "mean-sd"
    """Kind of band, see stats.band."""
    unit, xlabel = "step", "environment steps"
    size, width = (3.2, 2.4), 0.0
    """Size of a panel, and smallest width of the whole figure, in inches."""

    def __init__(self, results: Results, experiment: str, scale: str) -> None:
        plan = importlib.import_module(self.plan).EXPERIMENTS
        self.entries = [e for name in experiment.split("+") for e in plan[name](scale) if self.wants(e)]
        super().__init__(results, experiment, scale, self.entries)
        self.shown = shown(self)
        """Tasks to draw."""

    @staticmethod
    def wants(entry: Entry) -> bool:
        """Whether a run of the experiment belongs to the figure."""
        return True

    @staticmethod
    def label(method: str) -> str:
        """A method's name in legends and captions."""
        return method

    @staticmethod
    def place(env: str) -> str:
        """A task's name in titles and captions."""
        return env

    @staticmethod
    def styles(methods: Iterable[str]) -> dict[str, dict]:
        """Line styles."""
        return method_styles(list(methods))

    def rows(self, metric: str, methods: Sequence[str], env: str) -> pd.DataFrame:
        """Rows of a task, at least those of a metric of these methods."""
        return self.of(env)

    def caption(self, note: str, **names: Any) -> str:
        """Scale, runs and steps, `note`, and what is missing. names: override the paper's, as in `caption`."""
        usual: dict[str, Any] = {"unit": self.unit, "label": self.label, "place": self.place}
        return caption(self, note, **usual | names)

    def canvas(self, rows: int, cols: int, title: str, note: str, size: tuple[float, float] = (0, 0), **names: Any):
        """Call new_figure with the paper's name and a caption. size: by default the paper's."""
        wide, high = size if any(size) else self.size
        title = title if title.startswith(self.paper) else f"{self.paper} {title}"
        below = self.caption(note, **names)
        return new_figure(rows, cols, title, caption=below, size=(max(wide, self.width / cols), high))

    def panel(
        self, ax: Axes, env: str, metric: str, ylabel: str, methods: Iterable[str] | None = None, *, title: str = "",
        labels: Mapping[str, str] | None = None, styles: Mapping[str, dict] | None = None,
    ) -> None:  # fmt: skip
        """Draw one metric of a task: `curves` with the paper's band, names and styles. methods: by default all."""
        order = list(self.methods if methods is None else methods)
        curves(
            ax, self.rows(metric, order, env), metric, kind=self.kind, order=order, ylabel=ylabel, xlabel=self.xlabel,
            labels=labels or {method: self.label(method) for method in order}, styles=styles or self.styles(order),
        )  # fmt: skip
        ax.set_title(title)

    @classmethod
    def figure(cls, experiment: str, title: str, draw: Callable[[Self], Canvas], *, needs: str = "") -> Figure:
        """The figure that `draw` makes of the experiment's rows, with a legend. needs: the experiments to list it
        under, if they differ."""

        def drawn(results: Results, scale: str, out: Path) -> None:
            canvas = draw(cls(results, experiment, scale))
            legend(canvas)
            save(canvas, out)

        return Figure(tuple((needs or experiment).split("+")), drawn, title)


def later(target: str) -> Callable[..., Any]:
    """The function "module:name", whose module is imported on the first call, so listing figures need not load it."""
    module, name = target.split(":")
    return lambda *args: getattr(importlib.import_module(module), name)(*args)


def places(axes: np.ndarray, shown: Sequence[Any]) -> list[tuple[Axes, Any]]:
    """Pair each of `shown` with a panel, row by row; hide the panels left over."""
    for ax in axes.flat[len(shown) :]:
        ax.set_axis_off()
    return list(zip(axes.flat, shown))


def left_labels(axes: np.ndarray) -> None:
    """Keep y labels at the left edge only."""
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")


def share_y(axes: Iterable[Axes]) -> None:
    """Give all panels the same y range, so they can be compared."""
    drawn = [ax for ax in axes if ax.lines]
    limits = [ax.get_ylim() for ax in drawn]
    for ax in drawn:
        ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def fill_with_table(
    ax: Axes, header: Sequence[str], cells: Sequence[Sequence[str]], *, grey: Callable[[int, int], Any], lines: int = 1,
    bold: Iterable[tuple[int, int]] = (), widths: Sequence[float] | None = None,
) -> None:  # fmt: skip
    """Draw a table in place of a panel, first row and column in bold. grey: (row, column) -> whether it is one of the
    paper's numbers. lines: lines of text per cell. bold: further bold cells. widths: relative."""
    ax.axis("off")
    table = ax.table(
        [[*header], *map(list, cells)], loc="center", cellLoc="center", bbox=Bbox.unit(), edges="horizontal",
        colWidths=widths,
    )  # fmt: skip
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    strong = set(bold)
    for (row, column), cell in table.get_celld().items():
        cell.set_edgecolor("0.7")
        cell.set_height(2 if row == 0 else lines)
        weight = "bold" if row == 0 or column == 0 or (row, column) in strong else None
        cell.set_text_props(weight=weight, color="0.45" if grey(row, column) else "0")
