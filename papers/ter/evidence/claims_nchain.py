"""What Section 5.2 and Figure 2 say about NChain, as checks. Runs that were given up count as their last backup.

All methods of a seed share the data set and the first table: comparisons are paired by seed. Numbers of backups are
compared by their ratios: one run that was given up after 2,000 would weigh as much as all others in a mean.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from lab.judge.claims import Claim
from lab.judge.comparisons import Judge, Runs, Score, area, last
from lab.judge.intervals import number
from lab.judge.verdicts import Verdict, controlled
from papers.ter.evidence.comparisons import ROOM
from papers.ter.evidence.labels import NCHAIN

ENV = "NChain-20"
BUDGET = 100
"""Backups that the paper's figure shows."""
SLOW = ("uer", "per", "per-proportional", "discor")
NEEDED = last("backups_to_solve")
"""Backups until the greedy policy was right."""


def more(x: np.ndarray, y: np.ndarray) -> str:
    return f"on {int((x > y).sum())} of {len(x)} data sets"


def about(note: str) -> Score:
    """Backups, printed as they are."""
    return Score(NEEDED, show=number, note=note)


def times_ter(runs: Runs, method: str, env: str) -> np.ndarray:
    """Backups over TER's, for each data set that both have."""
    sides = [(method, env), ("ter", env)]
    theirs, ters = runs.common([NEEDED(runs, *side) for side in sides], sides)
    return theirs / ters


def of_one_data_set(ratios: np.ndarray, _: np.ndarray) -> str:
    return (
        f"geometric mean over data sets, median {number(float(np.median(ratios)))}; about: 1.5 to 2.7. The paper's "
        "number comes from one data set, and depends on how long its episodes are"
    )


def slow(method: str) -> Judge:
    """Judge of "it is not done after 100 backups, while TER is": on average; partly where it is on some data set."""

    def judge(runs: Runs, env: str) -> Verdict:
        needed = NEEDED(runs, method, env)
        done = int((needed <= BUDGET).sum())
        verdict = runs.compare(method, ">", BUDGET, env, about(f"solved within {BUDGET} on {done} of {len(needed)}"))
        if done and verdict.status == "reproduced":
            verdict.status = "partly"
        return controlled(verdict, float(np.mean(NEEDED(runs, "ter", env) <= BUDGET)) > 0.5)

    return judge


CHAIN = replace(
    ROOM, score=Score(NEEDED, note=more), places=None, until=lambda experiment, scale: {},
    steps=lambda runs, sides: BUDGET,
)  # fmt: skip
chain = partial(CHAIN.all, of="fig2", on=ENV)
ORDER = [("ebu", "ter"), *((method, "ebu") for method in SLOW)]


CLAIMS = [
    Claim("fig2-order", "fig2", "Backups needed on NChain: TER < EBU < UER, PER, DisCor", "TER < EBU < rest",
          chain({f"{NCHAIN[x]} > {NCHAIN[y]}": (x, ">", y) for x, y in ORDER}, decisive=["EBU > TER"],
                by=Score(NEEDED, ratio=True, note=more))),
    Claim("fig2-thirty", "fig2", "TER solves NChain after about 30 backups", "30 backups",
          chain("ter", "==", 30, margin=6,
                by=about("about: 24 to 36; with all predecessors followed, 35 is the most TER can need"))),
    Claim("fig2-slow", "fig2", "UER, PER and DisCor do not solve NChain within 100 backups", "none",
          chain({NCHAIN[method]: slow(method) for method in SLOW})),
    Claim("fig2-twice", "fig2", "EBU takes about twice the backups of TER on average", "2 times",
          chain("ebu", "==", 2, margin=4 / 3,
                by=Score(times_ter, ratio=True, show=lambda share: number(2 * share), note=of_one_data_set))),
    Claim("fig2-error", "fig2", "TER's value error falls faster than that of every baseline", "fastest",
          chain({f"{NCHAIN[method]} above TER": (method, ">", "ter") for method in NCHAIN if method != "ter"},
                by=Score(area("value_error")))),
]  # fmt: skip
