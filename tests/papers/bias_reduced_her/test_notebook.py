"""NOTEBOOK.md: every number of the findings is that of the committed runs."""

import functools
import json
import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from lab.judge.comparisons import Runs
from lab.judge.intervals import difference, mean_of
from lab.judge.results import Results
from lab.rooms import ROOT
from papers.bias_reduced_her.evidence.claims import ON_THE_FLOOR, excess, floor_goals
from papers.bias_reduced_her.evidence.claims_bitflip import FLIPS, TIMEOUT
from papers.bias_reduced_her.evidence.claims_runs import LAST, NEAR_ZERO, ROOM, TASKS
from papers.bias_reduced_her.evidence.labels import READINGS, SIGMA2
from papers.bias_reduced_her.train import Config
from tests.papers.bias_reduced_her.test_readme import COLUMNS, both
from tests.test_findings import NUMBER, at_most, shown, spread

DATA = ROOT / "papers/bias_reduced_her/evidence/results"
TEXT = (ROOT / "papers/bias_reduced_her/NOTEBOOK.md").read_text().partition("\n## Findings\n")[2].partition("\n## ")[0]
NAME = re.compile(r"!\[.*|`[^`]*`|\]\(\S*|\b(?:Sec\.|Algorithm|deviation) [\d.]+")
"""Its numbers are not results."""
LIMIT = float(re.findall(r"p up to ([\d.]+)", (ROOT / "RESULTS.md").read_text())[0])
"""p value up to which a comparison survives the correction for many of them."""
EPOCH = Config().cycles * Config().episodes
HER, FILTERED, THINNED, NONE, IBS = "her", "filtered-her", "her-thinned", "none", "filtered-her-ibs"
BOOT, PENALTY, PUSH = " (bootstrapped)", " (penalty 1)", "FetchPush"
PAIR = (HER, FILTERED)


@functools.cache
def read(experiment: str, scale: str = "quick") -> Runs:
    return ROOM.runs(Results(DATA, (scale,)), experiment)


def runs(task: str, scale: str = "full") -> Runs:
    parts = ["training", "controls", "bootstrapped", "bootstrapped-ibs"][: 2 if scale == "quick" or "W" in task else 4]
    return read("+".join(f"{part}-{task.lower()}" for part in parts), scale)


def rate(found: Runs, method: str, task: str = "Hand", seeds: int = 99) -> float:
    """Mean success over training of the first seeds."""
    return found.curve("success", method, task)[1][:seeds].mean()


