"""The paper's figures and tables, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Curves are as in the paper: the median over runs, the 33rd to 67th percentile, and single runs thin behind. A figure
draws the runs that exist; its caption names what is missing.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle

from lab.judge.plotting import Figure, fill_with_table, later, left_labels, not_run, share_y
from lab.judge.results import MissingData, final
from papers.bias_reduced_her.evidence import figures_bitflip
from papers.bias_reduced_her.evidence.drawing import HOW, Data, styles
from papers.bias_reduced_her.evidence.labels import (
    BOTH,
    CONTROLS,
    FETCH,
    FETCH_FRESH,
    FETCH_HER,
    NAMES,
    TABLE_2,
    TRAINING,
    label,
    with_bias,
)

FIG3 = {"success": "success rate", "distance": "distance to goal"}
FETCHED = {"solved": "success rate", "bias": "Q - return", "misleading": "misleading goals"}
FIG4 = {"q_estimate": "$Q(s_0, \\pi(s_0))$", "return": "discounted return", "bias": "Q - return"}


def rows_of_curves(
    title: str, metrics: dict[str, str], note: str = "", beside: tuple[str, ...] = ()
) -> Callable[[Data], Canvas]:
    """A figure with one row per metric (name -> label of its axis) and one column per task; of the runs of Fig. 3, a
    row per metric and reading of a virtual success. beside: methods of Fig. 3 to be shown, too."""

    def draw(data: Data) -> Canvas:
        data.join(beside)
        data.frame = with_bias(data.frame)
        readings = data.readings()
        rows = [(metric, suffix) for metric in metrics for suffix in readings]
        size = (3.2 if len(data.shown) > 1 else 6.0, 2.2)
        canvas, axes = data.canvas(len(rows), len(data.shown), title, f"{HOW}; {note}" if note else HOW, size)
        for row, (metric, suffix) in zip(axes, rows):
            names = {method: method for method in data.methods}  # -> that whose colour and label it has
            if data.both:
                names = {method + suffix * (method != "none"): method for method in (*NAMES, *CONTROLS)}
            labels = {method: label(name) for method, name in names.items()}
            looks = {method: styles([name])[name] for method, name in names.items()}
            said = f"\nvirtual success: {readings[suffix]}" if len(readings) > 1 or suffix else ""
            for ax, env in zip(row, data.shown):
                data.panel(ax, env, metric, metrics[metric] + said, names, title=env, labels=labels, styles=looks)
        for metric in metrics:
            share_y(ax for row, (name, _) in zip(axes, rows) if name == metric for ax in row)
        for ax in axes[:-1].flat:
            ax.set_xlabel("")
        left_labels(axes)
        return canvas

    return draw


def heat_map(data: Data, method: str, env: str, cells: int) -> np.ndarray:
    """Mean over runs of the proposal distribution [cells, cells], first index along x. MissingData without runs."""
    frame = data.of(env)
    frame = frame[(frame["method"] == method) & frame["metric"].str.startswith("virtual ")]
    if frame.empty:
        raise MissingData(f"no virtual goals of {method} on {env}")
    shares = np.zeros((cells, cells))
    places = frame["metric"].str.extract(r"virtual (\d+) (\d+)").astype(int).to_numpy()
    np.add.at(shares, tuple(places.T), frame["value"].to_numpy())
    return shares / frame["seed"].nunique()


def table1(data: Data) -> Canvas:
    """Table 1: where the virtual goals of each method lie in each task."""
    from envs.throwing.tasks import GOAL_BOX
    from papers.bias_reduced_her.train import Config

    cells, readings = Config().grid, data.readings()
    note = f"share of each of {cells} x {cells} cells of the square, mean over runs; brighter is more; box: real goals"
    rows = [(env, suffix) for suffix in readings for env in data.shown]
    canvas, axes = data.canvas(len(rows), len(NAMES), "Table 1: virtual goals stored in training", note, (2.0, 1.85))
    norm = PowerNorm(0.5, vmin=0, vmax=0.05)  # the root keeps the few cells with most goals from hiding the others
    x, right, y, top = GOAL_BOX
    for row, (env, suffix) in zip(axes, rows):
        for ax, method in zip(row, NAMES):
            ax.set(xticks=[], yticks=[])
            ax.grid(False)
            try:
                shares = heat_map(data, method + suffix, env, cells)
            except MissingData:
                not_run(ax)
                continue
            ax.imshow(shares.T, origin="lower", extent=(0, 1, 0, 1), cmap="inferno", norm=norm)
            ax.add_patch(Rectangle((x, y), right - x, top - y, fill=False, edgecolor="w", linewidth=0.8))
        row[0].set_ylabel(f"{env}\n{readings[suffix]}" if len(readings) > 1 or suffix else env)
        canvas.colorbar(ScalarMappable(norm, "inferno"), ax=row[-1], extend="max")
    for ax, name in zip(axes[0], NAMES.values()):
        ax.set_title(name)
    return canvas


def table2(data: Data) -> Canvas:
    """Table 2: Kullback-Leibler divergence from target to proposal distribution, the paper's beside ours."""
    cells, readings = [], data.readings()
    for suffix, env in ((suffix, env) for suffix in readings for env in data.shown):
        row = [f"{env}\n{readings[suffix]}" if len(readings) > 1 or suffix else env]
        for method, paper in zip(NAMES, TABLE_2[env]):
            try:
                kl = final(data.frame, "kl", method + suffix, env)
                ours = f"{kl.mean():.2f} ± {kl.std(ddof=1):.2f}" if len(kl) > 1 else f"{kl.mean():.2f}"
            except MissingData:
                ours = "not run"
            row += [f"{paper:.2f}", ours]
        cells.append(row)
    note = "mean and standard deviation over runs; target of $\\sigma = 0.2$, one goal added to each cell"
    title = "Table 2: KL(q* || q) of the virtual goals stored in training"
    canvas, axes = data.canvas(1, 1, title, note, (9.2, 0.7 + 0.3 * len(cells) * len(readings) ** 0.5))
    names = [name.replace("-IBS", "\n-IBS") if name.startswith("Filtered") else name for name in NAMES.values()]
    header = ["", *(f"{name}\n{whose}" for name in names for whose in ("paper", "ours"))]
    fill_with_table(axes[0, 0], header, cells, grey=lambda row, column: row and column % 2)
    return canvas


