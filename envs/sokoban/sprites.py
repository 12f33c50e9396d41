"""Pictures of Sokoban's cells for people, 16x16 pixels each, drawn here."""

from functools import cache

import numpy as np

from envs.sokoban.levels import BOX, BOX_ON_TARGET, FLOOR, PLAYER, PLAYER_ON_TARGET, TARGET, WALL

TILE = 16
"""Pixels per side of a cell."""

STONE, MORTAR = (133, 94, 66), (92, 64, 44)
GROUND, SPECK = (222, 214, 196), (208, 199, 178)
MARK = (204, 62, 68)
WOOD, PLANK, EDGE = (201, 152, 84), (176, 127, 62), (116, 79, 34)
DONE, DONE_PLANK = (126, 176, 92), (101, 150, 70)
SKIN, SHIRT, TROUSERS, HAIR = (240, 200, 160), (52, 101, 164), (60, 60, 70), (70, 45, 25)


@cache
def sprites() -> np.ndarray:
    """The picture of every code, uint8 ``(7, 16, 16, 3)``."""
    tiles = np.empty((7, TILE, TILE, 3), np.uint8)
    tiles[WALL] = _wall()
    tiles[FLOOR] = _floor()
    tiles[TARGET] = _target()
    tiles[BOX] = _box(WOOD, PLANK)
    tiles[BOX_ON_TARGET] = _box(DONE, DONE_PLANK)
    tiles[PLAYER] = _player(_floor())
    tiles[PLAYER_ON_TARGET] = _player(_target())
    tiles.setflags(write=False)  # one copy, shared by all
    return tiles


def _wall() -> np.ndarray:
    tile = np.empty((TILE, TILE, 3), np.uint8)
    tile[:] = STONE
    for course in range(4):  # bricks, every second course shifted by half of one
        tile[4 * course + 3] = MORTAR
        tile[4 * course : 4 * course + 3, (7, 15) if course % 2 else (3, 11)] = MORTAR
    return tile


def _floor() -> np.ndarray:
    tile = np.empty((TILE, TILE, 3), np.uint8)
    tile[:] = GROUND
    tile[0], tile[:, 0] = SPECK, SPECK
    return tile


def _target() -> np.ndarray:
    tile = _floor()
    y, x = np.mgrid[:TILE, :TILE] - (TILE - 1) / 2
    distance = abs(x) + abs(y)
    tile[(distance <= 5) & (distance > 3)] = MARK  # a diamond with a dot
    tile[distance <= 1] = MARK
    return tile


def _box(face: tuple[int, int, int], plank: tuple[int, int, int]) -> np.ndarray:
    tile = _floor()
    tile[1:15, 1:15] = EDGE
    tile[2:14, 2:14] = face
    tile[4:12, 4:12] = plank
    for i in range(8):  # two boards across
        tile[4 + i, 4 + i] = tile[4 + i, 11 - i] = EDGE
    return tile


def _player(ground: np.ndarray) -> np.ndarray:
    tile = ground
    tile[2:4, 6:10] = HAIR
    tile[4:7, 6:10] = SKIN
    tile[7:11, 4:12] = SHIRT
    tile[9:11, (4, 11)] = SKIN  # hands
    tile[11:14, 5:7], tile[11:14, 9:11] = TROUSERS, TROUSERS
    return tile
