"""Figure 2: the chain, and what a number of backups makes of it under each replay method."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Circle, FancyArrowPatch

from lab.judge.colours import GREEN
from papers.ter.evidence.drawing import HOW, Data
from papers.ter.evidence.labels import NCHAIN


def draw_chain(ax: Axes) -> None:
    """Fig. 2a: states as circles, transitions as arrows, the middle of the chain left out."""
    names = ["$s_1$", "$s_2$", "$s_3$", "", "$s_{N-1}$", "$s_N$"]
    gap = 3
    for x, name in enumerate(names):
        if x == gap:
            ax.text(x, 0, "· · ·", ha="center", va="center", fontsize=14)
            continue
        color = GREEN if x == len(names) - 1 else "#EBEBEB"
        ax.add_patch(Circle((x, 0), 0.3, facecolor=color, edgecolor="0.2"))
        ax.text(x, 0, name, ha="center", va="center", fontsize=7.5 if "N-1" in name else 9)
    for x in range(len(names) - 1):
        _arrow(ax, (x + 0.2, 0.22), (x + 0.8, 0.22), 0.5)
        if x < len(names) - 2:  # the last state is terminal
            _arrow(ax, (x + 0.8, -0.22), (x + 0.2, -0.22), 0.5)
    _arrow(ax, (-0.12, -0.28), (-0.28, -0.12), 2.2)  # backward at the left end stays
    ax.text(len(names) / 2 - 0.5, 0.75, "forward", ha="center")
    ax.text(len(names) / 2 - 0.5, -0.75, "backward", ha="center", va="top")
    ax.text(len(names) - 1.5, 0.5, "+1", ha="center", weight="bold")
    ax.set(xlim=(-0.8, len(names) - 0.5), ylim=(-1.5, 1.5), aspect="equal")
    ax.axis("off")


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], bend: float) -> None:
    style: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 8, "color": "0.2", "linewidth": 0.9}
    ax.add_patch(FancyArrowPatch(start, end, connectionstyle=f"arc3,rad={-bend}", shrinkA=0, shrinkB=0, **style))


def fig2(data: Data) -> Canvas:
    """Fig. 2: (a) the chain, (b) normalised return and value error over backups."""
    title, note = "Figure 2: NChain, N = 20", f"{HOW}; one fixed data set per seed"
    canvas, axes = data.canvas(1, 3, title, note, (3.4, 2.6), unit="backup", label=NCHAIN.__getitem__)
    draw_chain(axes[0, 0])
    axes[0, 0].set_title("(a) NChain")
    panels = {"return": "normalised return", "value_error": "mean |Q - Q*|"}
    [env] = data.envs
    for ax, (metric, ylabel) in zip(axes[0, 1:], panels.items()):
        data.panel(ax, env, metric, ylabel, NCHAIN, title=f"(b) {ylabel}", labels=NCHAIN)
        ax.set_xlabel("backups")
    return canvas
