"""Our samplers in Stable-Baselines3: with its own draws the agents learn what its own learn, digit by digit."""

import importlib
import random
import sys

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import DQN, SAC, TD3, HerReplayBuffer
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.type_aliases import TrainFreq, TrainFrequencyUnit
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize

from adapters.stable_baselines3 import Evaluations, SampledDQN, SampledReplayBuffer
from adapters.stable_baselines3_her import SampledHerReplayBuffer
from adapters.stable_baselines3_sac import SampledSAC
from adapters.stable_baselines3_td3 import SampledTD3
from common.replay.not_in_the_papers.large_batch import LaBER
from common.replay.not_in_the_papers.reducible import ReLo
from common.replay.protocol import Chosen
from common.replay.samplers import PrioritizedSampler, UniformSampler
from papers.ter.agents.discor import DisCor
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
    ("theirs", "ours", "settings"),
    [
        (DQN, SampledDQN, {}),
        (DQN, SampledDQN, {"n_steps": 3, "gradient_steps": 2}),
        (SAC, SampledSAC, {}),
        (SAC, SampledSAC, {"n_steps": 3, "ent_coef": 0.1, "target_update_interval": 2, "gradient_steps": 3}),
        (SAC, SampledSAC, {"use_sde": True}),
        (TD3, SampledTD3, {}),
        (TD3, SampledTD3, {"n_steps": 3, "policy_delay": 3}),
    ],
    ids=str,
)
def test_with_the_same_draws_the_same_networks(theirs, ours, settings):
    """Whatever their settings: none is left aside."""
    env = "CartPole-v1" if theirs is DQN else "Pendulum-v1"
    plain = theirs("MlpPolicy", env, **small(), **settings).learn(110)
    same = ours("MlpPolicy", env, make_sampler=lambda capacity: TheirDraws(), **small(), **settings).learn(110)
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


@pytest.mark.parametrize(
    ("theirs", "ours", "n_steps"),
    [(DQN, SampledDQN, 1), (DQN, SampledDQN, 3), (SAC, SampledSAC, 1), (TD3, SampledTD3, 1)],
)
@pytest.mark.filterwarnings("ignore:.*is ignored because a custom")
def test_a_file_of_their_own_agent(tmp_path, theirs, ours, n_steps):
    env = gymnasium.make("CartPole-v1" if theirs is DQN else "Pendulum-v1")
    theirs("MlpPolicy", env, n_steps=n_steps, **small()).learn(60).save(tmp_path / "agent")
    agent = ours.load(tmp_path / "agent", env=env, make_sampler=lambda n: UniformSampler(np.random.default_rng(0)))
    agent.learn(60)
    assert isinstance(agent.replay_buffer, SampledReplayBuffer) and agent.replay_buffer.n_steps == n_steps
    agent.save(tmp_path / "agent")
    theirs.load(tmp_path / "agent", env=env).learn(60)  # and back


def test_a_saved_memory(tmp_path):
    def make(capacity, buffer):
        return LaBER(np.random.default_rng(0), buffer.errors)

    settings = dict(make_sampler=make, buffer_size=99, train_freq=1, **small())
    agent = SampledDQN("MlpPolicy", Corridor(), **settings).learn(62)
    agent.save(tmp_path / "agent")
    agent.save_replay_buffer(tmp_path / "memory")
    again = SampledDQN.load(tmp_path / "agent", env=Corridor(50))
    again.load_replay_buffer(tmp_path / "memory")
    buffer = again.replay_buffer
    assert buffer.sampler.errors.__self__ is buffer and buffer.learner is again and buffer.sampler.stored == 62
    again.learn(8, reset_num_timesteps=False)
    assert buffer.apart[61, 0] and again._n_updates > agent._n_updates  # in another episode, the steps do not follow
    with pytest.raises(ValueError, match="LaBER needs errors, which is not given: take SampledDQN"):
        SampledReplayBuffer(9, Corridor.observation_space, Corridor.action_space, make_sampler=make)
    DQN("MlpPolicy", Corridor(), buffer_size=99, **small()).learn(9).save_replay_buffer(tmp_path / "memory")
    with pytest.raises(ValueError, match="holds a ReplayBuffer: only a SampledReplayBuffer has a sampler"):
        again.load_replay_buffer(tmp_path / "memory")
    assert again.replay_buffer is buffer


