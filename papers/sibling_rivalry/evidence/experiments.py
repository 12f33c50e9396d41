"""What is run for each figure, at each scale.

``smoke`` only proves that everything is wired. ``full`` is the paper's protocol: 200,000 episodes, 5 seeds, 13 x 13
pixels. ``quick`` has other lengths, fewer seeds, a smaller grid, half the ant maze and what follows from these (README,
"Run it"). Its lengths are not chosen on Sibling Rivalry's runs (README, "Registered before the runs").
"""

from collections.abc import Callable, Iterable

from lab.entry import Entry
from papers.sibling_rivalry import build, track, train, train_low_level, train_off_policy

HEADLINE: dict[str, Callable[[Entry], bool]] = {
    "fig1": lambda entry: True,
    "fig2": lambda entry: True,
    "fig3": lambda entry: entry.env == "PointMaze" and entry.method in ("ppo", "ppo-sr") and entry.seed < 3,
}
"""What `make reproduce` trains: figures, and which of their runs fit into it beside the other papers."""

SEEDS = {"smoke": 1, "quick": 5, "full": 5}
QUICK_SEEDS = {"track": 3, "corridors": 3, "u-mazes": 3, "epsilon": 3, "starts": 10}
"""Of quick: fewer where there are many variants, and statements are about single runs, and on the track as it was run;
more where runs are short, and the difference of two methods that both learn is asked for."""
SCHEDULES: dict[str, dict] = {
    "smoke": dict(epochs=2, eval_episodes=4),
    "quick": dict(epochs=25),
    "full": dict(epochs=50),
}
"""100,000 episodes at quick are half the paper's; there, its own curve of Sibling Rivalry has come to 0.78."""
SMOKE_UPDATES: dict[str, dict] = {
    "on-policy": dict(updates=2, rollouts=8),
    "off-policy": dict(cycles=2, episodes=4, updates=2, batch_size=32, warmup=40, capacity=5_000),
}
GRID = {"smoke": "PixelGrid-5-12", "quick": "PixelGrid-7-25", "full": "PixelGrid-13"}
GRID_SCHEDULES: dict[str, dict] = {"smoke": {}, "quick": dict(epochs=10), "full": {}}
"""40,000 episodes at quick: there, the paper's curves of Sibling Rivalry and hindsight, on 13 x 13, have passed 0.9."""
GRID_BATCH = 256
"""Transitions per gradient step of DQN on the grid where it must be cheap: a tenth of the paper's."""
LENGTHS = (2, 4, 6, 8, 10)
"""Side lengths of corridors and U mazes in Fig. 6; the paper's are in its picture only."""
SHAPES_SCHEDULES: dict[str, dict] = {"smoke": {}, "quick": dict(epochs=10), "full": {}}
"""40,000 episodes at quick are five times as many as PPO needs to solve the longest corridor."""
FIG6_EPSILONS = (0, 1, 2, 3, 5)
FIG7_EPSILONS = {"smoke": tuple(range(11)), "quick": (0, 1, 2, 3, 5, 7, 10), "full": tuple(range(11))}
SIDES = (1.0, 2.0, 3.0)
"""Sides of the Grid Oracle's regions; the paper calls their number the main hyperparameter and does not name it."""
POOLED = 80
"""Episodes of a worker where there is only one: all of an update."""


def shapes_epsilon(length: int) -> float:
    """Threshold of the upper curves in Fig. 6, which the paper does not name: half the side, as the point maze has it
    with 5 and 10 cells."""
    return length / 2


def entries(
    scale: str,
    env: str,
    methods: Iterable[str],
    suffix: str = "",
    *,
    seeds: int | None = None,
    first: int = 0,
    **settings,
) -> list[Entry]:
    """Every method on one task with every seed; `suffix` names what `settings` change. seeds: how many, from `first`
    on; None, the scale's."""
    found = []
    for method in methods:
        on_policy = method.startswith("ppo")
        script = train if on_policy else train_off_policy
        values = SCHEDULES[scale] | settings
        if scale == "smoke":
            values = SMOKE_UPDATES["on-policy" if on_policy else "off-policy"] | values
        for seed in range(first, first + (seeds or SEEDS[scale])):
            config = script.Config(env, method, seed, **values)
            found.append(Entry(method + suffix, env, seed, f"{script.__name__}:main", config))
    return found


