"""Our own: the low level of the ant alone, on random subgoals in an arena without walls."""

from matplotlib.figure import Figure as Canvas

from lab.judge.colours import BLACK, GREEN
from lab.judge.results import matrix
from papers.sibling_rivalry.evidence.drawing import Data


def low_level(data: Data) -> Canvas:
    """Share of subgoals that are reached, and distance from them when their time is over."""
    [env] = data.envs
    note = "mean ± SD, single runs thin; subgoals up to 2.5 away along both axes, 20 steps (2 s) for each"
    title = "Sibling Rivalry: the ant's low level alone"
    canvas, axes = data.canvas(1, 2, title, note, (4.2, 2.5), unit="step", label=lambda method: "low level")
    look: dict = {"styles": {"low-level": {"color": GREEN, "linestyle": "-"}}, "labels": {"low-level": "_"}}
    for ax, metric, ylabel, top in (
        (axes[0, 0], "success", "subgoals within 1 in the end", 1.02),
        (axes[0, 1], "distance", "distance from the subgoal in the end", None),
    ):
        data.panel(ax, env, metric, ylabel, **look)
        ax.set_xlabel("steps of the world")
        ax.set_ylim(0, top)
    before = matrix(data.of(env), "before", "low-level", env)[1].mean()
    axes[0, 1].axhline(before, color=BLACK, linewidth=0.8, linestyle=":")
    axes[0, 1].annotate(
        "when it was set", (1, before), (-4, -4), xycoords=("axes fraction", "data"),
        textcoords="offset points", ha="right", va="top", fontsize="small",
    )  # fmt: skip
    return canvas
