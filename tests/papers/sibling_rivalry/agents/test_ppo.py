"""Advantages against their definition, losses against torch's distributions, and an update step by step."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.distributions import Beta, Categorical

from papers.sibling_rivalry.agents import ppo as module
from papers.sibling_rivalry.agents.adam import Adam
from papers.sibling_rivalry.agents.ppo import CLIP, PPO, VALUE_WEIGHT, Experience, gae, minibatches
from tests.papers.runs import same
from tests.papers.sibling_rivalry.fake_tasks import Line, Picture, Plane

TASKS = {"plane": Plane(), "line": Line(), "picture": Picture()}
EVERY_TASK = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


def agent(task=TASKS["plane"], **settings) -> PPO:
    values = dict(
        sees_anti_goal=False, lr=1e-3, lr_decay=0.9, adam_eps=1e-8, entropy=0.02, epochs=2, minibatches=3, seed=0
    )
    return PPO(task, **(values | settings))


def experience(task=TASKS["plane"], n: int = 40, seed: int = 0, anti_goals: bool = False) -> Experience:
    """Random transitions. The return of row i is i, so that rows can be told apart."""
    rng = np.random.default_rng(seed)
    states = task.starts(n, rng)
    legal = task.legal(states)
    if task.action_range is None:
        actions = np.where(legal, rng.random(legal.shape), -1).argmax(axis=1)
        after = task.step(states, actions, rng)
    else:
        actions = rng.uniform(-0.49, 0.49, (n, task.n_actions)).astype(np.float32)
        after = task.step(states, actions, rng)
    observations, following, goals, others = (
        torch.from_numpy(part)
        for part in (task.observe(states), task.observe(after), task.goals(n, rng), task.goals(n, rng))
    )
    return Experience(
        observations, following, goals, others if anti_goals else None, torch.from_numpy(actions),
        None if legal is None else torch.from_numpy(legal), torch.from_numpy(rng.normal(3, 5, n).astype(np.float32)),
        torch.arange(float(n)),
    )  # fmt: skip


def one_pool(n: int = 40) -> np.ndarray:
    """All transitions are of one worker."""
    return np.zeros(n, np.int64)


def mean(n: int = 40) -> Tensor:
    """Weights of a plain mean."""
    return torch.full((n,), 1 / n)


def log_prob_of(ppo: PPO, data: Experience) -> Tensor:
    return ppo.policy.evaluate(data.observations, data.goals, data.actions, data.legal)[0].detach()


# ---- generalised advantage estimation --------------------------------------------------------------------------------
def by_definition(rewards, values, length, gamma, lam, bootstrap):
    """A_t = sum over l of (gamma lambda)^l delta_(t + l), for one episode."""
    value = [*values[:length], values[length] if bootstrap else 0.0]
    delta = [rewards[t] + gamma * value[t + 1] - value[t] for t in range(length)]
    return [sum((gamma * lam) ** (k - t) * delta[k] for k in range(t, length)) for t in range(length)]


@given(
    st.integers(1, 5), st.integers(1, 6), st.sampled_from([0.5, 0.98, 1.0]), st.sampled_from([0.0, 0.9, 1.0]),
    st.integers(0, 99),
)  # fmt: skip
def test_advantages_by_definition(n, steps, gamma, lam, seed):
    """Whatever stands behind an episode's end has no part in them."""
    rng = np.random.default_rng(seed)
    rewards, values = rng.normal(size=(n, steps)), rng.normal(size=(n, steps + 1)).astype(np.float32)
    lengths, bootstrap = rng.integers(1, steps + 1, n), rng.random(n) < 0.5
    rewards[np.arange(steps) >= lengths[:, None]] = np.nan
    values[np.arange(steps + 1) > lengths[:, None]] = np.nan
    given_rewards, given_values = rewards.copy(), values.copy()
    found = gae(rewards, values, lengths, gamma, lam, bootstrap)
    assert found.dtype == np.float32 and found.shape == (n, steps)
    for i in range(n):
        expected = by_definition(rewards[i], values[i].tolist(), lengths[i], gamma, lam, bootstrap[i])
        np.testing.assert_allclose(found[i, : lengths[i]], expected, rtol=1e-5, atol=1e-5)
        assert not found[i, lengths[i] :].any()
    np.testing.assert_array_equal(rewards, given_rewards)
    np.testing.assert_array_equal(values, given_values)


