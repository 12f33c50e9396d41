"""What Appendix A says about goals that are not spread evenly and goals that move, as checks of measured numbers."""

from dataclasses import replace
from functools import partial

import numpy as np

from lab.judge.claims import Claim
from lab.judge.comparisons import Place, Room, Runs, Score, last
from lab.judge.intervals import number
from lab.judge.results import Results
from lab.judge.verdicts import MIN_SEEDS, Verdict
from papers.bias_reduced_her.evidence.claims_runs import OTHER
from papers.bias_reduced_her.evidence.labels import SIGMA2, SMALL_FLOOR, env_label
from papers.bias_reduced_her.worlds.appendix_a import METHODS, Config

EXPERIMENT = "appendix-a"
WITHIN = 2.0
"""Errors count as agreement up to so many standard errors, as a root mean square over seeds; 1 is to be expected."""
RECOVERED = 0.05
"""Relative error up to which mu counts as recovered."""
FOLLOWED = 0.1
"""Share of KL(q* || q) after the jump that has to be gone, beyond what HER loses, for q to have followed."""
ESTIMATES = METHODS["mixture"][:2]


def over_kernels(task: str, score: Score, steps: int, kernels: tuple[float, ...]) -> Room:
    """Claims about a task have a part for each kernel."""
    places = [Place(f"sigma^2 = {sigma2:g}", EXPERIMENT, env_label(task, sigma2)) for sigma2 in kernels]
    return replace(
        OTHER, score=score, steps=lambda runs, sides: steps, places=lambda *_: places, rows=lambda frame: frame
    )


def share_gone(runs: Runs, method: str, env: str) -> np.ndarray:
    """Of the KL right after the jump, what is gone at the end (runs,)."""
    return 1 - runs.last("kl_end", method, env) / runs.last("kl_after", method, env)


MIXTURE = over_kernels("mixture", Score(last("variance")), Config.samples, SIGMA2)
MOVING = over_kernels("moving goals", Score(last("kl_end")), Config.episodes, SIGMA2[1:])


def agrees(method: str, env: str, runs: Runs, _: str) -> Verdict:
    """An estimate differs from the closed form by no more than its own standard error explains."""
    ratio = runs.last("error", method, env) / runs.last("standard_error", method, env)
    size = float(np.sqrt((ratio**2).mean()))
    status = "reproduced" if size <= WITHIN else "not reproduced"
    status = status if len(ratio) >= MIN_SEEDS else "inconclusive"
    return Verdict(status, f"{number(size)} standard errors", "", len(ratio), Config.samples, runs.scale)


def lower_variance(results: Results) -> Verdict:
    """Variance with uniform samples > variance with importance sampling, per sample and relative to mu^2."""
    verdict = MIXTURE.all(ESTIMATES[0], ">", ESTIMATES[1], of=EXPERIMENT)(results)  # of the same goals
    verdict.note += (
        ". Whatever the goals, it cannot be lower where 2 pi sigma^2 exceeds the area of the screen, 1: from sigma^2 = "
        "0.16 on. The paper's schedule of sigma^2 ends at 0.2"
    )
    return verdict


def em_recovers(runs: Runs, env: str) -> Verdict:
    """mu of the mixture that EM fits to the most samples of goals is within RECOVERED of the true one."""
    verdict = runs.compare("em", "<", RECOVERED, env, Score(last("error")))
    error = float(runs.last("error", "em", env).mean())
    verdict.effect, verdict.interval = f"error {number(100 * error)} %", ""
    return verdict


def follows(results: Results) -> Verdict:
    """With IBS, a larger share of the KL right after the jump is gone at the end than with HER, which cannot follow.

    HER loses a little, too: the more goals its histogram holds, the smoother it is.
    """
    check = MOVING.all("her-ibs", ">", "her", of=EXPERIMENT, by=Score(share_gone), margin=FOLLOWED)
    verdict, runs, speed = check(results), MOVING.runs(results, EXPERIMENT), []
    for kernel, part in verdict.parts.items():
        env = f"moving goals, {kernel}"
        half = {m: number(runs.last("episodes_to_recover", m, env).mean()) for m in ("her-ibs", SMALL_FLOOR)}
        if part.status == "reproduced":  # else there is nothing to recover from
            speed.append(f"{half['her-ibs']} at {kernel}")
        speed.append(f"{half[SMALL_FLOOR]} with a floor of 1e-6 at {kernel}")
    counts = f"counts from a share of {FOLLOWED:g} on"
    until = f"Episodes until half of what the jump added is gone, after {Config.episodes // 2:,} before it"
    verdict.note += f"; {counts}. {until}: {', '.join(speed)}"
    return verdict


def below_uniform_choice(results: Results) -> Verdict:
    """KL at the end: HER, which chooses all alike, > IBS."""
    verdict, runs = MOVING.all("her", ">", "her-ibs", of=EXPERIMENT)(results), MOVING.runs(results, EXPERIMENT)
    without = []
    for kernel in verdict.parts:
        her, small = (runs.last("kl_end", m, f"moving goals, {kernel}").mean() for m in ("her", SMALL_FLOOR))
        without.append(f"{number(her - small, '+')} at {kernel}")
    verdict.note += f". With a floor of 1e-6: {', '.join(without)}"
    return verdict


CLAIMS = [
    Claim(
        "a1-closed-form", EXPERIMENT, "Sampled estimates of mu (Eq. 16 and importance sampling) agree with the closed "
        "form of a mixture", "equal in the limit",
        MIXTURE.all(
            {
                f"{method}, sigma^2 = {sigma2:g}": partial(agrees, method, env_label("mixture", sigma2))
                for sigma2 in SIGMA2 for method in ESTIMATES
            }, of=EXPERIMENT, on="mixture",
        ),
    ),
    Claim("a1-variance", EXPERIMENT, "Importance sampling of the kernel lowers the variance", "lower", lower_variance),
    Claim(
        "a1-em", EXPERIMENT, "Samples of goals are enough: EM's mixture gives mu", "sufficient",
        MIXTURE.all(em_recovers, of=EXPERIMENT),
    ),
    Claim("a2-follows", EXPERIMENT, "When the goals move, q follows q* again under IBS", "recovers quickly", follows),
    Claim(
        "a2-uniform", EXPERIMENT, "After the goals moved, IBS brings q closer to q* than choosing all goals alike",
        "higher priority for instructive goals", below_uniform_choice,
    ),
]  # fmt: skip
