"""Replay memory of whole episodes, which also keeps the importance weight and the return estimate of every step.

An episode of T steps takes T + 1 consecutive slots: T steps, which can be drawn, and its last state. Besides the
transition, a step keeps what the learner last computed for it (Sec. 2): the value V, the importance weight rho, the
divergence, and the return estimate Qret, from which Vtbc follows. Episodes leave first in, first out.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numba import njit

from common.replay.storage import Fields, announce
from lab.run.errors import UserError
from papers.ref_er.agents import retrace
from papers.ref_er.memory.episode import CUT, TERMINATED, Batch, Episode, StateView
from papers.ref_er.memory.far_count import FarCount

EPSILON = 1e-7
"""Added to every scale (App. B)."""
_ARRAYS = "states actions means stds rewards values advantages rho kl returns steps ends".split()


def layout(capacity: int, n_states: int, n_actions: int, longest: int) -> tuple[int, Fields]:
    """Number of slots of an `EpisodeMemory`, and the layout of one."""
    slots = 2 * (capacity + longest)  # an episode of one step takes two
    return slots, {"slot": ((4 * (n_states + 3 * n_actions + 7) + 2,), np.uint8)}


class EpisodeMemory(StateView):
    """At least the last `capacity` steps, as whole episodes.

    longest: most steps that an episode can have. Arrays are [slots, ...]; a slot holds step t of an episode or its last
    state. UserError for sizes below 1, MemoryError when the machine has too little memory.
    """

    def __init__(self, capacity: int, n_states: int, n_actions: int, longest: int, gamma: float):
        if capacity < 1 or longest < 1:
            raise UserError(f"a replay memory needs room for at least one step, not {min(capacity, longest)}")
        self.capacity, self.gamma = capacity, gamma
        self._n_states, self._n_actions = n_states, n_actions
        slots, fields = layout(capacity, n_states, n_actions, longest)
        announce(slots, fields)
        self._allocate(slots)
        self.reward_scale = 1.0
        """Factor on rewards, 1 / (sigma_r + epsilon)."""
        self.mean, self.inverse_std = np.zeros(n_states, np.float32), np.ones(n_states, np.float32)
        self._episodes: deque[tuple[int, int]] = deque()  # first slot and T, oldest first
        self._tail = self._head = 0  # first slot in use, and the first free one
        self._used = 0
        self.n = 0
        """Steps that can be drawn."""

    def _allocate(self, slots: int) -> None:
        n, d = self._n_states, self._n_actions
        rows = np.zeros((slots, n + 3 * d), np.float32)  # what is read together is stored together
        self.states, self.actions, self.means, self.stds = np.split(rows, [n, n + d, n + 2 * d], axis=1)
        self.stds[:] = 1.0
        self.rewards = np.zeros(slots, np.float32)
        self.values = np.zeros(slots, np.float32)
        self.advantages = np.zeros(slots, np.float32)
        """Q - V of the action taken; V-RACER takes Q = V, so that it stays 0 (Sec. 2)."""
        self.rho = np.ones(slots, np.float32)
        """Changed by `store` only, which also counts the far-policy steps."""
        self._far = FarCount(self.rho)
        self.kl = np.zeros(slots, np.float32)
        self.returns = np.zeros(slots, np.float32)
        """Qret in units of the scaled reward."""
        self.steps = np.full(slots, -1, np.int32)
        """t of each slot, -1 in slots that cannot be drawn: last states and free ones."""
        self.ends = np.zeros(slots, np.uint8)
        """How the episode ended after this step: TERMINATED, CUT by the time limit, or 0 if it continued."""
        self._taken = np.zeros(slots, np.bool_)  # scratch of `sample`, all False between calls

    def __len__(self) -> int:
        """Number of episodes."""
        return len(self._episodes)

    # ---- adding and dropping -----------------------------------------------------------------------------------------

    def add(self, episode: Episode) -> tuple[np.ndarray, float]:
        """Store a finished episode; returns its slots int64 [T] and its return (the sum of its rewards).

        Qret of all its steps follows from the values recorded while acting, with rho = 1 (Algorithm 2). States are
        stored as given, standardised. ValueError when there is no room (call `forget` in time), and for an episode
        without steps, or with other than T + 1 states and values and T of everything else.
        """
        length = len(episode)
        of_steps = {len(part) for part in (episode.means, episode.stds, episode.rewards)}
        if not length or of_steps != {length} or {len(episode.states), len(episode.values)} != {length + 1}:
            raise ValueError(f"an episode of {length} steps needs {length + 1} states and values, {length} of the rest")
        if self._used + length + 1 > len(self.rho):
            raise ValueError(f"no room for {length} steps: {self.n} are stored, where {self.capacity} would do")
        slots = (self._head + np.arange(length + 1)) % len(self.rho)
        steps, last = slots[:-1], slots[-1]
        self.states[slots] = np.stack(episode.states)
        self.actions[steps], self.means[steps] = np.stack(episode.actions), np.stack(episode.means)
        self.stds[steps], self.rewards[steps] = np.stack(episode.stds), episode.rewards
        self.values[slots] = episode.values
        self.kl[slots], self.advantages[slots] = 0.0, 0.0  # rho of free slots is 1
        self.steps[steps], self.steps[last] = np.arange(length), -1
        self.ends[slots] = 0
        self.ends[steps[-1]] = TERMINATED if episode.terminated else CUT
        if episode.terminated:
            self.values[last] = 0.0
        self.returns[last] = self.values[last]  # so that Qret of the step before is r + gamma V
        self._head = (self._head + length + 1) % len(self.rho)
        self._used += length + 1
        self.n += length
        self._episodes.append((int(slots[0]), length))
        self._retrace(slots[0], length)
        return steps, float(np.sum(episode.rewards))

    def forget(self) -> np.ndarray:
        """Drop the oldest episodes while `capacity` steps remain without them; returns the slots int64 [n] of their
        steps."""
        forgotten = [np.empty(0, np.int64)]
        while self._episodes and self.n - self._episodes[0][1] >= self.capacity:  # Algorithm 1, lines 11-13
            first, length = self._episodes.popleft()
            slots = (first + np.arange(length + 1)) % len(self.rho)
            self.steps[slots], self.kl[slots] = -1, 0.0  # free slots do not count
            self._far.put(slots, np.ones(len(slots), np.float32))
            self._tail = (self._tail + length + 1) % len(self.rho)
            self._used -= length + 1
            self.n -= length
            forgotten.append(slots[:-1])
        return np.concatenate(forgotten)

    # ---- drawing -----------------------------------------------------------------------------------------------------

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Slots int64 [n] of n different steps, drawn uniformly. ValueError when there are fewer."""
        if self.n < n:
            raise ValueError(f"cannot draw {n} different steps of {self.n}")
        found = np.empty(n, np.int64)
        done = 0
        while done < n:
            drawn = (self._tail + rng.integers(self._used, size=n - done + n // 8 + 1)) % len(self.rho)
            done = _distinct(drawn, self.steps, self._taken, found, done)
        self._taken[found] = False
        return found

    def fetch(self, slots: np.ndarray) -> Batch:
        """Copies of the steps in `slots` [B]."""
        return Batch(self.inputs(slots), *(x[slots] for x in (self.actions, self.means, self.stds, self.returns)))

    def after(self, slots: np.ndarray) -> np.ndarray:
        """The slots [n] of the states that follow those of `slots` [n]."""
        return (slots + 1) % len(self.rho)

    def td_targets(self, slots: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Scaled rewards plus gamma times the `values` [n] of the next states; these are 0 after a termination."""
        goes_on = (self.ends[slots] != TERMINATED).astype(np.float32)
        return self.rewards[slots] * np.float32(self.reward_scale) + np.float32(self.gamma) * goes_on * values

    # ---- returns -----------------------------------------------------------------------------------------------------

    def store(self, slots: np.ndarray, values: np.ndarray, rho: np.ndarray, kl: np.ndarray) -> None:
        """Store what the learner has just computed for the steps `slots`, all [n]."""
        self.values[slots], self.kl[slots] = values, kl
        self._far.put(slots, rho)

    def renew_end(self, slots: np.ndarray, values: np.ndarray) -> None:
        """New values [n] of the last states of episodes cut by the time limit, whose last steps are `slots` [n]."""
        last = self.after(slots)
        self.values[last] = self.returns[last] = values
        self.returns[slots] = self.rewards[slots] * self.reward_scale + self.gamma * values

    def correct(self, slots: np.ndarray) -> None:
        """Carry the stored V and rho of the steps `slots` [n] back to all earlier steps of their episodes.

        Qret of every step before a drawn one is recomputed, as far as it changes; no network is evaluated.
        """
        retrace.correct(slots, self._tail, self.steps, *self._stored())

    def correct_all(self) -> None:
        """Recompute Qret of every step in the memory, for when the scale of the rewards has changed."""
        for first, length in self._episodes:
            self._retrace(first, length)

    def _retrace(self, first: int, length: int) -> None:
        retrace.retrace(first, length, *self._stored())

    def _stored(self) -> tuple[Any, ...]:
        """What Retrace works on."""
        of_steps = self.rewards, self.values, self.advantages, self.rho, self.returns
        return *of_steps, self.gamma, self.reward_scale

    # ---- statistics --------------------------------------------------------------------------------------------------

    def count_far(self, c_max: float) -> int:
        """How many of the n steps are far-policy by their stored rho: rho <= 1/c_max or rho >= c_max."""
        return self._far.count(c_max, self._tail, self._used)

    def mean_kl(self) -> float:
        """Mean of the divergences stored when each step was last drawn; 0 for steps never drawn."""
        return float(self.kl.sum(dtype=np.float64) / max(self.n, 1))

    def standardise(self) -> None:
        """Fix mean and deviation of the states from the stored ones, and convert these to the new units.

        A component that never changes keeps its deviation of 1. Call once, after the warm-up.
        """
        stored = self._occupied()
        states = self.states[stored].astype(np.float64)
        mean, std = states.mean(axis=0), states.std(axis=0)  # Eqs. (14), (15)
        std[std < EPSILON] = 1.0
        self.mean, self.inverse_std = mean.astype(np.float32), (1.0 / (std + EPSILON)).astype(np.float32)
        self.states[stored] = self.scale(self.states[stored])

    def scale(self, states: np.ndarray) -> np.ndarray:
        """Standardised states, float32: (s - mean) / (deviation + epsilon); unchanged before `standardise`."""
        return (states.astype(np.float32) - self.mean) * self.inverse_std

    def rescale_rewards(self) -> None:
        """From now on divide rewards by their root mean square in the memory; rescale all returns accordingly."""
        stored = self.rewards[self.steps >= 0].astype(np.float64)
        rms = np.sqrt(np.mean(stored**2))  # Eq. (16)
        self.reward_scale = float(1.0 / (rms + EPSILON)) if rms > EPSILON else 1.0  # a task may pay nothing at first
        self.correct_all()

    def _occupied(self) -> np.ndarray:
        """All slots in use, last states included, oldest first."""
        return (self._tail + np.arange(self._used)) % len(self.rho)

    def __getstate__(self) -> dict[str, Any]:
        """Only the slots in use."""
        used = self._occupied()
        state = {name: value for name, value in self.__dict__.items() if name not in ("_taken", "_far")}
        return state | {name: state[name][used] for name in _ARRAYS} | {"slots": len(self.rho)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays, slots = {name: state.pop(name) for name in _ARRAYS}, state.pop("slots")
        self.__dict__.update(state)
        self._allocate(slots)
        used = self._occupied()
        for name, array in arrays.items():
            getattr(self, name)[used] = array


@njit(cache=True)
def _distinct(drawn, steps, taken, found, done):
    """Append to `found` the drawn slots that can be drawn and are not in it yet; returns how many it then holds."""
    for slot in drawn:
        if done == found.size:
            break
        if steps[slot] >= 0 and not taken[slot]:
            taken[slot] = True
            found[done] = slot
            done += 1
    return done
