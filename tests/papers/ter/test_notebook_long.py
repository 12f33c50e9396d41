"""NOTEBOOK.md: every number of what came out at `long` is that of the committed runs."""

from collections.abc import Iterator

import pytest

from lab.judge.intervals import Estimate, above, difference, p_value
from lab.judge.scores import Runs
from lab.judge.verdicts import false_discovery_threshold
from lab.rooms import ROOT
from tests.papers.ter.test_readme import BASELINES, TER
from tests.test_findings import NUMBER, at_most, read, shown
from tests.test_readme import CROSSING, DOOR, HARD, LAVA, LAVA_HARD, RELEASED, SOKOBAN, peaks, verdict

NOTEBOOK = (ROOT / "papers/ter/NOTEBOOK.md").read_text()
MINIGRID = (CROSSING, HARD, LAVA, LAVA_HARD, DOOR)
TASKS = {"fig3a": (MINIGRID, TER), "fig3b": ((*SOKOBAN, "6x6-2", "7x7-2"), ("ter",))}


def estimate(runs: Runs, env: str, method: str, over: str) -> Estimate:
    """By how much a method is ahead over training."""
    return difference(*(runs.area("normalized_return", one, env) for one in (method, over)), paired=True)


def lead(runs: Runs, env: str, method: str, over: str) -> tuple[float, float, float]:
    """The same as a number and its interval."""
    found = estimate(runs, env, method, over)
    return found.value, *found.interval()


def row(runs: Runs, env: str, forms: tuple[str, ...]) -> str:
    """Percent of the levels in the last six evaluations, and the leads of TER's forms over UER."""
    ends = [f"{100 * runs.last('success', one, env, 6).mean():.1f}" for one in (*BASELINES, *forms)]
    leads = ["{:+.3f} [{:.3f}, {:.3f}]".format(*lead(runs, env, one, "uer")) for one in forms]
    return f"| {' | '.join((env, *ends, *leads))} |"


def minigrid(runs: Runs) -> Iterator[float]:
    ahead = {(form, one, env): lead(runs, env, form, one) for env in MINIGRID for form in TER for one in BASELINES}
    clear = [(RELEASED, "ebu", env) for env in (CROSSING, HARD)]
    lost = [(RELEASED, "discor", LAVA), (RELEASED, "discor", HARD), ("ter", "ebu", CROSSING), ("ter", "per", HARD)]
    lost += [("ter", "uer", LAVA_HARD)]
    door = {form: [(form, one, DOOR) for one in BASELINES] for form in TER}
    p = {side: p_value(estimate(runs, side[2], *side[:2]), above()) for side in ahead}
    assert {side for side in p if p[side] <= false_discovery_threshold(p.values())} == {*clear}
    assert {side for side in p if p[side] <= 0.05} == {
        *clear, *lost, (RELEASED, "uer", HARD), *door[RELEASED], *door["ter"][2:]
    }  # fmt: skip
    solved = {one: (runs.last("success", one, DOOR, 6) > 0.5).sum() for one in (RELEASED, *BASELINES)}
    assert solved == {RELEASED: 4, "uer": 1, "per": 0, "ebu": 0, "discor": 0}
    yield from (1, *(ahead[side][0] for side in (*clear, *door[RELEASED])), 3)
    yield from (1, *(ahead[side][0] for side in lost[:2]), 3, *(ahead[side][0] for side in (lost[2], *door["ter"][2:])))
    yield from (3, *(-ahead[side][0] for side in lost[3:]), len(p), 5)
    per = [ahead[RELEASED, "per", env] for env in MINIGRID if env != DOOR]
    yield from (1, *(gain for gain, *_ in per), *(end for _, *ends in per for end in ends))
    for form, decided in ("-released", "r" * 20), ("", "iirriiririirrrrrirrr"):
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
