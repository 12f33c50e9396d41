"""The recurrent network against PyTorch's LSTM, windows by hand, and a task that needs memory."""

import copy
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from papers.ref_er import train, train_acer
from papers.ref_er.agents import progress
from papers.ref_er.agents.acer import ACER
from papers.ref_er.memory.episode import Episode, seen
from papers.ref_er.recurrent.lstm_kernels import tanh
from papers.ref_er.recurrent.recurrent import LSTM, Fan, WindowMemory, WindowSegments
from tests.papers.ref_er.conftest import LENGTHS, N_ACTIONS, N_STATES, filled
from tests.papers.runs import assert_goes_on

SIZES = (3, 8, 8, 2)


def network(sizes=SIZES, seed: int = 0) -> LSTM:
    """With outputs and gates that are not near their first values."""
    torch.manual_seed(seed)
    one = LSTM(sizes)
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.add_(0.6 * torch.randn_like(parameter))
    return one


def windows(n: int = 6, length: int = 5, inputs: int = 3, seed: int = 0) -> np.ndarray:
    """Of all ages: the first is full, the others begin later and later."""
    x = np.random.default_rng(seed).normal(size=(n, length, 1 + inputs)).astype(np.float32)
    for i in range(n):
        absent = i % length
        x[i, :, 0] = np.arange(length) >= absent
        x[i, :absent, 1:] = 0
    return x


def torchs(one: LSTM) -> tuple[torch.nn.LSTM, torch.nn.Linear]:
    """PyTorch's own layers with the same parameters."""
    inputs, *hidden, _ = one.sizes
    theirs = torch.nn.LSTM(inputs, hidden[0], len(hidden), batch_first=True)
    with torch.no_grad():
        for layer in range(len(hidden)):
            names = (f"{name}_l{layer}" for name in ("weight_ih", "weight_hh", "bias_ih"))
            for name, parameter in zip(names, one.cells[3 * layer : 3 * layer + 3]):
                getattr(theirs, name).copy_(parameter)
            getattr(theirs, f"bias_hh_l{layer}").zero_()
    return theirs, one.last


def answers(theirs: torch.nn.LSTM, last: torch.nn.Linear, x: np.ndarray) -> torch.Tensor:
    """By PyTorch's LSTM, which sees of each window only the steps that there are."""
    return torch.cat([last(theirs(torch.from_numpy(w[w[:, 0] > 0, 1:])[None])[0][:, -1]) for w in x])


close = partial(np.testing.assert_allclose, rtol=1e-4, atol=2e-5)


# --- the network -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sizes", [SIZES, (3, 16, 1), (3, 4, 4, 4, 5)], ids=str)
def test_outputs_are_those_of_pytorchs_lstm(sizes):
    one, x = network(sizes), windows()
    expected = answers(*torchs(one), x).detach().numpy()
    assert expected.std() > 0.05
    for found in (one.evaluate(x), one.act(x), one(torch.from_numpy(x)).detach().numpy()):
        close(found, expected)
    assert one.act(x[2]).shape == (sizes[-1],)
    close(one.act(x[2]), expected[2])


@pytest.mark.parametrize("sizes", [SIZES, (3, 16, 1), (3, 4, 4, 4, 5)], ids=str)
def test_gradients_are_those_of_pytorchs_lstm(sizes):
    """From the outputs at the last step, through the window, to every parameter and to the last inputs."""
    one, x = network(sizes), windows()
    gradient = np.random.default_rng(1).normal(size=(len(x), sizes[-1]))
    theirs, last = torchs(one)
    (answers(theirs, last, x) * torch.from_numpy(gradient).float()).sum().backward()
    expected = []
    for layer in range(len(sizes) - 2):
        expected += [getattr(theirs, f"{name}_l{layer}").grad for name in ("weight_ih", "weight_hh", "bias_ih")]
    expected += [last.weight.grad.clone(), last.bias.grad.clone()]
    for _ in range(2):  # set, not accumulated
        one.evaluate(x)
        one.act(windows(3, 5, seed=4))  # which must not disturb
        one.backward(gradient)
        for parameter, wanted in zip(one.parameters(), expected, strict=True):
            assert wanted.abs().max() > 1e-3
            close(parameter.grad.numpy(), wanted.numpy())
    tensor = torch.from_numpy(x).requires_grad_()
    wanted = torch.autograd.grad(one(tensor).sum(), tensor)[0][:, -1, 1:]
    assert wanted.abs().max() > 0.002
    close(one.input_gradient(x), wanted.numpy())


def test_several_last_inputs_are_as_many_windows():
    """ACER asks about several actions in one state: the steps before are done once, with the same gradients."""
    one, x = network(), windows()
    last = np.random.default_rng(2).normal(size=(18, 3)).astype(np.float32)
    fan = Fan(x, last)
    assert fan.windows().shape == (18, 5, 4)
    for i in range(18):
        np.testing.assert_array_equal(fan.windows()[i, :-1], x[i % 6, :-1])
        np.testing.assert_array_equal(fan.windows()[i, -1, 1:], last[i])
    gradient = np.random.default_rng(1).normal(size=(18, 2))
    outputs = one.evaluate(fan)
    one.backward(gradient)
    found = [parameter.grad.clone() for parameter in one.parameters()]
    close(one.evaluate(fan.windows()), outputs)
    one.backward(gradient)
    for ours, wanted in zip(found, one.parameters(), strict=True):
        close(ours.numpy(), wanted.grad.numpy())


