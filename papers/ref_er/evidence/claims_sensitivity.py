"""What Appendix E says about V-RACER's hyper-parameters (Figs. 7 and 8), as checks; see claims_runs.py.

A value is compared with the default, which is "vracer refer" itself. "Slower" and "faster" are about the mean return
over all of training, everything else about the score at its end.
"""

import re

from lab.claims import Claim, Verdict, combine
from lab.results import MissingData, Results
from lab.stats import difference_interval
from papers.ref_er.evidence.claims_runs import MINOR, Rule, Runs, alike, hardly_worse, runs_of
from papers.ref_er.evidence.claims_tasks import Judge, both, compared, every, most

DEFAULT = "vracer refer"
STABLE = ("HalfCheetah-v5",)
"""Tasks that do not depend on avoiding a fall; the paper names this one."""
FALL_PRONE = ("Humanoid-v5", "Ant-v5", "Walker2d-v5")
"""The other tasks of the figures."""
SIMPLE = ("HalfCheetah-v5", "Walker2d-v5")
RATES = {"3e-5": "lr 3e-05", "1e-4": "", "3e-4": "lr 0.0003"}


def with_(value: str) -> str:
    """The method's label with a value in place of the default."""
    return f"{DEFAULT} ({value})" if value else DEFAULT


def against(x: str, y: str, rule: Rule | None = None, *, training: bool = False) -> Judge:
    """Judge of two values; "" is the default."""
    return compared(with_(x), with_(y), *([rule] if rule else []), training=training)


def largest_memory(runs: Runs, env: str) -> str:
    """The label of the runs with the largest memory that was tried on a task; its size depends on the scale."""
    sizes = {
        int(found[1]): method
        for method, task in runs.groups
        if task == env and (found := re.fullmatch(r"vracer refer \(N 2\^(\d+)\)", method))
    }
    if not sizes:
        raise MissingData(f"no runs with another N on {env}")
    return sizes[max(sizes)]


def large_memory_slower(runs: Runs, env: str) -> Verdict:
    """The default memory has more return over all of training than the largest one."""
    return runs.compare(DEFAULT, largest_memory(runs, env), env, training=True)


def penalties(runs: Runs, env: str) -> Verdict:
    """Beta, the weight of the task's gradient, ends lower with C = 2 and with the largest memory."""
    parts = {}
    for name, method in (("C 2", with_("C 2")), ("large N", largest_memory(runs, env))):
        values = runs.late("beta", DEFAULT, env), runs.late("beta", method, env)
        parts[name] = runs.exceeds(*values, (DEFAULT, method), env)
    return combine(parts)


def best_rate_differs(results: Results) -> Verdict:
    """The learning rate with the highest mean score is not the same in all tasks. Reproduced where the best rates of
    two tasks differ and each is clearly better than the other's in its task; not reproduced where one rate is best
    everywhere."""
    runs, best, scores = runs_of(results, "fig7"), {}, {}
    for env in runs.tasks:
        try:
            scores[env] = {rate: runs.score(with_(value), env) for rate, value in RATES.items()}
        except MissingData:
            continue
        best[env] = max(RATES, key=lambda rate: scores[env][rate].mean())
    if len(best) < 2:
        raise MissingData("no two tasks with all learning rates")

    def clearly(env: str, other: str) -> bool:
        """Whether the best rate of `env` is clearly better there than that of the task `other`."""
        return bool(difference_interval(scores[env][best[env]], scores[env][best[other]])[0] > 0)

    pairs = [(a, b) for a in best for b in best if best[a] != best[b]]
    status = "inconclusive" if pairs else "not reproduced"
    if any(clearly(a, b) and clearly(b, a) for a, b in pairs):
        status = "reproduced"
    seeds = min(len(score) for of in scores.values() for score in of.values())
    text = ", ".join(f"{rate} in {env}" for env, rate in best.items())
    return runs.say(status, f"best: {text}", seeds, [DEFAULT], max(best, key=lambda env: runs.steps(DEFAULT, env)))


def wider_varies(runs: Runs, env: str) -> Verdict:
    """Scores of the widest network are more spread than those of the narrowest."""
    return runs.spread(with_("S 180"), with_("S 92"), env)


CURVES = "curves, no numbers"
MOST = "in most tasks"

CLAIMS = [
    Claim(
        "fig7-c-small", "fig7", f"A small C (2) is slower than 4, {MOST}", "slower pace",
        most("fig7", against("", "C 2", training=True)),
    ),
    Claim(
        "fig7-n-large", "fig7", f"The largest memory is slower than the default one, {MOST}", "slower pace",
        most("fig7", large_memory_slower),
    ),
    Claim(
        "fig7-penalty", "fig7", f"Both increase the penalty: beta ends lower with C = 2 and with the largest memory, "
        f"{MOST}", "penalty terms increase", most("fig7", penalties),
    ),
    Claim(
        "fig7-c-large", "fig7", "A large C (8) ends below 4 in most of the tasks in which the agent can fall", CURVES,
        most("fig7", against("", "C 8"), FALL_PRONE),
    ),
    Claim(
        "fig7-c-stable", "fig7", f"HalfCheetah tolerates it: it loses less than {MINOR:.0%}", "more tolerant",
        every("fig7", against("C 8", "", hardly_worse), STABLE),
    ),
    Claim(
        "fig7-d-small", "fig7", f"D is like C: a small one (0.05) is slower than 0.1, {MOST}", "delays learning",
        most("fig7", against("", "D 0.05", training=True)),
    ),
    Claim(
        "fig7-d-large", "fig7", "And a large one (0.2) ends below 0.1 in most of the tasks in which the agent can fall",
        "less accurate", most("fig7", against("", "D 0.2"), FALL_PRONE),
    ),
    Claim(
        "fig7-b", "fig7", f"A larger batch is slightly better: 512 ends above 64, {MOST}", "minor improvements",
        most("fig7", against("B 512", "B 64")),
    ),
    Claim(
        "fig7-f-humanoid", "fig7", "Humanoid gains from fewer gradient steps: F = 4 ends above 1", "seems to benefit",
        every("fig7", against("F 4", ""), ("Humanoid-v5",)),
    ),
    Claim(
        "fig7-f-simple", "fig7", "Simpler tasks (HalfCheetah, Walker2d) are learnt faster with more: F = 0.2 above 1, "
        "in each", "more rapidly", every("fig7", against("F 0.2", "", training=True), SIMPLE),
    ),
    Claim(
        "fig7-lr", "fig7", "The best learning rate depends on the task", "task-specific", best_rate_differs,
    ),
    Claim(
        "fig8-a", "fig8", f"Annealing has a minor effect (A = 0 within {MINOR:.0%}), {MOST}", "minor",
        most("fig8", against("A 0", "", alike)),
    ),
    Claim(
        "fig8-s", "fig8", f"So has the width: 92 and 180 units within {MINOR:.0%} of 128, {MOST}", "minor",
        most("fig8", both(S_92=against("S 92", "", alike), S_180=against("S 180", "", alike))),
    ),
    Claim(
        "fig8-s-spread", "fig8", f"Wider networks vary more from run to run: 180 units more than 92, {MOST}",
        "may be higher", most("fig8", wider_varies),
    ),
    Claim(
        "fig8-advantage", "fig8", f"No closed-form advantage gains more than {MINOR:.0%} over none, {MOST}",
        "minor improvements",
        most(
            "fig8",
            both(
                quadratic=against("", "advantage quadratic", hardly_worse),
                Gaussian=against("", "advantage gaussian", hardly_worse),
            ),
        ),
    ),
]  # fmt: skip
