"""Sokoban by its public rules in plain Python, for comparison with `envs.sokoban.game`.

As in the package gym-sokoban there are two matrices: `fixed` has what cannot move, `state` what is seen. Their codes
are written out here once more. Boxes on targets are counted anew after every step.
"""

WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = 0, 1, 2, 3, 4, 5, 6
DIRECTIONS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
ACTIONS = [(verb, direction) for verb in ("push", "move") for direction in DIRECTIONS]


class PlainSokoban:
    """One level, rows of codes from 0 to 6, and at most `max_steps` steps."""

    def __init__(self, level, max_steps):
        rest = {BOX_ON_TARGET: TARGET, BOX: FLOOR, PLAYER: FLOOR, PLAYER_ON_TARGET: TARGET}
        self.fixed = [[rest.get(code, code) for code in row] for row in level]
        self.state = [[PLAYER if code == PLAYER_ON_TARGET else code for code in row] for row in level]
        self.max_steps, self.steps = max_steps, 0

    def codes(self):
        """The level as `envs.sokoban.game` writes it: a player on a target has a code of its own."""
        return [
            [PLAYER_ON_TARGET if (seen, still) == (PLAYER, TARGET) else seen for seen, still in zip(*rows)]
            for rows in zip(self.state, self.fixed)
        ]

    def on_target(self):
        """How many boxes are on targets."""
        return sum(row.count(BOX_ON_TARGET) for row in self.state)

    def step(self, action):
        """One of the eight actions, by number: (reward, terminated, truncated)."""
        verb, direction = ACTIONS[action]
        down, right = DIRECTIONS[direction]
        [(y, x)] = [(y, x) for y, row in enumerate(self.state) for x, code in enumerate(row) if code == PLAYER]
        before = self.on_target()
        if verb == "push" and self.state[y + down][x + right] in (BOX, BOX_ON_TARGET):
            self._go(y + down, x + right, down, right)
        self._go(y, x, down, right)
        after = self.on_target()

        reward = -0.1
        if after > before:
            reward += 1
        if after < before:
            reward -= 1
        solved = not any(BOX in row for row in self.state)
        if solved:
            reward += 10
        self.steps += 1
        return reward, solved, not solved and self.steps == self.max_steps

    def _go(self, y, x, down, right):
        """What is at (y, x), the player or a box, goes one cell on if that is free."""
        thing, to = self.state[y][x], (y + down, x + right)
        if self.state[to[0]][to[1]] not in (FLOOR, TARGET):
            return
        self.state[y][x] = self.fixed[y][x]
        if thing != PLAYER:
            thing = BOX_ON_TARGET if self.fixed[to[0]][to[1]] == TARGET else BOX
        self.state[to[0]][to[1]] = thing
