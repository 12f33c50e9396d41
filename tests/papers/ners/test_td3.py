"""TD3 against a plain second implementation and by hand: noisy targets, weighted losses, delay, acting."""

import copy
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from papers.ners.batch import Batch
from papers.ners.td3 import TD3

N_STATES, N_ACTIONS = 3, 2


def agent(**changes) -> TD3:
    return TD3(N_STATES, N_ACTIONS, **(dict(hidden=(16, 8), seed=1) | changes))  # type: ignore[arg-type]


def batch(n: int = 5, seed: int = 0) -> Batch:
    g = torch.Generator().manual_seed(seed)
    return Batch(
        torch.randn(n, N_STATES, generator=g), 2 * torch.rand(n, N_ACTIONS, generator=g) - 1,
        torch.randn(n, generator=g), torch.randn(n, N_STATES, generator=g), (torch.arange(n) % 3 == 2).float(),
        0.2 + 0.8 * torch.rand(n, generator=g),
    )  # fmt: skip


def coming_noise(td3: TD3, n: int) -> Tensor:
    """The standard normal numbers that the agent is about to draw."""
    g = torch.Generator()
    g.set_state(td3.noise.get_state())
    return torch.randn((n, N_ACTIONS), generator=g)


def action_is(network: torch.nn.Module, before_tanh: list[float]) -> None:
    """Let an actor give the same in every state."""
    with torch.no_grad():
        *others, bias = network.parameters()
        for parameter in others:
            parameter.zero_()
        bias.copy_(torch.tensor(before_tanh))


def reference_critic(parameters: list[Tensor], k: int, state: Tensor, action: Tensor) -> Tensor:
    x = torch.cat([state, action], dim=1)
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i][k] + parameters[i + 1][k]
        x = x.relu() if i < len(parameters) - 2 else x
    return x.squeeze(1)


# --- acting -----------------------------------------------------------------------------------------------------------


def test_acting_in_numpy_equals_torch():
    td3 = agent(action_noise=0.3)
    for k in range(5):
        state = torch.randn(N_STATES, generator=torch.Generator().manual_seed(k))
        plain = torch.tanh(td3.actor(state[None]))[0].detach().numpy()
        np.testing.assert_allclose(td3.act(state.numpy()), plain, rtol=1e-5, atol=1e-6)
        noise = np.random.default_rng(k).standard_normal(N_ACTIONS, np.float32)
        drawn = td3.act(state.numpy(), np.random.default_rng(k))
        np.testing.assert_allclose(drawn, np.clip(plain + 0.3 * noise, -1, 1), rtol=1e-5, atol=1e-6)
        assert drawn.dtype == np.float32


def test_actions_stay_in_range_and_have_the_noise_asked_for():
    td3, rng, state = agent(), np.random.default_rng(0), np.zeros(N_STATES, np.float32)
    action_is(td3.actor, [0.0, 9.0])
    actions = np.array([td3.act(state, rng) for _ in range(4000)])
    assert actions[:, 0].std() == pytest.approx(0.1, rel=0.05) and actions[:, 0].mean() == pytest.approx(0, abs=0.01)
    assert actions[:, 1].max() == 1.0 and (actions[:, 1] == 1.0).mean() == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(td3.act(state), np.tanh([0.0, 9.0]))


# --- losses -----------------------------------------------------------------------------------------------------------


def test_targets_by_hand():
    """y = r + gamma min of both at the target actor's noisy action, and r alone after a termination."""
    td3, b = agent(gamma=0.9, target_noise=0.4, noise_clip=0.3), batch(9)
    with torch.no_grad():
        for k, parameter in enumerate(td3.averaged):
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(k)))
    noise = coming_noise(td3, 9)
    y = td3.targets(b)
    assert not y.requires_grad
    for i in range(9):
        action = torch.tanh(td3.target_actor(b.next_state[i : i + 1]))[0].tolist()
        noisy = [min(max(a + min(max(0.4 * e, -0.3), 0.3), -1), 1) for a, e in zip(action, noise[i].tolist())]
        q = [
            reference_critic(list(td3.target.parameters()), k, b.next_state[i : i + 1], torch.tensor([noisy])).item()
            for k in range(2)
        ]
        wanted = b.reward[i].item() + (0.0 if b.terminal[i] else 0.9 * min(q))
        assert y[i].item() == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    assert (0.4 * noise.abs() > 0.3).any() and (0.4 * noise.abs() < 0.3).any()
    assert torch.equal(y[2::3], b.reward[2::3])


