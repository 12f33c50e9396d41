"""What claims about draws need beside comparisons: Fig. 1, Table 3, Fig. 5, the laws, NERS's networks alone.

*The bonus for the new.* A transition that was never replayed has score 1. If all others had one score, the law would
have two levels, and its total variation from uniform would be P - c: P the probability that a draw is a transition's
first, c the share of stored transitions that were never drawn. In general P - c is a lower bound of it, so

    explained = (P - c) / total variation

says how much of the law the bonus accounts for. P is logged (`first_time`). So is c: the transitions drawn so far are
the first draws so far, and each step stores one (as long as the memory has not wrapped, which it never does here).
The share of first draws itself tells nothing: with m draws per step it is (1 - c) / m for every sampler.

Since c is less than 1 / m, the bonus alone is bounded by that, whatever the networks learn. Whether they learn anything
is seen in the law among transitions that were replayed (`tv_replayed`).
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from lab.judge.comparisons import TINY, Compare, Judge, Measure, Runs, Score
from lab.judge.intervals import below, difference, number
from lab.judge.results import MissingData
from lab.judge.verdicts import MIN_SEEDS, Verdict, all_of
from papers.ners.evidence.claims_runs import ROOM, beyond, early, fifth, late, places, together
from papers.ners.evidence.labels import SAMPLERS, split
from papers.ners.evidence.paper_values import BASELINES, FIG5, STATISTICS, STEPS, TABLE3, TIME_LIMITS, scorer_updates
from papers.ners.evidence.pooled import replayed
from papers.ners.evidence.postures import posture

MOSTLY = 0.5
CLOSE = 0.25
"""Difference of two statistics of Table 3 that counts as none, as a share of the larger."""
FACTOR = 2.0
"""Ratio of a statistic of Table 3 to the paper's that counts as none."""
UNIFORM = 0.02
"""Total variation from uniform up to which a law hardly differs from RANDOM's."""
LEFT = 0.1
"""Total variation from which a law has left uniform."""
SHRUNK = 0.01
"""Share of the inputs' spread below which hardly anything of it is left."""

# ---- Fig. 1 ----------------------------------------------------------------------------------------------------------

DRAWS = replace(ROOM, steps=lambda runs, sides: STEPS["fig1"])


def share(rule: str, kind: str) -> Measure:
    """Share of the transitions drawn by a rule of Fig. 1 that show the pendulum in a posture."""

    def measure(runs: Runs, method: str, env: str) -> np.ndarray:
        angles = runs.curve(f"{rule}_angle", method, env)[1]
        return np.array([[posture(angle) == kind for angle in row] for row in angles]).mean(axis=1)

    return measure


def over_represented(rule: str, kind: str) -> Score:
    """By how much a posture is more frequent in the draws by a rule than in uniform ones."""
    drawn, uniform = share(rule, kind), share("uniform", kind)
    return Score(lambda *at: drawn(*at) - uniform(*at))


def more_horizontal(rule: str) -> Score:
    """By how much horizontal rods are more frequent in uniform draws than in those by a rule."""
    uniform, other = share("uniform", "horizontal"), share(rule, "horizontal")
    return Score(lambda *at: uniform(*at) - other(*at))


def mostly(rule: str, kind: str, label: str = "random") -> Compare:
    """Check that more than half of a rule's draws are in the posture."""
    return DRAWS.all(label, ">", MOSTLY, of=("fig1",), by=Score(share(rule, kind), show=number))


# ---- Table 3 ---------------------------------------------------------------------------------------------------------


def statistic(name: str, **how: Any) -> Score:
    """A statistic of Table 3."""
    place = STATISTICS.index(name)
    return Score(lambda runs, method, env: replayed(runs.rows(method, env))[:, place], **how)


def extreme(sampler: str, sign: str, name: str, label: str = "") -> Compare:
    """Check that a sampler's statistic is beyond that of each other sampler. label: is added to all samplers'."""
    others = [f"{other}{label}" for other in ("ners", *BASELINES) if other != sampler]
    return ROOM.all(beyond(f"{sampler}{label}", sign, others, statistic(name)), of=("table3",))


def ners_spreads(label: str = "") -> Compare:
    """Check that NERS replays a larger spread of both squared TD errors and Q than RANDOM and than ERO."""
    parts = {
        f"{name} against {SAMPLERS[y]}": (f"ners{label}", ">", f"{y}{label}", statistic(name))
        for name in ("sd TD²", "sd Q")
        for y in ("random", "ero")
    }
    return ROOM.all(together(parts), of=("table3",))


ero_like_random = ROOM.all(
    {name: ("ero", "==", "random", statistic(name)) for name in STATISTICS}, of=("table3",),
    margin=lambda x, y: CLOSE * max(abs(x.mean()), abs(y.mean())),
)  # fmt: skip
"""In all four statistics."""


def as_printed(label: str) -> Compare:
    """Check that RANDOM's mean and deviation of squared TD errors are the paper's, to within a factor FACTOR."""
    theirs = dict(zip(STATISTICS, TABLE3["random"]))
    how: dict[str, Any] = dict(ratio=True, show=lambda ratio: f"x {number(ratio)}")
    parts = {name: (f"random{label}", "==", theirs[name], statistic(name, **how)) for name in ("mean TD²", "sd TD²")}
    return ROOM.all(parts, of=("table3",), margin=FACTOR)


