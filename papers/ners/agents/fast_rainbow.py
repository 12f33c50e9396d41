"""The update of `rainbow.py` as a numba kernel, for the CPU: the same numbers in two thirds of the time.

`rainbow.py` is the form to read. Here the parameters of a network are one flat vector, and its noise is another, of
which the networks of `Rainbow` are views: it acts, and shows what it has learnt, as `Rainbow` does. Under noise, each
head is a plain network of one hidden layer, whose vector is built once per update and noise.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from common.replay.frames import Batch
from common.twins import Twin, checked, flattened, moments
from papers.ners.agents.rainbow import Convolutions, Network, Rainbow, inputs

kernel = njit_calling(k, **k.OPTIONS)
SIZE = Convolutions.size


class Work(NamedTuple):
    """Buffers of an update with n transitions, float32."""

    outputs: tuple[np.ndarray, np.ndarray, np.ndarray]
    """Of the convolutions, [n * places, channels] each, and between them the squares that the second sees."""
    grads: tuple[np.ndarray, np.ndarray, np.ndarray]
    """Gradients for them."""
    head_outputs: tuple[np.ndarray, np.ndarray]
    """Of all layers of the heads, value first, see `mlp_outputs`."""
    head_grads: tuple[np.ndarray, np.ndarray]
    heads: tuple[np.ndarray, np.ndarray]
    """Parameters of the heads of the online network under noise, [p] each."""
    target_heads: tuple[np.ndarray, np.ndarray]
    grad_heads: tuple[np.ndarray, np.ndarray]
    grad_features: np.ndarray
    """[n, n_features]"""
    gradient: np.ndarray
    """Of all parameters of the online network [p]."""
    best: np.ndarray
    """Next actions, int64 [n]."""
    mean: np.ndarray
    """What the logits of all actions in a state have in common [atoms]."""
    row: np.ndarray
    """Logits or probabilities of one distribution [atoms]."""
    target: np.ndarray
    """Target distributions [n, atoms]."""
    signals: np.ndarray
    """Cross entropies, values, and expectations of the targets [3, n]."""


def buffers(n: int, places: tuple[int, int], network: Network) -> Work:
    """Buffers for batches of n transitions, with so many places of both convolutions."""
    convolutions, sizes = network.convolutions, sizes_of(network)
    wide = [layer.out_features for layer in (convolutions.first, convolutions.second)]
    middle, atoms = convolutions.second.in_features, network.n_atoms

    def made(*shapes: Any) -> Any:
        return tuple(np.zeros(shape, np.float32) for shape in shapes)

    of_layers = (n * places[0], wide[0]), (n * places[1], middle), (n * places[1], wide[1])
    of_heads = [n * sum(size[1:]) for size in sizes]
    heads = [k.n_parameters(size) for size in sizes]
    features, gradient = made((n, convolutions.n_features), sum(p.numel() for p in network.parameters()))
    mean, row, target, signals = made(atoms, atoms, (n, atoms), (3, n))
    return Work(
        made(*of_layers), made(*of_layers), made(*of_heads), made(*of_heads), made(*heads), made(*heads), made(*heads),
        features, gradient, np.zeros(n, np.int64), mean, row, target, signals,
    )  # fmt: skip


def sizes_of(network: Network) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Of the layers of both heads, value first."""
    n_features, hidden = network.convolutions.n_features, network.value_hidden.mu.out_features
    atoms = network.n_atoms
    return (n_features, hidden, atoms), (n_features, hidden, network.n_actions * atoms)


@kernel
def layer_views(vector, start, n_in, n_out):
    """Weight [n_out, n_in] and bias [n_out] that begin at vector[start], and where the next ones begin."""
    end = start + n_out * n_in
    return k.matrix(vector, start, n_out, n_in), vector[end : end + n_out], end + n_out


@kernel
def under_noise(parameters, start, noise, at, sizes, head):
    """Fills `head` with mu + sigma * noise of its layers, whose mu and sigma begin at parameters[start], and whose
    noise of inputs and outputs begins at noise[at]. Returns where the next ones begin."""
    filled = 0
    for layer in range(2):
        n_in, n_out = sizes[layer], sizes[layer + 1]
        mu, mu_bias, start = layer_views(parameters, start, n_in, n_out)
        sigma, sigma_bias, start = layer_views(parameters, start, n_in, n_out)
        weight, bias, filled = layer_views(head, filled, n_in, n_out)
        noise_in, noise_out = noise[at : at + n_in], noise[at + n_in : at + n_in + n_out]
        for i in range(n_out):
            scale = noise_out[i]
            for j in range(n_in):
                weight[i, j] = mu[i, j] + sigma[i, j] * (scale * noise_in[j])
            bias[i] = mu_bias[i] + sigma_bias[i] * scale
        at += n_in + n_out
    return start, at