def test_a_memory_of_another_agent(tmp_path):
    """Its returns are those of the agent that learns from it; of other worlds, it is refused."""
    SampledDQN("MlpPolicy", Corridor(), buffer_size=99, **small()).learn(50).save_replay_buffer(tmp_path / "memory")
    other = SampledDQN("MlpPolicy", Corridor(), buffer_size=99, n_steps=3, gamma=0.5, **small())
    other.load_replay_buffer(tmp_path / "memory")
    assert other.replay_buffer.batch(np.arange(1)).rewards.item() == 1 + 0.5 * 2 + 0.25 * 3
    two = SampledDQN("MlpPolicy", DummyVecEnv([Corridor, Corridor]), buffer_size=99, **small())
    with pytest.raises(ValueError, match="the file's memory has n_envs 1, the agent 2"):
        two.load_replay_buffer(tmp_path / "memory")
    cart = SampledDQN("MlpPolicy", "CartPole-v1", buffer_size=99, **small())
    with pytest.raises(ValueError, match="the file's memory has observation_space Box"):
        cart.load_replay_buffer(tmp_path / "memory")
    assert two.learn(20).replay_buffer.pos == 12 and cart.learn(20).replay_buffer.pos == 20  # each with its own


def test_a_memory_in_the_file_of_its_agent(tmp_path):
    def make(capacity, buffer):
        return LaBER(np.random.default_rng(0), buffer.errors)

    agent = SampledDQN("MlpPolicy", Corridor(), make_sampler=make, buffer_size=99, **small()).learn(52)
    agent.save(tmp_path / "agent", include=["replay_buffer"])
    again = SampledDQN.load(tmp_path / "agent", env=Corridor())
    assert again.replay_buffer.pos == 52 and again.replay_buffer.learner is again
    again.learn(8)


def test_a_reset_that_cannot_be_seen():
    """Where an episode begins is where the one before was given up: what is given up is told."""
    cuts = []

    class Still(Corridor):
        def step(self, action):
            return np.float32([0]), *super().step(action)[1:]

    class Spy(UniformSampler):
        def cut(self, env_id=None):
            cuts.append((self.stored, env_id))

    make = lambda n: Spy(np.random.default_rng(0))  # noqa: E731
    agent = SampledDQN("MlpPolicy", Still(), n_steps=2, train_freq=1, make_sampler=make, **small())
    agent.learn(6)
    agent.learn(2, reset_num_timesteps=False)  # goes on where it was
    agent.learn(1)
    agent.learn(6)
    assert cuts == [(0, None), (8, None), (9, None)]
    buffer = agent.replay_buffer
    assert buffer.ages[: buffer.pos, 0].tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 1, 2, 3, 0, 1]
    rewards = buffer.batch(np.array([4, 5, 8])).rewards.flatten().tolist()
    assert rewards == pytest.approx([1 + 0.99 * 2, 2 + 0.99 * 3, 1])


def test_a_file_whose_sampler_cannot_be_read(tmp_path, monkeypatch):
    """It is a function of a module that is no longer what it was: that is not to become uniform replay."""
    (tmp_path / "gone.py").write_text(
        "import numpy as np\nfrom common.replay.samplers import PrioritizedSampler\n"
        "def make(n): return PrioritizedSampler(n, np.random.default_rng(0), beta_steps=9)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    make = importlib.import_module("gone").make
    SampledDQN("MlpPolicy", "CartPole-v1", make_sampler=make, **small()).save(tmp_path / "agent")
    (tmp_path / "gone.py").write_text("raise RuntimeError")
    monkeypatch.delitem(sys.modules, "gone")
    env = gymnasium.make("CartPole-v1")
    with (
        pytest.warns(UserWarning, match="Could not deserialize"),
        pytest.raises(ValueError, match="file's PrioritizedS"),
    ):
        SampledDQN.load(tmp_path / "agent", env=env)
    SampledDQN.load(tmp_path / "agent", env=env, make_sampler=make).learn(60)


def test_a_memory_does_not_forget_in_part():
    agent = SampledDQN("MlpPolicy", Corridor(), buffer_size=99, **small())
    with pytest.raises(ValueError, match="a sampler cannot forget"):
        agent.replay_buffer.reset()


def test_uniform_replay_follows_the_seed():
    one, other = (SampledDQN("MlpPolicy", "CartPole-v1", **small()).learn(60) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one.policy.parameters(), other.policy.parameters()))


def test_returns_of_episodes_with_and_without_monitor():
    for wrap in (lambda env: env, Monitor):
        heard = []

        class Spy(UniformSampler):
            def episode(self, total_return, heard=heard):
                heard.append(total_return)

        worlds = DummyVecEnv([lambda wrap=wrap: wrap(Corridor()) for _ in range(2)])
        agent = SampledDQN("MlpPolicy", worlds, make_sampler=lambda n, S=Spy: S(np.random.default_rng(0)), **small())
        agent.train_freq = TrainFreq(3, TrainFrequencyUnit.STEP)
        agent.learn(18)  # a step of nine is left over: the second `learn` resets
        agent.learn(18)
        assert heard == [1 + 2 + 3 + 4] * 8


