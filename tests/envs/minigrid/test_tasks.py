"""The tasks against minigrid's games and pictures, their rewards on constructed levels, and gymnasium's contract."""

import gymnasium as gym
import numpy as np
import pytest
from minigrid.core.grid import Grid
from minigrid.core.world_object import Goal, Lava
from scipy import stats

from envs.minigrid.rules import CARRIED, CELL, DIRECTION, FLOOR, STEPS
from envs.minigrid.tasks import TASKS, TILE, MiniGridTask, tile_sheet
from tests.envs.plain_minigrid import FORWARD, PlainMiniGrid

LEFT, RIGHT, AHEAD, PICKUP, DROP, TOGGLE, DONE = range(7)
EAST, SOUTH, WEST, NORTH = range(4)

# Independent of the code under test: minigrid's registered ids, and the limits they had when the paper was written.
IDS = {
    "DoorKey": ("MiniGrid-DoorKey-6x6-v0", 360),
    "Unlock": ("MiniGrid-Unlock-v0", 288),
    "RedBlueDoors": ("MiniGrid-RedBlueDoors-6x6-v0", 720),
    "SimpleCrossing-Easy": ("MiniGrid-SimpleCrossingS9N1-v0", 324),
    "SimpleCrossing-Hard": ("MiniGrid-SimpleCrossingS9N2-v0", 324),
    "LavaCrossing-Easy": ("MiniGrid-LavaCrossingS9N1-v0", 324),
    "LavaCrossing-Hard": ("MiniGrid-LavaCrossingS9N2-v0", 324),
}


def busy(twin: PlainMiniGrid, n_actions: int, rng: np.random.Generator) -> int:
    """A random action, but hands and doors are used more often than chance would."""
    thing = twin.ahead()
    if n_actions == 7 and rng.random() < 0.5:
        if thing is not None and thing.type == "key":
            return PICKUP
        if thing is not None and thing.type == "door":
            return TOGGLE
        if thing is None and twin.game.carrying is not None and rng.random() < 0.1:
            return DROP
    return AHEAD if rng.random() < 0.3 else int(rng.integers(n_actions))


