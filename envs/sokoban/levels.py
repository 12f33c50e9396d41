"""Sokoban levels: made by the public rules of the package gym-sokoban, or read from text.

A level is a matrix of codes, one byte per cell. It is made in three steps, all from one random generator:

    carve          a random walk through solid rock opens the floor
    place          the player and the targets, each with its box, on random floor cells
    reverse_play   solved levels are taken apart: boxes are pulled off their targets, and the position with the
                   highest score is where the player starts. Played backwards, those pulls are a solution.
"""

from __future__ import annotations

import numpy as np
from numba import njit

WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = range(7)
SYMBOLS = "# .*$@+"
"""The code's symbol in text, as everywhere in the Sokoban world."""

TURN = 0.35
"""Chance that the random walk draws its direction anew before a step."""
MASKS = np.array(
    [
        [[0, 0, 0], [1, 1, 1], [0, 0, 0]],
        [[0, 1, 0], [0, 1, 0], [0, 1, 0]],
        [[0, 0, 0], [1, 1, 0], [0, 1, 0]],
        [[0, 0, 0], [1, 1, 0], [1, 1, 0]],
        [[0, 0, 0], [0, 1, 1], [0, 1, 0]],
    ],
    dtype=np.uint8,
)
"""What a step of the walk opens around its cell: a row, a column, and three pieces of corners, one drawn per step."""
DEPTH = 299
"""Positions on a path of reverse play, its start included."""
POSITIONS = 300_000
"""Positions that reverse play looks at."""
TRIES = 10_000
"""Levels tried before a room counts as too small for its boxes."""
WORK, MOMENT = 100_000_000, 300_000
"""Positions that all these tries look at, at most: one or two minutes. And so many, or one try more, without a break in
which Python hears Ctrl-C."""

_TOO_FEW_CELLS, _TOO_EASY, _MADE = range(3)
# Where up, down, left and right lead: (row, column).
_ROW = np.array([-1, 1, 0, 0])
_COLUMN = np.array([0, 0, -1, 1])


def default_walk(shape: tuple[int, int]) -> int:
    """Steps of the random walk in a room of `shape` (rows, columns), its ring of walls included."""
    return int(1.7 * (shape[0] + shape[1]))


def generate(rng: np.random.Generator, shape: tuple[int, int], boxes: int, walk: int | None = None) -> np.ndarray:
    """A level that can be solved, uint8 (rows, columns). No box and no player stands on a target.

    shape: rows and columns, the ring of walls included. boxes: at least 1. walk: steps of the random walk, default
    :func:`default_walk`. ValueError if none of 10,000 tries, or of as many as `WORK` allows, made a level: the room is
    too small for so many boxes.
    """
    rows, columns = shape
    if min(shape) < 3 or boxes < 1:
        raise ValueError(f"a level needs at least 3 x 3 cells and 1 box, not {rows} x {columns} and {boxes}")
    walk = default_walk(shape) if walk is None else walk
    tries, work = 0, 0
    while tries < TRIES and work < WORK:
        level, result, tried, looked = _try_often(rng, rows, columns, boxes, walk, TRIES - tries, MOMENT)
        if result == _MADE:
            return level
        tries, work = tries + tried, work + looked
    raise ValueError(f"no level of {rows} x {columns} cells with {boxes} boxes in {tries:,} tries: too many boxes")


@njit(cache=True)
def _try_often(rng, rows, columns, boxes, walk, tries, positions):
    """Like `try_once`, until a level is made, at most `tries` times, and no more after so many `positions`. Also
    returns how often it tried."""
    tried, looked = 0, 0
    while True:
        level, result, more = try_once(rng, rows, columns, boxes, walk)
        tried, looked = tried + 1, looked + more
        if result == _MADE or tried >= tries or looked >= positions:
            return level, result, tried, looked


