"""The paper's figures and tables, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Curves are the paper's: mean and standard deviation over runs. A figure draws what there is; its caption says what of
the experiment is missing.
"""

from pathlib import Path

from lab.colours import OTHERS
from lab.plotting import Figure, curves, legend, save
from lab.results import Results
from papers.ners.evidence.figures_data import HOW, Data, averaged, outer_labels, panel
from papers.ners.evidence.figures_draws import fig1
from papers.ners.evidence.figures_law import fig5, own_distance, own_law, own_time
from papers.ners.evidence.figures_tables import comparison, table3
from papers.ners.evidence.figures_why import own_why
from papers.ners.evidence.labels import INDEPENDENT, cell, score_metric, split
from papers.ners.evidence.paper_values import BASELINES, TABLE1, TABLE2
from papers.ners.evidence.plan import files

RETURN = "mean return of a policy"
ALL = ("ners", *BASELINES)


def learning_curves(experiment: str, number: str, title: str) -> Figure:
    """Returns over steps: a row for each agent and a column for each task; one agent's tasks go on in further rows."""

    def draw(results: Results, scale: str, out: Path) -> None:
        data = Data(results, files(experiment), scale)
        envs = list(dict.fromkeys(env for _, env in data.cells))
        cols = len(envs) if len(data.agents) > 1 else min(len(envs), 4)
        rows = len(data.agents) if len(data.agents) > 1 else -(-len(envs) // cols)
        canvas, axes = data.canvas(rows, cols, f"Figure {number}: {title}", HOW)
        places = [(agent, env) for agent in data.agents for env in envs]
        for ax, (agent, env) in zip(axes.flat, places):
            if (agent, env) in data.cells:
                panel(ax, data, agent, env, ALL, score_metric(agent), RETURN)
            else:
                ax.set_axis_off()
        for ax in axes.flat[len(places) :]:
            ax.set_axis_off()
        outer_labels(axes)
        legend(canvas)
        save(canvas, out)

    return Figure(files(experiment), draw, title)


def fig4(results: Results, scale: str, out: Path) -> None:
    """Fig. 4: (a) NERS with parts left out, then NERS* beside all samplers; SAC, on the tasks there are."""
    data = Data(results, files("fig4"), scale)
    parts, rewards = ("ners", "ners few", "ners no-global"), ("ners", "ners*", *BASELINES, INDEPENDENT)
    panels = [
        *((env, parts) for _, env in data.cells if data.has("sac ners few", env)),
        *((env, rewards) for _, env in data.cells if data.has("sac ners*", env)),
    ]
    canvas, axes = data.canvas(1, len(panels), "Figure 4: what NERS is made of, and its replay reward", HOW, (3.6, 2.8))
    for letter, ax, (env, samplers) in zip("abcdefgh", axes[0], panels):
        panel(ax, data, "sac", env, samplers, "score", RETURN)
        ax.set_title(f"({letter}) {ax.get_title()}")
    outer_labels(axes)
    legend(canvas)
    save(canvas, out)


def own_td3_lr(results: Results, scale: str, out: Path) -> None:
    """Not in the paper: TD3 with RANDOM at the learning rate it prints and at two lower ones, beside its number."""
    data = Data(results, ["own-td3-lr"], scale)
    papers = any(side in TABLE1 for side in data.cells)
    note = HOW + ("; dashed: RANDOM in the paper's Table 1, after 500,000 steps" if papers else "")
    title = "own experiment: TD3's learning rate, uniform sampling"
    canvas, axes = data.canvas(1, len(data.cells), title, note, (4.6, 3.0))
    for ax, (agent, env) in zip(axes[0], data.cells):
        names = {m: f"learning rate {split(m)[1].removeprefix('lr ')}" for m in data.methods if data.has(m, env)}
        looks = {m: {"color": colour, "linestyle": "-"} for m, colour in zip(names, OTHERS)}
        rows = averaged(data.rows("score", names, env))
        curves(ax, rows, "score", kind="mean-sd", order=list(names), labels=names, styles=looks, ylabel=RETURN)
        if (agent, env) in TABLE1 and ax.lines:
            ax.axhline(TABLE1[agent, env]["random"], color="0.4", linestyle="--", linewidth=1.2, label="paper's RANDOM")
        ax.set_title(cell(agent, env))
    outer_labels(axes)
    legend(canvas)
    save(canvas, out)


FIGURES: dict[str, Figure] = {
    "fig1": Figure(("fig1",), fig1, "what is drawn by TD error, by Q and uniformly"),
    "fig3": learning_curves("fig3", "3", "four samplers on classical and Box2D tasks"),
    "fig4": Figure(files("fig4"), fig4, "NERS without parts of it, and NERS*"),
    "fig5": Figure((*files("fig3"), "table1"), fig5, "Q and TD error of the replayed transitions"),
    "table1": comparison("table1", "1", "returns of TD3 and SAC on MuJoCo", TABLE1),
    "table2": comparison("table2", "2", "returns of Rainbow on Atari", TABLE2),
    "table3": Figure(("table3",), table3, "statistics of replayed transitions, Pendulum"),
    "fig-c1": learning_curves("table1", "C.1", "four samplers on MuJoCo"),
    "fig-c2": learning_curves("table2", "C.2", "four samplers on Atari, Rainbow"),
    "own-why": Figure(("own-why",), own_why, "not in the paper: how NERS's networks shrink the spread of their inputs"),
    "own-law": Figure(
        ("own-law",), own_law, "not in the paper: NERS by every reading of the paper, how far from uniform"
    ),
    "own-time": Figure(files("own-time"), own_time, "not in the paper: NERS by the environment's step, 100,000 steps"),
    "own-distance": Figure(
        (*files("fig3"), "table1", "table2"), own_distance, "not in the paper: how far the samplers are from uniform"
    ),
    "own-td3-lr": Figure(("own-td3-lr",), own_td3_lr, "not in the paper: TD3's learning rate"),
}
