"""Pictures in Stable-Baselines3: what is stored in little room is what was seen."""

import warnings
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecTransposeImage

from adapters.stable_baselines3 import SampledDQN, SampledReplayBuffer
from adapters.stable_baselines3_pictures import Drawn, FrameReplayBuffer
from common.replay.samplers import UniformSampler


class Screen(gymnasium.Env):
    """Random pictures, 12x12; an episode has seven steps."""

    observation_space = gymnasium.spaces.Box(0, 255, (12, 12, 1), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def seen(self):
        return self.np_random.integers(256, size=(12, 12, 1), dtype=np.uint8)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.seen(), {}

    def step(self, action):
        self.t += 1
        return self.seen(), float(self.t), self.t == 7, False, {}


def uniform(capacity):
    return UniformSampler(np.random.default_rng(0))


def screens(first_channel):
    worlds = VecFrameStack(DummyVecEnv([Screen, Screen]), 4)
    return VecTransposeImage(worlds) if first_channel else worlds


@pytest.mark.parametrize("first_channel", [True, False])
def test_frames_are_kept_once_and_come_back_as_they_were(first_channel):
    """Through several rounds of a small memory, with episodes and with a second `learn` that resets in one."""
    settings = dict(buffer_size=60, learning_starts=20, batch_size=8, seed=0, device="cpu", make_sampler=uniform,
                    policy_kwargs={"net_arch": [8], "normalize_images": first_channel})  # fmt: skip
    agents = [
        SampledDQN("MlpPolicy", screens(first_channel), replay_buffer_class=kind, **settings).learn(40).learn(150)
        for kind in (SampledReplayBuffer, FrameReplayBuffer)
    ]
    plain, frames = (agent.replay_buffer.batch(np.arange(60)) for agent in agents)
    assert frames.observations.dtype == torch.uint8
    for one, other in zip(plain[:5], frames[:5]):
        assert torch.equal(one, other)
    held = agents[1].replay_buffer.observations.frames
    assert set(held.held) == set(held.users) and sum(held.users.values()) == 60 * 2 * 4
    assert len(held.held) < 60 * 1.5  # a frame for each step and each start, not eight


def test_pictures_that_will_not_fit_are_told(monkeypatch):
    """Four of 84x84, as they are and as frames."""
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=2e8))
    space, actions = gymnasium.spaces.Box(0, 255, (4, 84, 84), np.uint8), gymnasium.spaces.Discrete(2)
    for told in (space, gymnasium.spaces.Dict(picture=space)):
        with pytest.warns(UserWarning, match=r"will take 0.6 GB, of 0.2 GB free: lower buffer_size, or take what"):
            SampledReplayBuffer(10**4, told, actions, make_sampler=uniform)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FrameReplayBuffer(10**4, space, actions, make_sampler=uniform)


def test_frames_are_refused_for_what_are_no_pictures():
    with pytest.raises(ValueError, match="FrameReplayBuffer is for pictures"):
        SampledDQN("MlpPolicy", "CartPole-v1", replay_buffer_class=FrameReplayBuffer, make_sampler=uniform)


def test_tiles_are_kept_as_codes_and_drawn_for_the_network(tmp_path):
    env = gymnasium.make("envs:Sokoban-v0", shape=(5, 5), boxes=1, observation="codes")
    policy = dict(
        features_extractor_class=Drawn, features_extractor_kwargs=dict(tiles=env.unwrapped.tiles), net_arch=[8]
    )
    agent = SampledDQN("MlpPolicy", env, learning_starts=10, policy_kwargs=policy, device="cpu", seed=0).learn(20)
    buffer = agent.replay_buffer
    assert buffer.observations.nbytes + buffer.next_observations.nbytes < 60e6  # of a million transitions
    shown = gymnasium.make("envs:Sokoban-v0", shape=(5, 5), boxes=1)
    picture, info = shown.reset(seed=3)
    seen = []
    agent.q_net.features_extractor.network.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    agent.predict(info["tiles"], deterministic=True)
    np.testing.assert_allclose(seen[0][0].permute(1, 2, 0).numpy() * 255, picture, rtol=1e-6)
    agent.save(tmp_path / "agent")
    SampledDQN.load(tmp_path / "agent", env=env).learn(8)
