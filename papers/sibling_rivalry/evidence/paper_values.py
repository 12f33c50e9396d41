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
