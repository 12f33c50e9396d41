"""The voxel world against its plain twin and by hand; its goals; rewards; what an episode may begin with."""

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from envs.voxel.build import BLOCKS, VoxelBuild, small_voxel_build, voxel_build_env
from envs.voxel.kernels import BODY, BROKEN, FILLED, N_ACTIONS
from tests.envs.plain_voxel import PlainWorld

SMALL, PAPER = small_voxel_build(), VoxelBuild()
AHEAD, RIGHT, BACK, LEFT = range(4)
TWO = 4
"""Added to a move."""
TURN = {-90: 8, -45: 9, 45: 10, 90: 11}
UP, LEVEL, DOWN_30, DOWN_45, DOWN_60 = range(12, 17)
BREAK, STONE, WOOD, LAPIS = range(17, 21)
SQUARE = [(x, y) for x in range(2, 5) for y in range(2, 5) if (x, y) != (3, 3)]


def state(task=SMALL, at=(3, 3, 0), heading=0, pitch=1, blocks=()):
    """One state with stone at the cells (x, y, z)."""
    one = task.starts(1, None)[0]
    cells, pose = one[: task.cells].reshape(task.height, task.size, task.size), one[task.cells :]
    for x, y, z in blocks:
        cells[z, y, x] = 1
    pose[:3], pose[3], pose[4], pose[5] = at, heading, pitch, BLOCKS - len(blocks)
    task.check(one)
    return one


def take(one, *actions, task=SMALL):
    for action in actions:
        one = task.step(one[None], np.array([action]))[0]
    return one


def blocks(one, task=SMALL):
    """{(x, y, z): material}"""
    cells = one[: task.cells].reshape(task.height, task.size, task.size)
    return {(x, y, z): int(cells[z, y, x]) for z, y, x in np.argwhere(cells).tolist()}


def place(one, task=SMALL):
    return tuple(one[task.cells : task.cells + 3].tolist())


def random_state(task, rng, density):
    """Blocks anywhere, also in the air; the agent on top of what stands in its column."""
    one = task.starts(1, rng)[0]
    cells = one[: task.cells].reshape(task.height, task.size, task.size)
    cells[:] = rng.integers(1, 4, cells.shape) * (rng.random(cells.shape) < density)
    pose = one[task.cells :]
    x, y = rng.integers(task.size, size=2)
    z = int(np.append(cells[:, y, x] == 0, True).argmax())
    cells[z:, y, x] = 0
    pose[:5] = x, y, z, rng.integers(8), rng.integers(5)
    pose[5:] = BLOCKS - np.bincount(cells.ravel(), minlength=4)[1:].clip(max=BLOCKS)
    task.check(one)
    return one


# ---- steps -----------------------------------------------------------------------------------------------------------
@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([SMALL, VoxelBuild(size=5, height=3, sides=(3, 5), heights=(1, 3))]), st.integers(0, 2**32 - 1),
    st.floats(0, 0.6), st.lists(st.integers(0, N_ACTIONS - 1), min_size=20, max_size=40),
)  # fmt: skip
def test_steps_are_those_of_the_plain_twin_and_nothing_comes_from_nothing(task, seed, density, actions):
    """Nor do two worlds side by side disturb each other."""
    rng = np.random.default_rng(seed)
    states = np.stack([random_state(task, rng, density) for _ in range(2)])
    twins = [PlainWorld(one.tolist(), task.size, task.height) for one in states]
    for action in actions:
        both = np.array([action, rng.integers(N_ACTIONS)])
        before, kept = states, states.copy()
        states = task.step(states, both)
        assert np.array_equal(before, kept)
        for twin, one, then, act in zip(twins, states, before, both.tolist()):
            twin.step(act)
            assert one.tolist() == twin.state()
            cells, pose = one[: task.cells], one[task.cells :]
            assert (cells != then[: task.cells]).sum() <= (act >= BREAK)
            for material in (1, 2, 3):
                had = (then[: task.cells] == material).sum() + then[task.cells + 4 + material]
                assert (cells == material).sum() + pose[4 + material] == had
            task.check(one)  # in the arena, in no block, on something


