"""NOTEBOOK.md: every number of its findings is that of the committed runs, and its words agree with the verdicts."""

import re
from collections.abc import Iterator

import numpy as np
import pytest

from lab.judge.claims import evaluate
from lab.judge.intervals import mean_of
from lab.judge.results import Results
from lab.judge.verdicts import Verdict
from lab.rooms import ROOT
from papers.ter.evidence.budgets import LARGEST_RETURN
from papers.ter.evidence.claims import CLAIMS, FACTOR
from papers.ter.evidence.comparisons import LAST, ROOM
from papers.ter.evidence.experiments import ALONE, EXPERIMENTS, RATIO_STEPS, SMALL_MEMORY
from papers.ter.evidence.measures import sweeps
from papers.ter.train import Config
from tests.papers.ter.test_readme import ALL, BASELINES, TER, over
from tests.test_findings import NUMBER, at_most, read, shown, spread
from tests.test_readme import CROSSING, RELEASED, ends

TEXT = (ROOT / "papers/ter/NOTEBOOK.md").read_text().partition("\n## Findings\n")[2].partition("\n## Deviations")[0]
for _first, _next in (("Fig. 3a at long", "own-target"), ("Fig. 3b at long", "Fig. E.7")):  # see test_notebook_long.py
    TEXT = TEXT[: TEXT.index(f"![{_first}]")] + TEXT[TEXT.index(f"![{_next}]") :]
TEXT = " ".join(re.sub(r"!\[.*", "", TEXT).split())
NAMES = re.compile(
    r"Fig\. \d|(decision|item) \d+|95 %|[Bb]ends? at 1\b|[Ww]ith [13](?![\d,.]*\d)|\b[13] predec|clip 1|ratio [\d.]*\d"
)
"""Digits that tell arms and paragraphs apart."""
QUICK = Results(ROOT / "papers/ter/evidence/results", ("quick",))
SMALL, BENT, ONE = "5x5-1", f"{CROSSING} (bend 1)", RELEASED.removeprefix("ter")
NOWHERE = 1
"""The seed, by place, in which no method gets anywhere with the bend at 1."""
WORDS = """own-bend rrrrir, fig3a-simplecrossing-easy iiii, fig3a-simplecrossing-easy-released rrrr, own-first inrii,
own-behind i, own-clip i, fig3a-simplecrossing-easy-bend1 riir, fig3a-simplecrossing-easy-released-bend1 rrrr,
own-target-bend1 i, own-target-released-bend1 i, fig-g9 iiii, fig-g9-released nnri, fig-g9-bend1 iiii,
fig-g9-released-bend1 irri, fig-h10-ter nnnn, fig-h10-ter-released nnri, fig-h10-drop niii, fig-h10-ter-bend1 iiii,
fig-h10-ter-released-bend1 iirr, fig-h10-drop-bend1 iiii, own-predecessors rrrr, own-predecessors-value riii,
own-replayed ri, fig3b-5x5-1 rrrr, fig3b-5x5-2 rrrr, fig3b-order rnrr, fig-e7-ebu nn, fig-e7-ebu-released r,
fig3b-errors nn, fig-j12-gain in, fig-j12-gain-released in, fig-j12-gap ir, fig-j12-gap-released i, fig6 nr,
fig6-bend1 i, fig5-high rrnr, fig5-low nnnn, fig-f8 iiiiiiii, own-ebu-released rr, fig-i11-gain ii, fig-i11-gap ir,
fig-i11-gap-released i, fig5 iiiii, fig5-released niiir, fig4a-gap-sokoban iniiiiin, fig4a-ratio-sokoban iiiiiiii,
fig4b-sokoban nnnnnnnn, own-bend-sokoban iriir, own-network r, own-memory nnin, own-levels rrrr, table-b1-mean r,
table-b1-max n, table-b1-median r, own-table-b1 n, fig-l14 i, fig-k13 rr"""
SAID = dict(one.split() for one in WORDS.split(","))
"""Claim -> for each comparison whether it is reproduced, not reproduced or inconclusive, as the text has it."""


def comparisons(found: Verdict) -> str:
    return "".join(map(comparisons, found.parts.values())) or found.status.replace("not run", "")[:1]


def test_its_words_agree_with_the_verdicts():
    assert {one.id: comparisons(found) for one, found in evaluate(CLAIMS, QUICK) if one.id in SAID} == SAID


def runs(of: str):
    return ROOM.runs(QUICK, of)


def area(of: str, env: str, method: str, metric: str = "normalized_return") -> np.ndarray:
    return runs(of).area(metric, method, env)