def test_the_form_for_gpus_is_the_same():
    one, x, gradient = network(), windows(), np.ones((6, 2))
    other = copy.deepcopy(one).double()
    close(other.evaluate(x), one.evaluate(x))
    close(other.act(x[1]), one.act(x[1]))
    close(other.input_gradient(x), one.input_gradient(x))
    for each in (one, other):
        each.evaluate(x)
        each.backward(gradient)
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        close(a.grad.numpy(), b.grad.numpy())


def test_what_lies_before_the_episode_counts_nothing():
    one, x = network(), windows()
    before = one.evaluate(x)
    one.backward(np.ones((6, 2)))
    gradients = [parameter.grad.clone() for parameter in one.parameters()]
    x[..., 1:][x[..., 0] == 0] = 7.0
    np.testing.assert_array_equal(one.evaluate(x), before)
    one.backward(np.ones((6, 2)))
    for parameter, wanted in zip(one.parameters(), gradients):
        close(parameter.grad.numpy(), wanted.numpy())


def test_first_parameters():
    """Biases close input and output gates and open forget gates; outputs are near zero."""
    torch.manual_seed(0)
    one = LSTM((14, 32, 32, 4))
    for layer in range(2):
        by_input, by_state, bias = one.cells[3 * layer : 3 * layer + 3]
        assert [bias[32 * gate].item() for gate in range(4)] == [-1, 1, 0, -1] and len(set(bias.tolist())) == 3
        bound = (6 / ((14, 32)[layer] + 32 + 32)) ** 0.5
        for weight in (by_input, by_state):
            assert 0.9 * bound < weight.abs().max() <= bound
    assert abs(one.act(windows(20, 16, 14))).max() < 0.1 and not one.last.bias.any()
    with pytest.raises(ValueError, match="as many cells as the first"):
        LSTM((3, 8, 9, 1))


def test_the_fast_tanh():
    x = np.concatenate([np.linspace(-12, 12, 20_001), [1e-6, -1e-9, 0.0, 1e30, -np.inf]]).astype(np.float32)
    found = np.array([tanh(value) for value in x])
    np.testing.assert_allclose(found, np.tanh(x.astype(float)), rtol=2e-6, atol=1e-9)
    assert np.isnan(tanh(np.float32(np.nan)))


def test_copies_are_independent_and_what_is_not_a_number_stays_so():
    one, x = network(), windows()
    one.evaluate(x)
    twin = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(twin.evaluate(x), one.evaluate(x))
    with torch.no_grad():
        next(twin.parameters()).mul_(2)
    assert abs(twin.evaluate(x) - one.evaluate(x)).max() > 0.01
    x[1, 4, 2] = np.nan
    outputs = one.evaluate(x)
    assert np.isnan(outputs[1]).all() and not np.isnan(np.delete(outputs, 1, axis=0)).any()
    one.backward(np.ones((6, 2)))
    assert np.isnan(one.flat()[1].numpy()).any()


# --- windows ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [WindowMemory, WindowSegments])
def test_windows_of_a_memory_are_what_was_seen_while_acting(kind):
    """Also of episodes that lie across the end of the ring, and of their last states."""
    for memory in (filled(kind=partial(kind, length=4)), wrapped(partial(kind, length=4))):
        n_checked = 0
        for first, length in memory._episodes:
            slots = (first + np.arange(length + 1)) % len(memory.rho)
            states = list(memory.states[slots])
            expected = np.stack([seen(states[: t + 1], 4) for t in range(length + 1)])
            np.testing.assert_array_equal(memory.inputs(slots), expected)
            actions = np.random.default_rng(0).normal(size=(length + 1, N_ACTIONS)).astype(np.float32)
            pairs = memory.pairs(slots, actions)
            np.testing.assert_array_equal(pairs[..., : 1 + N_STATES], expected)
            np.testing.assert_array_equal(pairs[:, -1, -N_ACTIONS:], actions)
            for t in range(1, length + 1):
                np.testing.assert_array_equal(pairs[t, -2, -N_ACTIONS:], memory.actions[slots[t - 1]])
            assert not pairs[0, :-1].any()
            n_checked += length
        assert n_checked == memory.n


def wrapped(kind) -> Any:
    """A ring whose newest episode begins again in front."""
    memory = kind(12, N_STATES, N_ACTIONS, 12, 0.9)
    source = filled()
    for k in range(40):
        first, length = source._episodes[k % len(LENGTHS)]
        slots = first + np.arange(length + 1)
        steps = slots[:-1]
        parts = source.states[slots], source.actions[steps], source.means[steps], source.stds[steps]
        memory.forget()
        memory.add(Episode(*map(list, parts), [0.0] * length, [0.0] * (length + 1), True))
        if memory._head < memory._tail and any(a + b >= len(memory.rho) for a, b in memory._episodes):
            return memory
    raise AssertionError("the ring never wrapped")


