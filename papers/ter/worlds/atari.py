"""Atari games (App. B, Fig. M.15): four frames make a state, rewards are clipped, a lost life ends an episode."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from common.networks import NatureTrunk
from common.replay.frames import FrameMemory, layout
from common.replay.storage import ring_bytes
from envs.atari import MAX_FRAMES, REPEAT, SIZE
from envs.atari import Atari as Game
from lab.run.errors import UserError
from lab.run.runs import Streams
from papers.ter.agents.networks import Network
from papers.ter.replay.batch import Batch
from papers.ter.worlds.world import Moment, World

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


def replay_bytes(capacity: int) -> int:
    """Memory [bytes] of the full replay."""
    return ring_bytes(*layout(capacity, 1, cut_every=CUT_EVERY, stack=STACK))


class GameMemory(FrameMemory):
    """The last transitions of a game. A state is uint8 (4, 84, 84), the newest frame last."""

    def __init__(self, capacity: int, gamma: float, device: str):
        super().__init__(capacity, 1, gamma, cut_every=CUT_EVERY, stack=STACK, device=device)
        self._last: tuple[np.ndarray, Batch] | None = None

    def draw(self, states: np.ndarray) -> Tensor:
        """States (n, 4, 84, 84) as the network sees them: float32 in [0, 1]."""
        return torch.from_numpy(states).to(self.device).float().div_(255)

    def begin(self, state: np.ndarray) -> None:
        """An episode begins in ``state``."""
        self.reset(state[-1])

    def add(self, action, reward, next_state, absorbing: bool, ended: bool) -> int:  # type: ignore[override]
        """As `papers.ter.replay.memory.TileMemory.add`; the reward is clipped to [-1, 1] (Mnih et al. 2015)."""
        self._last = None
        clipped = min(max(reward, -1.0), 1.0)
        [slot] = super().add(action, clipped, next_state[-1], absorbing, ended and not absorbing)
        return slot

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


class Atari(World):
    """A game; an episode of training ends when a life is lost, and the game goes on."""

    optimizer = "rmsprop"

    def __init__(self, config: Any, streams: Streams):
        super().__init__(config, streams)
        self.begun = False

    def make_env(self, training: bool = True) -> Game:
        try:
            return Game(self.config.env, training=training)
        except ValueError as error:
            raise UserError(str(error)) from None

    def make_memory(self) -> GameMemory:
        return GameMemory(self.config.capacity, self.config.gamma, self.config.device)

    def make_network(self, extra: bool = False) -> Network:
        return Network(NatureTrunk((SIZE, SIZE, STACK)), self.n_actions, extra=extra).to(self.config.device)

    def reset(self) -> Moment:
        """A new game at first; after a lost life the same one goes on, where a seed would start a new one."""
        seed, self.begun = None if self.begun else self.next_level(), True
        return self.first(*self.env.reset(seed=seed))

    def first(self, observation: np.ndarray, info: dict) -> Moment:
        return self._moment(np.zeros((STACK - 1, SIZE, SIZE), np.uint8), observation)

    def following(self, moment: Moment, observation: np.ndarray, info: dict) -> Moment:
        return self._moment(moment.state[1:], observation)

    def _moment(self, before: np.ndarray, frame: np.ndarray) -> Moment:
        return Moment(np.concatenate([before, frame[None]]), frame)  # a vertex is the newest frame

    def judge(self, returns: np.ndarray, successes: np.ndarray) -> dict[str, float]:
        """Mean score, and for the paper's games the share of the way from random actions to a person's score."""
        metrics = {"return": returns.mean()}
        if self.config.env in SCORES:
            low, high = SCORES[self.config.env]
            metrics["normalized_return"] = (returns.mean() - low) / (high - low)
        return metrics

    def judge_q(self, mean_q: float) -> dict[str, float]:
        return {"mean_q": mean_q}  # of clipped rewards: no largest return to compare it with
