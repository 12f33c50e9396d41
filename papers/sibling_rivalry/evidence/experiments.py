"""What is run for each figure, at each scale.

``smoke`` only proves that everything is wired. ``full`` is the paper's protocol: 200,000 episodes, 5 seeds, 13 x 13
pixels. ``quick`` has 60,000 episodes and 3 seeds, a grid of 7 x 7 pixels (24,000 episodes), and for every method
PyTorch's own epsilon of Adam, 1e-8: with the authors' 1e-3 the first success may come after 80,000 episodes only.
"""

from collections.abc import Callable, Iterable
from math import inf

from lab.entry import Entry
from papers.sibling_rivalry import track, train, train_off_policy

HEADLINE: dict[str, Callable[[Entry], bool]] = {
    "fig1": lambda entry: True,
    "fig2": lambda entry: True,
    "fig6": lambda entry: entry.method == "ppo-sr" and entry.env.startswith("Corridor"),
}
"""What `make reproduce` trains: figures, and which of their runs fit into an hour beside the other papers."""

SEEDS = {"smoke": 1, "quick": 3, "full": 5}
SCHEDULES: dict[str, dict] = {
    "smoke": dict(epochs=2, eval_episodes=4),
    "quick": dict(epochs=15, adam_eps=1e-8),
    "full": dict(epochs=50),
}
SMOKE_UPDATES: dict[str, dict] = {
    "on-policy": dict(updates=2, rollouts=8),
    "off-policy": dict(cycles=2, episodes=4, updates=2, batch_size=32, warmup=40, capacity=5_000),
}
GRID = {"smoke": "PixelGrid-5-12", "quick": "PixelGrid-7-25", "full": "PixelGrid-13"}
GRID_SCHEDULES: dict[str, dict] = {
    "smoke": {},
    "quick": {"on-policy": dict(epochs=6), "off-policy": dict(epochs=6, batch_size=256)},
    "full": {},
}
"""On a CPU the grid's convolutions take 15 times as long as the maze's perceptrons: quick has 24,000 episodes, and a
tenth of the transitions per gradient step of DQN."""
GRID_SETTINGS: dict[str, dict] = {"ppo-sr": dict(epsilon=inf, entropy=0.0)}  # Table 1
LENGTHS = (2, 4, 6, 8, 10)
"""Side lengths of corridors and U mazes in Fig. 6; the paper's are in its picture only."""
SHAPES_SCHEDULES: dict[str, dict] = {"smoke": {}, "quick": dict(epochs=10), "full": {}}
SHAPES_EPSILON = 1.0
"""Of the upper curves in Fig. 6. The paper does not say; in single pilot runs the longest U maze was solved with 1, and
not with 2 or 5."""
EPSILONS = {"fig6": (1, 2, 3, 5), "fig7": tuple(range(11))}
SIDES = (1.0, 2.0, 3.0)
"""Sides of the Grid Oracle's regions; the paper calls their number the main hyperparameter and does not name it."""


def entries(scale: str, env: str, methods: Iterable[str], suffix: str = "", **settings) -> list[Entry]:
    """Every method on one task with every seed of the scale; `suffix` names what `settings` change."""
    found = []
    for method in methods:
        on_policy = method.startswith("ppo")
        script = train if on_policy else train_off_policy
        values = SCHEDULES[scale] | settings
        if scale == "smoke":
            values |= SMOKE_UPDATES["on-policy" if on_policy else "off-policy"]
        for seed in range(SEEDS[scale]):
            config = script.Config(env, method, seed, **values)
            found.append(Entry(method + suffix, env, seed, f"{script.__name__}:main", config))
    return found


def on_track(scale: str) -> list[Entry]:
    """Figs. 1 and 2: the track with three rewards; quick has fewer seeds, and is otherwise the same as full."""
    budget: dict = dict(updates=4, pairs=4, log_every=2) if scale == "smoke" else {}
    return [
        Entry(method, track.ENV, seed, f"{track.__name__}:main", track.Config(track.ENV, method, seed, **budget))  # type: ignore[arg-type]
        for method in track.METHODS
        for seed in range(SEEDS[scale])
    ]


def maze(scale: str) -> list[Entry]:
    """Figs. 3 and 9: the point maze. RND is in the paper's text only."""
    return entries(scale, "PointMaze", ["ppo", "ppo-sr", "ppo-icm", "ppo-rnd", "ddpg-her"])


def oracle(scale: str) -> list[Entry]:
    """Fig. 9: the Grid Oracle with regions of three sizes beside Sibling Rivalry."""
    found = entries(scale, "PointMaze", ["ppo-sr"])
    for side in SIDES:
        found += entries(scale, "PointMaze", ["ppo-go"], f" (side {side:g})", cell_side=side)
    return found


def on_grid(scale: str, method: str, suffix: str = "", **settings) -> list[Entry]:
    """A method on the pixel grid."""
    schedule = GRID_SCHEDULES[scale].get("on-policy" if method.startswith("ppo") else "off-policy", {})
    return entries(scale, GRID[scale], [method], suffix, **schedule, **GRID_SETTINGS.get(method, {}) | settings)


def grid(scale: str) -> list[Entry]:
    """Fig. 4: the pixel grid; and Sibling Rivalry without the closer of two siblings that end far apart."""
    found = []
    for method in ("ppo", "ppo-sr", "ppo-icm", "dqn-her", "dqn"):
        found += on_grid(scale, method)
    return found + on_grid(scale, "ppo-sr", " (epsilon 2)", epsilon=2.0)


def shapes(scale: str) -> list[Entry]:
    """Fig. 6: corridors and U mazes of growing length; inclusion thresholds, curiosity and hindsight on the longest."""
    found = []
    schedule = SHAPES_SCHEDULES[scale]
    for name in ("Corridor", "UMaze"):
        for length in LENGTHS:
            found += entries(scale, f"{name}-{length}", ["ppo-sr"], epsilon=SHAPES_EPSILON, **schedule)
        longest = f"{name}-{LENGTHS[-1]}"
        for value in EPSILONS["fig6"]:
            found += entries(scale, longest, ["ppo-sr"], f" (epsilon {value})", epsilon=float(value), **schedule)
        found += entries(scale, longest, ["ppo-icm", "ddpg-her"], **schedule)
    return found


def epsilon(scale: str) -> list[Entry]:
    """Fig. 7: inclusion thresholds on the point maze."""
    found = []
    for value in EPSILONS["fig7"]:
        found += entries(scale, "PointMaze", ["ppo-sr"], f" (epsilon {value})", epsilon=float(value))
    return found


def starts(scale: str) -> list[Entry]:
    """Fig. 8: siblings that share their start, and siblings that do not."""
    found = []
    for suffix, settings in {"": {}, " (independent starts)": {"independent_starts": True}}.items():
        found += entries(scale, "PointMaze", ["ppo-sr"], suffix, **settings)
        found += on_grid(scale, "ppo-sr", suffix, **settings)
    return found


EXPERIMENTS: dict[str, Callable[[str], list[Entry]]] = {
    "track": on_track,
    "maze": maze,
    "grid": grid,
    "shapes": shapes,
    "epsilon": epsilon,
    "starts": starts,
    "oracle": oracle,
}
