"""PPO with Sibling Rivalry on the point maze, as a reader of the paper would write it in plain PyTorch: a peer of ours.

The same algorithm as papers/sibling_rivalry/train.py, except for means over one pool of rollouts and PyTorch's place of
Adam's epsilon, and without optimisations: the collision rule in NumPy for all points at once, a Beta distribution
object per step, advantages in a loop over episodes, PyTorch's default optimiser. A test checks that both turn the same
rollouts into the same weights if ours, too, has one pool and that optimiser.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Beta

from envs.maze.point_maze import PointMaze

ROLLOUTS, STEPS, EPOCHS, MINIBATCHES = 80, 50, 4, 4
LR, ADAM_EPS = 1e-3, 1e-3
CLIP, VALUE_WEIGHT, ENTROPY, LAMBDA, EPSILON = 0.2, 0.5, 0.025, 0.98, 5.0
REACH, TOLERANCE = 0.95, 0.15
BACKOFF = 0.01  # largest distance by which a wall throws a point back
EDGE = 1e-6  # distance of actions from the ends of the unit interval, where their density may be 0


def mlp(n_in: int, n_out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(n_in, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
        nn.Linear(128, n_out),
    )  # fmt: skip


def walls_of(task: PointMaze) -> np.ndarray:
    """Walls at the left (0) and lower (1) sides of cells: bool [2, width + 1, height + 1]."""
    walls = np.zeros((2, task.width + 1, task.height + 1), bool)
    for begin, end in task.walls():
        x, y = (begin + 0.5).astype(int)
        walls[int(begin[0] != end[0]), x, y] = True
    return walls


def move(points: np.ndarray, displacements: np.ndarray, backoff: np.ndarray, walls: np.ndarray) -> np.ndarray:
    """Move points float64 [n, 2], which slide along the walls that they hit.

    backoff: [n, 2] in [0, 1], how far a wall across each dimension throws a point back, in units of BACKOFF.
    walls: from :func:`walls_of`.
    """
    points, rest = points.copy(), np.clip(displacements, -REACH, REACH)
    rows = np.arange(len(points))
    while rest.any():  # each pass uses up a dimension of every point, or is its last
        line = np.floor(points + 0.5) + np.sign(rest) / 2  # the next border between cells, in each dimension
        share = np.full_like(points, np.inf)  # of `rest`, until there
        np.divide(line - points, rest, out=share, where=rest != 0)
        blocked = np.zeros(points.shape, bool)
        for axis in (0, 1):
            crosses = np.flatnonzero(share[:, axis] <= 1)
            there = points[crosses] + share[crosses, axis, None] * rest[crosses]
            there[:, axis] = points[crosses, axis]  # still in the cell on this side
            sides = np.floor(there + 0.5).astype(int)
            sides[:, axis] += rest[crosses, axis] > 0  # the right side of a cell is the left one of its neighbour
            blocked[crosses, axis] = walls[axis, sides[:, 0], sides[:, 1]]
        share = np.where(blocked, share, np.inf)
        axis = share.argmin(axis=1)
        first = share[rows, axis]
        hits = np.isfinite(first)
        points += np.where(hits, first, 1.0)[:, None] * rest
        points[rows, axis] -= np.where(hits, BACKOFF * backoff[rows, axis] * np.sign(rest[rows, axis]), 0.0)
        rest *= np.where(hits, 1 - first, 0.0)[:, None]
        rest[rows, axis] = 0.0
    return points


@dataclass
class Played:
    """The rollouts of an update; entries after a rollout's end are meaningless."""

    states: np.ndarray
    """float64 [n, STEPS + 1, 2]"""
    goals: np.ndarray
    """float32 [n, 2]"""
    units: Tensor
    """float32 [n, STEPS, 2]: actions in the unit square."""
    log_probs: Tensor
    """float32 [n, STEPS]"""
    lengths: np.ndarray
    """int64 [n]"""
    reached: np.ndarray
    """bool [n]"""