def _lazily(module: str) -> Callable[..., Any]:
    return later(f"papers.bias_reduced_her.evidence.figures_{module}")


FIGURES: dict[str, Figure] = {
    "fig1": Figure((), _lazily("environments:fig1"), "pictures of the three tasks"),
    "fig2": Figure((), _lazily("environments:fig2"), "target distribution of virtual goals"),
    "table1": Data.figure(BOTH, "virtual goals stored in training", table1),
    "table2": Data.figure(BOTH, "divergence of the virtual goals from their target distribution", table2),
    "fig3": Data.figure(
        BOTH, "success rate and distance to the goal of four kinds of hindsight",
        rows_of_curves("Figure 3: success rate and distance to the goal", FIG3),
    ),
    "fig4": Data.figure(
        BOTH, "estimated against realised value of the first state",
        rows_of_curves(
            "Figure 4: estimated and realised value of the first state", FIG4,
            "an episode that fails counts as failing for ever",
        ),
    ),
    "bitflip": Data.figure("bitflip", "bias of a useless action's value", figures_bitflip.bitflip),
    "appendix-a": Data.figure(
        "appendix-a", "goal distributions as Gaussian mixtures", _lazily("appendix_a:appendix_a")
    ),
    "own-estimates": Data.figure(
        TRAINING, "not in the paper: where the value is over-estimated", _lazily("estimates:own_estimates"),
        needs=BOTH,
    ),
    "own-goals": Data.figure(
        "own-goals", "Appendix A with a learner: goals from a mixture, goals that move",
        rows_of_curves(
            "own experiment: goals from a mixture, goals that move",
            {"success": FIG3["success"], "kl": "KL(q* || q)"}, "goals move at half of the training",
        ),
    ),
    "own-grid": Data.figure(
        "own-grid", "not in the paper: IBS with a flat target distribution",
        rows_of_curves(
            "own experiment: IBS on a 20 x 20 grid with $\\sigma^2$ = 0.2", FIG3 | {"kl": "KL(q* || q)"},
            "solid: the runs of Figure 3, on 10 x 10 cells with $\\sigma$ = 0.2", ("her-ibs", "filtered-her-ibs"),
        ),
    ),
    "own-her": Data.figure(
        "own-her",
        "not in the paper: the filter without prioritised replay, with bootstrapped virtual successes, drawing again",
        rows_of_curves(
            "own experiment: the filter in three other settings",
            {"success": FIG3["success"], "bias": FIG4["bias"]}, "solid: the runs of Figure 3", ("her", "filtered-her"),
        ),
    ),
    "own-penalty": Data.figure(
        "own-penalty", "not in the paper: the filter with a penalty on actions",
        rows_of_curves(
            "own experiment: the filter with a penalty on actions", FIG3 | {"bias": FIG4["bias"]},
            "solid: the runs of Figure 3, without a penalty", ("her", "filtered-her"),
        ),
    ),
    "own-fetch-her": Data.figure(
        FETCH_HER, "not in the paper: HER on FetchPush, in the protocol of its authors",
        rows_of_curves("own experiment: HER on a public task", FETCHED, "success of what is not solved at the start"),
    ),
    "own-fetch": Data.figure(
        FETCH, "not in the paper: the filter on the Fetch tasks, in the protocol of HER's authors",
        rows_of_curves(
            "own experiment: the filter on public tasks", FETCHED, "success of what is not solved at the start"
        ),
    ),
    "own-fetch-fresh": Data.figure(
        FETCH_FRESH, "not in the paper: HER and the filter on FetchPush, ten fresh seeds",
        rows_of_curves("own experiment: ten fresh seeds", FETCHED, "success of what is not solved at the start"),
    ),
    "own-fetch-misleading": Figure(
        (), _lazily("fetch:misleading_goal"), "not in the paper: a misleading goal of FetchPush, drawn"
    ),
}  # fmt: skip
