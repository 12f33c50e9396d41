"""Rainbow's parts by hand and against slow twins: noise, network, projection, double Q-learning, the step itself."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from common.replay.frames import Batch
from papers.ners.agents.rainbow import Convolutions, Network, NoisyLinear, Rainbow, inputs, patches, project


def batch_of(n: int, n_actions: int = 3, discount: float = 0.8, seed: int = 0) -> Batch:
    g = torch.Generator().manual_seed(seed)

    def stacks() -> torch.Tensor:
        return torch.randint(0, 256, (n, 4, 84, 84), generator=g, dtype=torch.uint8)

    action = torch.randint(0, n_actions, (n,), generator=g)
    return Batch(stacks(), action, torch.randn(n, generator=g), torch.full((n,), discount), stacks())


# --- noisy layers -----------------------------------------------------------------------------------------------------
def f(e: torch.Tensor) -> torch.Tensor:
    return e.sign() * e.abs().sqrt()


def test_a_noisy_layer_is_a_linear_one_with_these_weights():
    torch.manual_seed(0)
    layer, x = NoisyLinear(3, 2, 0.5), torch.randn(5, 3)
    plain = F.linear(x, layer.mu.weight, layer.mu.bias)
    torch.testing.assert_close(F.linear(x, *layer.weights()), plain)  # no noise before `resample`
    generator = torch.Generator().manual_seed(1)
    layer.resample(generator)
    generator.manual_seed(1)
    e_in, e_out = f(torch.randn(3, generator=generator)), f(torch.randn(2, generator=generator))
    weight = layer.mu.weight + layer.sigma.weight * e_out[:, None] * e_in[None, :]
    expected = F.linear(x, weight, layer.mu.bias + layer.sigma.bias * e_out)
    torch.testing.assert_close(F.linear(x, *layer.weights()), expected)
    torch.testing.assert_close(F.linear(x, *layer.weights(noisy=False)), plain)


def test_first_weights_of_a_noisy_layer():
    torch.manual_seed(0)
    layer = NoisyLinear(4, 3, 0.6)
    assert torch.unique(layer.sigma.weight).item() == torch.unique(layer.sigma.bias).item() == pytest.approx(0.3)
    assert layer.mu.weight.abs().max() <= 0.5 and layer.mu.weight.abs().max() > 0.25


# --- network ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("pixel_by_pixel", [False, True])
def test_linear_layers_on_patches_are_convolutions(pixel_by_pixel):
    torch.manual_seed(0)
    ours = Convolutions(4)
    first, second = nn.Conv2d(4, 32, kernel_size=5, stride=5), nn.Conv2d(32, 64, kernel_size=5, stride=5)
    with torch.no_grad():
        for conv, linear in ((first, ours.first), (second, ours.second)):
            n_out, n_in = conv.weight.shape[:2]
            conv.weight.copy_(linear.weight.view(n_out, 5, 5, n_in).permute(0, 3, 1, 2))
            conv.bias.copy_(linear.bias)
        stacks = torch.randint(0, 256, (3, 4, 84, 84), dtype=torch.uint8)
        if pixel_by_pixel:  # as the memory delivers them
            stacks = stacks.contiguous(memory_format=torch.channels_last)
        expected = F.relu(second(F.relu(first(stacks / 255))))
    assert expected.shape == (3, 64, 3, 3)
    features = ours(stacks)
    assert features.shape == (3, ours.n_features) == (3, 576)
    torch.testing.assert_close(features.view(3, 3, 3, 64).permute(0, 3, 1, 2), expected, rtol=1e-4, atol=1e-5)
    for conv, linear in ((first, ours.first), (second, ours.second)):  # initial weights have the law of Conv2d's
        bound = conv.weight[0].numel() ** -0.5
        assert 0.9 * bound < linear.weight.abs().max() <= bound and linear.weight.numel() == conv.weight.numel()


def test_heads_are_duelling_and_of_the_papers_size():
    torch.manual_seed(0)
    network = Network(6, 51, stack=4, hidden=256, sigma0=0.1)
    sizes = {name: tuple(p.shape) for name, p in network.named_parameters() if name.endswith("mu.weight")}
    assert sizes == {
        "value_hidden.mu.weight": (256, 576), "value.mu.weight": (51, 256),
        "advantage_hidden.mu.weight": (256, 576), "advantage.mu.weight": (6 * 51, 256),
    }  # fmt: skip
    network.resample(torch.Generator().manual_seed(0))
    stacks = batch_of(2).state
    x = network.convolutions(stacks)
    hidden = F.relu(F.linear(x, *network.value_hidden.weights()))
    value = F.linear(hidden, *network.value.weights())
    hidden = F.relu(F.linear(x, *network.advantage_hidden.weights()))
    advantage = F.linear(hidden, *network.advantage.weights()).view(2, 6, 51)
    logits = network(stacks)
    torch.testing.assert_close(logits.mean(dim=1), value)  # advantages are counted from their mean
    torch.testing.assert_close(logits[:, 4] - logits[:, 1], advantage[:, 4] - advantage[:, 1])


@pytest.mark.parametrize("height, width", [(84, 84), (11, 19)])
def test_inputs_are_squares_of_pixels_between_0_and_1(height, width):
    """As PyTorch makes them on a GPU, to the bit, also of stacks plane by plane and of a part of a batch."""
    stacks = torch.randint(0, 256, (3, 4, height, width), dtype=torch.uint8)
    for each in (stacks, stacks.contiguous(memory_format=torch.channels_last), stacks[1:, :2]):
        expected = patches(each.permute(0, 2, 3, 1), 5).float() / 255
        found = inputs(each)
        assert found.dtype == torch.float32 and torch.equal(found, expected)
        assert torch.equal(found[-1, 0, 0].view(5, 5, -1)[2, 3], each[-1, :, 2, 3] / 255)


def test_a_network_takes_stacks_or_inputs_and_weights_drawn_before():
    torch.manual_seed(0)
    network, stacks = Network(3, 7, stack=4, hidden=16, sigma0=2.0), batch_of(2).state
    network.resample(torch.Generator().manual_seed(0))
    drawn, logits = network.weights(), network(stacks)
    assert torch.equal(network(inputs(stacks), drawn), logits)
    network.resample(torch.Generator().manual_seed(1))
    assert torch.equal(network(stacks, drawn), logits)
    assert not torch.allclose(network(stacks), logits)


# --- projection -------------------------------------------------------------------------------------------------------
def slow_project(p: np.ndarray, atoms: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Algorithm 1 of Bellemare et al., atom by atom, with its case b == l == u put right."""
    out, spacing = np.zeros(len(support)), support[1] - support[0]
    for mass, atom in zip(p, atoms):
        b = min((min(max(atom, support[0]), support[-1]) - support[0]) / spacing, len(support) - 1)
        low, high = int(np.floor(b)), int(np.ceil(b))
        if low == high:
            out[low] += mass
        else:
            out[low] += mass * (high - b)
            out[high] += mass * (b - low)
    return out


