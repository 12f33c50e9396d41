"""The learner as kernels against the one of PyTorch, update by update."""

import copy
import functools
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from common.networks import NatureTrunk
from common.replay.protocol import Step
from papers.ter.agents.discor import DisCor
from papers.ter.agents.dqn import DoubleDQN
from papers.ter.agents.fast_dqn import PART, FastDoubleDQN, FastNetwork
from papers.ter.agents.networks import CodeTrunk, Network
from papers.ter.replay.batch import Batch
from papers.ter.replay.ebu import EBU

CODES = 11
SHAPES = [(1, 1), (1, 9), (2, 3), (5, 5), (6, 6), (7, 7), (9, 9), (6, 11)]


class World:
    """A memory of random transitions between states of tile codes that are mostly floor."""

    def __init__(self, shape: tuple[int, int], n_actions: int, seed: int = 0, size: int = 300, states: int = 80):
        self.rng, rng = (np.random.default_rng(seed) for _ in range(2))
        self.shape, self.n_actions, self.capacity = shape, n_actions, size
        self.codes = rng.integers(CODES, size=(states, *shape), dtype=np.uint8) * (rng.random((states, *shape)) < 0.2)
        self.ids = rng.integers(states, size=(2, size), dtype=np.int32)
        self.action = rng.integers(n_actions, size=size)
        self.reward = rng.choice([-1.0, 10.0], size=size).astype(np.float32)
        self.absorbing = (rng.random(size) < 0.2).astype(np.float32)

    def __getitem__(self, field: str) -> np.ndarray:
        return {"action": self.action, "reward": self.reward}[field]

    def batch(self, indices: np.ndarray) -> Batch:
        (ids, next_ids), i = self.ids[:, indices], indices
        arrays = self.codes[ids], self.action[i], self.reward[i], self.codes[next_ids], self.absorbing[i]
        return Batch(*(torch.from_numpy(array) for array in arrays), ids, next_ids)

    def draw(self, size: int) -> tuple[Batch, torch.Tensor]:
        """A batch and weights like PER's."""
        weights = self.rng.uniform(0.1, 1, size).astype(np.float32)
        return self.batch(self.rng.integers(self.capacity, size=size)), torch.from_numpy(weights)

    def network(self, scale: float = 1.0, extra: bool = False, widths: tuple[int, int, int] = (16, 32, 128)) -> Network:
        return Network(CodeTrunk(CODES, self.shape, widths), self.n_actions, scale, extra)

    def both(self, seed: int = 0, lr: float = 3e-4, huber_delta: float = 1.0, **network):
        """Both learners, with the same settings."""
        make_network = functools.partial(self.network, **network)
        kinds = FastDoubleDQN, DoubleDQN
        return tuple(kind(make_network, lr, 0.9, seed, huber_delta=huber_delta) for kind in kinds)


def flat(weights: dict[str, torch.Tensor]) -> np.ndarray:
    return torch.cat([weight.flatten() for weight in weights.values()]).numpy()