def test_what_is_seen_by_hand():
    states = [np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])]
    assert seen(states, 0) is states[-1]
    np.testing.assert_array_equal(seen(states[:1], 3), [[0, 0, 0], [0, 0, 0], [1, 1, 2]])
    np.testing.assert_array_equal(seen(states, 2), [[1, 3, 4], [1, 5, 6]])


# --- learners --------------------------------------------------------------------------------------------------------
def test_acers_update_by_kernels_is_that_by_pytorch():
    """V-RACER's and DDPG's are in test_fast.py. The advantage's last bias is left out: it changes no Q."""
    updated = []
    for double in (False, True):
        memory = filled(kind=partial(WindowSegments, length=4))
        one = ACER(N_STATES, N_ACTIONS, hidden=(8, 8), network=LSTM, lr=0.01, critic_lr=0.01)
        if double:
            for each in (one.policy, one.value, one.advantage, one.policy_target):
                each._by_kernels = lambda: False  # type: ignore[method-assign]
        for step in range(3):
            segments = memory.sample_segments(4, 5, np.random.default_rng(step))
            errors = one.update(memory, *segments, np.random.default_rng(step), 1.0)
        updated.append(
            (errors, [p.detach().clone() for p in (*one.policy.parameters(), *one.advantage.parameters())][:-1])
        )
    np.testing.assert_allclose(updated[0][0], updated[1][0], rtol=1e-3, atol=1e-4)
    for ours, theirs in zip(*(parameters for _, parameters in updated), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-3, atol=1e-4)


class Recall(gymnasium.Env):
    """A cue of -1 or 1 is shown at the start only; from the third step on it must be repeated. Six steps."""

    def __init__(self):
        self.observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.cue = 0, float(self.np_random.choice([-1.0, 1.0]))
        return np.array([self.cue], np.float32), {}

    def step(self, action):
        self.t += 1
        reward = -float((action[0] - self.cue) ** 2) if self.t > 2 else 0.0
        return np.zeros(1, np.float32), reward, self.t == 6, False, {}


@pytest.fixture
def recall():
    gymnasium.register("testsRecall-v0", entry_point=Recall, max_episode_steps=7)
    yield
    del gymnasium.registry["testsRecall-v0"]


RECALL: dict[str, Any] = dict(
    env="testsRecall-v0", steps=6000, bins=6, capacity=2048, warmup=1024, batch_size=64, hidden=16, lr=3e-3, beta=0.3,
    annealing=5 / 6000, variance=0.1, window=6,
)  # fmt: skip


def test_what_must_be_remembered_is_learnt_with_memory_and_not_without(tmp_path, recall):
    """Four steps pay at most 0 and, without the cue, at best -4 in the mean, by an action of 0."""
    remembering = train.main(train.Config(network="lstm", **RECALL), tmp_path / "lstm")
    blind = train.main(train.Config(**RECALL), tmp_path / "mlp")
    assert remembering["return"] > -1.5 and blind["return"] < -3.5


SHORT: dict[str, Any] = dict(
    env="testsCounter-v0", steps=200, bins=4, capacity=128, warmup=64, network="lstm", hidden=8, window=4
)
RUNS: dict[str, Any] = {
    "vracer": (train, train.Config(method="vracer", batch_size=16, **SHORT)),
    "ddpg": (train, train.Config(method="ddpg", batch_size=16, **SHORT)),
    "ddpg er": (train, train.Config(method="ddpg", replay="er", batch_size=16, **SHORT)),
    "racer": (train, train.Config(advantage="gaussian", batch_size=16, **SHORT)),
    "acer": (train_acer, train_acer.Config(episodes=3, segment=4, **SHORT)),
}


@pytest.mark.parametrize("name", RUNS)
def test_interrupted_and_resumed_a_run_ends_as_without(name, tmp_path, counter, monkeypatch):
    script, config = RUNS[name]
    monkeypatch.setattr(progress, "SAVE_EVERY", 1)
    assert_goes_on(script, config, tmp_path, monkeypatch, "learn", lambda trainer: trainer.t > 130)


def test_the_flow_task_is_trained_and_says_how_it_ends(tmp_path: Path):
    """A few actions with each learner; exits and effort are logged beside the return that they make."""
    few: dict[str, Any] = dict(
        env="WakeFlow-v0", steps=24, bins=1, capacity=64, warmup=24, network="lstm", hidden=8, window=4
    )
    for script, config in (
        (train, train.Config(method="vracer", batch_size=8, **few)),
        (train_acer, train_acer.Config(episodes=2, segment=3, **few)),
    ):
        last = script.main(config, tmp_path / script.__name__)
        assert 0 < last["exits"] <= 1 and 0.05 < last["effort"] < 3
        assert last["return"] < -90 * last["exits"]
