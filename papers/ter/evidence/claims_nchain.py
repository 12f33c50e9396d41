"""What Section 5.2 and Figure 2 say about NChain, as checks. Runs that were given up count as their last backup."""

import numpy as np

from lab.claims import MIN_SEEDS, Claim, Verdict, combine, judge_difference, number
from lab.results import Results, final, matrix
from lab.stats import auc, bootstrap_interval
from papers.ter.nchain import METHODS

ENV = "NChain-20"
BUDGET = 100
"""Backups that the paper's figure shows."""
SLOW = ("uer", "per", "per-proportional", "discor")


def backups_to_solve(results: Results) -> tuple[dict[str, np.ndarray], str]:
    """Backups until the greedy policy was right, one per seed, of each method; and the scale."""
    frame, scale = results.need("fig2")
    return {method: final(frame, "backups_to_solve", method, ENV) for method in METHODS}, scale


def order(results: Results) -> Verdict:
    """TER < EBU < the others, in mean backups."""
    needed, scale = backups_to_solve(results)
    pairs = [("ebu", "ter"), *((method, "ebu") for method in SLOW)]
    parts = {f"{x} > {y}": judge_difference(needed[x], needed[y], steps=BUDGET, scale=scale) for x, y in pairs}
    return combine(parts)


def _in_range(values: np.ndarray, low: float, high: float, unit: str, scale: str, note: str) -> Verdict:
    """Reproduced when the interval of the mean lies in [low, high], not when it lies outside, else partly."""
    mean, (left, right) = float(values.mean()), bootstrap_interval(values)
    if len(values) < MIN_SEEDS:
        status = "inconclusive"
    elif low <= left and right <= high:
        status = "reproduced"
    else:
        status = "not reproduced" if right < low or left > high else "partly"
    interval = f"[{number(left)}, {number(right)}]" if len(values) > 1 else ""
    return Verdict(status, f"{number(mean)}{unit}", interval, len(values), BUDGET, scale, note)


def thirty(results: Results) -> Verdict:
    """TER is done after about 30 backups: within a fifth of it."""
    needed, scale = backups_to_solve(results)
    note = "counts as reproduced within 24 to 36; with all predecessors followed, 35 is the most TER can need"
    return _in_range(needed["ter"], 24, 36, " backups", scale, note)


def slow_ones(results: Results) -> Verdict:
    """The other baselines are not done after 100 backups: on no data set; partly, when on fewer than half."""
    needed, scale = backups_to_solve(results)
    parts = {}
    for method in SLOW:
        done, n = int((needed[method] <= BUDGET).sum()), len(needed[method])
        status = "reproduced" if done == 0 else "partly" if done < n / 2 else "not reproduced"
        if n < MIN_SEEDS:
            status = "inconclusive"
        parts[method] = Verdict(status, f"solved on {done} of {n}", "", n, BUDGET, scale)
    return combine(parts)


def twice(results: Results) -> Verdict:
    """EBU over TER, a ratio per data set. More than twice keeps the direction of the claim, but not its size."""
    needed, scale = backups_to_solve(results)
    ratio = needed["ebu"] / needed["ter"]
    note = (
        f"mean over data sets, median {number(float(np.median(ratio)))}; counts as reproduced within 1.5 to 2.5. "
        "The paper's number comes from one data set, and depends on how long its episodes are"
    )
    verdict = _in_range(ratio, 1.5, 2.5, " times", scale, note)
    if verdict.status == "not reproduced" and bootstrap_interval(ratio)[0] > 1:
        verdict.status = "partly"
    return verdict


def fastest_error(results: Results) -> Verdict:
    """TER has the smallest mean value error over the 100 backups."""
    frame, scale = results.need("fig2")
    height = {method: auc(*matrix(frame, "value_error", method, ENV)) for method in METHODS}
    return combine(
        {
            f"{method} above ter": judge_difference(height[method], height["ter"], steps=BUDGET, scale=scale)
            for method in METHODS
            if method != "ter"
        }
    )


CLAIMS = [
    Claim("fig2-order", "fig2", "Backups needed on NChain: TER < EBU < UER, PER, DisCor", "TER < EBU < rest", order),
    Claim("fig2-thirty", "fig2", "TER solves NChain after about 30 backups", "30 backups", thirty),
    Claim("fig2-slow", "fig2", "UER, PER and DisCor do not solve NChain within 100 backups", "none", slow_ones),
    Claim("fig2-twice", "fig2", "EBU takes about twice the backups of TER on average", "2 times", twice),
    Claim("fig2-error", "fig2", "TER's value error falls faster than that of every baseline", "fastest", fastest_error),
]
