"""The construction task by name, its view, and what cannot be."""

import numpy as np
import pytest

from envs.voxel.build import VoxelBuild, small_voxel_build
from lab.run.errors import UserError
from papers.sibling_rivalry.construction.task import make_build


@pytest.mark.parametrize(("env", "same"), [("VoxelBuild", VoxelBuild()), ("VoxelBuildSmall", small_voxel_build())])
def test_names_are_those_of_the_environments(env, same):
    task = make_build(env, size=None)
    np.testing.assert_array_equal(task.every_goal, same.every_goal)
    assert (task.max_steps, task.observation_shape) == (same.max_steps, same.observation_shape)


def test_what_is_asked_for_changes_and_nothing_else():
    task = make_build("VoxelBuildSmall", size=5, sides=(3, 4), max_steps=9)
    assert (task.size, task.height, task.max_steps) == (5, 2, 9)
    assert task.every_goal[0].sum() == 8 and (task.every_goal > 0).sum(axis=(1, 2, 3)).max() == 12


def test_the_view_follows_what_is_seen_without_it():
    plain, seeing = make_build("VoxelBuildSmall"), make_build("VoxelBuildSmall", (8, 12))
    rng = np.random.default_rng(0)
    states = plain.starts(6, rng)
    for _ in range(15):
        states = plain.step(states, rng.integers(21, size=6))
    seen = seeing.observe(states)
    assert seen.shape == (6, *seeing.observation_shape) and seen.dtype == np.float32
    for name, part in plain.parts.items():
        np.testing.assert_array_equal(seen[:, seeing.parts[name]], plain.observe(states)[:, part])
    pictures = seen[:, seeing.parts["picture"]].reshape(6, 8, 12, 3)
    np.testing.assert_array_equal(np.round(pictures * 255), plain.look(states, 8, 12))
    low, high, *_ = seeing.bounds()
    assert (low <= seen).all() and (seen <= high).all()


@pytest.mark.parametrize(("settings", "words"), [
    (dict(env="Minecraft"), "unknown env 'Minecraft'; choose from: VoxelBuild, VoxelBuildSmall"),
    (dict(size=4), "env 'VoxelBuildSmall': the arena of 4 x 4 cells is too small for goals with sides of up to 5"),
    (dict(most_blocks=7), "no goal has at most 7 blocks: the smallest has 8"),
    (dict(max_steps=0), "max_steps must be at least 1"),
    (dict(picture=(4, 4)), "picture must be rows and columns"),
])  # fmt: skip
def test_what_cannot_be_costs_one_line(settings, words):
    with pytest.raises(UserError, match=words) as error:
        make_build(**{"env": "VoxelBuildSmall"} | settings)
    assert "\n" not in str(error.value)