def fifths(found: Runs, method: str, task: str) -> np.ndarray:
    """Success in the last fifth of training (runs,)."""
    values = found.curve("success", method, task)[1]
    return values[:, -(values.shape[1] // 5) :].mean(axis=1)


def end(found: Runs, method: str, task: str = "Hand", metric: str = "bias") -> float:
    return found.last(metric, method, task, LAST).mean()


def gap(found: Runs, x: str, y: str, task: str = "Hand", metric: str = "success", last: bool = False) -> tuple:
    """x's lead over y with its interval, over training or at the end, for the seeds that both have."""
    sides = [(x, task), (y, task)]
    values = [found.last(metric, *side, LAST) if last else found.area(metric, *side) for side in sides]
    return spread(*found.common(values, sides), paired=True)


def never(found: Runs, method: str, task: str) -> np.ndarray:
    """Which runs succeed in no evaluation (runs,)."""
    return found.curve("success", method, task)[1].max(axis=1) == 0


# ---- the numbers of each section, in the order of its text -----------------------------------------------------------
def findings() -> Iterator[float]:
    full, quick = (runs("HandWall", scale) for scale in ("full", "quick"))
    seeds = [quick.seeds(method, "HandWall") for method in (HER, NONE)]
    for method in COLUMNS:
        values = quick.curve("success", method, "HandWall")[1]
        assert (values == full.curve("success", method, "HandWall")[1][: len(values)]).all()
        assert {len(runs(task).seeds(method, task)) for task in TASKS} == {15}
    assert [len(one) for one in seeds] == [10, 5]
    yield from (full.steps("HandWall") / EPOCH, 15, quick.steps("HandWall") / EPOCH)
    yield from (seed for one in seeds for seed in (one[0], one[-1]))


def success_of_the_four_methods() -> Iterator[float]:
    for task in TASKS:
        yield from (rate(runs(task, "quick"), method, task) for method in COLUMNS[:-1])
        assert all(gap(runs(task, "quick"), one, HER, task)[1] > 0 > gap(runs(task, "quick"), IBS, FILTERED, task)[1]
                   for one in (FILTERED, THINNED))  # fmt: skip
    hand, robot, quick = runs("Hand"), runs("Robot"), runs("Hand", "quick")
    assert gap(hand, FILTERED, HER)[1] > 0 and gap(robot, FILTERED, HER, "Robot")[1] > 0
    yield from (*gap(robot, FILTERED, HER, "Robot", last=True), *gap(hand, FILTERED, THINNED))
    for sides in (
        [robot.last("success", one, "Robot", LAST) for one in (FILTERED, HER)],
        [hand.area("success", one, "Hand") for one in (FILTERED, THINNED)],
    ):
        assert difference(*sides, paired=True).interval(1 - LIMIT)[0] < 0
    assert gap(robot, FILTERED, THINNED, "Robot")[0] < 0 < gap(robot, FILTERED, THINNED, "Robot")[2]
    assert gap(hand, IBS, FILTERED)[1] > 0 > gap(robot, IBS, FILTERED, "Robot")[1]
    assert gap(robot, "her-ibs", HER, "Robot")[1] > 0 and abs(gap(robot, "her-ibs", FILTERED, "Robot")[0]) < 0.01
    yield quick.steps("Hand") / EPOCH
    yield -at_most(-sorted(fifths(hand, IBS, "Hand"))[-3], -0.6)
    learned = ~never(robot, HER, "Robot")
    assert never(hand, "her-ibs", "Hand").sum() == 1 and learned.sum() == 13
    plain, kept = (robot.curve("success", one, "Robot")[1][learned].mean() for one in PAIR)
    yield from (plain, kept - plain)
    failed, stored = never(quick, IBS, "Hand"), quick.last("virtual_per_step", IBS, "Hand")
    assert failed.sum() == 1
    yield from (stored[failed].mean(), stored[~failed].mean())


def no_hindsight_at_all() -> Iterator[float]:
    hand, robot, quick = runs("Hand"), runs("Robot"), runs("Hand", "quick")
    others = [robot.area("success", *side) for side in robot.groups if side[0] != NONE]
    assert len(others) == 10 and (robot.area("success", NONE, "Robot") > np.max(others, axis=0)).all()
    assert gap(hand, FILTERED, NONE)[1] > 0
    yield from (rate(hand, NONE), rate(hand, FILTERED), len(hand.seeds(NONE, "Hand")))
    failed = never(hand, NONE, "Hand")
    assert failed.sum() == 5 and never(quick, NONE, "Hand").sum() == 1
    learned = hand.curve("success", NONE, "Hand")[1][~failed].mean(axis=1)
    yield from (learned.min(), learned.max(), rate(quick, NONE), rate(runs("Robot", "quick"), NONE, "Robot"))


def handwall_is_not_learned() -> Iterator[float]:
    ends = {method: fifths(runs("HandWall"), method, "HandWall") for method in COLUMNS}
    yield from (runs("HandWall").steps("HandWall") / EPOCH, max(one.mean() for one in ends.values()))
    every = np.concatenate(list(ends.values()))
    assert (every > NEAR_ZERO).sum() == 2
    yield from (len(every), NEAR_ZERO, ends[IBS].max(), ends[THINNED].max(), ends[HER].max(), ends[FILTERED].min())
    assert round(1 / ends[FILTERED].mean(), -1) == 60


def bootstrapped_virtual_successes() -> Iterator[float]:
    her, filtered, thinned, ibs = (f"{one}{BOOT}" for one in (HER, FILTERED, THINNED, IBS))
    yield len(runs("Hand").seeds(her, "Hand"))
    for task in ("Hand", "Robot"):
        for method in COLUMNS[:-1]:
            yield from both(runs(task), f"{method}{BOOT}", task)
    yield runs("Hand").curve("success", her, "Hand")[1].mean(axis=0).max()
    hand, robot = (mean_of(runs(task).last("success", her, task, LAST)) for task in ("Hand", "Robot"))
    assert hand.interval()[1] < NEAR_ZERO
    yield from (robot.value, *robot.interval(), NEAR_ZERO)
    for task in ("Hand", "Robot"):
        yield from gap(runs(task), filtered, thinned, task)
        assert gap(runs(task), thinned, her, task)[1] > 0 > gap(runs(task), ibs, filtered, task)[1]
        assert (gap(runs(task), f"her-ibs{BOOT}", her, task)[1] > 0) == (task == "Robot")


def where_the_filter_matters_more() -> Iterator[float]:
    found = read("own-her+training-hand")
    seeds = len(found.seeds(f"{HER}{BOOT}", "Hand"))
    assert seeds == 5
    for how in ("", " (uniform replay)", BOOT):
        yield from (rate(found, f"{one}{how}", seeds=seeds) for one in PAIR)
    yield from (end(of, f"{one}{BOOT}") for of in (found, runs("Hand")) for one in (FILTERED, HER))
    assert gap(runs("Hand"), f"{HER}{BOOT}", f"{FILTERED}{BOOT}", metric="bias", last=True)[1] < 0
    yield rate(found, f"{FILTERED} (drawn again)")
    low, high = gap(found, FILTERED, f"{FILTERED} (drawn again)")[1:]
    assert low < 0 < high


def a_penalty_on_large_actions() -> Iterator[float]:
    found, with_it, plain = read("own-penalty"), f"{FILTERED}{PENALTY}", f"{HER}{PENALTY}"
    for task in ("Hand", "Robot", "HandWall"):
        yield from (rate(found, one, task) for one in (with_it, plain))
        assert (found.area("success", with_it, task) > found.area("success", plain, task)).sum() == 5
        assert (gap(found, with_it, plain, task, last=True)[1] > 0) == (task == "Hand")
    for task in ("HandWall", "Robot"):
        ends = fifths(found, with_it, task).mean(), fifths(runs(task, "quick"), FILTERED, task)[:5].mean()
        assert (round(ends[0] / ends[1]) == 4) == (task == "HandWall")
        yield from ends


def where_virtual_goals_lie() -> Iterator[float]:
    for task, how in (*((task, "") for task in TASKS), ("Hand", BOOT), ("Robot", BOOT)):
        found, (her, her_ibs, filtered, ibs) = runs(task), [f"{one}{how}" for one in COLUMNS[:4]]
        for x, y in ((her, filtered), (her_ibs, ibs)):
            assert spread(floor_goals(found, x, task) / 2, floor_goals(found, y, task), paired=True)[1] > 0
        lower, alone = (spread(*(found.last("kl", one, task) for one in pair), paired=True)
                        for pair in ((filtered, ibs), (her, her_ibs)))  # fmt: skip
        assert lower[1] > 0 and alone[0] > 0
        assert (alone[1] > 0) == ((task, how) not in {("Hand", ""), ("Robot", BOOT)})
    finer = f"{IBS} (20 x 20, sigma^2)"
    yield from (2, Config().sigma_end, 20, 20)
    for scale in ("quick", "full"):
        found = read("own-grid+training-hand", scale)
        seeds = len(found.seeds(finer, "Hand"))
        yield from (rate(found, finer), rate(found, IBS, seeds=seeds))
        assert gap(found, IBS, finer)[1] < 0 < gap(found, IBS, finer)[2]
    yield seeds


def estimated_values() -> Iterator[float]:
    yield from (end(runs("Hand", scale), one) for scale in ("full", "quick") for one in PAIR)
    yield from (end(runs(task), one, task) for task in ("Robot", "HandWall") for one in PAIR)
    yield from (end(runs(task), NONE, task) for task in ("Hand", "Robot", "HandWall"))
    for task in ON_THE_FLOOR:
        yield excess(runs(task), HER, task).mean()
        lower = spread(*(excess(runs(task), one, task) for one in PAIR), paired=True)[1]
        assert (lower > 0) == (task == "Hand")
    for task in TASKS:
        assert (gap(runs(task), *PAIR, task, "bias", last=True)[1] > 0) == (task == "Hand")
    yield excess(runs("Hand"), FILTERED, "Hand").mean()


def bit_flipping() -> Iterator[float]:
    found, quick = (FLIPS.runs(Results(DATA, (scale,)), "bitflip") for scale in ("full", "quick"))
    terminal = next(iter(READINGS))
    assert (quick.area("quit_bias", HER, TIMEOUT) == found.area("quit_bias", HER, TIMEOUT)[:5]).all()
    yield len(found.seeds(HER, terminal))
    yield from (end(found, HER, env, "quit_bias") for env in (terminal, TIMEOUT))
    yield from (end(found, HER, TIMEOUT, "flip_bias"), end(found, HER, terminal, "quit_bias"))
    lower, *interval = gap(found, *PAIR, terminal, "quit_bias", last=True)
    yield from (lower, 95, *interval)
    assert interval[0] > 0 > gap(found, *PAIR, TIMEOUT, "quit_bias", last=True)[1]
    yield 100 * found.curve("quits", HER, TIMEOUT)[1].mean(axis=0).max()
    assert end(found, HER, TIMEOUT, "quits") == 0
    for one in PAIR:
        yield max(found.curve("quit_bias_near", one, env)[1].mean(axis=0).max() for env in READINGS)


def appendix_a() -> Iterator[float]:
    yield from (2, 2, 2, *SIGMA2[:2])
    found, soon = read("own-goals"), 8_000
    yield from (found.last("kl", f"{one} (mixture)", "Hand").mean() for one in (IBS, FILTERED))
    yield from (rate(found, f"{one} (mixture)") for one in (IBS, FILTERED))
    assert gap(found, f"{IBS} (mixture)", f"{FILTERED} (mixture)")[1] < 0
    for one in (IBS, FILTERED):
        steps, values = found.curve("success", f"{one} (moving)", "Hand")
        half = steps[-1] // 2  # the goals move before the evaluation there
        before = values[:, (half - soon <= steps) & (steps < half)].mean()
        assert values[:, steps == half].mean() < before < values[:, -LAST:].mean()
        yield values[:, (half < steps) & (steps <= half + soon)].mean()
    yield soon


def fetch_the_precondition() -> Iterator[float]:
    found = read("fetch-her+fetch-filter")
    ends = mean_of(found.last("solved", HER, PUSH, LAST))
    assert ends.seeds == 5 and found.last("solved", NONE, PUSH, LAST).max() == 0
    misleading = 100 * found.curve("misleading", HER, PUSH)[1].mean(axis=0)
    yield from (ends.value, *ends.interval(), misleading[0], misleading[len(misleading) // 2], misleading[-1])


def fetch_the_filter() -> Iterator[float]:
    found, steps = read("fetch-her+fetch-filter"), 1_000_000
    assert {found.last("env_steps", one, PUSH).max() for one in (*PAIR, THINNED)} == {steps}
    curves = {one: found.curve("solved", one, PUSH)[1] for one in (*PAIR, THINNED)}
    solved = {one: (of.mean(), of[:, -LAST:].mean()) for one, of in curves.items()}
    lead, *interval = gap(found, FILTERED, THINNED, PUSH, "solved")
    yield from (1, *solved[THINNED], *solved[FILTERED], lead, 95, *interval)
    kept = {one: 1 - found.curve("misleading", one, PUSH)[1].mean(axis=0) for one in (FILTERED, THINNED)}
    stored = {one: found.last("virtual_per_step", one, PUSH).mean() for one in curves}
    yield from (100 * kept[THINNED].min(), 100 * kept[THINNED].max(), stored[THINNED], stored[FILTERED])
    assert round(1 / kept[FILTERED][-1]) == 3 and round(stored[HER] / stored[FILTERED]) == 7
    yield from (
        *solved[HER],
        *gap(found, FILTERED, HER, PUSH, "solved"),
        *gap(found, FILTERED, HER, PUSH, "solved", True),
    )
    yield 10
    begun = {one: [steps * (1 + (run > 0.1).argmax()) / len(run) for run in curves[one]] for one in PAIR}
    ends = {one: found.last("solved", one, PUSH, LAST) for one in PAIR}
    yield from (limit for of in (begun, ends) for one in (FILTERED, HER) for limit in (min(of[one]), max(of[one])))
    yield from (*gap(found, *PAIR, PUSH, "bias", True), 100 * (1 - kept[FILTERED][0]))


def fetch_beside_stable_baselines3() -> Iterator[float]:
    frame = pd.read_csv(ROOT / "benchmarks/fetch_curves.csv")
    assert set(frame.groupby("method")["seed"].nunique()) == {3}
    ours, without, peer = (frame[frame["method"] == one].groupby("step")["solved"].mean() for one in
                           ("ours", "ours without penalty", "Stable-Baselines3"))  # fmt: skip
    late = pd.concat([without.loc[9_600:], peer.loc[9_600:]])
    yield from (late.min(), late.max(), 10_000, 5_000, ours.loc[32_000 - 8_000 + 1 :].mean())
    assert (ours > without).loc[:5_000].all() and (ours < without).loc[5_000:].all()


def which_code_made_the_runs() -> Iterator[float]:
    for task in ("hand", "robot"):
        made = json.loads((DATA / f"quick/training-{task}.provenance.json").read_text())
        commits = {int(name.rpartition("|")[2]): run["commit"] for name, run in made.items()}
        [later] = {seed for seed, commit in commits.items() if commit != commits[5]}
    yield later


PARTS = (part.partition("\n") for part in f"Findings\n{TEXT}".split("\n### "))
SECTIONS = {re.sub(r"\W+", "_", head.lower()): text for head, _, text in PARTS}
NUMBERS = [value for name, value in list(globals().items()) if name in SECTIONS]


def test_only_sections_without_committed_runs_are_left_out():
    assert set(SECTIONS) - {one.__name__ for one in NUMBERS} == {"other_tasks", "fetch_pilots"}


@pytest.mark.parametrize("numbers", NUMBERS, ids=lambda one: one.__name__)
def test_every_number_is_that_of_the_committed_runs(numbers):
    found = NUMBER.findall(NAME.sub("", SECTIONS[numbers.__name__]))
    assert found == shown(list(numbers()), found)