# ---- losses ----------------------------------------------------------------------------------------------------------
def expected_parts(ppo: PPO, data: Experience, old: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Policy loss, value loss and entropy, sample by sample with torch's distributions."""
    outputs = ppo.policy.body(torch.cat([data.observations, data.goals], dim=1)).double()
    if data.actions.dtype == torch.int64:
        actions = Categorical(logits=outputs if data.legal is None else outputs.masked_fill(~data.legal, -1e4))
        log_prob, entropy = actions.log_prob(data.actions), actions.entropy()
    else:
        alpha, beta = (nn.functional.softplus(outputs) + 1.05).chunk(2, dim=1)
        actions = Beta(alpha, beta)
        log_prob = actions.log_prob((data.actions.double() / 0.5 + 1) / 2).sum(dim=1)
        entropy = actions.entropy().mean(dim=1)
    gains = []
    for ratio, advantage in zip((log_prob - old).exp(), data.advantages):
        if advantage >= 0:  # more of it, by a fifth at most
            gains.append(advantage * (ratio if ratio < 1.2 else 1.2))
        else:  # less of it, by a fifth at most
            gains.append(advantage * (ratio if ratio > 0.8 else 0.8))
    seen = [data.observations, data.goals] + ([] if data.anti_goals is None else [data.anti_goals])
    errors = data.returns - ppo.critic(torch.cat(seen, dim=1))[:, 0]
    return -torch.stack(gains).mean(), (errors**2).mean(), entropy.mean()


@EVERY_TASK
@pytest.mark.parametrize("sees_anti_goal", [False, True])
def test_the_loss_and_its_gradient_by_hand(task, sees_anti_goal):
    """Half of the probability ratios lie outside of the clipping range, for advantages of either sign."""
    assert (CLIP, VALUE_WEIGHT) == (0.2, 0.5)
    ppo, data = agent(task, sees_anti_goal=sees_anti_goal), experience(task, anti_goals=sees_anti_goal)
    old = log_prob_of(ppo, data) + torch.from_numpy(np.random.default_rng(1).uniform(-0.5, 0.5, 40).astype(np.float32))
    ratio = (log_prob_of(ppo, data) - old).exp()
    for sign in (1, -1):
        mine = ratio[sign * data.advantages > 0]
        assert (mine < 0.79).any() and (mine > 1.21).any() and (abs(mine - 1) < 0.19).any()
    loss, parts = ppo.loss(data, old, mean())
    policy_loss, value_loss, entropy = expected_parts(ppo, data, old)
    expected = policy_loss + 0.5 * value_loss - 0.02 * entropy
    torch.testing.assert_close(loss.double(), expected.double(), rtol=1e-4, atol=1e-4)
    assert parts.keys() == {"policy_loss", "value_loss", "entropy"}
    for found, wanted in zip(parts.values(), (policy_loss, value_loss, entropy)):
        torch.testing.assert_close(found.double(), wanted.double(), rtol=1e-4, atol=1e-4)
    for found, wanted in zip(*(torch.autograd.grad(x, ppo.parameters) for x in (loss, expected))):
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3 * wanted.abs().max().item())


def test_the_critic_is_shown_the_anti_goal_and_the_policy_is_not():
    """Other anti-goals: other values and another critic after the update, but the same policy, bit for bit."""
    data = experience(anti_goals=True)
    other = copy.deepcopy(data)
    other.anti_goals = -data.anti_goals
    agents = [agent(sees_anti_goal=True) for _ in range(2)]
    values = [ppo.values(d.observations, d.goals, d.anti_goals) for ppo, d in zip(agents, (data, other))]
    assert values[0].shape == (40,) and not torch.allclose(*values) and not values[0].requires_grad
    swapped = agents[0].values(data.observations, data.anti_goals, data.goals)
    assert not torch.allclose(values[0], swapped)  # it tells goal and anti-goal apart
    for ppo, d in zip(agents, (data, other)):
        ppo.learn(d, one_pool(), np.random.default_rng(0))
    policies, critics = ([getattr(ppo, name).state_dict() for ppo in agents] for name in ("policy", "critic"))
    assert same(*policies) and not same(*critics)


# ---- updates ---------------------------------------------------------------------------------------------------------
def recorded(ppo: PPO, data: Experience, monkeypatch, workers: np.ndarray | None = None) -> tuple[list, list, dict]:
    """Learn. What each mini-batch was given, the gradients of each step, and what was returned."""
    batches, steps, loss, step = [], [], ppo.loss, ppo.adam.step

    def heard(batch, old, weights):
        batches.append((batch, old, weights))
        return loss(batch, old, weights)

    def stepped():
        steps.append([p.grad.clone() for p in ppo.parameters])
        step()

    monkeypatch.setattr(ppo, "loss", heard)
    monkeypatch.setattr(ppo.adam, "step", stepped)
    workers = one_pool(len(data)) if workers is None else workers
    return batches, steps, ppo.learn(data, workers, np.random.default_rng(0))


