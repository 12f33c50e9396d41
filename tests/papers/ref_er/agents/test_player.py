"""Episodes as they are recorded, on a task whose every number is known and on two of MuJoCo's."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

from papers.ref_er.agents import player as module
from papers.ref_er.agents.gaussian import importance_weight, truncated_normal
from papers.ref_er.agents.player import OrnsteinUhlenbeck, Player, WhiteNoise, ending_statistics, return_statistics
from papers.ref_er.agents.vracer import VRACER
from papers.ref_er.memory.episode import Episode
from papers.ref_er.memory.memory import EpisodeMemory

STD = np.array([0.3, 0.7])


class Counting(gymnasium.Env):
    """States (seed mod 100, t); reward 10 t + 1 for step t. Ends after 3 steps, by a terminal state or by time."""

    action_space = Box(np.float32([-1, 0]), np.float32([3, 10]))
    observation_space = Box(-np.inf, np.inf, (2,))

    def __init__(self, terminal: bool):
        self.terminal, self.received, self.seeds = terminal, [], []

    def reset(self, *, seed=None, options=None):
        self.t = 0
        self.seeds.append(seed)
        return np.array([seed % 100, 0.0]), {}

    def step(self, action):
        self.received.append(action)
        self.t += 1
        end = self.t == 3
        state = np.array([self.seeds[-1] % 100, self.t], float)
        return state, 10 * (self.t - 1) + 1, end and self.terminal, end and not self.terminal, {}


def counting(monkeypatch, terminal: bool = False, noise: WhiteNoise | None = None, seed: int = 0) -> Player:
    monkeypatch.setattr(module, "make_env", lambda name: Counting(terminal))
    return Player("counting", np.random.default_rng(seed), noise or WhiteNoise(np.random.default_rng(1)))


def act(state):
    """Mean (t, 2 t), and V = 100 + t, for a state that `scale` has put into its units."""
    return np.array([state[1], 2 * state[1]]), STD, 100 + float(state[1])


def scale(state):
    """t counts in units of 2."""
    return (state / [1, 2]).astype(np.float32)


def play(player: Player, act=act, scale=scale):
    """One whole episode."""
    for _ in range(2000):
        episode = player.step(act, scale)
        if episode is not None:
            return episode
    raise AssertionError("the episode does not end")


# --- what is recorded ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("terminal", [True, False])
def test_an_episode_by_hand(monkeypatch, terminal):
    player = counting(monkeypatch, terminal)
    twin = np.random.default_rng(1)
    first_seed = int(np.random.default_rng(0).integers(2**31))
    assert player.step(act, scale) is None and len(player.episode) == 1
    assert player.step(act, scale) is None
    episode = player.step(act, scale)
    assert len(episode) == 3 and episode.terminated is terminal
    np.testing.assert_array_equal(episode.states, [[first_seed % 100, t / 2] for t in range(4)])
    assert all(state.dtype == np.float32 for state in episode.states)
    np.testing.assert_array_equal(episode.means, [[0, 0], [0.5, 1], [1, 2]])
    np.testing.assert_array_equal(episode.stds, [STD] * 3)
    np.testing.assert_allclose(episode.actions, episode.means + STD * [truncated_normal(twin, 2) for _ in range(3)])
    assert episode.rewards == [1, 11, 21]
    assert episode.values == [100, 100.5, 101, 0 if terminal else 101.5]
    assert player.env.seeds == [first_seed]
    expected = [[-1 + 2 * (a + 1), 5 * (b + 1)] for a, b in episode.actions]  # in the task's units
    np.testing.assert_allclose(player.env.received, expected)


def test_episodes_follow_one_another(monkeypatch):
    """A new one begins with a start of its own, and does not change the one before."""
    player = counting(monkeypatch)
    first = play(player)
    kept = copy.deepcopy(first)
    assert not player.episode.states
    second = play(player)
    np.testing.assert_array_equal(first.states, kept.states)
    np.testing.assert_array_equal(first.actions, kept.actions)
    assert len(first) == len(second) == 3 and first.values == kept.values
    twin = np.random.default_rng(0)
    assert player.env.seeds == [int(twin.integers(2**31)) for _ in range(2)]


def resting(state):
    return np.zeros(2), np.full(2, 0.2), float(state.sum())


def as_it_is(state):
    return state.astype(np.float32)


def mujoco(name: str) -> Player:
    return Player(name, np.random.default_rng(0), WhiteNoise(np.random.default_rng(100)))


def test_right_after_acting_every_weight_is_one():
    """The learner finds in the memory's batch the policy that has acted."""
    player, agent = mujoco("InvertedPendulum-v5"), VRACER(4, 1, seed=3)
    memory = EpisodeMemory(100, 4, 1, 1000, 0.99)
    slots, _ = memory.add(play(player, agent.act, memory.scale))
    outputs = agent.network.evaluate(memory.states[slots])
    rho = importance_weight(memory.actions[slots], outputs[:, 1:], agent.std, memory.means[slots], memory.stds[slots])
    np.testing.assert_allclose(rho, 1, rtol=1e-5)
    np.testing.assert_allclose(memory.values[slots], outputs[:, 0], rtol=1e-4, atol=1e-6)
    moved = importance_weight(memory.actions[slots], outputs[:, 1:] + 0.1, agent.std, memory.means[slots], agent.std)
    assert abs(moved - 1).max() > 0.01


