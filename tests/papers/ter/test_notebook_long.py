"""NOTEBOOK.md: every number of what came out at `long` is that of the committed runs."""

from collections.abc import Iterator

import pytest

from lab.judge.scores import Runs
from lab.rooms import ROOT
from tests.papers.ter.test_readme import BASELINES, TER
from tests.test_findings import NUMBER, at_most, read, shown, spread
from tests.test_readme import CROSSING, HARD, LAVA, RELEASED, SOKOBAN, peaks, verdict

NOTEBOOK = (ROOT / "papers/ter/NOTEBOOK.md").read_text()
MINIGRID = (CROSSING, HARD, LAVA)
TASKS = {"fig3a": (MINIGRID, TER), "fig3b": ((*SOKOBAN, "6x6-2", "7x7-2"), ("ter",))}


def lead(runs: Runs, env: str, method: str, over: str) -> tuple[float, float, float]:
    """By how much a method is ahead over training."""
    return spread(*(runs.area("normalized_return", one, env) for one in (method, over)), paired=True)


def row(runs: Runs, env: str, forms: tuple[str, ...]) -> str:
    """Percent of the levels in the last six evaluations, and the leads of TER's forms over UER."""
    ends = [f"{100 * runs.last('success', one, env, 6).mean():.1f}" for one in (*BASELINES, *forms)]
    leads = ["{:+.3f} [{:.3f}, {:.3f}]".format(*lead(runs, env, one, "uer")) for one in forms]
    return f"| {' | '.join((env, *ends, *leads))} |"


def minigrid(runs: Runs) -> Iterator[float]:
    ahead = {(form, one, env): lead(runs, env, form, one) for env in MINIGRID for form in TER for one in BASELINES}
    clear = [(RELEASED, "ebu", env) for env in (CROSSING, HARD)] + [(RELEASED, "discor", env) for env in (LAVA, HARD)]
    only = [("ter", "ebu", CROSSING), (RELEASED, "uer", HARD)]
    assert {side for side, (_, low, _) in ahead.items() if low > 0} == {*clear, *only}
    yield from (1, *(ahead[side][0] for side in clear), ahead[clear[-1]][1])
    per = [ahead[RELEASED, "per", env] for env in MINIGRID]
    yield from (*(lead for lead, *_ in per), *(end for _, *ends in per for end in ends))
    [behind] = [side for side, (_, _, high) in ahead.items() if high < 0]
    assert behind == ("ter", "per", HARD)
    yield from (3, ahead[only[0]][0], *ahead[behind])
    for form, decided in ("-released", "r" * 12), ("", "iirriiririir"):
        found = [verdict("ter", f"fig3a-{env.lower()}{form}") for env in MINIGRID]
        assert "".join(part.status[0] for one in found for part in one.parts.values()) == decided


def sokoban(runs: Runs) -> Iterator[float]:
    curves = {(one, env): runs.curve("success", one, env) for one in BASELINES for env in ("7x7-1", "6x6-2")}
    best = [steps[values.mean(axis=0).argmax()] for steps, values in curves.values()]
    early = [100 * values.mean(axis=0).max() for _, values in curves.values()]
    yield from (min(best), max(best), min(early[::2]), max(early[::2]), min(early[1::2]), max(early[1::2]), 5)
    first, second, *rest = sorted(100 * runs.last("success", "ter", "6x6-2", 6), reverse=True)
    yield from (first, second, at_most(max(rest), 4))
    most = peaks(runs, "7x7-2", *BASELINES, "ter")
    yield at_most(max(most), 5)
    yield from (100 * runs.first("success", "ter", "7x7-2").mean(), min(most), max(most), 5)


@pytest.mark.parametrize(("figure", "numbers"), [("fig3a", minigrid), ("fig3b", sokoban)])
def test_its_table_and_every_number_below_are_those_of_the_committed_runs(figure, numbers):
    runs, (tasks, forms) = read("ter", figure, "long"), TASKS[figure]
    assert {env for _, env in runs.groups} == {*tasks}
    _, table, text = NOTEBOOK.partition("\n" + "\n".join(row(runs, env, forms) for env in tasks) + "\n\n")
    found = NUMBER.findall(text.partition("\n\n![")[0])
    assert table and found == shown(list(numbers(runs)), found)
