"""Every number of the notebook's findings is that of the committed runs; its two last tables are test_readme.py's."""

import re
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from benchmarks import ners_curves
from lab.judge.comparisons import Measure, Runs
from lab.judge.intervals import margin_of, mean_of, same
from lab.judge.results import Results
from papers.ners.evidence import claims_law, claims_runs, plan
from papers.ners.evidence.claims_law import TIMES, UNIFORM, left_over, replayed
from papers.ners.evidence.claims_runs import early, late, score
from papers.ners.evidence.labels import READINGS
from papers.ners.evidence.paper_values import SAMPLERS, STATISTICS, STEPS, TABLE1, TABLE3, scorer_updates
from papers.ners.evidence.plan import HOPPER, LANDER, PENDULUM
from papers.ners.samplers.diagnostics import bonus_distance
from tests.papers.ners.test_readme import NOTEBOOK, ROOM
from tests.test_findings import NUMBER, at_most, shown, spread

BEFORE, _, AFTER = NOTEBOOK.partition("## Findings\n")
SECTIONS = [
    BEFORE.partition("## How far")[2].partition("\n## ")[0],
    *AFTER.partition("### Tables of laws")[0].split("\n### ")[1:],
]
RESULTS = {scale: Results(ROOM / "evidence/results", (scale,)) for scale in ("quick", "full")}
SWING, AGENTS, SIGMA = "Pendulum-v1", ("sac", "td3"), 0.52
Triple = tuple[float, float, float]


def runs(experiment: str, scale: str = "quick") -> Runs:
    return claims_runs.ROOM.runs(RESULTS[scale], plan.read_as(experiment))


def apart(measure: Measure, x: str, y: str, found: Runs, env: str) -> Triple:
    """By how much `x` is above `y`, with the ends of the interval."""
    return spread(*(measure(found, one, env) for one in (x, y)), paired=True)


def is_open(between: Triple) -> bool:
    return between[1] < 0 < between[2]


def said(between: Triple) -> tuple[float, ...]:
    """As the first interval of a section is written."""
    return between[0], 95, *between[1:]


def alike(x: str, y: str, found: Runs) -> bool:
    """Whether two methods are shown to end within the margin on the sparse pendulum."""
    margin = margin_of(*(claims_runs.learns(found, one, PENDULUM).gain for one in (x, y)))
    return same(margin)(*apart(score, x, y, found, PENDULUM)[1:]) == "reproduced"


def undecided(experiment: str, env: str, *agents: str) -> Runs:
    """The runs, if no two samplers' scores differ detectably."""
    found = runs(experiment)
    for agent, (x, y) in product(agents, combinations(SAMPLERS, 2)):
        assert is_open(apart(score, f"{agent} {x}", f"{agent} {y}", found, env))
    return found


# ---- the numbers of each section, in the order of its text -----------------------------------------------------------
def how_far() -> Iterator[float]:
    bonus = [(bonus_distance(SIGMA**0.5, m), m) for m in (128, 32)]
    yield from (1, 1, 1, *bonus[0], *bonus[1], SIGMA, 1, 6, 1)
    yield from (scorer_updates("sac", LANDER), scorer_updates("sac", PENDULUM), 1, 2, 1, 8, 1)


def agents() -> Iterator[float]:
    frame = pd.read_csv(ners_curves.PICTURE.with_suffix(".csv"))
    *_, start = sorted(frame["step"].unique())[: 1 - ners_curves.LAST]
    end = frame[frame["step"] >= start]
    parts = [part.groupby(["agent", "method", "seed"])["value"].mean() for part in (end, frame)]
    yield from (frame["step"].max(), start)
    yield from (part[agent, one].mean() for part, agent, one in product(parts, AGENTS, ners_curves.LOOKS))
    sac, td3 = (spread(*(parts[0][agent, one].to_numpy() for one in ners_curves.LOOKS)) for agent in AGENTS)
    assert is_open(sac) and is_open(td3)
    yield from (start, *said(sac), *td3)


