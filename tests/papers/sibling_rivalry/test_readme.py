"""The README's table of the point maze: the paper's success rates beside ours."""

from pathlib import Path

import numpy as np
import pytest

from lab.results import Results, matrix
from papers.sibling_rivalry.evidence import paper_values
from papers.sibling_rivalry.evidence.figures import NAMES
from tests.papers.sibling_rivalry.evidence.synthetic import write

ROOM = Path(paper_values.__file__).parents[1]
HEADER = "| method | whose | 40k | 80k | 120k | 160k | 200k |"
STEPS = (40_000, 80_000, 120_000, 160_000, 200_000)
NONE = ["-"] * len(STEPS)


def table(text: str) -> dict[tuple[str, str], list[str]]:
    """Rows of the table: (method, "paper" or "ours") -> cells. Empty without such a table."""
    lines = text.splitlines()
    if HEADER not in lines:
        return {}
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
    frame = results.at("maze", "full")
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
    text = (ROOM / "README.md").read_text()
    if not table(text) or not (ROOM / "evidence/results/full/maze.csv").exists():
        pytest.skip("no table, or no results of the full scale, yet")
    assert wrong_rows(text, Results(ROOM / "evidence/results")) == []


# ---- the test itself -------------------------------------------------------------------------------------------------

RIGHT = f"""\
Some text.

{HEADER}
|---|---|---|---|---|---|---|
| PPO | paper | 0 | 0 | 0 | 0 | 0 |
| PPO | ours | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 |
| **PPO+SR** | paper | .07 | .59 | .86 | .92 | .96 |
| **PPO+SR** | ours | 0.00 | 0.40 | 0.80 | 0.80 | 0.80 |
| `ppo-icm` | paper | 0 | 0 | 0 | 0.01 | 0.17 |
| `ppo-icm` | ours | - | - | - | - | - |
| PPO+RND | paper | - | - | - | - | - |
| DDPG+HER | paper | 0 | 0 | 0 | 0.19 | 0.20 |
| DDPG+HER | ours | 0.00 | 0.10 | 0.20 | 0.20 | 0.20 |

| another | table |
"""


@pytest.fixture
def results(tmp_path):
    rates = {"ppo-sr": 0.8, "ddpg-her": (0, 0, 1.0, 0, 0)}
    write(
        tmp_path, "maze", "full", lambda method, env: rates.get(method, 0.0),
        keep=lambda method, env, seed: method != "ppo-icm",
    )  # fmt: skip
    return Results(tmp_path)


def test_a_right_table_is_right(results):
    assert len(table(RIGHT)) == 9 and wrong_rows(RIGHT, results) == []
    assert ours(results, "ppo-sr") == ["0.00", "0.40", "0.80", "0.80", "0.80"] and ours(results, "ppo-icm") == NONE
    np.testing.assert_array_equal(papers("ppo-sr"), [0.07, 0.59, 0.86, 0.92, 0.96])


@pytest.mark.parametrize(
    ("old", "new", "row"),
    [
        ("| paper | .07 |", "| paper | .08 |", ("ppo-sr", "paper")),
        ("| 0.40 |", "| 0.41 |", ("ppo-sr", "ours")),
        ("| 0.40 |", "| 0.4 |", ("ppo-sr", "ours")),
        ("| 0.01 | 0.17 |", "| - | 0.17 |", ("ppo-icm", "paper")),
        ("`ppo-icm` | ours | - |", "`ppo-icm` | ours | 0.00 |", ("ppo-icm", "ours")),
        ("| PPO+RND | paper | - |", "| PPO+RND | paper | 0 |", ("ppo-rnd", "paper")),
        ("| PPO | ours | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 |\n", "", ("ppo", "ours")),
        ("| PPO | ours |", "| PPO | whose |", ("ppo", "whose")),
    ],
)
def test_what_is_wrong_is_found(old, new, row, results):
    assert RIGHT.count(old) == 1
    assert row in wrong_rows(RIGHT.replace(old, new), results)


def test_without_the_table_there_is_nothing_to_check():
    assert table(RIGHT.replace("40k", "41k")) == {}
