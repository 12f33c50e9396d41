"""README.md of the arena: every number of its results, and of what its runs took, is that of the committed runs."""

import functools
import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from arena.replay.evidence import claims, gains
from arena.replay.evidence.experiments import legal
from arena.replay.tasks import TASKS
from lab.judge.results import Results
from tests.test_findings import NUMBER, ROOT, at_most, shown, spread

PAGE = (ROOT / "arena/README.md").read_text()
TEXT = PAGE.partition("table below has the first runs.\n\n")[2]
PARTS = re.split(r"\n\n|\n(?=- \*\*)", TEXT.partition("\n\n![Gains]")[0].replace("## Results\n\n", ""))
WORDS = "none one two three four five six seven eight nine ten eleven twelve thirteen".split()
QUICK = Results(ROOT / "arena/replay/evidence/results", ("quick",))
CHAIN, SIMPLE, LAVA, SOKOBAN, FLIP, PENDULUM, HOPPER, CHEETAH, HAND = TASKS
SECONDS, OTHERS = pd.Series(dict(zip(TASKS, (8, 23, 23, 9, 12, 49, 35, 30, 27)))), 1.25
"""What a run was registered to cost with uniform replay, and by what factor more with other ideas."""
STOPPED = 3
"""During a run that took that many times the median of its idea, the machine was stopped (LavaCrossing)."""
SAID = {
    CHAIN: "| | ier per laber ners | discor", SIMPLE: "| | |", LAVA: "| | discor |", SOKOBAN: "| | ier | ebu",
    FLIP: "ter rr-m her her-per filtered-her filtered-her-per | ier per | |", PENDULUM: "ier per-rank rr-m | per | |",
    HOPPER: "| per per-rank rr-m relo laber | |", CHEETAH: "| | |",
    HAND: "her her-per filtered-her filtered-her-per | ter | |",
}  # fmt: skip
"""By task, the ideas that gain clearly | by their own interval | lose by their own interval | clearly."""
LEARN = {SIMPLE: "", LAVA: "", CHEETAH: "refer", HAND: SAID[HAND].replace("|", "")}
"""The ideas that learn, on tasks where most do not."""
runs = functools.partial(gains.runs_of, QUICK)


@functools.cache
def found() -> dict[tuple[str, str], gains.Gain]:
    return {(idea, env): gains.gain(runs(env), idea, env) for env in TASKS for idea in legal(env)[1:]}


def limit(*without: str) -> float:
    return gains.limit([one for (_, env), one in found().items() if env not in without])


def gain(env: str, *ideas: str) -> Iterator[float]:
    for idea in ideas:
        yield from (found()[idea, env].estimate.value, *found()[idea, env].estimate.interval())


def curve(env: str, idea: str = "uniform", metric: str | None = None) -> np.ndarray:
    return runs(env).curve(metric or TASKS[env].score, idea, env)[1].mean(axis=0)


def height(env: str, idea: str = "uniform") -> np.ndarray:
    return runs(env).area(TASKS[env].score, idea, env)


def null(env: str, *ideas: str) -> list[str]:
    """What becomes of the null hypothesis, idea by idea."""
    return [claims.compared(QUICK, env, idea, null=True).status for idea in ideas or legal(env)[1:]]


def once(*values: float, digits: int = 2) -> float:
    """What the text says once of several."""
    [value] = {round(value, digits) for value in values}
    return value


