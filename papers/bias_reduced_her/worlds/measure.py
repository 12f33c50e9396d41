"""How well an agent does and what it expects, measured on greedy episodes.

At the end of a run more is measured on tasks that say which episodes begin with the ball in the hand: these episodes
apart from the others, and what the critic expects of goals on the line from a free ball to the black hole. The real
goals lie at its end; at its beginning, on Hand and HandWall, the virtual goals that the filter leaves out. Robot's free
ball starts in the air, so there the line begins above the place where the ball comes to rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from envs.fetch import FetchVector
from envs.throwing.vector import ThrowingVector
from lab.run.runs import Streams
from papers.bias_reduced_her.instructional import divergence, target_distribution

ROUNDS = 5
"""Evaluations whose episodes are measured together."""
LINE = tuple(round(0.1 * i, 1) for i in range(11))
"""Places on the line, as shares of the way from the ball to the black hole."""


@dataclass(frozen=True)
class Episode:
    """T steps: states s_0 .. s_T [T + 1, o], the goals they achieve [T + 1, d], the desired goal [d], actions [T, a],
    rewards [T]. terminated: whether it ended for good, rather than by running out of time."""

    states: np.ndarray
    achieved: np.ndarray
    goal: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    terminated: bool


def summary(trainer: Any, episodes: list[Episode]) -> dict[str, float]:
    """Means over episodes: ``success``; ``distance`` to the goal at the end; ``q_estimate``,
    Q(s_0, pi(s_0)); ``return``, the discounted return that it should equal, where an episode that fails counts as
    failing for ever, as it does in the targets."""
    gamma, returns = trainer.config.gamma, []
    for e in episodes:
        powers = gamma ** np.arange(len(e.rewards) + 1)
        failing = 0.0 if e.rewards[-1] == 0 else -powers[-1] / (1 - gamma)
        returns.append(float(powers[:-1] @ e.rewards) + failing)
    goals = np.stack([e.goal for e in episodes])
    ends = np.stack([e.achieved[-1] for e in episodes]).astype(float) - goals
    estimates = trainer.agent.value(trainer.inputs(np.stack([e.states[0] for e in episodes]), goals))
    return short(
        {
            "success": float(np.mean([e.rewards[-1] == 0 for e in episodes])),
            "distance": float(np.linalg.norm(ends, axis=1).mean()),
            "q_estimate": float(estimates.mean()),
            "return": float(np.mean(returns)),
        }
    )


def kl(trainer: Any) -> dict[str, float]:
    """``kl``: KL(q* || q) of the virtual goals stored so far; q* is that of the final kernel, for every method.

    {} for a task without a box of goals."""
    if trainer.proposal is None:
        return {}
    target = target_distribution(trainer.proposal.grid, trainer.goals.known, trainer.variances[1])
    return short({"kl": divergence(target, trainer.proposal.smoothed)})


def of_fetch(trainer: Any, episodes: list[Episode]) -> dict[str, float]:
    """On Fetch tasks, else {}. ``solved``: success of the episodes that do not begin at their goal. ``misleading``: of
    the virtual goals drawn since it was last asked, the share that misleads, whether or not a filter leaves them out;
    not there where none were drawn."""
    if not isinstance(trainer.tests.unwrapped, FetchVector):
        return {}
    began = trainer.reward(np.stack([e.achieved[0] for e in episodes]), np.stack([e.goal for e in episodes]), None) == 0
    ended = np.array([e.rewards[-1] == 0 for e in episodes])
    drawn, misleading = trainer.hindsight.count()
    found = {"misleading": misleading / drawn} if drawn else {}
    return short({"solved": float(ended[~began].mean()) if not began.all() else 0.0} | found)


def short(metrics: dict[str, float]) -> dict[str, float]:
    """Five significant digits: more than a figure can show, and a results file has thousands of numbers."""
    return {name: float(f"{value:.5g}") for name, value in metrics.items()}


def at_the_end(trainer: Any) -> dict[str, float]:
    """``env_steps``; ``virtual_per_step``; ``virtual i j``, the share of column i, row j of the grid among all virtual
    goals, without empty cells; and, where the task has them, the two starts and the line (see above)."""
    metrics = {"env_steps": trainer.steps_done, "virtual_per_step": trainer.virtual_done / max(trainer.steps_done, 1)}
    if trainer.proposal is not None:
        shares = trainer.proposal.q.reshape(trainer.proposal.grid.shape)
        metrics |= {f"virtual {i} {j}": float(shares[i, j]) for i, j in zip(*np.nonzero(shares))}
    return short(metrics) | (starts_and_line(trainer) if isinstance(trainer.tests.unwrapped, ThrowingVector) else {})


def starts_and_line(trainer: Any) -> dict[str, float]:
    """``<name> held`` and ``<name> ground``: of episodes that begin with and without the ball in the hand.
    ``estimate <share>`` and ``realised <share>``: of goals at that share of the way from ball to black hole."""
    rng, n = Streams(trainer.config.seed).numpy("at the end"), trainer.config.eval_episodes
    seeds, act = 2 * rng.integers(2**31, size=(ROUNDS, n)) + 1, trainer.agent.act
    found: dict[str, float] = {}
    for start, held in {"held": True, "ground": False}.items():
        measured = summary(trainer, [e for s in seeds for e in trainer.play(trainer.tests, s, act, held=held)])
        found |= {f"{name} {start}": measured[name] for name in ("success", "q_estimate", "return")}
    options = trainer.goals.options(seeds[0]) | {"held": False}
    seen, _ = trainer.tests.reset(seed=seeds[0].tolist(), options=options)
    ball, hole = seen["achieved_goal"], seen["desired_goal"]
    for share in LINE:
        goals = (ball + share * (hole - ball)).astype(np.float32)
        measured = summary(trainer, trainer.play(trainer.tests, seeds[0], act, held=False, goal=goals))
        found |= {f"estimate {share}": measured["q_estimate"], f"realised {share}": measured["return"]}
    return found