def means(of: str, env: str, *methods: str) -> list[float]:
    return list(over(runs(of), env, *methods))


def lead(of: str, env: str, x: str, y: str, metric: str = "normalized_return") -> tuple[float, float, float]:
    return spread(area(of, env, x, metric), area(of, env, y, metric), paired=True)


def late(of: str, env: str, *methods: str, metric: str = "success") -> list[float]:
    """Means of the last evaluations [%]."""
    return [100 * runs(of).last(metric, method, env, LAST).mean() for method in methods]


def both(*values: float, digits: int = 2) -> float:
    """What the text says once of several."""
    [value] = {round(value, digits) for value in values}
    return value


# ---- the numbers, in the order of the text ---------------------------------------------------------------------------
def the_bend() -> Iterator[float]:
    found = runs("fig3a")
    yield found.steps(CROSSING)
    clipped = ("uer", "per", "per (clip 1)", "ebu", "discor", "ter", RELEASED)
    for env, methods in ((CROSSING, clipped), (BENT, (*BASELINES, *TER[::-1]))):
        yield from (*ends(found, env, *methods), *means("fig3a", env, *methods))
    gains = {one: spread(area("fig3a", CROSSING, one), area("fig3a", BENT, one)) for one in ALL}
    clear = [gain for one, (gain, *_) in gains.items() if one != "ter"]
    of = {one: lead("fig3a", CROSSING, RELEASED, one) for one in BASELINES}
    yield from (min(clear), max(clear), *gains["ter"], of["ebu"][0], *of["uer"], *of["per"])
    yield from lead("fig3a", CROSSING, "ter", "uer")
    yield from (*(lead("fig3a", BENT, RELEASED, one)[0] for one in BASELINES), of["ebu"][0], of["discor"][0])
    assert all(found.learns(one, CROSSING).learns for one in ALL)
    assert means("fig3a", CROSSING, RELEASED)[0] == max(means("fig3a", CROSSING, *ALL))
    yield lead("fig3a", CROSSING, "per", "per (clip 1)")[0]
    # bend at 1
    assert [lead("fig3a", BENT, RELEASED, one)[1] > 0 for one in BASELINES] == [True, True, False, True]
    yield from lead("fig3a", BENT, RELEASED, "ter")
    best = np.max([found.last("success", one, BENT, 6) for one in ALL], axis=0)
    assert (best < 0.05).nonzero()[0].tolist() == [NOWHERE] and best.max() < 0.7
    above = {pair: found.last("q_overestimation", *pair, LAST) for pair in found.groups}
    assert sum((one > 0).sum() for one in above.values()) == 2
    yield from (1 + above[one, BENT][NOWHERE] for one in TER[::-1])
    # target interval
    names = {n: [f"{one} (interval {n})" for one in ALL] for n in (200, 1_000)}
    often, usual = (means("own-target", BENT, *one) for one in names.values())
    yield from (200, 1_000, often[4], usual[4], max(often[:4]), 1_000, often[5], usual[5], both(often[0], usual[0]))
    there = [max(runs("own-target").last("success", one, BENT, 6)[NOWHERE] for one in names[n]) for n in names]
    assert there[0] > 0.15 and there[1] < 0.05
    assert runs("own-target").curve("q_overestimation", names[200][4], BENT)[1].max() < 0
    for k in (4, 5):
        assert np.prod(lead("own-target", BENT, names[200][k], names[1_000][k])[1:]) < 0  # undecided
    yield from (200, *lead("own-target", BENT, names[200][4], names[200][0])[1:])
    swept, config = runs("own-predecessors"), Config()
    per_step = config.batch_size * (1 - config.eta) / config.update_every
    long, short = (swept.last("transitions_per_sweep", one, CROSSING).mean() / per_step for one in TER[::-1])
    yield from (round(long, -1), 200, 1_000, short)


