"""MiniGrid's rules as a kernel, on tile codes: what one of its seven actions does to a game.

A game is two arrays, which a step changes in place: the code of every cell, uint8 (rows, columns), and a state, int64,
with what no cell shows or would take a search to find.

The agent is part of the code of its cell: a thing it can stand on has five codes, first without the agent and then with
the agent looking right, down, left and up.
"""

import numpy as np
from numba import njit

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE = range(7)
"""Minigrid's actions."""

FLOOR, WALL, GOAL, LAVA, DOOR, KEY = 0, 5, 6, 11, 16, 58
"""The first code of each thing; for doors and keys, of the first colour in the order of minigrid's `COLOR_NAMES`."""
CODES = 64
OPEN, CLOSED, LOCKED, PER_DOOR = 0, 5, 6, 7
"""Each colour has seven codes of doors. The agent can stand on an open one."""

CELL, DIRECTION, CARRIED, STEPS, MAX_STEPS, RULE, DOOR_1, DOOR_2, ROW = range(9)
"""A state: the agent's cell and direction; the key it carries (a code; FLOOR is none); steps so far and at most; one
of the rules below, and the cells of the doors that it asks about (a wall's if there are none)."""
GOAL_ENDS, GOAL_STAYS, UNLOCK, RED_THEN_BLUE = range(4)


@njit(cache=True)
def step(codes, state, action):
    """Carry out an action; return reward, terminated, truncated, success."""
    cells, columns = codes.ravel(), codes.shape[1]
    cell, direction = state[CELL], state[DIRECTION]
    ahead = cell + (1, columns, -1, -columns)[direction]
    below, thing = int(cells[cell]) - 1 - direction, int(cells[ahead])  # under the agent, and in front of it
    was_on_goal = below == GOAL
    red_was_open, blue_was_open = _open(cells[state[DOOR_1]]), _open(cells[state[DOOR_2]])
    success, fatal = False, False

    if action == LEFT:
        direction = (direction + 3) % 4
    elif action == RIGHT:
        direction = (direction + 1) % 4
    elif action == FORWARD:
        if thing == FLOOR or thing == GOAL or thing == LAVA or _open(thing):
            cells[cell], cell, below = below, ahead, thing
        success, fatal = thing == GOAL, thing == LAVA
    elif action == PICKUP:
        if thing >= KEY and state[CARRIED] == FLOOR:
            cells[ahead], state[CARRIED] = FLOOR, thing
    elif action == DROP:
        if thing == FLOOR:
            cells[ahead], state[CARRIED] = state[CARRIED], FLOOR
    elif action == TOGGLE and DOOR <= thing < KEY:
        colour, door = (thing - DOOR) // PER_DOOR, (thing - DOOR) % PER_DOOR
        if door == OPEN:
            cells[ahead] = thing - OPEN + CLOSED
        elif door == CLOSED or state[CARRIED] == KEY + colour:
            cells[ahead] = thing - door + OPEN
    cells[cell] = below + 1 + direction
    state[CELL], state[DIRECTION] = cell, direction
    state[STEPS] += 1

    if state[RULE] == UNLOCK:
        success = action == TOGGLE and _open(cells[state[DOOR_1]])
    elif state[RULE] == RED_THEN_BLUE:
        red, blue = _open(cells[state[DOOR_1]]), _open(cells[state[DOOR_2]])
        success = blue and red_was_open
        fatal = not success and (blue or (red and blue_was_open))
    limit, reward, terminated = state[MAX_STEPS], -1, success or fatal
    if state[RULE] == GOAL_STAYS:
        on_goal = below == GOAL
        success, terminated = on_goal and not was_on_goal, fatal
        fatal = fatal or (was_on_goal and not on_goal)  # leaving the goal costs as much, but ends nothing
        if on_goal:
            reward = 0
    if success:
        reward = limit
    elif fatal:
        reward = -limit
    return float(reward), terminated, state[STEPS] >= limit and not terminated, success


@njit(cache=True)
def step_all(codes, states, running, actions):
    """Carry out one action in each of the games with these numbers; return rewards, ended, success."""
    rewards = np.empty(len(running))
    ended, success = np.empty(len(running), np.bool_), np.empty(len(running), np.bool_)
    for i in range(len(running)):
        at = running[i]
        rewards[i], terminated, truncated, success[i] = step(codes[at], states[at], actions[i])
        ended[i] = terminated or truncated
    return rewards, ended, success


@njit(cache=True)
def _open(code):
    """Whether it is an open door, perhaps with the agent in it."""
    return DOOR <= code < KEY and (code - DOOR) % PER_DOOR < CLOSED
