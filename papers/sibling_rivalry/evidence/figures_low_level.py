"""Our own: the low level of the ant alone, on random subgoals in an arena without walls."""

from pathlib import Path

from lab.colours import BLACK, GREEN
from lab.plotting import caption, curves, new_figure, save
from lab.results import Grid, Results, matrix
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS


def low_level(results: Results, scale: str, out: Path) -> None:
    """Share of subgoals that are reached, and distance from them when their time is over."""
    data = Grid(results, "low-level", scale, EXPERIMENTS["low-level"](scale))
    [env] = data.envs
    note = "mean ± SD, single runs thin; subgoals up to 2.5 away along both axes, 20 steps (2 s) for each"
    text = caption(data, note, label=lambda method: "low level")
    canvas, axes = new_figure(1, 2, "Sibling Rivalry: the ant's low level alone", caption=text, size=(4.2, 2.5))
    for ax, (metric, ylabel) in zip(
        axes[0], {"success": "subgoals within 1 in the end", "distance": "distance from the subgoal in the end"}.items()
    ):
        curves(
            ax, data.of(env), metric, kind="mean-sd", order=["low-level"],
            styles={"low-level": {"color": GREEN, "linestyle": "-"}}, ylabel=ylabel, xlabel="steps of the world",
            labels={"low-level": "low level"},
        )  # fmt: skip
        ax.set_ylim(0, 1.02 if metric == "success" else None)
    before = matrix(data.of(env), "before", "low-level", env)[1].mean()
    axes[0, 1].axhline(before, color=BLACK, linewidth=0.8, linestyle=":")
    axes[0, 1].annotate(
        "when it was set", (1, before), (-4, -4), xycoords=("axes fraction", "data"),
        textcoords="offset points", ha="right", va="top", fontsize="small",
    )  # fmt: skip
    save(canvas, out)
