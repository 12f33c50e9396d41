"""Sampler x agent x situation in Stable-Baselines3: each works, by an oracle, or is refused in one line.

The oracle is a world whose observations say where they are from: which environment, which episode, which step. Whatever
a batch shows can be checked without knowing how it came about.
"""

import functools
import random

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from stable_baselines3 import DQN, SAC, TD3
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from adapters.stable_baselines3 import Evaluations, SampledDQN
from adapters.stable_baselines3_her import SampledHerReplayBuffer
from adapters.stable_baselines3_sac import SampledSAC
from adapters.stable_baselines3_scores import Seen
from adapters.stable_baselines3_td3 import SampledTD3
from common.replay.not_in_the_papers.introspective import IER
from common.replay.not_in_the_papers.large_batch import LaBER
from common.replay.not_in_the_papers.reducible import ReLo
from common.replay.not_in_the_papers.reshuffled import RRC, RRM
from common.replay.rank_based import RankBasedSampler
from common.replay.samplers import PrioritizedSampler, StratifiedSampler, UniformSampler
from papers.ners.ners import NERS
from papers.ners.samplers.ero import ERO
from papers.ners.samplers.samplers import Settings
from papers.ter.replay.graph import TransitionGraph
from papers.ter.topological import TER

LENGTH, GAMMA = 5, 0.9


class Told(gymnasium.Env):
    """An observation is (environment, episode, step). The reward of a step is its number, from 1; after five steps an
    episode ends, by the time limit if its number is odd."""

    observation_space = Box(-1.0, 1e6, (3,), np.float32)

    def __init__(self, world: int = 0, discrete: bool = True):
        self.world, self.episode = world, -1
        self.action_space = Discrete(2) if discrete else Box(-1.0, 1.0, (1,), np.float32)

    def seen(self):
        return np.float32([self.world, self.episode, self.t])

    def reset(self, seed=None, options=None):
        self.t, self.episode = 0, self.episode + 1
        return self.seen(), {}

    def step(self, action):
        self.t += 1
        over, odd = self.t == LENGTH, self.episode % 2 == 1
        return self.seen(), float(self.t), over and not odd, over and odd, {}


class Named(Told):
    """The same as a dictionary."""

    observation_space = Dict({"where": Box(-1.0, 1e6, (2,), np.float32), "t": Discrete(LENGTH + 1)})

    def seen(self):
        return {"where": np.float32([self.world, self.episode]), "t": self.t}


class Goal(Told):
    """A goal is a step of an episode; to be at it is rewarded with 0, all else with -1, and ends the episode."""

    observation_space = Dict({
        "observation": Told.observation_space, "achieved_goal": Box(0, 1e6, (1,)), "desired_goal": Box(0, 1e6, (1,)),
    })  # fmt: skip

    def seen(self):
        goal, at = (np.float32([10 * self.episode + t]) for t in (3 + 6 * (self.episode % 2), self.t))
        return {"observation": super().seen(), "achieved_goal": at, "desired_goal": goal}

    def compute_reward(self, achieved_goal, desired_goal, info):
        assert all(one == {} for one in info)
        return (achieved_goal == desired_goal).all(axis=-1) - 1.0

    def step(self, action):
        self.t += 1
        seen = self.seen()
        met = bool(seen["achieved_goal"] == seen["desired_goal"])
        return seen, float(met) - 1.0, met, self.t == LENGTH and not met, {}


def rng():
    return np.random.default_rng(0)


def per(n, **settings):
    return PrioritizedSampler(n, rng(), beta_steps=100, **settings)


def bend(buffer):
    """Where the loss of the buffer's agent bends, if it does."""
    return 1.0 if isinstance(buffer.learner, SampledDQN) else None


def where(state):
    return (np.concatenate([np.ravel(v) for v in state.values()]) if isinstance(state, dict) else state).tobytes()


