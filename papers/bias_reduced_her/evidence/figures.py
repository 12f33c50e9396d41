"""The paper's figures and tables, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Curves are as in the paper: the median over runs, the 33rd to 67th percentile, and single runs thin behind. A figure
draws what there is; its title says what of the experiment's grid is missing.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm
from matplotlib.patches import Rectangle

from lab.colours import BLACK, GREEN, OWN_METHOD, PURPLE, SKY, UNIFORM
from lab.plotting import Figure, caption, curves, legend, new_figure, not_run, save, shown
from lab.results import Grid, MissingData, Results, final
from papers.bias_reduced_her.evidence.labels import (
    BOTH,
    CONTROLS,
    NAMES,
    SUCCESS,
    TABLE_2,
    TRAINING,
    label,
    with_bias,
)

COLOURS = {
    "her": UNIFORM, "her-ibs": PURPLE, "filtered-her": GREEN, "filtered-her-ibs": OWN_METHOD, "her-thinned": SKY,
    "none": BLACK,
}  # fmt: skip
DASHES = {
    "(20 x 20, sigma^2)": "--", "(uniform replay)": "--", "(bootstrapped)": ":", "(drawn again)": "-.",
    "(penalty 1)": "--", "(mixture)": "-", "(moving)": "--",
}  # fmt: skip
TRAINED = tuple(BOTH.split("+"))
HOW = "median, 33rd to 67th percentile, single runs thin"


def styles(methods: list[str]) -> dict[str, dict]:
    """A method has one colour in all figures; its variants are dashed."""
    found = {}
    for method in methods:
        base, _, variant = method.partition(" ")
        dashes = ":" if base in CONTROLS else DASHES.get(variant, "-")
        found[method] = {"color": COLOURS[base], "linestyle": dashes}
    return found


class Data(Grid):
    """The rows of an experiment, or of several ("a+b"), and figures that say how much of it is missing."""

    def __init__(self, results: Results, experiment: str, scale: str):
        from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS  # loads torch, of no use to a list

        entries = [entry for name in experiment.split("+") for entry in EXPERIMENTS[name](scale)]
        super().__init__(results, experiment, scale, entries)
        self.envs = shown(self)

    def readings(self) -> dict[str, str]:
        """Of SUCCESS, those of which something was run; all where nothing says otherwise."""
        names = " ".join(self.frame["method"].unique())
        return {suffix: name for suffix, name in SUCCESS.items() if suffix in names or self.scale != "quick"}

    def join(self, results: Results, methods: tuple[str, ...]) -> None:
        """Add the runs of Fig. 3 of these methods, if there are any, on the same tasks and with the same seeds."""
        try:
            main = Data(results, TRAINING, self.scale).frame
        except MissingData:
            return
        alike = main["env"].isin(self.envs) & main["seed"].isin(set(self.frame["seed"]))
        self.frame = pd.concat([main[main["method"].isin(methods) & alike], self.frame], ignore_index=True)
        self.methods = [*methods, *self.methods]

    def canvas(self, rows: int, cols: int, title: str, note: str, size: tuple[float, float] = (3.2, 2.4)):
        """new_figure with a caption that says scale, runs and episodes, and what is missing."""
        below = caption(self, note, unit="episode", label=label)
        return new_figure(rows, cols, f"Bias-reduced HER {title}", caption=below, size=size)


def panel(ax: Axes, data: Data, env: str, metric: str, ylabel: str, names: dict[str, str] | None = None) -> None:
    """One metric of one task over training episodes. names: method -> that whose colour and label it has."""
    names = names or {method: method for method in data.methods}
    looks = styles(list(names.values()))
    curves(
        ax, data.of(env), metric, kind="median-33-67", order=list(names), xlabel="training episodes", ylabel=ylabel,
        styles={method: looks[name] for method, name in names.items()},
        labels={method: label(name) for method, name in names.items()},
    )  # fmt: skip


def rows_of_curves(
    experiment: str, title: str, metrics: dict[str, str], note: str = "", beside: tuple[str, ...] = ()
) -> Callable[[Results, str, Path], None]:
    """A figure with one row per metric (name -> label of its axis) and one column per task; of the runs of Fig. 3, a
    row per metric and reading of a virtual success. beside: methods of Fig. 3 to be shown, too."""

    def draw(results: Results, scale: str, out: Path) -> None:
        data = Data(results, experiment, scale)
        data.join(results, beside)
        data.frame = with_bias(data.frame)
        readings = data.readings() if experiment == BOTH else {"": ""}
        rows = [(metric, suffix) for metric in metrics for suffix in readings]
        how = f"{HOW}; {note}" if note else HOW
        size = (3.2 if len(data.envs) > 1 else 6.0, 2.2)
        canvas, axes = data.canvas(len(rows), len(data.envs), title, how, size)
        for row, (metric, suffix) in zip(axes, rows):
            names = None
            if experiment == BOTH:
                names = {method + suffix * (method != "none"): method for method in (*NAMES, *CONTROLS)}
            said = f"\nvirtual success: {readings[suffix]}" if len(readings) > 1 else ""
            for ax, env in zip(row, data.envs):
                panel(ax, data, env, metric, metrics[metric] + said, names)
                ax.set_title(env)
        for metric in metrics:  # one range of values, so that tasks and readings can be compared
            drawn = [ax for row, (name, _) in zip(axes, rows) if name == metric for ax in row if ax.lines]
            for ax in drawn:
                ax.set_ylim(min(a.get_ylim()[0] for a in drawn), max(a.get_ylim()[1] for a in drawn))
        for ax in axes[:-1].flat:
            ax.set_xlabel("")
        for ax in axes[:, 1:].flat:
            ax.set_ylabel("")
        legend(canvas)
        save(canvas, out)

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


def table1(results: Results, scale: str, out: Path) -> None:
    """Table 1: where the virtual goals of each method lie in each task."""
    from envs.throwing import GOAL_BOX
    from papers.bias_reduced_her.train import Config

    data, cells = Data(results, BOTH, scale), Config().grid
    note = f"share of each of {cells} x {cells} cells of the square, mean over runs; brighter is more; box: real goals"
    title, readings = "Table 1: virtual goals stored in training", data.readings()
    rows = [(env, suffix) for suffix in readings for env in data.envs]
    canvas, axes = data.canvas(len(rows), len(NAMES), title, note, (2.0, 1.85))
    norm = PowerNorm(0.5, vmin=0, vmax=0.05)  # the root keeps the few cells with most goals from hiding the others
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
            x, y = GOAL_BOX[0], GOAL_BOX[2]
            corner = Rectangle((x, y), GOAL_BOX[1] - x, GOAL_BOX[3] - y, fill=False, edgecolor="w", linewidth=0.8)
            ax.add_patch(corner)
        row[0].set_ylabel(f"{env}\n{readings[suffix]}" if len(readings) > 1 else env)
        canvas.colorbar(ScalarMappable(norm, "inferno"), ax=row[-1], extend="max")
    for ax, name in zip(axes[0], NAMES.values()):
        ax.set_title(name)
    save(canvas, out)


def table2(results: Results, scale: str, out: Path) -> None:
    """Table 2: Kullback-Leibler divergence from target to proposal distribution, the paper's beside ours."""
    data = Data(results, BOTH, scale)
    cells, readings = [], data.readings()
    for suffix, env in ((suffix, env) for suffix in readings for env in data.envs):
        row = [f"{env}\n{readings[suffix]}" if len(readings) > 1 else env]
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
    ax = axes[0, 0]
    ax.axis("off")
    names = [name.replace("-IBS", "\n-IBS") if name.startswith("Filtered") else name for name in NAMES.values()]
    header = ["", *(f"{name}\n{whose}" for name in names for whose in ("paper", "ours"))]
    table = ax.table([header, *cells], loc="center", cellLoc="center", bbox=[0, 0, 1, 1], edges="horizontal")
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    for (line, column), cell in table.get_celld().items():
        cell.set_edgecolor("0.7")
        cell.set_height(2 if line == 0 else 1)  # relative: the table fills its axes
        bold = line == 0 or column == 0
        cell.set_text_props(weight="bold" if bold else None, color="0.45" if column % 2 and line else "0")
    save(canvas, out)


