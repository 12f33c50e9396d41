"""Tables 1 to 3: the paper's numbers beside ours."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure as Canvas

from lab.judge.intervals import mean_of, number
from lab.judge.plotting import Figure, fill_with_table
from lab.judge.results import MissingData, matrix
from papers.ners.evidence.claims_runs import LAST, last_of
from papers.ners.evidence.figures_data import Data
from papers.ners.evidence.labels import AGENTS, SAMPLERS, TERMINAL, score_metric, split, task
from papers.ners.evidence.paper_values import SAMPLERS as COLUMNS
from papers.ners.evidence.paper_values import STATISTICS, TABLE3, best_baseline, margin
from papers.ners.evidence.pooled import replayed

NOT_RUN = "not run"


def scores(data: Data, method: str, env: str) -> tuple[np.ndarray, np.ndarray]:
    """Score of each run, and the last of those that make it, float64[seeds] each."""
    _, values = matrix(data.frame, score_metric(split(method)[0]), method, env)
    return values[:, -last_of(values.shape[1]) :].mean(axis=1), values[:, -1]


def with_interval(values: np.ndarray) -> str:
    """Mean, and below it its 95 % interval (Student's t) where there is more than one value."""
    estimate = mean_of(values)
    interval = "\n[{}, {}]".format(*map(number, estimate.interval())) if len(values) > 1 else ""
    return f"{number(estimate.value)}{interval}"


def with_share(row: Mapping[str, float]) -> str:
    """NERS's margin over the best baseline, and what share of that baseline it is where this is positive."""
    best = row[best_baseline(row)]
    return number(margin(row), "+") + (f"\n({margin(row) / best:+.0%})" if best > 0 else "")


def comparison(experiment: str, label: str, title: str, paper: Mapping[tuple[str, str], Mapping[str, float]]) -> Figure:
    """Table 1 or 2: returns of the four samplers, the paper's beside ours, a row for each agent and task."""

    def draw(data: Data) -> Canvas:
        header = [f"{SAMPLERS[sampler]}\n{whose}" for sampler in COLUMNS for whose in ("paper", "ours")]
        cells, bold = [], set()
        for i, (agent, env) in enumerate(data.cells, start=1):
            theirs, ours, texts = paper.get((agent, env), {}), {}, [f"{AGENTS[agent]} {task(env)}"]
            for sampler in COLUMNS:
                texts.append(number(theirs[sampler]) if theirs else "-")
                try:
                    score, last = scores(data, f"{agent} {sampler}", env)
                except MissingData:
                    texts.append(NOT_RUN)
                    continue
                ours[sampler] = float(score.mean())
                texts.append(f"{with_interval(score)}\nlast {number(float(last.mean()))}")
            texts.append(with_share(theirs) if theirs else "-")
            texts.append(with_share(ours) if len(ours) == len(COLUMNS) else NOT_RUN)
            cells.append(texts)
            for place, values in enumerate((theirs, ours)):
                if len(values) == len(COLUMNS):
                    bold.add((i, 1 + place + 2 * COLUMNS.index(max(values, key=lambda s: values[s]))))
        note = (
            f"score: mean of the last {LAST} measurements (or the last fifth of fewer), over seeds, with 95 % "
            "interval; last: mean of the very last ones; margin: of NERS over the best of the others; "
            "bold: best of a row"
        )
        canvas, axes = data.canvas(1, 1, f"Table {label}: {title}", note, (13.5, 0.5 + 0.62 * len(cells)))
        header += ["margin\npaper", "margin\nours"]
        fill_with_table(axes[0, 0], ["", *header], cells, grey=papers, lines=3, bold=bold, widths=widths(header))
        return canvas

    return Data.figure(experiment, title, draw)


def papers(row: int, column: int) -> bool:
    """Whether a cell is the paper's: every other column."""
    return column % 2 == 1


def widths(header: list[str]) -> list[float]:
    """Of the columns: the first, which names the row, is wider."""
    return [1.5, *[1.0] * len(header)]


def table3(data: Data) -> Canvas:
    """Table 3: deviation and mean of squared TD errors and of Q over everything that SAC replayed on Pendulum."""
    cells = []
    for sampler in (*COLUMNS, *(f"{sampler} {TERMINAL}" for sampler in COLUMNS)):
        rows = data.frame[data.frame["method"] == f"sac {sampler}"]
        try:
            ours = [with_interval(values) for values in replayed(rows).T]
        except MissingData:  # a run of a few steps has no statistics
            ours = [NOT_RUN if rows.empty else "-"] * len(STATISTICS)
        theirs = [number(value) for value in TABLE3[sampler.split()[0]]]
        cells.append([SAMPLERS[sampler].replace(", ", ",\n"), *(text for pair in zip(theirs, ours) for text in pair)])
    note = (
        "all transitions replayed in a run: mean over seeds with 95 % interval. The paper writes TD error; "
        "numbers as large as its are squared ones. It does not say whether time-outs are bootstrapped (above) or "
        "stored as terminations (below)"
    )
    canvas, axes = data.canvas(1, 1, "Table 3: what SAC replays on Pendulum", note, (10.5, 4.4))
    header = [f"{statistic}\n{whose}" for statistic in STATISTICS for whose in ("paper", "ours")]
    fill_with_table(axes[0, 0], ["", *header], cells, grey=papers, lines=2, widths=widths(header))
    return canvas
