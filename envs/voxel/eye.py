"""What the agent of the voxel world sees: a picture through its eye, drawn by a kernel, for n states at once."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from common.numba_cache import njit_calling
from envs.voxel import kernels
from envs.voxel.kernels import EYE, HEADING, HEADINGS, PITCH, PITCHES, X, Y, Z, aim

VIEW = 70.0
"""Degrees from the lower edge of a picture to the upper."""
EDGE = 0.06
"""Blocks are darker this close to their edges; the one aimed at is framed there."""
SHADES = np.array([0.72, 0.86, 1.0])
"""Brightness of a face to the east or west, to the north or south, above or below."""
COLOURS = np.array([(132, 138, 148), (190, 138, 78), (72, 112, 196)])
"""Colours of the materials: stone, wood, lapis."""
FLOOR, OTHER_FLOOR, MEADOW = (224, 216, 196), (212, 203, 180), (134, 168, 96)
ZENITH, HORIZON, FRAME, CROSS = (120, 168, 226), (206, 226, 245), (15, 15, 15), (255, 255, 255)


@njit(cache=True)
def _place(pixel, colour, brightness):
    for k in range(3):
        pixel[k] = np.uint8(colour[k] * brightness)


@njit(cache=True)
def _mixed(pixel, low, high, share):
    for k in range(3):
        pixel[k] = np.uint8(low[k] + (high[k] - low[k]) * share)


@njit(cache=True)
def _ray(cells, size, height, eye, way, aimed, pixel, cell, step, nearest, apart):
    """Colour `pixel` as what a ray from `eye` [3] along `way` [3], of length 1, meets, going from cell to cell.

    The last four, [3] each, are scratch space: asking for memory would take longer than the ray.
    """
    for k in range(3):
        cell[k] = math.floor(eye[k])
        step[k] = 1 if way[k] > 0 else -1
        apart[k] = abs(1.0 / way[k]) if abs(way[k]) > 1e-9 else np.inf
        nearest[k] = (cell[k] + (way[k] > 0) - eye[k]) / way[k] if abs(way[k]) > 1e-9 else np.inf
    while 0 <= cell[0] < size and 0 <= cell[1] < size and cell[2] >= 0 and (cell[2] < height or way[2] < 0):
        axis = 0 if nearest[0] < nearest[1] else 1
        axis = axis if nearest[axis] < nearest[2] else 2
        at = nearest[axis]
        cell[axis] += step[axis]
        nearest[axis] += apart[axis]
        if not (0 <= cell[0] < size and 0 <= cell[1] < size and 0 <= cell[2] < height):
            continue
        number = (cell[2] * size + cell[1]) * size + cell[0]
        if cells[number] == 0:
            continue
        border = 1.0  # from the nearest edge of the face
        for k in range(3):
            if k != axis:
                within = eye[k] + at * way[k] - cell[k]
                border = min(border, within, 1.0 - within)
        if number == aimed and border < EDGE:
            _place(pixel, FRAME, 1.0)
        else:
            _place(pixel, COLOURS[cells[number] - 1], SHADES[axis] * (0.8 if border < EDGE else 1.0))
        return
    if way[2] < 0:
        x, y = eye[0] - eye[2] / way[2] * way[0], eye[1] - eye[2] / way[2] * way[1]
        if 0 <= x < size and 0 <= y < size:
            _place(pixel, FLOOR if (math.floor(x) + math.floor(y)) % 2 == 0 else OTHER_FLOOR, 1.0)
        else:
            _place(pixel, MEADOW, 1.0)
    else:
        _mixed(pixel, HORIZON, ZENITH, min(1.5 * way[2], 1.0))


@njit_calling(kernels)
def look(states, size, height, pictures):
    """Draw n pictures uint8 [n, rows, columns, 3]. A white cross-hair marks the aim, framed if it is in reach."""
    n_cells = size * size * height
    rows, columns = pictures.shape[1:3]
    up = math.tan(math.radians(VIEW / 2))  # half of a picture's height, at distance 1 from the eye
    eye, way, nearest, apart = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    cell, step = np.empty(3, np.int64), np.empty(3, np.int64)
    for i in range(len(states)):
        cells, pose = states[i, :n_cells], states[i, n_cells:]
        aimed, _ = aim(cells, pose, size, height)
        eye[0], eye[1], eye[2] = pose[X] + 0.5, pose[Y] + 0.5, pose[Z] + EYE
        pitch = math.radians(PITCHES[pose[PITCH]])
        east, north = HEADINGS[pose[HEADING], 0] * 1.0, HEADINGS[pose[HEADING], 1] * 1.0
        straight = math.sqrt(east * east + north * north)
        east, north = east / straight, north / straight
        ahead, sink = math.cos(pitch), math.sin(pitch)
        for row in range(rows):
            v = (1.0 - (2 * row + 1) / rows) * up
            for column in range(columns):
                u = ((2 * column + 1) / columns - 1.0) * up * columns / rows
                level = ahead + v * sink  # of the ray, along the heading
                length = math.sqrt(1.0 + u * u + v * v)
                way[0] = (level * east + u * north) / length
                way[1] = (level * north - u * east) / length
                way[2] = (v * ahead - sink) / length
                _ray(cells, size, height, eye, way, aimed, pictures[i, row, column], cell, step, nearest, apart)
        for row in range((rows - 1) // 2, rows // 2 + 1):
            for column in range((columns - 1) // 2, columns // 2 + 1):
                _place(pictures[i, row, column], CROSS, 1.0)