class PlainRivalry:
    """Policy, critic, optimiser and environment; starts and goals come from `task`.

    Actions and mini-batches are drawn by PyTorch's global generator, which `seed` sets.
    """

    def __init__(self, task: PointMaze, seed: int):
        torch.manual_seed(seed)
        self.task, self.rng, self.walls = task, np.random.default_rng(seed), walls_of(task)
        self.policy, self.critic = mlp(4, 4), mlp(6, 1)
        self.adam = torch.optim.Adam([*self.policy.parameters(), *self.critic.parameters()], lr=LR, eps=ADAM_EPS)

    def update(self) -> None:
        starts = self.task.starts(ROLLOUTS // 2, self.rng).repeat(2, axis=0)
        goals = self.task.goals(ROLLOUTS // 2, self.rng).repeat(2, axis=0)
        self.learn(self.play(starts, goals))

    def distribution(self, seen: Tensor) -> Beta:
        alpha, beta = (F.softplus(self.policy(seen)) + 1.05).chunk(2, dim=-1)
        return Beta(alpha, beta)

    def play(self, starts: np.ndarray, goals: np.ndarray) -> Played:
        """Play all rollouts side by side; those that have reached their goals play on, without effect."""
        n = len(starts)
        states = np.zeros((n, STEPS + 1, 2))
        states[:, 0] = starts
        units, log_probs = torch.zeros(n, STEPS, 2), torch.zeros(n, STEPS)
        lengths, reached = np.full(n, STEPS), np.zeros(n, bool)
        for t in range(STEPS):
            seen = torch.as_tensor(np.concatenate([states[:, t], goals], axis=1), dtype=torch.float32)
            with torch.no_grad():
                distribution = self.distribution(seen)
                units[:, t] = distribution.sample().clamp(EDGE, 1 - EDGE)
                log_probs[:, t] = distribution.log_prob(units[:, t]).sum(dim=1)
            displacements = (2 * units[:, t].numpy() - 1) * REACH
            states[:, t + 1] = move(states[:, t], displacements, self.rng.random((n, 2)), self.walls)
            there = np.linalg.norm(states[:, t + 1] - goals, axis=1) <= TOLERANCE
            lengths[there & ~reached] = t + 1
            reached |= there
            if reached.all():
                break
        return Played(states, goals, units, log_probs, lengths, reached)

    def learn(self, played: Played) -> None:
        """Compute rewards and advantages, and make all gradient steps of an update."""
        states, goals, lengths = played.states, played.goals, played.lengths
        n = len(goals)
        ends = np.where(played.reached[:, None], goals, states[np.arange(n), lengths])
        anti_goals, rewards, kept = rivalry(ends, goals, played.reached)
        constant = np.concatenate([goals, anti_goals], axis=1)[:, None].repeat(STEPS, axis=1)
        inputs = torch.as_tensor(np.concatenate([states[:, :-1], constant], axis=2), dtype=torch.float32)
        with torch.no_grad():
            values = self.critic(inputs).squeeze(-1).numpy()
        advantages, used = np.zeros((n, STEPS), np.float32), np.zeros((n, STEPS), bool)
        for i in np.flatnonzero(kept):
            following, running = 0.0, 0.0  # nothing comes after the end
            for t in reversed(range(lengths[i])):
                reward = rewards[i] if t == lengths[i] - 1 else 0.0
                running = reward + following - values[i, t] + LAMBDA * running
                following = values[i, t]
                advantages[i, t] = running
            used[i, : lengths[i]] = True
        returns = torch.as_tensor((advantages + values)[used])
        normalised = torch.as_tensor(advantages[used])
        normalised = (normalised - normalised.mean()) / (normalised.std() + 1e-8)
        self.descend(inputs[used], played.units[used], played.log_probs[used], normalised, returns)

    def descend(self, inputs: Tensor, units: Tensor, old: Tensor, advantages: Tensor, returns: Tensor) -> None:
        """Make EPOCHS times MINIBATCHES gradient steps on the transitions [m, ...]."""
        size = len(inputs) // MINIBATCHES
        for _ in range(EPOCHS):
            for batch in torch.randperm(len(inputs)).split(size)[:MINIBATCHES]:
                distribution = self.distribution(inputs[batch, :4])
                ratio = torch.exp(distribution.log_prob(units[batch]).sum(dim=1) - old[batch])
                clipped = torch.clamp(ratio, 1 - CLIP, 1 + CLIP)
                policy_loss = -torch.min(ratio * advantages[batch], clipped * advantages[batch]).mean()
                value_loss = F.mse_loss(self.critic(inputs[batch]).squeeze(1), returns[batch])
                loss = policy_loss + VALUE_WEIGHT * value_loss - ENTROPY * distribution.entropy().mean()
                self.adam.zero_grad()
                loss.backward()
                self.adam.step()


def rivalry(ends: np.ndarray, goals: np.ndarray, reached: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Anti-goals [n, 2], rewards [n], and whether each rollout is learnt from [n]; 2 i and 2 i + 1 are siblings."""
    anti_goals = ends.reshape(-1, 2, 2)[:, ::-1].reshape(-1, 2)
    to_goal = np.linalg.norm(ends - goals, axis=1)
    apart = np.linalg.norm(ends - anti_goals, axis=1)
    rewards = np.where(reached, 1.0, np.minimum(0.0, apart - to_goal))
    kept = np.zeros(len(ends), bool)
    for first in range(0, len(ends), 2):
        second = first + 1
        closer, farther = (first, second) if to_goal[first] < to_goal[second] else (second, first)
        kept[farther] = True
        kept[closer] = apart[closer] < EPSILON or reached[closer]
    return anti_goals, rewards, kept
