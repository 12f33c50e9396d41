"""Train double DQN on an Atari game with one of five replay methods, and measure how well it does.

    .venv/bin/python -m papers.ter.train_atari --env Pong --method ter --seed 0 --steps 200000

A state is the last four frames, grey, of an episode; the memory keeps each frame once. An episode of training ends when
a life is lost; the game then goes on. TER's vertices are single frames, the newest of each state.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from common.networks import NatureTrunk
from common.replay.frames import FrameMemory, layout
from common.replay.storage import ring_bytes
from envs.atari import MAX_FRAMES, REPEAT, SIZE, Atari
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import execute
from lab.run.settings import Count, Positive
from papers.ter import train
from papers.ter.agents.networks import Network
from papers.ter.agents.settings import ReplaySettings, Settings
from papers.ter.replay.batch import Batch
from papers.ter.topological import terminal_roots

STACK = 4
"""Frames that make a state."""
CUT_EVERY = MAX_FRAMES // REPEAT // 2
"""Steps between two cuts at least: the limit counts frames of a game, no-ops at its start too."""
SCORES = {
    # game: mean score of random actions and of a person (Mnih et al. 2015, Extended Data Table 2)
    "Pong": (-20.7, 9.3),
    "Kangaroo": (52.0, 3035.0),
    "Venture": (0.0, 1188.0),
    "Freeway": (0.0, 29.6),
}
"""The games of Fig. M.15; those that App. B names with it."""


@dataclass(frozen=True)
class Config(ReplaySettings, Settings):
    """Every setting of a run. Defaults are the paper's for Atari, with the place where it states them."""

    env: str = "Pong"
    """Game, by its plain name such as Pong. App. B.3 names Pong, Kangaroo, Venture and Freeway with Fig. M.15."""
    steps: Count = 2_500_000
    """Environment steps, of 4 frames each. The paper does not say; 10 million frames as in EBU's paper."""
    lr: Positive = 2.5e-4
    """RMSProp's step size (App. B.1)."""


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay: a sweep adds up its runs before it starts them."""
    return ring_bytes(*layout(config.capacity, 1, cut_every=CUT_EVERY, stack=STACK))


class GameMemory(FrameMemory):
    """The last transitions of a game. A state is uint8 (4, 84, 84), the newest frame last."""

    def __init__(self, capacity: int, gamma: float, device: str):
        super().__init__(capacity, 1, gamma, cut_every=CUT_EVERY, stack=STACK, device=device)
        self._last: tuple[np.ndarray, Batch] | None = None

    def draw(self, states: np.ndarray) -> Tensor:
        """States (n, 4, 84, 84) as the network sees them: float32 in [0, 1]."""
        return torch.from_numpy(states).to(self.device).float().div_(255)

    def add(self, *step: Any) -> list[int]:
        self._last = None
        return super().add(*step)

    def batch(self, indices: np.ndarray) -> Batch:  # type: ignore[override]
        """As `papers.ter.replay.memory.TileMemory.batch`."""
        if self._last is None or self._last[0] is not indices:
            stored = super().batch(indices)
            absorbing = (stored.discount == 0).float()
            frames, next_frames = (stack.float().div_(255) for stack in (stored.state, stored.next_state))
            self._last = indices, Batch(frames, stored.action, stored.reward, next_frames, absorbing)
        return self._last[1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}


class Trainer(train.Trainer):
    """A run on an Atari game."""

    optimizer = "rmsprop"

    def make_env(self, training: bool = True) -> Atari:
        try:
            return Atari(self.config.env, training=training)
        except ValueError as error:
            raise UserError(str(error)) from None

    def choose_roots(self) -> Callable:
        return terminal_roots

    def make_memory(self) -> GameMemory:
        return GameMemory(self.config.capacity, self.config.gamma, self.config.device)

    def make_network(self, extra: bool) -> Network:
        return Network(NatureTrunk((SIZE, SIZE, STACK)), self.n_actions, extra=extra).to(self.config.device)

    def number_of_levels(self) -> int:
        return 0

    def new_episode(self) -> tuple[np.ndarray, dict]:
        # A seed would start a new game, where a lost life goes on with the same one.
        frame, info = self.env.reset(seed=None if self.step else 2 * int(self.level_stream.integers(2**31)))
        self.memory.reset(frame)
        return frame, info

    def first(self, observation: np.ndarray, info: dict) -> np.ndarray:
        return np.concatenate([np.zeros((STACK - 1, SIZE, SIZE), np.uint8), observation[None]])

    def following(self, state: np.ndarray, observation: np.ndarray, info: dict) -> np.ndarray:
        return np.concatenate([state[1:], observation[None]])

    def seen_of(self, observation: np.ndarray, state: np.ndarray) -> np.ndarray:
        return observation  # the newest frame

    def stored_reward(self, reward: float) -> float:
        return min(max(reward, -1.0), 1.0)  # clipped as in Mnih et al. 2015

    def store(self, action: int, reward: float, observation, state, absorbing: bool, ended: bool) -> int:
        [slot] = self.memory.add(action, reward, observation, absorbing, ended and not absorbing)
        return slot

    def judge(self, returns: np.ndarray, successes: np.ndarray) -> dict[str, Any]:
        """Mean score, and for the paper's games the share of the way from random actions to a person's score."""
        metrics = {"return": returns.mean()}
        if self.config.env in SCORES:
            low, high = SCORES[self.config.env]
            metrics["normalized_return"] = (returns.mean() - low) / (high - low)
        return metrics

    def judge_q(self, mean_q: float) -> dict[str, Any]:
        return {"mean_q": mean_q}  # of clipped rewards: no largest return to compare it with


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or go on there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train.train, Trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