def test_the_noise_of_targets_is_clipped_and_so_is_the_action():
    """With Q'(s, a) = a_0 the target shows the action."""
    td3, b = agent(gamma=1.0), batch(2000)
    for before_tanh, low, high in ((0.0, -0.5, 0.5), (9.0, 0.5, 1.0)):
        action_is(td3.target_actor, [before_tanh, 0.0])
        td3.target.forward = lambda state, action: action[:, 0].expand(2, -1)  # type: ignore[method-assign]
        seen = (td3.targets(b) - b.reward)[b.terminal == 0]
        assert seen.min().item() == pytest.approx(low, abs=1e-4 if low == -0.5 else 0.1)
        assert seen.max().item() == pytest.approx(high, abs=1e-4)
        if before_tanh == 0.0:  # 0.5 is 2.5 deviations of 0.2
            assert seen.std().item() == pytest.approx(0.197, abs=0.015)


def test_the_critic_loss_by_hand():
    td3, b = agent(), batch(4)
    y = torch.tensor([1.0, -1.0, 0.5, 2.0])
    loss, q = td3.critic_loss(b, y)
    theirs = [reference_critic(td3.critic_parameters, k, b.state, b.action).tolist() for k in range(2)]
    wanted = sum(b.weight[i].item() * (y[i].item() - theirs[k][i]) ** 2 for i in range(4) for k in range(2)) / 4
    assert loss.item() == pytest.approx(wanted, rel=1e-5)
    torch.testing.assert_close(q, torch.tensor(theirs))


def test_the_actor_follows_the_first_critic():
    td3, b = agent(), batch(4)
    first = reference_critic(td3.critic_parameters, 0, b.state, torch.tanh(td3.actor(b.state)))
    wanted = -(b.weight * first).sum() / 4
    loss = td3.actor_loss(b)
    torch.testing.assert_close(loss, wanted)
    gradients = [torch.autograd.grad(x, td3.actor_parameters, retain_graph=True) for x in (loss, wanted)]
    for x, y in zip(*gradients):
        torch.testing.assert_close(x, y)
    with torch.no_grad():
        for parameter in td3.critic_parameters:
            parameter[1] += 1.0
    torch.testing.assert_close(td3.actor_loss(b), wanted)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 4), st.integers(0, 100))
def test_a_double_weight_is_a_duplicate(index, seed):
    """In the sums over transitions of both losses."""
    td3, b = agent(seed=seed), batch(5, seed)
    doubled = b._replace(weight=b.weight * torch.where(torch.arange(5) == index, 2.0, 1.0))
    longer = Batch(*(torch.cat([x, x[index : index + 1]]) for x in b))
    for loss, parameters in (
        (lambda x: td3.critic_loss(x, 2 * x.reward)[0], td3.critic_parameters),
        (td3.actor_loss, td3.actor_parameters),
    ):
        one, two, plain = loss(doubled) * 5, loss(longer) * 6, loss(b) * 5  # type: ignore[operator]
        torch.testing.assert_close(one, two)
        assert not torch.equal(one, plain)
        for x, y in zip(torch.autograd.grad(one, parameters), torch.autograd.grad(two, parameters)):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)


# --- an update --------------------------------------------------------------------------------------------------------


class Plain:
    """TD3's update written out: whole backward passes, plain Adams, one critic at a time."""

    def __init__(self, td3: TD3, lr: float):
        self.td3, self.count = copy.deepcopy(td3), 0
        self.critics, self.actor = list(self.td3.critics.parameters()), list(self.td3.actor.parameters())
        self.adams = [torch.optim.Adam(p, lr=lr) for p in (self.critics, self.actor)]

    def step(self, loss: Tensor, adam: torch.optim.Optimizer) -> None:
        for each in self.adams:
            each.zero_grad()
        loss.backward()
        adam.step()

    def update(self, b: Batch, noise: Tensor) -> tuple[Tensor, list[Tensor]]:
        td3, target = self.td3, list(self.td3.target.parameters())
        with torch.no_grad():
            clipped = torch.clip(td3.target_noise * noise, -td3.noise_clip, td3.noise_clip)
            action = torch.clip(td3.target_actor(b.next_state).tanh() + clipped, -1, 1)
            q = torch.minimum(*(reference_critic(target, k, b.next_state, action) for k in range(2)))
            y = b.reward + td3.gamma * (1 - b.terminal) * q
        q12 = [reference_critic(self.critics, k, b.state, b.action) for k in range(2)]
        self.step(sum((b.weight * (q - y) ** 2).mean() for q in q12), self.adams[0])  # type: ignore[arg-type]
        self.count += 1
        if self.count % td3.policy_delay == 0:
            q = reference_critic(self.critics, 0, b.state, td3.actor(b.state).tanh())
            self.step(-(b.weight * q).mean(), self.adams[1])
        with torch.no_grad():
            pairs = [*zip(target, self.critics), *zip(td3.target_actor.parameters(), self.actor)]
            for slow, fast in pairs:
                slow.copy_((1 - td3.tau) * slow + td3.tau * fast)
        return y, [q.detach() for q in q12]


