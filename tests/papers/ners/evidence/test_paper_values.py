"""The paper's tables: the margins that it prints in brackets follow from its columns."""

import pytest

from papers.ners.evidence.paper_values import TABLE1, TABLE2, margin

BRACKETS1 = (677.81, 378.62, 451.92, 678.20, 323.12, 354.18)
BRACKETS2 = (
    281.16, 18.85, 26.46, 80.90, 1500.19, 4.83, 125.87, 0.12, 280.88, 2971.23, 432.45, 0.26, 13.16, 136.34, 2596.17,
    30.52,
)  # fmt: skip


@pytest.mark.parametrize(("table", "brackets"), [(TABLE1, BRACKETS1), (TABLE2, BRACKETS2)])
def test_margins_are_those_in_brackets(table, brackets):
    assert [round(margin(row), 2) for row in table.values()] == list(brackets)
