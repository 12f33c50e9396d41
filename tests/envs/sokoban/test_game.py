"""Sokoban against its rules in plain Python, hand-made levels and pixels, and gymnasium's contract."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.pixels import SymbolicPixels
from envs.sokoban import levels as levels
from envs.sokoban.game import COLOURS, Sokoban
from envs.sokoban.sprites import TILE, sprites
from tests.envs.plain_sokoban import PlainSokoban
from tests.envs.sokoban.test_levels import text

PUSH_UP, PUSH_DOWN, PUSH_LEFT, PUSH_RIGHT, MOVE_UP, MOVE_DOWN, MOVE_LEFT, MOVE_RIGHT = range(8)
CONFIGURATIONS = [((5, 5), 1), ((5, 5), 2), ((6, 6), 3), ((7, 7), 2), ((5, 9), 2), ((10, 6), 1)]


def play(level: str, *actions: int, **arguments) -> tuple[Sokoban, list[tuple[float, bool, bool]]]:
    """The environment after these actions on a given level, and what each of them brought."""
    env = Sokoban(levels.parse(level).shape, **arguments)
    env.reset(options={"level": level})
    return env, [env.step(action)[1:4] for action in actions]


def look(env: Sokoban) -> str:
    """The level as it stands, as text."""
    return levels.to_text(env._codes)


def enlarged(codes: np.ndarray, side: int = 84) -> np.ndarray:
    """Nearest neighbour, pixel by pixel: source = floor(i * cells / side)."""
    rows, columns = codes.shape
    picture = [[COLOURS[codes[i * rows // side, j * columns // side]] for j in range(side)] for i in range(side)]
    return np.array(picture, np.uint8)


# ---- rules -----------------------------------------------------------------------------------------------------------
def test_every_step_is_that_of_the_public_rules():
    """Codes, rewards to the last bit, and ends, under random actions that favour pushes."""
    rng, met = np.random.default_rng(0), set()
    for shape, boxes in CONFIGURATIONS:
        env = Sokoban(shape, boxes, max_steps=60)
        for episode in range(50):
            _, info = env.reset(seed=episode)
            twin = PlainSokoban(info["tiles"].tolist(), env.max_steps)
            over = False
            while not over:
                action = int(rng.integers(4 if rng.random() < 0.7 else 8))
                _, reward, terminated, truncated, info = env.step(action)
                assert (reward, terminated, truncated) == twin.step(action)
                assert info["tiles"].tolist() == twin.codes()
                assert (info["success"], info["boxes_on_target"]) == (terminated, twin.on_target())
                met |= {round(reward, 1)} | ({"on a target"} if levels.PLAYER_ON_TARGET in info["tiles"] else set())
                met |= {"solved"} if terminated else {"out of time"} if truncated else set()
                over = terminated or truncated
    # The comparison is only worth something if these have occurred.
    assert {-0.1, 0.9, -1.1, 10.9, "solved", "out of time", "on a target"} <= met


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_level_is_played_by_the_public_rules(data):
    """Levels that the generator does not make: inner walls, boxes and player on targets, unsolvable ones."""
    inner = 16
    cells = data.draw(st.permutations(range(inner)))
    n = data.draw(st.integers(1, 3))
    boxes, player = set(cells[:n]), cells[n]
    walls = set(cells[n + 1 : n + 1 + data.draw(st.integers(0, 4))])
    others = [cell for cell in range(inner) if cell not in walls]
    targets = set(data.draw(st.permutations(others))[:n])
    if boxes == targets:
        return
    symbols = []
    for cell in range(inner):
        kind = "#" if cell in walls else "$" if cell in boxes else "@" if cell == player else " "
        symbols.append({"$": "*", "@": "+", " ": "."}.get(kind, kind) if cell in targets else kind)
    rows = ["".join(symbols[4 * row : 4 * row + 4]) for row in range(4)]
    level = text("######", *(f"#{row}#" for row in rows), "######")

    env = Sokoban((6, 6), max_steps=30)
    _, info = env.reset(options={"level": level})
    twin = PlainSokoban(info["tiles"].tolist(), 30)
    for action in data.draw(st.lists(st.integers(0, 7), min_size=30, max_size=30)):
        _, *outcome, info = env.step(action)
        assert tuple(outcome) == twin.step(action)
        assert info["tiles"].tolist() == twin.codes()
        if outcome[1] or outcome[2]:
            break


@pytest.mark.parametrize(("action", "before", "after"), [
    (PUSH_RIGHT, "#@$ .#", "# @$.#"),
    (PUSH_LEFT, "#. $@#", "#.$@ #"),
    (PUSH_RIGHT, "#.@$#", "#.@$#"),  # a wall behind the box
    (PUSH_RIGHT, "#@$$ ..#", "#@$$ ..#"),  # a second box
    (PUSH_RIGHT, "#@$*.#", "#@$*.#"),  # a second box, on a target
    (PUSH_RIGHT, "#@ $.#", "# @$.#"),  # nothing to push: a move
    (MOVE_RIGHT, "#@ $.#", "# @$.#"),
    (MOVE_RIGHT, "#@$ .#", "#@$ .#"),  # a move never pushes
    (MOVE_RIGHT, "#@* $.#", "#@* $.#"),
    (PUSH_LEFT, "#@$ .#", "#@$ .#"),  # a wall
    (MOVE_LEFT, "#@$ .#", "#@$ .#"),
    (MOVE_RIGHT, "#@.$ #", "# +$ #"),  # onto a target
    (PUSH_RIGHT, "#+ $ #", "#.@$ #"),  # off a target
    (MOVE_RIGHT, "#+.$$ #", "#.+$$ #"),  # from target to target
    (PUSH_RIGHT, "#+$ #", "#.@$#"),
    (PUSH_RIGHT, "#@*.$ #", "# +*$ #"),  # from target to target, the player follows
    (PUSH_RIGHT, "#@* $.#", "# +$$.#"),  # off its target
    (PUSH_RIGHT, "#@$.$.#", "# @*$.#"),  # onto a target
])  # fmt: skip
@pytest.mark.parametrize("upright", [False, True])
def test_one_action_in_a_corridor(action, before, after, upright):
    """The same in a row and, turned by a quarter, in a column."""
    wall = "#" * len(before)
    rows = [wall, before, wall]
    if upright:
        rows, action = ["".join(column) for column in zip(*rows)], {2: 0, 3: 1}[action % 4] + action // 4 * 4
    env, [(reward, terminated, truncated)] = play(text(*rows), action)
    seen = look(env).splitlines()
    assert (["".join(column) for column in zip(*seen)] if upright else seen)[1] == after
    gained = after.count("*") - before.count("*")
    assert reward == -0.1 + gained and not terminated and not truncated


def test_rewards_of_a_whole_game():
    """One of two boxes comes onto a target, leaves it and comes back from the other side; then the other one."""
    level = text("########", "#@$.   #", "#      #", "# $    #", "# .    #", "########")
    on_and_off, round_the_box = (PUSH_RIGHT, PUSH_RIGHT), (MOVE_DOWN, MOVE_RIGHT, PUSH_RIGHT, MOVE_UP)
    to_the_other = (PUSH_DOWN, MOVE_LEFT, MOVE_LEFT)
    env, log = play(level, *on_and_off, *round_the_box, PUSH_LEFT, *to_the_other, PUSH_DOWN)
    rewards = [-0.1 + 1, -0.1 - 1, *[-0.1] * 4, -0.1 + 1, *[-0.1] * 3, -0.1 + 1 + 10]
    assert log == [*((reward, False, False) for reward in rewards[:-1]), (rewards[-1], True, False)]
    assert sum(rewards) == pytest.approx(10 + 2 - 0.1 * 11)
    assert look(env) == text("########", "#  *   #", "#      #", "# @    #", "# *    #", "########")


def test_a_level_may_hold_other_numbers_of_boxes_than_the_environment_makes():
    env = Sokoban((3, 8), boxes=1)
    _, info = env.reset(options={"level": text("########", "#@$.*.$#", "########")})
    assert (info["success"], info["boxes_on_target"]) == (False, 1)
    _, reward, terminated, _, info = env.step(PUSH_RIGHT)
    assert (reward, terminated, info["boxes_on_target"]) == (0.9, False, 2)


def test_the_limit_truncates_and_a_solution_on_the_very_last_step_terminates():
    level = text("######", "#@$ .#", "######")
    _, log = play(level, *[MOVE_LEFT] * 3, max_steps=3)
    assert [ends for _, *ends in log] == [[False, False], [False, False], [False, True]]
    env, log = play(level, MOVE_LEFT, PUSH_RIGHT, PUSH_RIGHT, max_steps=3)
    assert log[-1] == (-0.1 + 1 + 10, True, False)
    env.reset(options={"level": level})  # the steps begin anew
    assert [env.step(MOVE_LEFT)[3] for _ in range(3)] == [False, False, True]


# ---- pictures --------------------------------------------------------------------------------------------------------
def test_hand_checked_pixels():
    """Six columns of 14 pixels; three rows of 28."""
    env = Sokoban((3, 6))
    picture, _ = env.reset(options={"level": text("######", "#@$ .#", "######")})
    black, player, box, floor, target = (0, 0, 0), (160, 212, 56), (142, 121, 56), (243, 248, 238), (254, 126, 125)
    assert picture.shape == (84, 84, 3) and picture.dtype == np.uint8
    for row in (28, 40, 55):
        for column, colour in [(13, black), (14, player), (27, player), (28, box), (42, floor), (56, target),
                               (69, target), (70, black), (83, black)]:  # fmt: skip
            assert tuple(picture[row, column]) == colour
    assert not picture[:28].any() and not picture[56:].any()
    after, *_ = env.step(PUSH_RIGHT)
    after, *_ = env.step(PUSH_RIGHT)
    assert tuple(after[30, 60]) == (254, 95, 56)  # a box on a target
    on_target, _ = env.reset(options={"level": text("######", "#+$  #", "######")})
    assert tuple(on_target[30, 20]) == (219, 212, 56)


@pytest.mark.parametrize(("shape", "pixels"), [
    ((5, 5), 84), ((6, 6), 84), ((7, 7), 84), ((9, 11), 84), ((11, 10), 84), ((5, 84), 84), ((84, 3), 84),
    ((13, 37), 84), ((5, 7), 7), ((5, 7), 40), ((6, 6), 25), ((7, 9), 100),
])  # fmt: skip
def test_the_picture_is_the_nearest_neighbours_and_can_be_drawn_from_the_codes(shape, pixels):
    """Most of these do not divide the picture's side."""
    env = Sokoban(shape, 1, pixels=pixels)
    codes = np.random.default_rng(0).integers(0, 7, shape).astype(np.uint8)
    env._codes = codes  # every code beside every other, which no level has
    picture = env._observe()
    np.testing.assert_array_equal(picture, enlarged(codes, pixels))
    drawn = SymbolicPixels(env.tiles, env.grid_shape, pixels).draw(codes[None])[0].permute(1, 2, 0).numpy()
    np.testing.assert_array_equal(drawn, picture.astype(np.float32) / np.float32(255))