def test_who_gains_who_loses_and_where_the_verdict_is_open():
    for env, said in SAID.items():
        of = {idea: (np.sign(list(gain(env, idea))).sum(), found()[idea, env].p <= limit()) for idea in legal(env)[1:]}
        kinds = [(3, True), (3, False), (-3, False), (-3, True)]
        assert [[idea for idea in of if of[idea] == kind] for kind in kinds] == [*map(str.split, said.split("|"))]
    assert all(env in " ".join(PARTS) for env in TASKS)
    for env, said in LEARN.items():
        how = {one: runs(env).learning(TASKS[env].score, one, env, 0.0 if env == HAND else None) for one in legal(env)}
        assert {one for one in how if how[one].learns} == set(said.split())
        assert {*null(env, *(set(legal(env)[1:]) - set(said.split())))} == {"inconclusive"}
    assert runs(CHEETAH).learning("score", "refer", CHEETAH).collapses
    opened = (*null(PENDULUM, "relo", "laber", "ero"), *null(HOPPER, "ter"), *null(SOKOBAN, "ter"))
    assert {*opened, *null(CHEETAH, "refer")} == {"inconclusive"}
    assert {*null(PENDULUM, "ter"), *null(HOPPER, "rr-c", "ier", "ners", "ero", "refer")} == {"reproduced"}


# ---- the numbers, in the order of the text ---------------------------------------------------------------------------
def times() -> Iterator[float]:
    hours = pd.concat({env: runs(env).frame.groupby(["method", "seed"])["hours"].max().unstack() for env in TASKS})
    stopped = hours.loc[[LAVA]].gt(STOPPED * hours.median(axis=1)[[LAVA]], axis=0).reindex(hours.index).eq(True)
    hours = hours.mask(stopped, hours.median(axis=1), axis=0)
    took = hours.sum(axis=1).groupby(level=0).sum()
    cost = OTHERS * SECONDS * hours.count(axis=1).groupby(level=0).sum() / 3600
    yield from (hours.size, cost.sum(), OTHERS, took.sum())
    groups = [[CHAIN, SOKOBAN, FLIP], [HAND], [PENDULUM], [HOPPER, CHEETAH], [SIMPLE, LAVA]]
    spent, share = zip(*((took[some].sum(), took[some].sum() / cost[some].sum()) for some in groups))
    yield from (share[0], spent[0], share[1], *spent[1:], min(share[2:]), max(share[2:]))
    mean = hours.mean(axis=1)
    excess = hours.loc[HAND, "rr-m"].sum() - cost[HAND] / len(hours.loc[HAND])
    assert excess / (took - cost)[HAND] > 0.5
    yield from (60 * mean[HAND, "rr-m"], mean[HAND, "rr-m"] / mean[HAND, "uniform"])
    yield once(*(mean[env, "ier"] / mean[env, "uniform"] for env in (SIMPLE, LAVA)), digits=0)
    yield stopped.to_numpy().sum()


