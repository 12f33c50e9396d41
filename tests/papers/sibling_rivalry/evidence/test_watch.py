"""Watching a policy of two levels step by step: it does what it does in evaluation."""

import numpy as np
import pytest
import torch

from papers.sibling_rivalry import train, train_off_policy
from papers.sibling_rivalry.agents.hierarchy import with_low_level
from papers.sibling_rivalry.evidence.watch import player

SMALL = dict(capacity=20_000, warmup=10, batch_size=16)


@torch.no_grad()
def test_a_greedy_ant_goes_where_the_evaluated_one_goes():
    trainer = train_off_policy.Trainer(train_off_policy.Config("AntMazeSmall", "ddpg-her", **SMALL))
    env, act = player(trainer.config, with_low_level(trainer.task, trainer.agent.weights()))
    seen, info = env.reset(seed=3)
    task, states, goals = trainer.task.greedily(), env.unwrapped.state[None].copy(), env.unwrapped.goal[None].copy()
    for _ in range(2):
        states = task.step(states, trainer.agent.act(task.observe(states), goals), None)
        for _ in range(20):
            seen, _, _, _, info = env.step(act(seen, info, np.random.default_rng(0)))
        np.testing.assert_allclose(env.unwrapped.state, states[0], rtol=0, atol=1e-9)
    assert env.unwrapped.state[-1] == 40 and env.unwrapped.task.name == "small U"


@pytest.mark.parametrize("method", ["ppo", "ppo-sr"])
def test_a_drawn_ant_draws(method):
    trainer = train.Trainer(train.Config("AntMazeSmall", method))
    env, act = player(trainer.config, trainer.weights())

    def end(seed):
        rng = np.random.default_rng(seed)
        seen, info = env.reset(seed=3)
        for _ in range(21):
            seen, _, _, _, info = env.step(act(seen, info, rng))
        return env.unwrapped.state.tolist()

    assert end(0) == end(0) != end(1)
