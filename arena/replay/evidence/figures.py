"""The arena in pictures: what each idea gains over uniform replay, the same as a table, and what each idea does.

A picture draws the runs that exist; its caption says how many tasks are missing.
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from arena.replay.evidence.experiments import EXPERIMENTS, NAMES, legal
from arena.replay.evidence.gains import Gain, gains, limit, measured
from arena.replay.ideas import IDEAS
from arena.replay.tasks import TASKS
from lab.judge.colours import OWN_METHOD, UNIFORM
from lab.judge.intervals import number
from lab.judge.plotting import Figure, budget, new_figure, places, save
from lab.judge.results import MissingData, Results

SCORES = {
    "success": "success", "normalized_return": "return, 0 to 1", "normalized_return_known": "return, 0 to 1",
    "score": "return",
}  # fmt: skip
METERS = {
    "replayed": "share of transitions ever replayed",
    "age": "mean age of a replayed transition, of uniform's",
    "entropy": "entropy of what was replayed, nats above uniform's",
    "weighed": "effective share of a weighted batch",
}


def _caption(results: Results, scale: str, found: list[str]) -> str:
    parts = []
    for env in found:
        frame = results.at(NAMES[env], scale)
        parts.append(f"{env} {budget(frame, scale).removeprefix(f'{scale}: ').replace('step', TASKS[env].agent.unit)}")
    missing = [env for env in TASKS if env not in found]
    return f"{scale}: " + "; ".join(parts) + (f"; not run: {', '.join(missing)}" if missing else "")


def _panel(ax: Axes, env: str, found: list[Gain], clear: float) -> None:
    """Draw all ideas' gains on a task with 95 % intervals; filled and red if clear among all gains."""
    ideas = legal(env)[1:]
    for one in found:
        place, significant = ideas.index(one.idea), one.p <= clear
        low, high = one.estimate.interval()
        colour = OWN_METHOD if significant else UNIFORM
        if np.isfinite([low, high]).all():
            ax.plot([low, high], [place, place], color=colour, linewidth=1.4)
        ax.plot(one.estimate.value, place, "o", color=colour, markersize=5, fillstyle="full" if significant else "none")
    ax.axvline(0.0, color="0.4", linewidth=1.0)
    ax.set_yticks(range(len(ideas)), ideas, fontsize=7)
    ax.set_ylim(len(ideas) - 0.5, -0.5)
    ax.set_title(f"{env} ({TASKS[env].agent.name})")
    ax.set_xlabel(f"gain: {SCORES[TASKS[env].score]}")


def draw_gains(results: Results, scale: str, out: Path) -> None:
    """Draw the gains, one panel per task."""
    found = gains(results, scale)
    envs = [env for env in TASKS if any(one.env == env for one in found)]
    note = (
        "\ngain of the mean height of the learning curve over uniform replay, paired by seed, 95 % interval; filled: "
    )
    note += "clear when at most 5 % of all that are called so may be false (Benjamini and Hochberg)"
    columns = min(3, len(envs))
    canvas, axes = new_figure(
        -(-len(envs) // columns), columns, "What a replay idea gains over uniform replay",
        caption=_caption(results, scale, envs) + note, size=(3.8, 3.2),
    )  # fmt: skip
    for ax, env in places(axes, envs):
        _panel(ax, env, [one for one in found if one.env == env], limit(found))
    for ax in axes[:, 0]:
        ax.set_ylabel("idea")
    save(canvas, out)


def _grid(ax: Axes, cells: dict[tuple[str, str], str], shade: dict[tuple[str, str], float], envs: list[str]) -> None:
    """Draw a table of ideas by tasks with a shade in [-1, 1] behind each cell, red below 0 and blue above."""
    values = np.array([[shade.get((idea, env), np.nan) for env in envs] for idea in IDEAS])
    ax.imshow(values, aspect="auto", cmap="RdBu", vmin=-1.6, vmax=1.6)
    for row, idea in enumerate(IDEAS):
        for column, env in enumerate(envs):
            text = cells.get((idea, env), "–" if idea not in legal(env) else "")
            ax.text(column, row, text, ha="center", va="center", fontsize=6)
    ax.set_xticks(range(len(envs)), envs, fontsize=7, rotation=20, ha="right")
    ax.set_yticks(range(len(IDEAS)), list(IDEAS), fontsize=7)
    ax.grid(False)


def draw_table(results: Results, scale: str, out: Path) -> None:
    """Draw a table of all gains with intervals; a star: clear after false-discovery control."""
    found = gains(results, scale)
    envs, clear = [env for env in TASKS if any(one.env == env for one in found)], limit(found)
    cells, shade = {}, {}
    for one in found:
        low, high = map(number, one.estimate.interval())
        cells[one.idea, one.env] = f"{number(one.estimate.value, '+')}{'*' if one.p <= clear else ''}\n[{low}, {high}]"
        shade[one.idea, one.env] = np.sign(one.estimate.value) if one.p <= clear else 0.0
    rule = f"p at most {clear:.2g}" if clear else "which none is"
    note = f"\n*: clear, {rule}; blue: above uniform replay, red: below it; –: cannot be joined\n"
    note += "gain of the mean height of the learning curve, paired by seed, 95 % interval"
    canvas, axes = new_figure(
        1, 1, "Gains over uniform replay", caption=_caption(results, scale, envs) + note,
        size=(2.0 + 1.15 * len(envs), 6.4),
    )  # fmt: skip
    _grid(axes[0, 0], cells, shade, envs)
    save(canvas, out)


def draw_laws(results: Results, scale: str, out: Path) -> None:
    """Draw what the ideas replay, as the meter measures it."""
    found = {metric: measured(results, scale, metric) for metric in METERS}
    envs = [env for env in TASKS if ("uniform", env) in found["replayed"]]
    if not envs:
        raise MissingData(f"nothing at {scale} was measured")
    note = "\nat the end of training; age and entropy of its last tenth or twentieth; blue: above uniform replay, red: "
    note += "below it; –: cannot be joined"
    canvas, axes = new_figure(
        2, 2, "What replay ideas replay", caption=_caption(results, scale, envs) + note,
        size=(max(1.6 + 0.62 * len(envs), 4.2), 4.2),
    )  # fmt: skip
    for ax, (metric, title) in zip(axes.flat, METERS.items()):
        values = found[metric]
        if metric == "age":
            values = {cell: value / values["uniform", cell[1]] for cell, value in values.items()}
        elif metric == "entropy":
            values = {cell: value - values["uniform", cell[1]] for cell, value in values.items()}
        above = {cell: value - values["uniform", cell[1]] for cell, value in values.items()}
        spread = max(map(abs, above.values())) or 1.0
        shade = {cell: value / spread for cell, value in above.items()}
        _grid(ax, {cell: f"{value:.2g}" for cell, value in values.items()}, shade, envs)
        ax.set_title(title, fontsize=10)
    save(canvas, out)


FIGURES: dict[str, Figure] = {
    "gains": Figure(tuple(EXPERIMENTS), draw_gains, "what every idea gains over uniform replay, task by task"),
    "table": Figure(tuple(EXPERIMENTS), draw_table, "the same as a table, after false-discovery control"),
    "laws": Figure(tuple(EXPERIMENTS), draw_laws, "what every idea replays: how often, how old, how evenly"),
}
