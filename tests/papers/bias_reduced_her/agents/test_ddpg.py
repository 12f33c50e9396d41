"""The agent: networks, targets and updates by hand, acting by frequencies, and a task of one step that it learns."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from papers.bias_reduced_her.agents.ddpg import DDPG, Batch, Critic

N, INPUTS, A = 32, 7, 3  # rows of a batch, inputs, actions


def batch(seed: int = 0, n: int = N, *, reward: float | None = None, terminal: float | None = None) -> Batch:
    g = torch.Generator().manual_seed(seed)
    inputs, action, next_inputs = (torch.randn(n, i, generator=g) for i in (INPUTS, A, INPUTS))
    rewards = torch.randint(-1, 1, (n,), generator=g).float()
    ends = torch.randint(0, 2, (n,), generator=g).float()
    return Batch(
        inputs, action.clamp(-1, 1), rewards if reward is None else torch.full((n,), reward), next_inputs,
        ends if terminal is None else torch.full((n,), terminal),
    )  # fmt: skip


def arrays(b: Batch) -> Batch:
    return Batch(*(value.numpy() for value in b))


def update(agent: DDPG, b: Batch, weights: Tensor | None = None) -> tuple[float, np.ndarray]:
    return agent.update(arrays(b), (torch.ones(len(b.reward)) if weights is None else weights).numpy())


def state(network: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in network.state_dict().items()}


def same(network: nn.Module, before: dict[str, Tensor]) -> bool:
    return all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def trained(updates: int = 20, **settings) -> DDPG:
    """An agent whose networks and targets differ and whose running averages have moved."""
    agent = DDPG(INPUTS, A, **settings)
    for seed in range(updates):
        update(agent, batch(seed))
        agent.average_targets()
    return agent


# --- networks --------------------------------------------------------------------------------------------------------
def by_hand(critic: Critic, b: Batch, learning: bool) -> np.ndarray:
    """The critic in float64 NumPy: normalise the input, then linear, normalise, ReLU three times, then linear."""

    def numbers(tensor):
        return tensor.detach().numpy().astype(np.float64)

    def normalise(norm, x):
        mean, var = (x.mean(0), x.var(0)) if learning else (numbers(norm.running_mean), numbers(norm.running_var))
        x = (x - mean) / np.sqrt(var + 1e-5)
        return x * numbers(norm.weight) + numbers(norm.bias) if norm.affine else x

    def linear(layer, x):
        return x @ numbers(layer.weight).T + (0.0 if layer.bias is None else numbers(layer.bias))

    x = normalise(critic.norms[0], numbers(b.inputs))
    x = np.maximum(normalise(critic.norms[1], linear(critic.layers[0], x)), 0)
    x = np.concatenate([x, numbers(b.action)], axis=1)  # the action joins after the first hidden layer, as it is
    for i in (1, 2):
        x = np.maximum(normalise(critic.norms[i + 1], linear(critic.layers[i], x)), 0)
    return linear(critic.output, x)[:, 0]


@pytest.mark.parametrize("learning", [False, True])
def test_the_critic_by_hand(learning):
    critic, b = trained().critic, batch(99)
    q = critic(b.inputs, b.action, learning=learning)
    assert q.shape == (N,)
    np.testing.assert_allclose(q.detach().numpy(), by_hand(critic, b, learning), rtol=1e-3, atol=1e-4)


def test_running_averages_move_only_while_learning():
    critic, b = Critic(INPUTS, A), batch()
    before = state(critic)
    critic(b.inputs, b.action)
    assert same(critic, before)
    critic(b.inputs, b.action, learning=True)
    mean, var = b.inputs.mean(0), b.inputs.var(0)  # momentum 0.1, from means of 0 and variances of 1
    torch.testing.assert_close(critic.norms[0].running_mean, 0.1 * mean)
    torch.testing.assert_close(critic.norms[0].running_var, 0.9 + 0.1 * var)
    assert all(not torch.equal(norm.running_mean, torch.zeros_like(norm.running_mean)) for norm in critic.norms)


def test_the_same_seed_the_same_weights():
    first, second, other = DDPG(INPUTS, A, seed=1), DDPG(INPUTS, A, seed=1), DDPG(INPUTS, A, seed=2)
    for name in ("actor", "critic", "target_actor", "target_critic"):
        assert same(getattr(first, name), state(getattr(second, name)))
        assert not same(getattr(first, name), state(getattr(other, name)))
    assert same(first.target_actor, state(first.actor)) and same(first.target_critic, state(first.critic))


# --- acting ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 100])
def test_numpy_acts_as_torch_does(n):
    agent, inputs = trained(), batch(3, n).inputs
    actions = agent.act(inputs.numpy())
    assert actions.dtype == np.float32 and actions.shape == (n, A)
    np.testing.assert_allclose(actions, agent.actor(inputs).detach().numpy(), atol=1e-6)
    update(agent, batch(4))  # weights are not copied once and for all
    np.testing.assert_allclose(agent.act(inputs.numpy()), agent.actor(inputs).detach().numpy(), atol=1e-6)


def test_value_is_the_online_critics_of_the_actors_action():
    agent, b = trained(), batch(3)
    value = agent.value(b.inputs.numpy())
    expected = by_hand(agent.critic, b._replace(action=agent.actor(b.inputs).detach()), learning=False)
    np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("epsilon", [1.0, 0.5, 0.05, 0.0])
def test_three_ways_to_act(epsilon, monkeypatch):
    """Greedy with 1 - e, greedy plus noise of 0.1 (5 % of a range of 2) with 0.8 e, uniform with 0.2 e."""
    agent, n = DDPG(INPUTS, A), 4000
    monkeypatch.setattr(agent, "act", lambda inputs: np.full((len(inputs), A), 0.5, np.float32))
    actions = agent.explore(np.zeros((n, INPUTS), np.float32), epsilon, np.random.default_rng(0))
    assert actions.shape == (n, A) and actions.dtype == np.float32 and abs(actions).max() <= 1
    greedy = (actions == 0.5).all(axis=1)
    assert (actions[~greedy] != 0.5).all()
    assert greedy.mean() == pytest.approx(1 - epsilon, abs=0.03)
    far = (actions < -0.5).mean(axis=0)  # all of uniform actions: ten spreads away from greedy ones
    np.testing.assert_allclose(far, 0.2 * epsilon * 0.25, atol=0.008)
    if epsilon == 1.0:
        noisy = actions[(abs(actions - 0.5) < 0.45).all(axis=1)]  # uniform ones are seldom so near in all three
        assert len(noisy) / n == pytest.approx(0.8 + 0.2 * 0.45**3, abs=0.03)
        assert np.median(abs(noisy - 0.5)) == pytest.approx(0.6745 * 0.1, rel=0.06)
        assert abs(np.corrcoef(noisy.T)[np.triu_indices(A, 1)]).max() < 0.15


def test_noise_stays_within_the_range_of_actions(monkeypatch):
    agent = DDPG(INPUTS, A)
    monkeypatch.setattr(agent, "act", lambda inputs: np.full((len(inputs), A), 0.99, np.float32))
    actions = agent.explore(np.zeros((300, INPUTS), np.float32), 1.0, np.random.default_rng(0))
    assert actions.max() == 1.0 and (actions == 1.0).mean() > 0.2


# --- targets and losses ----------------------------------------------------------------------------------------------
def test_targets_by_hand():
    agent, b = trained(gamma=0.9), batch(50)
    with torch.no_grad():
        action = agent.target_actor(b.next_inputs)
    next_q = by_hand(agent.target_critic, b._replace(inputs=b.next_inputs, action=action), learning=False)
    y = b.reward.numpy() + 0.9 * (1 - b.terminal.numpy()) * next_q
    targets = agent.targets(b)
    np.testing.assert_allclose(targets.numpy(), np.clip(y, -10, 0), rtol=1e-3, atol=1e-4)
    assert not targets.requires_grad
    ended = b.terminal.bool()
    assert torch.equal(targets[ended], b.reward[ended])
    assert 0 < ended.sum() < N and (y < 0).any()


@pytest.mark.parametrize(("reward", "terminal", "bias", "y"), [
    (-1.0, 0.0, -10.0, -1 - 0.98 * 10),
    (-1.0, 0.0, -1000.0, -50.0),  # never below failing for ever
    (0.0, 0.0, 1000.0, 0.0),  # never above success at once
    (-1.0, 0.0, 1000.0, 0.0),
    (0.0, 1.0, -10.0, 0.0),
    (-1.0, 1.0, -10.0, -1.0),
    (0.0, 0.0, -10.0, -9.8),
])  # fmt: skip
def test_targets_are_values_that_are_possible(reward, terminal, bias, y):
    agent = DDPG(INPUTS, A)
    with torch.no_grad():
        agent.target_critic.output.weight.zero_()
        agent.target_critic.output.bias.fill_(bias)
    targets = agent.targets(batch(reward=reward, terminal=terminal))
    torch.testing.assert_close(targets, torch.full((N,), y))


def test_the_critics_loss_by_hand():
    agent, b, weights = trained(), batch(50), torch.rand(N)
    expected = agent.targets(b).numpy() - by_hand(agent.critic, b, learning=True)
    loss, td = agent.critic_loss(b, weights)
    np.testing.assert_allclose(td.numpy(), expected, rtol=1e-3, atol=1e-3)
    assert loss.item() == pytest.approx((weights.numpy() * expected**2).mean(), rel=1e-3)
    assert loss.requires_grad and not td.requires_grad


def test_the_actors_loss_by_hand_and_it_leaves_the_critic_alone():
    agent, b = trained(), batch(50)
    before = state(agent.critic)
    expected = by_hand(agent.critic, b._replace(action=agent.actor(b.inputs).detach()), learning=False)
    assert agent.actor_loss(b).item() == pytest.approx(-expected.mean(), rel=1e-3)
    assert same(agent.critic, before), "running averages, too"


@pytest.mark.parametrize("clip", [3.0, 0.01, 1e9])
def test_gradients_are_clipped_network_by_network(clip, monkeypatch):
    """What reaches Adam: the gradient itself, or shortened to the norm `clip`."""
    agent, b, seen = trained(clip=clip), batch(50), {}
    for adam in (agent.critic_adam, agent.actor_adam):
        monkeypatch.setattr(adam, "step", lambda adam=adam: seen.update({adam: gradient(adam)}))

    def gradient(adam):
        return torch.cat([p.grad.flatten() for p in adam.param_groups[0]["params"]]).clone()

    weights = torch.full((N,), 20.0)
    plain = torch.cat([g.flatten() for g in torch.autograd.grad(
        agent.critic_loss(b, weights)[0], agent.critic_parameters)])  # fmt: skip
    update(agent, b, weights)
    assert plain.norm() > 3
    expected = plain * min(1.0, clip / plain.norm().item())
    torch.testing.assert_close(seen[agent.critic_adam], expected, rtol=1e-3, atol=1e-5)
    assert 0 < seen[agent.actor_adam].norm() <= clip * (1 + 1e-5)


def test_targets_follow_by_polyak_averaging_running_averages_included():
    agent = trained(tau=0.05)
    for target, online in ((agent.target_actor, agent.actor), (agent.target_critic, agent.critic)):
        old = state(target)
        update(agent, batch(50))
        assert same(target, old), "an update leaves them where they are"
        agent.average_targets()
        new, moved = state(online), state(target)
        names = [name for name in moved if "num_batches" not in name]
        assert len([name for name in names if "running" in name]) == (8 if target is agent.target_critic else 0)
        for name in names:
            torch.testing.assert_close(moved[name], 0.95 * old[name] + 0.05 * new[name], rtol=1e-4, atol=1e-6)
            assert not torch.equal(moved[name], old[name])


def test_update_returns_the_loss_and_the_errors_of_before_the_step():
    agent, twin, b = trained(), trained(), batch(50)
    weights = torch.linspace(0.1, 1, N)
    expected, td = twin.critic_loss(b, weights)
    loss, errors = update(agent, b, weights)
    assert loss == expected.item()
    np.testing.assert_array_equal(errors, td.numpy())


# --- learning --------------------------------------------------------------------------------------------------------
def test_it_learns_a_task_of_one_step():
    """Reward -|a - 0.8 s| and the end: the critic has to find it, the actor to go to its top."""
    agent, rng = DDPG(1, 1, seed=0), np.random.default_rng(0)
    s = np.linspace(-1, 1, 41, dtype=np.float32)[:, None]

    def distance():
        return abs(agent.act(s)[:, 0] - 0.8 * s[:, 0]).mean()

    before, losses = distance(), []
    for _ in range(300):
        inputs = torch.from_numpy(rng.uniform(-1, 1, (64, 1)).astype(np.float32))
        action = torch.from_numpy(rng.uniform(-1, 1, (64, 1)).astype(np.float32))
        reward = -(action - 0.8 * inputs).abs().squeeze(1)
        losses.append(update(agent, Batch(inputs, action, reward, inputs, torch.ones(64)))[0])
    assert np.mean(losses[-50:]) < 0.1 * np.mean(losses[:10])
    assert before > 0.3 and distance() < 0.1
    assert abs(agent.value(s)).mean() < 0.15


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_computes_the_same():
    cpu, cuda = DDPG(INPUTS, A), DDPG(INPUTS, A, device="cuda")
    for seed in range(5):
        b = batch(seed)
        (loss, td), (cuda_loss, cuda_td) = update(cpu, b), update(cuda, b)
        assert cuda_loss == pytest.approx(loss, rel=1e-2)
        np.testing.assert_allclose(cuda_td, td, atol=1e-2)
    inputs = batch(9).inputs.numpy()
    np.testing.assert_allclose(cuda.act(inputs), cpu.act(inputs), atol=1e-2)
    np.testing.assert_allclose(cuda.value(inputs), cpu.value(inputs), atol=1e-2)


def test_the_penalty_on_actions_by_hand_and_against_saturation():
    """Adds its weight times the mean square of the actions to the actor's loss; saturated actors come back."""
    plain, kept = DDPG(INPUTS, A), DDPG(INPUTS, A, action_penalty=0.5)
    b = batch()
    squares = plain.actor(b.inputs).square().mean().item()
    assert kept.actor_loss(b).item() == pytest.approx(plain.actor_loss(b).item() + 0.5 * squares, abs=1e-6)
    far = {}
    for name, agent in (("plain", plain), ("kept", DDPG(INPUTS, A, action_penalty=10.0))):
        with torch.no_grad():
            agent.actor.layers[-1].bias.fill_(2.0)
        for seed in range(100):
            update(agent, batch(seed, reward=-1.0, terminal=1.0))
        far[name] = agent.actor(b.inputs).abs().mean().item()
    assert far["kept"] < 0.3 < 0.7 < far["plain"]