@kernel
def noise_backward(grad_head, start, noise, at, sizes, gradient):
    """Gradients of mu and sigma, into `gradient` [p], from those of the parameters that `under_noise` has filled."""
    filled = 0
    for layer in range(2):
        n_in, n_out = sizes[layer], sizes[layer + 1]
        mu, mu_bias, start = layer_views(gradient, start, n_in, n_out)
        sigma, sigma_bias, start = layer_views(gradient, start, n_in, n_out)
        weight, bias, filled = layer_views(grad_head, filled, n_in, n_out)
        noise_in, noise_out = noise[at : at + n_in], noise[at + n_in : at + n_in + n_out]
        for i in range(n_out):
            scale = noise_out[i]
            for j in range(n_in):
                mu[i, j] = weight[i, j]
                sigma[i, j] = weight[i, j] * (scale * noise_in[j])
            mu_bias[i] = bias[i]
            sigma_bias[i] = bias[i] * scale
        at += n_in + n_out
    return start, at


@kernel
def convolution_layers(parameters, channels):
    """Views of weight and bias of the first and the second convolution, and where the heads begin."""
    n_in, first, second = channels
    weight, bias, start = layer_views(parameters, 0, n_in, first)
    second_weight, second_bias, start = layer_views(parameters, start, first * SIZE * SIZE, second)
    return weight, bias, second_weight, second_bias, start


@kernel
def squares(maps, side, squared, backward):
    """`patches` of the first convolution's outputs [n * side[0] * side[1], channels] as `squared` [n * rows * columns,
    size * size * channels]; `backward`: the other way round, where what belongs to no square becomes 0."""
    height, width = side
    channels = maps.shape[1]
    rows, columns, run = height // SIZE, width // SIZE, SIZE * channels
    if backward:
        maps[:] = k.ZERO
    for place in range(squared.shape[0]):
        i, row, column = place // (rows * columns), place // columns % rows, place % columns
        for step in range(SIZE):
            first = (i * height + row * SIZE + step) * width + column * SIZE
            for pixel in range(SIZE):
                for j in range(channels):
                    if backward:
                        maps[first + pixel, j] = squared[place, step * run + pixel * channels + j]
                    else:
                        squared[place, step * run + pixel * channels + j] = maps[first + pixel, j]


@kernel
def forward(x, parameters, heads, channels, side, sizes, work):
    """`Network.forward` but for its last lines: fills the outputs of all layers for the inputs x [n * places, n_in]."""
    weight, bias, second_weight, second_bias, _ = convolution_layers(parameters, channels)
    maps, squared, features = work.outputs
    k.linear_relu(x, weight, bias, maps)
    squares(maps, side, squared, False)
    k.linear_relu(squared, second_weight, second_bias, features)
    n = work.best.size
    flat = features.reshape(n, sizes[0][0])
    for h in range(2):
        k.mlp_forward(flat, heads[h], sizes[h], work.head_outputs[h])


@kernel
def mean_logits(i, n_actions, sizes, work):
    """Fills work.mean with what all actions in the i-th state have in common: value less the mean advantage."""
    n, atoms = work.best.size, work.mean.size
    value = k.mlp_outputs(work.head_outputs[0], n, sizes[0], 1)
    advantage = k.mlp_outputs(work.head_outputs[1], n, sizes[1], 1)
    share = k.ONE / np.float32(n_actions)
    work.mean[:] = k.ZERO
    for a in range(n_actions):
        for j in range(atoms):
            work.mean[j] += advantage[i, a * atoms + j]
    for j in range(atoms):
        work.mean[j] = value[i, j] - share * work.mean[j]


@kernel
def logits(i, action, sizes, work):
    """Fills work.row with the logits of an action in the i-th state, after `mean_logits`: Network.forward's last."""
    atoms = work.row.size
    advantage = k.mlp_outputs(work.head_outputs[1], work.best.size, sizes[1], 1)
    for j in range(atoms):
        work.row[j] = work.mean[j] + advantage[i, action * atoms + j]


