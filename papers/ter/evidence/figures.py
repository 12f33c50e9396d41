"""The paper's figures and tables, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Curves are as in the paper (App. C), the mean over seeds and its 95 % interval, but for the interval, which is Student's
and not the bootstrap's, and with single seeds thin behind. A figure draws the runs that exist; its caption
names what is missing.
"""

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure as Canvas

from lab.judge.plotting import Figure, fill_with_table, later, left_labels, places
from lab.judge.results import MissingData, final
from papers.ter.evidence.drawing import HOW, Data, styles, tidy, without_interval
from papers.ter.evidence.labels import BEND_1, NAMES, NO_TERMINAL, label, named, place
from papers.ter.evidence.paper_values import STATISTICS, TABLE_B1


def learning_curves(
    experiment: str, number: str, title: str, metric: str = "normalized_return", note: str = ""
) -> Figure:
    """One metric of every method of an experiment, one panel per task; scores of games each on a range of their own."""

    def draw(data: Data) -> Canvas:
        cols = min(len(data.shown), 4)
        name = f"Figure {number}" if number else "TER, own experiment"
        canvas, axes = data.canvas(-(-len(data.shown) // cols), cols, f"{name}: {title}", HOW + note)
        for ax, env in places(axes, data.shown):
            data.curves(ax, env, data.methods, metric, place(env))
        (left_labels if metric == "return" else tidy)(axes)
        return canvas

    return Data.figure(experiment, title, draw)


def fig4(data: Data) -> Canvas:
    """Fig. 4: two rows per task, (a) return and (b) over-estimation; one column per baseline, TER in each."""
    envs = data.shown
    families = [name for name in dict.fromkeys(method.split()[0] for method in data.methods) if name != "ter"]
    title = "Figure 4: baselines that learn more often"
    note = f"{HOW}; ratio: gradient steps per environment step"
    canvas, axes = data.canvas(2 * len(envs), len(families), title, note, (3.2, 2.3))
    for number, env in enumerate(envs):
        for column, family in enumerate(families):
            methods = [method for method in data.methods if method.split()[0] in (family, "ter")]
            above, below = axes[2 * number : 2 * number + 2, column]
            data.curves(above, env, methods, "normalized_return", f"(a) {place(env)}, {NAMES[family]}")
            data.curves(below, env, methods, "q_overestimation", f"(b) {place(env)}, {NAMES[family]}")
    tidy(axes)
    return canvas


def fig_h10(data: Data) -> Canvas:
    """Fig. H.10: return and success where the goal does not end the episode, beside the same task where it does."""
    envs = sorted(data.shown, key=lambda env: (BEND_1 in env, env.partition(" (")[0], NO_TERMINAL in env))
    note = f"{HOW}; success: the goal was entered at least once, whether or not it was left again{BENDS}"
    title = "Figure H.10: worlds that do not end at the goal"
    canvas, axes = data.canvas(2, len(envs), title, note, (3.0, 2.5))
    for column, env in enumerate(envs):
        for ax, metric in zip(axes[:, column], ("normalized_return", "success")):
            task, *notes = env.removesuffix(")").split(" (")
            title = env if NO_TERMINAL in env else named(task, "terminal", *notes)
            data.curves(ax, env, data.methods, metric, title)
    tidy(axes)
    return canvas


def own_target(data: Data) -> Canvas:
    """Not in the paper: success and over-estimation; a column per interval between copies into the target network."""
    [env] = data.envs
    intervals = list(dict.fromkeys(method.removeprefix(without_interval(method)) for method in data.methods))
    title = "TER, own experiment: environment steps between two copies into the target network"
    canvas, axes = data.canvas(2, len(intervals), title, HOW, (3.3, 2.3))
    for column, interval in enumerate(intervals):
        methods = [method for method in data.methods if method.endswith(interval)]
        for ax, metric in zip(axes[:, column], ("success", "q_overestimation")):
            data.curves(ax, env, methods, metric, place(env) + interval, lambda method: label(without_interval(method)))
    tidy(axes)
    return canvas


def own_predecessors(data: Data) -> Canvas:
    """Not in the paper: how far the ends' value has come after each copy of the target network, and the sweeps."""
    envs = data.shown
    title = "TER, own experiment: predecessors expanded per vertex, on a memory of random steps"
    note = (
        f"{HOW}; no network: tables stand for the target network. Reached: of the states from which an end can be "
        "reached, those whose value rests on it; below, steps from an end to the farthest of them; last, share of a "
        "sweep's transitions that end a task, and how many it takes"
    )
    canvas, axes = data.canvas(3, len(envs), title, note, (2.4, 1.9), unit="target update")
    rows = {"grounded": "share reached", "distance": "steps from an end"}
    for column, env in enumerate(envs):
        for ax, (metric, ylabel) in zip(axes[:, column], rows.items()):
            data.panel(ax, env, metric, ylabel, title=place(env) if metric == "grounded" else "")
            ax.set_xlabel("target updates")
        bars = axes[2, column]
        for x, method in enumerate(method for method in data.methods if method != "uer"):
            try:
                share, taken = (final(data.frame, m, method, env) for m in ("terminal_share", "transitions_per_sweep"))
            except MissingData:
                continue
            bars.bar(x, share.mean(), color="w", edgecolor=styles([method])[method]["color"], hatch="//" if x else "")
            bars.text(x, share.mean(), f"{taken.mean():.0f}", ha="center", va="bottom", fontsize=7)
        bars.set(xticks=[0, 1], xticklabels=["3", "1"], xlabel="predecessors", ylabel="share of ends")
        bars.margins(y=0.25)
    left_labels(axes)
    return canvas


REPLAYED = {
    "distance": "steps to the goal",
    "td_error": "mean |TD error|",
    "astray": "share without a path",
    "success": "success rate",
}


def own_replayed(data: Data) -> Canvas:
    """Not in the paper: what each method replays over training, and how it learns."""
    [env] = data.envs
    title = "TER, own experiment: what is replayed over training"
    note = f"{HOW}; steps to the goal: along stored transitions, from the states that batches start from{BENDS}"
    canvas, axes = data.canvas(2, 2, title, note, (3.3, 2.3))
    for ax, (metric, ylabel) in zip(axes.flat, REPLAYED.items()):
        data.panel(ax, env, metric, ylabel, title=place(env) if ax is axes[0, 0] else "")
    return canvas


TIMES = {"choose_seconds": "ours", "batch_seconds": "drawn"}
"""Metrics of Table B.1, and the heads of their columns."""


def table_b1(data: Data) -> Canvas:
    """Table B.1: seconds to make a batch, the paper's beside ours (mean over seeds of each statistic)."""
    [env] = data.envs

    def ours(metric: str, method: str) -> str:
        try:
            return f"{final(data.frame, metric, method, env).mean():.1e}".replace("e-0", "e-")
        except MissingData:
            return "not run"

    logged = set(data.frame["metric"])
    times = {metric: head for metric, head in TIMES.items() if f"{metric}_mean" in logged}
    header = ["", *(f"{statistic}\n{whose}" for statistic in STATISTICS for whose in ("paper", *times.values()))]
    cells = [
        [NAMES[method]]
        + [
            cell
            for statistic, paper in zip(STATISTICS, TABLE_B1[method])
            for cell in (paper, *(ours(f"{metric}_{statistic}", method) for metric in times))
        ]
        for method in data.methods
    ]
    note = f"batches of 64 on {env}; the paper names no machine; drawn: with drawing the pictures from tile codes"
    note += "" if "choose_seconds" in times else ", ours without it: not run"
    canvas, axes = data.canvas(1, 1, "Table B.1: seconds to make a batch of transitions", note, (8.4, 1.7))

    def papers(row: int, column: int) -> bool:
        return column > 0 and (column - 1) % (len(times) + 1) == 0

    fill_with_table(axes[0, 0], header, cells, grey=papers)
    return canvas


def _lazily(module: str) -> Callable[..., Any]:
    return later(f"papers.ter.evidence.figures_{module}")


BENDS = "; the loss bends at the largest return or, where the title says so, at 1"
"""Of figures that have MiniGrid both ways."""
FIGURES: dict[str, Figure] = {
    "fig2": Data.figure(
        "fig2", "NChain: backups until the greedy path is right, and value error", _lazily("nchain:fig2")
    ),
    "fig3a": learning_curves("fig3a", "3a", "TER and four baselines on MiniGrid", note=BENDS),
    "fig3b": learning_curves("fig3b", "3b", "TER and four baselines on Sokoban"),
    "fig4": Data.figure("fig4", "baselines that learn more often, and their over-estimation", fig4),
    "fig5": learning_curves(
        "fig5", "5", "share of prioritised transitions in TER's batches",
        note="; other figures have η=0.5 on MiniGrid, 0.1 on Sokoban",
    ),
    "fig6": learning_curves("fig6", "6", "TER without all but its graph, and EBU", note=BENDS),
    "table-b1": Data.figure("table-b1", "seconds to make a batch", table_b1),
    "fig-d1": Figure((), _lazily("worlds:fig_d1"), "pictures of the worlds"),
    "fig-e7": learning_curves("fig3b", "E.7", "mean Q on Sokoban, beside the largest return", "q_overestimation"),
    "fig-f8": learning_curves("fig-f8", "F.8", "EBU's diffusion factor β"),
    "fig-g9": learning_curves("fig-g9", "G.9", "one action in ten replaced by a random one", note=BENDS),
    "fig-h10": Data.figure("fig-h10", "worlds that do not end at the goal", fig_h10),
    "fig-i11": learning_curves("fig-i11", "I.11", "EBU with TER's share of prioritised transitions"),
    "fig-j12": learning_curves("fig-j12", "J.12", "EBU without episodes that ran out of time"),
    "fig-k13": learning_curves(
        "fig-k13", "K.13", "length d of the random projection", note="; equal curves lie on one another"
    ),
    "fig-l14": Data.figure("fig-l14", "DreamerV2, after as many steps and as much time", _lazily("dreamer:fig_l14")),
    "fig-m15": learning_curves("fig-m15", "M.15", "TER and four baselines on Atari", "return"),
    "own-target": Data.figure("own-target", "not in the paper: how often the target network is copied", own_target),
    "own-bend": learning_curves(
        "own-bend", "", "where the loss bends on Sokoban", note="; bend at R_max: of the loss, and PER's clip too"
    ),
    "own-memory": learning_curves(
        "own-memory", "", "Sokoban's baselines with a small memory",
        note="; small: 50,000 of a million, as in the released scripts, and the same share of a shorter run",
    ),
    "own-network": learning_curves(
        "own-network", "", "tile codes, and the paper's network on pictures",
        note="; nature: the paper's network; codes: the small one, which sees the tiles' numbers",
    ),
    "own-levels": learning_curves("own-levels", "", "unseen levels of Sokoban after training on 64 levels"),
    "own-replayed": Data.figure("own-replayed", "not in the paper: what is replayed over training", own_replayed),
    "own-predecessors": Data.figure(
        "own-predecessors", "not in the paper: sweeps with 1 and with 3 predecessors", own_predecessors
    ),
}  # fmt: skip
