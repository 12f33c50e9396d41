"""Hindsight experience replay: the virtual goals of an episode, strategy `future` (Algorithms 1 and 2).

Two settings make the paper's variants: which future goals are preferred (`instruction`), and what happens to
misleading ones (`keep`).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numba import njit

from lab.run.errors import UserError
from papers.bias_reduced_her.filtered import Reward, misleading
from papers.bias_reduced_her.instructional import Instruction, Proposal

Keep = Literal["all", "filtered", "redrawn", "thinned"]
"""Which virtual transitions are kept. all: every one. filtered: those that do not mislead. redrawn: likewise, with the
goals drawn only among those that do not mislead. thinned, a control: as many as `filtered` keeps, at random."""


class Hindsight:
    """Chooses the virtual goals of an episode and counts them in the proposal distribution."""

    def __init__(
        self,
        k: int,
        reward: Reward,
        rng: np.random.Generator,
        *,
        keep: Keep = "all",
        instruction: Instruction | None = None,
        proposal: Proposal | None = None,
        counting: bool = False,
    ):
        """k: virtual goals drawn per transition, 0 for none. instruction: weighs goals, None for equal weights.
        proposal: counts the goals kept; must be that of `instruction` if both are given. counting: `count` also
        knows the misleading goals of a method that does not ask which they are."""
        if k < 0:
            raise UserError(f"k, the number of virtual goals per transition, must not be negative, not {k}")
        if not callable(reward):
            raise UserError("hindsight needs a goal environment with a method compute_reward(achieved, desired, info)")
        if keep not in get_args(Keep):
            raise UserError(f"keep must be one of {', '.join(get_args(Keep))}, not {keep!r}")
        self.k, self.reward, self.rng, self.keep = k, reward, rng, keep
        self.instruction = instruction
        self.proposal = proposal if instruction is None else instruction.proposal
        self.counting, self._drawn, self._misleading = counting, 0, 0

    def __call__(self, achieved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Virtual transitions of an episode of T steps. achieved: the goals of its states s_0 .. s_T [T + 1, d].

        Returns the steps to be stored again, 0 .. T - 1, int64 [n], and their virtual goals [n, d]. ValueError for
        goals that are not finite, which would count as achieved or not by chance.
        """
        if not np.isfinite(achieved).all():
            raise ValueError("an episode with achieved goals that are not finite has no virtual goals")
        length = len(achieved) - 1
        # Algorithm 1, lines 18-19: priorities of all goals of the episode, before any of them is stored.
        weights = np.ones(length) if self.instruction is None else self.instruction.weights(achieved[1:])
        uniforms = self.rng.random((length, self.k))
        # Algorithm 1, line 23; Algorithm 2, line 17: k goals per step, from what the episode achieved after it.
        if self.keep == "redrawn":
            steps, picks = _draw_allowed(weights, self._useful(achieved), uniforms)
        else:
            steps, picks = _draw_future(weights, uniforms)
        goals = achieved[1 + picks]
        chosen = self.keep in ("filtered", "thinned")
        if chosen or (self.counting and len(goals)):
            useful = ~misleading(achieved[steps], goals, self.reward)
            self._drawn, self._misleading = self._drawn + len(goals), self._misleading + int((~useful).sum())
        if chosen:
            if self.keep == "thinned":  # as many, chosen at random
                useful = self.rng.permutation(useful)
            steps, goals = steps[useful], goals[useful]  # Algorithm 2, lines 20-21
        if self.proposal is not None and len(goals):
            self.proposal.add(goals)  # Algorithm 1, lines 27-28
        return steps, goals

    def count(self) -> tuple[int, int]:
        """How many goals were drawn, and how many of them mislead, since the last call. See `counting`."""
        counted, self._drawn, self._misleading = (self._drawn, self._misleading), 0, 0
        return counted

    def _useful(self, achieved: np.ndarray) -> np.ndarray:
        """Whether the goal achieved by step u does not mislead step t <= u: bool [t, u], False below the diagonal."""
        length = len(achieved) - 1
        useful = np.zeros((length, length), bool)
        t, u = np.triu_indices(length)
        useful[t, u] = ~misleading(achieved[t], achieved[1 + u], self.reward)
        return useful


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


@njit(cache=True)
def _draw_allowed(weights, allowed, uniforms):
    """Like `_draw_future`, but only among the u with allowed[t, u]; steps without any are skipped."""
    length, k = uniforms.shape
    steps = np.empty(length * k, np.int64)
    picks = np.empty(length * k, np.int64)
    n = 0
    for t in range(length):
        cumulative = np.cumsum(np.where(allowed[t], weights, 0.0))
        if cumulative[-1] <= 0.0:
            continue
        last = np.searchsorted(cumulative, cumulative[-1])  # the last u that is allowed: rounding must not pass it
        for i in range(k):
            steps[n] = t
            picks[n] = min(np.searchsorted(cumulative, uniforms[t, i] * cumulative[-1], side="right"), last)
            n += 1
    return steps[:n], picks[:n]
