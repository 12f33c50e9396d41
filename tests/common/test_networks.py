"""Networks: shapes, initialisation, and stacked ones against separate ones."""

import copy

import pytest
import torch
from torch import nn

from common.networks import NatureConv, NatureTrunk, StackedLinear, StackedMLP, lecun_normal_, mlp


def members_of(stacked: StackedMLP, sizes) -> list[nn.Sequential]:
    """The same networks, one `mlp` each."""
    nets = []
    for k in range(stacked.members):
        net = mlp(sizes)
        for layer, source in zip(net, stacked.layers):
            if isinstance(layer, nn.Linear):
                layer.weight.data.copy_(source.weight[k].T)
                layer.bias.data.copy_(source.bias[k, 0])
        nets.append(net)
    return nets


@pytest.mark.parametrize("members", [1, 2, 5])
def test_stacked_networks_equal_separate_ones_forward_and_backward(members):
    torch.manual_seed(0)
    sizes = [4, 16, 16, 3]
    stacked, x = StackedMLP(members, sizes), torch.randn(members, 7, 4)
    nets = members_of(stacked, sizes)
    separate = torch.stack([net(x[k]) for k, net in enumerate(nets)])
    together = stacked(x)
    assert together.shape == (members, 7, 3)
    torch.testing.assert_close(together, separate)

    together.square().mean(dim=(1, 2)).sum().backward()
    separate.square().mean(dim=(1, 2)).sum().backward()
    for k, net in enumerate(nets):
        for layer, source in zip(net, stacked.layers):
            if isinstance(layer, nn.Linear):
                torch.testing.assert_close(source.weight.grad[k].T, layer.weight.grad)
                torch.testing.assert_close(source.bias.grad[k, 0], layer.bias.grad)


def test_a_shared_input_goes_to_every_member():
    torch.manual_seed(0)
    stacked, x = StackedMLP(3, [4, 8, 1], nn.Tanh), torch.randn(7, 4)
    torch.testing.assert_close(stacked(x), stacked(x.repeat(3, 1, 1)))


def test_members_start_different_and_are_initialised_as_linear_layers():
    torch.manual_seed(0)
    layer = StackedLinear(2, 400, 300)
    assert not torch.equal(layer.weight[0], layer.weight[1])
    for values in (layer.weight, layer.bias):  # uniform in +- 1 / sqrt(400)
        assert values.abs().max() <= 0.05
        assert values.std().item() == pytest.approx(0.05 / 3**0.5, rel=0.1)
    assert layer.weight.std().item() == pytest.approx(nn.Linear(400, 300).weight.std().item(), rel=0.02)


@pytest.mark.parametrize("layer", [nn.Linear(400, 500), nn.Conv2d(16, 200, 5)], ids=["linear", "convolution"])
def test_lecun_normal(layer):
    torch.manual_seed(0)
    assert lecun_normal_(layer, bias=0.1) is layer
    assert layer.weight.std().item() == pytest.approx(1 / 400**0.5, rel=0.02)
    assert layer.weight.mean().item() == pytest.approx(0, abs=1e-3)
    assert layer.weight.abs().max() > 3.5 / 400**0.5  # not truncated
    assert (layer.bias == 0.1).all()


@pytest.mark.parametrize(("frame_shape", "flat"), [((40, 40, 3), 64), ((84, 84, 4), 3136), ((36, 52, 1), 64 * 1 * 3)])
def test_nature_shapes(frame_shape, flat):
    net = NatureConv(frame_shape, n_outputs=6)
    height, width, channels = frame_shape
    assert net.trunk.flat_size == flat
    assert net.trunk.hidden[0].in_features == flat
    frames = torch.rand(2, channels, height, width)
    assert net(frames).shape == (2, 6)
    assert net.trunk(frames).shape == (2, 512) == (2, net.trunk.n_features)
    assert NatureTrunk(frame_shape, hidden=32)(frames).shape == (2, 32)


def test_nature_layers_and_initialisation():
    torch.manual_seed(0)
    net = NatureConv((84, 84, 4), n_outputs=6)
    described = [
        (layer.out_channels, layer.kernel_size, layer.stride) for layer in net.modules() if isinstance(layer, nn.Conv2d)
    ]
    assert described == [(32, (8, 8), (4, 4)), (64, (4, 4), (2, 2)), (64, (3, 3), (1, 1))]
    layers = [layer for layer in net.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    assert [layer.bias[0].item() for layer in layers] == pytest.approx([0.1, 0.1, 0.1, 0.1, 0.0])
    for layer in layers:
        assert layer.weight.std().item() == pytest.approx(layer.weight[0].numel() ** -0.5, rel=0.05)


def test_nature_does_not_depend_on_the_memory_format():
    torch.manual_seed(0)
    net, frames = NatureConv((84, 84, 4), n_outputs=6), torch.rand(3, 4, 84, 84)
    assert net.trunk.convolutions[0].weight.is_contiguous(memory_format=torch.channels_last)
    plain = copy.deepcopy(net).to(memory_format=torch.contiguous_format)
    x = frames
    for layer in [*plain.trunk.convolutions, *plain.trunk.hidden, plain.head]:
        x = layer(x)
    torch.testing.assert_close(net(frames), x)
    torch.testing.assert_close(net(frames.contiguous(memory_format=torch.channels_last)), x)


def test_nature_refuses_frames_that_are_too_small():
    NatureTrunk((36, 36, 3))
    with pytest.raises(ValueError, match="at least 36 x 36 pixels, not 35 x 40"):
        NatureTrunk((35, 40, 3))
