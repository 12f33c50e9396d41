"""The levels of Sokoban against plain-Python twins of how they are made, a solver, and those of the package."""

import itertools
import math
import re
import signal
import sys
import time
from collections import deque
from pathlib import Path

import numpy as np
import pytest

from envs.sokoban import levels as levels
from envs.sokoban.game import Sokoban
from envs.sokoban.levels import (
    BOX,
    BOX_ON_TARGET,
    FLOOR,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
    carve,
    check,
    default_walk,
    generate,
    parse,
    place,
    reverse_play,
    to_text,
)
from tests.processes import started, wait_until

CONFIGURATIONS = [((5, 5), 1), ((5, 5), 2), ((6, 6), 1), ((6, 6), 2), ((6, 6), 3), ((7, 7), 1), ((7, 7), 2)]
NAMES = [f"{shape[0]}x{shape[1]}-{boxes}" for shape, boxes in CONFIGURATIONS]
STEPS = [(-1, 0), (1, 0), (0, -1), (0, 1)]  # up, down, left, right


def text(*rows: str) -> str:
    return "\n".join(rows)


def places(level: np.ndarray, *codes: int) -> list[tuple[int, int]]:
    """(row, column) of the cells with one of these codes."""
    return [(int(row), int(column)) for row, column in np.argwhere(np.isin(level, codes))]


# ---- twins in plain Python -------------------------------------------------------------------------------------------
def plain_carve(rng, rows, columns, walk):
    """The same draws from the same generator; masks are written as pictures."""
    masks = ["... ooo ...", ".o. .o. .o.", "... oo. .o.", "... oo. oo.", "... .oo .o."]
    opened = set()
    towards = STEPS[rng.integers(0, 4)]
    at = [rng.integers(1, rows), rng.integers(1, columns)]
    for _ in range(walk):
        if rng.random() < 0.35:
            towards = STEPS[rng.integers(0, 4)]
        at = [min(max(x + d, 1), size - 2) for x, d, size in zip(at, towards, (rows, columns))]
        for y, line in enumerate(masks[rng.integers(0, 5)].split(), start=-1):
            opened |= {(at[0] + y, at[1] + x) for x, symbol in enumerate(line, start=-1) if symbol == "o"}
    inside = set(itertools.product(range(1, rows - 1), range(1, columns - 1)))
    return [[int((y, x) in opened & inside) for x in range(columns)] for y in range(rows)]


def plain_place(rng, room, boxes):
    """The room, as rows, with player and targets; None if it is too small."""
    free = [(y, x) for y, row in enumerate(room) for x, code in enumerate(row) if code == FLOOR]
    if len(free) <= boxes + 1:
        return None
    for code in [PLAYER] + boxes * [TARGET]:
        y, x = free.pop(rng.integers(0, len(free)))
        room[y][x] = code
    return room


class Search:
    """Reverse play as in the public rules, recursively.

    A position is the player's cell and those of the boxes, which know whether they were ever pulled. depth and
    positions: at most so many on a path and in all.
    """

    def __init__(self, room, depth=299, positions=300_000):
        self.room, self.depth, self.positions = room, depth, positions
        [player] = places(room, PLAYER)
        self.free, self.targets = set(places(room, FLOOR, TARGET, PLAYER)), places(room, TARGET)
        self.seen, self.best, self.deepest = set(), (-1, None), 0
        old = sys.getrecursionlimit()
        sys.setrecursionlimit(max(old, 2000))
        self.visit(player, {target: (target, False) for target in self.targets}, 0, 1)
        sys.setrecursionlimit(old)

    def visit(self, player, boxes, pulls, depth):
        """boxes: of each target, where its box is, and whether it was pulled."""
        if depth > self.depth or len(self.seen) >= self.positions:
            return
        key = (player, frozenset(boxes.values()))
        if key in self.seen:
            return
        self.seen.add(key)
        self.deepest = max(self.deepest, depth)
        occupied = {cell: target for target, (cell, _) in boxes.items()}
        shift = sum(abs(cell[0] - home[0]) + abs(cell[1] - home[1]) for home, (cell, _) in boxes.items())
        hidden = player in self.targets or any(target in occupied for target in self.targets)
        score = 0 if hidden else pulls * shift
        if score > self.best[0]:
            self.best = (score, (player, set(occupied)))
        for tows, (dy, dx) in itertools.product((True, False), STEPS):
            ahead, behind = (player[0] + dy, player[1] + dx), (player[0] - dy, player[1] - dx)
            if ahead not in self.free or ahead in occupied:
                continue
            if tows and behind in occupied:
                self.visit(ahead, boxes | {occupied[behind]: (player, True)}, pulls + 1, depth + 1)
            else:
                self.visit(ahead, boxes, pulls, depth + 1)

    def result(self) -> tuple[list[list[int]], int]:
        """The level, as rows, and its score."""
        score, (player, boxes) = self.best
        level = [[TARGET if code == TARGET else FLOOR if code else WALL for code in row] for row in self.room.tolist()]
        for y, x in boxes:
            level[y][x] = BOX_ON_TARGET if level[y][x] == TARGET else BOX
        level[player[0]][player[1]] = PLAYER_ON_TARGET if level[player[0]][player[1]] == TARGET else PLAYER
        return level, score


