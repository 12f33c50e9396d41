"""The kernel against minigrid's own games, step by step: on its levels, and on levels that it does not make."""

from copy import copy

import gymnasium as gym
import numpy as np
import pytest
from minigrid.core.constants import COLOR_NAMES
from minigrid.core.grid import Grid
from minigrid.core.world_object import Door, Goal, Key, Lava, Wall

from envs.minigrid import rules as rules
from envs.minigrid.tasks import TASKS, MiniGridTask
from tests.envs.minigrid.test_tasks import IDS, begin
from tests.envs.plain_minigrid import PlainMiniGrid, code

LEFT, RIGHT, AHEAD, PICKUP, DROP, TOGGLE, DONE = range(7)
VARIANTS = [
    *((task, {"n_actions": 7}) for task in TASKS),
    *((task, {"n_actions": 7, "pseudo_terminal": True}) for task in TASKS if "Crossing" in task),
]
NAMES = [task + (" pseudo-terminal" if "pseudo_terminal" in given else "") for task, given in VARIANTS]


def event(twin: PlainMiniGrid, action: int) -> str:
    """What this action is about to do, by minigrid's rules, in a few words."""
    thing, carried = twin.ahead(), twin.game.carrying
    kind = "floor" if thing is None else thing.type
    if action == AHEAD:
        return f"walk into {kind}" + (" open" if kind == "door" and thing.is_open else "")
    if action == PICKUP and kind == "key":
        return "take a key" + (" with full hands" if carried else "")
    if action == DROP and carried:
        return f"drop on {kind}"
    if action == TOGGLE and kind == "door":
        state = "open" if thing.is_open else "locked" if thing.is_locked else "closed"
        if state == "locked":
            state += " no key" if not carried else " right key" if carried.color == thing.color else " wrong key"
        return f"toggle {state}"
    return ("turn left", "turn right", "", "take", "drop", "toggle", "done")[action]


def busy(twin: PlainMiniGrid, rng: np.random.Generator) -> int:
    """A random action, but hands and doors are used more often than chance would."""
    thing = twin.ahead()
    if rng.random() < 0.5:
        if thing is None:
            return DROP if twin.game.carrying is not None and rng.random() < 0.1 else AHEAD
        if thing.type in ("key", "door"):
            return int(rng.choice([PICKUP if thing.type == "key" else TOGGLE, AHEAD, DROP], p=[0.8, 0.15, 0.05]))
    return int(rng.integers(7))


def compare(env: MiniGridTask, twin: PlainMiniGrid, rng: np.random.Generator, steps: int, met: dict) -> None:
    """Play both to the end of the episode; count in `met` what happened."""
    for _ in range(steps):
        action = busy(twin, rng)
        name = event(twin, action)
        ours, theirs = env.step(action), twin.step(action)
        assert ours[1:4] == theirs[:3] and ours[4]["success"] == theirs[3], name
        assert [type(value) for value in ours[1:4]] == [float, bool, bool] and type(ours[4]["success"]) is bool
        assert ours[4]["tiles"].tolist() == twin.codes(), name
        assert env._state[rules.CARRIED] == code(twin.game.carrying), name
        met[name] = met.get(name, 0) + 1
        if theirs[1] or theirs[2]:
            name = "success" if theirs[3] else "dead" if theirs[1] else "out of time"
            met[name] = met.get(name, 0) + 1
            break


@pytest.mark.parametrize(("task", "given"), VARIANTS, ids=NAMES)
def test_minigrids_levels_are_played_by_its_rules(task, given):
    env, rng, met = MiniGridTask(task, **given), np.random.default_rng(2), {}
    game = gym.make(IDS[task][0]).unwrapped
    for seed in range(40):
        env.reset(seed=seed)
        game.reset(seed=seed)
        compare(env, PlainMiniGrid(game, env.pseudo_terminal), rng, 1000, met)
    expected = {"turn left", "turn right", "walk into floor", "walk into wall", "take", "drop", "toggle", "done"}
    if task in ("DoorKey", "Unlock"):
        expected |= {"take a key", "drop on floor", "drop on wall", "walk into key", "walk into door"}
        expected |= {"toggle locked no key", "toggle locked right key"}
    if task == "DoorKey":
        expected |= {"toggle open", "toggle closed", "walk into door open"}
    if task == "RedBlueDoors":
        expected |= {"toggle open", "toggle closed", "walk into door", "walk into door open", "success", "dead"}
    if "Crossing" in task:
        expected |= {"walk into lava", "dead"} if "Lava" in task else {"walk into goal"}
    assert expected <= met.keys(), expected - met.keys()