def test_seven_sprites_all_distinct():
    tiles = sprites()
    assert tiles.shape == (7, TILE, TILE, 3) == (7, 16, 16, 3) and tiles.dtype == np.uint8
    assert len({tile.tobytes() for tile in tiles}) == 7
    assert len({tuple(colour) for colour in COLOURS.tolist()}) == 7
    with pytest.raises(ValueError):  # they are everybody's
        tiles[0] = 0


@pytest.mark.parametrize("style", ["sprites", "tiny"])
def test_render_has_16_pixels_per_cell(style):
    env = Sokoban((5, 7), 1, style=style, render_mode="rgb_array")
    assert env.render() is None  # nothing to show yet
    _, info = env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (80, 112, 3) and picture.dtype == np.uint8
    for row in range(5):
        for column in range(7):
            code = info["tiles"][row, column]
            cell = picture[16 * row : 16 * row + 16, 16 * column : 16 * column + 16]
            expected = sprites()[code] if style == "sprites" else np.broadcast_to(COLOURS[code], (16, 16, 3))
            np.testing.assert_array_equal(cell, expected)
    assert Sokoban().render() is None


# ---- gymnasium's contract --------------------------------------------------------------------------------------------
def test_the_environment_makes_the_generators_levels():
    env = Sokoban((6, 7), 2, walk=40)
    rng = np.random.default_rng(np.random.PCG64(5))
    tiles = env.reset(seed=5)[1]["tiles"]
    np.testing.assert_array_equal(tiles, levels.generate(rng, (6, 7), 2, 40))
    np.testing.assert_array_equal(env.reset()[1]["tiles"], levels.generate(rng, (6, 7), 2, 40))


