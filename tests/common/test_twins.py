"""Which twin runs, and networks as views of flat vectors."""

import numpy as np
import pytest
import torch

from common import mlp_kernels as k
from common.networks import StackedMLP, mlp
from common.twins import checked, fast, flattened, flattened_members


class Literal: ...


class Other: ...


class Quick(Literal): ...


def test_the_twin_runs_on_a_cpu_where_there_is_one():
    table = {Literal: Quick}
    assert fast(Literal, table) is fast(Literal, table, "cpu") is Quick
    assert fast(Literal, table, "cuda") is fast(Literal, {}) is Literal
    assert fast(Other, table) is Other
    assert fast(Quick, table) is Quick


def test_a_network_becomes_views_of_its_vector_and_keeps_its_numbers():
    network = mlp([3, 5, 2])
    x = torch.randn(4, 3)
    before = network(x)
    vector = flattened([*network.parameters()])
    torch.testing.assert_close(network(x), before, rtol=0, atol=0)
    outputs = np.zeros(4 * 7, np.float32)
    np.testing.assert_allclose(k.mlp_forward(x.numpy(), vector, (3, 5, 2), outputs), before.detach(), atol=1e-6)
    vector[:] = 0
    assert not network(x).any()


def test_stacked_networks_become_views_of_one_vector_each():
    """In the order of `mlp`, although they have their weights transposed; and a state of theirs can be loaded."""
    stacked, x = StackedMLP(2, [3, 5, 2]), torch.randn(4, 3)
    before, other = stacked(x), StackedMLP(2, [3, 5, 2])
    vectors = flattened_members(stacked)
    torch.testing.assert_close(stacked(x), before)
    for vector, wanted in zip(vectors, before):
        found = k.mlp_forward(x.numpy(), vector, (3, 5, 2), np.zeros(4 * 7, np.float32))
        np.testing.assert_allclose(found, wanted.detach(), atol=1e-6)
    stacked.load_state_dict(other.state_dict())
    for vector, wanted in zip(vectors, other(x)):
        found = k.mlp_forward(x.numpy(), vector, (3, 5, 2), np.zeros(4 * 7, np.float32))
        np.testing.assert_allclose(found, wanted.detach(), atol=1e-6)


def test_what_kernels_are_given_is_contiguous_float32_of_the_right_shape():
    one, two = checked([np.ones((6, 4)).T[:, ::2], np.ones(4, bool)], [(4, 3), (4,)])
    assert all(x.flags.c_contiguous and x.dtype == np.float32 for x in (one, two))
    for shape in ((4, 2), (3, 3), (4,)):
        with pytest.raises(ValueError, match="a batch needs the shapes"):
            checked([np.ones((4, 3))], [shape])
    with pytest.raises(ValueError, match="at least 5"):
        checked([np.ones((4, 3))], [(4, 3)], 5)