def resized(picture: np.ndarray) -> np.ndarray:
    """Nearest neighbour to 40 x 40: source = floor(i * source size / 40)."""
    height, width, _ = picture.shape
    return picture[[i * height // 40 for i in range(40)]][:, [j * width // 40 for j in range(40)]]


def begin(env: MiniGridTask) -> None:
    """An episode on the level that minigrid's game has now, after it was changed by hand."""
    env._begin(env.game, env._codes, env._state)


def crossing(thing=None, task="SimpleCrossing-Easy", goal=(7, 7), agent=(1, 1, EAST), **settings) -> MiniGridTask:
    """An empty 9 x 9 room with the goal at ``goal``, the agent as given, and ``thing`` at (3, 1)."""
    env = MiniGridTask(task, **settings)
    env.reset(seed=0)
    game = env.game
    game.grid = Grid(9, 9)
    game.grid.wall_rect(0, 0, 9, 9)
    game.put_obj(Goal(), *goal)
    game.goal_position = goal
    if thing is not None:
        game.put_obj(thing, 3, 1)
    game.agent_pos, game.agent_dir = np.array(agent[:2]), agent[2]
    begin(env)
    return env


def place(env: MiniGridTask, x: int, y: int, direction: int) -> None:
    """Put the agent somewhere else in the middle of an episode."""
    cells, state = env._codes.ravel(), env._state
    cells[state[CELL]] -= state[DIRECTION] + 1
    state[CELL], state[DIRECTION] = y * env.game.width + x, direction
    cells[state[CELL]] += direction + 1


def play(env: MiniGridTask, *actions: int) -> list[tuple[float, bool, bool, bool]]:
    """(reward, terminated, truncated, success) of each action."""
    log = []
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        log.append((reward, terminated, truncated, info["success"]))
    return log


NOTHING = (-1.0, False, False, False)
"""What a step brings as a rule."""


# --- pictures --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", TASKS)
def test_every_pixel_is_minigrids_own(task):
    """Against the registered minigrid environment, played in parallel: same levels, same game, same picture."""
    name = IDS[task][0]
    env, twin = MiniGridTask(task), gym.make(name, highlight=False).unwrapped
    rng = np.random.default_rng(1)
    met = set()
    for seed in range(8 if task == "Unlock" else 4):
        frame, info = env.reset(seed=seed)
        twin.reset(seed=seed)
        ended = False
        for _ in range(120):
            picture = twin.get_frame(highlight=False, tile_size=TILE)
            np.testing.assert_array_equal(frame, resized(picture))
            np.testing.assert_array_equal(env.tiles[info["tiles"]].swapaxes(1, 2).reshape(picture.shape), picture)
            if ended:
                break
            action = busy(PlainMiniGrid(twin), env.n_actions, rng)
            carried = twin.carrying
            frame, _, terminated, truncated, info = env.step(action)
            _, native_reward, *native_end, _ = twin.step(action)
            ended = terminated or truncated
            assert [terminated, truncated] == native_end
            assert info["success"] == (native_reward > 0)
            if carried is None and twin.carrying is not None:
                met.add("picked up")
            if carried is not None and twin.carrying is None:
                met.add("dropped")
            doors = [thing for thing in twin.grid.grid if thing is not None and thing.type == "door"]
            met.update("opened" for door in doors if door.is_open)
            met.update("closed again" for door in doors if "opened" in met and not door.is_open)
            at_agent = twin.grid.get(*twin.agent_pos)
            met.add("on " + at_agent.type if at_agent is not None else "on the floor")
    # The comparison is only worth something if these have been drawn.
    expected = {"on the floor"}
    expected |= {"picked up", "dropped", "opened"} if task in ("DoorKey", "Unlock") else set()
    expected |= {"opened", "closed again"} if task == "RedBlueDoors" else set()
    expected |= {"on lava"} if "Lava" in task else set()
    assert expected <= met


@pytest.mark.parametrize("task", TASKS)
def test_no_two_states_of_a_level_share_a_picture(task):
    """All cells and directions, under every state of the doors: 40 x 40 pixels leave out none of them. Agents in
    doorways, too, look as minigrid draws them."""
    env = MiniGridTask(task)
    env.reset(seed=3)
    game = env.game
    doors = [thing for thing in game.grid.grid if thing is not None and thing.type == "door"]
    pictures, states = set(), 0
    for is_open, is_locked in ((False, True), (False, False), (True, False)) if doors else ((False, False),):
        for door in doors:
            door.is_open, door.is_locked = is_open, is_locked
        begin(env)
        for x in range(game.width):
            for y in range(game.height):
                thing = game.grid.get(x, y)
                if thing is None or thing.can_overlap():
                    for direction in range(4):
                        place(env, x, y, direction)
                        pictures.add(env._observe().tobytes())
                        states += 1
                        if thing is not None:
                            drawn = game.grid.render(TILE, (x, y), direction)
                            np.testing.assert_array_equal(env._observe(), resized(drawn))
    assert len(pictures) == states > 50


def test_render_is_the_picture_before_it_is_resized():
    env = MiniGridTask("Unlock", render_mode="rgb_array")
    env.reset(seed=5)
    picture = env.game.grid.render(TILE, env.game.agent_pos, env.game.agent_dir)
    assert env.render().shape == (4 * 48, 4 * 88, 3)
    np.testing.assert_array_equal(env.render()[::4, ::4], picture)
    np.testing.assert_array_equal(env.render()[3::4, 3::4], picture)
    assert MiniGridTask("Unlock").render() is None


def test_tile_codes_fit_in_a_byte_and_name_one_picture_each():
    tiles, code_of = tile_sheet()
    assert tiles.dtype == np.uint8
    assert len(set(code_of.values())) == len(code_of) <= len(tiles) <= 256
    assert len({tile.tobytes() for tile in tiles}) == len(tiles)


# --- errors ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("arguments", "message"), [
    ({"task": "Crossing"}, "unknown task 'Crossing'; choose from: DoorKey, Unlock"),
    ({"task": "Unlock", "pseudo_terminal": True}, "crossing tasks only, not for Unlock"),
    ({"task": "DoorKey", "random_action_probability": 1.5}, r"must lie in \[0, 1\], not 1.5"),
    ({"task": "DoorKey", "random_action_probability": -0.1}, r"must lie in \[0, 1\], not -0.1"),
    ({"task": "DoorKey", "n_actions": 2}, "n_actions must lie in 3..7, not 2"),
    ({"task": "DoorKey", "n_actions": 0}, "n_actions must lie in 3..7, not 0"),
    ({"task": "DoorKey", "n_actions": 8}, "n_actions must lie in 3..7, not 8"),
    ({"task": "DoorKey", "observation": "tiles"}, "observation must be 'picture' or 'codes', not 'tiles'"),
])  # fmt: skip
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        MiniGridTask(**arguments)


