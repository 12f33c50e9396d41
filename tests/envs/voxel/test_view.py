"""Pictures of the voxel world: the agent's against rays marched in small steps, and the people's."""

import math

import numpy as np
import pytest

from envs.voxel.build import VoxelBuild, small_voxel_build
from envs.voxel.eye import COLOURS, CROSS, FLOOR, FRAME, MEADOW, OTHER_FLOOR, SHADES
from envs.voxel.view import COAT, HEIGHT, WIDTH, WRONG
from tests.envs.plain_voxel import PlainWorld
from tests.envs.voxel.test_build import SQUARE, random_state, state

SMALL = small_voxel_build()


def marched(world, row, column, rows, columns):
    """What a pixel shows: a cell (x, y, z), "floor", "meadow" or "sky"; and, of a cell, the axis across its face."""
    angle, pitch = math.radians(world.angle), math.radians(world.pitch)
    ahead = np.array([math.sin(angle) * math.cos(pitch), math.cos(angle) * math.cos(pitch), -math.sin(pitch)])
    right = np.array([math.cos(angle), -math.sin(angle), 0.0])
    up = np.cross(right, ahead)
    half = math.tan(math.radians(35))
    u, v = ((column + 0.5) / columns * 2 - 1) * half * columns / rows, (1 - (row + 0.5) / rows * 2) * half
    way = ahead + u * right + v * up
    points = np.array([world.x + 0.5, world.y + 0.5, world.z + 1.62]) + np.arange(0, 11, 0.005)[:, None] * way
    before = None
    for point in np.floor(points).astype(int).tolist():
        if tuple(point) in world.blocks:
            return tuple(point), [a != b for a, b in zip(point, before)].index(True)
        if point[2] < 0:
            return "floor" if 0 <= min(point[:2]) and max(point[:2]) < world.size else "meadow", None
        before = point
    return "meadow" if way[2] < 0 else "sky", None


def test_the_agents_picture_is_what_rays_meet():
    """But for a few that graze an edge, where small steps are too large."""
    rng, rows, columns = np.random.default_rng(0), 12, 16
    wrong = total = 0
    met = set()
    for k in range(6):
        one = random_state(SMALL, rng, 0.05 + 0.04 * k)
        picture = SMALL.look(one[None], rows, columns)[0]
        world = PlainWorld(one.tolist(), 7, 2)
        aimed, _ = world.aim()
        for row in range(rows):
            for column in range(columns):
                colour = tuple(picture[row, column].tolist())
                if row in (5, 6) and column in (7, 8):
                    assert colour == CROSS
                    continue
                thing, axis = marched(world, row, column, rows, columns)
                met.add(thing if isinstance(thing, str) else "block")
                if isinstance(thing, tuple):
                    colours = COLOURS[world.blocks[thing] - 1]
                    right = {tuple((colours * (SHADES[axis] * edge)).astype(int).tolist()) for edge in (1, 0.8)}
                    right |= {FRAME} if thing == aimed else set()
                else:
                    right = {"floor": {FLOOR, OTHER_FLOOR}, "meadow": {MEADOW}, "sky": set()}[thing]
                wrong += colour not in right if right else not colour[0] < colour[1] < colour[2]
                total += 1
    assert wrong <= 0.01 * total and met == {"block", "floor", "meadow", "sky"}


def test_the_agents_picture_turns_to_the_right():
    """Stone to the east is right of one that looks to the north-east, left of one that looks to the south-east."""
    east = [(5, 3, 0), (5, 3, 1)]
    for heading, side in ((1, slice(24, None)), (3, slice(0, 24))):
        picture = SMALL.look(state(heading=heading, blocks=east)[None], 32, 48)[0]
        grey = (np.ptp(picture.astype(int), axis=-1) < 25) & (picture.mean(axis=-1) < 150)
        assert grey.sum() > 40 and grey[:, side].sum() == grey.sum()


def test_only_the_block_that_is_aimed_at_is_framed():
    near, far = (state(pitch=1, at=(3, y, 0), blocks=[(3, 5, 0), (3, 5, 1)]) for y in (3, 0))
    framed = [(SMALL.look(one[None], 64, 64) == FRAME).all(axis=-1).any() for one in (near, far)]
    assert framed == [True, False]


def red(picture):
    """Where the left part shows the red of what is wrong: rows and columns."""
    return np.nonzero(np.abs(picture[:, :480].astype(int) - WRONG).max(axis=-1) < 12)


@pytest.mark.parametrize("task", [SMALL, VoxelBuild()], ids=["small", "paper's"])
def test_the_picture_marks_what_is_wrong(task):
    goal = np.zeros((task.height, task.size, task.size), np.float32)
    for x, y in SQUARE:
        goal[0, y, x] = 1
    right = state(task, at=(0, 0, 0), blocks=[(x, y, 0) for x, y in SQUARE])
    missing = state(task, at=(0, 0, 0), blocks=[(x, y, 0) for x, y in SQUARE[1:]])
    extra = state(task, at=(0, 0, 0), blocks=[*((x, y, 0) for x, y in SQUARE), (6, 0, 0)])
    pictures = [task.picture(one, goal.ravel()) for one in (right, missing, extra)]
    for picture in pictures:
        assert picture.shape == (HEIGHT, WIDTH, 3) and picture.dtype == np.uint8
        assert (np.abs(picture.astype(int) - COAT).max(axis=-1) < 60).any()
    assert len({picture.tobytes() for picture in pictures}) == 3
    assert [len(red(picture)[0]) > 0 for picture in pictures] == [False, False, True]
    rows, columns = red(pictures[2])  # the top of a block is the upper half of what is seen of it
    centre = rows.min() + np.ptp(rows) // 4, columns.min() + np.ptp(columns) // 2
    assert (np.hypot(rows - centre[0], columns - centre[1]) < 2).any(), "no cross on it"
    assert np.array_equal(task.picture(right, goal.ravel()), pictures[0])
