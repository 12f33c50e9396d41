"""What Appendix E says about V-RACER's hyper-parameters (Figs. 7 and 8), as checks; see claims_runs.py.

A value is compared with the default, which is "vracer refer" itself. "Slower" and "faster" are about the mean return
over all of training, everything else about the score at its end. "Minor" is the house's "the same" or "not worse".
"""

import re
from functools import partial
from itertools import combinations

from lab.judge.claims import Claim
from lab.judge.comparisons import Runs
from lab.judge.results import MissingData, Results
from lab.judge.verdicts import Verdict
from papers.ref_er.evidence.claims_runs import BETA, ROOM, SPREAD, TRAINING, score
from papers.ref_er.evidence.paper_values import FIG7, FIG8

DEFAULT = "vracer refer"
FOUR = ("Humanoid-v5", "Ant-v5", "Walker2d-v5", "HalfCheetah-v5")
"""The tasks of both figures."""
STABLE = ("HalfCheetah-v5",)
"""Tasks that do not depend on avoiding a fall; the paper names this one."""
FALL_PRONE = ("Humanoid-v5", "Ant-v5", "Walker2d-v5")
"""The others."""
SIMPLE = ("HalfCheetah-v5", "Walker2d-v5")
HUMANOID = ("Humanoid-v5",)
RATES = {"3e-5": "lr 3e-05", "1e-4": "", "3e-4": "lr 0.0003"}


def with_(value: str) -> str:
    """The method's label with a value in place of the default."""
    return f"{DEFAULT} ({value})" if value else DEFAULT


def largest_memory(runs: Runs, env: str, usual: str = DEFAULT) -> str:
    """The label of the runs with the largest memory that was tried on a task; its size depends on the scale."""
    sizes = {
        int(found[1]): method
        for method, task in runs.groups
        if task == env and (found := re.fullmatch(rf"{usual} \(N 2\^(\d+)\)", method))
    }
    if not sizes:
        raise MissingData(f"no runs with another N on {env}")
    return sizes[max(sizes)]


def best_rate_differs(results: Results) -> Verdict:
    """The learning rate with the highest mean score is not the same in all tasks.

    Reproduced where the best rates of two tasks differ and each is clearly better than the other's in its task; not
    reproduced where one rate is clearly better than each of the others in all tasks.
    """
    runs = ROOM.runs(results, FIG7)
    scores: dict[str, dict[str, float]] = {}
    for env in FOUR:
        try:
            scores[env] = {rate: float(score(runs, with_(value), env).mean()) for rate, value in RATES.items()}
        except MissingData:
            continue
    if len(scores) < 2:
        raise MissingData("no two tasks with all learning rates")
    best = {env: max(RATES, key=found.__getitem__) for env, found in scores.items()}

    def clearly(env: str, rate: str, other: str) -> Verdict:
        """Whether a rate is better than another in a task."""
        return runs.compare(with_(RATES[rate]), ">", with_(RATES[other]), env)

    pairs = [pair for pair in combinations(best, 2) if best[pair[0]] != best[pair[1]]]
    if pairs:
        shown = [[clearly(a, best[a], best[b]), clearly(b, best[b], best[a])] for a, b in pairs]
    else:
        shown = [[clearly(env, rate, other) for env, rate in best.items() for other in RATES if other != rate]]
    settled = [found for found in shown if all(verdict.status == "reproduced" for verdict in found)]
    status = ("reproduced" if pairs else "not reproduced") if settled else "inconclusive"
    used = (settled or shown)[0]
    return Verdict(
        status,
        effect="best: " + ", ".join(f"{rate} in {env}" for env, rate in best.items()),
        seeds=min(verdict.seeds for verdict in used),
        steps=max(verdict.steps for verdict in used),
        scale=runs.scale,
        p=max(verdict.p or 0.0 for verdict in used) if settled else None,
    )


fig7, fig8 = (partial(ROOM.most, of=of, on=FOUR) for of in (FIG7, FIG8))
CURVES = "curves, no numbers"
MOST = "in most tasks"