@pytest.mark.parametrize(("n", "size"), [(40, 13), (39, 13), (41, 13), (3, 1)])
def test_minibatches_are_equal_parts_of_a_new_shuffle_per_epoch(n, size, monkeypatch):
    """What is left over is left out; no transition is seen twice in an epoch."""
    batches, _, _ = recorded(agent(), experience(n=n), monkeypatch)
    assert [len(batch) for batch, *_ in batches] == [size] * (2 * 3)
    rows = torch.cat([batch.returns for batch, *_ in batches]).long().reshape(2, -1).tolist()
    assert all(len(set(epoch)) == 3 * size for epoch in rows)
    if n > 3:
        assert rows[0] != rows[1] and rows[0] != sorted(rows[0]) and rows[0] != list(range(3 * size))


@EVERY_TASK
def test_rows_of_a_minibatch_belong_together(task, monkeypatch):
    """Everything of a row, and its probability under the policy before the update, is of one transition."""
    ppo, data = agent(task, sees_anti_goal=True), experience(task, anti_goals=True)
    raw, old = data.advantages.clone(), log_prob_of(ppo, data)
    batches, _, _ = recorded(ppo, data, monkeypatch)
    assert len(batches) == 6
    for batch, given_old, _ in batches:
        rows = batch.returns.long()
        for name in ("observations", "next_observations", "goals", "anti_goals", "actions", "legal"):
            if getattr(data, name) is not None:
                assert torch.equal(getattr(batch, name), getattr(data, name)[rows])
        torch.testing.assert_close(given_old, old[rows])
        torch.testing.assert_close(batch.advantages, ((raw - raw.mean()) / raw.std())[rows])


def test_equal_advantages_are_no_division_by_zero():
    ppo, data = agent(), experience()
    data.advantages = torch.full((40,), 2.5)
    assert all(np.isfinite(loss) for loss in ppo.learn(data, one_pool(), np.random.default_rng(0)).values())
    assert all(torch.isfinite(p).all() for p in ppo.parameters)


def test_every_minibatch_is_one_step_down_its_own_gradient(monkeypatch):
    """Of all parameters, unclipped. A twin takes the same steps."""
    ppo, data = agent(lr=0.01), experience()
    data.returns = data.returns * 50  # large errors, large gradients
    twin = agent(lr=0.01)
    adam = Adam(twin.parameters, lr=0.01, eps=1e-8)
    batches, steps, losses = recorded(ppo, data, monkeypatch)
    totals = []
    for (batch, old, weights), gradients in zip(batches, steps):
        adam.zero_grad()
        loss, parts = twin.loss(batch, old, weights)
        loss.backward()
        totals.append({name: part.item() for name, part in parts.items()})
        for found, parameter in zip(gradients, twin.parameters):
            torch.testing.assert_close(found, parameter.grad, rtol=1e-3, atol=1e-3 * parameter.grad.abs().max().item())
        adam.step()
    assert max(g.norm() for g in steps[0]) > 100
    for found, wanted in zip(ppo.parameters, twin.parameters):
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3)
    assert losses == pytest.approx({name: np.mean([t[name] for t in totals]) for name in totals[0]}, rel=1e-3)


