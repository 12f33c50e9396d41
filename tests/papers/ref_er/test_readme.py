"""Tables of README and NOTEBOOK, each against what it is about."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.judge.intervals import number
from lab.judge.results import MissingData, Results
from papers.ref_er.agents.advantages import Gaussian, Quadratic
from papers.ref_er.agents.tasks import TASKS
from papers.ref_er.evidence import paper_values
from papers.ref_er.evidence.claims_runs import ROOM as RUNS
from papers.ref_er.evidence.claims_runs import late, score
from papers.ref_er.evidence.experiments import EXPERIMENTS, entries_of
from papers.ref_er.evidence.figures import FIGURES
from papers.ref_er.evidence.paper_values import ACTIONS, FIG1, FIG4, NOISE
from tests.test_findings import NUMBER, returns, shown, spread

ROOM = Path(paper_values.__file__).parents[1]
README, NOTEBOOK = ((ROOM / name).read_text() for name in ("README.md", "NOTEBOOK.md"))
MAKEFILE = (ROOM.parents[1] / "Makefile").read_text()
NOT_RUN, NO_PART = "not run", "-"


def lines(*header: str, rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, *rows)).replace(
        "\n", "\n|" + "---|" * len(header) + "\n", 1
    )


def tasks_table() -> str:
    return lines(
        "task", "what differs from the paper's -v2", rows=[(name, task.differs) for name, task in TASKS.items()]
    )


def numbers_table(results: Results) -> str:
    """The paper's numbers beside ours."""

    def divergence(env: str) -> str:
        """Of DDPG with plain replay at the end of runs as long as the paper's."""
        try:
            runs = RUNS.runs(results, FIG1)
            if runs.scale == "full" and runs.steps(env, "ddpg er") >= paper_values.STEPS:
                return number(float(late("kl")(runs, "ddpg er", env).mean()))
        except MissingData:
            pass
        return NOT_RUN

    rows = []
    for env, largest in paper_values.DDPG_MAX_KL.items():
        what = f"largest divergence that DDPG can have, {env.removesuffix('-v5')}"
        rows.append((what, f"{largest:g}", f"{2 * ACTIONS[env] / NOISE**2:g}"))
    for env, level in paper_values.DDPG_ER_KL.items():
        what = f"divergence of DDPG with plain replay, {env.removesuffix('-v5')}, 10 million steps"
        rows.append((what, f"around {level:g}", divergence(env)))
    for name, advantage, n in (("quadratic", Quadratic(), 153), ("Gaussian", Gaussian(), 35)):
        rows.append((f"coefficients of the {name} advantage, Humanoid", f"{n}", f"{advantage.n_outputs(17)}"))
    return lines("quantity", "paper", "ours", rows=rows)


def scores_table(results: Results) -> str:
    """Mean scores at quick, of the runs that there are."""
    grid = {name: entries_of(name, "quick") for name in (FIG1, "fig3", FIG4)}
    seeds = {(entry.method, entry.env): entry.seed + 1 for entries in grid.values() for entry in entries}
    tasks = list(dict.fromkeys(env for _, env in seeds))

    def cell(experiment: str, method: str, env: str) -> str:
        if (method, env) not in seeds:
            return NO_PART
        try:
            scores = score(RUNS.runs(Results(results.root, ("quick",)), experiment), method, env)
        except MissingData:
            return NOT_RUN
        few = f" ({len(scores)} of {seeds[method, env]} seeds)" if len(scores) < seeds[method, env] else ""
        return number(float(scores.mean())) + few

    rows = []
    for experiment, entries in grid.items():
        for method in dict.fromkeys(entry.method for entry in entries):
            rows.append((method, *(cell(experiment, method, env) for env in tasks)))
    return lines("method", *tasks, rows=rows)


