"""Two levels: every 20 steps a high level sets a subgoal, and a low level pursues it (App. F, "Ant maze navigation").

To this paper's learners an environment with its low level is a goal task like any other, of 25 steps instead of 500: an
action is the offset of the next subgoal, and a step is the low level's whole pursuit of it. So rollouts, Sibling
Rivalry, PPO, curiosity, the oracle, DDPG and hindsight work on it as they do on the point maze. The methods that are
compared pay and train only the high level. The low level is the same for all of them: PPO, paid only for being near its
subgoal, learns from every step of every episode, including those that Sibling Rivalry leaves out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from envs.goal_task import GoalTask
from lab.run.runs import Streams
from papers.sibling_rivalry.agents.ppo import PPO, Experience, gae
from papers.sibling_rivalry.agents.rollouts import Rollouts

INTERVAL = 20
"""Steps of the environment per subgoal (App. F)."""
EPOCHS = 2
"""The low level's passes over an episode (App. F). The paper states no other setting of it; these are the authors':"""
GAMMA, LAMBDA, ENTROPY, LR, ADAM_EPS, MINIBATCHES = 0.98, 0.95, 0.02, 1e-3, 1e-3, 4

Play = Callable[[np.ndarray, np.ndarray, np.random.Generator], Rollouts]
"""Plays an episode from each start [n, ...] to its goal."""


class Pursuit(NamedTuple):
    """n subgoals, each from a different episode, and their pursuit over k steps."""

    states: np.ndarray
    """[n, k + 1, ...] of the environment"""
    actions: np.ndarray
    """float32 [n, k, a] in the environment's units"""
    subgoals: np.ndarray
    """float32 [n, *goal_shape]"""


def joined(pursuits: list[Pursuit]) -> Pursuit:
    """All of them, concatenated."""
    return Pursuit(*(np.concatenate(parts) for parts in zip(*pursuits)))


class LowLevel:
    """The policy that pursues subgoals in `world`, and its learner. Every pursuit is a separate episode, truncated at
    its end: the value of its last state is bootstrapped."""

    def __init__(self, world: GoalTask, streams: Streams, device: str, *, minibatches: int, adam_eps: float):
        self.world, self.shuffling = world, streams.numpy("low level: shuffling")
        self.ppo = PPO(
            world, sees_anti_goal=False, lr=LR, lr_decay=1.0, adam_eps=adam_eps, entropy=ENTROPY, epochs=EPOCHS,
            minibatches=minibatches, seed=streams.integer("low level: network"), device=device,
        )  # fmt: skip

    def distances(self, pursuits: Pursuit) -> np.ndarray:
        """To the subgoal after every step, float64 [n, k]."""
        achieved = self.world.achieved(_flat(pursuits.states[:, 1:])).reshape(*pursuits.actions.shape[:2], -1)
        return self.world.distance(achieved, pursuits.subgoals[:, None])

    def experience(self, pursuits: Pursuit) -> Experience:
        """All steps of all pursuits, [n k]. The reward of a step is minus the distance to the subgoal after it."""
        n, k = pursuits.actions.shape[:2]
        tensor, seen = self.ppo.tensor, self.world.observe(_flat(pursuits.states))
        goals = pursuits.subgoals.repeat(k + 1, axis=0)
        values = self.ppo.values(tensor(seen), tensor(goals), None).cpu().numpy().reshape(n, k + 1)
        rewards, all_of_them = -self.distances(pursuits), np.ones(n, bool)
        advantages = gae(rewards, values, np.full(n, k), GAMMA, LAMBDA, bootstrap=all_of_them)
        return Experience(
            observations=tensor(_flat(seen.reshape(n, k + 1, -1)[:, :-1])), next_observations=None,
            goals=tensor(pursuits.subgoals.repeat(k, axis=0)), anti_goals=None, actions=tensor(_flat(pursuits.actions)),
            legal=None, advantages=tensor(advantages.ravel()), returns=tensor((advantages + values[:, :-1]).ravel()),
        )  # fmt: skip

    def learn(self, pursuits: list[Pursuit], lengths: np.ndarray) -> dict[str, float]:
        """Learn from n whole episodes, each from a different worker. Returns metrics.

        pursuits: of the first, second, ... subgoals of the episodes that had one. lengths: int [n], subgoals of each.
        """
        together = joined(pursuits)
        episodes = np.concatenate([np.flatnonzero(lengths > t) for t in range(len(pursuits))])
        workers = episodes.repeat(together.actions.shape[1])
        losses = self.ppo.learn(self.experience(together), workers, self.shuffling)
        found = {f"low_{name}": value for name, value in losses.items()}
        return found | {"subgoal_distance": float(self.distances(together)[:, -1].mean())}


