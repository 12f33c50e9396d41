"""The paper's figures, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Returns are those of all training episodes that enter the memory, in bins of steps. As in the paper, a curve is their
mean in each run, averaged over the runs, and the band goes from the 20th to the 80th percentile: of all episodes of all
runs in Figs. 1 to 6, of the runs' means in Figs. 7 and 8. A figure draws what there is; its caption says what is not.
"""

from __future__ import annotations

from pathlib import Path

from lab.plotting import Figure, legend, save
from lab.results import Results
from papers.ref_er.evidence.figures_flow import fig6
from papers.ref_er.evidence.figures_own import own_annealing, own_kl, own_memory, own_million, own_segments
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
    draw_largest,
    label,
    lay_out,
    left_labels,
    panel,
)
from papers.ref_er.evidence.figures_sensitivity import fig7, fig8
from papers.ref_er.evidence.paper_values import FIG1, FIG4, FIG7, FIG8


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

    return Figure(tuple(experiment.split("+")), draw, title)


def divergences(experiment: str, number: int, title: str, bounded: bool) -> Figure:
    """Divergence between policy and replayed behaviours, one panel per task, with what ReF-ER's tolerance implies.

    bounded: draw the largest that the means of DDPG, in [-1, 1], can have.
    """

    def draw(results: Results, scale: str, out: Path) -> None:
        data = Data(results, experiment, scale)
        ppo = ", PPO: of its latest rollouts after their epochs" if experiment == FIG4 else ""
        note = f"mean of the samples in memory{ppo}; {HOW}; {IMPLIED}"
        canvas, panels = lay_out(data, f"Figure {number}: {title}", note)
        for ax, env in panels:
            panel(ax, data, env, "kl", KL, log=True)
            draw_implied(ax, data, env)
            if bounded:
                draw_largest(ax, env)
        left_labels(ax for ax, _ in panels)
        legend(canvas)
        save(canvas, out)

    return Figure(tuple(experiment.split("+")), draw, title)


FIGURES: dict[str, Figure] = {
    "fig1": returns(FIG1, 1, "DDPG with five kinds of replay, returns", "ddpg refer"),
    "fig2": divergences(FIG1, 2, "DDPG with five kinds of replay, divergence from the replayed behaviours", True),
    "fig3": returns("fig3", 3, "NAF with five kinds of replay, returns", "naf refer"),
    "fig4": returns(FIG4, 4, "V-RACER with four kinds of replay, PPO and ACER, returns", "vracer refer"),
    "fig5": divergences(FIG4, 5, "V-RACER, PPO and ACER, divergence from the replayed behaviours", False),
    "fig6": Figure(("fig6",), fig6, "a swimmer in the wake of a cylinder, recurrent networks"),
    "fig7": Figure(tuple(FIG7.split("+")), fig7, "V-RACER with ReF-ER, hyper-parameters"),
    "fig8": Figure(tuple(FIG8.split("+")), fig8, "annealing, network size and advantage"),
    "own-kl": Figure(("own-kl",), own_kl, "not in the paper: both directions of the divergence"),
    "own-memory": Figure(("own-memory",), own_memory, "not in the paper: DDPG's divergence with a larger memory"),
    "own-annealing": Figure(("own-annealing",), own_annealing, "not in the paper: DDPG and PPO without annealing"),
    "own-million": Figure(("own-million",), own_million, "not in the paper: V-RACER's first million steps"),
    "own-segments": Figure(("own-segments",), own_segments, "not in the paper: ACER's segments"),
}