@settings(deadline=None)
@given(
    n_atoms=st.integers(2, 51), reward=st.floats(-25, 25), discount=st.sampled_from([0.0, 0.3, 0.99**20, 1.0]),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_projection_equals_the_slow_twin(n_atoms, reward, discount, seed):
    support = torch.linspace(-10, 10, n_atoms)
    p = np.random.default_rng(seed).dirichlet(np.ones(n_atoms), size=2).astype(np.float32)
    atoms = torch.stack([reward + discount * support, reward / 2 + discount * support])
    found = project(torch.from_numpy(p), atoms, support)
    for row in range(2):
        expected = slow_project(p[row], atoms[row].double().numpy(), support.double().numpy())
        np.testing.assert_allclose(found[row], expected, atol=1e-4)
    np.testing.assert_allclose(found.sum(dim=1), 1, atol=2e-5)


def test_projection_where_atoms_meet_points():
    support = torch.tensor([-1.0, 0.0, 1.0])
    p = torch.tensor([[0.2, 0.3, 0.5]])
    assert torch.equal(project(p, support[None], support), p)
    for n_atoms in (2, 21, 50, 51):  # also where the spacing is not a binary fraction: nothing is lost at the ends
        points, even = torch.linspace(-10, 10, n_atoms), torch.full((2, n_atoms), 1 / n_atoms)
        ends = project(even, torch.tensor([[-10.0], [99.0]]).expand(2, n_atoms), points)
        torch.testing.assert_close(ends[:, [0, -1]], torch.eye(2), rtol=0, atol=1e-6)
    torch.testing.assert_close(project(p, support[None] + 1, support), torch.tensor([[0.0, 0.2, 0.8]]))
    torch.testing.assert_close(project(p, torch.zeros(1, 3), support), torch.tensor([[0.0, 1.0, 0.0]]))
    torch.testing.assert_close(project(p, torch.full((1, 3), -7.0), support), torch.tensor([[1.0, 0.0, 0.0]]))
    quarter = project(p, torch.full((1, 3), 0.25), support)  # the nearer point gets more
    torch.testing.assert_close(quarter, torch.tensor([[0.0, 0.75, 0.25]]))


# --- the agent --------------------------------------------------------------------------------------------------------
class HandMade(nn.Module):
    """Logits that do not depend on the state, and a record of the noise that was drawn."""

    def __init__(self, logits: list[list[float]]):
        super().__init__()
        self.logits, self.resampled = torch.tensor(logits), 0

    def resample(self, generator: torch.Generator) -> None:
        self.resampled += 1

    def forward(self, stacks: torch.Tensor, weights: object = None) -> torch.Tensor:
        return self.logits.expand(len(stacks), -1, -1)


def test_double_q_learning_chooses_by_one_network_and_values_by_the_other():
    agent = Rainbow(2, n_atoms=3, v_min=-1, v_max=1)
    sure = 50.0  # as good as all of the probability
    online = HandMade([[sure, 0.0, 0.0], [0.0, sure, 0.0]])  # values -1 and 0: action 1 is best
    target = HandMade([[0.0, 0.0, sure], [sure, 0.0, 0.0]])  # values 1 and -1: it would choose action 0
    agent.online, agent.target = online, target  # type: ignore[assignment]
    batch = batch_of(1, 2, discount=0.5)
    batch.reward = torch.tensor([0.25])
    # the target network's -1 for action 1: 0.25 + 0.5 * -1 = -0.25, between -1 and 0
    torch.testing.assert_close(agent.targets(batch), torch.tensor([[0.25, 0.75, 0.0]]))
    assert (online.resampled, target.resampled) == (0, 1)
    batch.discount = torch.zeros(1)  # terminated: the reward alone
    torch.testing.assert_close(agent.targets(batch), torch.tensor([[0.0, 0.75, 0.25]]))


def test_an_update_returns_what_it_learnt_from_and_weights_the_loss():
    agent, batch = Rainbow(3, seed=1), batch_of(6)
    agent.online.resample(agent.generator)
    weights = np.array([0, 1, 0.5, 0, 0.25, 1], np.float32)
    state = agent.generator.get_state()
    target = agent.targets(batch)
    agent.generator.set_state(state)
    logits = agent.online(batch.state)[range(6), batch.action]
    expected = -(target * torch.log_softmax(logits, dim=1)).sum(dim=1)
    loss = (torch.from_numpy(weights) * expected).mean()
    gradients = torch.autograd.grad(loss, list(agent.online.parameters()))
    agent.max_gradient = float("inf")
    td, q, value = agent.update(batch, weights)
    np.testing.assert_allclose(td, expected.detach(), rtol=1e-5)
    np.testing.assert_allclose(q, (torch.softmax(logits, dim=1) @ agent.support).detach(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(value, target @ agent.support, rtol=1e-5)
    assert td.dtype == q.dtype == value.dtype == np.float32
    for parameter, gradient in zip(agent.online.parameters(), gradients):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-3, atol=1e-6)


def test_the_gradient_is_clipped_and_adams_epsilon_is_the_small_one():
    agent, batch = Rainbow(3, max_gradient=0.1), batch_of(6)
    agent.update(batch, np.full(6, 1000, np.float32))
    norm = torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in agent.online.parameters()]))
    assert float(norm) == pytest.approx(0.1, rel=1e-3)
    assert agent.adam.defaults["eps"] == 1.5e-4 and agent.adam.defaults["lr"] == 1e-4


