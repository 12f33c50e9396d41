"""The network in NumPy against PyTorch's autograd of the same module."""

import copy
import math
import pickle

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from papers.ref_er.agents.networks import ADAM_EPSILON, MLP, Adam, soft_update, subnormals_as_zero

SIZES = [[4, 8, 9, 2], [5, 16, 16, 3], [17, 128, 128, 7]]
every_size = pytest.mark.parametrize("sizes", SIZES, ids=str)


def network(sizes, seed: int = 0, *, large: bool = True, residual: bool = False) -> MLP:
    """With outputs that are not near zero, and biases everywhere."""
    torch.manual_seed(seed)
    one = MLP(sizes, residual)
    if large:
        with torch.no_grad():
            for parameter in one.parameters():
                parameter.mul_(3).add_(0.1 * torch.randn_like(parameter))
    return one


def inputs(sizes, n: int = 9, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, sizes[0])).astype(np.float32)


def outputs(one: MLP, x: np.ndarray) -> np.ndarray:
    """By PyTorch."""
    with torch.no_grad():
        return one(torch.from_numpy(x).to(next(one.parameters()).dtype)).numpy()


def close(found, expected) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def parameters(one: MLP) -> list[np.ndarray]:
    return [parameter.detach().numpy().copy() for parameter in one.parameters()]


# --- both directions -------------------------------------------------------------------------------------------------
@every_size
def test_outputs_against_the_module(sizes):
    one, x = network(sizes), inputs(sizes)
    expected = outputs(one, x)
    assert expected.std() > 0.05
    for found in (one.evaluate(x), one.act(x)):
        assert found.dtype == np.float32 and found.shape == (9, sizes[-1])
        close(found, expected)
    close(one.act(x[0]), expected[0])
    assert one.act(x[0]).shape == (sizes[-1],)


def test_a_residual_network_by_hand():
    """The second hidden layer adds the first one's output, if it is as wide; then it is no longer a plain MLP."""
    one, x = network([2, 3, 3, 1], residual=True), inputs([2])
    first, second, last = (layer for layer in one.layers if hasattr(layer, "weight"))
    h = torch.nn.functional.softsign(first(torch.from_numpy(x)))
    expected = last(h + torch.nn.functional.softsign(second(h))).detach().numpy()
    close(one.act(x), expected)
    assert abs(expected - one.layers(torch.from_numpy(x)).detach().numpy()).max() > 0.05
    wide, plain = network([2, 3, 4, 1], residual=True), network([2, 3, 4, 1])
    close(wide.evaluate(x), plain.evaluate(x))


@pytest.mark.parametrize("residual", [False, True])
@every_size
def test_gradients_of_the_parameters_against_autograd(sizes, residual):
    one, x = network(sizes, residual=residual), inputs(sizes)
    gradient = np.random.default_rng(1).normal(size=(9, sizes[-1]))  # float64 is accepted
    kept = gradient.copy()
    weighted = (one(torch.from_numpy(x)) * torch.from_numpy(gradient).float()).sum()
    expected = torch.autograd.grad(weighted, list(one.parameters()))
    for _ in range(2):  # set, not accumulated
        one.evaluate(x)
        one.backward(gradient)
        for parameter, value in zip(one.parameters(), expected):
            close(parameter.grad.numpy(), value.numpy())
    np.testing.assert_array_equal(gradient, kept)


@every_size
def test_gradient_of_the_inputs_against_autograd(sizes):
    one, x = network(sizes), inputs(sizes)
    tensor = torch.from_numpy(x).requires_grad_()
    expected = torch.autograd.grad(one(tensor).sum(), tensor)[0].numpy()
    found = one.input_gradient(x)
    assert found.dtype == np.float32 and found.shape == x.shape and abs(expected).max() > 0.05
    close(found, expected)


