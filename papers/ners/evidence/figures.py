"""The paper's figures and tables, drawn from tidy results: FIGURES maps a name to what it needs and how it is drawn.

Curves are the paper's: mean and standard deviation over runs. A figure draws the runs that exist; its caption names
what is missing.
"""

from matplotlib.figure import Figure as Canvas

from lab.judge.colours import OTHERS
from lab.judge.plotting import Figure, left_labels, places
from papers.ners.evidence.figures_data import HOW, RETURN, SAC, Data, panel, solid
from papers.ners.evidence.figures_draws import fig1
from papers.ners.evidence.figures_law import fig5, own_distance, own_law, own_time
from papers.ners.evidence.figures_tables import comparison, table3
from papers.ners.evidence.figures_why import own_why
from papers.ners.evidence.labels import INDEPENDENT, cell, score_metric, split
from papers.ners.evidence.paper_values import BASELINES, TABLE1, TABLE2
from papers.ners.evidence.plan import read_as

ALL = ("ners", *BASELINES)


def learning_curves(experiment: str, number: str, title: str) -> Figure:
    """Returns over steps: a row for each agent and a column for each task; one agent's tasks go on in further rows."""

    def draw(data: Data) -> Canvas:
        envs = list(dict.fromkeys(env for _, env in data.cells))
        cols = len(envs) if len(data.agents) > 1 else min(len(envs), 4)
        rows = len(data.agents) if len(data.agents) > 1 else -(-len(envs) // cols)
        named = f"Figure {number}: {title}" if number else f"own experiment: {title}"
        canvas, axes = data.canvas(rows, cols, named, HOW)
        for ax, (agent, env) in places(axes, [(agent, env) for agent in data.agents for env in envs]):
            if (agent, env) in data.cells:
                panel(ax, data, agent, env, ALL, score_metric(agent), RETURN)
            else:
                ax.set_axis_off()
        left_labels(axes)
        return canvas

    return Data.figure(read_as(experiment), title if number else f"not in the paper: {title}", draw)


def fig4(data: Data) -> Canvas:
    """Fig. 4: (a) NERS with parts left out, then NERS* beside all samplers; SAC, on the tasks there are."""
    parts, rewards = ("ners", "ners few", "ners no-global"), ("ners", "ners*", *BASELINES, INDEPENDENT)
    panels = [
        *((env, parts) for _, env in data.cells if data.has("sac ners few", env)),
        *((env, rewards) for _, env in data.cells if data.has("sac ners*", env)),
    ]
    canvas, axes = data.canvas(1, len(panels), "Figure 4: what NERS is made of, and its replay reward", HOW, (3.6, 2.8))
    for letter, ax, (env, samplers) in zip("abcdefgh", axes[0], panels):
        panel(ax, data, "sac", env, samplers, "score", RETURN)
        ax.set_title(f"({letter}) {ax.get_title()}")
    left_labels(axes)
    return canvas


def own_td3_lr(data: Data) -> Canvas:
    """Not in the paper: TD3 with RANDOM at the learning rate it prints and at two lower ones, beside its number."""
    papers = any(side in TABLE1 for side in data.cells)
    note = HOW + ("; dashed: RANDOM in the paper's Table 1, after 500,000 steps" if papers else "")
    title = "own experiment: TD3's learning rate, uniform sampling"
    canvas, axes = data.canvas(1, len(data.cells), title, note, (4.6, 3.0))
    for ax, (agent, env) in zip(axes[0], data.cells):
        names = {m: f"learning rate {split(m)[1].removeprefix('lr ')}" for m in data.methods if data.has(m, env)}
        looks = solid(dict(zip(names, OTHERS)))
        data.panel(ax, env, "score", RETURN, names, title=cell(agent, env), labels=names, styles=looks)
        if (agent, env) in TABLE1 and ax.lines:
            ax.axhline(TABLE1[agent, env]["random"], color="0.4", linestyle="--", linewidth=1.2, label="paper's RANDOM")
    left_labels(axes)
    return canvas


FIGURES: dict[str, Figure] = {
    "fig1": Data.figure("fig1", "what is drawn by TD error, by Q and uniformly", fig1),
    "fig3": learning_curves("fig3", "3", "four samplers on classical and Box2D tasks"),
    "fig4": Data.figure(read_as("fig4"), "NERS without parts of it, and NERS*", fig4),
    "fig5": SAC.figure(read_as("fig3", "table1"), "Q and TD error of the replayed transitions", fig5),
    "table1": comparison("table1", "1", "returns of TD3 and SAC on MuJoCo", TABLE1),
    "table2": comparison("table2", "2", "returns of Rainbow on Atari", TABLE2),
    "table3": Data.figure("table3", "statistics of replayed transitions, Pendulum", table3),
    "fig-c1": learning_curves("table1", "C.1", "four samplers on MuJoCo"),
    "fig-c2": learning_curves("table2", "C.2", "four samplers on Atari, Rainbow"),
    "own-why": Data.figure(
        "own-why", "not in the paper: how NERS's networks shrink the spread of their inputs", own_why
    ),
    "own-law": Data.figure(
        "own-law", "not in the paper: NERS by every reading of the paper, how far from uniform", own_law
    ),
    "own-time": Data.figure(
        read_as("own-time"), "not in the paper: NERS by the environment's step, 100,000 steps", own_time
    ),
    "own-hopper": learning_curves("own-hopper", "", "NERS and uniform sampling on Hopper, 300,000 steps"),
    "own-distance": Data.figure(
        read_as("fig3", "table1", "table2"), "not in the paper: how far the samplers are from uniform", own_distance
    ),
    "own-td3-lr": Data.figure("own-td3-lr", "not in the paper: TD3's learning rate", own_td3_lr),
}
