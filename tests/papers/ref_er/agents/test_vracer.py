"""V-RACER's gradient step against automatic differentiation of the losses written out, and what it leaves in memory."""

from collections.abc import Iterable
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import softplus

from papers.ref_er.agents.advantages import Advantage, Gaussian, Quadratic
from papers.ref_er.agents.racer import RACER
from papers.ref_er.agents.vracer import VRACER
from papers.ref_er.memory.episode import CUT, TERMINATED
from papers.ref_er.memory.memory import EpisodeMemory
from papers.ref_er.refer import RULES, ReFER
from tests.papers.ref_er import conftest
from tests.papers.ref_er.conftest import GAMMA, LENGTHS, N_ACTIONS, N_STATES, SCALE

ADVANTAGES = {"none": None, "quadratic": Quadratic(), "gaussian": Gaussian()}


# --- what this file and those of DDPG and NAF are tested on ----------------------------------------------------------
def filled(**how: Any) -> EpisodeMemory:
    """Where each step has an importance weight of its own."""
    memory = conftest.filled(**how)
    memory.rho[drawable(memory)] = np.random.default_rng(3).uniform(0.2, 2.0, 32).astype(np.float32)
    memory.correct_all()
    return memory


def drawable(memory: EpisodeMemory) -> np.ndarray:
    return np.flatnonzero(memory.steps >= 0)


def refer(replay: str = "refer", beta: float = 0.3, c: float = 1.0) -> ReFER:
    """C = 1: samples are near for 1/2 < rho < 2, so that about half of `filled` is far."""
    return ReFER(*RULES[replay], c=c, beta=beta)


def shaken(*networks: nn.Module, size: float = 0.3, seed: int = 0) -> None:
    """Move all parameters: at first outputs are nearly zero, and so are most gradients."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for network in networks:
            for parameter in network.parameters():
                parameter.add_(size * torch.randn(parameter.shape, generator=generator))


def stored(memory: EpisodeMemory, slots: np.ndarray) -> SimpleNamespace:
    """What the memory has at these steps, as float64 tensors."""
    names = dict(a="actions", mean="means", std="stds", s="states", qret="returns", r="rewards")
    values = {key: torch.from_numpy(getattr(memory, name)[slots].astype(float)) for key, name in names.items()}
    values["following"] = torch.from_numpy(memory.states[slots + 1].astype(float))  # these memories never wrap round
    values["goes_on"] = torch.from_numpy((memory.ends[slots] != TERMINATED).astype(float))
    return SimpleNamespace(**values)


def likelihood(a: Tensor, mean: Tensor, std: Tensor, old_mean: Tensor, old_std: Tensor) -> Tensor:
    """rho, cut at exp(+-7)."""
    ratio = Normal(mean, std).log_prob(a) - Normal(old_mean, old_std).log_prob(a)
    return ratio.sum(-1).clamp(-7, 7).exp().detach()


def near(rho: Tensor, rules: ReFER) -> Tensor:
    """Rule 1's mask; 1 everywhere without it."""
    inside = (rho > 1 / rules.c_max) & (rho < rules.c_max)
    return inside.double() if rules.rule1 else torch.ones_like(rho)


def gradients(parameters: Iterable[nn.Parameter]) -> list[Tensor]:
    """Copies of what the last update has left in the parameters."""
    return [parameter.grad.clone() for parameter in parameters if parameter.grad is not None]


def assert_gradients(parameters: Iterable[nn.Parameter], expected: list[Tensor]) -> None:
    for found, gradient in zip(gradients(parameters), expected, strict=True):
        tolerance = 1e-4 * gradient.abs().max().item() + 1e-7
        torch.testing.assert_close(found.double(), gradient, rtol=1e-4, atol=tolerance)


def random_weights(n: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.1, 1.0, n).astype(np.float32)


# --- the learner -----------------------------------------------------------------------------------------------------
def made(advantage: Advantage | None = None, **settings: Any) -> VRACER:
    if advantage:
        return RACER(N_STATES, N_ACTIONS, advantage=advantage, **settings)
    return VRACER(N_STATES, N_ACTIONS, **settings)


def learner(advantage: Advantage | None = None, still: bool = True, **settings: Any) -> VRACER:
    """still: the optimiser takes no step, so that gradients can be looked at."""
    shape: dict[str, Any] = dict(hidden=(8, 7), lr=1e-3) | settings
    one = made(advantage, **shape)
    shaken(one.network)
    with torch.no_grad():
        one.raw_std.add_(torch.tensor([-0.3, 0.4]))
    if still:
        one.optimizer.step = lambda lr: None  # type: ignore[assignment, misc]
    return one