def test_backward_is_of_the_batch_last_evaluated():
    """Other calls in between do not change what it remembers; a batch of another size does."""
    sizes = SIZES[0]
    one, reference = network(sizes), network(sizes)
    first, second = inputs(sizes), inputs(sizes, 4, seed=1)
    reference.evaluate(second)
    reference.backward(np.ones((4, 2), np.float32))
    one.evaluate(first)
    one.evaluate(second)
    one.act(first)
    one.input_gradient(first)
    one.backward(np.ones((4, 2), np.float32))
    for parameter, other in zip(one.parameters(), reference.parameters()):
        torch.testing.assert_close(parameter.grad, other.grad)
    assert any(parameter.grad.abs().max() > 0.1 for parameter in one.parameters())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_as_on_the_cpu():
    sizes = SIZES[1]
    cpu, x, gradient = network(sizes), inputs(sizes), np.ones((9, 3), np.float32)
    gpu = copy.deepcopy(cpu).to("cuda")
    np.testing.assert_allclose(gpu.evaluate(x), cpu.evaluate(x), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(gpu.act(x[0]), cpu.act(x[0]), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(gpu.input_gradient(x), cpu.input_gradient(x), rtol=1e-3, atol=1e-4)
    for _ in range(2):
        for one in (cpu, gpu):
            one.evaluate(x)
            one.backward(gradient)
    for a, b in zip(cpu.parameters(), gpu.parameters()):
        np.testing.assert_allclose(b.grad.cpu().numpy(), a.grad.numpy(), rtol=1e-3, atol=1e-3)


# --- initial values --------------------------------------------------------------------------------------------------
def test_first_weights():
    """Hidden layers uniform in +-sqrt(6 / (fan_in + fan_out)), biases too; the last one in +-0.1 / sqrt(fan_in)."""
    sizes = [40, 300, 200, 50]
    first, second, last = (layer for layer in network(sizes, large=False).layers if hasattr(layer, "weight"))
    for layer, fans in ((first, 340), (second, 500)):
        bound = math.sqrt(6 / fans)
        for parameter in (layer.weight, layer.bias):
            values = parameter.detach().numpy().ravel()
            assert kstest(values, "uniform", args=(-bound, 2 * bound)).pvalue > 0.01
    bound = 0.1 / math.sqrt(200)
    assert kstest(last.weight.detach().numpy().ravel(), "uniform", args=(-bound, 2 * bound)).pvalue > 0.01
    assert not last.bias.any()


# --- the parameters' memory ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("double", [False, True])
def test_ten_steps_of_adam_are_pytorchs(double, residual, decay):
    """Of a network and a parameter beside it, on a twin; the decay is part of the gradient.

    double: in the form for GPUs, which is that for other precisions, too.
    """
    sizes = SIZES[1]
    one, reference = network(sizes, residual=residual), network(sizes, residual=residual)
    beside, twin = (torch.nn.Parameter(torch.tensor([1.0, -2.0])) for _ in range(2))
    if double:
        one.double(), reference.double()
    ours = Adam(one, beside, weight_decay=decay)
    theirs = torch.optim.Adam([*reference.parameters(), twin], 0.01, eps=ADAM_EPSILON, weight_decay=decay)
    target = torch.zeros(9, 3)
    start = one.act(inputs(sizes)).copy()
    for seed in range(10):
        x = inputs(sizes, seed=seed)
        error = one.evaluate(x) - target.numpy()
        one.backward(2 * error)
        beside.grad = 2 * beside.detach() * seed
        ours.step(0.01)
        theirs.zero_grad()
        (
            (reference(torch.from_numpy(x).to(next(reference.parameters()))) - target).square().sum()
            + seed * twin.square().sum()
        ).backward()
        theirs.step()
        close(one.act(x), outputs(one, x))
    close(one.act(x), outputs(reference, x))
    torch.testing.assert_close(beside, twin)
    assert abs(one.act(inputs(sizes)) - start).max() > 0.1


def test_loaded_and_averaged_parameters_are_seen():
    sizes = SIZES[0]
    one, other, x = network(sizes), network(sizes, 1), inputs(sizes)
    one.evaluate(x)
    one.load_state_dict(other.state_dict())
    close(one.evaluate(x), outputs(other, x))
    soft_update(list(one.parameters()), list(network(sizes, 2).parameters()), 0.5)
    close(one.evaluate(x), outputs(one, x))
    assert abs(outputs(one, x) - outputs(other, x)).max() > 0.05


def test_parameters_that_move_are_followed():
    """`to` and its like give them other memory."""
    sizes = SIZES[0]
    one, x = network(sizes), inputs(sizes)
    one.evaluate(x)
    one.double()
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.mul_(2)
    close(one.act(x), outputs(one, x))
    one.evaluate(x)
    one.backward(np.ones((9, 2)))
    weighted = one(torch.from_numpy(x).double()).sum()
    for parameter, expected in zip(one.parameters(), torch.autograd.grad(weighted, list(one.parameters()))):
        close(parameter.grad.numpy(), expected.numpy())


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_independent(duplicate, used):
    sizes = SIZES[0]
    one, x = network(sizes), inputs(sizes)
    if used:
        one.evaluate(x)
        one.backward(np.ones((9, 2), np.float32))
    twin = duplicate(one)
    before = outputs(one, x)
    close(twin.evaluate(x), before)
    twin.backward(np.ones((9, 2), np.float32))
    torch.optim.SGD(twin.parameters(), 0.1).step()
    np.testing.assert_array_equal(outputs(one, x), before)
    close(one.evaluate(x), before)
    close(twin.evaluate(x), outputs(twin, x))
    assert abs(outputs(twin, x) - before).max() > 0.1
    one.backward(np.zeros((9, 2), np.float32))
    assert all(parameter.grad.any() for parameter in twin.parameters())


def test_soft_update_by_hand():
    targets, trained = [torch.tensor([1.0, 2.0]), torch.tensor(3.0)], [torch.tensor([11.0, 2.0]), torch.tensor(-1.0)]
    soft_update(targets, trained, 0.25)
    assert targets[0].tolist() == [3.5, 2.0] and targets[1].item() == 2.0
    assert trained[0].tolist() == [11.0, 2.0]


def product(a: float, b: float) -> float:
    """Of float32 numbers, by PyTorch."""
    return float(torch.tensor([a]) * torch.tensor([b]))


def test_subnormals_are_zero_within_and_numbers_again_after_an_error():
    with pytest.raises(KeyError), subnormals_as_zero():
        assert product(1e-20, 1e-20) == 0.0 and product(1e-20, 1e-17) > 0.0
        assert np.float32(1e-20) * np.float32(1e-20) == 0.0
        raise KeyError
    assert product(1e-20, 1e-20) > 0.0
