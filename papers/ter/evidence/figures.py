"""The paper's figures and tables, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Curves are as in the paper (App. C): the mean over seeds, its 95 % bootstrap interval, and single seeds thin behind. A
figure draws what there is; its title says what of the experiment's grid is missing.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from lab.plotting import PALETTE, Figure, budget, curves, legend, new_figure, save
from lab.results import Grid, MissingData, Results, final

NAMES = {"uer": "UER", "per": "PER", "ebu": "EBU", "discor": "DisCor", "ter": "TER"}
COLOURS = {
    "uer": "#0072B2",
    "per": "#E69F00",
    "per-proportional": "#56B4E9",  # NChain only
    "ebu": "#009E73",
    "discor": "#CC79A7",
    "ter": "#000000",
}
DASHES = {  # variants of a method
    "x0.25": ":",
    "x1": "--",
    "+ per": "--",
    "(no timeout)": "--",
    "(interval 200)": "--",
    "(interval 20)": "--",
    "(small memory)": "--",
}
REFERENCES = {"eta=0.5": "ter", "d=3": "ter", "beta=0.5": "ebu"}  # in a sweep, the setting that other figures use
YLABELS = {
    "normalized_return": "normalised return",
    "return": "score",
    "success": "success rate",
    "q_overestimation": "(mean Q - $R_{max}$) / $R_{max}$",
}
HOW = "mean, 95 % interval, single seeds thin"
INCH = 12  # letters of a title per inch


def styles(methods: Iterable[str]) -> dict[str, dict]:
    """Line style of each label of an experiment. A method has one colour in all figures, its variants have dashes."""
    spare = iter([colour for colour in PALETTE if colour not in (COLOURS["ter"], COLOURS["ebu"])])
    found = {}
    for method in methods:
        base, _, variant = method.partition(" ")
        base = REFERENCES.get(base, base)
        dash = "-" if method == "ter x0.25" else DASHES.get(variant, "-")
        found[method] = {"color": COLOURS[base] if base in COLOURS else next(spare), "linestyle": dash}
    return found


def label(method: str) -> str:
    """A method's label as legends and verdicts print it: "uer x1" is "UER, ratio 1", "eta=0.5" is "η=0.5"."""
    named = re.sub(r"\b(uer|per|ebu|discor|ter)\b", lambda match: NAMES[match[0]], method)
    return re.sub(r" x(?=\d)", ", ratio ", named.replace("beta=", "β=").replace("eta=", "η="))


def place(env: str) -> str:
    """A task's name as titles print it: "Sokoban 5x5-1"."""
    return f"Sokoban {env}" if env[0].isdigit() else env


class Data(Grid):
    """The rows of an experiment, and figures that say what of it is missing."""

    def __init__(self, results: Results, experiment: str, scale: str):
        from papers.ter.evidence.experiments import EXPERIMENTS  # loads torch, which listing the figures must not

        super().__init__(results, experiment, scale, EXPERIMENTS[experiment](scale))

    def not_run(self) -> str:
        """Text like "not run: TER on Unlock, 1 of 3 seeds"; empty when the grid is complete."""
        wanted = Counter((method, env) for method, env, _ in self.wanted)
        short = [
            f"{label(method)} on {place(env)}, {n} of {wanted[method, env]} seeds"
            for (method, env), n in Counter((method, env) for method, env, _ in self.missing).items()
        ]
        more = f" and {len(short) - 3} more" if len(short) > 3 else ""
        return f"not run: {'; '.join(short[:3])}{more}" if short else ""

    def canvas(self, rows: int, cols: int, title: str, note: str = "", size: tuple[float, float] = (3.2, 2.5)):
        """new_figure with a title that fits its width: what it shows, scale, seeds and steps, what is missing."""
        size = (max(size[0], 5.8 / cols), size[1])
        lines = [f"{budget(self.frame, self.scale)}; {note}", self.not_run()]
        wrapped = [part for line in lines for part in textwrap.wrap(line, int(INCH * size[0] * cols))]
        return new_figure(rows, cols, title, budget="\n".join(wrapped), size=size)


def panel(ax: Axes, data: Data, env: str, methods: list[str], metric: str, title: str) -> None:
    """One metric of one task over environment steps."""
    curves(
        ax, data.of(env), metric, kind="mean-ci95", order=methods, labels={method: label(method) for method in methods},
        styles=styles(methods), ylabel=YLABELS[metric],
    )  # fmt: skip
    ax.set_title(title)
    if metric == "q_overestimation" and ax.lines:
        ax.axhline(0, color="0.3", linewidth=0.8)
        ax.set_yscale("symlog", linthresh=1)  # from -2 to an explosion, in one picture
        ax.yaxis.set_major_formatter("{x:g}")


