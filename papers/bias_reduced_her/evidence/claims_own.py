"""Claims that are not the paper's, or that its appendix makes in passing: controls, the place of the bias, settings."""

import numpy as np

from lab.results import MissingData, Results
from lab.verdicts import Verdict, above, all_of, decide, difference, gated, judged, margin_of, mean_of, not_worse
from papers.bias_reduced_her.evidence.claims_runs import LAST, Training, sooner

NEAR_THE_BALL = (0.1, 0.2, 0.3)
"""Shares of the way from the ball to the black hole that are near the ball."""


def filter_beats_thinning(runs: Training, env: str) -> Verdict:
    """Filtered-HER over HER with as few virtual goals, on average over training."""
    return sooner(runs, env, "filtered-her", "her-thinned")


def helps_from_the_ground(runs: Training, env: str) -> Verdict:
    """Where the ball is free at the start, Filtered-HER succeeds more often than HER at the end."""
    x, y = "filtered-her", "her"
    verdict = runs.compare(runs.last("success ground", x, env), runs.last("success ground", y, env), (x, y), env)
    return runs.gate(verdict, x, y, env)


def too_high_near_the_ball(runs: Training, env: str) -> Verdict:
    """HER expects more than it gets of goals near a ball that is free, and more so than Filtered-HER."""

    def excess(method: str) -> np.ndarray:
        gaps = [
            runs.last(f"estimate {s}", method, env) - runs.last(f"realised {s}", method, env) for s in NEAR_THE_BALL
        ]
        return np.mean(gaps, axis=0)

    x, y = "her", "filtered-her"
    more = runs.compare(excess(x), excess(y), (x, y), env)
    is_high = decide(mean_of(excess(x)), above(), steps=runs.env_steps(env), scale=runs.scale)
    return all_of({"HER > 0": is_high, "HER > Filtered-HER": more}, decisive=["HER > Filtered-HER"])


def too_high_by_hindsight(runs: Training, env: str) -> Verdict:
    """HER over-estimates the value of the first state more than an agent without hindsight does."""
    return runs.greater("bias", "her", "none", env)


def sharper_target(results: Results) -> Verdict:
    """On Hand, IBS with sigma = 0.2 on 10 x 10 cells against sigma^2 = 0.2 on 20 x 20, on average over training."""
    return between(results, "filtered-her-ibs", "own-grid", "filtered-her-ibs (20 x 20, sigma^2)")


def between(results: Results, x: str, experiment: str, y: str) -> Verdict:
    """Method x of the training runs against y of another experiment on Hand, by mean success over training."""
    here, there, env = Training(results), Training(results, experiment), "Hand"
    seeds = here.seeds(x, env), there.seeds(y, env)
    both = sorted(set(seeds[0]) & set(seeds[1]))
    if not both:
        raise MissingData(f"{x} and {y} have no seed in common on {env}")
    scores = here.area("success", x, env), there.area("success", y, env)
    a, b = (score[[mine.index(seed) for seed in both]] for score, mine in zip(scores, seeds))
    verdict = decide(difference(a, b, paired=True), above(), steps=there.env_steps(env), scale=there.scale)
    return gated(verdict, x=here.learning("success", x, env, 0.0), y=there.learning("success", y, env, 0.0))


def filter_elsewhere(results: Results) -> Verdict:
    """On Hand, Filtered-HER against HER under two settings in which misleading transitions weigh more."""
    runs = Training(results, "own-her")
    return all_of(
        judged(
            ("uniform replay", "bootstrapped"),
            lambda name: runs.greater("success", f"filtered-her ({name})", f"her ({name})", "Hand"),
        )
    )


def skipping_beats_drawing_again(results: Results) -> Verdict:
    """On Hand, the filter of Algorithm 2 against that of Sec. 3.2.2, by mean success over training."""
    return between(results, "filtered-her", "own-her", "filtered-her (drawn again)")


def ibs_helps_with_a_mixture(results: Results) -> Verdict:
    """On Hand, IBS adds to the filter for goals from a mixture of Gaussians, on average over training."""
    return sooner(Training(results, "own-goals"), "Hand", "filtered-her-ibs (mixture)", "filtered-her (mixture)")


def recovers(results: Results) -> Verdict:
    """Filtered-HER-IBS succeeds as often at the end, long after the goals have moved, as before they did."""
    runs, method = Training(results, "own-goals"), "filtered-her-ibs (moving)"
    steps, curves = runs.curve("success", method, "Hand")
    half = int((steps <= steps[-1] / 2).sum())
    before, after = curves[:, max(half - LAST, 0) : half].mean(axis=1), curves[:, -LAST:].mean(axis=1)
    margin = margin_of(float(before.mean()), float(after.mean()))
    pair = difference(after, before, paired=True)
    verdict = decide(pair, not_worse(margin), steps=runs.env_steps("Hand"), scale=runs.scale)
    return gated(verdict, it=runs.learning("success", method, "Hand", 0.0))


def filter_with_penalty(runs: Training, env: str) -> Verdict:
    """Filtered-HER against HER when large actions are penalised."""
    return runs.greater("success", "filtered-her (penalty 1)", "her (penalty 1)", env)