def test_the_target_network_changes_with_sync_only():
    agent, batch = Rainbow(3), batch_of(4)
    before = {name: value.clone() for name, value in agent.target.state_dict().items()}
    agent.update(batch, np.ones(4, np.float32))
    assert all(torch.equal(before[name], value) for name, value in agent.target.state_dict().items())
    assert not torch.equal(agent.online.advantage.mu.weight, agent.target.advantage.mu.weight)
    agent.sync()
    assert all(map(torch.equal, agent.online.state_dict().values(), agent.target.state_dict().values()))


def test_greedy_actions_have_no_noise_and_exploring_ones_new_noise_each_time():
    agent = Rainbow(6, sigma0=5.0)
    stacks = batch_of(2).state.numpy()
    drawn = {agent.act(stacks[0]) for _ in range(40)}
    assert len(drawn) > 1
    first = agent.greedy(stacks)
    agent.online.resample(agent.generator)
    np.testing.assert_array_equal(agent.greedy(stacks), first)
    assert first.shape == (2,) and first.dtype == np.int64
    plain = agent.q(agent.online(torch.from_numpy(stacks), agent.online.weights(noisy=False))).argmax(dim=1)
    np.testing.assert_array_equal(first, plain)


def test_repeated_updates_bring_the_distribution_to_its_target():
    """Terminal transitions with reward 2.4 between the points 2 and 3: the distribution must become 0.6 and 0.4."""
    agent, batch = Rainbow(3, hidden=32, n_atoms=7, v_min=-3, v_max=3, lr=3e-3, seed=2), batch_of(4, discount=0.0)
    batch.reward = torch.full((4,), 2.4)
    for _ in range(150):
        td, q, value = agent.update(batch, np.ones(4, np.float32))
    entropy = -(0.6 * np.log(0.6) + 0.4 * np.log(0.4))  # the least that a cross entropy can be
    np.testing.assert_allclose(q, 2.4, atol=0.05)
    np.testing.assert_allclose(value, 2.4, atol=1e-4)
    np.testing.assert_allclose(td, entropy, atol=0.05)
