"""The tables of README and NOTEBOOK, each against what it is about."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from lab.judge.comparisons import Runs
from lab.judge.intervals import MARGIN, number
from lab.judge.results import MissingData, Results
from papers.ners.agents.tasks import TASKS
from papers.ners.evidence import claims_law, claims_runs, paper_values, plan
from papers.ners.evidence.experiments import EXPERIMENTS
from tests.test_findings import NUMBER, at_most, read, shown, spread

ROOM = Path(paper_values.__file__).parents[1]
README, NOTEBOOK = ((ROOM / name).read_text() for name in ("README.md", "NOTEBOOK.md"))
FIGURES = ("fig3", "table1", "table2")


def lines(*header: str, rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, *rows]).replace(
        "\n", "\n|" + "---|" * len(header) + "\n", 1
    )


def table(cell: Callable[[Runs, str, str], str]) -> str:
    """What `cell` says of every agent and task that quick has, with every sampler."""
    rows, results = [], Results(ROOM / "evidence/results", ("quick",))
    for experiment in FIGURES:
        for agent, env in plan.cells(experiment, "quick"):
            row = [f"{agent} {env}"]
            for sampler in paper_values.SAMPLERS:
                try:
                    runs = claims_runs.ROOM.runs(results, plan.read_as(experiment))
                    row.append(cell(runs, f"{agent} {sampler}", env))
                except MissingData:
                    row.append("not run")
            rows.append(tuple(row))
    return lines("agent and task", *paper_values.SAMPLERS, rows=rows)


def score(runs: Runs, method: str, env: str) -> str:
    found = claims_runs.score(runs, method, env)
    return f"{number(float(found.mean()))} ({len(found)})"


def distance(runs: Runs, method: str, env: str) -> str:
    return f"{float(claims_runs.late('tv')(runs, method, env).mean()):.4f}"


def test_the_tables_of_results_are_those_of_the_committed_data():
    assert table(score) in NOTEBOOK
    assert table(distance) in NOTEBOOK


def test_td3_learns_nothing_at_the_printed_rate():
    """What README and ERRATA.md say of 5e-3, against the default, on the sparse pendulum."""
    runs = claims_runs.ROOM.runs(Results(ROOM / "evidence/results", ("quick",)), "own-td3-lr")
    printed, ours = (claims_runs.score(runs, f"td3 lr {lr}", "SparsePendulum") for lr in ("0.005", "0.001"))
    assert len(printed) == 5 and printed.max() < 2 and ours.min() > 160


def test_the_table_of_tasks():
    table = lines("task", "what differs from the paper's", rows=list(TASKS.items()))
    assert table in NOTEBOOK


def test_the_table_of_targets_counts_minutes_and_runs():
    runs = lambda name, scale: sum(len(EXPERIMENTS[part](scale)) for part in plan.files(name))  # noqa: E731
    counts = {name: [runs(name, scale) for scale in ("quick", "full")] for name in plan.PLANS}
    parts = {"fig5": ("fig3", "table1"), "own-distance": ("fig3", "table1", "table2")}
    for name, of in parts.items():
        counts[name] = [sum(counts[part][k] for part in of) for k in range(2)]
    for name, (quick, full) in counts.items():
        row = re.search(rf"^\| `ners-{name}`.*\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", README, re.M)
        minutes = re.search(rf"^ners-{name}: +## +(\d+) ", (ROOM.parents[1] / "Makefile").read_text(), re.M)
        assert row and minutes and row.groups() == (minutes[1], f"{quick:,}", f"{full:,}"), name


def what_came_out() -> Iterator[float]:
    """The numbers of that section, in the order of its text."""
    results, task = Results(ROOM / "evidence/results", ("quick",)), "SparsePendulum"
    runs = claims_runs.ROOM.runs(results, plan.read_as("fig3"))

    def law(metric: str, *methods: str) -> float:
        return np.mean([claims_runs.late(metric)(runs, method, task).mean() for method in methods])

    def less_random(agent: str, sampler: str) -> tuple[float, float, float]:
        return spread(*(claims_runs.score(runs, f"{agent} {one}", task) for one in (sampler, "random")), paired=True)

    yield from (law(metric, "sac ners", "td3 ners") for metric in ("tv", "tv_replayed"))
    alone = [read("ners", "own-why", scale) for scale in ("quick", "full")]
    shares, steps = ([np.concatenate([one.last("tv_replayed", f"none {time} signs", task) for one in alone])
                      for time in ("share", "environment")])  # fmt: skip
    yield from (alone[0].steps(task), at_most(100 * shares.max(), 0.2))
    left = steps[steps > 0.02]
    assert len(shares) == len(steps) == 8 and len(left) == 3
    scores = np.concatenate([one.last("score", "none environment signs", task) for one in alone])
    yield from (left.min(), left.max(), scores[steps <= 0.02].min())
    yield from (len(runs.seeds("sac ners", task)), *less_random("sac", "ners")[:1], 95, *less_random("sac", "ners")[1:])
    yield from (*less_random("td3", "ners"), 100 * MARGIN)
    yield from (law("tv", "sac per", "td3 per"), *less_random("sac", "per"), *less_random("td3", "per"))
    drawn = read("ners", "fig1", "full")
    yield 1
    for rule, kind in (("td", "downward"), ("uniform", "downward"), ("q", "upright"), ("uniform", "upright")):
        yield 100 * claims_law.share(rule, kind)(drawn, "sac random", "Pendulum-v1").mean()
    squares, place = read("ners", "table3", "full"), claims_law.STATISTICS.index("mean TD²")
    yield from (3, paper_values.TABLE3["random"][place])
    for method in ("sac random terminal", "sac random"):
        yield claims_law.replayed(squares.rows(method, "Pendulum-v1"))[:, place].mean()
    ends = claims_runs.score(claims_runs.ROOM.runs(results, "own-td3-lr"), "td3 lr 0.001", task)
    yield from (ends.min(), ends.max())


def test_every_number_of_what_came_out_is_that_of_the_committed_runs():
    found = NUMBER.findall(README.partition("## What came out\n")[2].partition("\n![")[0])
    assert found == shown(list(what_came_out()), found)