def test_moves_turn_with_the_agent():
    north, east = {AHEAD: (0, 1), RIGHT: (1, 0), BACK: (0, -1), LEFT: (-1, 0)}, state(heading=2)
    for action, (dx, dy) in north.items():
        assert place(take(state(), action)) == (3 + dx, 3 + dy, 0)
        assert place(take(state(), action + TWO)) == (3 + 2 * dx, 3 + 2 * dy, 0)
        assert place(take(east, action)) == (3 + dy, 3 - dx, 0)
    assert place(take(state(), TURN[45], AHEAD + TWO)) == (5, 5, 0)
    assert place(take(state(), TURN[-45], RIGHT)) == (4, 4, 0)
    assert place(take(state(), TURN[-90], TURN[-90], AHEAD)) == (3, 2, 0)
    assert place(take(state(), TURN[90], TURN[45], AHEAD)) == (4, 2, 0)
    assert place(take(state(at=(5, 3, 0)), RIGHT + TWO)) == (6, 3, 0)  # as far as it goes


def test_one_block_is_climbed_and_two_are_not():
    step = state(blocks=[(3, 4, 0)])
    assert place(take(step, AHEAD)) == (3, 4, 1)
    assert place(take(step, AHEAD + TWO)) == (3, 5, 0)  # up, and down behind it
    assert place(take(state(blocks=[(3, 4, 0), (3, 4, 1)]), AHEAD + TWO)) == (3, 3, 0)
    stairs = [(3, 4, 0), (3, 5, 0), (3, 5, 1)]
    assert place(take(state(blocks=stairs), AHEAD + TWO)) == (3, 5, 2)  # on top of the arena
    assert place(take(state(blocks=stairs), AHEAD + TWO, AHEAD)) == (3, 6, 0)  # and a fall from there
    tall = VoxelBuild(size=7, sides=(3, 5))
    under = state(tall, blocks=[(3, 4, 0), (3, 3, 2)])  # a ceiling above the agent
    assert place(take(under, AHEAD, task=tall), tall) == (3, 3, 0)
    corner = state(tall, heading=1, blocks=[(4, 4, 0), (3, 3, 2)])
    assert place(take(corner, AHEAD, task=tall), tall) == (3, 3, 0)
    lintel = state(tall, blocks=[(3, 4, 0), (3, 4, 2)])
    assert place(take(lintel, AHEAD, task=tall), tall) == (3, 3, 0)
    assert place(take(state(tall, blocks=[(3, 4, 2)]), AHEAD, task=tall), tall) == (3, 4, 0)  # below it, there is room


def test_nobody_squeezes_between_two_blocks():
    pillar = [(3, 4, 0), (3, 4, 1)]
    assert place(take(state(heading=1, blocks=pillar), AHEAD)) == (3, 3, 0)
    assert place(take(state(heading=1, blocks=pillar[:1]), AHEAD)) == (4, 4, 0)  # over a corner that is low


def test_where_blocks_go():
    """By hand: the ray at 60 degrees meets the ground 0.94 ahead, at 45 1.62, at 30 2.81; along diagonals alike."""
    for pitch, ahead in ((DOWN_60, 1), (DOWN_45, 2), (DOWN_30, 3)):
        assert blocks(take(state(), pitch, WOOD)) == {(3, 3 + ahead, 0): 2}
    for pitch, ahead in ((DOWN_60, 1), (DOWN_45, 1), (DOWN_30, 2)):
        assert blocks(take(state(heading=3), pitch, LAPIS)) == {(3 + ahead, 3 - ahead, 0): 3}
    assert blocks(take(state(), DOWN_45, STONE, STONE, STONE)) == dict.fromkeys([(3, 5, 0), (3, 4, 0), (3, 4, 1)], 1)
    for pitch in (UP, LEVEL):
        assert blocks(take(state(), pitch, STONE)) == {}
    pillar = [(3, 6, 0), (3, 6, 1)]
    assert blocks(take(state(blocks=pillar), WOOD)) == dict.fromkeys(pillar, 1) | {(3, 5, 1): 2}  # in the air
    far = [(6, 6, 0), (6, 6, 1)]  # the ray enters (6, 6, 1) 3.54 away, and (0, 6, 1) 4.95
    assert len(blocks(take(state(heading=1, blocks=far), WOOD))) == 3
    assert len(blocks(take(state(at=(2, 2, 0), heading=1, blocks=far), WOOD))) == 2
    assert len(blocks(take(state(at=(3, 1, 0), blocks=[(3, 5, 0), (3, 5, 1)]), WOOD))) == 3  # 3.5
    assert len(blocks(take(state(at=(3, 1, 0), blocks=pillar), WOOD))) == 2  # 4.5


