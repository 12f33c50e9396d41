"""Our samplers in Stable-Baselines3: with its own draws the agents learn what its own learn, digit by digit."""

import random

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import DQN, SAC, TD3
from stable_baselines3.common.vec_env import DummyVecEnv

from adapters.stable_baselines3 import SampledDQN, SampledReplayBuffer
from adapters.stable_baselines3_sac import SampledSAC
from common.replay.not_in_the_papers.reducible import ReLo
from common.replay.protocol import Chosen
from common.replay.samplers import PrioritizedSampler, UniformSampler
from papers.ter.replay.ebu import EBU
from papers.ter.replay.graph import TransitionGraph
from papers.ter.topological import TER


def small() -> dict:
    """Settings; a new dictionary each time, because Stable-Baselines3 writes into it."""
    return dict(learning_starts=40, batch_size=16, policy_kwargs={"net_arch": [16]}, seed=3, device="cpu")


class TheirDraws(UniformSampler):
    """The draws of Stable-Baselines3 with one environment, from NumPy's global generator as there."""

    def __init__(self):
        super().__init__(np.random.default_rng(0))

    def _draw(self, n):
        slots = np.random.randint(0, self.stored, size=n)  # noqa: NPY002
        np.random.randint(0, high=1, size=n)  # noqa: NPY002, which environment
        return slots


class Corridor(gymnasium.Env):
    """A state is how far it is; after four steps the end (even episodes) or a time limit (odd ones)."""

    observation_space = gymnasium.spaces.Box(-100, 100, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, start: int = 0):
        self.start, self.episodes = start, -1

    def reset(self, seed=None, options=None):
        self.t, self.episodes = 0, self.episodes + 1
        return np.float32([self.start]), {}

    def step(self, action):
        self.t += 1
        over, odd = self.t == 4, self.episodes % 2 == 1
        return np.float32([self.start + self.t]), float(self.t), over and not odd, over and odd, {}


@pytest.mark.parametrize(
    ("theirs", "ours", "env"), [(DQN, SampledDQN, "CartPole-v1"), (SAC, SampledSAC, "Pendulum-v1")]
)
def test_with_the_same_draws_the_same_networks(theirs, ours, env):
    plain = theirs("MlpPolicy", env, **small()).learn(120)
    same = ours("MlpPolicy", env, make_sampler=lambda capacity: TheirDraws(), **small()).learn(120)
    found = same.policy.state_dict()
    for name, value in plain.policy.state_dict().items():
        torch.testing.assert_close(found[name], value, rtol=1e-4, atol=1e-6)


def test_slots_are_steps_of_several_environments():
    worlds = DummyVecEnv([lambda: Corridor(0), lambda: Corridor(50)])
    heard = []

    class Spy(UniformSampler):
        def add(self, index, step=None):
            super().add(index)
            heard.append((index, step))

    agent = SampledDQN("MlpPolicy", worlds, make_sampler=lambda capacity: Spy(np.random.default_rng(0)), **small())
    agent.learn(38)
    for index, step in heard:
        assert (index % 2, step.observation[0] >= 50) == (step.env_id, bool(step.env_id))
        assert step.next_observation[0] == step.observation[0] + 1  # not the first state of the next episode
    assert [(s.terminated, s.truncated) for i, s in heard if i % 2 == 0][3:8:4] == [(True, False), (False, True)]
    slots = np.array([0, 7, 9, 15])  # the second one terminated, and the last one ran out of time: its return goes on
    agent.replay_buffer.sampler.sample = lambda n: Chosen(slots, np.float32([1, 2, 3, 4]))
    batch = agent.replay_buffer.sample(4)
    assert batch.observations.flatten().tolist() == [0, 53, 50, 53]
    assert batch.weights.flatten().tolist() == [1, 2, 3, 4]
    assert batch.rewards.flatten().tolist() == [1, 4, 1, 4] and batch.dones.flatten().tolist() == [0, 1, 0, 0]


