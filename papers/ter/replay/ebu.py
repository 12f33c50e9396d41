"""Episodic Backward Update (Lee et al. 2019), the baseline that replays one episode at a time from its end.

The targets of a whole episode are computed at once, newest transition first, and each one is mixed into the Q-table
from which the one before it is computed. TER differs in where it goes next: EBU stays within the episode.
"""

import bisect

import numpy as np

from common.replay.checks import drawable
from common.replay.protocol import Chosen, Sampler, Signals, Step
from common.replay.samplers import PrioritizedSampler
from common.replay.trail import CUT, Trail
from papers.ter.agents.dqn import DoubleDQN
from papers.ter.replay.batch import Memory

NOTHING = np.empty(0, np.int64), np.empty(0)
CHUNK = 512
"""States of an episode whose values are asked for at once: a game of Atari has thousands."""


def backward_targets(
    rewards: np.ndarray,
    actions: np.ndarray,
    next_q: np.ndarray,
    absorbing: bool,
    gamma: float,
    beta: float,
    choice: np.ndarray | None = None,
) -> np.ndarray:
    """Targets y of one episode by a backward pass with diffusion factor beta (EBU, Algorithm 2).

    ``beta = 0`` gives ordinary one-step targets; ``beta = 1`` gives the return along the episode wherever the action
    taken is the best.

    Args:
        rewards: ``(T,)`` in the order of time.
        actions: ``(T,)`` ints.
        next_q: ``(T, A)``, the target network's Q of each next state.
        absorbing: whether the last transition ended the task; a time-out bootstraps like any other step.
        choice: ``(T, A)``, the online network's Q, which chooses the action that ``next_q`` values (double DQN). What
            is known about a step is mixed into this table, too: otherwise an action whose value has just been found
            out would not be chosen. None: the largest entry of ``next_q``, as in the authors' code.

    Returns:
        float64 ``(T,)`` in the order of time.
    """
    q = next_q.astype(np.float64)
    chooser = q if choice is None else choice.astype(np.float64)
    y = np.empty(len(rewards))
    for k in range(len(rewards) - 1, -1, -1):
        if k + 1 < len(rewards):
            # The state after step k is the one that step k + 1 starts from: diffuse what is now known about it.
            a = actions[k + 1]
            q[k, a] = beta * y[k + 1] + (1 - beta) * q[k, a]
            if choice is not None:
                chooser[k, a] = beta * y[k + 1] + (1 - beta) * chooser[k, a]
            y[k] = rewards[k] + gamma * q[k, chooser[k].argmax()]
        else:
            y[k] = rewards[k] + (0.0 if absorbing else gamma * q[k, chooser[k].argmax()])
    return y


