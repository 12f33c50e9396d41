"""CleanRL's buffer with our samplers: what gymnasium's vector environments say of ends reaches them."""

import random

import gymnasium as gym
import numpy as np
import pytest
import torch

from adapters.cleanrl import ReplayBuffer
from common.replay.not_in_the_papers.reducible import ReLo
from common.replay.samplers import PrioritizedSampler, UniformSampler
from papers.ter.replay.graph import TransitionGraph
from papers.ter.topological import TER
from tests.adapters.test_stable_baselines3 import Corridor

BOX, ACTIONS = Corridor.observation_space, Corridor.action_space


class Spy(UniformSampler):
    def __init__(self):
        super().__init__(np.random.default_rng(0))
        self.steps, self.returns = [], []

    def add(self, index, step=None):
        super().add(index)
        self.steps.append(step)

    def episode(self, total_return):
        self.returns.append(total_return)


def buffer(sampler, **settings) -> ReplayBuffer:
    settings = dict(handle_timeout_termination=False) | settings
    return ReplayBuffer(64, BOX, ACTIONS, "cpu", make_sampler=lambda capacity: sampler, **settings)


def test_ends_of_gymnasium_1():
    envs = gym.vector.SyncVectorEnv(
        [lambda: gym.wrappers.RecordEpisodeStatistics(Corridor())], autoreset_mode=gym.vector.AutoresetMode.SAME_STEP
    )
    spy = Spy()
    rb = buffer(spy)
    obs, _ = envs.reset()
    for _ in range(8):
        next_obs, rewards, terminations, _, infos = envs.step(np.array([0]))
        rb.add(obs, next_obs, np.array([0]), rewards, terminations, infos)  # the next episode's start at every end
        obs = next_obs
    found = [(*s.observation, *s.next_observation, s.terminated, s.truncated) for s in spy.steps]
    assert found == [(t, t + 1, t == 3 and not odd, t == 3 and odd) for odd in (False, True) for t in range(4)]
    assert spy.returns == [10.0, 10.0]
    dones = rb.batch(np.arange(8)).dones
    assert dones.flatten().tolist() == [0, 0, 0, 1, 0, 0, 0, 0]  # the return goes on at the time limit


@pytest.mark.parametrize("cut", [False, True])
def test_ends_of_gymnasium_0_29(cut):
    """As its documentation says: arrays of objects, and masks beside them; two environments, the second one ends."""
    spy = Spy()
    rb = buffer(spy, n_envs=2)
    last, total = np.array([None, np.float32([4])], object), {"episode": {"r": np.float32([10]), "l": np.int32([4])}}
    infos = {"final_observation": last, "_final_observation": np.array([False, True]),
             "final_info": np.array([None, total]), "_final_info": np.array([False, True])}  # fmt: skip
    obs, following = np.float32([[0], [3]]), np.float32([[1], [0]])
    rb.add(obs, following, np.array([0, 1]), np.ones(2), np.array([False, not cut]), infos)
    rb.add(following, following + 1, np.array([0, 1]), np.ones(2), np.zeros(2, bool), {})
    ends = [(s.env_id, s.terminated, s.truncated, float(s.next_observation[0])) for s in spy.steps]
    assert ends == [(0, False, False, 1), (1, not cut, cut, 4), (0, False, False, 2), (1, False, False, 1)]
    assert spy.returns == [10.0] and following.tolist() == [[1], [0]]  # the script's own array stays


def test_ter_joins_no_episodes_and_hears_td_errors():
    prioritized = PrioritizedSampler(64, np.random.default_rng(0), beta_steps=100)
    ter = TER(TransitionGraph(64), random.Random(0), lambda s: float(s[0]), 0.5, prioritized)
    rb = buffer(ter)
    envs = gym.vector.SyncVectorEnv([Corridor], autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
    obs, _ = envs.reset()
    for _ in range(20):
        next_obs, rewards, terminations, _, infos = envs.step(np.array([0]))
        rb.add(obs, next_obs, np.array([0]), rewards, terminations, infos)
        obs = next_obs
    assert {(v, w) for v, w, _ in ter.graph._ends} == {(t, t + 1) for t in range(4)} and ter.graph.terminal.items == [4]
    data = rb.sample(8)
    assert data.weights.shape == (8, 1) and data.observations.shape == (8, 1)
    before = prioritized.tree[:].copy()
    rb.sampler.update(rb.indices, {"td_error": torch.zeros(8).numpy()})
    assert (prioritized.tree[rb.indices] < before[rb.indices]).all()


def test_more_may_be_given_and_what_is_not_is_said():
    relo = ReLo(64, np.random.default_rng(0), huber_delta=1.0, beta_steps=100)
    message = "ReLo needs target_td_error, which is not given: if the script reports it, name it in provides"
    with pytest.raises(ValueError, match=message):
        buffer(relo)
    assert buffer(relo, provides=["target_td_error"]).sampler is relo
    with pytest.raises(ValueError, match=r"only the script has networks"):
        buffer(relo, provides=["target_td_error"]).errors(np.arange(2))
