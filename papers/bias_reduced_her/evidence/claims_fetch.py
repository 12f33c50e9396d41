"""Claims about the Fetch tasks, in the protocol of HER's authors. None is the paper's.

*Precondition.* On FetchPush, an agent without hindsight ends below NOTHING, HER above LEARNED: what is known of both.
Where the precondition fails nothing is said about the filter there. Fresh seeds, which have no run without hindsight,
and FetchPickAndPlace ask for less: HER gets above NEAR_ZERO.

*Score.* The success rate of episodes that do not begin at their goal, over training or at the end.
"""

from collections.abc import Sequence
from functools import partial

from lab.judge.claims import Claim
from lab.judge.comparisons import Room, Runs, Score, Side, area, last
from lab.judge.intervals import number
from lab.judge.results import MissingData
from lab.judge.verdicts import Learning
from papers.bias_reduced_her.evidence.claims_runs import LAST, NEAR_ZERO, env_steps
from papers.bias_reduced_her.evidence.labels import FETCH, FETCH_FRESH, FETCH_HER, label, with_bias

NOTHING, LEARNED = 0.05, 0.5
PUSH, PLACE = "FetchPush", "FetchPickAndPlace"
END = Score(last("solved", LAST), show=number)
ENDS, BIAS = [Score(last(metric, LAST), gated=True) for metric in ("solved", "bias")]


def fit(runs: Runs, env: str) -> bool:
    """Whether the precondition holds."""
    with_none = env == PUSH and runs.experiment != FETCH_FRESH
    try:
        her = runs.curve("solved", "her", env)[1].mean(axis=0)
        none = runs.last("solved", "none", env, LAST).mean() if with_none else 0.0
    except MissingData:
        return False
    return bool(none < NOTHING and her[-LAST:].mean() > LEARNED) if with_none else bool(her.max() > NEAR_ZERO)


def learning(runs: Runs, method: str, env: str) -> Learning:
    return runs.learning("solved", method, env, 0.0) if fit(runs, env) else Learning(False, False, 0.0)


def unfit(runs: Runs, sides: Sequence[Side]) -> str:
    return "" if fit(runs, sides[0][1]) else "the precondition on HER and no hindsight does not hold"


ROOM = Room(
    Score(area("solved"), gated=True), learning, label=label, note=unfit, steps=env_steps, rows=with_bias
)  # fmt: skip
claim = partial(Claim, kind="own")
CLAIMS = [
    claim(
        "own-fetch-her", "own-fetch-her", f"On FetchPush, HER ends above a success of {LEARNED:g}, and without "
        f"hindsight it stays below {NOTHING:g} (what follows asks this of the means alone)", "-",
        ROOM.all(
            {"HER": ("her", ">", LEARNED, END), "no hindsight": ("none", "<", NOTHING, END)}, of=FETCH_HER, on=PUSH
        ),
    ),
    claim(
        "own-fetch-filter", "own-fetch", "On FetchPush, Filtered-HER succeeds more often over training than HER", "-",
        ROOM.all("filtered-her", ">", "her", of=FETCH, on=PUSH),
    ),
    claim(
        "own-fetch-end", "own-fetch", "On FetchPush, Filtered-HER ends with more success than HER", "-",
        ROOM.all("filtered-her", ">", "her", of=FETCH, on=PUSH, by=ENDS),
    ),
    claim(
        "own-fetch-thinned", "own-fetch", "On FetchPush, Filtered-HER succeeds more often over training than HER with "
        "as few virtual goals", "-", ROOM.all("filtered-her", ">", "her-thinned", of=FETCH, on=PUSH),
    ),
    claim(
        "own-fetch-bias", "own-fetch", "On FetchPush, HER over-estimates the value of the first state more than "
        "Filtered-HER", "-",
        ROOM.all("her", ">", "filtered-her", of=FETCH, on=PUSH, by=BIAS),
    ),
    claim(
        "own-fetch-terminal", "own-fetch", "On FetchPush with terminal virtual successes, Filtered-HER succeeds more "
        "often over training than HER", "-",
        ROOM.all("filtered-her (terminal)", ">", "her (terminal)", of=FETCH, on=PUSH),
        scale="full",
    ),
    claim(
        "own-fetch-place", "own-fetch", "On FetchPickAndPlace, Filtered-HER succeeds more often over training than HER",
        "-", ROOM.all("filtered-her", ">", "her", of=FETCH, on=PLACE), scale="full",
    ),
    claim(
        "own-fetch-fresh", "own-fetch-fresh", "On FetchPush, in ten fresh seeds, Filtered-HER succeeds more often over "
        "training than HER", "-", ROOM.all("filtered-her", ">", "her", of=FETCH_FRESH, on=PUSH),
    ),
    claim(
        "own-fetch-fresh-end", "own-fetch-fresh", "On FetchPush, in ten fresh seeds, Filtered-HER ends with more "
        "success than HER", "-", ROOM.all("filtered-her", ">", "her", of=FETCH_FRESH, on=PUSH, by=ENDS),
    ),
    claim(
        "own-fetch-fresh-bias", "own-fetch-fresh", "On FetchPush, in ten fresh seeds, HER over-estimates the value of "
        "the first state more than Filtered-HER", "-",
        ROOM.all("her", ">", "filtered-her", of=FETCH_FRESH, on=PUSH, by=BIAS),
    ),
]  # fmt: skip