def other_versions() -> Iterator[float]:
    env, bent = f"{CROSSING} (10 % random)", f"{CROSSING} (10 % random, bend 1)"
    yield from (10, lead("fig-g9", env, RELEASED, "ebu")[0])
    yield from (100 * end for end in ends(runs("fig-g9"), env, "uer", "per", *TER))
    gains = {one: spread(area("fig-g9", env, one), area("fig3a", CROSSING, one), paired=True) for one in ALL}
    assert {one for one, (_, low, _) in gains.items() if low > 0} == {"uer", "ebu", *TER}
    yield from (*gains["uer"], min(gains[one] for one in ("uer", "ebu", *TER))[0])
    for one in TER:
        yield from (*means("fig-g9", bent, one), *means("fig-h10", BENT, one))
        assert (area("fig-g9", bent, one) > area("fig-h10", BENT, one)).all()
    yield from (*means("fig-g9", bent, "uer", "per"), both(*means("fig-g9", bent, "discor", "ebu")))
    yield from (100 * end for end in ends(runs("fig-g9"), bent, *TER, "per", "uer"))
    env, bent = f"{CROSSING} (no terminal)", f"{CROSSING} (no terminal, bend 1)"
    yield from (*means("fig-h10", env, "ter", "ter (standardised U)"), *lead("fig-h10", env, RELEASED, "per"))
    yield from (lead("fig-h10", env, RELEASED, one)[0] for one in ("uer", "ebu"))
    yield spread(area("fig-h10", env, "uer"), area("fig-h10", CROSSING, "uer"))[0]
    yield from means("fig-h10", bent, RELEASED, "uer", "per", "ter", "ter (standardised U)")
    yield from (both(*means("fig-h10", bent, "discor", "ebu")), *means("fig-h10", BENT, *TER))
    yield both(*means("fig-h10", BENT, "uer", "per"))


def sweeps_and_replay() -> Iterator[float]:
    found, what = runs("own-predecessors"), ("transitions_per_sweep", "terminal_share")
    long, half, *short = (found.last(one, ter, CROSSING).mean() for ter in TER[::-1] for one in what)
    assert round(100 * half, 1) == 0.5
    yield from (sweeps.Config().transitions, long, short[0], 100 * short[1])
    small = [found.last(one, ter, SMALL).mean() for ter in TER[::-1] for one in what]
    yield from (small[0], 100 * small[1], small[2], 100 * small[3], sweeps.Config().copies)
    assert min(found.last("grounded", "ter", env).mean() for env in found.envs) > 0.999
    grounded = [100 * found.last("grounded", RELEASED, env).mean() for env in found.envs]
    yield from (min(grounded), max(grounded))
    yield from (area("own-replayed", CROSSING, one, "distance").mean() for one in TER[::-1])
    yield from lead("own-replayed", CROSSING, "ter", RELEASED, "distance")
    yield from (*lead("own-replayed", CROSSING, RELEASED, "ter", "td_error"), 50_000)
    curves = {one: runs("own-replayed").curve("distance", one, CROSSING) for one in ("ter", "uer", "per")}
    far = {one: values.mean(axis=0)[steps >= 50_000] for one, (steps, values) in curves.items()}
    yield at_most(max(np.abs(far["ter"] - far[one]).max() for one in ("uer", "per")), 0.7)


def sokoban() -> Iterator[float]:
    tasks = (SMALL, "5x5-2")
    yield runs("fig3b").steps(SMALL)
    ter, uer, *rest = np.transpose([late("fig3b", env, "ter", "uer", "per", "discor") for env in tasks])
    yield from (*ter, *uer, at_most(np.abs(np.subtract(rest, uer)).max(), 9))
    for env in tasks:  # EBU forgets
        assert runs("fig3b").curve("success", "ebu", env)[1].mean(axis=0)[2] > 0.015 * late("fig3b", env, "ebu")[0]
    yield from (3, 3, 1_500, 220)  # the room's tiles, and a count of levels made by hand
    yield from (-late("fig3b", env, "ebu", metric="q_overestimation")[0] for env in tasks)
    released = mean_of(runs("fig-f8").last("q_overestimation", "ebu (released)", SMALL, LAST))
    yield from (released.value, *released.interval())
    yield both(*(-100 * runs("fig3b").curve("q_overestimation", "ter", env)[1][:, 1].mean() for env in tasks), digits=0)
    yield runs("fig3b").curve("q_overestimation", "ter", SMALL)[0][1]
    # Fig. J.12
    without, released_ones = "ebu (no timeout)", ("ebu (released)", "ebu (released, no timeout)")
    yield from (*means("fig-j12", SMALL, without, "ebu", "ter"), lead("fig-j12", SMALL, "ter", without)[0])
    yield from means("fig3b", SMALL, "uer")
    assert round(10 * runs("fig3b").first("success", "ebu", SMALL).mean()) == 3
    assert (area("fig-j12", SMALL, without) > area("fig3b", SMALL, "uer")).all()
    yield from (*means("fig-j12", CROSSING, *released_ones), *lead("fig-j12", CROSSING, *released_ones))
    yield from means("fig-j12", CROSSING, "ebu", without)
    # Fig. 6
    alone = tuple(ALONE)
    yield from (*means("fig6", SMALL, alone[0]), 0, *means("fig6", SMALL, alone[1]), 40_000)
    (steps, ter), (_, ebu) = (runs("fig6").curve("normalized_return", one, SMALL) for one in alone)
    gap = (ter - ebu).mean(axis=0)
    assert gap[steps > 40_000].sum() > 0.8 * gap.sum()
    yield from (*means("fig6", CROSSING, *alone), *lead("fig6", CROSSING, *alone))
    yield from (*means("fig3a", CROSSING, RELEASED), *means("fig5", CROSSING, f"eta=0{ONE}"))
    yield from (*means("fig6", BENT, *alone), *lead("fig6", BENT, *alone))
    assert (area("fig6", BENT, alone[1]) < 0.01).sum() == 2
    yield from (0.5, *means("fig3a", BENT, "ebu"))