@kernel
def softmax(row):
    """row becomes its softmax; returns the logarithm of the sum of the exponentials of what it was."""
    largest, total = row[0], k.ZERO
    for j in range(row.size):
        largest = max(largest, row[j])
    for j in range(row.size):
        row[j] = math.exp(row[j] - largest)
        total += row[j]
    for j in range(row.size):
        row[j] /= total
    return largest + math.log(total)


@kernel
def project(probabilities, reward, discount, support, target):
    """`rainbow.project` of one distribution [m], whose atoms reward and discount have moved, into target [m]."""
    m = support.size
    first, last = support[0], support[m - 1]
    target[:] = k.ZERO
    for j in range(m):
        atom = reward + discount * support[j]
        place = (min(max(atom, first), last) - first) / (last - first) * np.float32(m - 1)
        if atom != atom:  # not a number, and no place
            target[:] = atom
            return
        low = min(int(place), m - 2)
        share = place - np.float32(low)
        target[low] += probabilities[j] * (k.ONE - share)
        target[low + 1] += probabilities[j] * share


@kernel
def cross_entropy(i, action, weight, support, n_actions, sizes, work):
    """Of the i-th target and the logits in work.row: its signals, and the gradients of what the heads gave."""
    n, atoms = work.best.size, support.size
    grad_value = k.mlp_outputs(work.head_grads[0], n, sizes[0], 1)
    grad_advantage = k.mlp_outputs(work.head_grads[1], n, sizes[1], 1)
    share = k.ONE / np.float32(n_actions)
    total = entropy = expected = wanted = k.ZERO
    for j in range(atoms):
        total += work.target[i, j]
        entropy -= work.target[i, j] * work.row[j]
    entropy += total * softmax(work.row)
    for j in range(atoms):
        expected += work.row[j] * support[j]
        wanted += work.target[i, j] * support[j]
        slope = weight * (total * work.row[j] - work.target[i, j])
        grad_value[i, j] = slope
        for a in range(n_actions):
            grad_advantage[i, a * atoms + j] = -share * slope
        grad_advantage[i, action * atoms + j] += slope
    work.signals[0, i], work.signals[1, i], work.signals[2, i] = entropy, expected, wanted


@kernel
def update(
    x, x_next, batch, weights, support, online, target, noises, moments, shapes, step, lr, epsilon, max_gradient, work
):
    """`Rainbow.update` number `step`, from 1 on; leaves the signals in `work`.

    x, x_next: `inputs` of states and next states. batch: actions, rewards, discounts, [n] each. online, target,
    moments: parameters [p], those of the target network, Adam's. noises: of both networks. shapes: channels of the
    inputs and of both convolutions, sides of the first one's outputs, number of actions, sizes of the heads.
    """
    action, reward, discount = batch
    channels, side, n_actions, sizes = shapes
    n, atoms = action.size, support.size
    share = k.ONE / np.float32(n)
    _, _, _, _, start = convolution_layers(online, channels)
    for heads, parameters, noise in ((work.heads, online, noises[0]), (work.target_heads, target, noises[1])):
        begin, at = start, 0
        for h in range(2):
            begin, at = under_noise(parameters, begin, noise, at, sizes[h], heads[h])

    # Each kernel is compiled anew wherever it is called: hence one call of `forward` for all three passes.
    for turn, (seen, parameters, heads) in enumerate(
        ((x_next, online, work.heads), (x_next, target, work.target_heads), (x, online, work.heads))
    ):
        forward(seen, parameters, heads, channels, side, sizes, work)
        for i in range(n):
            mean_logits(i, n_actions, sizes, work)
            if turn == 0:  # Rainbow.targets: which action is best
                highest = np.float32(-np.inf)
                work.best[i] = 0
                for a in range(n_actions):
                    q = k.ZERO
                    logits(i, a, sizes, work)
                    softmax(work.row)
                    for j in range(atoms):
                        q += work.row[j] * support[j]
                    if q > highest:
                        highest, work.best[i] = q, a
            elif turn == 1:  # Rainbow.targets: the distribution of its return
                logits(i, work.best[i], sizes, work)
                softmax(work.row)
                project(work.row, reward[i], discount[i], support, work.target[i])
            else:
                logits(i, action[i], sizes, work)
                cross_entropy(i, action[i], share * weights[i], support, n_actions, sizes, work)

    # back through the network
    maps, squared, features = work.outputs
    grad_maps, grad_squared, grad_out = work.grads
    flat, grad_flat = features.reshape(n, sizes[0][0]), grad_out.reshape(n, sizes[0][0])
    begin, at = start, 0
    for h in range(2):
        k.mlp_backward(flat, work.heads[h], sizes[h], work.head_outputs[h], work.head_grads[h], work.grad_heads[h])
        begin, at = noise_backward(work.grad_heads[h], begin, noises[0], at, sizes[h], work.gradient)
        weight, _ = k.mlp_layer(work.heads[h], sizes[h], 0)
        k.linear_backward_inputs(k.mlp_outputs(work.head_grads[h], n, sizes[h], 0), weight, work.grad_features)
        for i in range(n):
            for j in range(sizes[0][0]):
                grad_flat[i, j] = work.grad_features[i, j] + (k.ZERO if h == 0 else grad_flat[i, j])
    k.relu_backward(grad_out, features)
    _, _, second_weight, _, _ = convolution_layers(online, channels)
    grad_weight, grad_bias, grad_second, grad_second_bias, _ = convolution_layers(work.gradient, channels)
    k.linear_backward(grad_out, squared, grad_second, grad_second_bias)
    k.linear_backward_inputs(grad_out, second_weight, grad_squared)
    squares(grad_maps, side, grad_squared, True)
    k.relu_backward(grad_maps, maps)
    k.linear_backward(grad_maps, x, grad_weight, grad_bias)
    k.clip_norm(work.gradient, max_gradient)
    k.adam(online, work.gradient, moments[0], moments[1], step, lr, epsilon)