def solvable(level: np.ndarray) -> bool:
    """Breadth-first search for a solution: over pushes, between which the player walks where it can."""
    free = set(places(level, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET))
    targets = set(places(level, TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET))
    [player] = places(level, PLAYER, PLAYER_ON_TARGET)

    def reach(player, boxes):
        """The cells that the player can walk to."""
        found, ahead = {player}, [player]
        while ahead:
            y, x = ahead.pop()
            for dy, dx in STEPS:
                cell = (y + dy, x + dx)
                if cell in free and cell not in boxes and cell not in found:
                    found.add(cell)
                    ahead.append(cell)
        return found

    boxes = frozenset(places(level, BOX, BOX_ON_TARGET))
    queue, seen = deque([(player, boxes)]), set()
    while queue:
        player, boxes = queue.popleft()
        if boxes == targets:
            return True
        region = reach(player, boxes)
        if (min(region), boxes) in seen:
            continue
        seen.add((min(region), boxes))
        for box, (dy, dx) in itertools.product(boxes, STEPS):
            to = (box[0] + dy, box[1] + dx)
            if (box[0] - dy, box[1] - dx) in region and to in free and to not in boxes:
                queue.append((box, boxes - {box} | {to}))
    return False


def rooms_with_targets(seed, shape, boxes, n, walk=None):
    """n random rooms as `reverse_play` takes them."""
    rng, made = np.random.default_rng(seed), []
    while len(made) < n:
        room = carve(rng, *shape, walk or default_walk(shape))
        if place(rng, room, boxes):
            made.append(room)
    return made


# ---- text ------------------------------------------------------------------------------------------------------------
def test_the_codes_of_the_symbols():
    level = parse(text("#####", "# .*#", "#$@ #", "#####", ""))
    assert level.dtype == np.uint8
    assert level.tolist() == [[0] * 5, [0, 1, 2, 3, 0], [0, 4, 5, 1, 0], [0] * 5]
    assert parse(text("####", "#+$#", "####"))[1].tolist() == [0, 6, 4, 0]
    assert (WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET) == (0, 1, 2, 3, 4, 5, 6)
    assert to_text(parse("\n#####\n#@$.##\n#  #\n####\n")) == text("######", "#@$.##", "#  ###", "######")


@pytest.mark.parametrize(("shape", "boxes"), [*CONFIGURATIONS, ((5, 12), 3)])
def test_text_and_codes_are_the_same_level(shape, boxes):
    rng = np.random.default_rng(0)
    for _ in range(10):
        level = generate(rng, shape, boxes)
        np.testing.assert_array_equal(parse(to_text(level)), level)


MATRIX = "^a level is a uint8 matrix of at least 3 x 3 codes from 0 to 6$"
COUNTS = "^a level needs one player, and as many boxes as targets, not "