def settings() -> Iterator[float]:
    high = SAID["fig5-high"]
    yield from (0.5, 0.7, 0.1, 0.2, high.count("r"), len(high))
    yield from (*means("fig5", SMALL, "eta=0"), 0.1, *means("fig5", SMALL, "eta=0.1"))
    betas = means("fig-f8", CROSSING, *(f"beta={beta:g}" for beta in (0, 0.25, 0.5, 0.75, 1)))
    yield from (min(betas), max(betas), *means("fig-f8", SMALL, "ebu (released)", "beta=0.5"))
    assert runs("fig-f8").learns("ebu (released)", SMALL).collapses
    yield from means("fig-i11", CROSSING, "ebu + per", *TER)
    etas = (0, 0.05, 0.1, 0.2, 0.5, 0.7)
    none, *some, half, most = means("fig5", CROSSING, *(f"eta={eta}{ONE}" for eta in etas))
    yield from (none, min(some), max(some), 0.05, 0.2, half, 0.5, most, 0.7, *means("fig3a", CROSSING, "per"), 0.5)
    yield from (*lead("fig5", CROSSING, f"eta=0{ONE}", f"eta=0.5{ONE}"), 0.7, 0.5)
    *some, half, most = means("fig5", CROSSING, *(f"eta={eta}" for eta in etas))
    yield from (min(some), max(some), 0.2, half, 0.5, most, 0.7, 70_000)
    shares = [runs("fig5").curve("success", *pair) for pair in runs("fig5").groups if pair[1] == CROSSING]
    yield max(100 * share.mean(axis=0)[steps < 70_000].max() for steps, share in shares)
    # Fig. 4
    more = {ratio: [f"{one} x{ratio}" for one in BASELINES] for ratio in (1, 2)}
    yield from (RATIO_STEPS, *means("fig4", SMALL, "ter x0.25"))
    for names in more.values():
        yield from (min(means("fig4", SMALL, *names)), max(means("fig4", SMALL, *names)))
    eight = [*more[1], *more[2]]
    gains = [lead("fig4", SMALL, one, f"{one.split()[0]} x0.25")[1] > 0 for one in eight]
    assert gains == [False] * 7 + [True]
    ter, *first = (area("fig4", SMALL, one)[:3] for one in ("ter x0.25", *eight))
    assert sum(spread(ter, one, paired=True)[1] > 0 for one in first) == 2
    yield from means("fig4", SMALL, "discor x2", "discor x0.25")
    q = late("fig4", SMALL, *eight, metric="q_overestimation")
    yield from (-max(q), -min(q))


def what_decides() -> Iterator[float]:
    yield from (10, LARGEST_RETURN[SMALL])
    for one in ("ter", "per", "uer", "ebu", "discor"):
        yield from means("own-bend", SMALL, one, f"{one} (bend at R_max)")
    yield from lead("own-bend", SMALL, "discor (bend at R_max)", "discor")
    again, before = (means(of, SMALL, "ebu", "uer", "per", "discor", "ter") for of in ("own-bend", "fig3b"))
    assert np.abs(np.subtract(again, before)).argmax() == 0
    yield from (again[0], before[0])
    nature, codes = ([f"{one} ({network})" for one in ("ter", "uer")] for network in ("nature", "codes"))
    yield from (*means("own-network", SMALL, *nature, *codes), *late("own-network", SMALL, *nature))
    assert lead("own-network", SMALL, *codes)[1] < 0
    minutes = 60 * runs("own-network").frame.groupby(["method", "seed"])["hours"].max().groupby("method").mean()
    yield minutes[nature].mean()
    assert round(minutes[codes].mean()) == 2
    yield SMALL_MEMORY.quick
    for form in (" (small memory)", ""):
        yield from means("own-memory", SMALL, *(one + form for one in ("uer", "per", "discor")))
    yield from means("own-memory", SMALL, "ebu (small memory)", "ebu", "ter")
    unseen = "5x5-2 (64 levels)"
    yield from (EXPERIMENTS["own-levels"]("quick")[0].config.levels, *means("own-levels", unseen, "ter"))
    yield from (both(*means("own-levels", unseen, "uer", "per")), *means("own-levels", unseen, "discor", "ebu"))