def own_why() -> Iterator[float]:
    both = [runs("own-why", scale) for scale in RESULTS]

    def ends(method: str, metric: str = "tv_replayed") -> np.ndarray:
        found = [one.last(metric, f"none {method}", PENDULUM) for one in both]
        assert [len(one) for one in found] == [3, 5]
        return np.concatenate(found)

    untrained = [left_over(one, f"none {time} signs", PENDULUM).mean() for one in both for time in TIMES]
    assert 0.0005 < min(untrained) and max(untrained) < 0.0015
    share, raw, steps = (100 * ends(f"{time} signs") for time in TIMES)
    yield from (both[0].steps(PENDULUM), at_most(share.max(), 0.2))
    *five, low, middle, high = sorted(raw)
    yield from (at_most(max(five), 0.2), low, middle, high)
    away, scores = steps > 1, ends("environment signs", "score")
    yield from (*steps[away][steps[away].argsort()[[0, 2]]], scores[away].max())
    assert (~away).sum() == 5
    yield from (at_most(steps[~away].max(), 0.01), scores[~away].min(), 8)
    near = [mean_of(part).interval()[1] < 100 * UNIFORM for one in (share, raw) for part in (one[:3], one[3:])]
    assert near == [True, True, True, False]
    assert all(ends(f"{time} positive").max() < 1e-6 for time in TIMES)
    yield from (1, min(ends(f"{time} positive", "score").min() for time in TIMES))


