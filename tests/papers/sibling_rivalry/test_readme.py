"""The README's tables of point maze and ant maze: the paper's success rates beside ours."""

from pathlib import Path

from lab.results import MissingData, Results, matrix
from papers.sibling_rivalry.evidence import paper_values
from papers.sibling_rivalry.evidence.labels import NAMES

ROOM = Path(paper_values.__file__).parents[1]
HEADER = "| method | whose | 40k | 80k | 120k | 160k | 200k |"
STEPS = (40_000, 80_000, 120_000, 160_000, 200_000)
NONE = ["-"] * len(STEPS)


def table(text: str) -> dict[tuple[str, str], list[str]]:
    """Rows of the table: (method, "paper" or "ours") -> cells."""
    lines = text.splitlines()
    methods = {name.lower(): method for method, name in NAMES.items()} | {method: method for method in NAMES}
    rows = {}
    for line in lines[lines.index(HEADER) + 2 :]:
        if not line.startswith("|"):
            break
        method, whose, *cells = (cell.strip(" *`") for cell in line.strip("|").split("|"))
        assert (methods[method.lower()], whose) not in rows, line
        rows[methods[method.lower()], whose] = cells
    return rows


def papers(method: str) -> list[float] | None:
    """The paper's rates at STEPS; None for a method that its figure does not show."""
    if method not in paper_values.CURVES["fig3"]:
        return None
    return [paper_values.CURVES["fig3"][method][paper_values.EPISODES.index(step)] for step in STEPS]


def ours(results: Results, method: str) -> list[str]:
    """Means over the seeds of the full scale, as the table prints them."""
    try:
        frame = results.at("maze", "full")
    except MissingData:
        return NONE
    if not ((frame["method"] == method) & (frame["metric"] == "success")).any():
        return NONE
    steps, values = matrix(frame, "success", method, "PointMaze")
    means = dict(zip(steps.tolist(), values.mean(axis=0)))
    return [f"{means[step]:.2f}" if step in means else "-" for step in STEPS]


def wrong_rows(text: str, results: Results) -> list[tuple[str, str]]:
    """Rows that are not as they should be, or are not there though the paper shows the method."""
    rows = table(text)
    wrong = [(method, whose) for method in paper_values.CURVES["fig3"] for whose in ("paper", "ours")]
    wrong = [row for row in wrong if row not in rows]
    for (method, whose), cells in rows.items():
        if whose == "paper":
            expected = papers(method)
            right = cells == NONE if expected is None else "-" not in cells and [*map(float, cells)] == expected
        else:
            right = whose == "ours" and cells == ours(results, method)
        wrong += [] if right else [(method, whose)]
    return wrong


def test_the_table_holds_the_papers_numbers_and_ours():
    text, results = (ROOM / "README.md").read_text(), Results(ROOM / "evidence/results")
    assert wrong_rows(text, results) == []
    assert text.count("0.59 |") == 1 and wrong_rows(text.replace("0.59 |", "0.58 |"), results) == [("ppo-sr", "paper")]
    lines = text.splitlines()
    [place] = [i for i, line in enumerate(lines) if line.startswith("| PPO+SR | ours |")]
    lines[place] = lines[place][:-3] + "7 |"
    assert wrong_rows("\n".join(lines), results) == [("ppo-sr", "ours")]


# ---- the ant maze ----------------------------------------------------------------------------------------------------
ANT_STEPS = (16_000, 32_000, 48_000, 64_000, 80_000)


def ant_rows(results: Results) -> list[str]:
    """What the lines of the ant's table should be."""
    lines = []
    for method, rates in paper_values.ANT_CURVES.items():
        theirs = [rates[paper_values.ANT_EPISODES.index(step)] for step in ANT_STEPS]
        cells = [f"{rate:.2f}" if rate else "0" for rate in theirs]
        lines.append(f"| ant: {NAMES[method]} | paper | {' | '.join(cells)} |")
        try:
            steps, values = matrix(results.at("ant", "full"), "success", method, "AntMaze")
        except MissingData:
            cells = NONE
        else:
            means = dict(zip(steps.tolist(), values.mean(axis=0)))
            cells = [f"{means[step]:.2f}" if step in means else "-" for step in ANT_STEPS]
        lines.append(f"| ant: {NAMES[method]} | ours | {' | '.join(cells)} |")
    return lines


def test_the_ants_table_holds_the_papers_numbers_and_ours():
    lines = (ROOM / "README.md").read_text().splitlines()
    assert [line for line in lines if line.startswith("| ant: ")] == ant_rows(Results(ROOM / "evidence/results"))
