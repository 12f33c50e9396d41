"""Goals that are not uniform, and goals that move (App. A), without a learner.

    .venv/bin/python -m papers.bias_reduced_her.worlds.appendix_a --env mixture --method importance-sampling --seed 0

`mixture`: the score mu of virtual goals, for goals from three Gaussians in the unit square, on a grid of goals. Known
exactly, it is estimated from samples of the square (monte-carlo), from samples of the kernel (importance-sampling), or
from a mixture that EM has fitted to samples of goals (em).

`moving goals`: how the histogram q of the stored virtual goals follows the target q* when the goals jump from one
corner to the opposite one after half of the episodes. Every episode achieves goals spread evenly over the unit
square; hindsight chooses among them by instruction (her-ibs) or uniformly (her). This is the easiest case for IBS:
every episode offers whatever it looks for.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, Natural, Positive, at_least
from papers.bias_reduced_her.hindsight import Hindsight
from papers.bias_reduced_her.instructional import Grid, Instruction, Proposal, divergence, target_distribution
from papers.bias_reduced_her.worlds.goal_mixture import GoalMixture, fit, importance_sampled, monte_carlo, variances

METHODS = {"mixture": ("monte-carlo", "importance-sampling", "em"), "moving goals": ("her", "her-ibs")}

SQUARE = (np.zeros(2), np.ones(2))
"""The domain of virtual goals: the screen, 1 x 1."""
GOALS = GoalMixture(
    np.array([0.5, 0.3, 0.2]),
    np.array([[0.35, 0.35], [0.7, 0.5], [0.4, 0.72]]),
    np.array([[[0.006, 0.003], [0.003, 0.004]], [[0.002, 0.0], [0.0, 0.006]], [[0.004, -0.002], [-0.002, 0.003]]]),
)
"""The known mixture. All but a few of 100,000 goals lie in the unit square."""
BEFORE = GoalMixture(np.ones(1), np.array([[0.75, 0.75]]), 0.08**2 * np.eye(2)[None])
AFTER = GoalMixture(np.ones(1), np.array([[0.25, 0.25]]), 0.08**2 * np.eye(2)[None])
"""Goals that move from upper right to lower left: by symmetry, one task is as hard as the other."""

SIZES = (30, 100, 300, 1_000, 3_000, 10_000)
"""Numbers of samples at which an estimate is made, each from new samples."""
PER_SIDE = 10
"""The estimates are compared at the centres of a grid with this many cells along each side."""
ROWS = 50
"""Rows of metrics over the episodes of a run."""


@dataclass(frozen=True)
class Config:
    """Settings of a measurement. The paper states only sigma2 and floor; k is that of train.py, the grid is finer."""

    env: Literal["mixture", "moving goals"] = "mixture"
    """What is measured: the scores of a known mixture, or how q follows goals that move."""
    method: Literal["monte-carlo", "importance-sampling", "em", "her", "her-ibs"] = "importance-sampling"
    """The first three are for env "mixture", the last two for "moving goals"."""
    seed: Natural = 0
    """Seed of all samples."""
    sigma2: Positive = 0.2
    """Variance of the kernel, in squared lengths of the screen. 0.2 is the last of the schedule (Sec. 3.1.3)."""
    samples: Annotated[int, at_least(SIZES[0])] = 10_000
    """mixture: largest number of samples."""
    episodes: Annotated[int, at_least(2)] = 2_000
    """moving goals: episodes, half of them before the jump."""
    steps: Count = 50
    """moving goals: steps of an episode, each of which achieves a goal."""
    k: Count = 4
    """moving goals: virtual goals per step, drawn from those that the episode achieves later."""
    grid: Count = 20
    """moving goals: cells of the histogram along each side."""
    floor: Positive = 0.002
    """moving goals, her-ibs: smallest weight of a goal (Sec. 3.1.2)."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        if self.method not in METHODS[self.env]:
            right = ", ".join(METHODS[self.env])
            raise UserError(f"method {self.method!r} is not for env {self.env!r}; choose from: {right}")


# ---- A.1: estimates of mu --------------------------------------------------------------------------------------------