def scatter(game, rng: np.random.Generator) -> None:
    """A room full of things: the game's own doors, and others of few colours, so that keys fit now and then."""
    things: list = [None] * 18 + [Wall(), Goal(), *(Key(color) for color in COLOR_NAMES[:2] for _ in range(2))]
    for color in COLOR_NAMES[:2]:
        things += [Door(color), Door(color, is_locked=True), Door(color, is_open=True)]
    own = [getattr(game, name) for name in ("door", "red_door", "blue_door") if hasattr(game, name)]
    for door in own:
        door.is_open, door.is_locked = bool(rng.random() < 0.2), bool(rng.random() < 0.5)
        door.is_locked &= not door.is_open
    if own:
        things = [thing for thing in things if not isinstance(thing, Goal)]  # which their tasks do not have
    elif hasattr(game, "goal_position"):
        things.append(Lava())
    width, height = game.width, game.height
    inside = [(x, y) for x in range(1, width - 1) for y in range(1, height - 1)]
    game.grid = Grid(width, height)
    game.grid.wall_rect(0, 0, width, height)
    drawn = [*own, *(copy(things[i]) for i in rng.integers(len(things), size=len(inside) - len(own)))]
    for thing, place in zip(drawn, rng.permutation(inside).tolist()):
        game.grid.set(*place, thing)
    free = [(x, y) for x, y in inside if game.grid.get(x, y) is None]
    game.agent_pos, game.agent_dir = free[rng.integers(len(free))], int(rng.integers(4))


def test_other_levels_are_played_by_minigrids_rules():
    """Of the events that no level of the tasks knows, such as a second key or one that does not fit, too."""
    rng, met = np.random.default_rng(5), {}
    for task, given in VARIANTS:
        env = MiniGridTask(task, **given)
        for seed in range(40):
            env.reset(seed=seed)
            scatter(env.game, rng)
            begin(env)
            compare(env, PlainMiniGrid(env.game, env.pseudo_terminal), rng, 150, met)
    kinds = ("floor", "wall", "goal", "lava", "door", "door open", "key")
    doors = ("open", "closed", "locked no key", "locked right key", "locked wrong key")
    expected = {f"walk into {kind}" for kind in kinds} | {f"toggle {state}" for state in doors}
    expected |= {f"drop on {kind}" for kind in ("floor", "wall", "door", "key", "goal", "lava")}
    expected |= {"take a key", "take a key with full hands", "success", "dead"}
    assert all(met.get(name, 0) >= 10 for name in expected), {name: met.get(name, 0) for name in expected}


@pytest.mark.parametrize("task", ["RedBlueDoors", "LavaCrossing-Easy"])
def test_random_actions_are_drawn_from_the_games_own_stream(task):
    """One number whether to, and then one of the actions, from the generator that made the level."""
    env = MiniGridTask(task, random_action_probability=0.3)
    game, rng, replaced = gym.make(IDS[task][0]).unwrapped, np.random.default_rng(0), 0
    for seed in (4, None, None):
        env.reset(seed=seed)
        game.reset(seed=seed)
        twin = PlainMiniGrid(game)
        for action in rng.integers(env.n_actions, size=100).tolist():
            ours = env.step(action)
            if game.np_random.random() < 0.3:
                action = game.np_random.integers(env.n_actions)
                replaced += 1
            theirs = twin.step(action)
            assert ours[1:4] == theirs[:3]
            assert ours[4]["tiles"].tolist() == twin.codes()
            if theirs[1]:
                break
    assert replaced > 10


def test_codes_are_numbered_as_minigrids_things():
    """Keys and doors of all colours, with their states; a thing that can be stood on has four more codes."""
    env = MiniGridTask("DoorKey")
    things = [None, Wall(), Goal(), Lava(), *(Key(color) for color in COLOR_NAMES)]
    things += [Door(color, *state) for color in COLOR_NAMES for state in ((True,), (False,), (False, True))]
    numbers = []
    for thing in things:
        assert env._code_of[thing and thing.encode()] == code(thing)
        numbers += range(code(thing), code(thing) + (5 if thing is None or thing.can_overlap() else 1))
    assert sorted(numbers) == list(range(len(env.tiles))) == list(range(rules.CODES))