def quick_seeds(scale: str, experiment: str) -> int | None:
    return QUICK_SEEDS[experiment] if scale == "quick" else None


def on_track(scale: str) -> list[Entry]:
    """Figs. 1 and 2: the track with three rewards; quick has fewer seeds, and is otherwise the same as full."""
    budget: dict = dict(updates=4, pairs=4, log_every=2) if scale == "smoke" else {}
    return [
        Entry(method, track.ENV, seed, f"{track.__name__}:main", track.Config(track.ENV, method, seed, **budget))  # type: ignore[arg-type]
        for method in track.METHODS
        for seed in range(quick_seeds(scale, "track") or SEEDS[scale])
    ]


def maze(scale: str) -> list[Entry]:
    """Fig. 3: the point maze. RND is in the paper's text only."""
    return entries(scale, "PointMaze", ["ppo", "ppo-sr", "ppo-icm", "ppo-rnd", "ddpg-her"])


def oracle(scale: str) -> list[Entry]:
    """Fig. 9: the Grid Oracle with regions of three sizes beside Sibling Rivalry."""
    found = entries(scale, "PointMaze", ["ppo-sr"])
    for side in SIDES:
        found += entries(scale, "PointMaze", ["ppo-go"], f" (side {side:g})", cell_side=side)
    return found


def on_grid(scale: str, method: str, suffix: str = "", **settings) -> list[Entry]:
    """A method on the pixel grid."""
    cheap: dict = dict(batch_size=GRID_BATCH) if scale == "quick" and method.startswith("dqn") else {}
    return entries(scale, GRID[scale], [method], suffix, **GRID_SCHEDULES[scale], **cheap, **settings)


def grid(scale: str) -> list[Entry]:
    """Fig. 4: the pixel grid; and Sibling Rivalry without the closer of two siblings that end far apart."""
    found = []
    for method in ("ppo", "ppo-sr", "ppo-icm", "dqn-her", "dqn"):
        found += on_grid(scale, method)
    return found + on_grid(scale, "ppo-sr", " (epsilon 2)", epsilon=2.0)


def dense_grid(scale: str) -> list[Entry]:
    """Own: Fig. 4's DQN with dense rewards at quick, 100,000 episodes; at full the same runs as at quick."""
    if scale == "smoke":
        return on_grid(scale, "dqn")
    return entries("quick", GRID["quick"], ["dqn"], batch_size=GRID_BATCH)


def whole_grid(scale: str) -> list[Entry]:
    """One run each of three methods on the paper's own grid, DQN with quick's and with the paper's batches; at full the
    same runs as at quick."""
    if scale == "smoke":
        return entries(scale, GRID["smoke"], ["ppo", "ppo-sr", "dqn-her"])
    once: dict = dict(seeds=1, **GRID_SCHEDULES["quick"])
    found = entries("quick", GRID["full"], ["ppo", "ppo-sr"], **once)
    found += entries("quick", GRID["full"], ["dqn-her"], **once, batch_size=GRID_BATCH)
    return found + entries("quick", GRID["full"], ["dqn-her"], " (batches of 2560)", **once)


def corridors(scale: str) -> list[Entry]:
    """Fig. 6, upper row: corridors of growing length."""
    return _of_growing_length(scale, "Corridor", quick_seeds(scale, "corridors"))


def u_mazes(scale: str) -> list[Entry]:
    """Fig. 6, lower row: U mazes of growing length."""
    return _of_growing_length(scale, "UMaze", quick_seeds(scale, "u-mazes"))


