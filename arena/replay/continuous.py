"""The NERS room's SAC with any sampler, on tasks whose states and actions are vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from arena.replay.refer_sac import ReferSAC
from arena.replay.tile_dqn import Join
from common.replay.protocol import Step
from common.twins import fast
from papers.ners import train
from papers.ners.agents.sac import LR, SAC
from papers.ners.samplers.batch import Batch

TOLD = frozenset({"td_error", "target"})
"""Signals that the loop provides itself."""
PROVIDES = TOLD | {"step", "target_td_error", "episode", "evaluation", "errors", "ratio", "divergence"}
HIDDEN = (64, 64)
"""Units of the networks, kept small so that a run takes a minute."""


class SACTrainer(train.Trainer):
    """A run of SAC."""

    agent_class: type[SAC] = SAC

    def __init__(self, config: train.Config, join: Join):
        super().__init__(config)
        self.vectors = self.memory, ("state", "action", "next_state")
        self.sampler = join(self)

    def _make_agent(self, n_states: int, n_actions: int, seed: int) -> SAC:
        c = self.config
        return fast(self.agent_class, train.FAST, c.device)(
            n_states, n_actions, lr=LR, gamma=c.gamma, tau=c.tau, hidden=HIDDEN, seed=seed, device=c.device
        )

    @property
    def capacity(self) -> int:
        return self.config.capacity

    @property
    def updates(self) -> int:
        """Batches in a whole run."""
        return max(self.config.steps - self.config.random_steps, 1)

    @property
    def state_size(self) -> int:
        return self.memory["state"].shape[1]

    def statistics(self) -> dict[str, float]:
        """Scores, and what the sampler did, at every STATISTICS_EVERY-th evaluation and the last; otherwise empty."""
        if self.evaluations % train.STATISTICS_EVERY and self.t < self.config.steps:
            return {}
        return self.scores() | self.sampler.metrics()

    # --- what samplers ask --------------------------------------------------------------------------------------------

    def step_of(self, slot: int, last: bool) -> Step:
        m, terminal = self.memory, bool(self.memory["terminal"][slot])
        out_of_time = not terminal and int(m["time"][slot]) + 1 >= self.horizon
        return Step(
            m["state"][slot], m["action"][slot], float(m["reward"][slot]), m["next_state"][slot], terminal, out_of_time
        )

    def targets_of(self, slots: np.ndarray) -> np.ndarray:
        """Targets with the noise that the agent draws next; its generator is rewound, so it draws the same again."""
        state = self.agent.noise.get_state()
        y = self.agent.targets(self.batch(slots, np.ones(len(slots), np.float32)))
        self.agent.noise.set_state(state)
        return y.numpy()

    def q_of(self, slots: np.ndarray) -> np.ndarray:
        return self._values(self.agent.critics, slots)

    def target_q_of(self, slots: np.ndarray) -> np.ndarray:
        return self._values(self.agent.target, slots)

    @torch.no_grad()
    def _values(self, critics: Any, slots: np.ndarray) -> np.ndarray:
        arrays = (torch.from_numpy(self.memory[name][slots]) for name in ("state", "action"))
        return critics(*arrays).numpy()


class ReferTrainer(SACTrainer):
    """A run of SAC under ReF-ER's rules: the agent is told from which transitions it learns."""

    agent_class = ReferSAC

    def batch(self, slots: np.ndarray, weights: np.ndarray) -> Batch:
        self.agent.behaviour.look_at(slots)
        return super().batch(slots, weights)

    def _rollout(self, start: int) -> float:
        total = super()._rollout(start)
        self.agent.last = None  # actions of an evaluation are not training behaviour
        return total