def test_where_no_block_goes():
    near = state(pitch=4, blocks=[(3, 4, 0)])  # its side is met, before it is the agent
    assert blocks(take(near, WOOD)) == {(3, 4, 0): 1}
    assert blocks(take(state(at=(3, 6, 0), pitch=4), WOOD)) == {}  # outside
    high = state(at=(3, 3, 1), pitch=2, blocks=[(3, 3, 0), (3, 4, 0), (3, 4, 1)])
    assert len(blocks(take(high, WOOD))) == 3  # above the arena
    empty = state(pitch=4)
    empty[SMALL.cells + 6] = 0
    assert blocks(take(empty, WOOD)) == {} and blocks(take(empty, STONE)) == {(3, 4, 0): 1}


def test_what_breaks():
    row = state(pitch=3, blocks=[(3, 4, 0), (3, 4, 1), (3, 5, 0)])
    once = take(row, BREAK)
    assert blocks(once).keys() == {(3, 4, 0), (3, 5, 0)} and once[SMALL.cells + 5] == row[SMALL.cells + 5] + 1
    assert blocks(take(row, BREAK, BREAK)).keys() == {(3, 5, 0)}
    gone = take(row, BREAK, BREAK, BREAK)
    assert blocks(gone) == {} and gone[SMALL.cells + 5] == BLOCKS
    assert np.array_equal(take(gone, BREAK), gone)  # the ground stays
    floating = state(blocks=[(3, 4, 0), (3, 4, 1)])
    assert blocks(take(floating, DOWN_60, BREAK)).keys() == {(3, 4, 1)}


@pytest.mark.parametrize("action", [-1, 21])
def test_unknown_actions(action):
    with pytest.raises(ValueError, match="actions must be 2 whole numbers from 0 to 20"):
        SMALL.step(SMALL.starts(2, None), np.array([0, action]))
    env = voxel_build_env()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="is not an action of"):
        env.step(action)


# ---- observations, distances and rewards -----------------------------------------------------------------------------
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.6))
def test_the_observation_says_what_the_twin_knows(seed, density):
    rng = np.random.default_rng(seed)
    states = np.stack([random_state(SMALL, rng, density) for _ in range(3)])
    observations = SMALL.observe(states)
    assert observations.dtype == np.float32 and observations.shape == (3, *SMALL.observation_shape)
    for one, seen in zip(states, observations):
        twin = PlainWorld(one.tolist(), 7, 2)
        block, cell = twin.aim()
        marks = dict.fromkeys(twin.body(), BODY) | ({block: BROKEN} if block else {}) | ({cell: FILLED} if cell else {})
        expected = np.zeros((2, 7, 7))
        for (x, y, z), mark in marks.items():
            if z < 2:
                expected[z, y, x] = mark
        assert np.array_equal(seen[SMALL.parts["build"]], one[:98])
        assert np.array_equal(seen[SMALL.parts["marks"]], expected.ravel())
        x, y, z, heading, pitch, *bag = one[98:].tolist()
        pose = [np.eye(n)[k] for n, k in ((7, x), (7, y), (3, z), (8, heading), (5, pitch))]
        np.testing.assert_allclose(seen[SMALL.parts["pose"]], [*np.concatenate(pose), *np.array(bag) / 64])
        assert np.array_equal(SMALL.achieved(one[None])[0], one[:98]) and SMALL.achieved(states).dtype == np.float32