@pytest.mark.parametrize(("level", "message"), [
    (text("####", "#@$x#", "#.~##", "#####"), r"^unknown symbols 'x~' in a level; choose from: '# \.\*\$@\+'$"),
    ("", MATRIX),
    (text("#####", "#####"), MATRIX),
    (text("##", "##", "##"), MATRIX),
    (text("## ##", "#@$.#", "#####"), "^a level needs a ring of walls$"),
    (text("#####", "#@$.#", "#  .#"), "^a level needs a ring of walls$"),
    (text("#####", "@ $.#", "#####"), "^a level needs a ring of walls$"),
    (text("#####", "# $.@", "#####"), "^a level needs a ring of walls$"),
    (text("#####", "# $.#", "#####"), COUNTS + "0 players, 1 boxes and 1 targets$"),
    (text("#####", "#@$+#", "#####"), COUNTS + "2 players, 1 boxes and 1 targets$"),
    (text("#####", "#@  #", "#####"), COUNTS + "1 players, 0 boxes and 0 targets$"),
    (text("#####", "#+$.#", "#####"), COUNTS + "1 players, 1 boxes and 2 targets$"),
    (text("#####", "#@$*#", "#####"), COUNTS + "1 players, 2 boxes and 1 targets$"),
])  # fmt: skip
def test_what_is_wrong_with_a_text_is_named(level, message):
    with pytest.raises(ValueError, match=message):
        parse(level)


@pytest.mark.parametrize("level", [
    np.zeros(9, np.uint8),
    np.zeros((2, 5), np.uint8),
    np.zeros((5, 5), np.int64),
    np.full((5, 5), 7, np.uint8),
    np.zeros((3, 5, 5), np.uint8),
])  # fmt: skip
def test_what_is_no_matrix_of_codes(level):
    with pytest.raises(ValueError, match=MATRIX):
        check(level)


# ---- carving and placing ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rows", "columns", "walk"), [(3, 3, 1), (3, 7, 9), (5, 5, 17), (7, 7, 23), (6, 9, 1), (12, 8, 60)]
)
def test_carving_and_placing_follow_the_rules_draw_by_draw(rows, columns, walk):
    """From one generator the twins make the same rooms, and leave it in the same state."""
    ours, plain = np.random.default_rng(rows), np.random.default_rng(rows)
    placed = 0
    for boxes in [1, 2, 3] * 20:
        room, twin = carve(ours, rows, columns, walk), plain_carve(plain, rows, columns, walk)
        assert room.dtype == np.uint8 and room.tolist() == twin
        twin = plain_place(plain, twin, boxes)
        assert place(ours, room, boxes) == (twin is not None)
        if twin is not None:
            assert room.tolist() == twin
            placed += 1
    assert ours.bit_generator.state == plain.bit_generator.state
    assert 0 < placed or (rows, columns) == (3, 3)