def _of_growing_length(scale: str, name: str, seeds: int | None) -> list[Entry]:
    """Sibling Rivalry on mazes of growing length; inclusion thresholds, curiosity and hindsight on the longest."""
    found, longest = [], f"{name}-{LENGTHS[-1]}"
    common: dict = SHAPES_SCHEDULES[scale] | {"seeds": seeds}
    for length in LENGTHS:
        found += entries(scale, f"{name}-{length}", ["ppo-sr"], epsilon=shapes_epsilon(length), **common)
    for value in FIG6_EPSILONS:
        found += entries(scale, longest, ["ppo-sr"], f" (epsilon {value})", epsilon=float(value), **common)
    return found + entries(scale, longest, ["ppo-icm", "ddpg-her"], **common)


def epsilon(scale: str) -> list[Entry]:
    """Fig. 7: inclusion thresholds on the point maze. 5 is the default, and its runs are those of Fig. 3."""
    found = []
    for value in FIG7_EPSILONS[scale]:
        settings: dict = {} if value == 5 else dict(epsilon=float(value))
        seeds = quick_seeds(scale, "epsilon")
        found += entries(scale, "PointMaze", ["ppo-sr"], f" (epsilon {value})", seeds=seeds, **settings)
    return found


def starts(scale: str) -> list[Entry]:
    """Fig. 8: siblings that share their start, and siblings that do not."""
    found = []
    seeds = quick_seeds(scale, "starts")
    for suffix, settings in {"": {}, " (independent starts)": {"independent_starts": True}}.items():
        found += entries(scale, "PointMaze", ["ppo-sr"], suffix, seeds=seeds, **settings)
        found += on_grid(scale, "ppo-sr", suffix, seeds=seeds, **settings)
    return found


def weighting(scale: str) -> list[Entry]:
    """Own: means over workers, as the authors' code has them, against the mean over all transitions of an update."""
    found = entries(scale, "PointMaze", ["ppo-sr"])
    return found + entries(scale, "PointMaze", ["ppo-sr"], " (one pool)", worker_rollouts=POOLED)


CONSTRUCTION: dict[str, dict] = {
    "smoke": dict(
        env="VoxelBuildSmall", size=5, height=1, sides=(3, 4), max_steps=8, episodes=48, pairs=4, lag=2, log_every=16
    ),
    "quick": dict(env="VoxelBuildSmall", episodes=100_000),
    "full": dict(picture=(24, 36)),
}
"""Fig. 5: a small arena, in which the agent sees cells and its pose, and the paper's with what the agent sees."""


def construction(scale: str) -> list[Entry]:
    """Fig. 5: building what is shown. The naive reward is in the paper's text only."""
    return _construction(scale, range(SEEDS[scale]))


def construction_fresh(scale: str) -> list[Entry]:
    """The same at quick with five fresh seeds, added when the first five had been seen; at full the same runs as at
    quick."""
    return _construction("smoke", range(1)) if scale == "smoke" else _construction("quick", range(5, 10))


def _construction(scale: str, seeds: Iterable[int]) -> list[Entry]:
    configs = [
        build.Config(method=method, seed=seed, **CONSTRUCTION[scale])  # type: ignore[arg-type]
        for seed in seeds
        for method in build.METHODS
    ]
    return [Entry(config.method, config.env, config.seed, f"{build.__name__}:main", config) for config in configs]


# ---- the ant maze ----------------------------------------------------------------------------------------------------

ANT = {"smoke": "AntMazeSmall", "quick": "AntMazeSmall", "full": "AntMaze"}
"""Half the maze is a surrogate: a run in the paper's takes hours."""
ANT_EPOCHS = {"quick": 30, "full": 50}
"""Of 1,600 episodes: 48,000 at quick, where the paper's curve of Sibling Rivalry, in the whole maze, has come to 0.90;
the paper's 80,000 at full."""
ANT_SHORT = 12
"""Epochs of quick as it was first registered."""
ANT_SEEDS_FROM = {"quick": 10, "full": 0}
"""Those below were the short runs'."""
ANT_PAIRS = {"quick": 50, "full": 100}
"""Of an evaluation; the paper does not say how many."""
ANT_SIDE = {"smoke": 1.0, "quick": 1.0, "full": 2.0}
"""Of the Grid Oracle's regions: as in the authors' code, and half of it in half the maze."""
ANT_FIRST = ("ppo", "ppo-sr")
"""With five seeds at quick; the others have three."""
ANT_CAPACITY = 5_000_000
"""Transitions that hindsight keeps at quick: all of them, 2.5 GB."""
ANT_SMOKE: dict[str, dict] = {
    "on-policy": dict(updates=1, rollouts=4, eval_episodes=1),
    "off-policy": dict(cycles=1, episodes=4, updates=2, batch_size=16, warmup=20, capacity=5_000, eval_episodes=1),
}