CLAIMS = [
    Claim("fig7-c-small", "fig7", f"V-RACER with ReF-ER: C = 2 is slower than 4, {MOST}", "slower pace",
          fig7(DEFAULT, ">", with_("C 2"), by=TRAINING)),
    Claim("fig7-n-large", "fig7", f"V-RACER with ReF-ER: the largest memory is slower than the default one, {MOST}",
          "slower pace", fig7(DEFAULT, ">", largest_memory, by=TRAINING)),
    Claim("fig7-penalty", "fig7", "V-RACER with ReF-ER: C = 2 and the largest memory each increase the penalty (beta "
          f"ends lower), {MOST}", "penalty terms increase",
          fig7({"C 2": (DEFAULT, ">", with_("C 2")), "large N": (DEFAULT, ">", largest_memory)}, by=BETA)),
    Claim("fig7-c-large", "fig7", "V-RACER with ReF-ER: C = 8 ends below 4 in most of the tasks in which the agent can "
          "fall", CURVES, fig7(DEFAULT, ">", with_("C 8"), on=FALL_PRONE)),
    Claim("fig7-c-stable", "fig7", "V-RACER with ReF-ER: HalfCheetah tolerates a large C, with 8 it ends no worse than "
          "with 4", "more tolerant", ROOM.all(with_("C 8"), ">=", DEFAULT, of=FIG7, on=STABLE)),
    Claim("fig7-d-small", "fig7", f"V-RACER with ReF-ER: D = 0.05 is slower than 0.1, {MOST}", "delays learning",
          fig7(DEFAULT, ">", with_("D 0.05"), by=TRAINING)),
    Claim("fig7-d-large", "fig7", "V-RACER with ReF-ER: D = 0.2 ends below 0.1 in most of the tasks in which the agent "
          "can fall", "less accurate", fig7(DEFAULT, ">", with_("D 0.2"), on=FALL_PRONE)),
    Claim("fig7-b", "fig7", f"V-RACER with ReF-ER: a larger batch is better, 512 ends above 64, {MOST}", "minor "
          "improvements", fig7(with_("B 512"), ">", with_("B 64"))),
    Claim("fig7-f-humanoid", "fig7", "V-RACER with ReF-ER: Humanoid gains from fewer gradient steps, F = 4 ends above "
          "1", "seems to benefit", ROOM.all(with_("F 4"), ">", DEFAULT, of="fig7+fig7-updates", on=HUMANOID),
          reads="fig7+fig7-updates", tasks=HUMANOID),
    Claim("fig7-f-simple", "fig7", "V-RACER with ReF-ER: HalfCheetah and Walker2d are learnt faster with more gradient "
          "steps, F = 0.2 than 1", "more rapidly",
          ROOM.all(with_("F 0.2"), ">", DEFAULT, of=FIG7, on=SIMPLE, by=TRAINING)),
    Claim("fig7-lr", "fig7", "V-RACER with ReF-ER: the best learning rate depends on the task", "task-specific",
          best_rate_differs),
    Claim("fig8-a", "fig8", f"V-RACER with ReF-ER: annealing has a minor effect (A = 0 ends alike), {MOST}", "minor",
          fig8(with_("A 0"), "==", DEFAULT)),
    Claim("fig8-s", "fig8", "V-RACER with ReF-ER: the width has a minor effect (92 and 180 units end as 128 do), "
          f"{MOST}", "minor", fig8({size: (with_(size), "==", DEFAULT) for size in ("S 92", "S 180")})),
    Claim("fig8-s-spread", "fig8", "V-RACER with ReF-ER: wider networks vary more from run to run, 180 units more than "
          f"92, {MOST}", "may be higher", fig8(with_("S 180"), ">", with_("S 92"), by=SPREAD)),
    Claim("fig8-advantage", "fig8", "V-RACER with ReF-ER: no closed-form advantage brings more than a minor "
          f"improvement (without one it is no worse), {MOST}", "minor improvements",
          fig8({
              "quadratic": (DEFAULT, ">=", with_("advantage quadratic")),
              "Gaussian": (DEFAULT, ">=", with_("advantage gaussian")),
          })),
]  # fmt: skip
