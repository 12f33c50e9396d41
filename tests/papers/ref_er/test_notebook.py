"""NOTEBOOK.md: every number in the text of its results is that of the committed runs, and its words agree with them."""

import re
from collections.abc import Iterator
from functools import cache, partial
from itertools import combinations

import numpy as np
import pytest

from lab.judge.intervals import mean_of
from lab.judge.results import Results
from papers.ref_er.evidence.before_learning import before
from papers.ref_er.evidence.claims_ddpg import fallen, largest_divergence
from papers.ref_er.evidence.claims_own import ALIKE, late_rise
from papers.ref_er.evidence.claims_runs import (
    AWAY,
    FALL,
    FAR,
    FROM_IMPLIED,
    ROOM,
    TRAINING,
    WIDEST,
    late,
    score,
    spread_ratio,
)
from papers.ref_er.evidence.claims_vracer import FAST, OTHERS, REVERSE, SLOW
from papers.ref_er.evidence.experiments import EXPERIMENTS, WIDE
from papers.ref_er.evidence.implied_kl import implied_kl
from papers.ref_er.evidence.paper_values import FIG1, FIG4, FIG7, FIG8, NOISE, START
from papers.ref_er.refer import ReFER
from papers.ref_er.train import Config
from tests.papers.ref_er.test_readme import NOTEBOOK, quick
from tests.papers.ref_er.test_readme import ROOM as FOLDER
from tests.test_findings import NUMBER, at_most, shown, spread

RESULTS = Results(FOLDER / "evidence/results", ("quick",))
FIVE = CHEETAH, WALKER, HOPPER, ANT, HUMANOID = WIDE.quick
THREE, TWO, FLOW = FIVE[:3], FIVE[:2], "WakeFlow-v0"
REFER, PLAIN, RULE_1, RULE_2 = (f"vracer {kind}" for kind in ("refer", "er", "refer-1", "refer-2"))
FREE, WHITE = "ddpg refer (A 0)", "ddpg er (white noise)"
KL, BETA, STD, LEFT_OUT, EFFORT = map(late, ("kl", "beta", "std", "far", "effort"))
EXPLODED = -10_000
PAPER, QUICK = Config(), quick(EXPERIMENTS["fig4"])
NAMES = re.compile(r"(Rule|Figs?\.|deviation)\s+\d(\s+to\s+\d)?|1 -\s+beta|(?m:^[|!].*)")
"""Digits that are no results, pictures, and tables, which test_readme.py makes anew."""


@cache
def runs(of: str):
    return ROOM.runs(RESULTS, of)


@cache
def end(method: str, env: str = CHEETAH, of: str = "", by=score) -> np.ndarray:
    """A number per run, by default the score, of the runs of Figs. 1 to 5."""
    return by(runs(of or (OTHERS | {"vracer": FIG4})[method.split()[0]]), method, env)


def means(*methods: str, **where) -> Iterator[float]:
    return (end(method, **where).mean() for method in methods)


def sign(x: str, y: str, envs: tuple[str, ...] = (CHEETAH,), **where) -> list[int]:
    """Of each task: 1 and -1 where x is clearly above and below y, 0 where that is undecided."""
    intervals = [spread(end(x, env, **where), end(y, env, **where))[1:] for env in envs]
    return [int(low > 0) - int(high < 0) for low, high in intervals]


def status(x: str, how: str, y: str, env: str, of: str) -> str:
    return runs(of).compare(x, how, y, env).status