def tidy(axes: np.ndarray, shared: bool = True) -> None:
    """Row by row: labels at the left edge only and, if ``shared``, one range of values."""
    for row in axes:
        drawn = [ax for ax in row if ax.lines]
        limits = [ax.get_ylim() for ax in drawn]
        for ax in drawn if shared else []:
            ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        for ax in row[1:]:
            ax.set_ylabel("")


def learning_curves(
    experiment: str, number: str, title: str, metric: str = "normalized_return", note: str = ""
) -> Figure:
    """One metric of every method of an experiment, one panel per task; scores of games each on a range of their own."""

    def draw(results: Results, scale: str, out: Path) -> None:
        data = Data(results, experiment, scale)
        cols = min(len(data.envs), 4)
        name = f"TER Figure {number}" if number else "TER, own experiment"
        canvas, axes = data.canvas(-(-len(data.envs) // cols), cols, f"{name}: {title}", HOW + note)
        for ax, env in zip(axes.flat, data.envs):
            panel(ax, data, env, data.methods, metric, place(env))
        for ax in axes.flat[len(data.envs) :]:
            ax.set_axis_off()
        tidy(axes, shared=metric != "return")
        legend(canvas)
        save(canvas, out)

    return Figure((experiment,), draw, title)


def fig4(results: Results, scale: str, out: Path) -> None:
    """Fig. 4: two rows per task, (a) return and (b) over-estimation; one column per baseline, TER in each."""
    data = Data(results, "fig4", scale)
    families = [name for name in NAMES if name != "ter"]
    title = "TER Figure 4: baselines that learn more often (ratio = gradient steps per environment step)"
    canvas, axes = data.canvas(2 * len(data.envs), len(families), title, HOW, (3.2, 2.3))
    for number, env in enumerate(data.envs):
        for column, family in enumerate(families):
            methods = [method for method in data.methods if method.split()[0] in (family, "ter")]
            above, below = axes[2 * number : 2 * number + 2, column]
            panel(above, data, env, methods, "normalized_return", f"(a) {place(env)}, {NAMES[family]}")
            panel(below, data, env, methods, "q_overestimation", f"(b) {place(env)}, {NAMES[family]}")
    tidy(axes)
    legend(canvas)
    save(canvas, out)


def fig_h10(results: Results, scale: str, out: Path) -> None:
    """Fig. H.10: return and success where the goal does not end the episode, beside the same task where it does."""
    data = Data(results, "fig-h10", scale)
    envs = sorted(data.envs, key=lambda env: data.envs.index(env.partition(" (")[0]))  # stable: no terminal goes first
    note = f"{HOW}. Only success compares the two versions: their returns are on different scales"
    title = "TER Figure H.10: worlds that do not end at the goal"
    canvas, axes = data.canvas(2, len(envs), title, note, (3.0, 2.5))
    for column, env in enumerate(envs):
        title = env if " (" in env else f"{env} (terminal)"
        for ax, metric in zip(axes[:, column], ("normalized_return", "success")):
            panel(ax, data, env, data.methods, metric, title)
    tidy(axes[:1], shared=False)
    tidy(axes[1:])
    legend(canvas)
    save(canvas, out)


def own_target(results: Results, scale: str, out: Path) -> None:
    """Not in the paper: success and over-estimation with the target network copied every 1000 or every 200 steps."""
    data = Data(results, "own-target", scale)
    [env] = data.envs
    title = "TER, own experiment: environment steps between two copies into the target network"
    canvas, axes = data.canvas(1, 2, title, HOW, (3.8, 2.8))
    for ax, metric in zip(axes[0], ("success", "q_overestimation")):
        panel(ax, data, env, data.methods, metric, place(env))
    legend(canvas)
    save(canvas, out)


STATISTICS = ("mean", "median", "min", "max")
TABLE_B1 = {  # the paper's seconds, in the order of STATISTICS
    "uer": ("0.002", "3e-5", "1e-5", "0.086"),
    "per": ("0.003", "1e-4", "4e-5", "0.28"),
    "ebu": ("0.002", "3e-5", "1e-5", "0.083"),
    "discor": ("0.003", "4e-5", "1e-5", "0.11"),
    "ter": ("0.002", "2e-4", "1e-4", "0.256"),
}


def table_b1(results: Results, scale: str, out: Path) -> None:
    """Table B.1: seconds to make a batch, the paper's beside ours (mean over seeds of each statistic)."""
    data = Data(results, "table-b1", scale)
    [env] = data.envs
    cells = []
    for method in data.methods:
        row = [NAMES[method]]
        for statistic, paper in zip(STATISTICS, TABLE_B1[method]):
            try:
                ours = f"{final(data.frame, f'batch_seconds_{statistic}', method, env).mean():.1e}".replace("e-0", "e-")
            except MissingData:
                ours = "not run"
            row += [paper, ours]
        cells.append(row)
    note = f"batches of 64 on {env}. Ours include drawing the pictures from tile codes; the paper names no machine"
    title = "TER Table B.1: seconds to make a batch of transitions"
    canvas, axes = data.canvas(1, 1, title, note, (8.4, 1.7))
    ax = axes[0, 0]
    ax.axis("off")
    header = ["", *(f"{statistic}\n{whose}" for statistic in STATISTICS for whose in ("paper", "ours"))]
    table = ax.table([header, *cells], loc="center", cellLoc="center", bbox=[0, 0, 1, 1], edges="horizontal")
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    for (row, column), cell in table.get_celld().items():
        cell.set_edgecolor("0.7")
        cell.set_height(2 if row == 0 else 1)  # relative: the table fills its axes
        cell.set_text_props(weight="bold" if row == 0 or column == 0 else None, color="0.45" if column % 2 else "0")
    save(canvas, out)


def fig_d1(results: Results, scale: str, out: Path) -> None:
    """Figs. D.1 to D.6, which live in their own file."""
    from papers.ter.evidence import figures_worlds  # loads numba

    figures_worlds.fig_d1(results, scale, out)


def fig2(results: Results, scale: str, out: Path) -> None:
    """Fig. 2, which lives in its own file."""
    from papers.ter.evidence import figures_nchain  # loads torch

    figures_nchain.fig2(results, scale, out)


def drawn(experiment: str, draw: Callable[[Results, str, Path], None], title: str) -> Figure:
    return Figure((experiment,), draw, title)


FIGURES: dict[str, Figure] = {
    "fig2": drawn("fig2", fig2, "NChain: backups until the greedy path is right, and value error"),
    "fig3a": learning_curves("fig3a", "3a", "TER and four baselines on MiniGrid"),
    "fig3b": learning_curves("fig3b", "3b", "TER and four baselines on Sokoban"),
    "fig4": drawn("fig4", fig4, "baselines that learn more often, and their over-estimation"),
    "fig5": learning_curves(
        "fig5", "5", "share η of prioritised transitions in TER's batches",
        note=". Other figures have η=0.5 on MiniGrid, 0.1 on Sokoban",
    ),
    "fig6": learning_curves("fig6", "6", "TER without all but its graph, and EBU"),
    "table-b1": drawn("table-b1", table_b1, "seconds to make a batch"),
    "fig-d1": Figure((), fig_d1, "pictures of the worlds"),
    "fig-e7": learning_curves("fig3b", "E.7", "mean Q on Sokoban, beside the largest return", "q_overestimation"),
    "fig-f8": learning_curves("fig-f8", "F.8", "EBU's diffusion factor β"),
    "fig-g9": learning_curves("fig-g9", "G.9", "one action in ten replaced by a random one"),
    "fig-h10": drawn("fig-h10", fig_h10, "worlds that do not end at the goal"),
    "fig-i11": learning_curves("fig-i11", "I.11", "EBU with TER's share of prioritised transitions"),
    "fig-j12": learning_curves("fig-j12", "J.12", "EBU without episodes that ran out of time"),
    "fig-k13": learning_curves("fig-k13", "K.13", "length d of the random projection"),
    "fig-m15": learning_curves("fig-m15", "M.15", "TER and four baselines on Atari", "return"),
    "own-target": drawn("own-target", own_target, "not in the paper: how often the target network is copied"),
    "own-memory": learning_curves(
        "own-memory", "", "Sokoban's baselines with a small memory",
        note=". Small: 50,000 of a million, as in the released scripts; the same share of a shorter run",
    ),
    "own-start": learning_curves("own-start", "", "the beginning of training on the smallest Sokoban"),
}  # fmt: skip