def settings_table(results: Results) -> str:
    """Mean scores at quick with one setting of V-RACER changed."""
    runs = RUNS.runs(Results(results.root, ("quick",)), "+".join(FIGURES["fig7"].experiments))
    tasks = list(dict.fromkeys(env for _, env in runs.groups))
    rows = []
    for method in sorted(dict.fromkeys(method for method, _ in runs.groups)):
        setting = method.removeprefix("vracer refer").strip(" ()") or "the defaults"
        scores = [score(runs, method, env).mean() if (method, env) in runs.groups else None for env in tasks]
        rows.append((setting, *(NO_PART if one is None else number(float(one)) for one in scores)))
    return lines("setting", *tasks, rows=rows)


def the_table(text: str, header: str) -> str:
    """The table of `text` whose first line begins with `header`."""
    found = re.findall(rf"(?m)^{re.escape(header)}.*(?:\n\|.*)+", text)
    assert len(found) == 1, f"{len(found)} tables begin with {header}"
    return found[0]


@pytest.mark.parametrize("make", [tasks_table, numbers_table, scores_table, settings_table])
def test_tables_are_current(make):
    expected = make() if make is tasks_table else make(Results(ROOM / "evidence/results"))
    header = expected.splitlines()[0]
    assert the_table(NOTEBOOK, header[: header.index("|", 2) + 1]) == expected, (
        f"put this into NOTEBOOK.md:\n{expected}"
    )


def test_numbers_of_runs():
    """In the table of targets: minutes as `make` has them, and runs of each figure's experiments at quick and full."""
    rows = re.findall(r"(?m)^\| `ref-er-([\w-]+)`.*\| (\d+) \| (\d+) \| (\d+) \|$", README)
    experiments = {name: FIGURES[name].experiments for name, *_ in rows}
    assert [one for of_it in experiments.values() for one in of_it] == list(EXPERIMENTS)
    for name, minutes, *counts in rows:
        assert re.search(rf"(?m)^ref-er-{name}: *## *{minutes} \|", MAKEFILE), name
        found = [len(entries_of("+".join(experiments[name]), scale)) for scale in ("quick", "full")]
        assert [int(count) for count in counts] == found, name


def test_deviations_are_numbered_and_referred_to():
    numbers = [int(n) for n in re.findall(r"(?m)^(\d+)\. \*\*", NOTEBOOK)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {int(n) for n in re.findall(r"deviation (\d+)", README + NOTEBOOK)} <= set(numbers)
    assert f"All {len(numbers)} deviations" in README


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 150


def what_came_out() -> Iterator[float]:
    """The numbers of that section, in the order of its text."""
    cheetah, walker = "HalfCheetah-v5", "Walker2d-v5"

    def end(experiment: str, *methods: str, env: str = cheetah) -> Iterator[float]:
        return (returns(experiment)[1](method, env).mean() for method in methods)

    usual = next(end("fig4", "vracer refer"))
    yield from (1, usual, *end("fig4-others", "ppo"))
    yield from (2, 2, 1, 3, 2, *end("fig4-rules", "vracer refer-2"))
    yield from (4, quick(EXPERIMENTS["fig4"]).tolerance, 2)
    yield from (5, *end("fig3", "naf refer", "naf er"), 6, *end("fig1", "ddpg refer", "ddpg er", env=walker))
    free, white = (returns("own-annealing")[1](f"ddpg {one}", cheetah) for one in ("refer (A 0)", "er (white noise)"))
    yield from (7, free.mean(), white.mean(), *spread(free, white))
    yield from (8, usual, *end("fig7-updates", "vracer refer (F 0.2)", "vracer refer (lr 0.0003)"))
    acer = [end("fig4-others", f"acer (lr {lr})") for lr in ("0.0001", "1e-05")]
    yield from (9, 10, *acer[0], *acer[1], 10, 6, quick(EXPERIMENTS["fig6"]).steps)


def quick(experiment: Any) -> Any:
    """The settings of an experiment's first run."""
    return experiment("quick")[0].config


def test_every_number_of_what_came_out_is_that_of_the_committed_runs():
    text = README.partition("## What came out\n")[2].partition("\n![")[0].partition("\n1. ")[2]
    found = NUMBER.findall(re.sub(r"\d+e-\d+", "", "1. " + text))
    assert found == shown(list(what_came_out()), found)