FIG3 = {"success": "success rate", "distance": "distance to goal"}
FIG4 = {"q_estimate": "$Q(s_0, \\pi(s_0))$", "return": "discounted return", "bias": "Q - return"}


def _elsewhere(module: str, name: str) -> Callable[[Results, str, Path], None]:
    """A drawing function of another file, which is imported when it is needed."""

    def draw(results: Results, scale: str, out: Path) -> None:
        from importlib import import_module

        getattr(import_module(f"papers.bias_reduced_her.evidence.{module}"), name)(results, scale, out)

    return draw


FIGURES: dict[str, Figure] = {
    "fig1": Figure((), _elsewhere("figures_environments", "fig1"), "pictures of the three tasks"),
    "fig2": Figure((), _elsewhere("figures_environments", "fig2"), "target distribution of virtual goals"),
    "table1": Figure(TRAINED, table1, "virtual goals stored in training"),
    "table2": Figure(TRAINED, table2, "divergence of the virtual goals from their target distribution"),
    "fig3": Figure(
        TRAINED,
        rows_of_curves(BOTH, "Figure 3: success rate and distance to the goal", FIG3),
        "success rate and distance to the goal of four kinds of hindsight",
    ),
    "fig4": Figure(
        TRAINED,
        rows_of_curves(
            BOTH, "Figure 4: estimated and realised value of the first state", FIG4,
            "an episode that fails counts as failing for ever",
        ),
        "estimated against realised value of the first state",
    ),
    "bitflip": Figure(("bitflip",), _elsewhere("figures_bitflip", "bitflip"), "bias of a useless action's value"),
    "appendix-a": Figure(
        ("appendix-a",), _elsewhere("figures_appendix_a", "appendix_a"), "goal distributions as Gaussian mixtures"
    ),
    "own-estimates": Figure(
        TRAINED, _elsewhere("figures_estimates", "own_estimates"),
        "not in the paper: where the value is over-estimated",
    ),
    "own-goals": Figure(
        ("own-goals",),
        rows_of_curves(
            "own-goals", "own experiment: goals from a mixture, and goals that move",
            {"success": FIG3["success"], "kl": "KL(q* || q)"}, "goals move at half of the training",
        ),
        "Appendix A with a learner: goals from a mixture, and goals that move",
    ),
    "own-grid": Figure(
        ("own-grid",),
        rows_of_curves(
            "own-grid", "own experiment: IBS on a 20 x 20 grid with $\\sigma^2$ = 0.2",
            FIG3 | {"kl": "KL(q* || q)"}, "solid: the runs of Figure 3, on 10 x 10 cells with $\\sigma$ = 0.2",
            ("her-ibs", "filtered-her-ibs"),
        ),
        "not in the paper: IBS with a flat target distribution",
    ),
    "own-her": Figure(
        ("own-her",),
        rows_of_curves(
            "own-her", "own experiment: the filter in three other settings",
            {"success": FIG3["success"], "bias": FIG4["bias"]}, "solid: the runs of Figure 3", ("her", "filtered-her"),
        ),
        "not in the paper: the filter without prioritised replay, with bootstrapped virtual successes, drawing again",
    ),
    "own-penalty": Figure(
        ("own-penalty",),
        rows_of_curves(
            "own-penalty", "own experiment: the filter with a penalty on actions",
            FIG3 | {"bias": FIG4["bias"]}, "solid: the runs of Figure 3, without a penalty", ("her", "filtered-her"),
        ),
        "not in the paper: the filter with a penalty on actions",
    ),
}  # fmt: skip
