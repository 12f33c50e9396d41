"""The continuous tasks: all open, actions in [-1, 1], seeds mean the same after any past, errors in one line."""

import warnings

import gymnasium
import numpy as np
import pytest

from lab.run.errors import UserError
from papers.ners.agents.tasks import TASKS, make_env
from tests.papers.unfit_tasks import UNFIT

SIZES = {
    "SparsePendulum": (3, 1, 200), "Pendulum-v1": (3, 1, 200), "LunarLanderContinuous-v3": (8, 2, 1000),
    "BipedalWalker-v3": (24, 4, 1600), "Hopper-v4": (11, 3, 1000), "Walker2d-v4": (17, 6, 1000),
    "Ant-v4": (27, 8, 1000),
}  # fmt: skip
"""Observations, actions, time limit: the paper's Table A.1, but for Ant's 84 dead observations."""


def test_the_tasks_are_the_papers_and_others_work():
    assert TASKS.keys() == SIZES.keys() and all(TASKS.values())
    env = make_env("Swimmer-v5")
    assert env.observation_space.shape == (8,) and env.action_space.shape == (2,)


@pytest.mark.parametrize("name", SIZES)
def test_spaces_and_time_limits(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nobody needs to read that Hopper-v4 has a successor
        env = make_env(name)
    states, actions, limit = SIZES[name]
    assert env.observation_space.shape == (states,) and env.spec is not None and env.spec.max_episode_steps == limit
    box = env.action_space
    assert isinstance(box, gymnasium.spaces.Box) and box.shape == (actions,)
    assert np.all(box.low == -1) and np.all(box.high == 1)
    assert env.reset(seed=0)[0].shape == (states,)
    state, reward, terminated, truncated, _ = env.step(np.zeros(actions, np.float32))
    assert state.shape == (states,) and np.isfinite(reward) and not terminated and not truncated


@pytest.mark.filterwarnings("ignore:.*is out of date")
@pytest.mark.parametrize(("name", "unit"), [("Pendulum-v1", 2.0), ("Ant-v4", 1.0)])
def test_actions_are_in_units_of_their_bound(name, unit):
    ours, theirs = make_env(name), gymnasium.make(name)
    ours.reset(seed=3)
    theirs.reset(seed=3)
    for scale in (1.0, -1.0, 0.25):
        n = theirs.action_space.shape[0]  # type: ignore[index]
        found, wanted = (env.step(np.full(n, a, np.float32)) for env, a in ((ours, scale), (theirs, unit * scale)))
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
        assert found[1] == pytest.approx(wanted[1])


@pytest.mark.parametrize("name", SIZES)
def test_an_episode_does_not_depend_on_the_episodes_before_it(name):
    """Only then does a resumed run, whose simulators are new, equal the uninterrupted one."""
    old, new, rng = make_env(name), make_env(name), np.random.default_rng(0)
    shape = old.action_space.shape
    old.reset(seed=1)
    for k in range(150):
        _, _, terminated, truncated, _ = old.step(rng.uniform(-1, 1, shape).astype(np.float32))
        if terminated or truncated:
            old.reset(seed=k)
    np.testing.assert_array_equal(old.reset(seed=7)[0], new.reset(seed=7)[0])
    for _ in range(100):
        action = rng.uniform(-1, 1, shape).astype(np.float32)
        ours, theirs = old.step(action), new.step(action)
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1:4] == theirs[1:4]
        if ours[2]:
            break


BAD = [
    *UNFIT,
    *((name, f"^unknown env '{name}' .*; choose from: SparsePendulum, Pendulum-v1, .*, Ant-v4 or an installed id$")
      for name in ("Hopper-v3", "Pendulum-v0")),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.* is out of date")
@pytest.mark.parametrize(("name", "message"), BAD, ids=[name for name, _ in BAD])
def test_what_cannot_be_learnt_is_an_error_of_one_line(name, message):
    with pytest.raises(UserError, match=message) as error:
        make_env(name)
    assert "\n" not in str(error.value)