@njit(cache=True)
def try_once(rng, rows, columns, boxes, walk):
    """One random room: its level; 2 if that is one, 0 if it has too few free cells, 1 if all its scores are 0; and how
    many positions were looked at.

    The package gives up, and is asked again, after too few free cells or the fourth room whose score is 0. As rooms are
    independent draws, that makes the same levels with the same chances as going on until one is made.
    """
    room = carve(rng, rows, columns, walk)
    if not place(rng, room, boxes):
        return room, _TOO_FEW_CELLS, 0
    level, score, looked = reverse_play(room)
    return level, _MADE if score > 0 else _TOO_EASY, looked


@njit(cache=True)
def carve(rng, rows, columns, walk):
    """Walls and floor, uint8 (rows, columns): a random walk of `walk` steps opens the cells of a mask around each."""
    room = np.full((rows, columns), WALL, np.uint8)
    direction = rng.integers(0, 4)
    # The walk may start on the lower and right wall; its first step takes it inside.
    row, column = rng.integers(1, rows), rng.integers(1, columns)
    for _ in range(walk):
        if rng.random() < TURN:
            direction = rng.integers(0, 4)
        row = max(min(row + _ROW[direction], rows - 2), 1)
        column = max(min(column + _COLUMN[direction], columns - 2), 1)
        mask = MASKS[rng.integers(0, len(MASKS))]
        for i in range(3):
            for j in range(3):
                if mask[i, j]:
                    room[row - 1 + i, column - 1 + j] = FLOOR
    room[0], room[-1], room[:, 0], room[:, -1] = WALL, WALL, WALL, WALL
    return room


@njit(cache=True)
def place(rng, room, boxes):
    """Put the player and then the targets on random floor cells of `room`; False if there are too few of them."""
    free = np.flatnonzero(room.ravel() == FLOOR)
    left = len(free)
    if left <= boxes + 1:
        return False
    for code in [PLAYER] + [TARGET] * boxes:
        drawn = rng.integers(0, left)
        room.ravel()[free[drawn]] = code
        free[drawn : left - 1] = free[drawn + 1 : left].copy()
        left -= 1
    return True