# ---- mistakes --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("arguments", "message"), [
    ({"shape": (2, 5)}, r"^Sokoban needs 3 to 84 .* a box and a step, not shape=\(2, 5\), boxes=2, max_steps=120$"),
    ({"shape": (5, 7), "pixels": 6}, r"^Sokoban needs 3 to 6 .* not shape=\(5, 7\)"),
    ({"shape": (5, 85)}, r"not shape=\(5, 85\)"),
    ({"boxes": 0}, r"boxes=0, max_steps=120$"),
    ({"max_steps": 0}, r"boxes=2, max_steps=0$"),
    ({"walk": 0}, r"^walk, the steps of the random walk, must be at least 1, not 0$"),
    ({"observation": "tiles"}, r"^observation must be 'picture' or 'codes', not 'tiles'$"),
    ({"style": "large"}, r"^style must be 'sprites' or 'tiny', not 'large'$"),
    ({"render_mode": "ansi"}, r"^render_mode must be one of \['human', 'rgb_array'\], not 'ansi'$"),
])  # fmt: skip
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Sokoban(**arguments)


WRONG_OPTIONS = [
    ({"room": 1}, r"^unknown reset options \['room'\]; choose from: level$"),
    ({"level": text("#####", "#@$.#", "#####")}, r"^the level has the shape \(3, 5\), the environment \(5, 5\)$"),
    ({"level": text("#####", "#@* #", "#   #", "#   #", "#####")}, "^the level is solved already$"),
    ({"level": text("#####", "#@$ #", "#   #", "#   #", "#####")}, "as many boxes as targets, not 1 players, 1 boxes"),
    ({"level": np.full((5, 5), 9, np.uint8)}, "^a level is a uint8 matrix of at least 3 x 3 codes from 0 to 6$"),
]


