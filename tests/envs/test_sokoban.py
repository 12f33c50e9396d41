"""Sokoban against its rules in plain Python, hand-made levels and pixels, and gymnasium's contract."""

import pickle
import random

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from common.pixels import SymbolicPixels
from envs import sokoban_levels as levels
from envs.sokoban import ACTIONS, COLOURS, MAX_STEPS, PIXELS, Sokoban
from envs.sokoban_sprites import TILE, sprites
from tests.envs.plain_sokoban import PlainSokoban

PUSH_UP, PUSH_DOWN, PUSH_LEFT, PUSH_RIGHT, MOVE_UP, MOVE_DOWN, MOVE_LEFT, MOVE_RIGHT = range(8)
CONFIGURATIONS = [((5, 5), 1), ((5, 5), 2), ((6, 6), 3), ((7, 7), 2), ((5, 9), 2), ((10, 6), 1)]


def text(*rows: str) -> str:
    return "\n".join(rows)


def play(level: str, *actions: int, **arguments) -> tuple[Sokoban, list[tuple[float, bool, bool]]]:
    """The environment after these actions on a given level, and what each of them brought."""
    env = Sokoban(levels.parse(level).shape, **arguments)
    env.reset(options={"level": level})
    return env, [env.step(action)[1:4] for action in actions]


def look(env: Sokoban) -> str:
    """The level as it stands, as text."""
    return levels.to_text(env._info()["tiles"])