@njit(cache=True)
def reverse_play(room):
    """Take a solved room apart: the level with the highest score, uint8 (rows, columns), that score, and the number of
    positions that were looked at.

    A depth-first search over the player's four steps with a box in tow and four without, in this order, each position
    looked at once. Score: pulls on the path to a position, times the distance (Manhattan) of the boxes from their own
    targets; 0 unless every target is in sight, without box or player. Of equal scores the first one counts.

    room: with walls, floor, targets -- every one with its box, which is not drawn -- and the player.
    """
    rows, columns = room.shape
    fixed = room.ravel().copy()
    player = np.flatnonzero(fixed == PLAYER)[0]
    fixed[player] = FLOOR
    home = np.flatnonzero(fixed == TARGET)
    boxes = len(home)
    at = home.copy()  # where each box stands
    owner = np.full(len(fixed), -1)  # which box stands in a cell
    for box in range(boxes):
        owner[home[box]] = box
    pulled = np.zeros(boxes, np.bool_)  # a box that is back on its target is not the same as one that never left
    keys = _keys(len(fixed))
    position = keys[player, 0]
    for box in range(boxes):
        position ^= keys[home[box], 1]
    seen = {position}
    best, best_player, best_score = at.copy(), player, 0

    # The path: of each position on it the next action, and how to undo the step that led there.
    action = np.zeros(DEPTH, np.int64)
    before = np.zeros((DEPTH, 3), np.int64)  # where the player was, which box was pulled (-1: none), was it before
    pulls, depth = 0, 0
    while depth >= 0:
        if action[depth] == 8:  # all tried: one step back
            if depth > 0:
                here = player
                player, box = before[depth, 0], before[depth, 1]
                position ^= keys[here, 0] ^ keys[player, 0]
                if box >= 0:
                    behind = player - (here - player)
                    position ^= keys[player, 2] ^ keys[behind, 2 if before[depth, 2] else 1]
                    owner[player], owner[behind], at[box] = -1, box, behind
                    pulled[box] = before[depth, 2] == 1
                    pulls -= 1
            depth -= 1
            continue
        direction, tows = action[depth] % 4, action[depth] < 4
        action[depth] += 1
        step = _ROW[direction] * columns + _COLUMN[direction]
        ahead, behind = player + step, player - step
        if fixed[ahead] == WALL or owner[ahead] >= 0 or depth + 1 == DEPTH or len(seen) >= POSITIONS:
            continue
        box = owner[behind] if tows else -1
        found = position ^ keys[player, 0] ^ keys[ahead, 0]
        if box >= 0:
            found ^= keys[behind, 2 if pulled[box] else 1] ^ keys[player, 2]
        if found in seen:
            continue
        seen.add(found)
        depth += 1
        action[depth] = 0
        before[depth, 0], before[depth, 1] = player, box
        if box >= 0:
            before[depth, 2] = pulled[box]
            owner[behind], owner[player], at[box], pulled[box] = -1, box, player, True
            pulls += 1
        player, position = ahead, found

        distance, in_sight = 0, True
        for box in range(boxes):
            distance += abs(at[box] // columns - home[box] // columns) + abs(at[box] % columns - home[box] % columns)
            in_sight = in_sight and owner[home[box]] < 0 and player != home[box]
        if in_sight and pulls * distance > best_score:
            best, best_player, best_score = at.copy(), player, pulls * distance

    level = fixed.copy()
    for box in range(boxes):
        level[best[box]] = BOX if level[best[box]] == FLOOR else BOX_ON_TARGET
    level[best_player] = PLAYER if level[best_player] == FLOOR else PLAYER_ON_TARGET
    return level.reshape(rows, columns), best_score, len(seen)


@njit(cache=True)
def _keys(cells):
    """Random 64-bit numbers (cells, 3) for player, unpulled and pulled box in a cell (splitmix64, always the same).

    A position is known by the exclusive or of its pieces' numbers (Zobrist hashing). Among 300,000 positions two
    have one number with a chance of 2.4e-9.
    """
    keys = np.empty((cells, 3), np.uint64)
    state = np.uint64(0)
    for cell in range(cells):
        for kind in range(3):
            state += np.uint64(0x9E3779B97F4A7C15)
            z = state
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            keys[cell, kind] = z ^ (z >> np.uint64(31))
    return keys


def parse(text: str) -> np.ndarray:
    """A level uint8 (rows, columns) from lines of :data:`SYMBOLS`; short lines are filled up with wall.

    ValueError for another symbol, not exactly one player, no box, as many boxes as targets, or a ring with a gap.
    """
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    if unknown := set("".join(lines)) - set(SYMBOLS):
        raise ValueError(f"unknown symbols {''.join(sorted(unknown))!r} in a level: right are {SYMBOLS!r}")
    width = max(map(len, lines), default=0)
    level = np.array([[SYMBOLS.index(symbol) for symbol in line.ljust(width, "#")] for line in lines], np.uint8)
    check(level)
    return level


def check(level: np.ndarray) -> None:
    """ValueError unless a uint8 matrix is a level: a ring of walls, one player, boxes, and as many targets."""
    if level.ndim != 2 or level.dtype != np.uint8 or min(level.shape) < 3 or level.max() > PLAYER_ON_TARGET:
        raise ValueError("a level is a uint8 matrix of at least 3 x 3 codes from 0 to 6")
    if level[[0, -1]].any() or level[:, [0, -1]].any():
        raise ValueError("a level needs a ring of walls")
    players = np.isin(level, (PLAYER, PLAYER_ON_TARGET)).sum()
    boxes = np.isin(level, (BOX, BOX_ON_TARGET)).sum()
    targets = np.isin(level, (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)).sum()
    if players != 1 or boxes < 1 or boxes != targets:
        raise ValueError(
            f"a level needs one player, and as many boxes as targets, not {players} players, {boxes} boxes and "
            f"{targets} targets"
        )


def to_text(level: np.ndarray) -> str:
    """A level as lines of :data:`SYMBOLS`: what :func:`parse` reads."""
    return "\n".join("".join(SYMBOLS[code] for code in row) for row in level)