class Hierarchy(GoalTask):
    """A goal task whose steps are `interval` steps of a low level in `world`, and whose actions are subgoals.

    An action is the subgoal minus the achieved goal, up to `reach` in every direction; the subgoal stays in place while
    it is pursued. Episodes are as long as the world's. Success is checked when a pursuit is over: running through the
    goal is not reaching it. minibatches, adam_eps: settings of the low level's learner.
    """

    low: LowLevel

    def __init__(
        self, world: GoalTask, reach: float, interval: int = INTERVAL, *, minibatches: int = MINIBATCHES,
        adam_eps: float = ADAM_EPS,
    ):  # fmt: skip
        """ValueError for an interval that does not divide the episode or is too short to split into mini-batches, and
        for worlds whose goals are not vectors."""
        if not minibatches <= interval <= world.max_steps or world.max_steps % interval:
            right = [n for n in range(minibatches, world.max_steps + 1) if world.max_steps % n == 0]
            raise ValueError(
                f"steps per subgoal must be one of {', '.join(map(str, right))}, which divide an episode of "
                f"{world.max_steps}, not {interval}"
            )
        if len(world.goal_shape) != 1 or world.action_range is None:
            raise ValueError("a world with subgoals needs goals that are vectors and continuous actions")
        self.world, self.interval = world, interval
        self.observation_shape, self.goal_shape = world.observation_shape, world.goal_shape
        [self.n_actions], self.action_range = world.goal_shape, float(reach)
        self.tolerance, self.max_steps = world.tolerance, world.max_steps // interval
        self._learning = dict(minibatches=minibatches, adam_eps=adam_eps)
        self._pursuits: list[Pursuit] | None = None
        self._greedy = False

    def begin(self, streams: Streams, device: str = "cpu") -> None:
        """Give it an untrained low level. Must be called before `step`."""
        self.low = LowLevel(self.world, streams, device, **self._learning)  # type: ignore[arg-type]

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        moves = np.clip(actions, -self.action_range, self.action_range).astype(np.float32)  # type: ignore[operator]
        subgoals = self.world.achieved(states) + moves  # App. F
        visited, taken = [states], []
        for _ in range(self.interval):
            seen = self.world.observe(visited[-1])
            taken.append(self.low.ppo.act(seen, subgoals, None, None if self._greedy else rng))
            visited.append(self.world.step(visited[-1], taken[-1], rng))
        if self._pursuits is not None:
            self._pursuits.append(Pursuit(np.stack(visited, axis=1), np.stack(taken, axis=1), subgoals))
        return visited[-1]

    def observed(
        self, play: Play, starts: np.ndarray, goals: np.ndarray, rng: np.random.Generator
    ) -> tuple[Rollouts, list[Pursuit]]:
        """Episodes played with `play`, and the pursuits of their first, second, ... steps."""
        self._pursuits = []
        rollouts = play(starts, goals, rng)
        pursuits, self._pursuits = self._pursuits, None
        return rollouts, pursuits

    def practise(
        self, play: Play, starts: np.ndarray, goals: np.ndarray, rng: np.random.Generator, turns: int
    ) -> tuple[Rollouts, dict[str, float]]:
        """Play episodes from each start [n, ...] to its goal with `play` while the low level learns.

        As if each worker had `turns` episodes, i to i + turns - 1, and played them one after the other: all play their
        first, and the low level learns from these; then their second, and so on. So the second sibling of a pair is
        played by a low level that has learnt from the first. Also returns metrics.
        """
        order, parts, logs = [], [], []
        for first in range(min(turns, len(starts))):
            rows = np.arange(first, len(starts), turns)
            rollouts, pursuits = self.observed(play, starts[rows], goals[rows], rng)
            logs.append(self.low.learn(pursuits, rollouts.lengths))
            order.append(rows)
            parts.append(rollouts)
        back = np.argsort(np.concatenate(order))
        whole = Rollouts(*(np.concatenate([getattr(p, f.name) for p in parts])[back] for f in fields(Rollouts)))
        return whole, {name: float(np.mean([log[name] for log in logs])) for name in logs[0]}

    def greedily(self) -> Hierarchy:
        """The same task with the low level's most likely actions."""
        other = copy.copy(self)
        other._greedy = True
        return other

    # --- the world's own ----------------------------------------------------------------------------------------------

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.world.starts(n, rng)

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.world.goals(n, rng)

    def observe(self, states: np.ndarray) -> np.ndarray:
        return self.world.observe(states)

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return self.world.achieved(states)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self.world.distance(a, b)

    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.world.bounds()

    def contains(self, goal: np.ndarray) -> bool:
        return self.world.contains(goal)

    def picture(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        return self.world.picture(state, goal)


def with_low_level(task: GoalTask, weights: dict[str, Any]) -> dict[str, Any]:
    """The acting weights of a run: the policy's; for a hierarchy "high.<name>" and "low.<name>"."""
    if not isinstance(task, Hierarchy):
        return weights
    both = {"high": weights, "low": task.low.ppo.policy.state_dict()}
    return {f"{level}.{name}": value for level, of_one in both.items() for name, value in of_one.items()}


def _flat(array: np.ndarray) -> np.ndarray:
    """[n, k, ...] -> [n k, ...]"""
    return np.ascontiguousarray(array).reshape(-1, *array.shape[2:])