SAMPLERS = {
    "uniform": lambda n: UniformSampler(rng()),
    "stratified": lambda n: StratifiedSampler(rng()),
    "per": per,
    "per-stratified": lambda n: per(n, stratified=True),
    "per-rank": lambda n: RankBasedSampler(n, rng(), beta_steps=100),
    "rr-c": lambda n: RRC(n, rng()),
    "rr-m": lambda n: RRM(n, rng()),
    "relo": lambda n: ReLo(n, rng(), huber_delta=1.0, beta_steps=100),
    "laber": lambda n, buffer: LaBER(rng(), buffer.errors, clip=bend(buffer)),
    "ier": lambda n, buffer: IER(n, rng(), buffer.errors, pivots=4),
    "ter": lambda n: TER(TransitionGraph(n), random.Random(0), where, 0.1, per(n)),
    "ter-alone": lambda n: TER(TransitionGraph(n), random.Random(0), where),
    "ero": lambda n, buffer: ERO(n, rng(), Settings(), Seen(buffer, LENGTH), 0),
    "ners": lambda n, buffer: NERS(n, rng(), Settings(widths="code"), 100, Seen(buffer, LENGTH), 0),
}
WALK = ("ier", "ter", "ter-alone")
"""Those that read steps, which virtual transitions are not."""
AGENTS = {"dqn": (SampledDQN, DQN), "sac": (SampledSAC, SAC), "td3": (SampledTD3, TD3)}
matrix = pytest.mark.parametrize("name", SAMPLERS)
agents = pytest.mark.parametrize("agent", AGENTS)


def listening(maker, updates):
    """The sampler of `maker`, which also notes what it is told."""

    def make(capacity, buffer):
        sampler = maker(capacity, buffer) if maker.__code__.co_argcount == 2 else maker(capacity)
        update = sampler.update

        def told(indices, signals):
            updates.append((np.array(indices), {name: np.array(signal) for name, signal in signals.items()}))
            update(indices, signals)

        sampler.update = told
        return sampler

    return make


def worlds(agent, n=1, kind=Told, vector=DummyVecEnv):
    makers = [functools.partial(kind, world, agent == "dqn") for world in range(n)]
    return vector([functools.partial(lambda make: Monitor(make()), make) for make in makers])


def make(agent, name, env, updates, policy="MlpPolicy", **settings):
    settings = dict(policy_kwargs={"net_arch": [8]}, gamma=GAMMA, device="cpu", seed=0, buffer_size=300, **settings)
    if agent == "dqn":
        settings = {"train_freq": 1, "batch_size": 256} | settings
    return AGENTS[agent][0](policy, env, make_sampler=listening(SAMPLERS[name], updates), **settings)


def learn(model, agent, name, steps, kind=Told, **settings):
    callback = Evaluations(worlds(agent, kind=kind), eval_freq=7, n_eval_episodes=1) if name == "ners" else None
    return model.learn(steps, callback=callback, **settings)


def check(model, updates, n_steps=1, timeouts=True):
    """Every stored transition happened as it says, n-step returns join what followed, and TD errors have arrived."""
    buffer = model.replay_buffer
    slots = np.arange((buffer.buffer_size if buffer.full else buffer.pos) * buffer.lanes)
    batch = buffer.batch(slots)
    obs, after = (part if torch.is_tensor(part) else torch.cat([part["where"], part["t"]], 1)
                  for part in (batch.observations, batch.next_observations))  # fmt: skip
    newest = {}
    for world, episode, t in obs.tolist():
        newest[world, episode] = max(t, newest.get((world, episode), 0))
    for i, (world, episode, t) in enumerate(obs.tolist()):
        m = int(min(n_steps, newest[world, episode] + 1 - t))
        assert after[i].tolist() == [world, episode, t + m]
        assert batch.rewards[i].item() == pytest.approx(sum(GAMMA**k * (t + k + 1) for k in range(m)))
        assert batch.discounts is None if n_steps == 1 else batch.discounts[i].item() == pytest.approx(GAMMA**m)
        assert batch.dones[i].item() == float(t + m == LENGTH and (episode % 2 == 0 or not timeouts))
        assert world == (slots[i] % buffer.lanes)
    assert updates
    for indices, signals in updates:
        assert 0 < len(indices) and indices.min() >= 0 and indices.max() < len(slots)
        assert set(signals) >= {"td_error", "q", "target"} and all(len(s) == len(indices) for s in signals.values())
        assert all(np.isfinite(signal).all() for signal in signals.values())
        assert (signals["td_error"] >= np.abs(signals["target"] - signals["q"]) - 1e-4).all()


