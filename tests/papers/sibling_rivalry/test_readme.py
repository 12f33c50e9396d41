"""The notebook's tables of point maze and ant maze: the paper's success rates beside ours."""

from pathlib import Path

import pytest

from lab.judge.results import MissingData, Results, matrix
from papers.sibling_rivalry.evidence import paper_values as paper
from papers.sibling_rivalry.evidence.labels import NAMES

ROOM = Path(paper.__file__).parents[1]
TABLES = {
    "| method | whose | 40k | 80k | 120k | 160k | 200k |": (paper.CURVES["fig3"], paper.EPISODES, "maze", "PointMaze"),
    "| ant maze | whose | 16k | 32k | 48k | 64k | 80k |": (paper.ANT_CURVES, paper.ANT_EPISODES, "ant", "AntMaze"),
}
"""By header: the paper's rates, when they were read, experiment, task."""


def ours(experiment: str, env: str, method: str, steps: list[int]) -> list[str]:
    """Means over the seeds of the full scale."""
    try:
        found, values = matrix(Results(ROOM / "evidence/results").at(experiment, "full"), "success", method, env)
    except MissingData:
        return ["-"] * len(steps)
    means = dict(zip(found.tolist(), values.mean(axis=0)))
    return [f"{means[step]:.2f}" if step in means else "-" for step in steps]


@pytest.mark.parametrize("header", TABLES)
def test_the_tables_hold_the_papers_numbers_and_ours(header):
    curves, episodes, *task = TABLES[header]
    prefix = "ant: " if "ant" in task else ""
    steps = [int(cell.strip(" k")) * 1000 for cell in header.strip("|").split("|")[2:]]
    lines = [header, "|" + "---|" * 7]
    for method, rates in curves.items():
        theirs = [f"{rate:.2f}" if (rate := rates[episodes.index(step)]) else "0" for step in steps]
        for whose, cells in (("paper", theirs), ("ours", ours(*task, method, steps))):
            lines.append(f"| {prefix}{NAMES[method]} | {whose} | {' | '.join(cells)} |")
    assert "\n".join(lines) + "\n\n" in (ROOM / "NOTEBOOK.md").read_text()