def enlarged(codes: np.ndarray, side: int = 84) -> np.ndarray:
    """Nearest neighbour, pixel by pixel: source = floor(i * cells / side)."""
    rows, columns = codes.shape
    picture = [[COLOURS[codes[i * rows // side, j * columns // side]] for j in range(side)] for i in range(side)]
    return np.array(picture, np.uint8)


# ---- rules -----------------------------------------------------------------------------------------------------------


def test_the_actions_by_number():
    assert [ACTIONS[action] for action in (PUSH_UP, PUSH_RIGHT, MOVE_DOWN, MOVE_LEFT)] == [
        "push up", "push right", "move down", "move left",
    ]  # fmt: skip


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


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
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
    ],
)
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


def test_no_episode_is_longer_than_its_limit():
    assert Sokoban().max_steps == MAX_STEPS == 120
    env, rng = Sokoban((6, 6), 2), np.random.default_rng(0)
    longest = 0
    for seed in range(30):
        env.reset(seed=seed)
        steps, over = 0, False
        while not over:
            _, _, terminated, truncated, _ = env.step(int(rng.integers(8)))
            steps, over = steps + 1, terminated or truncated
        longest = max(longest, steps)
        assert truncated == (steps == 120 and not terminated)
    assert longest == 120


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


@pytest.mark.parametrize("shape", [(5, 5), (6, 6), (7, 7), (9, 11), (11, 10), (5, 84), (84, 5), (13, 37)])
def test_the_picture_is_the_nearest_neighbours(shape):
    """Most of these do not divide 84."""
    env = Sokoban(shape, 1)
    codes = np.random.default_rng(0).integers(0, 7, shape).astype(np.uint8)
    env._codes = codes  # every code beside every other, which no level has
    np.testing.assert_array_equal(env._observe(), enlarged(codes))


@pytest.mark.parametrize(("shape", "pixels"), [((5, 7), 7), ((5, 7), 40), ((6, 6), 25), ((7, 9), 100)])
def test_pictures_of_other_sides(shape, pixels):
    env = Sokoban(shape, 1, pixels=pixels)
    picture, info = env.reset(seed=0)
    assert env.observation_space.shape == picture.shape and picture in env.observation_space
    np.testing.assert_array_equal(picture, enlarged(info["tiles"], pixels))
    drawn = SymbolicPixels(env.tiles, shape, pixels).draw(info["tiles"][None])[0].permute(1, 2, 0).numpy()
    np.testing.assert_array_equal(drawn, picture.astype(np.float32) / np.float32(255))


def test_the_longest_rooms_that_there_are():
    for rows in (
        text("#" * 84, "#@$." + " " * 79 + "#", "#" * 84),
        text(*(["###", "#@#", "#$#", "#.#"] + ["###"] * 80)),
    ):
        env = Sokoban(levels.parse(rows).shape)
        assert env.grid_shape in ((3, 84), (84, 3))
        picture, info = env.reset(options={"level": rows})
        np.testing.assert_array_equal(picture, enlarged(info["tiles"]))


@pytest.mark.parametrize("shape", [(5, 5), (7, 7), (9, 11)])
def test_symbolic_pixels_draw_the_observation_from_the_codes(shape):
    env, rng = Sokoban(shape, 2), np.random.default_rng(0)
    symbolic = SymbolicPixels(env.tiles, env.grid_shape, PIXELS)
    picture, info = env.reset(seed=0)
    pictures, codes = [picture], [info["tiles"]]
    for _ in range(20):
        picture, *_, info = env.step(int(rng.integers(8)))
        pictures.append(picture)
        codes.append(info["tiles"])
    drawn = symbolic.draw(np.stack(codes)).permute(0, 2, 3, 1).numpy()
    np.testing.assert_array_equal(drawn, np.stack(pictures).astype(np.float32) / np.float32(255))


def test_codes_and_pictures_are_not_overwritten_by_later_steps():
    level = text("######", "#@$ .#", "######")
    env = Sokoban((3, 6))
    picture, info = env.reset(options={"level": level})
    kept = picture.copy()
    env.step(PUSH_RIGHT)
    assert levels.to_text(info["tiles"]) == level
    np.testing.assert_array_equal(picture, kept)
    info["tiles"][:] = levels.WALL  # nor does what the caller does reach the game
    assert look(env) == text("######", "# @$.#", "######")


def test_a_level_that_was_handed_in_is_not_changed():
    codes = levels.parse(text("######", "#@$ .#", "######"))
    kept = codes.copy()
    env = Sokoban((3, 6))
    env.reset(options={"level": codes})
    env.step(PUSH_RIGHT)
    np.testing.assert_array_equal(codes, kept)


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


def test_a_window(monkeypatch):
    """With SDL's driver without a screen: what is drawn is the picture at twice its size."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    monkeypatch.setattr(pygame.time, "wait", lambda milliseconds: None)
    env, still = Sokoban((5, 7), 1, render_mode="human"), Sokoban((5, 7), 1, render_mode="rgb_array")

    def shown():
        return pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)

    env.reset(seed=0)
    still.reset(seed=0)
    assert shown().shape == (160, 224, 3)
    for action in (PUSH_UP, PUSH_LEFT, PUSH_DOWN, PUSH_RIGHT):
        np.testing.assert_array_equal(shown(), np.kron(still.render(), np.ones((2, 2, 1), np.uint8)))
        env.step(action)
        still.step(action)
    assert env.render() is None
    env.close()
    env.close()
    assert not pygame.display.get_init()


# ---- gymnasium's contract --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "arguments",
    [{}, {"shape": (5, 5), "boxes": 1, "render_mode": "rgb_array"}, {"shape": (6, 8), "boxes": 3, "style": "tiny"}],
)
def test_check_env(arguments):
    check_env(gymnasium.make("envs:Sokoban-v0", **arguments).unwrapped)


def test_make_brings_the_arguments_and_no_other_limit():
    env = gymnasium.make("envs:Sokoban-v0", shape=(5, 6), boxes=1, max_steps=7)
    picture, info = env.reset(seed=0)
    assert picture.shape == (84, 84, 3) and info["tiles"].shape == (5, 6)
    assert isinstance(env.unwrapped, Sokoban) and env.spec.max_episode_steps is None
    steps = [env.step(MOVE_UP)[3] for _ in range(7)]
    assert steps == [False] * 6 + [True]


def episodes(env: Sokoban, n: int) -> list:
    """All that is seen in n episodes of the same actions, the first one seeded."""
    rng, seen = np.random.default_rng(0), []
    for episode in range(n):
        picture, info = env.reset(seed=3 if episode == 0 else None)
        seen.append((picture.tobytes(), info["tiles"].tobytes()))
        over = False
        while not over:
            picture, reward, terminated, truncated, info = env.step(int(rng.integers(8)))
            seen.append((picture.tobytes(), reward, terminated, truncated, info["tiles"].tobytes()))
            over = terminated or truncated
    return seen


def test_two_copies_with_one_seed_stay_identical():
    """Whatever other generators do."""
    first = episodes(Sokoban((6, 6), 2), 4)
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    env = Sokoban((6, 6), 2)
    env.reset(seed=77)
    assert episodes(env, 4) == first


def test_levels_are_functions_of_the_seed():
    one, two = Sokoban(), Sokoban()
    seen = set()
    for seed in range(30):
        here, there = one.reset(seed=seed)[1]["tiles"], two.reset(seed=seed)[1]["tiles"]
        np.testing.assert_array_equal(here, there)
        seen.add(here.tobytes())
        two.reset()
    assert len(seen) >= 29
    assert one.reset()[1]["tiles"].tobytes() != one.reset()[1]["tiles"].tobytes()  # a new one each episode


def test_the_environment_makes_the_generators_levels():
    env = Sokoban((6, 7), 2, walk=40)
    rng = np.random.default_rng(np.random.PCG64(5))
    tiles = env.reset(seed=5)[1]["tiles"]
    np.testing.assert_array_equal(tiles, levels.generate(rng, (6, 7), 2, 40))
    np.testing.assert_array_equal(env.reset()[1]["tiles"], levels.generate(rng, (6, 7), 2, 40))


def test_pickled_in_mid_episode_it_continues_identically():
    env, rng = Sokoban((6, 6), 2), np.random.default_rng(0)
    env.reset(seed=2)
    for action in rng.integers(8, size=25).tolist():
        if any(env.step(action)[2:4]):
            env.reset()
    copy = pickle.loads(pickle.dumps(env))
    for action in rng.integers(8, size=300).tolist():
        ours, theirs = env.step(action), copy.step(action)
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[4].pop("tiles"), theirs[4].pop("tiles"))
        assert ours[1:] == theirs[1:]
        if ours[2] or ours[3]:
            np.testing.assert_array_equal(env.reset()[0], copy.reset()[0])


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": (2, 5)}, r"^Sokoban needs 3 to 84 .* a box and a step, not shape=\(2, 5\), boxes=2, max_steps=120$"),
        ({"shape": (5, 7), "pixels": 6}, r"^Sokoban needs 3 to 6 .* not shape=\(5, 7\)"),
        ({"shape": (5, 85)}, r"not shape=\(5, 85\)"),
        ({"boxes": 0}, r"boxes=0, max_steps=120$"),
        ({"max_steps": 0}, r"boxes=2, max_steps=0$"),
        ({"walk": 0}, r"^walk, the steps of the random walk, must be at least 1, not 0$"),
        ({"style": "large"}, r"^style must be 'sprites' or 'tiny', not 'large'$"),
        ({"render_mode": "ansi"}, r"^render_mode must be one of \['human', 'rgb_array'\], not 'ansi'$"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Sokoban(**arguments)


def test_a_room_too_small_for_its_boxes_is_named_at_the_first_level():
    env = Sokoban((4, 4), 5)
    with pytest.raises(ValueError, match=r"^no level of 4 x 4 cells with 5 boxes in 10,000 tries: too many boxes$"):
        env.reset(seed=0)


WRONG_OPTIONS = [
    ({"room": 1}, r"^unknown reset options \['room'\]: right is level$"),
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


def test_a_level_as_text_and_as_codes_are_the_same():
    level = text("#####", "#.  #", "# $ #", "# @ #", "#####")
    one, two = Sokoban((5, 5)), Sokoban((5, 5))
    first, info = one.reset(options={"level": level})
    np.testing.assert_array_equal(first, two.reset(options={"level": levels.parse(level)})[0])
    assert levels.to_text(info["tiles"]) == level
    assert one.step(PUSH_UP)[4]["tiles"].tolist() == two.step(PUSH_UP)[4]["tiles"].tolist()


def test_a_given_level_draws_nothing_from_the_generator():
    level = text("#####", "#.  #", "# $ #", "# @ #", "#####")
    one, two = Sokoban((5, 5)), Sokoban((5, 5))
    one.reset(seed=0, options={"level": level})
    one.reset(options={"level": level})
    np.testing.assert_array_equal(one.reset()[0], two.reset(seed=0)[0])


def test_a_step_needs_a_reset():
    with pytest.raises(RuntimeError, match=r"^call reset\(\) before step\(\)$"):
        Sokoban().step(0)


@pytest.mark.parametrize("action", [-1, 8])
def test_an_action_that_there_is_not_changes_nothing(action):
    env = Sokoban((5, 5), 1)
    _, info = env.reset(seed=0)
    with pytest.raises(ValueError, match=f"^actions are 0 to 7, not {action}$"):
        env.step(action)
    np.testing.assert_array_equal(env._info()["tiles"], info["tiles"])
    assert env._steps == 0