# ---- Fig. 5 ----------------------------------------------------------------------------------------------------------

SAC = replace(ROOM, places=lambda *at: [place for place in places(*at) if place.prefix == "sac "])
ELSEWHERE = tuple(env for env in TIME_LIMITS if env not in FIG5)
BOTH = {"log TD": late("log_td"), "Q": late("q_mean")}
most_with_sac = partial(SAC.most, of=("fig3", "table1"))
high_td_early = partial(most_with_sac, "ners", ">", "random", by=Score(early("log_td")))
high_both_late = partial(
    most_with_sac,
    {name: ("ners", ">", "random", Score(measure)) for name, measure in BOTH.items()},
    decisive=["log TD"],
)
"""The TD errors decide: Q is higher with any better policy."""


def lesser(runs: Runs, x: str, env: str) -> Verdict:
    """Late, x does not replay both higher TD errors and higher Q than RANDOM: the one of the two differences that is
    less, in units of its standard error, is below 0. (Were both 0, chance would find so in 5 of 100 cases.)"""
    sides, _ = runs.sides(x, "random", env)
    found = {
        name: difference(*runs.common([measure(runs, *side) for side in sides], sides), paired=True)
        for name, measure in BOTH.items()
    }
    name = min(found, key=lambda name: found[name].value / max(found[name].error, TINY))
    return runs.decide(found[name], below(), sides, note=name)


def neither(runs: Runs, env: str) -> Verdict:
    """Late, neither PER nor ERO replays both higher TD errors and higher Q than RANDOM."""
    return all_of({SAMPLERS[x]: lesser(runs, x, env) for x in ("per", "ero")})


# ---- how far from uniform --------------------------------------------------------------------------------------------


def near(reading: str) -> Judge:
    """Judge of whether, among replayed transitions, NERS's law by a reading ends within UNIFORM of the uniform one."""

    def judge(runs: Runs, env: str) -> Verdict:
        method = runs.prefix + reading
        updates = int(runs.last("scorer_updates", method, env).mean())
        made = f"{updates} steps of NERS's networks, the paper's runs {scorer_updates(split(method)[0], env):,}"
        return runs.compare(reading, "<", UNIFORM, env, Score(late("tv_replayed"), show=number, note=made))

    return judge


def left_uniform(label: str, tv: Measure, limit: float, share: float) -> Judge:
    """Judge of whether more than a share of the seeds have laws that end further from uniform than a limit. Seed by
    seed: what differs that much between runs has no mean to speak of."""

    def judge(runs: Runs, env: str) -> Verdict:
        method = runs.prefix + label
        found = tv(runs, method, env)
        away, few = int((found > limit).sum()), len(found) < MIN_SEEDS
        return Verdict(
            "inconclusive" if few else "reproduced" if away > share * len(found) else "not reproduced",
            f"{away} of {len(found)} seeds, up to {found.max():.2f}",
            seeds=len(found), steps=runs.steps(env, method), scale=runs.scale,
            note=f"fewer than {MIN_SEEDS} seeds" if few else "",
        )  # fmt: skip

    return judge


def explained(first_time: np.ndarray, draws: np.ndarray, tv: np.ndarray, steps: np.ndarray) -> float:
    """Share of a run's late total variation that the bonus for the new accounts for.

    All [T], row by row, from the first row on: share of first draws and number of draws since the row before, total
    variation, and environment steps so far.
    """
    never = 1.0 - np.cumsum(first_time * draws) / steps  # at the end of each row's stretch
    between = np.convolve(np.concatenate([never[:1], never]), [0.5, 0.5], "valid")  # first_time is of the whole stretch
    late = slice(-fifth(len(steps)), None)
    return float((first_time - between)[late].mean() / max(float(tv[late].mean()), TINY))


def of_the_bonus(runs: Runs, method: str, env: str) -> np.ndarray:
    """The same of each run."""
    table = runs.rows(method, env).pivot(index=["seed", "step"], columns="metric", values="value")
    if not {"first_time", "draws", "tv"} <= {*table}:
        raise MissingData(f"no statistics of the draws of {method} on {env}")
    found = []
    for _, run in table[table["tv"].notna()].groupby(level="seed"):
        steps = run.index.get_level_values("step").to_numpy(dtype=np.float64)
        first, draws = (run[name].fillna(0.0).to_numpy() for name in ("first_time", "draws"))
        found.append(explained(first, draws, run["tv"].to_numpy(), steps))
    return np.array(found)


# ---- NERS's networks alone: the runs of train_scorer.py --------------------------------------------------------------

UNTRAINED = replace(ROOM, steps=lambda runs, sides: 0)
TIMES = ("share", "episode", "environment")
"""Readings of Eq. (2)'s time step."""
BOUNDED = TIMES[:2]
"""Those by which it stays below the length of an episode; Algorithm 1's own grows without bound."""


def left_over(runs: Runs, method: str, env: str) -> np.ndarray:
    """What untrained networks leave of the inputs' spread, as a share of it."""
    layer = max(name for name in runs.rows(method, env)["metric"] if name.startswith("layer_"))
    return runs.first(layer, method, env)
