"""Episodic Backward Update (Lee et al. 2019), the baseline that replays one episode at a time from its end.

The targets of a whole episode are computed at once, newest transition first, and each one is mixed into the Q-table
from which the one before it is computed. TER differs in where it goes next: EBU stays within the episode.
"""

from collections.abc import Callable

import numpy as np


def backward_targets(
    rewards: np.ndarray, actions: np.ndarray, next_q: np.ndarray, absorbing: bool, gamma: float, beta: float
) -> np.ndarray:
    """Targets y of one episode by a backward pass with diffusion factor beta (EBU, Algorithm 2).

    ``beta = 0`` gives ordinary one-step targets; ``beta = 1`` gives the return along the episode wherever the action
    taken is the best.

    Args:
        rewards: ``(T,)`` in the order of time.
        actions: ``(T,)`` ints.
        next_q: ``(T, A)``, the target network's Q of each next state.
        absorbing: whether the last transition ended the task; a time-out bootstraps like any other step.

    Returns:
        float64 ``(T,)`` in the order of time.
    """
    q = next_q.astype(np.float64).copy()
    if absorbing:
        q[-1] = 0.0
    y = np.empty(len(rewards))
    for k in range(len(rewards) - 1, -1, -1):
        if k + 1 < len(rewards):
            # The state after step k is the one that step k + 1 starts from: diffuse what is now known about it.
            a = actions[k + 1]
            q[k, a] = beta * y[k + 1] + (1 - beta) * q[k, a]
        # The max over the diffused table, as in the authors' code; picking the action with another network, as
        # double DQN would, is not well defined once the table is diffused.
        y[k] = rewards[k] + gamma * q[k].max()
    return y


class EpisodicSampler:
    """Serves episodes as consecutive minibatches from their end, with targets fixed until the episode is used up.

    An episode whose length is not a multiple of the batch is filled up with the end of further random episodes.

    Args:
        memory: replay storage with ``reward`` and ``action`` fields, filled in the order of time.
        next_q: ``f(slots) -> (len(slots), A)``, the target network's Q of the stored next states.
        rng: draws episodes.
        beta: diffusion factor.
        timeouts: also replay episodes that ended by their time limit.
        drop_first: transitions at the start of every episode that are never replayed (the released code drops 3).
    """

    def __init__(
        self,
        memory,
        next_q: Callable[[np.ndarray], np.ndarray],
        rng: np.random.Generator,
        gamma: float,
        beta: float = 0.5,
        timeouts: bool = True,
        drop_first: int = 0,
    ):
        self.memory, self.next_q, self.rng = memory, next_q, rng
        self.gamma, self.beta, self.timeouts, self.drop_first = gamma, beta, timeouts, drop_first
        self.count = 0  # transitions seen
        self._start = 0  # number of the running episode's first transition
        self._episodes: list[tuple[int, int, bool]] = []  # (first, past the last, absorbing), by transition number
        self._oldest = 0  # episodes before this place have been overwritten
        self._pending: list[tuple[np.ndarray, np.ndarray]] = []  # minibatches (slots, targets), next one last
        self._pending_from = 0  # number of the oldest transition among them

    def add(self, absorbing: bool, ended: bool, time_out: bool) -> None:
        """Count in the transition that the memory just wrote.

        ``absorbing``: no bootstrapping from its end; ``ended``: the episode's last; ``time_out``: for lack of time.
        """
        self.count += 1
        if ended:
            first = self._start + self.drop_first
            if (self.timeouts or not time_out) and first < self.count:
                self._episodes.append((first, self.count, absorbing))
            self._start = self.count
        alive = self.count - self.memory.capacity  # number of the oldest transition in the memory
        if self._pending_from < alive:
            self._pending = []  # overwritten before they were served
        while self._oldest < len(self._episodes) and self._episodes[self._oldest][0] < alive:
            self._oldest += 1
        if self._oldest > 10_000:  # keep the list short without paying for a shift at every episode
            del self._episodes[: self._oldest]
            self._oldest = 0

    @property
    def ready(self) -> bool:
        """Whether an episode can be replayed."""
        return bool(self._pending) or self._oldest < len(self._episodes)

    def sample(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The next minibatch: slots ``(n,)`` int64, newest first, and their targets ``(n,)`` float64."""
        if not self._pending:
            numbers, targets = self._episode()
            while len(numbers) % n:
                more_numbers, more_targets = self._episode()
                room = n - len(numbers) % n
                numbers = np.append(numbers, more_numbers[:room])
                targets = np.append(targets, more_targets[:room])
            slots = numbers % self.memory.capacity
            self._pending_from = numbers.min()
            # The first minibatch to be trained on, the end of the episode, goes last.
            self._pending = [(slots[i : i + n], targets[i : i + n]) for i in range(0, len(slots), n)][::-1]
        return self._pending.pop()

    def _episode(self) -> tuple[np.ndarray, np.ndarray]:
        first, past, absorbing = self._episodes[self.rng.integers(self._oldest, len(self._episodes))]
        numbers = np.arange(first, past)
        slots = numbers % self.memory.capacity
        targets = backward_targets(
            self.memory["reward"][slots], self.memory["action"][slots], self.next_q(slots), absorbing,
            self.gamma, self.beta,
        )  # fmt: skip
        return numbers[::-1], targets[::-1]
