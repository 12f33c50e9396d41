"""The claims that the arena was built to judge, registered before its runs. The null hypothesis comes first: no idea
beats uniform replay.

The claims are ours, not a paper's. "Beats" means that the interval of the gain lies above zero. The null hypothesis
holds for an idea if its gain is less than a fifth of what the better side gained over its score before learning.
"""

from functools import partial

from arena.replay.evidence.experiments import NAMES, legal
from arena.replay.evidence.gains import BASE, gain, runs_of
from arena.replay.tasks import TASKS
from lab.judge.claims import Claim
from lab.judge.intervals import Rule, above, margin_of
from lab.judge.results import Results
from lab.judge.verdicts import Verdict, all_of, decide, gated, judged


def no_gain(margin: float) -> Rule:
    """The gain is less than `margin`, and not clearly above zero."""
    return lambda low, high: "not reproduced" if low > 0 else "reproduced" if high < margin else "inconclusive"


def compared(results: Results, env: str, idea: str, null: bool) -> Verdict:
    """Judge on a task whether the idea beats uniform replay, or (`null`) does not."""
    runs, score = runs_of(results, env), TASKS[env].score
    estimate = gain(runs, idea, env).estimate
    # The hindsight room's loops do not evaluate before learning, when no agent succeeds.
    before = 0.0 if TASKS[env].agent.unit == "episode" else None
    sides = {name: runs.learning(score, name, env, before) for name in (idea, BASE)}
    rule = no_gain(margin_of(*(side.gain for side in sides.values()))) if null else above()
    verdict = decide(estimate, rule, steps=runs.steps(env, idea, BASE), scale=runs.scale)
    return gated(verdict, **{name.replace("-", "_"): side for name, side in sides.items()})


def nothing_beats_uniform(env: str, results: Results) -> Verdict:
    """Judge idea by idea: one that clearly beats it refutes the claim, one that is open leaves it open."""
    parts = judged(legal(env)[1:], lambda idea: compared(results, env, idea, null=True))
    return all_of(parts, decisive=parts)


def beats_uniform(idea: str, env: str, results: Results) -> Verdict:
    """Judge one idea on one task."""
    return compared(results, env, idea, null=False)


PREDICTED = {
    ("her", "BitFlip-6"): "hindsight: the task that it was invented for",
    ("ter", "NChain-20"): "TER: what is worth replaying lies in one known order",
    ("ebu", "NChain-20"): "EBU: likewise",
}
"""Where an idea should win if it does anything: positive controls of the comparison."""

CLAIMS = [
    *(
        Claim(
            f"null-{env.lower()}", "gains", f"No idea beats uniform replay on {env} ({TASKS[env].agent.name})", "-",
            partial(nothing_beats_uniform, env), kind="own", reads=NAMES[env],
        )
        for env in TASKS
    ),
    *(
        Claim(
            f"control-{idea}-{env.lower()}", "gains", f"{idea} beats uniform replay on {env} ({why})", "-",
            partial(beats_uniform, idea, env), kind="own", reads=NAMES[env],
        )
        for (idea, env), why in PREDICTED.items()
    ),
]  # fmt: skip
"""Every claim with its check."""