class FastRainbow(Twin, Rainbow):
    """`Rainbow` for the CPU, with the same arguments."""

    kept: ClassVar = ("updates", "generator")

    def __init__(self, n_actions: int, **settings: Any):
        """ValueError for a device other than the CPU."""
        super().__init__(n_actions, **settings)
        self.lr, self.adam_epsilon = (self.adam.defaults[name] for name in ("lr", "eps"))
        del self.adam  # its moments are here:
        networks = self.online, self.target
        self._online, self._target = (flattened([*network.parameters()]) for network in networks)
        self._noises = tuple(flattened([*network.buffers()]) for network in networks)
        [self._moments] = moments(self._online)
        self.vectors = self._online, self._target, *self._noises, self._moments
        self._work: Work | None = None

    def update(self, batch: Batch, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `Rainbow.update`. ValueError for arrays whose shapes are not those of a batch."""
        n, x, following = len(batch.action), inputs(batch.state).numpy(), inputs(batch.next_state).numpy()
        _, height, width, n_in = x.shape
        numbers = (batch.reward.numpy(), batch.discount.numpy(), np.asarray(weights), x, following)
        shape = (n, height, width, self.online.convolutions.first.in_features)
        reward, discount, weights, x, following = checked(numbers, [(n,), (n,), (n,), shape, shape])
        action = np.ascontiguousarray(batch.action.numpy(), np.int64)
        if action.shape != (n,) or action.min() < 0 or action.max() >= self.online.n_actions:
            raise ValueError(f"actions [n] must lie from 0 to {self.online.n_actions - 1}")
        convolutions = self.online.convolutions
        places = height * width, (height // SIZE) * (width // SIZE)
        if places[1] * convolutions.second.out_features != convolutions.n_features:
            raise ValueError(f"states of {height} x {width} squares do not fit the heads of the network")
        if self._work is None or (len(self._work.outputs[0]), len(self._work.best)) != (n * places[0], n):
            self._work = buffers(n, places, self.online)
        channels = n_in, convolutions.first.out_features, convolutions.second.out_features
        shapes = channels, (height, width), self.online.n_actions, sizes_of(self.online)
        self.target.resample(self.generator)
        self.updates += 1
        update(
            x.reshape(-1, n_in), following.reshape(-1, n_in), (action, reward, discount), weights,
            self.support.numpy(), self._online, self._target, self._noises, self._moments, shapes, self.updates,
            self.lr, self.adam_epsilon, self.max_gradient, self._work,
        )  # fmt: skip
        td, q, value = self._work.signals.copy()
        return td, q, value