def measure(config: Config, n: int, streams: Streams) -> dict[str, float]:
    """Errors of one estimate from n samples, over the grid of goals and relative to the root mean square of mu.

    error: root mean square of estimate - mu. monte-carlo and importance-sampling also: standard_error, what the samples
    say of it; predicted_error, what the formula says; variance and predicted_variance, the squares of these times n.
    """
    goals, sigma = Grid((PER_SIDE, PER_SIDE)).centres, config.sigma2**0.5
    exact = GOALS.score(goals, sigma)
    scale = _rms(exact)
    if config.method == "em":
        samples = GOALS.sample(n, streams.numpy(f"goals {n}"))
        found = fit(samples, len(GOALS.weights), streams.integer(f"em {n}"))
        return {"error": _rms(found.score(goals, sigma) - exact) / scale}
    rng, predicted = streams.numpy(f"samples {n}"), variances(goals, sigma, GOALS, volume=1.0)
    if config.method == "monte-carlo":
        (estimate, standard_error), variance = monte_carlo(goals, sigma, GOALS.density, SQUARE, n, rng), predicted[0]
    else:
        (estimate, standard_error), variance = importance_sampled(goals, sigma, GOALS.density, n, rng), predicted[1]
    return {
        "error": _rms(estimate - exact) / scale,
        "standard_error": _rms(standard_error) / scale,
        "predicted_error": (variance.mean() / n) ** 0.5 / scale,
        "variance": n * (standard_error**2).mean() / scale**2,
        "predicted_variance": variance.mean() / scale**2,
    }


def _rms(values: np.ndarray) -> float:
    return float((values**2).mean() ** 0.5)


# ---- A.2: goals that move --------------------------------------------------------------------------------------------


class Selection:
    """Hindsight without a learner: episodes, the virtual goals chosen from them, and the histogram q of these."""

    def __init__(self, config: Config):
        streams = Streams(config.seed)
        self.config, self.rng = config, streams.numpy("episodes")
        self.proposal = Proposal(Grid((config.grid, config.grid)))
        # unfiltered, it never asks for a reward
        self.hindsight = Hindsight(
            config.k, lambda achieved, desired, info: np.zeros(len(achieved)), streams.numpy("hindsight"),
            proposal=self.proposal,
        )  # fmt: skip
        self.set_goals(BEFORE)

    def set_goals(self, goals: GoalMixture) -> None:
        """Change the distribution of the goals. q keeps what was stored before."""
        sigma2 = self.config.sigma2
        self.target = target_distribution(self.proposal.grid, goals, sigma2)
        if self.config.method == "her-ibs":
            self.hindsight.instruction = Instruction(
                self.proposal, goals, sigma2, variance_end=sigma2, floor=self.config.floor
            )

    def episode(self) -> None:
        """One episode: goals achieved anywhere in the square, and k virtual goals for each of its steps."""
        self.hindsight(self.rng.random((self.config.steps + 1, 2)))

    def kl(self) -> float:
        """KL(q* || q), in nats."""
        return divergence(self.target, self.proposal.smoothed)


def estimate(run: Run, config: Config) -> dict:
    """Log the errors of one estimate after the other; returns those of the last."""
    for n in _sizes(config):
        run.log(n, {name: _short(value) for name, value in measure(config, n, Streams(config.seed)).items()})
    return run.finish(run.last)


def follow(run: Run, config: Config) -> dict:
    """Log `kl` over the episodes; returns what the jump did to it.

    kl_before, kl_after: right before and after the jump. kl_end: at the end. episodes_to_recover: episodes after the
    jump until half of what it added is gone, or all that there are.
    """
    selection, jump = Selection(config), config.episodes // 2
    before = after = kl = 0.0
    recovered = None
    for episode in range(1, config.episodes + 1):
        selection.episode()
        kl = selection.kl()
        if episode > jump and recovered is None and kl <= (before + after) / 2:
            recovered = episode - jump
        if episode % max(config.episodes // ROWS, 1) == 0 or episode in (jump, jump + 1):
            run.log(episode, {"kl": _short(kl)})
        if episode == jump:
            before = kl
            selection.set_goals(AFTER)
            after = selection.kl()
    found = {"kl_before": before, "kl_after": after, "kl_end": kl}
    found["episodes_to_recover"] = recovered or config.episodes - jump
    run.log(config.episodes, {name: _short(value) for name, value in found.items()})
    return run.finish(run.last)


# ---- a run -----------------------------------------------------------------------------------------------------------


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Measure; returns the summary. A run takes seconds: an interrupted one starts again. See lab.run.runs.execute."""
    if config.env == "mixture":
        shown: dict = dict(total=lambda _: _sizes(config)[-1], unit="sample", score="error")
        return execute(config, run_dir, estimate, **shown, **options)
    return execute(config, run_dir, follow, total=lambda _: config.episodes, unit="episode", score="kl", **options)


def _sizes(config: Config) -> list[int]:
    return [size for size in SIZES if size <= config.samples]


def _short(value: float) -> float:
    """Six significant digits: what a figure can show, and a results file has thousands of them."""
    return float(f"{value:.6g}")


if __name__ == "__main__":
    cli(Config, main, __doc__)