# --- random numbers and copies ---------------------------------------------------------------------------------------
def test_a_player_is_not_pickled_within_an_episode():
    player = mujoco("Reacher-v5")
    pickle.dumps(player)
    player.step(resting, as_it_is)
    with pytest.raises(RuntimeError, match="between two episodes"):
        pickle.dumps(player)
    play(player, resting, as_it_is)
    pickle.dumps(player)


# --- noise -----------------------------------------------------------------------------------------------------------
def test_white_noise_is_the_truncated_normal():
    noise, twin = WhiteNoise(np.random.default_rng(5)), np.random.default_rng(5)
    for _ in range(3):
        np.testing.assert_array_equal(noise(STD), STD * truncated_normal(twin, 2))
        noise.reset()


@pytest.mark.parametrize("theta", [0.15, 1.0])
def test_ornstein_uhlenbeck_against_its_recursion(theta):
    """e <- (1 - theta) e + std z, from 0 whenever an episode begins; with theta = 1 it is white noise."""
    noise, twin = OrnsteinUhlenbeck(np.random.default_rng(5), theta), np.random.default_rng(5)
    for _ in range(2):
        noise.reset()
        found, expected, e = [], [], np.zeros(2)
        for _ in range(20):
            e = (1 - theta) * e + STD * truncated_normal(twin, 2)
            found.append(noise(STD))
            expected.append(e)
        np.testing.assert_allclose(found, expected)  # what was handed out before has not changed either


def test_correlated_noise_begins_anew_with_every_episode(monkeypatch):
    player = counting(monkeypatch, noise=OrnsteinUhlenbeck(np.random.default_rng(1), 0.15))
    twin = np.random.default_rng(1)
    for _ in range(2):
        episode, e = play(player), np.zeros(2)
        for action, mean in zip(episode.actions, episode.means):
            e = 0.85 * e + STD * truncated_normal(twin, 2)
            np.testing.assert_allclose(action - mean, e)


# --- statistics ------------------------------------------------------------------------------------------------------
def test_statistics_of_returns_by_hand():
    """Eleven returns out of order: the deciles are the returns themselves."""
    found = return_statistics([5.0, 100.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0])
    deciles = {f"return p{10 * k}": value for k, value in enumerate([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 100])}
    assert found == {"episodes": 11, "return": pytest.approx(145 / 11), **deciles}
    assert return_statistics([]) == {"episodes": 0}
    found = return_statistics([3.0])
    assert found["episodes"] == 1 and set(found.values()) == {1, 3.0}
    found = return_statistics([0.0, 10.0])
    assert found["return"] == 5 and found["return p30"] == 3
    assert return_statistics([123456.789])["return p50"] == 123457, "six digits are kept"


def test_statistics_of_endings_by_hand():
    """Per action, not per episode: one exit in ten actions, whose squared norms sum to 4."""
    actions = [np.array([1.0, -2.0]), np.array([2.0, 0.0])]
    assert Episode(actions=actions, terminated=True).ending() == (True, 2, 9.0)
    assert ending_statistics([(True, 2, 1.0), (False, 8, 3.0)]) == {"exits": 0.1, "effort": 0.4}
    assert ending_statistics([]) == {}
