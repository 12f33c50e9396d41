"""Hindsight in Stable-Baselines3: which virtual transitions are stored, with which rewards and ends."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from stable_baselines3.common.vec_env import DummyVecEnv

from adapters.stable_baselines3 import SampledDQN
from adapters.stable_baselines3_her import SampledHerReplayBuffer
from common.replay.samplers import PrioritizedSampler

PLACES = [0, 0, 1, 1, 2]
"""Where an episode is before its steps, and at its end: the first and the third step lead nowhere."""


class Walk(gymnasium.Env):
    """Goes through `PLACES`, whatever is done; the goal, 9, is out of reach. A met goal is rewarded with `met`."""

    observation_space = Dict({name: Box(0, 9, (1,)) for name in ("observation", "achieved_goal", "desired_goal")})
    action_space = Discrete(2)
    met = 0.0

    def seen(self):
        at, goal = np.float32([PLACES[self.t]]), np.float32([9])
        return {"observation": np.float32([self.t]), "achieved_goal": at, "desired_goal": goal}

    def reset(self, seed=None, options=None):
        self.t = 0
        return self.seen(), {}

    def step(self, action):
        self.t += 1
        return self.seen(), self.met - 1.0, False, self.t == len(PLACES) - 1, {}

    def compute_reward(self, achieved_goal, desired_goal, info):
        return (achieved_goal == desired_goal).all(axis=-1) - 1.0 + self.met


class Rewarded(Walk):
    met = 1.0


class Falling(Walk):
    """Ends without success."""

    def step(self, action):
        seen, reward, _, truncated, info = super().step(action)
        return seen, reward, truncated, False, info


class Ending(Walk):
    def compute_terminated(self, achieved_goal, desired_goal, info):
        return bool(desired_goal[0] == 2)


class Informed(Walk):
    """The reward of a step is told in its info."""

    def step(self, action):
        seen, reward, terminated, truncated, _ = super().step(action)
        return seen, reward, terminated, truncated, {"t": self.t}

    def compute_reward(self, achieved_goal, desired_goal, info):
        return np.array([one["t"] for one in info])


class Still(Walk):
    """Its second observation is its first one."""

    def seen(self):
        return super().seen() | {"observation": np.float32([0])}


def learnt(env, steps=40, **settings):
    """The agent, and its virtual transitions: (step, goal, reward, done)."""
    agent = SampledDQN(
        "MultiInputPolicy", DummyVecEnv([env]), learning_starts=20, batch_size=16, train_freq=1, seed=0, device="cpu",
        buffer_size=500, make_sampler=lambda n: PrioritizedSampler(n, np.random.default_rng(0), beta_steps=100),
        replay_buffer_class=SampledHerReplayBuffer, replay_buffer_kwargs=settings,
        policy_kwargs={"net_arch": [8]},
    ).learn(steps)  # fmt: skip
    batch = agent.replay_buffer.batch(np.arange(agent.replay_buffer.pos))
    columns = (batch.observations["observation"], batch.observations["desired_goal"], batch.rewards, batch.dones)
    rows = np.concatenate([column.numpy() for column in columns], axis=1)
    return agent, rows[rows[:, 1] != 9]


def test_every_goal_or_those_that_do_not_mislead():
    _, rows = learnt(Walk, n_sampled_goal=4)
    assert len(rows) == 4 * 40
    before, after = np.array(PLACES)[rows[:, 0].astype(int)], np.array(PLACES)[rows[:, 0].astype(int) + 1]
    assert set(zip(rows[:, 0], rows[:, 1])) == {(t, g) for t in range(4) for g in PLACES[t + 1 :]}
    np.testing.assert_array_equal(rows[:, 2], (after == rows[:, 1]) - 1.0)
    assert (before == rows[:, 1]).any() and not rows[:, 3].any()
    _, kept = learnt(Walk, n_sampled_goal=4, keep="filtered")
    assert not (np.array(PLACES)[kept[:, 0].astype(int)] == kept[:, 1]).any()
    assert len(kept) == (before != rows[:, 1]).sum()  # the same draws, without those that mislead


def test_where_success_is_rewarded_with_another_number():
    _, rows = learnt(Rewarded, keep="filtered", success=1.0, ends_at_success=True)
    assert set(rows[:, 2]) == {0.0, 1.0} and (rows[:, 3] == rows[:, 2]).all()
    assert not (np.array(PLACES)[rows[:, 0].astype(int)] == rows[:, 1]).any()
    with pytest.raises(ValueError, match="gives 1 for meeting a goal, not success=0: set success"):
        learnt(Rewarded, keep="filtered")
    learnt(Rewarded)  # plain hindsight need not know


def test_a_real_failure_ends_its_virtual_transitions_too():
    for ends_at_success in (False, True):
        _, rows = learnt(Falling, n_sampled_goal=4, ends_at_success=ends_at_success)
        assert len(last := rows[rows[:, 0] == 3]) == 40 and last[:, 3].all()
        met = (rows[:, 2] == 0) & ends_at_success
        assert (rows[:, 3] == (met | (rows[:, 0] == 3))).all()


def test_the_environment_says_when_a_task_ends():
    _, rows = learnt(Ending)
    assert (rows[:, 3] == (rows[:, 1] == 2)).all()


def test_infos_of_the_steps():
    _, rows = learnt(Informed, copy_info_dict=True, goal_selection_strategy="future")
    assert len(rows) == 4 * 40 and (rows[:, 2] == rows[:, 0] + 1).all()


def test_an_episode_that_was_given_up_before_it_moved():
    agent, _ = learnt(Still, 5, n_sampled_goal=1)
    agent.learn(5)
    ages = agent.replay_buffer.ages[: agent.replay_buffer.pos, 0].tolist()
    assert ages == [*range(4)] * 2 + [0, 0] + [*range(4)] * 2 + [0]


def test_each_virtual_transition_has_a_priority_of_its_own():
    agent, _ = learnt(Walk, 300)
    buffer = agent.replay_buffer
    batch = buffer.batch(slots := np.arange(500))
    priorities, errors = buffer.sampler.tree[slots], agent.errors(batch)
    same_step = batch.observations["observation"].numpy().ravel() == 0
    assert len(set(priorities[same_step].round(6))) > 20
    seen = priorities < buffer.sampler.max_priority  # these were replayed, some time ago
    assert np.corrcoef(priorities[seen], errors[seen])[0, 1] > 0.5