def parameters(one: VRACER) -> list[nn.Parameter]:
    return [*one.network.parameters(), one.raw_std]


def losses(one: VRACER, memory: EpisodeMemory, slots: np.ndarray, weights: np.ndarray, rules: ReFER) -> SimpleNamespace:
    """Loss to decrease, in float64 from the formulas, with its gradients, and what it is made of."""
    network, raw_std = deepcopy(one.network).double(), one.raw_std.detach().double().requires_grad_()
    d = stored(memory, slots)
    outputs, std = network(d.s), softplus(raw_std)
    value, mean, coefficients = outputs.split([1, N_ACTIONS, outputs.shape[1] - 1 - N_ACTIONS], dim=1)
    value = value[:, 0]
    qret = d.qret.clone()
    for i, slot in enumerate(slots):  # the value of a last state at the time limit is the network's of now
        if memory.ends[slot] == CUT:
            qret[i] = SCALE * d.r[i] + GAMMA * network(d.following[i])[0].detach()
    rho = likelihood(d.a, mean, std, d.mean, d.std)
    log_pi = Normal(mean, std).log_prob(d.a).sum(-1)
    policy = -rho * (qret - value.detach()) * log_pi  # Eq. 5
    q = value.detach()
    advantage = torch.zeros_like(q)
    if isinstance(one, RACER):
        advantage = one.advantage(coefficients, d.a - mean.detach(), std.detach())
    error = qret - q - advantage.detach()
    target = q + rho.clamp(max=1) * error  # Eq. 8
    critic = 0.5 * (target - value).square()  # Eq. 9
    closed_form = -rho.clamp(max=rules.c_max) * error * advantage  # Eq. 23 with one factor rho, cut
    ours, theirs = Normal(mean, std), Normal(d.mean, d.std)
    kl = (kl_divergence(ours, theirs) if one.reverse_kl else kl_divergence(theirs, ours)).sum(-1)  # Eq. 11
    task = near(rho, rules) * (policy + critic + closed_form)
    loss = (torch.from_numpy(weights).double() * (rules.beta * task + (1 - rules.beta) * kl)).mean()  # Eq. 10
    gradients = torch.autograd.grad(loss, [*network.parameters(), raw_std])
    found = dict(value=value, rho=rho, kl=kl, error=error, advantage=advantage, qret=qret)
    return SimpleNamespace(gradients=list(gradients), **{key: v.detach().numpy() for key, v in found.items()})


