"""Kernels of plain networks against PyTorch and its gradients."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from common import mlp_kernels as k
from common.networks import mlp

few = settings(max_examples=25, deadline=None)  # the first example compiles
widths = st.integers(1, 9)
seeds = st.integers(0, 2**32 - 1)
units = st.sampled_from([k.RELU, k.SOFTSIGN])


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def close(ours, theirs) -> None:
    theirs = theirs.detach().numpy() if isinstance(theirs, torch.Tensor) else theirs
    assert ours.dtype == np.float32 and ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def flat(tensors) -> np.ndarray:
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).numpy()


@few
@given(st.integers(1, 8), st.tuples(widths, widths) | st.tuples(widths, widths, widths, widths), units, seeds)
def test_a_network_and_its_gradients(n, sizes, units, seed):
    network = mlp(sizes, nn.Softsign if units == k.SOFTSIGN else nn.ReLU)
    parameters = normal(seed, k.n_parameters(sizes))
    torch.nn.utils.vector_to_parameters(torch.from_numpy(parameters), network.parameters())
    x, grad = normal(seed + 1, n, sizes[0]), normal(seed + 2, n, sizes[-1])
    inputs = torch.from_numpy(x).requires_grad_()
    expected = torch.tanh(network(inputs))
    expected.backward(torch.from_numpy(grad))

    outputs, grad_outputs = np.full((2, n * sum(sizes[1:])), np.nan, np.float32)
    gradient, grad_x = np.full_like(parameters, np.nan), np.full_like(x, np.nan)
    out = k.mlp_forward(x, parameters, sizes, outputs, units)
    k.tanh(out)
    close(out, expected)
    grad_out = k.mlp_outputs(grad_outputs, n, sizes, len(sizes) - 2)
    grad_out[:] = grad
    k.tanh_backward(grad_out, out)
    k.mlp_backward(x, parameters, sizes, outputs, grad_outputs, gradient, units)
    close(gradient, flat(parameter.grad for parameter in network.parameters()))
    weight, _ = k.mlp_layer(parameters, sizes, 0)
    k.linear_backward_inputs(k.mlp_outputs(grad_outputs, n, sizes, 0), weight, grad_x)
    close(grad_x, inputs.grad)
    grad_x[:] = np.nan
    k.mlp_backward_inputs(parameters, sizes, outputs, grad_outputs, grad_x, units)
    close(grad_x, inputs.grad)


@few
@given(st.integers(2, 8), widths, seeds)
def test_batch_normalisation_and_its_gradients(n, width, seed):
    x, grad = 3 * normal(seed, n, width) + 1, normal(seed + 1, n, width + 2)
    gamma, beta, mean = normal(seed + 2, 3, width)
    variance = np.exp(normal(seed + 3, width))
    tensors = inputs, scale, shift = [torch.tensor(value, requires_grad=True) for value in (x, gamma, beta)]
    running = torch.tensor(mean), torch.tensor(variance)
    expected = torch.relu(F.batch_norm(inputs, *running, scale, shift, training=True))
    expected.backward(torch.from_numpy(grad[:, :width].copy()))

    normalised, grad_x = np.empty((2, n, width), np.float32)
    out = np.full((n, width + 2), 7, np.float32)  # wider, as where an action joins
    scales, shifts, grad_gamma, grad_beta = np.empty((4, width), np.float32)
    k.normalise_by_batch(x, mean, variance, scales, normalised)
    k.affine_relu(normalised, gamma, beta, out)
    close(out[:, :width].copy(), expected)
    assert (out[:, width:] == 7).all()
    close(mean, running[0])
    close(variance, running[1])
    k.relu_backward(grad, out)
    k.batch_norm_backward(grad, normalised, gamma, scales, grad_gamma, grad_beta, grad_x)
    for ours, tensor in zip((grad_x, grad_gamma, grad_beta), tensors):
        close(ours, tensor.grad)

    k.fold_running(gamma, beta, mean, variance, scales, shifts)
    close(scales * x + shifts, F.batch_norm(inputs, *running, scale, shift))
    k.normalise_by_running(x, mean, variance, x)
    close(x, F.batch_norm(inputs, *running))


@few
@given(st.integers(1, 40), st.sampled_from([0.1, 3.0, 1e6]), st.sampled_from([1e-8, 0.1]), seeds)
def test_steps_of_adam_with_clipped_gradients(size, clip, epsilon, seed):
    parameters, mean, square = normal(seed, size), np.zeros(size, np.float32), np.zeros(size, np.float32)
    twin = torch.nn.Parameter(torch.tensor(parameters))
    optimiser = torch.optim.Adam([twin], lr=0.01, eps=epsilon)
    for step in range(1, 6):
        gradient = normal(seed + step, size) * 10.0 ** (step - 3)
        twin.grad = torch.tensor(gradient)
        torch.nn.utils.clip_grad_norm_([twin], clip)
        optimiser.step()
        k.clip_norm(gradient, clip)
        close(gradient, twin.grad)
        k.adam(parameters, gradient, mean, square, step, 0.01, epsilon)
        np.testing.assert_allclose(parameters, twin.detach(), rtol=1e-5, atol=1e-6)


def test_averaging():
    target, online = normal(0, 100), normal(1, 100)
    expected = torch.lerp(torch.tensor(target), torch.tensor(online), 0.05)
    k.average(target, online, 0.05)
    close(target, expected)


def test_a_step_of_adam_that_averages_at_once():
    parameters, target, moments = normal(0, 100), normal(1, 100), np.zeros((2, 100), np.float32)
    two, twin, others = parameters.copy(), target.copy(), moments.copy()
    for step in range(1, 4):
        gradient = normal(step, 100)
        k.adam_average(parameters, gradient, *moments, step, 0.01, target, 0.2)
        k.adam(two, gradient, *others, step, 0.01)
        k.average(twin, two, 0.2)
    for ours, theirs in ((parameters, two), (target, twin), (moments, others)):
        close(ours, theirs)


def test_what_is_not_a_number_stays_so():
    """A run that diverges must be noticed: no ReLU or Softsign, and no comparison in clipping, makes numbers of it."""
    x, one = np.full((2, 3), np.nan, np.float32), np.ones(3, np.float32)
    out = np.zeros_like(x)
    k.linear_relu(x, np.eye(3, dtype=np.float32), one, out)
    assert np.isnan(out).all()
    out[:] = 0
    k.linear_softsign(x, np.eye(3, dtype=np.float32), one, out)
    assert np.isnan(out).all()
    out[:] = 0
    k.affine_relu(x, one, one, out)
    assert np.isnan(out).all()
    gradient = np.array([np.nan, 1.0], np.float32)
    k.clip_norm(gradient, 3.0)
    assert np.isnan(gradient[0])


@pytest.mark.parametrize("kernel", [k.mlp_forward, k.linear])
def test_a_wrong_width_is_an_error_of_the_matrix_product(kernel):
    """The one check that costs nothing, as NumPy's product makes it."""
    x, sizes = normal(0, 4, 3), (5, 2)
    with pytest.raises(ValueError, match="incompatible array sizes"):
        if kernel is k.linear:
            k.linear(x, normal(1, 2, 5), normal(2, 2), normal(3, 4, 2))
        else:
            k.mlp_forward(x, normal(1, k.n_parameters(sizes)), sizes, normal(2, 4 * 2))