def apart(ours, theirs) -> float:
    """Largest difference, as a share of the largest number."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


# --- the same numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "n_actions", "own", "settings"),
    [
        ((5, 5), 8, True, dict(scale=12.0, huber_delta=1.0)),
        ((9, 9), 3, True, dict(scale=324.0, huber_delta=324.0)),
        ((9, 9), 3, True, dict(scale=324.0, huber_delta=1.0, widths=(16, 16, 64), lr=3e-5)),
        ((6, 11), 7, False, dict(scale=12.0, huber_delta=12.0, widths=(16, 16, 64), extra=True)),
    ],
)
def test_two_hundred_updates_are_those_of_pytorch(shape, n_actions, own, settings):
    """Three runs, of which most must agree: a ReLU whose input is a rounding error may go its own way in each form, and
    Adam makes a step of that. PyTorch differs from itself in float64 as often."""
    farthest = []
    for seed in range(3):
        world = World(shape, n_actions, seed)
        world.reward *= settings["scale"] / 10
        fast, plain = world.both(seed, **settings)
        assert np.array_equal(flat(fast.state_dict()), flat(plain.state_dict()))
        errors = []
        for i in range(200):
            batch, weights = world.draw(16 if i % 10 == 0 else 32)
            if own:
                loss, q, y = fast.learn(batch, weights)
                plain_loss, plain_q, plain_y = plain.learn(batch, weights)
            else:
                y = plain_y = batch.reward
                loss, q = fast.update(batch, y, weights)
                plain_loss, plain_q = plain.update(batch, y, weights)
            errors += [abs(loss / plain_loss - 1), apart(y - q, plain_y - plain_q)]
            if i % 25 == 24:
                fast.sync(), plain.sync()
        farthest.append(max(*errors, apart(flat(fast.state_dict()), flat(plain.state_dict()))))
    assert np.median(farthest) < 1e-4, farthest


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("extra", [False, True])
def test_outputs_and_gradients_are_those_of_pytorch(shape, extra):
    world = World(shape, 4, size=500, states=300)
    fast, plain = world.both(scale=20.0, huber_delta=3.0, extra=extra)
    frames = torch.from_numpy(world.codes)
    with torch.no_grad():
        expected = plain.q(frames)
    assert len(frames) > 2 * PART and apart(fast.q(frames), expected) < 1e-5
    assert apart(fast.q(frames[:1]), expected[:1]) < 1e-5
    assert np.mean(fast.act(frames) == expected.argmax(dim=1).numpy()) > 0.99
    (batch, weights), gradient = world.draw(40), copy.deepcopy(fast.q)
    y = 20 * torch.randn(40, generator=torch.Generator().manual_seed(0))
    fast.update(batch, y, weights)
    gradient.vector[:] = fast._gradient[0]
    plain.loss(batch, y, weights)[0].backward()
    for ours, theirs in zip(gradient.state_dict().values(), plain.q.parameters()):
        assert apart(ours, theirs.grad) < 1e-4


@given(st.data(), st.integers(1, 7), st.integers(1, 7))
def test_each_distinct_window_is_computed_once(data, rows, columns):
    """A window: 5x5 cells around an output of the second convolution, and how far the border is. Among the states are
    some that differ in one cell, so that windows have all but one of their corners in common."""
    seed, n = data.draw(st.integers(0, 999)), data.draw(st.integers(1, 6))
    codes = np.random.default_rng(seed).integers(2, size=(n, rows, columns), dtype=np.uint8)
    flipped = codes[0].reshape(-1) ^ np.eye(rows * columns, dtype=np.uint8)
    codes = np.concatenate([codes, flipped.reshape(-1, rows, columns)])
    n = len(codes)
    network = FastNetwork(Network(CodeTrunk(2, (rows, columns)), 2))
    network.values(codes)
    framed = np.pad(codes, ((0, 0), (2, 2), (2, 2)), constant_values=9)
    # Of a window at the border, another cell beyond it does not matter: frames are two cells wide.
    windows, patches = [], []
    for state in framed:
        windows += [state[i : i + 5, j : j + 5].tobytes() for i in range(0, rows, 2) for j in range(0, columns, 2)]
        patches += [state[i : i + 3, j : j + 3].tobytes() for i in range(1, rows + 1) for j in range(1, columns + 1)]
    numbers = network.work.window_at[:n].reshape(-1)
    assert len(set(zip(windows, numbers))) == len(set(windows)) == len(set(numbers))
    assert network.work.ends[n - 1].tolist() == [len(set(patches)), len(set(windows))]


def test_not_a_number_stays_one():
    world = World((5, 5), 3)
    batch, weights = world.draw(16)
    fast, _ = world.both()
    y = batch.reward.clone()
    y[3] = torch.nan
    assert np.isnan(fast.update(batch, y, weights)[0]) and np.isnan(fast.learn(batch, weights)[0])
    for name, weight in world.network().state_dict().items():
        if name != "trunk.embedding.weight":
            weight.view(-1)[:] = torch.nan
            network = world.network()
            network.load_state_dict({name: weight}, strict=False)
            assert FastNetwork(network)(batch.frame).isnan().any(), name


# --- states by their numbers ------------------------------------------------------------------------------------------


def test_what_the_target_network_said_holds_until_the_next_sync():
    """And no longer; new states come all the while, with ever larger numbers."""
    world = World((5, 5), 3, size=4000, states=3000)
    fast, plain = world.both(lr=0.01)
    for first in range(0, 4000, 400):
        for start in range(first, first + 400, 100):
            batch = world.batch(np.arange(start, start + 100))
            for _ in range(2):
                with torch.no_grad():
                    assert apart(fast.next_target_q(batch), plain.target(batch.next_frame)) < 1e-5
            fast.learn(batch, torch.ones(100))
        plain.q.load_state_dict(fast.state_dict())
        fast.sync(), plain.sync()


def test_a_state_is_asked_for_once():
    world = World((5, 5), 3, states=20)
    fast, _ = world.both()
    batch, weights = world.draw(64)
    fast.learn(batch, weights)
    asked = set(batch.next_ids.tolist())
    assert set(np.flatnonzero(fast._known).tolist()) == asked
    fast._said[:] = 7.0
    _, _, y = fast.learn(batch, weights)
    assert torch.allclose(y, batch.reward + 0.9 * 7 * (1 - batch.absorbing)), "what was said is looked up"


# --- replay methods ---------------------------------------------------------------------------------------------------


def test_discor_does_the_same_with_it():
    worlds = [World((5, 5), 4, size=200) for _ in range(2)]
    methods = []
    for world, agent, errors in zip(worlds, worlds[0].both(), worlds[0].both(1, extra=True)):
        method = DisCor(world, agent, errors, np.random.default_rng(0))
        for index in range(200):
            method.add(index)
        methods.append(method)
    for i in range(30):
        chosen = [method.sample(32) for method in methods]
        for ours, theirs in zip(*chosen):
            assert apart(ours, theirs) < 1e-4
        for world, method, (indices, weights, targets) in zip(worlds, methods, chosen):
            y = torch.from_numpy(targets)
            _, q = method.agent.update(world.batch(indices), y, torch.from_numpy(weights))
            method.update(indices, {"td_error": (y - q).numpy()})
            if i % 7 == 6:
                method.agent.sync(), method.synced()
        assert methods[0].tau == pytest.approx(methods[1].tau, rel=1e-4)
    assert methods[0].tau != 10.0


def test_ebu_does_the_same_with_it():
    world = World((5, 5), 4, size=1400)
    found = []
    for agent in world.both():
        method = EBU(world, agent, np.random.default_rng(0))
        for index in range(1400):
            method.add(index, Step(None, 0, 0.0, None, index == 1399, False))
        found.append(method.sample(64))
    assert apart(found[0].targets, found[1].targets) < 1e-5


# --- the same agent ---------------------------------------------------------------------------------------------------


def test_a_network_of_pytorch_loads_its_weights():
    world = World((6, 11), 5)
    fast, plain = world.both(scale=3.0, widths=(16, 16, 64))
    for _ in range(3):
        fast.learn(*world.draw(32))
    fast.sync()
    plain.q.load_state_dict(fast.state_dict())
    frames = torch.from_numpy(world.codes)
    with torch.no_grad():
        assert apart(fast.q(frames), plain.q(frames)) < 1e-5
        assert apart(fast.target(frames), plain.q(frames)) < 1e-5


def test_unpickled_it_continues_identically():
    world = World((7, 7), 4)
    fast, _ = world.both()
    for i in range(30):
        fast.learn(*world.draw(32))
        if i == 20:
            fast.sync()
    again, other = pickle.loads(pickle.dumps(fast)), copy.deepcopy(world)
    for i in range(30):
        (loss, *rest), (other_loss, *other_rest) = fast.learn(*world.draw(100)), again.learn(*other.draw(100))
        assert loss == other_loss and all(torch.equal(a, b) for a, b in zip(rest, other_rest))
        if i == 20:
            fast.sync(), again.sync()
    assert np.array_equal(fast.q.vector, again.q.vector) and np.array_equal(fast.target.vector, again.target.vector)


def test_what_the_kernels_are_not_made_for():
    world = World((5, 5), 3)
    with pytest.raises(ValueError, match="rmsprop"):
        FastDoubleDQN(world.network, 1e-3, 0.9, 0, "rmsprop")
    with pytest.raises(ValueError, match="CodeTrunk"):
        FastNetwork(Network(NatureTrunk((40, 40, 3)), 3))
    with pytest.raises(ValueError, match="127"):
        FastNetwork(Network(CodeTrunk(128, (5, 5)), 3))
    assert FastNetwork(Network(CodeTrunk(127, (5, 5)), 3)).values(np.full((1, 5, 5), 126, np.uint8)).shape == (1, 3)
    fast, _ = world.both()
    with pytest.raises(ValueError, match=r"uint8 \(5, 5\)"):
        fast.q(torch.zeros(2, 5, 6, dtype=torch.uint8))
