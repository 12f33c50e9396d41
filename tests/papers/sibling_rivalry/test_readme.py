"""The numbers of what came out, and the notebook's tables of point maze and ant maze: the paper's success rates beside
ours."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.judge.results import MissingData, Results, matrix
from papers.sibling_rivalry.evidence import paper_values as paper
from papers.sibling_rivalry.evidence.claims_runs import solved
from papers.sibling_rivalry.evidence.labels import NAMES
from tests.test_findings import NUMBER, at_most, read, shown
from tests.test_readme import verdict

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


def what_came_out() -> Iterator[float]:
    """The numbers of that section, in the order of its text."""
    track, ants = read("sibling_rivalry", "track", "full"), read("sibling_rivalry", "ant")
    yield from (1, 2, 100 * float(verdict("sibling_rivalry", "fig1-naive").parts["at the local optimum"].effect))
    yield at_most(100 * track.curve("closer trapped", "sr", "CircularTrack")[1].mean(axis=0).max(), 27)
    trap = verdict("sibling_rivalry", "fig3-trap")
    yield from (3, trap.steps, int(trap.effect.partition("%")[0]), 4, 7, 7, 3, ants.steps("AntMazeSmall"))
    for method in ("ppo", "ppo-icm", "ddpg-her"):
        found = solved(ants, method, "AntMazeSmall")
        yield from (found.sum(), len(found))
    built = sorted(read("sibling_rivalry", "construction").last("completion", "impala-sr", "VoxelBuildSmall", 5))
    yield from (5, built[1], built[-1], 6, 7, 0, 1)
    maze = read("sibling_rivalry", "epsilon")
    yield maze.steps("PointMaze")
    good = {int(name.split()[-1].strip(")")) for name, env in maze.groups if solved(maze, name, env).any()}
    yield from (*sorted(good), 8)
    starts = verdict("sibling_rivalry", "fig8-maze")
    yield from (float(starts.effect), *map(float, starts.interval.strip("[]").split(", ")))
    yield from (9, 1, 2, 3, verdict("sibling_rivalry", "fig9-consistent").seeds * 3)


def test_every_number_of_what_came_out_is_that_of_the_committed_runs():
    text = (ROOM / "README.md").read_text().partition("## What came out\n")[2].partition("\n![")[0]
    found = NUMBER.findall(text)
    assert found == shown(list(what_came_out()), found)