class EBU(Sampler):
    """Serves episodes as consecutive minibatches from their end, with targets fixed until the episode is used up.

    An episode whose length is not a multiple of the batch is filled up with the end of further random episodes. One
    that was given up without an end is served as if the time limit had cut it there. TD errors are needed only for the
    share that `prioritized` supplies.

    Args:
        memory: the stored transitions, in the order of time.
        agent: says what states are worth.
        rng: draws episodes.
        beta: diffusion factor.
        double: the online network chooses the actions that the target network values.
        timeouts: also replay episodes that ended by their time limit.
        timeout_is_done: nothing is bootstrapped from the last state of these.
        drop_first: transitions at the start of every episode that are never replayed (the released code drops 3).
        per_share: share of a batch that ``prioritized`` supplies, with one-step targets (App. I).
        prioritized: None where that is 0.
    """

    needs = frozenset({"step", "td_error", "values", "targets"})

    def __init__(
        self,
        memory: Memory,
        agent: DoubleDQN,
        rng: np.random.Generator,
        beta: float = 0.5,
        double: bool = True,
        timeouts: bool = True,
        timeout_is_done: bool = False,
        drop_first: int = 0,
        per_share: float = 0.0,
        prioritized: PrioritizedSampler | None = None,
    ):
        if not 0 <= per_share < 1:
            raise ValueError(f"per_share must lie in [0, 1), not be {per_share}")
        if per_share and prioritized is None:
            raise ValueError(f"a per_share of {per_share} needs `prioritized`, where that share of a batch comes from")
        self.memory, self.agent, self.rng = memory, agent, rng
        self.beta, self.double, self.drop_first = beta, double, drop_first
        self.timeouts, self.timeout_is_done = timeouts, timeout_is_done
        self.per_share, self.prioritized = per_share, prioritized
        self.needs = frozenset({"step", "values", "targets"} | ({"td_error"} if per_share else set()))
        self.count = 0  # transitions seen
        self.trail = Trail()
        self._running: dict[int, list[int]] = {}  # env_id -> numbers of its episode's transitions so far
        # Numbers of its transitions, whether its end is absorbing: sorted by the first of its numbers. Episodes of
        # environments side by side do not end in the order in which they began, and they leave in that.
        self._episodes: list[tuple[np.ndarray, bool]] = []
        self._oldest = 0  # episodes before this place have been overwritten
        self._pending = NOTHING  # numbers and targets that are to be served, next one first
        self._pending_from = 0  # number of the oldest transition among them

    def add(self, index: int, step: Step | None = None) -> None:
        assert step is not None, "EBU reads steps"
        if index != self.count % self.memory.capacity:
            raise ValueError(f"slots are filled in turn: {self.count % self.memory.capacity} is next, not {index}")
        if self.trail.add(step) == CUT:
            self._close(step.env_id, self.timeouts, absorbing=False)
        self._running.setdefault(step.env_id, []).append(self.count)
        self.count += 1
        if step.ended:
            self._close(step.env_id, self.timeouts or step.terminated, step.terminated or self.timeout_is_done)
        alive = self.count - self.memory.capacity  # number of the oldest transition in the memory
        if self._pending_from < alive:
            self._pending = NOTHING  # overwritten before they were served
        while self._oldest < len(self._episodes) and self._episodes[self._oldest][0][0] < alive:
            self._oldest += 1
        if self._oldest > 10_000:  # keep the list short without paying for a shift at every episode
            del self._episodes[: self._oldest]
            self._oldest = 0
        if self.prioritized is not None:
            self.prioritized.add(index)

    def cut(self, env_id: int | None = None) -> None:
        self.trail.cut(env_id)
        for env in [*self._running] if env_id is None else [env_id]:
            self._close(env, self.timeouts, absorbing=False)

    def _close(self, env_id: int, kept: bool, absorbing: bool) -> None:
        """The running episode of an environment is over; `kept`: it may be served."""
        numbers = np.array(self._running.pop(env_id, [])[self.drop_first :], np.int64)
        if len(numbers) and kept:
            bisect.insort(self._episodes, (numbers, absorbing), lo=self._oldest, key=lambda episode: episode[0][0])

    def sample(self, n: int) -> Chosen | None:
        drawable(n, 1)  # where nothing is stored, it waits
        if not len(self._pending[0]) and self._oldest == len(self._episodes):
            return None  # no episode has ended yet
        mixed = int(self.per_share * n)
        indices, targets = self._next(n - mixed)
        weights = np.ones(n, np.float32)
        if mixed and self.prioritized is not None:
            more, weights[n - mixed :], _ = self.prioritized.sample(mixed)
            indices = np.concatenate([indices, more])
            one_step = self.agent.targets(self.memory.batch(indices))[n - mixed :]
            targets = np.append(targets, one_step.cpu().numpy())
        return Chosen(indices, weights, targets.astype(np.float32))

    def _next(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The next minibatch: slots ``(n,)`` int64, newest first, and their targets ``(n,)`` float64."""
        numbers, targets = self._pending
        if not len(numbers):
            numbers, targets = self._episode()
            self._pending_from = numbers.min()
        while len(numbers) % n:
            more_numbers, more_targets = self._episode()
            room = n - len(numbers) % n
            numbers = np.append(numbers, more_numbers[:room])
            targets = np.append(targets, more_targets[:room])
            self._pending_from = min(self._pending_from, numbers[-1])
        self._pending = numbers[n:], targets[n:]
        return numbers[:n] % self.memory.capacity, targets[:n]

    def _episode(self) -> tuple[np.ndarray, np.ndarray]:
        numbers, absorbing = self._episodes[self.rng.integers(self._oldest, len(self._episodes))]
        slots = numbers % self.memory.capacity
        values, choice = self._next_q(slots)
        targets = backward_targets(
            self.memory["reward"][slots], self.memory["action"][slots], values, absorbing, self.agent.gamma, self.beta,
            choice,
        )  # fmt: skip
        return numbers[::-1], targets[::-1]

    def _next_q(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Of the states after ``slots``: Q by the target network and, with double DQN, by the online one, (len, A)."""
        values, choice = [], []
        for start in range(0, len(slots), CHUNK):
            batch = self.memory.batch(slots[start : start + CHUNK])
            values.append(self.agent.next_target_q(batch).cpu().numpy())
            choice += [self.agent.next_q(batch).cpu().numpy()] if self.double else []
        return np.concatenate(values), np.concatenate(choice) if self.double else None

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        if self.prioritized is None:
            super().update(indices, signals)
        else:
            self.prioritized.update(indices, signals)
