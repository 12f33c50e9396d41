"""IDEAS.md: it is what the code says, and every cell of its table is true."""

import functools

import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics
from stable_baselines3 import DQN
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

from adapters.cleanrl import ReplayBuffer
from adapters.ideas import IDEAS, LIBRARIES, PAGE, kind, missing, page
from adapters.stable_baselines3 import SampledReplayBuffer
from adapters.stable_baselines3_her import SampledHerReplayBuffer
from adapters.torchrl import FromProtocol
from tests.adapters import test_torchrl as torchrl
from tests.adapters.test_stable_baselines3_matrix import SAMPLERS, Goal, Told, learn, listening, make, worlds

MADE = ["uniform", "stratified", "rr-c", "rr-m", "per", "per-rank", "relo", "laber", "ier", "ter", "ter-alone", "ero",
        "ners", "ebu", "discor"]  # fmt: skip
"""Of each idea the name in `SAMPLERS`; the last two are there in no library, and not made."""
AGENTS = {"`SampledDQN`": "dqn", "`SampledSAC`": "sac", "`SampledTD3`": "td3"}
SOON = dict(learning_starts=12, batch_size=8)


def in_an_agent(agent, idea, name):
    model = make(agent, name, worlds(agent), heard := [], **SOON)
    learn(model, agent, name, 20)
    assert heard


def with_hindsight(idea, name):
    buffer = dict(replay_buffer_class=SampledHerReplayBuffer, replay_buffer_kwargs={"n_sampled_goal": 1})
    model = make("dqn", name, worlds("dqn", 1, Goal), heard := [], "MultiInputPolicy", **buffer, **SOON)
    learn(model, "dqn", name, 20, Goal)
    assert heard


def in_another_agent(idea, name):
    made = {"make_sampler": listening(SAMPLERS[name], [])}
    buffer = dict(replay_buffer_class=SampledReplayBuffer, replay_buffer_kwargs=made, buffer_size=300)
    DQN("MlpPolicy", worlds("dqn"), policy_kwargs={"net_arch": [8]}, **buffer, **SOON).learn(20)


def in_cleanrl(idea, name):
    """IER and LaBER with a function of the script's."""
    maker = (torchrl.SAMPLERS if "errors" in idea.sampler.needs else SAMPLERS)[name]
    rb = ReplayBuffer(24, Told.observation_space, Discrete(2), "cpu", make_sampler=maker)
    envs = SyncVectorEnv([lambda: RecordEpisodeStatistics(Told())], autoreset_mode=AutoresetMode.SAME_STEP)
    obs, _ = envs.reset()
    for _ in range(16):
        next_obs, rewards, terminations, _, infos = envs.step(np.array([0]))
        rb.add(obs, next_obs, np.array([0]), rewards, terminations, infos)
        obs = next_obs
    batch = rb.sample(6)
    assert batch.weights.shape == batch.rewards.shape == (6, 1)
    rb.sampler.update(rb.indices, {"td_error": np.linspace(0.0, 1.0, 6)})


def in_torchrl(idea, name):
    samplers = torchrl.SAMPLERS | {"ter-alone": SAMPLERS["ter-alone"]}
    storage = LazyTensorStorage(24)
    sampler = samplers[name](24) if name in samplers else kind(idea).__new__(kind(idea))
    buffer = TensorDictReplayBuffer(storage=storage, sampler=FromProtocol(sampler, storage), batch_size=6)
    buffer.extend(torchrl.steps(16))
    batch = buffer.sample()
    assert batch.shape == (6,)
    buffer.update_tensordict_priority(batch.set("td_error", batch["observation"][:, 0]))


TRIED = {
    **{column: functools.partial(in_an_agent, agent) for column, agent in AGENTS.items()},
    "with hindsight": with_hindsight,
    "other agents": in_another_agent,
    "CleanRL": in_cleanrl,
    "TorchRL": in_torchrl,
}
"""Column -> uses an idea there; ValueError where it is refused."""


def nothing_of(sampler):
    return lambda capacity: sampler.__new__(sampler)


@pytest.fixture(autouse=True)
def not_made(monkeypatch):
    """Samplers that ask for an agent that no library has: it is never come to."""
    for name, idea in zip(MADE[-2:], IDEAS[-2:]):
        monkeypatch.setitem(SAMPLERS, name, nothing_of(kind(idea)))


@pytest.mark.parametrize("column", LIBRARIES)
@pytest.mark.parametrize(("idea", "name"), list(zip(IDEAS, MADE)), ids=MADE)
def test_every_cell(idea, name, column):
    if not (lacking := missing(idea.sampler, LIBRARIES[column])):
        return TRIED[column](idea, name)
    with pytest.raises(ValueError) as error:
        TRIED[column](idea, name)
    line = str(error.value)
    assert "\n" not in line and line.startswith(f"{kind(idea).__name__} needs ")
    assert set(lacking) >= set(line.split(" needs ")[1].split(", which ")[0].split(", ")) > set()


def test_all_columns_are_tried():
    assert set(TRIED) == set(LIBRARIES) and len(IDEAS) == len(MADE)
    assert np.unique(MADE).size == len(MADE)


def test_the_page_is_current():
    assert PAGE.read_text() == page(), "run `.venv/bin/python -m adapters.ideas`"