def test_the_distance_is_the_number_of_cells_that_differ():
    rng = np.random.default_rng(0)
    a, b = rng.integers(4, size=(2, 3, 5, 98)).astype(np.float32)
    b[1, 2] = a[1, 2]
    distance = SMALL.distance(a, b)
    pairs = [[sum(x != y for x, y in zip(a[i, j].tolist(), b[i, j].tolist())) for j in range(5)] for i in range(3)]
    assert distance.tolist() == pairs and distance.dtype == np.float64
    assert SMALL.distance(a[0, 0], b).shape == (3, 5)
    assert np.argwhere(SMALL.success(a, b)).tolist() == [[1, 2]]


def test_rewards_are_changes_of_the_distance_and_the_last_block_ends_the_episode():
    env = gymnasium.make("envs:VoxelBuildSmall-v0")
    goal = np.zeros((2, 7, 7), np.float32)
    for x, y in SQUARE:
        goal[0, y, x] = 2
    most = [(x, y, 0) for x, y in SQUARE if (x, y) != (3, 4)]
    begun = state(pitch=4, blocks=most)
    begun[:98] *= 2
    begun[98 + 5 : 98 + 7] = 64, 57
    env.reset(seed=0, options={"state": begun, "goal": goal.ravel()})
    rewards = []
    for action in (LEFT, RIGHT, STONE, DOWN_45, BREAK, BREAK, DOWN_60, LAPIS):
        seen, reward, *over, info = env.step(action)
        rewards.append(reward)
        assert over == [False, False] and not info["is_success"]
    # stone where wood belongs is as wrong as air; so is taking it away, and the next break is one in the void
    assert rewards == [0, 0, 0, 0, 0, 0, 0, 0]
    for action in (DOWN_45, BREAK, DOWN_60, WOOD):
        seen, reward, *over, info = env.step(action)
    assert reward == 1 and over == [True, False] and info["is_success"]
    goals = np.stack([seen["desired_goal"], np.zeros(98, np.float32)])
    again = env.unwrapped.compute_reward(seen["achieved_goal"], goals, info)
    assert again.tolist() == [1, -1] and again.dtype == np.float64
    assert env.unwrapped.compute_distance(seen["achieved_goal"], goals).tolist() == [0, 8]
    with pytest.raises(ValueError, match="achieved_before"):
        env.unwrapped.compute_reward(seen["achieved_goal"], goals, {})


def test_rewards_of_an_episode_add_up_to_what_was_gained():
    env = gymnasium.make("envs:VoxelBuildSmall-v0", max_steps=300)
    seen, _ = env.reset(seed=3)
    first = env.unwrapped.compute_distance(seen["achieved_goal"], seen["desired_goal"])
    rng, total, kinds = np.random.default_rng(0), 0.0, set()
    for step in range(300):
        seen, reward, terminated, truncated, _ = env.step(int(rng.integers(N_ACTIONS)))
        total, kinds = total + reward, kinds | {reward}
        assert truncated == (step == 299) and not terminated
    assert total == first - env.unwrapped.compute_distance(seen["achieved_goal"], seen["desired_goal"])
    assert kinds == {-1.0, 0.0, 1.0}


# ---- starts and goals ------------------------------------------------------------------------------------------------
def test_the_paper_has_4806_goals():
    """All different, each a rectangle of one material and one cell thick, as counted by hand for the smallest."""
    goals = PAPER.every_goal
    assert goals.shape == (4806, 3, 11, 11) and len(np.unique(goals.reshape(4806, -1), axis=0)) == 4806
    sizes = (goals != 0).sum(axis=(1, 2, 3))
    assert sizes.min() == 12 and sizes.max() == 34
    assert (sizes == 12).sum() == 3 * 64  # 4 x 4, one block high, at 8 x 8 places
    assert not goals[:, 2].any() and goals[:, 1].any(axis=(1, 2)).sum() == 3 * 321
    for goal in goals[::37]:
        levels = [level for level in goal if level.any()]
        assert all(np.array_equal(level, levels[0]) for level in levels) and len(np.unique(goal)) == 2
        ys, xs = np.nonzero(levels[0])
        inner = levels[0][ys.min() + 1 : ys.max(), xs.min() + 1 : xs.max()]
        assert not inner.any() and min(np.ptp(xs), np.ptp(ys)) >= 3
        assert len(xs) == 2 * (np.ptp(xs) + np.ptp(ys))


