"""Hindsight experience replay: the virtual goals of an episode, strategy `future` (Algorithms 1 and 2).

The four variants of the paper are the two switches here: which future goals are preferred (`instruction`), and whether
misleading ones are left out (`filtered`).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lab.errors import UserError
from papers.bias_reduced_her.filtered import Reward, misleading
from papers.bias_reduced_her.instructional import Instruction, Proposal


class Hindsight:
    """Chooses the virtual goals of an episode and counts them in the proposal distribution."""

    def __init__(
        self,
        k: int,
        reward: Reward,
        rng: np.random.Generator,
        *,
        filtered: bool = False,
        instruction: Instruction | None = None,
        proposal: Proposal | None = None,
    ):
        """k: virtual goals drawn per transition, 0 for none. instruction: weighs goals, None for equal weights.
        proposal: told of the goals kept; must be that of `instruction` if both are given."""
        if k < 0:
            raise UserError(f"k, the number of virtual goals per transition, must not be negative, not {k}")
        if not callable(reward):
            raise UserError("hindsight needs a goal environment with a method compute_reward(achieved, desired, info)")
        self.k, self.reward, self.rng, self.filtered = k, reward, rng, filtered
        self.instruction = instruction
        self.proposal = proposal if instruction is None else instruction.proposal

    def __call__(self, achieved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Virtual transitions of an episode of T steps that achieved the goals `achieved` [T + 1, d], the first state's
        included: the steps 0 .. T - 1 that they replay, int64 [n], and their goals [n, d]."""
        length = len(achieved) - 1
        # Algorithm 1, lines 18-19: priorities of all goals of the episode, before any of them is stored.
        weights = np.ones(length) if self.instruction is None else self.instruction.weights(achieved[1:])
        # Algorithm 1, line 23: k goals per step, from what the episode achieved after it.
        steps, picks = _draw_future(weights, self.rng.random((length, self.k)))
        goals = achieved[1 + picks]
        if self.filtered:
            keep = ~misleading(achieved[steps], goals, self.reward)  # Algorithm 2, lines 20-21
            steps, goals = steps[keep], goals[keep]
        if self.proposal is not None and len(goals):
            self.proposal.add(goals)  # Algorithm 1, line 28
        return steps, goals


@njit(cache=True)
def _draw_future(weights, uniforms):
    """For each step t, `uniforms.shape[1]` draws u >= t with probability weights[u] / sum(weights[t:]), Eq. (7)."""
    length, k = uniforms.shape
    cumulative = np.cumsum(weights)
    steps = np.empty(length * k, np.int64)
    picks = np.empty(length * k, np.int64)
    for t in range(length):
        before = cumulative[t] - weights[t]
        for i in range(k):
            wanted = before + uniforms[t, i] * (cumulative[-1] - before)
            pick = np.searchsorted(cumulative, wanted, side="right")
            steps[t * k + i] = t
            picks[t * k + i] = min(max(pick, t), length - 1)
    return steps, picks
