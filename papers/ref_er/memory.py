"""Replay memory of whole episodes, which remembers for every step how likely it is now and what return followed it.

An episode of T steps takes T + 1 slots in a row: T steps, which can be drawn, and its last state. Beside what happened,
a step keeps what the learner last computed for it (Sec. 2): the value V, the importance weight rho, the divergence, and
the return estimate Qret, from which Vtbc follows. Episodes leave in the order in which they came.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

from common.replay.storage import Fields, announce
from lab.errors import UserError

EPSILON = 1e-7
"""Added to every scale (App. B)."""
TERMINATED, CUT = 1, 2
_ARRAYS = "states actions means stds rewards values advantages rho kl returns steps ends".split()


@dataclass
class Episode:
    """What is recorded while an episode is played: T + 1 states and values, T of everything else."""

    states: list[np.ndarray] = field(default_factory=list)
    actions: list[np.ndarray] = field(default_factory=list)
    """In the policy's units."""
    means: list[np.ndarray] = field(default_factory=list)
    """Of the behaviour mu."""
    stds: list[np.ndarray] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    """rewards[t] is r_{t+1}, which followed action t; not scaled."""
    values: list[float] = field(default_factory=list)
    """V(s_t) when the action was taken; that of a terminal state is 0."""
    terminated: bool = False
    """Ended by a terminal state, not by the time limit."""

    def __len__(self) -> int:
        return len(self.actions)


def layout(capacity: int, n_states: int, n_actions: int, longest: int) -> tuple[int, Fields]:
    """How many slots an `EpisodeMemory` has, and what one takes."""
    slots = 2 * (capacity + longest)  # an episode of one step takes two
    return slots, {"slot": ((4 * (n_states + 3 * n_actions + 6) + 17,), np.uint8)}