def test_prioritised_replay_hears_td_errors_and_its_weights_count():
    def make(capacity):
        return PrioritizedSampler(capacity, np.random.default_rng(0), 1.0, beta_steps=10, epsilon=0.0, clip=None)

    agent = SampledDQN("MlpPolicy", Corridor(), make_sampler=make, buffer_size=30, **small())
    agent.learn(41)
    slots = agent.replay_buffer.indices
    with torch.no_grad():  # the networks have moved by one step since
        batch = agent.replay_buffer.sampler.tree[slots]
    assert len(set(batch.tolist())) > 1 and (batch >= 0).all()
    before = [p.clone() for p in agent.policy.parameters()]
    agent.replay_buffer.sampler.sample = lambda n: Chosen(np.arange(n), np.zeros(n, np.float32))
    agent.policy.optimizer.param_groups[0]["betas"] = (0.0, 0.0)
    agent.train(1, 8)
    assert all(torch.equal(a, b) for a, b in zip(before, agent.policy.parameters()))  # nothing weighs anything


def test_ter_in_dqn():
    def make(capacity):
        prioritized = PrioritizedSampler(capacity, np.random.default_rng(0), beta_steps=100)
        return TER(TransitionGraph(capacity), random.Random(0), lambda s: float(s[0]), 0.25, prioritized)

    agent = SampledDQN("MlpPolicy", DummyVecEnv([Corridor, lambda: Corridor(50)]), make_sampler=make, **small())
    agent.learn(100)
    graph = agent.replay_buffer.sampler.graph
    assert set(graph.terminal.items) == {4.0, 54.0} and list(graph.predecessors[4.0]) == [3.0]
    assert agent.replay_buffer.sampler.sweeps > 0


@pytest.mark.parametrize(("kind", "env"), [(SampledDQN, "CartPole-v1"), (SampledSAC, "Pendulum-v1")])
def test_reducible_loss_hears_both_networks(kind, env):
    heard = []

    class Spy(ReLo):
        def update(self, indices, signals):
            heard.append(signals)
            super().update(indices, signals)

    def make(capacity):
        return Spy(capacity, np.random.default_rng(0), huber_delta=1.0 if kind is SampledDQN else None, beta_steps=100)

    kind("MlpPolicy", env, make_sampler=make, **small()).learn(80)
    first, last = heard[0], heard[-1]
    np.testing.assert_allclose(first["td_error"], first["target_td_error"], rtol=1e-5)  # the networks begin equal
    assert np.abs(np.subtract(last["td_error"], last["target_td_error"])).min() > 0
    np.testing.assert_allclose(np.abs(last["target"] - last["q"]), np.abs(last["td_error"]), atol=0.5)


def test_saved_and_loaded(tmp_path):
    agent = SampledDQN("MlpPolicy", "CartPole-v1", **small()).learn(60)
    agent.save(tmp_path / "agent")
    again = SampledDQN.load(tmp_path / "agent", env=agent.get_env())
    for a, b in zip(agent.policy.parameters(), again.policy.parameters()):
        assert torch.equal(a, b)
    again.learn(60)


def test_a_buffer_for_any_agent_as_long_as_nothing_is_asked_back():
    def buffer(**sampler):
        return dict(replay_buffer_class=SampledReplayBuffer, replay_buffer_kwargs=sampler, **small())

    sampler = dict(make_sampler=lambda capacity: UniformSampler(np.random.default_rng(0)))
    TD3("MlpPolicy", "Pendulum-v1", **buffer(**sampler)).learn(60)
    greedy = dict(make_sampler=lambda capacity: PrioritizedSampler(capacity, np.random.default_rng(0), beta_steps=1))
    with pytest.raises(ValueError, match="PrioritizedSampler needs td_error, which is not given"):
        TD3("MlpPolicy", "Pendulum-v1", **buffer(**greedy))
    with pytest.raises(ValueError, match="EBU needs values, which is not given"):
        SampledDQN("MlpPolicy", "CartPole-v1", make_sampler=lambda n: EBU.__new__(EBU), **small())
    with pytest.raises(ValueError, match="optimize_memory_usage"):
        SampledReplayBuffer(9, Corridor.observation_space, Corridor.action_space, "cpu", optimize_memory_usage=True,
                            handle_timeout_termination=False, **sampler)  # fmt: skip
