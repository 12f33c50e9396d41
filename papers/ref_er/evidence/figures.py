"""The paper's figures, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Returns are those of all training episodes that enter the memory, in bins of steps. As in the paper, a curve is their
mean in each run, averaged over the runs, and the band goes from the 20th to the 80th percentile: of all episodes of all
runs in Figs. 1 to 5, of the runs' means in Figs. 7 and 8. A figure draws what there is; its caption says what is not.
"""

from __future__ import annotations

from pathlib import Path

from lab.plotting import Figure, legend, save
from lab.results import Results
from papers.ref_er.evidence.figures_panels import (
    BAND,
    HOW,
    IMPLIED,
    KL,
    RETURN,
    Data,
    best,
    cut_below,
    draw_implied,
    label,
    lay_out,
    left_labels,
    panel,
)
from papers.ref_er.evidence.figures_sensitivity import fig7, fig8
from papers.ref_er.evidence.paper_values import ACTIONS, NOISE


def returns(experiment: str, number: int, title: str, proposed: str) -> Figure:
    """Returns of all methods of an experiment, one panel per task; bands for `proposed` and for the best other one.

    As in the paper, which has contours for the best alternatives only: more of them hide each other.
    """

    def draw(results: Results, scale: str, out: Path) -> None:
        data = Data(results, experiment, scale)
        note = f"training episodes; {HOW}; shaded for {label(proposed)} and the best other method of a task: {BAND}"
        canvas, panels = lay_out(data, f"Figure {number}: {title}", note)
        for ax, env in panels:
            other = best(data.of(env), [method for method in data.methods if method != proposed], env)
            panel(ax, data, env, "return", RETURN, banded=[proposed, *([other] if other else [])])
            cut_below(ax)
        left_labels(ax for ax, _ in panels)
        legend(canvas)
        save(canvas, out)

    return Figure((experiment,), draw, title)


def divergences(experiment: str, number: int, title: str, bounded: bool) -> Figure:
    """Divergence between policy and replayed behaviours, one panel per task, with what ReF-ER's tolerance implies.

    bounded: draw the largest that the means of DDPG, in [-1, 1], can have.
    """

    def draw(results: Results, scale: str, out: Path) -> None:
        data = Data(results, experiment, scale)
        note = f"mean of the samples in memory; {HOW}; {IMPLIED}"
        canvas, panels = lay_out(data, f"Figure {number}: {title}", note)
        for ax, env in panels:
            panel(ax, data, env, "kl", KL, log=True)
            draw_implied(ax, data, env)
            if bounded and env in ACTIONS and ax.lines:
                height, style = 2 * ACTIONS[env] / NOISE**2, {"color": "0.4", "linestyle": ":", "linewidth": 1.2}
                ax.axhline(height, **style, label="largest possible, 2 d / σ²")
        left_labels(ax for ax, _ in panels)
        legend(canvas)
        save(canvas, out)

    return Figure((experiment,), draw, title)


def own_kl(results: Results, scale: str, out: Path) -> None:
    """Not in the paper's figures: Rule 2 with the paper's divergence, and with that of the authors' program."""
    data = Data(results, "own-kl", scale)
    names = {
        "vracer refer": "penalty KL(μ‖π), the paper's",
        "vracer refer (reverse KL)": "penalty KL(π‖μ), the authors' program's",
    }
    note = f"{HOW}; shaded in returns: {BAND}; {IMPLIED}"
    title = "own experiment: direction of Rule 2's divergence, V-RACER"
    canvas, axes = data.canvas(1, 3 * len(data.shown), title, note)
    for i, env in enumerate(data.shown):
        of_return, of_kl, of_std = axes[0, 3 * i : 3 * i + 3]
        panel(of_return, data, env, "return", RETURN, banded=data.methods, names=names)
        cut_below(of_return)
        panel(of_kl, data, env, "kl", KL, log=True, names=names)
        draw_implied(of_kl, data, env)
        panel(of_std, data, env, "std", "mean σ", names=names)
        if of_std.lines:
            of_std.set_ylim(0, None)
    legend(canvas)
    save(canvas, out)


FIGURES: dict[str, Figure] = {
    "fig1": returns("fig1", 1, "DDPG with five kinds of replay, returns", "ddpg refer"),
    "fig2": divergences("fig1", 2, "DDPG with five kinds of replay, divergence from the replayed behaviours", True),
    "fig3": returns("fig3", 3, "NAF with five kinds of replay, returns", "naf refer"),
    "fig4": returns("fig4", 4, "V-RACER with four kinds of replay, PPO and ACER, returns", "vracer refer"),
    "fig5": divergences("fig4", 5, "V-RACER, PPO and ACER, divergence from the replayed behaviours", False),
    "fig7": Figure(("fig7",), fig7, "V-RACER with ReF-ER, hyper-parameters"),
    "fig8": Figure(("fig8",), fig8, "annealing, network size and advantage"),
    "own-kl": Figure(("own-kl",), own_kl, "not in the paper: both directions of the divergence"),
}
