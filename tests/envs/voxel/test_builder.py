"""Every goal can be built in time: the scripted builder does it."""

import numpy as np
import pytest

from envs.voxel.build import VoxelBuild, small_voxel_build
from envs.voxel.builder import plan


@pytest.mark.parametrize(("task", "longest"), [(small_voxel_build(), 39), (VoxelBuild(), 76)], ids=["small", "paper's"])
def test_every_goal_is_built_in_time(task, longest):
    """All of them, side by side; the materials differ in nothing but the action that places them."""
    goals = task.every_goal.reshape(len(task.every_goal), -1)
    shapes = goals[: len(goals) // 3]
    start = task.starts(1, None)[0]
    plans = [plan(task, start, goal) for goal in shapes]
    assert max(map(len, plans)) == longest <= task.max_steps
    actions = np.full((len(shapes), longest), -1)
    for row, one in zip(actions, plans):
        row[: len(one)] = one
    for material in range(3):
        wanted = goals[material * len(shapes) : (material + 1) * len(shapes)]
        assert np.array_equal(wanted, shapes * np.uint8(material + 1))
        if material == 1:
            assert plan(task, start, wanted[7]) == [18 + 1 if action == 18 else action for action in plans[7]]
        states = task.starts(len(shapes), None)
        for column in np.where(actions == 18, 18 + material, actions).T:
            busy = column >= 0
            states[busy] = task.step(states[busy], column[busy])
        assert task.success(task.achieved(states), wanted).all()


def test_it_begins_anywhere():
    task, rng = small_voxel_build(max_steps=60), np.random.default_rng(0)
    for goal in task.goals(100, rng):
        states = task.starts(1, rng)
        states[0, task.cells : task.cells + 5] = [*rng.integers(7, size=2), 0, rng.integers(8), rng.integers(5)]
        for action in plan(task, states[0], goal):
            states = task.step(states, np.array([action]))
        assert task.success(task.achieved(states), goal[None]).all()


def test_what_it_does_not_build():
    task = small_voxel_build()
    start, goal = task.starts(1, None)[0], task.every_goal[0].reshape(-1).astype(np.float32)
    missing, mixed, begun = goal.copy(), goal.copy(), start.copy()
    missing[np.flatnonzero(goal)[0]] = 0
    mixed[np.flatnonzero(goal)[0]] = 2
    begun[0] = 1
    for state, wish in ((start, missing), (start, mixed), (start, 0 * goal), (begun, goal)):
        with pytest.raises(ValueError, match="needs an empty arena"):
            plan(task, state, wish)
