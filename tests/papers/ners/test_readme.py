"""The README's tables, each against what it is about."""

import re
from pathlib import Path

from lab.claims import number
from lab.results import MissingData, Results
from papers.ners import td3
from papers.ners.evidence import paper_values
from papers.ners.evidence.claims_runs import Runs
from papers.ners.evidence.experiments import EXPERIMENTS
from papers.ners.tasks import TASKS

ROOM = Path(paper_values.__file__).parents[1]
TEXT = (ROOM / "README.md").read_text()
FIGURES = ("fig3", "table1", "table2")


def lines(*header: str, rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, *rows]).replace(
        "\n", "\n|" + "---|" * len(header) + "\n", 1
    )


def scores_table(results: Results) -> str:
    """Mean scores at quick, of every agent and task that quick has."""
    rows = []
    for experiment in FIGURES:
        entries = EXPERIMENTS[experiment]("quick")
        for agent, env in dict.fromkeys((entry.method.split()[0], entry.env) for entry in entries):
            row = [f"{agent} {env}"]
            for sampler in paper_values.SAMPLERS:
                try:
                    scores = Runs(results.at(experiment, "quick"), "quick").score(f"{agent} {sampler}", env)
                    row.append(f"{number(float(scores.mean()))} ({len(scores)})")
                except MissingData:
                    row.append("not run")
            rows.append(tuple(row))
    return lines("agent and task", *paper_values.SAMPLERS, rows=rows)


def law_table(results: Results) -> str:
    """Mean total variation of the sampling laws from uniform at the end of the same runs."""
    rows = []
    for experiment in FIGURES:
        entries = EXPERIMENTS[experiment]("quick")
        for agent, env in dict.fromkeys((entry.method.split()[0], entry.env) for entry in entries):
            row = [f"{agent} {env}"]
            for sampler in paper_values.SAMPLERS:
                try:
                    found = Runs(results.at(experiment, "quick"), "quick").late("tv", f"{agent} {sampler}", env)
                    row.append(f"{float(found.mean()):.4f}")
                except MissingData:
                    row.append("not run")
            rows.append(tuple(row))
    return lines("agent and task", *paper_values.SAMPLERS, rows=rows)


def test_the_tables_of_results_are_those_of_the_committed_data():
    results = Results(ROOM / "evidence/results")
    assert scores_table(results) in TEXT
    assert law_table(results) in TEXT


def test_the_table_of_tasks():
    table = lines("task", "what differs from the paper's", rows=list(TASKS.items()))
    assert table in TEXT


def test_the_table_of_targets_counts_the_runs():
    counts = {name: [len(make(scale)) for scale in ("quick", "full")] for name, make in EXPERIMENTS.items()}
    parts = {"fig5": ("fig3", "table1"), "own-law": ("fig3", "table1", "table2")}
    for name, of in parts.items():
        counts[name] = [sum(counts[part][k] for part in of) for k in range(2)]
    for name, (quick, full) in counts.items():
        row = re.search(rf"^\| `ners-{name}`.*\| ([\d,]+) \| ([\d,]+) \|$", TEXT, re.M)
        assert row and (row[1], row[2]) == (f"{quick:,}", f"{full:,}"), name


def test_the_learning_rate_of_td3_is_the_one_that_is_said():
    assert td3.LR == 1e-3
    assert "**TD3's learning rate** is 1e-3" in TEXT