def test_a_lost_life_is_not_the_end_of_a_return():
    """Where Monitor is below what ends episodes early, its returns count, from the first on."""

    class Lives(gymnasium.Wrapper):
        """Ends an episode every other step; a reset goes on with the game, unless it is over."""

        over = True

        def reset(self, **settings):
            return self.env.reset(**settings) if self.over else (np.float32([self.env.unwrapped.t]), {})

        def step(self, action):
            seen, reward, terminated, truncated, info = self.env.step(action)
            self.over = terminated or truncated
            return seen, reward, terminated or self.env.unwrapped.t % 2 == 0, truncated, info

    heard = []

    class Spy(UniformSampler):
        def episode(self, total_return):
            heard.append(total_return)

    worlds = DummyVecEnv([lambda: Lives(Monitor(Corridor()))])
    SampledDQN("MlpPolicy", worlds, make_sampler=lambda n: Spy(np.random.default_rng(0)), **small()).learn(20)
    assert heard == [1 + 2 + 3 + 4] * 5


def test_of_two_critics_the_mean_is_told():
    heard = []

    class Spy(UniformSampler):
        def update(self, indices, signals):
            heard.append(signals)

    agent = SampledSAC("MlpPolicy", "Pendulum-v1", make_sampler=lambda n: Spy(np.random.default_rng(0)), **small())
    target, q, older = (torch.tensor(rows) for rows in ([[1.0], [0.0]], [[2.0, 4.0], [0.0, -6.0]], [[1.0, 0.0]] * 2))
    agent.tell(None, target, q, older)
    expected = dict(q=[3.0, -3.0], target=[1.0, 0.0], td_error=[2.0, 3.0], target_td_error=[0.5, 0.5])
    assert {name: values.tolist() for name, values in heard[0].items()} == expected


def test_asking_for_td_errors_leaves_the_networks_in_their_mode():
    agent = SampledDQN("MlpPolicy", Corridor(), buffer_size=99, **small()).learn(20)
    modes, q_of = [], agent.q_of
    agent.q_of = lambda batch: modes.append(agent.policy.training) or q_of(batch)
    for mode in (True, False):
        agent.policy.set_training_mode(mode)
        agent.replay_buffer.errors(np.arange(4))
        assert agent.policy.training == mode
    assert modes == [False, False]


def test_copies_of_the_target_network_are_told():
    told = []

    class Spy(UniformSampler):
        def synced(self):
            nets = (agent.q_net.parameters(), agent.q_net_target.parameters())
            told.append((agent.num_timesteps, all(torch.equal(a, b) for a, b in zip(*nets))))

    settings = dict(make_sampler=lambda n: Spy(np.random.default_rng(0)), target_update_interval=14, train_freq=1)
    agent = SampledDQN("MlpPolicy", DummyVecEnv([Corridor, Corridor]), **settings, **small())
    agent.learn(80)
    assert told == [(steps, True) for steps in range(14, 80, 14)]


def test_evaluations_are_heard():
    heard = []

    class Spy(UniformSampler):
        needs = frozenset({"evaluation"})

        def evaluation(self, mean_return):
            heard.append(mean_return)

    agent = SampledDQN("MlpPolicy", Corridor(), make_sampler=lambda n: Spy(np.random.default_rng(0)), **small())
    with pytest.raises(ValueError, match=r"Spy learns from evaluations: learn\(callback="):
        agent.learn(20)
    agent.learn(20, callback=[Evaluations(Monitor(Corridor()), eval_freq=8, n_eval_episodes=1)])
    assert heard == [10.0, 10.0]


def test_normalised_observations_and_rewards():
    """The sampler sees what happened, the learner what is normalised, also when it is asked for TD errors."""
    worlds = VecNormalize(DummyVecEnv([Corridor]), clip_obs=9.0)
    seen = []

    class Spy(LaBER):
        def add(self, index, step=None):
            seen.append(step.observation.item())
            super().add(index)

    def make(capacity, buffer):
        return Spy(np.random.default_rng(0), buffer.errors)

    agent = SampledDQN("MlpPolicy", worlds, make_sampler=make, **small()).learn(60)
    assert set(seen) == {0.0, 1.0, 2.0, 3.0}
    batch = agent.replay_buffer.batch(np.arange(4), worlds)
    np.testing.assert_allclose(batch.observations.numpy(), worlds.normalize_obs(np.float32([[0], [1], [2], [3]])))
    np.testing.assert_allclose(batch.rewards.numpy(), worlds.normalize_reward(np.float32([[1], [2], [3], [4]])))
    with torch.no_grad():
        expected = (agent.target_of(batch) - agent.q_of(batch)).abs().numpy().ravel()
    np.testing.assert_allclose(agent.replay_buffer.errors(np.arange(4)), expected, rtol=1e-5)