@matrix
@agents
def test_at_the_defaults(agent, name):
    """Batches of 256 from step 101 on: fewer transitions are stored than a batch has."""
    model = make(agent, name, worlds(agent), updates := [])
    learn(model, agent, name, 106)
    check(model, updates)
    assert len(updates) == 6 or name == "ter-alone"


@matrix
@agents
def test_four_environments_and_returns_of_three_steps(agent, name):
    settings = dict(learning_starts=60, batch_size=32, n_steps=3)
    model = make(agent, name, worlds(agent, 4), updates := [], **settings)
    learn(model, agent, name, 72)
    check(model, updates, n_steps=3)


@matrix
@agents
def test_saved_loaded_and_learning_on_without_its_memory(agent, name, tmp_path):
    model = make(agent, name, worlds(agent), [], learning_starts=20)
    learn(model, agent, name, 22)
    model.save(tmp_path / "agent")
    again = AGENTS[agent][0].load(
        tmp_path / "agent", env=worlds(agent), make_sampler=listening(SAMPLERS[name], heard := [])
    )
    learn(again, agent, name, 7, reset_num_timesteps=False)
    assert type(again.replay_buffer.sampler) is type(model.replay_buffer.sampler)
    check(again, heard)


@matrix
@agents
def test_a_second_learn_and_a_small_memory(agent, name):
    """The second `learn` resets in the middle of an episode; the memory overwrites its oldest."""
    model = make(agent, name, worlds(agent), updates := [], learning_starts=8, batch_size=8, n_steps=2)
    model.replay_buffer = None
    model.buffer_size = 16
    model._setup_model()
    for steps in (13, 12):
        learn(model, agent, name, steps)
    check(model, updates, n_steps=2)
    if name.startswith("ter"):
        edges = model.replay_buffer.sampler.graph.predecessors
        joined = [(np.frombuffer(v, np.float32), np.frombuffer(u, np.float32)) for u in edges for v in edges[u]]
        assert joined and all((u - v).tolist() == [0, 0, 1] for v, u in joined)


@matrix
@agents
def test_dictionaries_and_settings_of_the_buffer(agent, name):
    settings = dict(learning_starts=20, batch_size=8, replay_buffer_kwargs={"handle_timeout_termination": False})
    model = make(agent, name, worlds(agent, 2, Named), updates := [], "MultiInputPolicy", **settings)
    learn(model, agent, name, 24, Named)
    check(model, updates, timeouts=False)


@matrix
@agents
@pytest.mark.parametrize("keep", ["all", "filtered"])
def test_hindsight(agent, name, keep):
    settings = dict(learning_starts=20, batch_size=16, replay_buffer_class=SampledHerReplayBuffer)
    settings["replay_buffer_kwargs"] = dict(n_sampled_goal=3, keep=keep, ends_at_success=True)
    start = functools.partial(make, agent, name, worlds(agent, 2, Goal), updates := [], "MultiInputPolicy", **settings)
    if name in WALK:
        with pytest.raises(ValueError, match=r"needs (errors, )?step, which is not given: relabelled"):
            start()
        return
    model = start()
    learn(model, agent, name, 34, Goal)
    learn(model, agent, name, 8, Goal)  # resets in the middle of an episode, of which the goals stay its own
    buffer = model.replay_buffer
    slots = np.arange(buffer.pos)
    batch = buffer.batch(slots)
    kinds = {}
    for i in slots:
        obs, after = ({key: value[i].tolist() for key, value in part.items()}
                      for part in (batch.observations, batch.next_observations))  # fmt: skip
        (world, episode, t), [goal] = obs["observation"], obs["desired_goal"]
        assert after["observation"] == [world, episode, t + 1] and after["achieved_goal"] == [10 * episode + t + 1]
        assert after["desired_goal"] == [goal] and 10 * episode + t + 1 <= goal < 10 * episode + 10
        goal -= 10 * episode
        assert batch.rewards[i].item() == float(goal == t + 1) - 1 and batch.dones[i].item() == float(goal == t + 1)
        kinds.setdefault((world, episode, t), []).append(goal)
        assert (buffer.ages[i, 0]) == t
    finished = [k for k in kinds if (k[0], k[1] + 1, 0) in kinds]
    assert finished and all(len(kinds[k]) == 4 for k in finished)
    assert max(np.concatenate([indices for indices, _ in updates])) > 30  # virtual ones are drawn, too
