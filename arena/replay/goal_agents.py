"""The hindsight room's two agents with any sampler: double DQN for bit flipping, DDPG for ball throwing.

Without hindsight, each episode enters the memory step by step, in temporal order. With it, virtual transitions follow,
which have no order, so ideas that read steps cannot be combined with hindsight here (ideas.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from arena.replay.tile_dqn import Join
from common.replay.protocol import Step
from papers.bias_reduced_her import train, train_bitflip
from papers.bias_reduced_her.agents.ddpg import Batch

TOLD = frozenset({"td_error"})
"""Signals that the loops provide themselves."""
PROVIDES = TOLD | {"step", "target", "target_td_error", "episode", "evaluation", "errors", "goals"}


class GoalTrainer:
    """What both trainers add to their room's. The return of an evaluation is the share of successes."""

    config: Any
    memory: Any
    sampler: Any
    agent: Any

    @property
    def capacity(self) -> int:
        return self.config.capacity

    @property
    def updates(self) -> int:
        """Batches in a whole run."""
        return self.config.epochs * self.config.cycles * self.config.updates

    @property
    def state_size(self) -> int:
        return self.memory["inputs"].shape[1]

    def evaluate(self) -> dict[str, float]:
        metrics = super().evaluate()  # type: ignore[misc]
        self.sampler.evaluation(metrics["success"])
        return metrics | self.sampler.metrics()

    def step_of(self, slot: int, last: bool) -> Step:
        m, terminal = self.memory, bool(self.memory["terminal"][slot])
        return Step(
            m["inputs"][slot], m["action"][slot], float(m["reward"][slot]), m["next_inputs"][slot], terminal,
            last and not terminal,
        )  # fmt: skip

    def batch(self, slots: np.ndarray) -> Batch:
        """The transitions in `slots` as the networks see them."""
        return Batch(**{name: torch.from_numpy(value) for name, value in self.memory.get(slots).items()})

    @torch.no_grad()
    def targets_of(self, slots: np.ndarray) -> np.ndarray:
        return self.agent.targets(self.batch(slots)).numpy()


class BitFlipTrainer(GoalTrainer, train_bitflip.Trainer):
    """A run on bit flipping."""

    def __init__(self, config: Any, join: Join):
        super().__init__(config)
        self.horizon = self.n
        self.sampler = join(self)

    def store(self, bits, goal, actions, rewards, terminated) -> None:
        super().store(bits, goal, actions, rewards, terminated)
        self.sampler.episode(float(sum(rewards)))

    def q_of(self, slots: np.ndarray) -> np.ndarray:
        return self._value(self.agent.q, slots)

    def target_q_of(self, slots: np.ndarray) -> np.ndarray:
        return self._value(self.agent.target, slots)

    @torch.no_grad()
    def _value(self, network: Any, slots: np.ndarray) -> np.ndarray:
        batch = self.batch(slots)
        return network(batch.inputs).gather(1, batch.action[:, None]).squeeze(1).numpy()


class ThrowTrainer(GoalTrainer, train.Trainer):
    """A run on a ball-throwing task. What samplers ask for is computed with the running averages of the critic's
    normalisation; the TD errors of the loop use the batch's averages, as the update computes them."""

    def __init__(self, config: Any, join: Join):
        super().__init__(config)
        self.horizon = self.worlds.unwrapped.max_episode_steps  # type: ignore[attr-defined]
        self.vectors = self.memory, ("inputs", "action", "next_inputs")
        self.sampler = join(self)

    def batch(self, slots: np.ndarray) -> Batch:
        batch = super().batch(slots)
        scaled = (torch.from_numpy(self.scale(x.numpy())) for x in (batch.inputs, batch.next_inputs))
        return batch._replace(**dict(zip(("inputs", "next_inputs"), scaled)))

    def q_of(self, slots: np.ndarray) -> np.ndarray:
        return self._value(self.agent.critic, slots)

    def target_q_of(self, slots: np.ndarray) -> np.ndarray:
        return self._value(self.agent.target_critic, slots)

    @torch.no_grad()
    def _value(self, critic: Any, slots: np.ndarray) -> np.ndarray:
        batch = self.batch(slots)
        return critic(batch.inputs, batch.action).numpy()
