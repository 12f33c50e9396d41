"""ReF-ER's rules in SAC: importance weights and divergences against torch.distributions, and what each rule does."""

import copy

import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal, TransformedDistribution, Uniform, kl_divergence
from torch.distributions.transforms import TanhTransform

from arena.replay.refer_sac import Behaviour, ReferSAC
from common.replay.protocol import Step
from papers.ners.agents.sac import SAC
from papers.ners.samplers.batch import Batch
from papers.ref_er.refer import ReFER

N, STATES, ACTIONS = 12, 3, 2
SIZES = dict(hidden=(16, 16), seed=3)


def filled(refer: ReFER, random: int) -> tuple[Behaviour, Batch]:
    """An agent with N stored transitions, the first `random` of them uniform; and all of them as a batch."""
    rng = np.random.default_rng(0)
    agent = ReferSAC(STATES, ACTIONS, **SIZES)
    memory = Behaviour(N, rng, agent, refer)
    states, actions = rng.normal(size=(N, STATES)).astype(np.float32), np.empty((N, ACTIONS), np.float32)
    for i in range(N):
        actions[i] = rng.uniform(-0.9, 0.9, ACTIONS) if i < random else agent.act(states[i], rng)
        memory.add(i, Step(states[i], actions[i], 0.0, states[i], False, False))
    with torch.no_grad():  # the policy of today is another one
        for parameter in agent.actor_parameters:
            parameter += 0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    arrays = (states, actions, rng.normal(size=N), states[::-1].copy(), np.zeros(N), np.ones(N))
    memory.look_at(np.arange(N))
    return memory, Batch(*(torch.from_numpy(np.float32(array)) for array in arrays))


def squashed(mean, log_std):
    return Independent(TransformedDistribution(Normal(mean, log_std.exp()), TanhTransform()), 1)


def test_importance_weights_and_divergences():
    memory, batch = filled(ReFER(), random=4)
    agent = memory.agent
    log_rho, divergence = agent.likelihood(batch.state)
    mean, log_std = agent.actor(batch.state).chunk(2, dim=1)
    action = batch.action.double().clamp(-1 + 1e-6, 1 - 1e-6)
    now = squashed(mean.double(), log_std.double()).log_prob(action)
    old_mean, old_log_std = (torch.from_numpy(x).double() for x in (memory.mean, memory.log_std))
    gaussian = squashed(old_mean, old_log_std).log_prob(action)
    uniform = Independent(Uniform(-torch.ones(N, ACTIONS), torch.ones(N, ACTIONS)), 1).log_prob(batch.action)
    then = torch.where(torch.arange(N) < 4, uniform.double(), gaussian)
    torch.testing.assert_close(log_rho.double(), now - then, rtol=1e-3, atol=1e-3)
    own = slice(4, None)
    pairs = (Independent(Normal(m[own], s[own].exp()), 1) for m, s in ((old_mean, old_log_std), (mean, log_std)))
    torch.testing.assert_close(divergence[own], kl_divergence(*pairs).float(), rtol=1e-4, atol=1e-5)
    # of uniform behaviour: minus the density before the tanh, which differs from the action's by a constant
    slope = (1.0 - action[:4].square()).log().sum(dim=1)
    torch.testing.assert_close(divergence[:4].double(), -(now[:4] + slope), rtol=1e-3, atol=1e-3)


def after(agent: SAC, batch: Batch) -> torch.Tensor:
    agent.update(batch)
    return torch.cat([p.detach().flatten() for p in (*agent.actor_parameters, *agent.critic_parameters)])


def test_with_near_transitions_and_beta_one_it_is_sac():
    memory, batch = filled(ReFER(c=1e9, beta=1.0), random=3)
    twin = SAC(STATES, ACTIONS, **SIZES)
    twin.actor.load_state_dict(memory.agent.actor.state_dict())
    assert torch.equal(after(memory.agent, batch), after(twin, batch))


def test_far_transitions_teach_nothing():
    """Rule 1: with another reward of the far ones, the update is the same."""
    memory, batch = filled(ReFER(c=0.2, beta=1.0, rule2=False), random=3)
    near = memory.refer.near(memory.agent.likelihood(batch.state)[0].detach().exp().numpy())
    assert 0 < near.sum() < N
    other = batch._replace(reward=torch.where(torch.from_numpy(near), batch.reward, batch.reward + 5.0))
    changed = batch._replace(reward=batch.reward + 5.0)
    twins = [copy.deepcopy(memory) for _ in range(3)]
    first, second, third = (after(one.agent, b) for one, b in zip(twins, (batch, other, changed)))
    assert torch.equal(first, second) and not torch.equal(first, third)


def test_rule_2_alone_brings_the_policy_back():
    """With beta 0 the divergence is all that the actor follows, and the critics follow nothing."""
    memory, batch = filled(ReFER(beta=0.0, rate=0.0), random=0)
    agent = memory.agent
    critics = [p.clone() for p in agent.critic_parameters]
    first = float(agent.likelihood(batch.state)[1].detach().mean())
    for _ in range(200):
        agent.update(batch)
    assert float(agent.likelihood(batch.state)[1].detach().mean()) < 0.5 * first
    assert all(torch.equal(p, q) for p, q in zip(critics, agent.critic_parameters))


def test_beta_follows_the_share_of_far_transitions():
    memory, _ = filled(ReFER(beta=0.5, rate=0.1), random=0)
    memory.found(np.full(N, 1.0))
    assert memory.refer.beta == pytest.approx(0.55) and memory.metrics() == {"beta": memory.refer.beta, "far": 0.0}
    memory.found(np.where(np.arange(N) < 6, 100.0, 1.0))  # half are far, a tenth is aimed at
    assert memory.refer.beta == pytest.approx(0.495) and memory.metrics()["far"] == 0.5


def test_a_new_transition_is_near():
    memory, _ = filled(ReFER(), random=0)
    memory.found(np.full(N, 100.0))
    memory.agent.act(np.zeros(STATES, np.float32), np.random.default_rng(0))
    memory.add(2)
    assert memory.rho[2] == 1.0 and memory.rho[3] == 100.0