def test_goals_of_the_small_arena_and_all_alike_likely():
    assert SMALL.every_goal.shape == (432, 2, 7, 7) and not SMALL.every_goal[:, 1].any()
    goals = SMALL.goals(8_640, np.random.default_rng(0))
    assert goals.dtype == np.float32 and goals.shape == (8_640, 98)
    _, counts = np.unique(goals, axis=0, return_counts=True)
    assert len(counts) == 432 and chisquare(counts).pvalue > 1e-3
    assert SMALL.contains(goals[0]) and not SMALL.contains(goals[0] / 2)


def test_starts():
    starts = PAPER.starts(2, None)
    assert starts.shape == (2, 371) and not starts[:, :363].any()
    assert starts[1, 363:].tolist() == [5, 5, 0, 0, 1, 64, 64, 64]
    PAPER.check(starts[0])


# ---- bad input -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("settings", "words"), [
    (dict(size=7), "the arena of 7 x 7 cells is too small for goals with sides of up to 11"),
    (dict(size=2), "size must be 3 to 32 and height 1 to 8, not 2 and 3"),
    (dict(height=0), "size must be 3 to 32 and height 1 to 8, not 11 and 0"),
    (dict(height=1), r"heights must be from, to within 1 to 1, the arena's height, not \(1, 2\)"),
    (dict(sides=(2, 4)), "3 <= from <= to"),
    (dict(sides=(5, 4)), "3 <= from <= to"),
    (dict(most_blocks=11), "no goal has at most 11 blocks: the smallest has 12"),
    (dict(most_blocks=65), "most_blocks must be at most 64, what the agent has, not 65"),
    (dict(max_steps=0), "max_steps must be at least 1, not 0"),
])  # fmt: skip
def test_worlds_that_cannot_be(settings, words):
    with pytest.raises(ValueError, match=words) as caught:
        VoxelBuild(**settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("options", "words"), [
    (dict(goals=1), r"unknown reset options \['goals'\]; choose from: state, goal"),
    (dict(goal=np.zeros(97)), r"goal must have the shape \(98,\), not \(97,\)"),
    (dict(goal=np.full(98, 0.5)), "a goal has 98 cells, 0 to 3"),
    (dict(goal=np.full(98, 1)), "at most 64 of each material"),
    (dict(state=np.zeros(98)), r"state must have the shape \(106,\), not \(98,\)"),
    (dict(state=np.append(np.zeros(98), [7, 0, 0, 0, 0, 0, 0, 0])), "impossible pose"),
    (dict(state=np.append(np.zeros(98), [0, 0, 0, 0, 0, 0, 0, -1])), "state must be numbers of the type uint8"),
    (dict(state=np.append(np.zeros(98), [0, 0, 1, 0, 0, 0, 0, 0])), "stand on something"),
    (dict(state=np.append(np.ones(98), [0, 0, 0, 0, 0, 0, 0, 0])), "two free cells"),
    (dict(state=np.append(np.full(98, 4), [0, 0, 2, 0, 0, 0, 0, 0])), "cells are 0 to 3, not 4"),
])  # fmt: skip
def test_a_refused_reset_changes_nothing(options, words):
    env = gymnasium.make("envs:VoxelBuildSmall-v0").unwrapped
    env.reset(seed=0)
    env.step(0)
    before, goal, stream = env.state.copy(), env.goal.copy(), env.np_random.bit_generator.state
    with pytest.raises(ValueError, match=words) as caught:
        env.reset(options=options)
    assert "\n" not in str(caught.value)
    assert np.array_equal(env.state, before) and np.array_equal(env.goal, goal)
    assert env.np_random.bit_generator.state == stream


def test_a_pose_that_cannot_be_is_no_start_of_a_step():
    outside = SMALL.starts(1, None)
    outside[0, 98] = 7
    with pytest.raises(ValueError, match="cannot take action"):
        SMALL.step(outside, np.array([0]))


@pytest.mark.parametrize(("arguments", "words"), [
    (dict(picture=(4, 4)), "picture must be rows and columns, each 8 to 1024"),
    (dict(picture=(80, 120, 3)), "picture must be rows and columns"),
])  # fmt: skip
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        voxel_build_env(**arguments)