def test_environments_in_processes_of_their_own():
    worlds = SubprocVecEnv([lambda start=start: Corridor(start) for start in (0, 20, 40, 60)], start_method="fork")
    make = lambda n: PrioritizedSampler(n, np.random.default_rng(0), beta_steps=9)  # noqa: E731
    agent = SampledDQN("MlpPolicy", worlds, make_sampler=make, n_steps=2, **small()).learn(64)
    batch = agent.replay_buffer.batch(np.arange(64))
    steps = (batch.next_observations - batch.observations).numpy().ravel()
    ends = batch.observations.numpy().ravel() % 20 == 3
    assert set(steps[ends]) == {1.0} and set(steps[~ends][:40]) == {2.0}
    worlds.close()


def test_saved_and_loaded(tmp_path):
    agent = SampledDQN("MlpPolicy", "CartPole-v1", **small()).learn(60)
    agent.save(tmp_path / "agent")
    again = SampledDQN.load(tmp_path / "agent", env=agent.get_env())
    for a, b in zip(agent.policy.parameters(), again.policy.parameters()):
        assert torch.equal(a, b)
    again.learn(60)


def test_a_buffer_for_any_agent_as_long_as_nothing_is_asked_back():
    def buffer(make_sampler):
        settings = dict(replay_buffer_kwargs=dict(make_sampler=make_sampler), **small())
        return TD3("MlpPolicy", "Pendulum-v1", replay_buffer_class=SampledReplayBuffer, **settings)

    buffer(lambda capacity: UniformSampler(np.random.default_rng(0))).learn(60)
    buffer(lambda capacity: TER(TransitionGraph(capacity), random.Random(0), bytes)).learn(60)  # eta is 0
    with pytest.raises(ValueError, match="PrioritizedSampler needs td_error, which is not given: take SampledDQN"):
        buffer(lambda capacity: PrioritizedSampler(capacity, np.random.default_rng(0), beta_steps=1))


def test_returns_of_an_agent_that_does_not_tell_its_resets():
    settings = dict(make_sampler=lambda n: UniformSampler(np.random.default_rng(0)), n_steps=2)
    kind = dict(replay_buffer_class=SampledReplayBuffer, replay_buffer_kwargs=settings, train_freq=1)
    buffer = DQN("MlpPolicy", Corridor(), **kind, **small()).learn(6).learn(3).replay_buffer
    assert buffer.ages[:9, 0].tolist() == [0, 1, 2, 3, 0, 1, 0, 1, 2]
    rewards = [1 + 0.99 * 2, 2, 1 + 0.99 * 2]
    assert buffer.batch(np.array([4, 5, 6])).rewards.flatten().tolist() == pytest.approx(rewards)


def test_refusals_say_what_to_do():
    def refused(match, kind=SampledDQN, **settings):
        with pytest.raises(ValueError, match=match) as error:
            kind("MlpPolicy", "CartPole-v1" if kind is SampledDQN else "Pendulum-v1", **small(), **settings)
        assert "\n" not in str(error.value)

    for sampler in (EBU, DisCor):
        refused(
            f"{sampler.__name__} needs values, which is not given: it works only with the double DQN of papers/ter",
            make_sampler=lambda n, sampler=sampler: sampler.__new__(sampler),
        )
    needy = type("Needy", (UniformSampler,), {"needs": frozenset({"targets"})})
    refused("Needy needs targets", SampledSAC, make_sampler=lambda n: needy(np.random.default_rng(0)))
    refused("leave it False; for pictures, take FrameReplayBuffer", optimize_memory_usage=True)
    refused("leave it False", SampledTD3, optimize_memory_usage=True)
    refused(
        "such as SampledHerReplayBuffer of stable_baselines3_her.py, not HerReplayBuffer",
        replay_buffer_class=HerReplayBuffer,
    )
    refused("virtual transitions have one step", replay_buffer_class=SampledHerReplayBuffer, n_steps=3)
    for setting, what in (
        (dict(goal_selection_strategy="final"), "goals come from the future, not final: omit goal_selection_strategy"),
        (dict(copy_info_dict=True, keep="filtered"), "rewards that need infos do not tell if goals are met: omit keep"),
    ):
        refused(what, replay_buffer_class=SampledHerReplayBuffer, replay_buffer_kwargs=setting)
    with pytest.raises(ValueError, match="asks its agent for rewards: take SampledDQN"):
        SampledHerReplayBuffer(9, Corridor.observation_space, Corridor.action_space, make_sampler=None)
