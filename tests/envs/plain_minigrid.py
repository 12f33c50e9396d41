"""MiniGrid as minigrid plays it, with the rewards of `envs.minigrid`, for comparison with its kernel."""

from minigrid.core.constants import COLOR_NAMES

FORWARD = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Step (x, y) of the agent for its four directions: right, down, left, up."""
FIRST = {"floor": 0, "wall": 5, "goal": 6, "lava": 11, "door": 16, "key": 58}


class PlainMiniGrid:
    """A game of minigrid that has been reset."""

    def __init__(self, game, pseudo_terminal=False):
        self.game, self.pseudo_terminal = game, pseudo_terminal

    def step(self, action):
        """One of the seven actions: (reward, terminated, truncated, success)."""
        game, limit = self.game, float(self.game.max_steps)
        was_on_goal = self.on_goal()
        _, native_reward, terminated, truncated, _ = game.step(action)
        success, on_goal = native_reward > 0, self.on_goal()
        reward = limit if success else -limit if terminated else -1.0
        if self.pseudo_terminal:
            success = on_goal and not was_on_goal
            terminated = terminated and not on_goal
            if on_goal:
                reward = limit if success else 0.0
            else:
                reward = -limit if was_on_goal or terminated else -1.0
        return reward, terminated, truncated and not terminated, success

    def on_goal(self):
        here = self.game.grid.get(*self.game.agent_pos)
        return here is not None and here.type == "goal"

    def ahead(self):
        """What lies before the agent, None for the floor."""
        dx, dy = FORWARD[self.game.agent_dir]
        return self.game.grid.get(int(self.game.agent_pos[0]) + dx, int(self.game.agent_pos[1]) + dy)

    def codes(self):
        """The level as `envs.minigrid` writes it."""
        game = self.game
        return [
            [
                code(game.grid.get(x, y)) + (game.agent_dir + 1 if (x, y) == tuple(game.agent_pos) else 0)
                for x in range(game.width)
            ]
            for y in range(game.height)
        ]


def code(thing):
    """Of a thing without the agent."""
    if thing is None:
        return 0
    colour = COLOR_NAMES.index(thing.color)
    if thing.type == "door":
        return FIRST["door"] + 7 * colour + (0 if thing.is_open else 6 if thing.is_locked else 5)
    return FIRST[thing.type] + (colour if thing.type == "key" else 0)
