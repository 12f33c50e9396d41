"""The paper's own curves, read off its figures by eye (within 0.02): mean success rate over 5 runs."""

EPISODES = tuple(range(20_000, 200_001, 20_000))
"""Training episodes at which the curves were read."""

CURVES: dict[str, dict[str, tuple[float, ...]]] = {
    "fig3": {  # point maze
        "ppo": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        "ppo-sr": (0, 0.07, 0.25, 0.59, 0.78, 0.86, 0.90, 0.92, 0.95, 0.96),
        "ppo-icm": (0, 0, 0, 0, 0, 0, 0, 0.01, 0.16, 0.17),
        "ddpg-her": (0, 0, 0, 0, 0, 0, 0.01, 0.19, 0.20, 0.20),
    },
    "fig4": {  # 13 x 13 pixels
        "ppo": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        "ppo-sr": (0.46, 0.93, 0.97, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99),
        "ppo-icm": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        "dqn-her": (0.30, 0.91, 0.99, 1, 1, 1, 1, 1, 1, 1),
        "dqn": (0, 0.10, 0.27, 0.67, 0.77, 0.86, 0.94, 0.98, 1, 0.99),
    },
}
"""Figure -> method -> success rates. RND is in the paper's text only: it never finds the goal."""

ANT_EPISODES = tuple(range(8_000, 80_001, 8_000))
ANT_CURVES: dict[str, tuple[float, ...]] = {
    "ppo": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "ppo-sr": (0, 0, 0.08, 0.41, 0.72, 0.90, 0.92, 0.92, 0.95, 0.94),
    "ppo-icm": (0, 0, 0, 0, 0.17, 0.19, 0.19, 0.37, 0.39, 0.39),
    "ddpg-her": (0, 0, 0, 0, 0, 0.03, 0.02, 0.05, 0.13, 0.23),
}
"""Fig. 3's lower row, the ant maze, at training episodes of its own. Of Fig. 9's right half there are no numbers."""

BUILD_EPISODES = 700_000
"""Length of Fig. 5's runs."""
