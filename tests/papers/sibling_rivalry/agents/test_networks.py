"""Shapes and sizes of the networks, the convolutions by hand, and pooling."""

import numpy as np
import pytest
import torch
from torch import nn

from papers.sibling_rivalry.agents.networks import FEATURES, PixelEncoder, input_shape, join, network
from tests.papers.sibling_rivalry.fake_tasks import Picture, Plane


@pytest.mark.parametrize(
    ("task", "shapes"), [(Plane(), [(2,), (4,), (6,)]), (Picture(), [(2, 5, 5), (3, 5, 5), (4, 5, 5)])]
)
def test_goals_join_the_observation_along_the_first_dimension(task, shapes):
    assert [input_shape(task, goals) for goals in range(3)] == shapes and input_shape(task) == shapes[1]
    rng = np.random.default_rng(0)
    parts = [torch.from_numpy(part) for part in (task.observe(task.starts(3, rng)), task.goals(3, rng))]
    joined = join(parts[0], parts[1], parts[1])
    assert joined.shape == (3, *shapes[2])
    for part, place in zip((parts[0], parts[1]), (slice(0, shapes[0][0]), slice(shapes[0][0], shapes[1][0]))):
        assert torch.equal(joined[:, place], part)
    assert torch.equal(joined[:, shapes[1][0] :], parts[1])


def test_pictures_go_through_four_convolutions_and_two_layers():
    encoder, *head = network((3, 7, 7), 9, "max")
    convolutions = list(encoder.convolutions)
    shapes = [tuple(layer.weight.shape) for layer in convolutions[::2]]
    assert shapes == [(32, 3, 3, 3), (32, 32, 3, 3), (32, 32, 3, 3), (64, 32, 3, 3)] and FEATURES == 64
    assert [layer.padding for layer in convolutions[::2]] == [(1, 1), (0, 0), (1, 1), (0, 0)]
    assert [type(layer) for layer in convolutions[1::2]] == [nn.ReLU] * 3 and len(convolutions) == 7
    assert [type(layer) for layer in head] == [nn.Linear, nn.ReLU, nn.Linear]
    assert [tuple(layer.weight.shape) for layer in head[::2]] == [(64, 64), (9, 64)]


@pytest.mark.parametrize("pool", ["max", "mean"])
def test_pooling_and_normalising_by_hand(pool):
    torch.manual_seed(0)
    encoder, pictures = PixelEncoder(3, pool), torch.rand(4, 3, 7, 7)
    with torch.no_grad():
        encoder.norm.weight.uniform_(0.5, 2), encoder.norm.bias.uniform_(-1, 1)
        maps = encoder.convolutions(pictures).numpy().astype(np.float64)
        found = encoder(pictures).numpy()
    assert maps.shape == (4, 64, 3, 3)
    pooled = getattr(maps.reshape(4, 64, 9), pool)(axis=2)
    normal = (pooled - pooled.mean(1, keepdims=True)) / np.sqrt(pooled.var(1, keepdims=True) + 1e-5)
    weight, bias = (value.detach().numpy() for value in (encoder.norm.weight, encoder.norm.bias))
    np.testing.assert_allclose(found, normal * weight + bias, atol=1e-4)


@pytest.mark.parametrize("size", [5, 6, 13])
def test_networks_for_pictures_of_several_sizes(size):
    pictures = torch.rand(2, 4, size, size)
    assert network((4, size, size), 9, "mean")(pictures).shape == (2, 9)
    with pytest.raises(RuntimeError):
        network((4, 4, 4), 9, "mean")(torch.rand(2, 4, 4, 4))