def own_law() -> Iterator[float]:
    found, at = runs("own-law"), PENDULUM
    ends = {name: found.last("tv_replayed", f"td3 {name}", at) for name in READINGS if name != "ners environment"}
    yield from (at_most(100 * max(one.max() for one in ends.values()), 2), found.steps(at))
    others = [ends.pop(f"ners {name}").mean() for name in ("episode", "first", "code")]
    yield from (min(one.mean() for one in ends.values()), max(one.mean() for one in ends.values()), *others)
    rewards, first = (found.curve(one, "td3 ners first", at)[1] for one in ("replay_reward", "tv_replayed"))
    assert rewards.min() >= 0 and rewards[:, -10:].min() > 20
    steps, environment = found.curve("tv_replayed", "td3 ners environment", at)
    yield round((steps[-1] - steps[-5]) / np.log2(first[:, -1].mean() / first[:, -5].mean()), -3)
    yield from (*environment[:, 0], environment[[0, 2], -1].max())
    yield from (environment[1, steps == steps[-1] // 2].item(), environment[1, -1])
    yield from (found.last("scorer_updates", "td3 ners", at).mean(), scorer_updates("td3", at))


def own_td3_lr() -> Iterator[float]:
    found, names = runs("own-td3-lr"), ("td3 lr 0.001", "td3 lr 0.005")
    ours, printed = (score(found, one, PENDULUM) for one in names)
    assert len(printed) == 5
    yield from (found.steps(PENDULUM), printed.min(), printed.max(), ours.min(), ours.max())
    yield from said(apart(score, *names, found, PENDULUM))


def fig3() -> Iterator[float]:
    found = undecided("fig3", PENDULUM, *AGENTS)
    ends = [score(found, f"{agent} {one}", PENDULUM) for agent, one in product(AGENTS, SAMPLERS)]
    yield from (len(ends[0]), len(ends[0]), 150, *((one >= 150).sum() for one in ends))
    cells = product(AGENTS, ("ners", "per", "ero"))
    near = [f"{agent} {one}" for agent, one in cells if alike(f"{agent} {one}", f"{agent} random", found)]
    assert near == ["sac ners", "td3 ners", "td3 ero"]
    yield from said(apart(score, "td3 ero", "td3 random", found, PENDULUM))
    yield from (15, 0, *apart(lambda *of: score(*of)[:15], "td3 per", "td3 random", found, PENDULUM))


def fig5() -> Iterator[float]:
    for found, env in ((runs("fig3"), PENDULUM), (runs("table1"), HOPPER)):
        start, *end = (apart(one, "sac ners", "sac random", found, env)
                       for one in (early("log_td"), late("log_td"), late("q_mean")))  # fmt: skip
        assert is_open(start) and all(map(is_open, end))
        yield from said(start) if env == PENDULUM else start
        steps, per = found.curve("log_td", "sac per", env)
        above = per - found.curve("log_td", "sac random", env)[1]
        assert mean_of(above[:, 0]).interval()[0] > 0
    assert [*(above > 0).all(axis=1)].count(True) == 3
    yield steps[(above > 0).all(axis=0).argmin() - 1]


def fig4() -> Iterator[float]:
    found = runs("fig4")
    arms = [f"sac {one}" for one in "ners,ners no-global,ners few,ners*,ero,per,random,random-iid".split(",")]
    ends = np.stack([score(found, one, PENDULUM) for one in arms])
    yield from ((ends >= 150).sum(), ends.size, 150, *ends.mean(axis=1))
    pairs = {(x, y): apart(score, y, x, found, PENDULUM) for x, y in combinations(arms, 2)}
    assert all(is_open(between) and not alike(*pair, found) for pair, between in pairs.items())
    yield from said(pairs.pop(("sac random", "sac random-iid")))
    halves = [(high - low) / 2 for _, low, high in pairs.values()]
    yield from (min(halves), max(halves))


def table2() -> Iterator[float]:
    found, env = undecided("table2", "MsPacman", "rainbow"), "MsPacman"
    yield from said(apart(score, "rainbow ners", "rainbow random", found, env))
    law, among = (late(one)(found, "rainbow ners", env).mean() for one in ("tv", "tv_replayed"))
    yield from (law, bonus_distance(SIGMA**0.5, 32), among)


def table1() -> Iterator[float]:
    found = undecided("table1", HOPPER, *AGENTS)
    sac, td3 = (apart(score, f"{agent} ners", f"{agent} random", found, HOPPER) for agent in AGENTS)
    yield from (found.steps(HOPPER), *said(sac), -td3[0], *td3[1:])
    assert STEPS["table1"] == 5 * found.steps(HOPPER)
    yield from (TABLE1[agent, HOPPER]["ners"] - TABLE1[agent, HOPPER]["random"] for agent in AGENTS)
    for method in ("sac random", "td3 ners"):
        yield from (score(found, method, HOPPER).min(), score(found, method, HOPPER).max())
    law = np.concatenate([late("tv_replayed")(found, f"{agent} ners", HOPPER) for agent in AGENTS])
    yield from (law.mean(), law.max())


def fig1() -> Iterator[float]:
    def drawn(rule: str, kind: str, method: str = "sac random") -> np.ndarray:
        return 100 * claims_law.share(rule, kind)(runs("fig1", "full"), method, SWING)

    hanging, top, usual = (drawn(rule, "downward") for rule in ("td", "top_td", "uniform"))
    assert spread(hanging, usual, paired=True)[1] > 0 and is_open(spread(top, usual, paired=True))
    yield from (drawn("q", "upright").mean(), drawn("uniform", "upright").mean())
    yield from (hanging.mean(), 95, *mean_of(hanging).interval(), usual.mean(), drawn("td", "upright").mean())
    yield from (64, top.mean())
    yield drawn("top_td", "downward", "sac random terminal").mean()
    yield from spread(drawn("td", "horizontal"), drawn("uniform", "horizontal"), paired=True)


def table3() -> Iterator[float]:
    def replays(method: str, scale: str = "full") -> dict[str, np.ndarray]:
        return dict(zip(STATISTICS, replayed(runs("table3", scale).rows(f"sac {method}", SWING)).T))

    theirs, ours = (dict(zip(STATISTICS, TABLE3[one])) for one in ("random", "per")), replays("random terminal")
    random, per = theirs
    for method, name, scale in product(("random", "random terminal"), ("mean TD²", "sd TD²"), ("full", "quick")):
        yield replays(method, scale)[name].mean()
    ratio = mean_of(np.log(ours["sd TD²"] / random["sd TD²"]))
    yield from (random["mean TD²"], random["sd TD²"], 7, np.exp(ratio.value), np.exp(ratio.interval()[1]))
    yield from (ours["mean Q"].mean(), random["mean Q"], replays("per terminal")["mean TD²"].mean() / per["mean TD²"])
    narrower, laws = [], []
    for label, scale in product(("", " terminal"), RESULTS):
        found = {one: replays(f"{one}{label}", scale) for one in SAMPLERS}
        less = {(x, y, name): spread(found[x][name], found[y][name], paired=True)
                for x, y, name in product(SAMPLERS, SAMPLERS, STATISTICS)}  # fmt: skip
        others = ("ners", "random", "ero")
        assert all(less["per", one, "sd TD²"][1] > 0 for one in others)
        narrower.append(sum(less["per", one, "sd Q"][2] < 0 for one in others))
        assert all(is_open(less[one, "random", name]) for one in ("ners", "ero") for name in STATISTICS)
        laws.append(runs("table3", scale).curve("tv_replayed", f"sac ners{label}", SWING)[1].max())
    assert narrower[:2] == [3, 1]
    yield 100 * max(laws)
    ero = [late("tv")(runs("table3", "full"), f"sac ero{label}", SWING).mean() for label in ("", " terminal")]
    assert max(ero) - min(ero) < 0.01
    yield sum(ero) / 2


NUMBERS = [how_far, agents, own_why, own_law, own_td3_lr, fig3, fig5, fig4, table2, table1, fig1, table3]


@pytest.mark.parametrize("which", range(len(SECTIONS)), ids=lambda k: NUMBERS[k].__name__)
def test_every_number_is_that_of_the_committed_runs(which):
    assert len(SECTIONS) == len(NUMBERS)
    found = NUMBER.findall(re.sub(r"\A.*|^!\[.*", "", SECTIONS[which], flags=re.MULTILINE))  # no heading, no picture
    assert found == shown(list(NUMBERS[which]()), found)