# --- rewards and ends ------------------------------------------------------------------------------------------------
def test_a_crossing_costs_1_per_step_and_pays_maxsteps_at_the_goal():
    env = crossing(goal=(3, 2))
    # bump into the upper wall, turn back, two ahead, turn down, one ahead
    assert play(env, LEFT, AHEAD, RIGHT, AHEAD, AHEAD, RIGHT) == [NOTHING] * 6
    assert play(env, AHEAD) == [(324.0, True, False, True)]


@pytest.mark.parametrize("task", ["LavaCrossing-Easy", "LavaCrossing-Hard"])
def test_lava_is_fatal(task):
    env = crossing(Lava(), task)
    assert play(env, AHEAD, AHEAD) == [NOTHING, (-324.0, True, False, False)]


@pytest.mark.parametrize("task", TASKS)
def test_a_time_out_is_truncated_and_costs_like_any_step(task):
    env = MiniGridTask(task)
    env.reset(seed=0)
    limit = IDS[task][1]
    ends = [NOTHING] * (limit - 1) + [(-1.0, False, True, False)]
    assert play(env, *[LEFT] * limit) == ends


@pytest.mark.parametrize(("thing", "reward", "success"), [(Goal, 324.0, True), (Lava, -324.0, False)])
def test_an_end_on_the_very_last_step_counts_as_terminated(thing, reward, success):
    env = crossing(thing(), "LavaCrossing-Easy")
    env._state[STEPS] = env.max_steps - 2
    assert play(env, AHEAD, AHEAD) == [NOTHING, (reward, True, False, success)]


def _beside(env: MiniGridTask, kind: str, color: str | None = None) -> None:
    """Put the agent before a door (or key), with its face towards it."""
    game = env.game
    for x in range(game.width):
        for y in range(game.height):
            thing = game.grid.get(x, y)
            if thing is not None and thing.type == kind and color in (None, thing.color):
                for direction in (EAST, WEST, NORTH, SOUTH):
                    dx, dy = FORWARD[direction]
                    if game.grid.get(x - dx, y - dy) is None:
                        return place(env, x - dx, y - dy, direction)
    raise AssertionError(f"no {kind} that can be reached")


@pytest.mark.parametrize("n_actions", [6, 7])
def test_unlock_needs_the_key_and_ends_with_the_open_door(n_actions):
    env = MiniGridTask("Unlock", n_actions)
    env.reset(seed=4)
    _beside(env, "door")
    assert play(env, TOGGLE, AHEAD) == [NOTHING] * 2
    _beside(env, "key")
    assert play(env, PICKUP) == [NOTHING]
    assert env._state[CARRIED] != FLOOR
    _beside(env, "door")
    assert play(env, TOGGLE) == [(288.0, True, False, True)]


def test_doorkey_is_won_at_the_goal_behind_the_door():
    env = MiniGridTask("DoorKey")
    env.reset(seed=4)
    _beside(env, "key")
    play(env, PICKUP)
    _beside(env, "door")
    assert play(env, TOGGLE, TOGGLE, TOGGLE) == [NOTHING] * 3  # unlocked and open, closed, open
    assert play(env, AHEAD, AHEAD) == [NOTHING] * 2  # through it
    place(env, 4, 3, SOUTH)
    assert play(env, AHEAD) == [(360.0, True, False, True)]


