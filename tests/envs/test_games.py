"""Games side by side against environments one by one, and observations of codes against pictures."""

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.minigrid.tasks import TASKS, MiniGridTask
from envs.sokoban.game import Sokoban

WORLDS = {
    **{task: partial(MiniGridTask, task) for task in TASKS},
    "DoorKey at random": partial(MiniGridTask, "DoorKey", random_action_probability=0.4),
    "LavaCrossing-Hard at random": partial(MiniGridTask, "LavaCrossing-Hard", 7, random_action_probability=1.0),
    "SimpleCrossing-Easy, goal stays": partial(MiniGridTask, "SimpleCrossing-Easy", pseudo_terminal=True),
    "LavaCrossing-Easy, goal stays": partial(MiniGridTask, "LavaCrossing-Easy", 3, 0.1, pseudo_terminal=True),
    "Sokoban 5x5-1": partial(Sokoban, (5, 5), 1),
    "Sokoban 6x9-3": partial(Sokoban, (6, 9), 3, max_steps=30),
    "Sokoban, long walk": partial(Sokoban, (7, 6), 2, walk=60, observation="codes"),
}


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(0, 2**31 - 1), max_size=7), st.integers(0, 2**32), st.data())
@pytest.mark.parametrize("world", WORLDS)
def test_each_game_goes_as_in_an_environment_of_its_own(world, seeds, stream, data):
    """Some of the running games in any order, to their ends; pickled in between."""
    env, rng = WORLDS[world](), np.random.default_rng(stream)
    games, envs = env.side_by_side(seeds), [WORLDS[world]() for _ in seeds]
    live = games.codes
    assert live.shape == (len(seeds), *env.grid_shape) and live.dtype == np.uint8
    for one, seed, codes in zip(envs, seeds, live):
        np.testing.assert_array_equal(one.reset(seed=seed)[1]["tiles"], codes)
    running, pickle_at = list(range(len(seeds))), data.draw(st.integers(0, 60))
    for step in range(2000):
        if step == pickle_at:
            games = pickle.loads(pickle.dumps(games))
            live = games.codes
        if not running:
            break
        now = rng.permutation(running)[: rng.integers(len(running) + 1)]
        actions = rng.integers(env.n_actions, size=len(now))
        rewards, ended, success = games.step(now, actions)
        assert (rewards.dtype, ended.dtype, success.dtype) == (np.float64, bool, bool)
        for i, game in enumerate(now):
            _, reward, terminated, truncated, info = envs[game].step(actions[i])
            assert (rewards[i], ended[i], success[i]) == (reward, terminated or truncated, info["success"])
            np.testing.assert_array_equal(live[game], info["tiles"])
            if ended[i]:
                running.remove(game)
    assert not running


@pytest.mark.parametrize("world", WORLDS)
def test_codes_for_an_observation_change_nothing_else_and_no_picture_is_drawn(world, monkeypatch):
    pictures, codes = WORLDS[world](), WORLDS[world](observation="codes")
    monkeypatch.setattr(codes, "_observe", None)
    rng = np.random.default_rng(0)
    for seed in (5, None, None):
        (_, wanted), (seen, info) = pictures.reset(seed=seed), codes.reset(seed=seed)
        for action in rng.integers(pictures.n_actions, size=150):
            np.testing.assert_array_equal(seen, wanted["tiles"])
            assert codes.observation_space.contains(seen)
            assert {**info, "tiles": 0} == {**wanted, "tiles": 0}
            (_, *outcome, wanted), (seen, *same, info) = pictures.step(action), codes.step(action)
            assert outcome == same
            if outcome[1] or outcome[2]:
                break


@pytest.mark.parametrize("world", WORLDS)
def test_games_leave_the_environment_alone(world):
    env, twin = WORLDS[world](), WORLDS[world]()
    for one in (env, twin):
        one.reset(seed=1)
    env.side_by_side([2, 3]).step(np.array([1, 0]), np.array([2, 2]))
    for action in [0, 1, 2, 2] * 10:
        ours, theirs = env.step(action), twin.step(action)
        assert ours[1:4] == theirs[1:4]
        np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_array_equal(env.reset()[0], twin.reset()[0])


@pytest.mark.parametrize(("running", "actions", "message"), [
    ([0, 2], [0, 0], r"^games must be 2 whole numbers from 0 to 1, not array\(\[0, 2\]\)$"),
    ([-1], [0], "^games must be 1 whole numbers from 0 to 1"),
    ([0.0], [0], "^games must be 1 whole numbers from 0 to 1"),
    ([0, 1], [0, 8], r"^actions must be 2 whole numbers from 0 to 7, not array\(\[0, 8\]\)$"),
    ([1], [-1], "^actions must be 1 whole numbers from 0 to 7"),
    ([1], [2.5], "^actions must be 1 whole numbers from 0 to 7"),
    ([1], [np.nan], "^actions must be 1 whole numbers from 0 to 7"),
    ([0, 1], [0], "^actions must be 2 whole numbers from 0 to 7"),
    ([1], [[0]], "^actions must be 1 whole numbers from 0 to 7"),
])  # fmt: skip
def test_a_step_of_games_that_there_are_not_changes_nothing(running, actions, message):
    games = WORLDS["Sokoban 5x5-1"]().side_by_side([4, 5])
    before = games.codes.copy()
    with pytest.raises(ValueError, match=message):
        games.step(np.array(running), np.array(actions))
    np.testing.assert_array_equal(games.codes, before)