def times(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The ratio of geometric means with its interval."""
    return np.exp(spread(np.log(x), np.log(y)))


def falls(method: str, envs: tuple[str, ...]) -> Iterator[float]:
    """The least and the most of the trends of divergences."""
    return (choose(end(method, env, by=FALL.of).mean() for env in envs) for choose in (min, max))


def holds(method: str, envs: tuple[str, ...]) -> float:
    """The factor from what D implies, where D is held."""
    assert all(mean_of(end(method, env, by=AWAY.of)).interval()[1] < FAR for env in envs)
    return at_most(max(mean_of(end(method, env, by=FROM_IMPLIED.of)).interval()[1] for env in envs), 2)


# ---- the numbers of each section, in the order of its text -----------------------------------------------------------
def the_runs_of_quick() -> Iterator[float]:
    few = ("fig6", "own-kl", "own-memory", "own-million")
    for seeds, of in (5, (FIG1, "fig3", FIG4, FIG7, "own-annealing")), (10, (FIG8,)), (3, few):
        assert {len(runs(one).seeds(*side)) for one in of for side in runs(one).groups} == {seeds}
    yield from (runs(FIG4).steps(CHEETAH), QUICK.capacity, PAPER.capacity, len(runs(FIG1).seeds("ddpg er", CHEETAH)))


def findings() -> Iterator[float]:
    sides = [(*side, of) for of in (FIG1, "fig3", FIG4) for side in runs(of).groups]
    pairs = [(x, y) for x, y in combinations(sides, 2) if x[0].split()[0] == y[0].split()[0] and x[1:] == y[1:]]
    yield from (len(pairs), np.mean([np.corrcoef(end(*x), end(*y))[0, 1] for x, y in pairs]))


def figs_1_and_2() -> Iterator[float]:
    refer, plain, per, rule_1, untuned = (f"ddpg {kind}" for kind in ("refer", "er", "per", "refer-1", "er (untuned)"))
    yield from (*means(refer, plain, per, env=WALKER), *means(refer, per, plain, env=HOPPER))
    both = np.concatenate([end(plain), end(per)])
    yield from (both.min(), both.max())
    assert sign(refer, plain, THREE) == [0, 1, 0] and sign(refer, per, THREE) == [0, 1, 1]
    assert sign(per, plain, THREE) == [0, 0, -1] and sign(refer, rule_1, THREE) == [1, 1, 1]
    assert all(status(refer, "==", "ddpg refer-2", env, FIG1) == "reproduced" for env in (CHEETAH, HOPPER))
    assert spread(*(end(rule_1, env, by=LEFT_OUT) for env in (HOPPER, WALKER)))[1] > 0
    yield from means(untuned, plain)
    assert sign(untuned, plain, THREE) == [1, 0, 0] and not any(fallen(runs(FIG1), untuned, env) for env in THREE)
    assert sign(WHITE, untuned, of=f"{FIG1}+own-annealing") == [0]
    yield from (*falls(refer, THREE), holds(refer, THREE))
    assert round(100 * end(plain, by=KL).mean() / largest_divergence(runs(FIG1), CHEETAH)) == 1


def fig_3() -> Iterator[float]:
    refer, plain = "naf refer", "naf er"
    assert sign(refer, plain, THREE) == [1, 1, 1] and sign("naf per", plain, THREE) == [0, 0, 0]
    yield from (*means(refer, plain, env=WALKER), *means(refer, plain, env=HOPPER))
    learning = [side for side in runs("fig3").groups if runs("fig3").learns(*side).learns]
    assert {one for one, env in learning if env == CHEETAH} == {refer, "naf refer-2"}
    assert {env for one, env in learning if one == refer} == set(THREE)
    yield from means("naf refer-2", "naf refer-1")
    assert sign("naf refer-2", plain) == [1] and sign("naf refer-2", refer) == [0]
    away = [mean_of(end(refer, env, by=AWAY.of)) for env in THREE]
    assert away[0].interval()[1] < FAR and round(away[1].value, 2) == round(away[2].value, 2)
    yield away[2].value


def figs_4_and_5() -> Iterator[float]:
    yield from (holds(REFER, FIVE), *falls(REFER, FIVE))
    ours = {env: end(REFER, env, by=KL) for env in FIVE}
    for kind, least in ((RULE_1, 10), (PLAIN, 100)):
        assert min(times(end(kind, env, by=KL), ours[env])[0] for env in FIVE) > least
    exploded = np.concatenate([(end(PLAIN, env, by=KL) / ours[env])[end(PLAIN, env) < EXPLODED] for env in FIVE])
    assert len(exploded) == 3 and exploded.min() > 1e6
    ppo = {env: times(ours[env], end("ppo", env, by=KL))[0] for env in FIVE}
    yield from (min(ppo[env] for env in THREE), max(ppo[env] for env in THREE), ppo[HUMANOID], ppo[ANT])
    here, full = ReFER(annealing=QUICK.annealing), ReFER()
    assert here.anneal(runs(FIG4).steps(CHEETAH)) == pytest.approx(full.anneal(PAPER.steps))
    yield from (here.c_max, PAPER.tolerance, implied_kl(here.c_max))
    yield from (choose(end("ppo", env, by=KL).mean() for env in FIVE) for choose in (min, max))
    assert all((end(one) < EXPLODED).any() for one in (PLAIN, RULE_1))
    yield from means(RULE_1, REFER, env=ANT)
    assert status(REFER, ">", RULE_1, ANT, FIG4) == "not reproduced"
    curves, divergence = (runs(FIG4).curve(one, PLAIN, HUMANOID)[1] for one in ("return", "kl"))
    fell = curves[:, -1].argmin()
    yield from (at_most(curves.max(), 300), round(curves[fell].min(), -3))
    assert round(divergence[fell, -1] / 1e9) == 1 and sign(REFER, PLAIN, (HUMANOID,)) == [0]
    yield from (*spread(end(REFER), end(RULE_2)), *spread(end(REFER, HUMANOID), end(RULE_2, HUMANOID)))
    assert sign(REFER, RULE_2, (WALKER, HOPPER)) == [0, 0] and sign(FAST, "ppo") == sign(SLOW, "ppo") == [1]
    fast = end(FAST, by=KL)
    yield from times(fast, end(SLOW, by=KL))
    assert sign(FAST, REFER, by=KL) == [0]
    yield times(fast, end("ppo", by=KL))[0]


def fig_6() -> Iterator[float]:
    flow = runs("fig6")
    exits, effort = ({one: flow.curve(metric, one, FLOW)[1].mean(axis=0) for one, _ in flow.groups}
                     for metric in ("exits", "effort"))  # fmt: skip
    yield 100 * min(curve[-1] / curve[0] for curve in exits.values())
    assert all((2 < 1 / curve).all() and (1 / curve < 3).all() for curve in exits.values())
    yield from (effort[REFER][0], effort[REFER][-1], exits[REFER][0], exits[REFER][-1])
    assert PAPER.actor_lr == PAPER.lr / 10 and (np.diff(exits[REFER])[-3:] < 0).all()
    yield from (min(exits[one].min() for one in ("ddpg er", "ddpg refer")), 3 * NOISE**2)  # of three components
    assert end("ddpg refer", FLOW, "fig6", EFFORT).mean() == pytest.approx(3 * NOISE**2, rel=0.03)
    yield from (effort[SLOW][0], effort[SLOW][-1])
    gains = [end(one, FLOW, "fig6").mean() - before(one, FLOW) for one in (SLOW, REFER)]
    assert round(10 * gains[0] / gains[1]) == 3 and exits[SLOW][-1] == pytest.approx(exits[SLOW][0], rel=0.03)


def fig_7() -> Iterator[float]:
    of, one = partial(end, of=FIG7), f"{REFER} ({{}})".format
    slow = [one("C 2"), one("D 0.05"), one("N 2^16")]
    yield from (2, 0.05, *spread(of(REFER, by=TRAINING.of), of(slow[1], by=TRAINING.of)), 2)
    assert [sign(REFER, it, TWO, of=FIG7, by=TRAINING.of) for it in slow] == [[1, 0], [1, 0], [1, 1]]
    yield from (1 - of(it, by=BETA).mean() for it in (slow[0], slow[2], REFER))
    yield from (*means(slow[0], REFER, one("C 8"), of=FIG7, by=KL), 2, PAPER.c, 8, 8)
    assert sign(one("C 8"), REFER, TWO, of=FIG7) == [1, 0]
    yield from (runs(FIG7).steps(CHEETAH), 0.2)
    assert all(min(of(one(it), env)) > max(of(REFER, env)) for it in ("F 0.2", "lr 0.0003") for env in TWO)
    assert sign(one("B 512"), one("B 64"), TWO, of=FIG7) == [1, 1]
    yield from (1 - of(it, WALKER, by=BETA).mean() for it in (REFER, slow[2]))
    yield from (0.2, *spread(of(one("D 0.2"), WALKER), of(REFER, WALKER)), 8, 2, 0.05)
    assert all(sign(one("lr 0.0003"), it, TWO, of=FIG7) == [1, 1] for it in (REFER, one("lr 3e-05")))


def fig_8() -> Iterator[float]:
    names = [f"{REFER} ({one})" for one in ("A 0", "S 92", "S 180", "advantage quadratic", "advantage gaussian")]
    usual, free, narrow, wide, *advantages = (end(one, of=FIG8) for one in (REFER, *names))
    assert min(free) > max(usual)
    yield from (92, narrow.mean(), 180, wide.mean(), usual.mean(), PAPER.hidden)
    assert spread(narrow, usual)[2] < 0 < spread(wide, usual)[1]
    assert all(status(one, "==", REFER, CHEETAH, FIG8) == "inconclusive" for one in names[1:3])
    vary = spread_ratio(wide, narrow)
    yield from (180, np.exp(vary.value), *np.exp(vary.interval()), 92)
    assert all(status(REFER, ">=", one, CHEETAH, FIG8) == "reproduced" for one in names[3:])
    for one in advantages:
        yield from spread(one, usual)


def own_kl() -> Iterator[float]:
    yield START
    assert max(end(one, of="own-kl", by=WIDEST.of).max() for one in (REFER, REVERSE)) < START
    yield from means(REFER, REVERSE, of="own-kl", by=STD)
    assert sign(REFER, REVERSE, of="own-kl") == [0]


def own_memory() -> Iterator[float]:
    yield PAPER.capacity / QUICK.capacity
    for env, part in ((CHEETAH, 15), (WALKER, 8)):
        large, usual = (end(one, env, "own-memory", KL) for one in ("ddpg er (N 2^18)", "ddpg er"))
        ratio = times(large, usual)
        yield from (large.mean(), usual.mean(), *ratio)
        assert (ratio[1] > 1) == (env == CHEETAH)
        share = large / largest_divergence(runs("own-memory"), env)
        low, high = np.exp(mean_of(np.log(share)).interval())
        assert round(1 / share.mean()) == part and low < 0.1 < high


def own_annealing() -> Iterator[float]:
    of = partial(end, of="own-annealing")
    yield from (of("ppo (A 0)", by=KL).mean(), times(of(REFER, by=KL), of("ppo (A 0)", by=KL))[0], ALIKE)
    yield from means(FREE, "ddpg refer", "ddpg er", of="own-annealing")
    yield 1 / np.sqrt(1 - (1 - PAPER.theta) ** 2)  # of e <- (1 - theta) e + noise z, over that of noise z
    yield of(WHITE).mean()
    assert sign(WHITE, FREE, of="own-annealing") == [0]
    curves = [runs("own-annealing").curve("return", one, CHEETAH)[1] for one in (FREE, WHITE)]
    first, second = (curve[:, : curve.shape[1] // 2].mean(axis=1) for curve in curves)
    assert min(first) > max(second)


def own_million() -> Iterator[float]:
    million, of = runs("own-million"), partial(end, REFER, of="own-million")
    (steps, curves), (_, plain) = (million.curve("return", one, CHEETAH) for one in (REFER, PLAIN))
    assert steps[-1] == PAPER.steps / 10 and million.learns(REFER, CHEETAH).learns
    yield from (of().mean(), round(curves[:, -1].mean(), -3))
    assert mean_of(late_rise(million, REFER, CHEETAH)).interval()[0] > 0
    assert max(of(by=AWAY.of)) < FAR and max(of(by=FROM_IMPLIED.of)) < 1.2
    exploded = (plain < EXPLODED).argmax(axis=1)  # in which bin; 0 in none
    yield from (steps[min(exploded) - 1], steps[max(exploded)])


NUMBERS = [
    the_runs_of_quick, findings, figs_1_and_2, fig_3, figs_4_and_5, fig_6, fig_7, fig_8, own_kl, own_memory,
    own_annealing, own_million,
]  # fmt: skip


@pytest.mark.parametrize("numbers", NUMBERS, ids=lambda one: one.__name__)
def test_every_number_of_a_section_is_that_of_the_committed_runs(numbers):
    _, first, *parts = re.split(r"\n###? ", NOTEBOOK)
    start, stop = (next(i for i, part in enumerate(parts) if part.startswith(it)) for it in ("Findings", "Deviations"))
    texts = (NAMES.sub("", part.partition("\n")[2]) for part in (first, *parts[start:stop]))
    sections = [found for text in texts if (found := NUMBER.findall(text))]
    assert len(sections) == len(NUMBERS)
    found = sections[NUMBERS.index(numbers)]
    assert found == shown(list(numbers()), found)