def on_ant(scale: str, method: str) -> list[Entry]:
    """A method in the ant maze."""
    settings: dict = dict(cell_side=ANT_SIDE[scale]) if method == "ppo-go" and ANT_SIDE[scale] != 2.0 else {}
    if scale == "smoke":
        settings |= ANT_SMOKE["on-policy" if method.startswith("ppo") else "off-policy"]
        return entries(scale, ANT[scale], [method], **settings)
    if scale == "quick" and not method.startswith("ppo"):
        settings |= dict(capacity=ANT_CAPACITY)
    seeds = 3 if scale == "quick" and method not in ANT_FIRST else None
    half = ANT_PAIRS[scale] * (1 if method.startswith("ppo") else 2)  # as many episodes without pairs
    settings |= dict(first=ANT_SEEDS_FROM[scale], epochs=ANT_EPOCHS[scale], eval_episodes=half)
    return entries(scale, ANT[scale], [method], seeds=seeds, **settings)


def ant(scale: str) -> list[Entry]:
    """Fig. 3: the ant maze."""
    return [entry for method in ("ppo", "ppo-sr", "ppo-icm", "ddpg-her") for entry in on_ant(scale, method)]


def ant_oracle(scale: str) -> list[Entry]:
    """Fig. 9: the Grid Oracle in the ant maze beside Sibling Rivalry."""
    return on_ant(scale, "ppo-sr") + on_ant(scale, "ppo-go")


def ant_short(scale: str) -> list[Entry]:
    """Own: half the ant maze for 19,200 episodes, as quick was first registered; at full the same runs as at quick."""
    if scale == "smoke":
        return [entry for method in ANT_FIRST for entry in on_ant(scale, method)]
    return entries("quick", ANT["quick"], ANT_FIRST, epochs=ANT_SHORT, eval_episodes=ANT_PAIRS["quick"])


def ant_long(scale: str) -> list[Entry]:
    """Own: quick's runs of Sibling Rivalry and PPO in half the ant maze, for the paper's 80,000 episodes; at full the
    same runs as at quick."""
    if scale == "smoke":
        return [entry for method in reversed(ANT_FIRST) for entry in on_ant(scale, method)]
    settings: dict = dict(first=ANT_SEEDS_FROM["quick"], epochs=ANT_EPOCHS["full"], eval_episodes=ANT_PAIRS["quick"])
    return entries("quick", ANT["quick"], reversed(ANT_FIRST), **settings)


def low_level(scale: str) -> list[Entry]:
    """Own: the low level alone, without walls; at full the same runs as at quick."""
    budget: dict = dict(updates=2, episodes=2, eval_every=1, eval_episodes=2) if scale == "smoke" else {}
    seeds = 1 if scale == "smoke" else 3
    configs = [train_low_level.Config(seed=seed, **budget) for seed in range(seeds)]
    return [Entry("low-level", c.env, c.seed, f"{train_low_level.__name__}:main", c) for c in configs]


EXPERIMENTS: dict[str, Callable[[str], list[Entry]]] = {
    "track": on_track,
    "maze": maze,
    "grid": grid,
    "whole-grid": whole_grid,
    "dense-grid": dense_grid,
    "construction": construction,
    "construction-fresh": construction_fresh,
    "corridors": corridors,
    "u-mazes": u_mazes,
    "epsilon": epsilon,
    "starts": starts,
    "oracle": oracle,
    "weighting": weighting,
    "ant": ant,
    "ant-oracle": ant_oracle,
    "ant-short": ant_short,
    "ant-long": ant_long,
    "low-level": low_level,
}