@pytest.mark.parametrize(("doors", "last"), [
    (["red", "blue"], (720.0, True, False, True)),
    (["blue"], (-720.0, True, False, False)),
    (["red", "red", "blue"], (-720.0, True, False, False)),  # opened, and closed again
])  # fmt: skip
def test_red_then_blue_wins_and_any_other_order_is_fatal(doors, last):
    env = MiniGridTask("RedBlueDoors")
    env.reset(seed=1)
    log = []
    for color in doors:
        _beside(env, "door", color)
        log += play(env, DONE, TOGGLE)
    assert log == [NOTHING] * (2 * len(doors) - 1) + [last]


def test_red_after_blue_is_fatal():
    """Cannot be reached by play, since the blue door ends the episode; the rule holds all the same."""
    env = MiniGridTask("RedBlueDoors")
    env.reset(seed=1)
    env.game.blue_door.is_open = True
    begin(env)
    _beside(env, "door", "red")
    assert play(env, TOGGLE) == [(-720.0, True, False, False)]


# --- variants --------------------------------------------------------------------------------------------------------
def _turns(probability: float, steps: int, n_actions: int | None = None) -> np.ndarray:
    """How often a left turn became a left turn, a right turn or anything else, on a level without a goal in reach."""
    env = crossing(random_action_probability=probability, n_actions=n_actions)
    counts = np.zeros(3, int)
    for _ in range(steps):
        before = int(env._state[DIRECTION])
        place(env, 4, 4, before)
        env._state[STEPS] = 0
        env.step(LEFT)
        counts[{3: 0, 1: 1, 0: 2}[int(env._state[DIRECTION] - before) % 4]] += 1
    return counts


def test_every_tenth_action_is_replaced_by_any_of_the_actions():
    steps = 20_000
    counts = _turns(0.1, steps)
    # a third of the replacements is the action itself
    assert stats.chisquare(counts, steps * np.array([0.9 + 0.1 / 3, 0.1 / 3, 0.1 / 3])).pvalue > 0.001
    assert stats.chisquare(_turns(1.0, 6000, n_actions=6), 6000 * np.array([1, 1, 4]) / 6).pvalue > 0.001
    assert _turns(0.0, 500).tolist() == [500, 0, 0]


def test_a_goal_that_does_not_end_the_episode():
    env = crossing(goal=(3, 1), pseudo_terminal=True)
    assert play(env, AHEAD) == [NOTHING]
    assert play(env, AHEAD) == [(324.0, False, False, True)]  # entering
    assert play(env, LEFT, AHEAD, LEFT) == [(0.0, False, False, False)] * 3  # turning, bumping into the wall, turning
    assert play(env, AHEAD) == [(-324.0, False, False, False)]  # leaving
    assert play(env, LEFT, LEFT) == [NOTHING] * 2
    assert play(env, AHEAD) == [(324.0, False, False, True)]  # and back again
    env._state[STEPS] = env.max_steps - 1
    assert play(env, LEFT) == [(0.0, False, True, False)]


@pytest.mark.parametrize(("start", "goal", "step_count", "log"), [
    ((2, 1, EAST), (7, 7), 0, [(-324.0, True, False, False)]),  # into lava,
    ((2, 1, EAST), (7, 7), 323, [(-324.0, True, False, False)]),  # also on the last step,
    ((1, 1, EAST), (2, 1), 0, [(324.0, False, False, True), (-324.0, True, False, False)]),  # and from the goal
    ((1, 1, EAST), (2, 1), 323, [(324.0, False, True, True)]),  # onto the goal on the last step
])  # fmt: skip
def test_ends_of_the_endless_task(start, goal, step_count, log):
    env = crossing(Lava(), "LavaCrossing-Easy", goal, start, pseudo_terminal=True)
    env._state[STEPS] = step_count
    assert play(env, *[AHEAD] * len(log)) == log


def test_a_step_needs_a_reset():
    env = MiniGridTask("DoorKey", render_mode="rgb_array")
    assert env.render() is None
    with pytest.raises(RuntimeError, match=r"^call reset\(\) before step\(\)$"):
        env.step(AHEAD)