def times_and_the_rest() -> Iterator[float]:
    def ms(metric: str, method: str) -> np.ndarray:
        return 1_000 * runs("table-b1").last(metric.replace(" ", "_seconds_"), method, CROSSING)

    def ratio(metric: str) -> float:
        return np.exp(np.log(ms(metric, "ter") / ms(metric, "uer")).mean())

    yield runs("table-b1").steps(CROSSING)
    yield from (*(ms("choose mean", one).mean() for one in ("ter", "uer")), ratio("choose mean"), 2)  # the paper's
    yield from (ratio("choose median"), *(ms("batch mean", one).mean() for one in ("ter", "uer")), FACTOR)
    yield from (*(ms("choose p999", one).mean() for one in ("ter", "per")), 0.256, 0.28)  # the paper's
    *_, second, longest = sorted(ms("choose max", "ter"))
    yield from (longest / 1_000, at_most(second, 1), ms("choose mean", "ebu").mean())
    # DreamerV2
    found = read("ter", "fig-l14")
    minutes = 60 * found.frame.groupby(["method", "seed"])["hours"].max()
    yield from (found.steps(SMALL, "dreamer"), minutes["dreamer"].min(), minutes["dreamer"].max())
    steps, success = found.curve("success", "dreamer", SMALL)
    yield from (success[:, 0].mean(), steps[0], success[:, -1].mean())
    early = found.rows("ter", SMALL).query("step == 10_000").groupby("seed")["hours"].max()
    yield from (100 * found.curve("success", "ter", SMALL)[1][:, 1].mean(), 3_600 * early.mean())
    yield from (100 * found.last("success", "ter", SMALL, LAST).mean(), found.steps(SMALL, "ter"))
    assert round(minutes["ter"].mean()) == 1
    # NChain
    chain, env = read("ter", "fig2", "full"), "NChain-20"
    needed = {method: chain.last("backups_to_solve", method, env) for method, _ in chain.groups}
    yield from (len(needed["ter"]), needed["ter"].mean(), 100)
    error = {chain.area("value_error", method, env).mean(): method for method in needed}
    assert error[min(error)] == "ter"
    assert min(needed[one].min() for one in needed if one not in ("ter", "ebu")) > 100
    factors = needed["ebu"] / needed["ter"]
    about = mean_of(np.log(factors))
    yield from ((factors > 1).sum(), *np.exp([about.value, *about.interval()]), np.median(factors), 2, factors.mean())
    yield needed["ebu"].max()
    assert 0.8 < factors.max() / np.sort(factors)[:-1].sum() < 1
    # what is no evidence
    game = np.array([runs("fig-m15").curve("return", one, "Freeway")[1][0] for one in (*BASELINES, "ter")])
    yield from (runs("fig-m15").steps("Freeway"), both(*game[:, 0], digits=0), 5_000, game[:, -1].min())
    yield from (game[:, -1].max(), 1, 3, 10, 3)
    yield from (*area("fig-k13", SMALL, "d=3", "success"), *area("fig3b", SMALL, "ter", "success")[:3])


SECTIONS = {
    "Where the loss bends decides": the_bend, "10 % random actions": other_versions,
    "What a sweep takes": sweeps_and_replay, "Fig. 3b, 100,000 steps": sokoban, "Fig. 5, F.8": settings,
    "Where the loss bends** makes": what_decides, "Table B.1": times_and_the_rest,
}  # fmt: skip
"""How the text of a section begins, and its numbers."""
_, *TEXTS = re.split(rf"\*\*(?={'|'.join(map(re.escape, SECTIONS))})", TEXT)


@pytest.mark.parametrize(("text", "numbers"), list(zip(TEXTS, SECTIONS.values(), strict=True)), ids=list(SECTIONS))
def test_every_number_is_that_of_the_committed_runs(text, numbers):
    found = NUMBER.findall(NAMES.sub("", text))
    assert found == shown(list(numbers()), found)