@pytest.mark.parametrize("delay", [1, 2, 3])
def test_updates_equal_a_plain_second_implementation(delay):
    td3 = agent(lr=0.01, tau=0.1, gamma=0.9, policy_delay=delay)
    plain = Plain(td3, lr=0.01)
    for k in range(6):
        b, noise = batch(7, k), coming_noise(td3, 7)
        told = td3.update(b)
        y, (q1, q2) = plain.update(b, noise)
        for name in ("actor", "critics", "target", "target_actor"):
            for x, z in zip(getattr(td3, name).parameters(), getattr(plain.td3, name).parameters()):
                torch.testing.assert_close(x, z, rtol=1e-4, atol=1e-5)
        wanted = ((y - q1).abs() + (y - q2).abs()) / 2, ((y - q1) ** 2 + (y - q2) ** 2) / 2, y, (q1 + q2) / 2
        for x, z in zip(told, wanted):
            np.testing.assert_allclose(x, z.numpy(), rtol=1e-3, atol=1e-4)


def test_the_actor_learns_every_second_time_and_targets_follow_every_time():
    td3 = agent(tau=0.25)
    for k in range(6):
        actor = [p.clone() for p in td3.actor.parameters()]
        critics = [p.clone() for p in td3.critics.parameters()]
        slow = [p.clone() for p in td3.averaged]
        td3.update(batch(seed=k))
        learnt = [not torch.equal(p, q) for p, q in zip(actor, td3.actor.parameters())]
        assert learnt == [k % 2 == 1] * len(actor)
        assert not any(torch.equal(p, q) for p, q in zip(critics, td3.critics.parameters()))
        for start, now, fast in zip(slow, td3.averaged, td3.online):
            torch.testing.assert_close(now, 0.75 * start + 0.25 * fast)
    for online, target in ((td3.actor, td3.target_actor), (td3.critics, td3.target)):
        names = [name for name, _ in online.named_parameters()]
        assert len(names) == 6 and names == [name for name, _ in target.named_parameters()]


def test_targets_start_equal():
    td3 = agent()
    assert all(torch.equal(slow, fast) for slow, fast in zip(td3.averaged, td3.online, strict=True))


def test_each_step_changes_its_own_network_only():
    td3, b = agent(policy_delay=1), batch()
    y = td3.targets(b)
    wanted = torch.autograd.grad(td3.critic_loss(b, y)[0], td3.critic_parameters)
    td3.targets = lambda _: y  # type: ignore[method-assign, assignment]
    td3.update(b)
    for parameter, gradient in zip(td3.critic_parameters, wanted):  # the actor's step has left them alone
        torch.testing.assert_close(parameter.grad, gradient)
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in td3.averaged)


# --- seeds, pickles, defaults -----------------------------------------------------------------------------------------


def test_one_seed_one_agent():
    state = torch.get_rng_state()
    one, two, other = agent(), agent(), agent(seed=2)
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's numbers are shifted
    for k in range(2):
        for each in (one, two, other):
            each.update(batch(seed=k))
    for name, value in one.weights().items():
        assert torch.equal(value, two.weights()[name]) and not torch.equal(value, other.weights()[name])


def test_a_pickled_agent_goes_on_identically_and_alone():
    """After an odd number of updates, so that the delay has to be remembered."""
    td3 = agent()
    td3.update(batch(seed=0))
    twin: TD3 = pickle.loads(pickle.dumps(td3))
    for k in range(1, 4):
        ours = td3.update(batch(seed=k))
        theirs = twin.update(batch(seed=k))
        for x, y in zip(ours, theirs):
            np.testing.assert_array_equal(x, y)
    for name in ("actor", "critics", "target", "target_actor"):
        for x, y in zip(getattr(td3, name).parameters(), getattr(twin, name).parameters()):
            assert torch.equal(x, y) and x.data_ptr() != y.data_ptr()
    before = [parameter.clone() for parameter in td3.target_actor.parameters()]
    twin.update(batch(seed=9))
    for x, y, z in zip(td3.target_actor.parameters(), before, twin.target_actor.parameters()):
        assert torch.equal(x, y) and not torch.equal(x, z)


def test_defaults_are_the_papers():
    """But for the learning rate: the printed 5e-3 is replaced by 1e-3."""
    td3 = TD3(4, 3)
    assert (td3.gamma, td3.tau, td3.policy_delay) == (0.99, 5e-3, 2)
    assert (td3.action_noise, td3.target_noise, td3.noise_clip) == (0.1, 0.2, 0.5)
    assert [len(bias) for bias in list(td3.actor.parameters())[1::2]] == [256, 256, 3]
    assert [bias.shape[-1] for bias in td3.critic_parameters[1::2]] == [256, 256, 1]
    assert {adam.param_groups[0]["lr"] for adam in (td3.actor_adam, td3.critic_adam)} == {1e-3}
