"""The small network and the scale of outputs."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from common.networks import NatureConv, NatureTrunk
from papers.ter.agents.networks import CodeTrunk, Network


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