@pytest.mark.parametrize(("options", "message"), WRONG_OPTIONS)
def test_a_refused_reset_changes_nothing(options, message):
    env, twin = Sokoban((5, 5), 1), Sokoban((5, 5), 1)
    for each in (env, twin):
        each.reset(seed=0)
        each.step(PUSH_UP)
    with pytest.raises(ValueError, match=message):
        env.reset(options=options)
    for action in (PUSH_LEFT, PUSH_DOWN, PUSH_RIGHT, PUSH_DOWN):
        ours, theirs = env.step(action), twin.step(action)
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1:4] == theirs[1:4]
    np.testing.assert_array_equal(env.reset()[0], twin.reset()[0])


def test_a_given_level_as_text_or_as_codes_draws_nothing_and_is_not_changed():
    level = text("#####", "#.  #", "# $ #", "# @ #", "#####")
    codes = levels.parse(level)
    one, two = Sokoban((5, 5)), Sokoban((5, 5))
    first, info = one.reset(seed=0, options={"level": level})
    np.testing.assert_array_equal(first, two.reset(options={"level": np.asfortranarray(codes)})[0])
    assert one.step(PUSH_UP)[4]["tiles"].tolist() == two.step(PUSH_UP)[4]["tiles"].tolist()
    assert levels.to_text(info["tiles"]) == levels.to_text(codes) == level
    info["tiles"][:] = levels.WALL  # what the caller does does not reach the game
    assert look(one) == text("#####", "#.$ #", "# @ #", "#   #", "#####")
    np.testing.assert_array_equal(one.reset()[0], two.reset(seed=0)[0])


def test_a_step_needs_a_reset():
    with pytest.raises(RuntimeError, match=r"^call reset\(\) before step\(\)$"):
        Sokoban().step(0)