@pytest.mark.parametrize("replay", RULES)
@pytest.mark.parametrize("reverse_kl", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("advantage", ADVANTAGES)
def test_gradients_are_those_of_the_losses(advantage, reverse_kl, replay):
    one, memory, rules = learner(ADVANTAGES[advantage], reverse_kl=reverse_kl), filled(), refer(replay)
    slots = np.random.default_rng(2).permutation(drawable(memory))
    for weights in (np.ones(len(slots), np.float32), random_weights(len(slots))):
        expected = losses(one, memory, slots, weights, rules)
        far = (expected.rho <= 0.5) | (expected.rho >= 2)
        assert 8 < far.sum() < 24 and rules.beta == (0.3 if rules.rule2 else 1.0)
        errors = one.update(memory, slots, weights, rules, 1.0)
        assert_gradients(parameters(one), expected.gradients)
        np.testing.assert_allclose(errors, expected.error, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(memory.values[slots], expected.value, rtol=1e-4, atol=1e-5)  # far ones, too
        np.testing.assert_allclose(memory.rho[slots], expected.rho, rtol=1e-4)
        if not reverse_kl:  # what is stored is always KL(mu || pi)
            np.testing.assert_allclose(memory.kl[slots], expected.kl, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(memory.advantages[slots], expected.advantage, rtol=1e-4, atol=1e-5)


# --- what stays in the memory ----------------------------------------------------------------------------------------
def starts(memory: EpisodeMemory) -> list[int]:
    return [int(slot) for slot in np.flatnonzero(memory.steps == 0)]


@pytest.mark.parametrize("replay", ["refer", "er"])
@pytest.mark.parametrize("advantage", ADVANTAGES)
def test_what_it_finds_is_stored_and_carried_back(advantage, replay):
    one, memory, rules = learner(ADVANTAGES[advantage]), filled(), refer(replay)
    slots = np.array([5, 2, 10, 15, 21, 30])  # in each episode but the second, which is in slots 7 and 8
    slots = slots[memory.steps[slots] >= 0]
    assert len(slots) == 6 and {*(slots - memory.steps[slots])} == {*starts(memory)} - {7}
    before = deepcopy(memory)
    one.update(memory, slots, np.ones(6, np.float32), rules, 1.0)
    others = np.setdiff1d(np.arange(len(memory.rho)), slots)
    for name in ("values", "rho", "kl", "advantages"):
        np.testing.assert_array_equal(getattr(memory, name)[others], getattr(before, name)[others])
    for first, length in zip(starts(memory), LENGTHS):
        drawn = memory.steps[slots[(slots >= first) & (slots < first + length)]]
        latest = first + (drawn.max() if len(drawn) else 0)
        unchanged = slice(latest, first + length + 1)
        np.testing.assert_array_equal(memory.returns[unchanged], before.returns[unchanged])
        for slot in range(first, latest):
            nxt = slot + 1
            q = memory.values[nxt] + memory.advantages[nxt]
            target = memory.values[nxt] + min(1.0, memory.rho[nxt]) * (memory.returns[nxt] - q)  # Eqs. 7, 8
            assert memory.returns[slot] == pytest.approx(SCALE * memory.rewards[slot] + GAMMA * target, abs=1e-5)
    assert (abs(memory.returns - before.returns) > 0.01).sum() > 3


# --- policy and steps ------------------------------------------------------------------------------------------------
def test_the_deviation_is_a_parameter_shared_by_all_states():
    one = VRACER(N_STATES, N_ACTIONS)
    np.testing.assert_allclose(one.std, [0.2**0.5] * N_ACTIONS, rtol=1e-6)  # variance 0.2
    assert one.std.dtype == np.float32 and one.raw_std.shape == (N_ACTIONS,)
    np.testing.assert_allclose(VRACER(N_STATES, N_ACTIONS, std=1.7).std, 1.7, rtol=1e-6)
    one = learner()
    states = np.random.default_rng(0).standard_normal((20, N_STATES)).astype(np.float32)
    found = [one.act(state) for state in states]
    with torch.no_grad():
        outputs = one.network(torch.from_numpy(states)).numpy()
    np.testing.assert_allclose([mean for mean, _, _ in found], outputs[:, 1:3], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose([value for _, _, value in found], outputs[:, 0], rtol=1e-4, atol=1e-5)
    for _, std, _ in found:
        np.testing.assert_array_equal(std, one.std)


@pytest.mark.parametrize("advantage", ADVANTAGES)
def test_outputs_are_near_zero_at_first_and_coefficients_near_their_biases(advantage):
    kind = ADVANTAGES[advantage]
    one = made(kind)
    outputs = one.network.act(np.random.default_rng(0).standard_normal((50, N_STATES)).astype(np.float32))
    biases = [0.0] * 3 + (kind.initial_biases(N_ACTIONS) if kind else [])
    assert outputs.shape == (50, len(biases)) and abs(outputs - biases).max() < 0.5


@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_the_step_is_adams_with_the_annealed_learning_rate(factor):
    """The first step of Adam by hand: lr g / (|g| + eps)."""
    one, memory = learner(still=False, lr=0.01), filled()
    before = [parameter.detach().clone() for parameter in parameters(one)]
    one.update(memory, drawable(memory), np.ones(32, np.float32), refer(), factor)
    for old, parameter, g in zip(before, parameters(one), gradients(parameters(one)), strict=True):
        step = 0.01 * factor * g / (g.abs() + 1.2e-7)
        torch.testing.assert_close(parameter.detach(), old - step, rtol=1e-3, atol=1e-6)
        assert not torch.equal(parameter.detach(), old)
    taken: list[float] = []
    one.optimizer.step = taken.append  # type: ignore[method-assign]
    one.update(memory, drawable(memory), np.ones(32, np.float32), refer(), 0.5)
    assert taken == pytest.approx([0.005]), "factors do not add up"


def test_a_penalty_alone_brings_the_policy_back_to_the_behaviour():
    """beta = 0: after some steps the divergence from a constant behaviour is gone, whatever was gained."""
    one, memory = learner(still=False, lr=0.01), filled(std=0.3)
    slots = drawable(memory)
    memory.means[slots] = [0.5, -0.2]
    found = []
    for _ in range(400):
        one.update(memory, slots, np.ones(32, np.float32), refer(beta=0.0), 1.0)
        found.append(memory.kl[slots].mean())
    assert found[0] > 0.5 and found[-1] < 0.02
    np.testing.assert_allclose(one.std, 0.3, rtol=0.1)
