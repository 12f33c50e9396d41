"""The networks of the original HER, and their update as a kernel against the one of PyTorch."""

import pickle

import numpy as np
import pytest
import torch

from papers.bias_reduced_her.agents.ddpg import Batch
from papers.bias_reduced_her.agents.fast_plain_ddpg import FastPlainDDPG
from papers.bias_reduced_her.agents.plain_ddpg import PlainDDPG
from tests.papers.bias_reduced_her.agents.test_fast_ddpg import INPUTS, TAU, A, batch, difference, numbers, step


def both(seed: int = 0, **settings) -> tuple[FastPlainDDPG, PlainDDPG]:
    settings |= dict(seed=seed, tau=TAU)
    return FastPlainDDPG(INPUTS, A, **settings), PlainDDPG(INPUTS, A, **settings)


def test_sizes_and_first_weights():
    """Glorot's, not those of `nn.Linear`; three hidden layers of 256; the action is an input of the critic."""
    agent = PlainDDPG(INPUTS, A)
    for network, n_in, n_out in ((agent.actor, INPUTS, A), (agent.critic, INPUTS + A, 1)):
        weights = [p for p in network.parameters() if p.dim() == 2]
        assert [tuple(w.shape) for w in weights] == [(256, n_in), (256, 256), (256, 256), (n_out, 256)]
        assert not any(p.any() for p in network.parameters() if p.dim() == 1)
        bound = (6 / 512) ** 0.5
        assert 0.99 * bound < weights[1].abs().max() <= bound
    assert not list(agent.critic.buffers())


def test_the_value_of_a_transition_does_not_depend_on_its_neighbours():
    agent, (b, _) = PlainDDPG(INPUTS, A), batch(0)
    inputs, action = torch.from_numpy(b.inputs), torch.from_numpy(b.action)
    for learning in (False, True):
        alone = agent.critic(inputs[:1], action[:1], learning=learning)
        torch.testing.assert_close(agent.critic(inputs, action, learning=learning)[:1], alone)


@pytest.mark.parametrize("settings", [dict(clip=np.inf, action_penalty=1.0), dict(clip=0.5)])
def test_sixty_updates_are_those_of_pytorch(settings):
    """Five runs: see `test_fast_ddpg.py` for why the last digits of most must agree, not of all."""
    apart = []
    for seed in range(5):
        fast, plain = both(seed, **settings)
        assert difference(fast, plain) == 0
        errors = [step(fast, plain, seed=1000 * seed + i, n=16 if i % 10 == 0 else 32) for i in range(60)]
        assert max(errors[:10]) < 1e-5 and max(errors) < 0.01
        apart.append(abs(numbers(fast) - numbers(plain)).mean())
    assert np.median(apart) < 1e-5 and min(apart) < 1e-8, apart


def test_without_a_limit_gradients_are_not_shortened():
    fast, plain = both(clip=np.inf)
    b, weights = batch(0)
    wide = Batch(b.inputs, b.action, 50 * b.reward, b.next_inputs, b.terminal)
    fast.update(wide, weights), plain.update(wide, weights)
    assert np.linalg.norm(fast._work.grad_critic) > 3
    assert difference(fast, plain) < 1e-5


def test_a_pickled_copy_goes_on_identically():
    agent, _ = both()
    agent.update(*batch(0))
    copy = pickle.loads(pickle.dumps(agent))
    for i in range(1, 4):
        assert agent.update(*batch(i))[0] == copy.update(*batch(i))[0]
        agent.average_targets(), copy.average_targets()
    np.testing.assert_array_equal(numbers(agent), numbers(copy))
    agent = FastPlainDDPG(INPUTS, A, noise=0.1, random_actions=0.3)
    assert pickle.loads(pickle.dumps(agent)).random_actions == 0.3