def test_the_cost_of_the_second_runs_and_of_all():
    """At the table's speed; on the other tasks, what was taken."""
    first, again, everything = 20_000, 0.0, 0.0
    for env in TASKS:
        if env in (SIMPLE, LAVA):
            runs_of_it = 10 * len(legal(env))
            again += OTHERS * SECONDS[env] * TASKS[env].config.steps / first * runs_of_it / 3600
        else:
            everything += runs(env).frame.groupby(["method", "seed"])["hours"].max().sum()
    everything += again
    assert f"(about {again:.0f} core-hours)" in PAGE and f"takes {again:.0f} core-hours. Until then" in PAGE
    assert f"the comparison: about {everything:.0f} core-hours" in PAGE
    [minutes] = re.findall(r"^arena: +## (\d+) \|", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert int(minutes) == round(everything * 60 / 2, -1), "on two cores"


def family() -> Iterator[float]:
    more = sorted(one.p for one in found().values() if limit() < one.p < 0.0105)
    before = [one.p for (_, env), one in found().items() if env not in (SIMPLE, LAVA, PENDULUM)]
    yield from (len(found()), limit(), len(more), more[0], more[-1])
    yield sum(limit() < p <= limit(SIMPLE, LAVA, PENDULUM) for p in before)


def summary() -> Iterator[float]:
    split = {env: [part.split() for part in said.split("|")] for env, said in SAID.items()}
    clear = [env for env in TASKS if split[env][0]]
    yield from (len(clear), len(TASKS), len(clear), len(split[HOPPER][1]), len(split[HOPPER][0]))
    of = {env: claims.nothing_beats_uniform(env, QUICK).status for env in TASKS}
    rest = [env for env in TASKS if of[env] == "inconclusive"]
    assert not any(split[env][0] + split[env][1] for env in rest)
    yield from (list(of.values()).count("not reproduced"), len(rest), sum(env in rest for env in LEARN))
    for idea in ("rr-m", "per", "ier", "ter"):
        sure, own, *lost = (sum(idea in split[env][k] for env in TASKS) for k in range(4))
        yield from (sure + own, sure, *([] if idea == "ter" else [sum(lost)]))
        assert idea != "ter" or not any(lost)


def pendulum() -> Iterator[float]:
    best = ("ier", "rr-m", "per-rank", "per")
    yield from (runs(PENDULUM).steps(PENDULUM), curve(PENDULUM)[-1], *gain(PENDULUM, *best))
    yield from (curve(PENDULUM, idea)[-1] for idea in best)
    yield once(*(curve(PENDULUM, idea)[-1] for idea in ("relo", "laber", "ero")), digits=-1)
    yield curve(PENDULUM, "ter")[-1]


def hopper() -> Iterator[float]:
    best = ("per", "rr-m", "relo", "per-rank", "laber")
    p = [found()[idea, HOPPER].p for idea in best]
    yield from (runs(HOPPER).steps(HOPPER), height(HOPPER).mean(), len(best), *gain(HOPPER, *best))
    yield from (sum(one <= limit() for one in p), min(p), max(p))
    leads = np.argmax([curve(HOPPER, idea) for idea in legal(HOPPER)], axis=0) == legal(HOPPER).index("relo")
    assert leads[5:8].all() and not leads[-1]


def hand() -> Iterator[float]:
    her, filtered, both = "her", "filtered-her", "filtered-her-per"
    yield from (100 * curve(HAND).max(), len(curve(HAND)), *gain(HAND, her, filtered, both))
    yield 100 * curve(HAND, both)[-1]
    for x, y in ((filtered, her), (both, "her-per")):
        yield from spread(height(HAND, x), height(HAND, y), paired=True)
    yield from (*gain(HAND, "ter"), found()["ter", HAND].p)
    assert spread(height(HAND, "ter"), height(HAND, her), paired=True)[1] < 0


def cheetah() -> Iterator[float]:
    base, refer = curve(CHEETAH), curve(CHEETAH, "refer")
    yield from (runs(CHEETAH).steps(CHEETAH), base[0], base[-1], refer[0], refer.max(), refer[-1])
    assert refer[-1] == max(curve(CHEETAH, idea)[-1] for idea in legal(CHEETAH))
    yield from gain(CHEETAH, "refer")


def flip() -> Iterator[float]:
    hindsight = [idea for idea in legal(FLIP) if "her" in idea]
    yield once(*(next(gain(FLIP, idea)) for idea in hindsight))
    always = np.min([curve(FLIP, idea) for idea in hindsight], axis=0) == 1
    yield from (runs(FLIP).curve("success", "her", FLIP)[0][always][0], 100 * curve(FLIP)[always][0])
    yield from (*gain(FLIP, "ter"), 100 * curve(FLIP, "ter")[-1], 100 * curve(FLIP)[-1], *gain(FLIP, "rr-m"))
    yield from (next(gain(FLIP, idea)) for idea in ("per", "ier"))


def sokoban() -> Iterator[float]:
    held = null(SOKOBAN)
    yield from (TASKS[SOKOBAN].config.levels, held.count("reproduced"), len(held))
    yield from (*gain(SOKOBAN, "ter", "ebu"), next(gain(SOKOBAN, "ier")))
    behind = curve(SOKOBAN) - curve(SOKOBAN, "ebu")
    assert abs(behind[:4]).max() < 0.03 and behind[4:].min() > 0.1
    assert once(curve(SOKOBAN, "ier", "replayed")[-1], digits=1) == 0.5


def crossings() -> Iterator[float]:
    best = max(height(SIMPLE, idea).mean() for idea in legal(SIMPLE))
    assert best == height(SIMPLE, "ier").mean() and once(best, curve(SIMPLE)[0], digits=3)
    yield from (once(*(runs(env).steps(env) for env in (SIMPLE, LAVA))), best, height(SIMPLE).mean())
    yield from gain(LAVA, "discor")


def chain() -> Iterator[float]:
    lost = {idea: next(gain(CHAIN, idea)) for idea in legal(CHAIN)[1:]}
    yield from (height(CHAIN).mean(), lost["ier"], lost["per"], once(lost["discor"], lost["laber"]), lost["ners"])
    won = [min(gain(env, idea)) > 0 for idea, env in claims.PREDICTED]
    yield from (won.count(False), len(won), *gain(CHAIN, "ter", "ebu"))
    curves = np.array([runs(CHAIN).curve("success", idea, CHAIN)[1] for idea in legal(CHAIN)])
    falls = ((curves[:, :, :-1] == 1) & (curves[:, :, 1:] < 0.5)).any(axis=2).sum(axis=1)
    half = [max(gain(CHAIN, idea)) - lost[idea] for idea in lost]
    yield from (falls.min(), falls.max(), curves.shape[1], min(half), max(half))
    assert runs(CHAIN).steps(CHAIN) / TASKS[CHAIN].config.target_interval == 20 == int(CHAIN[-2:])


def laws() -> Iterator[float]:
    def ends(metric: str, *ideas: str, tasks: tuple = tuple(TASKS)) -> np.ndarray:
        return np.array([curve(env, idea, metric)[-1] for env in tasks for idea in ideas or legal(env)[1:]])

    few = (FLIP, CHEETAH)
    ier = 100 - 100 * ends("replayed", "ier", tasks=tuple(set(TASKS) - set(few)))
    yield from (min(ier), max(ier), *(100 - 100 * ends("replayed", "ier", tasks=few)))
    ideas = {env: [idea for idea in legal(env) if idea != "ier"] for env in TASKS if env != HAND}
    *_, second, largest = sorted(100 - 100 * curve(env, idea, "replayed")[-1] for env in ideas for idea in ideas[env])
    ter, her = 100 - 100 * ends("replayed", "ter", "her", tasks=(HAND,))
    assert largest == 100 - 100 * curve(SIMPLE, "ter", "replayed")[-1]
    less = {idea: ends("entropy", "uniform") - ends("entropy", idea) for idea in ("ter", "ners", "ero")}
    yield from (at_most(second, 20), largest, ter, less["ter"][-1], her)
    for some in (("per-rank", "laber"), ("per",)):
        yield from (ends("weighed", *some).min(), ends("weighed", *some).max())
    yield curve(HOPPER, "relo", "weighed")[-1]
    yield from sorted(ends("weighed", "her-per", "filtered-her-per", tasks=(HAND,)))
    place = list(TASKS).index(CHEETAH)
    yield abs(np.concatenate([less["ners"], np.delete(less["ero"], place)])).max()
    yield less["ero"][place]


NUMBERS = [times, family, summary, pendulum, hopper, hand, cheetah, flip, sokoban, crossings, chain, laws]


@pytest.mark.parametrize(("text", "numbers"), list(zip(PARTS, NUMBERS, strict=True)), ids=[n.__name__ for n in NUMBERS])
def test_every_number_of_the_results_is_that_of_the_committed_runs(text, numbers):
    text = re.sub(rf"\b({'|'.join(WORDS)})\b", lambda word: str(WORDS.index(word[0].lower())), text, flags=re.I)
    read = NUMBER.findall(text.replace("[Fig. 2]", ""))
    assert read == shown(list(numbers()), read)