@pytest.mark.parametrize("shape", [(3, 3), (4, 9), (7, 7), (15, 10)])
def test_a_room_is_connected_floor_within_a_ring_of_walls(shape):
    """Every mask opens its centre and cells that hang together with it, and the walk goes from cell to cell."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        room = carve(rng, *shape, default_walk(shape))
        assert not (room[[0, -1]].any() or room[:, [0, -1]].any())
        free = set(places(room, FLOOR))
        found = [min(free)]
        for y, x in found:
            found += [cell for dy, dx in STEPS if (cell := (y + dy, x + dx)) in free and cell not in found]
        assert set(found) == free


def test_the_default_walk():
    assert [default_walk(shape) for shape in [(5, 5), (6, 6), (7, 7), (10, 10), (5, 8)]] == [17, 20, 23, 34, 22]


# ---- reverse play ----------------------------------------------------------------------------------------------------
def test_a_corridor_by_hand():
    """Pulled twice to the right the box is two cells from its target: score 2 x 2. There is nothing better."""
    level, score, _ = reverse_play(np.array([[0] * 6, [0, TARGET, PLAYER, FLOOR, FLOOR, 0], [0] * 6], np.uint8))
    assert (to_text(level), score) == (text("######", "#. $@#", "######"), 4)


def test_a_room_that_cannot_be_taken_apart_stays_as_it_is():
    level, score, _ = reverse_play(np.array([[0] * 5, [0, TARGET, TARGET, PLAYER, 0], [0] * 5], np.uint8))
    assert (to_text(level), score) == (text("#####", "#**@#", "#####"), 0)


def test_a_score_needs_every_target_in_sight():
    """The right box can be pulled away, but the left one cannot: its target stays covered."""
    room = np.array([[0] * 7, [0, TARGET, TARGET, PLAYER, FLOOR, FLOOR, 0], [0] * 7], np.uint8)
    level, score, _ = reverse_play(room)
    assert (to_text(level), score) == (text("#######", "#**@  #", "#######"), 0)


ROOMS = [
    *((shape, boxes, 40, None) for shape, boxes in CONFIGURATIONS),
    ((5, 6), 2, 20, 60),  # long walks: hardly a wall inside
    ((7, 7), 2, 8, 60),
    ((8, 8), 2, 2, 80),
]
"""Shape, boxes, number of rooms, walk."""


@pytest.mark.parametrize(("shape", "boxes", "n", "walk"), ROOMS)
def test_reverse_play_is_that_of_the_public_rules(shape, boxes, n, walk):
    """Level and score, with the depth limit reached in the larger rooms."""
    deepest = 0
    for room in rooms_with_targets(boxes, shape, boxes, n, walk):
        twin, before = Search(room), room.copy()
        level, score, _ = reverse_play(room)
        assert (level.tolist(), score) == twin.result()
        np.testing.assert_array_equal(room, before)
        deepest = max(deepest, twin.deepest)
    assert deepest <= 299 and (deepest == 299 or min(shape) < 7 or walk is None)


@pytest.mark.parametrize(("depth", "positions"), [(1, 10**6), (2, 10**6), (25, 10**6), (299, 1), (299, 100), (20, 50)])
def test_depth_and_number_of_positions_are_limited(monkeypatch, depth, positions):
    """In the same function as Python runs it, as numba has built the real limits in."""
    assert (levels.DEPTH, levels.POSITIONS) == (299, 300_000)
    monkeypatch.setattr(levels, "DEPTH", depth)
    monkeypatch.setattr(levels, "POSITIONS", positions)
    limited = 0
    for room in rooms_with_targets(0, (6, 6), 2, 6, 60):
        level, score, _ = reverse_play.py_func(room)
        assert (level.tolist(), score) == Search(room, depth, positions).result()
        limited += score != reverse_play(room)[1]
    assert limited > 0


def test_so_many_positions_are_looked_at(monkeypatch):
    """The box in its corridor: on its target, with the player in 3 places; one cell further, pulled, in 2; or in 1."""
    room = np.array([[0] * 6, [0, TARGET, PLAYER, FLOOR, FLOOR, 0], [0] * 6], np.uint8)
    assert reverse_play(room)[2] == 3 + 2 + 1
    monkeypatch.setattr(levels, "POSITIONS", 4)
    assert reverse_play.py_func(room)[2] == 4


def test_pieces_have_distinct_numbers():
    keys = levels._keys(900)
    assert keys.shape == (900, 3) and len(np.unique(keys)) == 2700


# ---- levels ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("shape", "boxes", "n"),
    [*((shape, boxes, 40) for shape, boxes in CONFIGURATIONS), ((8, 8), 3, 4), ((5, 11), 2, 20)],
)
def test_every_level_can_be_solved_and_begins_with_nothing_on_a_target(shape, boxes, n):
    rng = np.random.default_rng(boxes)
    for _ in range(n):
        level = generate(rng, shape, boxes)
        assert level.shape == shape
        check(level)
        assert len(places(level, BOX)) == len(places(level, TARGET)) == boxes
        assert not places(level, BOX_ON_TARGET, PLAYER_ON_TARGET)
        assert solvable(level), to_text(level)


def test_the_solver_knows_what_cannot_be_solved():
    assert not solvable(parse(text("######", "#@ .$#", "######")))
    assert not solvable(parse(text("#####", "#$  #", "# @.#", "#####")))
    assert solvable(parse(text("######", "#@$ .#", "######")))
    assert solvable(parse(text("######", "#   .#", "# $@ #", "#    #", "######")))


def test_a_longer_walk_opens_more():
    cells = [
        np.mean([np.count_nonzero(generate(np.random.default_rng(seed), (9, 9), 1, walk)) for seed in range(30)])
        for walk in (10, 30, 200)
    ]
    assert cells[0] + 5 < cells[1] < cells[2] - 5


@pytest.mark.parametrize(("shape", "boxes", "message"), [
    ((2, 5), 1, "^a level needs at least 3 x 3 cells and 1 box, not 2 x 5 and 1$"),
    ((5, 2), 1, "not 5 x 2 and 1$"),
    ((5, 5), 0, "not 5 x 5 and 0$"),
    ((3, 3), 1, "^no level of 3 x 3 cells with 1 boxes in 10,000 tries: too many boxes$"),
    ((4, 4), 1, "^no level of 4 x 4 cells with 1 boxes"),  # wherever the box is, it is in a corner
    ((5, 5), 8, "^no level of 5 x 5 cells with 8 boxes"),
])  # fmt: skip
def test_impossible_rooms_are_named(shape, boxes, message):
    with pytest.raises(ValueError, match=message):
        generate(np.random.default_rng(0), shape, boxes)


def test_the_work_for_a_level_is_bounded(monkeypatch):
    """Where thousands of tries would each look at many positions, and all of them would take minutes."""
    monkeypatch.setattr(levels, "WORK", 3_000_000)
    with pytest.raises(
        ValueError, match=r"^no level of 9 x 9 cells with 14 boxes in [\d,]+ tries: too many boxes$"
    ) as caught:
        generate(np.random.default_rng(0), (9, 9), 14)
    tries = int(re.search(r"in ([\d,]+) tries", str(caught.value))[1].replace(",", ""))
    assert 0 < tries < levels.TRIES


def test_a_level_is_the_same_however_often_python_looks_in(monkeypatch):
    crowded = [generate(np.random.default_rng(seed), (9, 9), 10) for seed in range(2)]
    monkeypatch.setattr(levels, "MOMENT", 1)
    for seed, level in enumerate(crowded):
        np.testing.assert_array_equal(generate(np.random.default_rng(seed), (9, 9), 10), level)


def test_ctrl_c_stops_a_search_that_goes_on_and_on(tmp_path):
    begun = tmp_path / "begun"
    program = (
        "import pathlib, numpy as np; from envs.sokoban import levels\n"
        "levels.TRIES = levels.WORK = 10**12; levels.generate(np.random.default_rng(0), (5, 5), 1)\n"
        f"pathlib.Path({str(begun)!r}).touch(); levels.generate(np.random.default_rng(0), (9, 9), 20)"
    )
    process = started(sys.executable, "-c", program, cwd=Path(__file__).parents[3])
    wait_until(begun.exists, process)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(timeout=20) in (-signal.SIGINT, 1)
        assert "KeyboardInterrupt" in process.stderr.read()
    finally:
        process.kill()


# ---- statistics of the package's levels ------------------------------------------------------------------------------
# Of gym-sokoban 0.0.6, in the order of CONFIGURATIONS: share of levels that a random policy solves, and of how many.
SOLVED = [(0.633, 1000), (0.499, 1000), (0.416, 1000), (0.164, 1000), (0.080, 300), (0.275, 1000), (0.073, 1000)]


@pytest.mark.parametrize(("shape", "boxes", "rate", "n"), [(*c, *s) for c, s in zip(CONFIGURATIONS, SOLVED)], ids=NAMES)
def test_a_random_policy_solves_as_many_as_of_the_packages(shape, boxes, rate, n):
    """But for three standard errors of the difference."""
    env, rng, episodes, solved = Sokoban(shape, boxes), np.random.default_rng(3), 400, 0
    for seed in range(episodes):
        env.reset(seed=seed)
        solved += any(env.step(action)[2] for action in rng.integers(8, size=120).tolist())
    mean = (solved + rate * n) / (episodes + n)
    assert abs(solved / episodes - rate) <= 3 * math.sqrt(mean * (1 - mean) * (1 / episodes + 1 / n))