# ---- workers ---------------------------------------------------------------------------------------------------------
@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 5), st.integers(0, 99))
def test_each_worker_splits_its_own_rows_and_weighs_as_much_as_any_other(workers, count, seed):
    rows = np.bincount(workers)
    order, weights = minibatches(np.array(workers), count, np.random.default_rng(seed))
    assert order.shape == (count, (rows // count).sum()) and len(set(order.ravel().tolist())) == order.size
    for batch in order:
        owners = np.array(workers)[batch]
        np.testing.assert_array_equal(np.bincount(owners, minlength=len(rows)), rows // count)
        for worker in set(owners.tolist()):
            mine = weights[owners == worker]
            assert mine.sum() == pytest.approx(1 / len(set(owners.tolist()))) and len(set(mine.tolist())) == 1


def test_minibatches_are_shuffled_anew():
    rng, workers = np.random.default_rng(0), np.repeat([0, 1], [300, 100])
    first, second = (minibatches(workers, 4, rng)[0] for _ in range(2))
    assert (first != second).mean() > 0.9
    assert 300 not in minibatches(workers[:301], 4, rng)[0]  # a worker's single row cannot be split
    share = np.mean([7 in minibatches(workers, 4, rng)[0][0] for _ in range(400)])
    assert share == pytest.approx(0.25, abs=0.08)


def test_a_gradient_is_the_mean_over_workers_of_their_means(monkeypatch):
    """Step by step, against one loss per worker. The pooled mean is another one."""
    ppo, data, workers = agent(), experience(n=45), np.repeat([0, 1, 2], [24, 15, 6])
    twin = agent()
    adam = Adam(twin.parameters, lr=1e-3, eps=1e-8)
    batches, steps, _ = recorded(ppo, data, monkeypatch, workers)
    for (batch, old, _), gradients in zip(batches, steps):
        owners = workers[batch.returns.long().numpy()]
        assert np.bincount(owners).tolist() == [8, 5, 2]
        each = [torch.from_numpy(np.flatnonzero(owners == worker)) for worker in range(3)]
        losses = [twin.loss(batch[rows], old[rows], mean(len(rows)))[0] for rows in each]
        adam.zero_grad()
        (sum(losses) / 3).backward()
        for found, parameter in zip(gradients, twin.parameters):
            torch.testing.assert_close(found, parameter.grad, rtol=1e-3, atol=1e-4 * parameter.grad.abs().max().item())
        adam.step()
    first = agent()
    pooled = torch.autograd.grad(first.loss(*batches[0][:2], mean(15))[0], first.parameters)
    assert not any(torch.allclose(part, g, rtol=0.01) for part, g in zip(pooled, steps[0]))


def test_gradients_of_pictures_in_parts_are_those_of_the_whole(monkeypatch):
    """On a CPU. So are values and the probabilities before the update."""
    for sees in (False, True):
        data = experience(TASKS["picture"], anti_goals=sees)
        whole, parts = (agent(TASKS["picture"], sees_anti_goal=sees) for _ in range(2))
        anti = data.anti_goals if sees else None
        expected = whole.values(data.observations, data.goals, anti)
        found = [recorded(whole, copy.deepcopy(data), monkeypatch)]
        monkeypatch.setattr(module, "CHUNK", 5)
        torch.testing.assert_close(parts.values(data.observations, data.goals, anti), expected)
        found.append(recorded(parts, copy.deepcopy(data), monkeypatch))
        monkeypatch.undo()
        assert [len(batches) for batches, *_ in found] == [6, 18] and [len(steps) for _, steps, _ in found] == [6, 6]
        for one, other in zip(found[0][1][0], found[1][1][0]):  # of the first step
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4 * one.abs().max().item())
        assert found[0][2] == pytest.approx(found[1][2], rel=0.02, abs=1e-3)
    assert not agent().in_parts


# ---- curiosity -------------------------------------------------------------------------------------------------------
class Pupil(nn.Module):
    """Curiosity that learns one number, and has one that it must not learn."""

    def __init__(self):
        super().__init__()
        self.learns, self.fixed = nn.Parameter(torch.ones(())), nn.Parameter(torch.ones(()), requires_grad=False)

    def losses(self, observations, actions, next_observations):
        return self.learns * (observations - 2 * next_observations).sum(dim=1) + actions.sum(dim=1)


@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_a_curious_agent_learns_both_with_one_optimiser(rate, monkeypatch):
    pupil = Pupil()
    ppo, plain, data = agent(curiosity=pupil, curiosity_rate=rate), agent(), experience()
    old = log_prob_of(ppo, data)
    (loss, parts), (without, _) = ppo.loss(data, old, mean()), plain.loss(data, old, mean())
    own = ((data.observations - 2 * data.next_observations).sum() + data.actions.sum()) / 40
    assert parts["curiosity_loss"].item() == pytest.approx(own.item(), rel=1e-4)
    assert loss.item() == pytest.approx(without.item() + rate * own.item(), rel=1e-4)
    assert [any(p is q for q in ppo.parameters) for p in (pupil.learns, pupil.fixed)] == [True, False]
    batches, steps, losses = recorded(ppo, data, monkeypatch)
    batch = batches[0][0]
    expected = rate * (batch.observations - 2 * batch.next_observations).sum(dim=1).mean().item()
    assert steps[0][-1].item() == pytest.approx(expected, rel=1e-4)
    assert (pupil.learns.item() != 1) == (rate > 0) and pupil.fixed.item() == 1 and "curiosity_loss" in losses
