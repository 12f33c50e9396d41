"""The small network, the scale of outputs, and the kernel that looks at one state."""

import pickle

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from common.networks import NatureConv, NatureTrunk
from papers.ter.agents.networks import CodeTrunk, Network, OneState


def states(n: int, rows: int, columns: int, codes: int = 64) -> np.ndarray:
    return np.random.default_rng(0).integers(codes, size=(n, rows, columns), dtype=np.uint8)


def test_the_papers_network_is_that_of_the_house():
    """Weights of the one are weights of the other."""
    torch.manual_seed(0)
    house, ours = NatureConv((40, 40, 3), 4), Network(NatureTrunk((40, 40, 3)), 4)
    ours.load_state_dict(house.state_dict())
    frames = torch.rand(5, 3, 40, 40)
    assert torch.equal(house(frames), ours(frames))


@pytest.mark.parametrize("scale", [1.0, 324.0])
def test_the_scale_multiplies_outputs_but_the_first_ones_are_those_without(scale):
    def make(scale):
        torch.manual_seed(1)
        return Network(CodeTrunk(7, (5, 5)), 3, scale)

    plain, scaled, codes = make(1.0), make(scale), torch.from_numpy(states(6, 5, 5, 7))
    assert torch.allclose(plain(codes), scaled(codes), rtol=1e-5)
    with torch.no_grad():
        scaled.head.bias += 1.0
    assert torch.allclose(plain(codes) + scale, scaled(codes), rtol=1e-5)


def test_an_extra_layer():
    torch.manual_seed(2)
    ours, codes = Network(CodeTrunk(7, (5, 6)), 3, 2.0, extra=True), torch.from_numpy(states(4, 5, 6, 7))
    layer = ours.extra[0]
    by_hand = 2.0 * ours.head(F.relu(F.linear(ours.trunk(codes), layer.weight, layer.bias)))
    assert torch.equal(ours(codes), by_hand) and layer.weight.shape == (128, 128)
    assert Network(CodeTrunk(7, (5, 6)), 3).extra is None


def test_every_cell_and_code_matters():
    torch.manual_seed(3)
    ours, codes = Network(CodeTrunk(4, (6, 11)), 2), torch.from_numpy(states(1, 6, 11, 4))
    before = ours(codes)
    for row in range(6):
        for column in range(11):
            changed = codes.clone()
            changed[0, row, column] = (codes[0, row, column] + 1) % 4
            assert not torch.equal(ours(changed), before)


SHAPES = [(5, 5), (6, 6), (7, 7), (9, 9), (6, 11), (6, 12)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", [1, 5])
def test_the_kernels_are_the_literal_network_and_its_gradient(shape, batch):
    torch.manual_seed(5)
    trunk, codes = CodeTrunk(64, shape), torch.from_numpy(states(batch, *shape))
    fast, literal, weights = trunk(codes), trunk.literal(codes), list(trunk.parameters())
    torch.testing.assert_close(fast, literal, rtol=1e-4, atol=1e-5)
    assert 0.05 < (literal == 0).float().mean() < 0.95, "both sides of the last ReLU are tried"
    grad = torch.randn_like(literal)
    for ours, theirs in zip(torch.autograd.grad(fast, weights, grad), torch.autograd.grad(literal, weights, grad)):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


def test_not_a_number_stays_one():
    trunk, codes = CodeTrunk(7, (5, 5)), torch.from_numpy(states(2, 5, 5, 7))
    for weight in trunk.parameters():
        kept = weight.detach().clone()
        with torch.no_grad():
            weight.view(-1)[:] = torch.nan
            assert trunk(codes).isnan().all()
            weight.copy_(kept)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_kernel_for_one_state_says_what_the_network_says(shape):
    torch.manual_seed(4)
    ours, codes = Network(CodeTrunk(64, shape), 7, scale=300.0), states(20, *shape)
    kernel = OneState(ours)
    for _ in range(2):  # the weights are read where they lie
        with torch.no_grad():
            expected = ours(torch.from_numpy(codes)).numpy()
            found = np.stack([kernel(one) for one in codes])
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
            for weight in ours.parameters():
                weight += 0.1 * torch.randn_like(weight)


def test_after_unpickling_the_kernel_reads_the_unpickled_weights():
    ours = Network(CodeTrunk(7, (5, 5)), 3)
    kernel, [one] = OneState(ours), states(1, 5, 5, 7)
    kernel(one)
    network, again = pickle.loads(pickle.dumps((ours, kernel)))
    assert again.network is network and again(one).tolist() == kernel(one).tolist()
    with torch.no_grad():
        network.head.bias += 1.0
    assert again(one).tolist() == pytest.approx((kernel(one) + 1).tolist())
