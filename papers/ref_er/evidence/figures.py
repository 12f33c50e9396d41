"""The paper's figures, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Returns are those of all training episodes that enter the memory, in bins of steps. As in the paper, a curve is their
mean in each run, averaged over the runs, and the band goes from the 20th to the 80th percentile: of all episodes of all
runs in Figs. 1 to 6, of the runs' means in Figs. 7 and 8. A figure draws the runs that
exist; its caption names what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from lab.judge.plotting import Figure, left_labels, places
from papers.ref_er.evidence.figures_flow import fig6
from papers.ref_er.evidence.figures_panels import (
    BAND,
    HOW,
    IMPLIED,
    Data,
    Panel,
    banded_returns,
    best,
    divergence,
    draw_implied,
    draw_largest,
    label,
    only,
    panel,
    returns,
)
from papers.ref_er.evidence.figures_sensitivity import fig7, fig8
from papers.ref_er.evidence.paper_values import FIG1, FIG4, FIG7, FIG8


def by_task(experiment: str, number: int, title: str, note: str, draw_panel: Panel) -> Figure:
    """The same panel of all methods of an experiment for each task."""

    def draw(data: Data) -> Canvas:
        cols = min(len(data.shown), 5)
        canvas, axes = data.canvas(-(-len(data.shown) // cols), cols, f"Figure {number}: {title}", note)
        for ax, env in places(axes, data.shown):
            draw_panel(ax, data, env, {method: label(method) for method in data.methods})
        left_labels(axes)
        return canvas

    return Data.figure(experiment, title, draw)


def returns_of(experiment: str, number: int, title: str, proposed: str) -> Figure:
    """Returns with bands for `proposed` and for the best other method of a task.

    As in the paper, which has contours for the best alternatives only: more of them hide each other.
    """

    def draw(ax: Axes, data: Data, env: str, names: Mapping[str, str]) -> None:
        other = best(data.of(env), [method for method in data.methods if method != proposed], env)
        returns(ax, data, env, names, [proposed, *([other] if other else [])])

    note = f"training episodes; {HOW}; shaded for {label(proposed)} and the best other method of a task: {BAND}"
    return by_task(experiment, number, title, note, draw)


def own(
    experiment: str, what: str, title: str, note: str, *panels: Panel, names: Mapping[str, str] | None = None,
    beside: str = "",
) -> Figure:  # fmt: skip
    """Not in the paper: for each task a panel of each kind, side by side. names: the methods drawn, and what they are
    called; tasks without one of them are left out. beside: another figure's experiment whose runs are drawn, too."""

    def draw(data: Data) -> Canvas:
        shown = names or {method: label(method) for method in data.methods}
        planned = {(method, env) for method, env, _ in data.wanted}
        envs = [env for env in data.shown if names is None or planned.issuperset((method, env) for method in names)]
        canvas, axes = data.canvas(1, len(panels) * len(envs), f"own experiment: {title}", note)
        for ax, (env, draw_panel) in zip(axes[0], [(env, each) for env in envs for each in panels]):
            draw_panel(ax, data, env, shown)
        return canvas

    return Data.figure(experiment + beside, f"not in the paper: {what}", draw, needs=experiment)


def deviations(ax: Axes, data: Data, env: str, names: Mapping[str, str]) -> None:
    """Of the policy, mean over its components."""
    panel(ax, data, env, "std", "mean σ", names)
    if ax.lines:
        ax.set_ylim(0, None)


FIGURES: dict[str, Figure] = {
    "fig1": returns_of(FIG1, 1, "DDPG with five kinds of replay, returns", "ddpg refer"),
    "fig2": by_task(
        FIG1, 2, "DDPG with five kinds of replay, divergence from the replayed behaviours",
        f"mean of the samples in memory; {HOW}; {IMPLIED}", divergence(draw_implied, draw_largest),
    ),
    "fig3": returns_of("fig3", 3, "NAF with five kinds of replay, returns", "naf refer"),
    "fig4": returns_of(FIG4, 4, "V-RACER with four kinds of replay, PPO and ACER, returns", "vracer refer"),
    "fig5": by_task(
        FIG4, 5, "V-RACER, PPO and ACER, divergence from the replayed behaviours",
        f"mean of the samples in memory, PPO: of its latest rollouts after their epochs; {HOW}; {IMPLIED}",
        divergence(draw_implied),
    ),
    "fig6": Data.figure("fig6", "a swimmer in the wake of a cylinder, recurrent networks", fig6),
    "fig7": Data.figure(FIG7, "V-RACER with ReF-ER, hyper-parameters", fig7),
    "fig8": Data.figure(FIG8, "annealing, network size and advantage", fig8),
    "own-kl": own(
        "own-kl", "both directions of the divergence", "direction of Rule 2's divergence, V-RACER",
        f"{HOW}; shaded in returns: {BAND}; {IMPLIED}", banded_returns, divergence(draw_implied), deviations,
        names={
            "vracer refer": "penalty KL(μ‖π), the paper's",
            "vracer refer (reverse KL)": "penalty KL(π‖μ), the authors' program's",
        },
    ),
    "own-memory": own(  # does the divergence of plain replay come near its maximum, as in Fig. 2?
        "own-memory", "DDPG's divergence with a larger memory", "memory and divergence, DDPG with plain replay",
        f"{HOW}; shaded in returns: {BAND}", divergence(draw_largest), banded_returns,
    ),
    "own-annealing": own(
        "own-annealing", "DDPG and PPO without annealing", "annealing, DDPG and PPO",
        f"{HOW}; A = 0: constant learning rate and c_max",
        only(lambda method: method.startswith("ddpg"), returns),
        only(lambda method: not method.startswith("ddpg"), divergence()),
    ),
    "own-million": own(
        "own-million", "V-RACER's first million steps", "V-RACER with the paper's settings, up to a million steps",
        f"{HOW}; shaded in returns: {BAND}; {IMPLIED}; the paper's curve is in its Fig. 4, in a picture only",
        banded_returns, divergence(draw_implied),
    ),
    "own-segments": own(
        "own-segments", "ACER's segments", "ACER's segments", HOW, returns, divergence(), beside="+fig4-others",
        names={"acer (lr 1e-05)": "segments of 10 steps", "acer (segments of 200)": "segments of 200 steps"},
    ),
}  # fmt: skip