class EpisodeMemory:
    """At least the last `capacity` steps, as whole episodes.

    longest: steps that an episode can have. Arrays are [slots, ...]; a slot is that of step t of an episode or of its
    last state. UserError for sizes below 1, MemoryError when the machine has too little memory.
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
        self.states = np.zeros((slots, self._n_states), np.float32)
        self.actions = np.zeros((slots, self._n_actions), np.float32)
        self.means = np.zeros((slots, self._n_actions), np.float32)
        self.stds = np.ones((slots, self._n_actions), np.float32)
        self.rewards = np.zeros(slots, np.float32)
        self.values = np.zeros(slots, np.float32)
        self.advantages = np.zeros(slots, np.float32)
        """Q - V of the action taken; V-RACER takes Q = V, so that it stays 0 (Sec. 2)."""
        self.rho = np.ones(slots, np.float32)
        self.kl = np.zeros(slots, np.float32)
        self.returns = np.zeros(slots, np.float32)
        """Qret in units of the scaled reward."""
        self.steps = np.full(slots, -1, np.int64)
        """t of each slot, -1 in slots that cannot be drawn: last states and free ones."""
        self.ends = np.zeros(slots, np.uint8)
        """How the episode ended after this step: TERMINATED, CUT by the time limit, or 0: it went on."""
        self._latest = np.full(slots, -1, np.int64)  # scratch of the kernels, all -1 between calls

    def __len__(self) -> int:
        """Number of episodes."""
        return len(self._episodes)

    # ---- episodes come and go ----------------------------------------------------------------------------------------

    def add(self, episode: Episode) -> tuple[np.ndarray, float]:
        """Store a finished episode; returns its slots int64 [T] and its return (the sum of its rewards).

        Qret of all its steps follows from the values met while acting, with rho = 1 (Algorithm 2). States are stored
        as given, standardised. ValueError without room: `forget` in time.
        """
        length = len(episode)
        if self._used + length + 1 > len(self.rho):
            raise ValueError(f"no room for {length} steps: {self.n} are stored, where {self.capacity} would do")
        slots = (self._head + np.arange(length + 1)) % len(self.rho)
        steps, last = slots[:-1], slots[-1]
        self.states[slots] = np.stack(episode.states)
        self.actions[steps], self.means[steps] = np.stack(episode.actions), np.stack(episode.means)
        self.stds[steps], self.rewards[steps] = np.stack(episode.stds), episode.rewards
        self.values[slots] = episode.values
        self.rho[slots], self.kl[slots], self.advantages[slots] = 1.0, 0.0, 0.0
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
        self._backward(slots[0], length)
        return steps, float(np.sum(episode.rewards))

    def forget(self) -> np.ndarray:
        """Drop the oldest episodes while `capacity` steps remain without them; returns the slots int64 [n] of their
        steps."""
        forgotten = [np.empty(0, np.int64)]
        while self._episodes and self.n - self._episodes[0][1] >= self.capacity:  # Algorithm 1, lines 11-13
            first, length = self._episodes.popleft()
            slots = (first + np.arange(length + 1)) % len(self.rho)
            self.steps[slots], self.rho[slots], self.kl[slots] = -1, 1.0, 0.0  # free slots count nothing
            self._tail = (self._tail + length + 1) % len(self.rho)
            self._used -= length + 1
            self.n -= length
            forgotten.append(slots[:-1])
        return np.concatenate(forgotten)

    # ---- drawing -----------------------------------------------------------------------------------------------------

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n different steps with equal probability -> slots int64 [n]. ValueError when there are fewer."""
        if self.n < n:
            raise ValueError(f"cannot draw {n} different steps of {self.n}")
        found = np.empty(n, np.int64)
        done = 0
        while done < n:
            drawn = (self._tail + rng.integers(self._used, size=n - done + n // 8 + 1)) % len(self.rho)
            done = _distinct(drawn, self.steps, self._latest, found, done)
        self._latest[found] = -1
        return found

    def after(self, slots: np.ndarray) -> np.ndarray:
        """The slots [n] of the states that follow those of `slots` [n]."""
        return (slots + 1) % len(self.rho)

    def td_targets(self, slots: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Scaled rewards plus gamma times the `values` [n] of the states that follow; after a termination 0."""
        goes_on = (self.ends[slots] != TERMINATED).astype(np.float32)
        return self.rewards[slots] * np.float32(self.reward_scale) + np.float32(self.gamma) * goes_on * values

    # ---- returns -----------------------------------------------------------------------------------------------------

    def store(self, slots: np.ndarray, values: np.ndarray, rho: np.ndarray, kl: np.ndarray) -> None:
        """Keep what the learner now finds at the steps `slots`, all [n]."""
        self.values[slots], self.rho[slots], self.kl[slots] = values, rho, kl

    def renew_end(self, slots: np.ndarray, values: np.ndarray) -> None:
        """New values [n] of the last states of episodes cut by the time limit, whose last steps are `slots` [n]."""
        last = self.after(slots)
        self.values[last] = self.returns[last] = values
        self.returns[slots] = self.rewards[slots] * self.reward_scale + self.gamma * values

    def correct(self, slots: np.ndarray) -> None:
        """Carry the stored V and rho of the steps `slots` [n] back to all earlier steps of their episodes.

        Algorithm 3: Qret of every step before the latest drawn one is computed anew; no network is asked.
        """
        _correct(
            slots, self.steps, self._latest, self.rewards, self.values, self.advantages, self.rho, self.returns,
            self.gamma, self.reward_scale,
        )  # fmt: skip

    def correct_all(self) -> None:
        """`correct` for every step of the memory, as is due when the scale of the rewards has changed."""
        for first, length in self._episodes:
            self._backward(first, length)

    def _backward(self, first: int, length: int) -> None:
        _backward(
            first, length, self.rewards, self.values, self.advantages, self.rho, self.returns, self.gamma,
            self.reward_scale,
        )  # fmt: skip

    # ---- statistics --------------------------------------------------------------------------------------------------

    def count_far(self, c_max: float) -> int:
        """How many of the n steps are far-policy by their stored rho: rho <= 1/c_max or rho >= c_max."""
        return int(_count_far(self.rho, self._tail, self._used, np.float32(1.0 / c_max), np.float32(c_max)))

    def mean_kl(self) -> float:
        """Mean of the divergences stored when each step was last drawn; of steps that never were it is 0."""
        return float(self.kl.sum(dtype=np.float64) / max(self.n, 1))

    def standardise(self) -> None:
        """Fix mean and deviation of the states by what is stored, and put the stored states into these units.

        A component that never changes keeps its deviation of 1. To be called once, after warm-up.
        """
        stored = self._occupied()
        states = self.states[stored].astype(np.float64)
        mean, std = states.mean(axis=0), states.std(axis=0)  # Eqs. (14), (15)
        std[std < EPSILON] = 1.0
        self.mean, self.inverse_std = mean.astype(np.float32), (1.0 / (std + EPSILON)).astype(np.float32)
        self.states[stored] = self.scale(self.states[stored])

    def scale(self, states: np.ndarray) -> np.ndarray:
        """Standardised states, float32: (s - mean) / (deviation + epsilon); as they are before `standardise`."""
        return (states.astype(np.float32) - self.mean) * self.inverse_std

    def rescale_rewards(self) -> None:
        """Divide rewards by their root mean square in the memory from now on, and bring all returns to this scale."""
        stored = self.rewards[self.steps >= 0].astype(np.float64)
        rms = np.sqrt(np.mean(stored**2))  # Eq. (16)
        self.reward_scale = float(1.0 / (rms + EPSILON)) if rms > EPSILON else 1.0  # a task may pay nothing at first
        self.correct_all()

    def _occupied(self) -> np.ndarray:
        """All slots in use, last states included, oldest first."""
        return (self._tail + np.arange(self._used)) % len(self.rho)

    def __getstate__(self) -> dict[str, Any]:
        """The slots in use; what is free need not be kept."""
        used = self._occupied()
        state = {name: value for name, value in self.__dict__.items() if name != "_latest"}
        return state | {name: state[name][used] for name in _ARRAYS} | {"slots": len(self.rho)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays, slots = {name: state.pop(name) for name in _ARRAYS}, state.pop("slots")
        self.__dict__.update(state)
        self._allocate(slots)
        used = self._occupied()
        for name, array in arrays.items():
            getattr(self, name)[used] = array


# ---- kernels: sequential by nature ---------------------------------------------------------------------------------


@njit(cache=True)
def _distinct(drawn, steps, taken, found, done):
    """Append to `found` the drawn slots that can be drawn and are not in it yet; returns how many it then holds."""
    for slot in drawn:
        if done == found.size:
            break
        if steps[slot] >= 0 and taken[slot] < 0:
            taken[slot] = 1
            found[done] = slot
            done += 1
    return done


@njit(cache=True)
def _backward(first, length, rewards, values, advantages, rho, returns, gamma, scale):
    """Qret of the `length` steps from slot `first` on, from the last one to the first."""
    after = (first + length) % rewards.size
    estimate = np.float64(returns[after])
    for _ in range(length):
        slot = after - 1 if after > 0 else rewards.size - 1
        # Eq. (6): r + gamma Vtbc with Vtbc = V + min(1, rho) (Qret - Q), Eqs. (7) and (8), written as fixed part plus
        # factor times the later Qret: only that last product has to wait for the step before.
        trace = min(np.float32(1.0), rho[after])
        kept = values[after] - trace * (values[after] + advantages[after])
        estimate = (rewards[slot] * scale + gamma * kept) + (gamma * trace) * estimate
        returns[slot] = estimate
        after = slot


@njit(cache=True)
def _correct(drawn, steps, latest, rewards, values, advantages, rho, returns, gamma, scale):
    """`_backward` over the steps before the latest drawn one of each episode. `latest` [slots] is all -1, also after.

    Where several steps of an episode are drawn, the recursion runs once, from the latest of them.
    """
    slots = rewards.size
    for slot in drawn:
        first = (slot - steps[slot]) % slots
        latest[first] = max(latest[first], steps[slot])
    for slot in drawn:
        first = (slot - steps[slot]) % slots
        if latest[first] > 0:
            _backward(first, latest[first], rewards, values, advantages, rho, returns, gamma, scale)
        latest[first] = -1


@njit(cache=True)
def _count_far(rho, tail, used, low, high):
    """Two stretches of the ring, so that the compiler can vectorise each."""
    far = 0
    stop = min(tail + used, rho.size)
    for k in range(tail, stop):
        far += (rho[k] <= low) | (rho[k] >= high)
    for k in range(used - (stop - tail)):
        far += (rho[k] <= low) | (rho[k] >= high)
    return far
