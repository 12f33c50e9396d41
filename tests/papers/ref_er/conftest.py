"""What several tests of ReF-ER use: a task that counts, a filled memory."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from papers.ref_er.memory.episode import Episode
from papers.ref_er.memory.memory import EpisodeMemory

N_STATES, N_ACTIONS = 3, 2
LENGTHS, TERMINAL = (6, 1, 9, 4, 12), (True, False, False, True, False)
GAMMA, SCALE = 0.9, 0.7


def filled(
    seed: int = 0, std: float | None = None, spread: float = 0.4, kind=EpisodeMemory, capacity: int = 40
) -> EpisodeMemory:
    """A memory of five episodes, 32 steps, by a behaviour that changes from step to step.

    std: of the behaviour, drawn anew for each step when None; spread: standard deviation of its means.
    """
    rng, memory = np.random.default_rng(seed), kind(capacity, N_STATES, N_ACTIONS, 12, GAMMA)
    for length, terminated in zip(LENGTHS, TERMINAL):
        means = spread * rng.standard_normal((length, N_ACTIONS))
        stds = np.full_like(means, std) if std else rng.uniform(0.3, 0.7, means.shape)
        states, noise = rng.standard_normal((length + 1, N_STATES)), rng.standard_normal(means.shape)
        rewards, values = rng.standard_normal(length), rng.standard_normal(length + 1)
        actions = means + stds * noise
        memory.add(Episode(*map(list, (states, actions, means, stds, rewards, values)), terminated))
    memory.reward_scale = SCALE
    return memory


class Counter(gymnasium.Env):
    """Observations are the step's number and noise around 5, the t-th action pays t.

    Every second episode is over after 4 steps, the others last as long as they may.
    """

    def __init__(self):
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.short = True

    def _observe(self) -> np.ndarray:
        return np.array([self.t, 5 + self.np_random.standard_normal()])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.short = 0, bool(seed % 2)
        return self._observe(), {}

    def step(self, action):
        self.t += 1
        return self._observe(), float(self.t), self.short and self.t == 4, False, {}


@pytest.fixture
def counter():
    gymnasium.register("testsCounter-v0", entry_point=Counter, max_episode_steps=7)
    yield
    del gymnasium.registry["testsCounter-v0"]
