"""What is run for each figure, at each scale.

`smoke` only proves that everything is wired. `full` is the paper's protocol: 200,000 episodes, 5 seeds, 13 x 13 pixels.
`quick` has other lengths, fewer seeds, a smaller grid, half the ant maze and what follows from these (NOTEBOOK,
"Runs"). Its lengths are not chosen on Sibling Rivalry's runs (NOTEBOOK, "Registered before the runs").
"""

from collections.abc import Callable, Iterable
from typing import Any

from lab.sweep.entry import Entry
from lab.sweep.grid import Experiment, Scales, each, grid
from papers.sibling_rivalry import train, train_build, train_low_level, train_off_policy, train_track

HEADLINE: dict[str, Callable[[Entry], bool]] = {
    "fig1": lambda entry: True,
    "fig2": lambda entry: True,
    "fig3": lambda entry: entry.env == "PointMaze" and entry.method in ("ppo", "ppo-sr") and entry.seed < 3,
}
"""What `make reproduce` trains: figures, and which of their runs fit into it beside the other papers."""

# ---- tables: at smoke, quick and full --------------------------------------------------------------------------------

SEEDS = Scales(1, 5, 5)
FEW = Scales(1, 3, 5)
"""Three seeds at quick: figures with many variants, whose claims are about single runs; and the track."""
MANY = Scales(1, 10, 5)
"""Ten seeds at quick: short runs, for claims on the difference between two methods that both learn."""

LENGTH = Scales(dict(epochs=2, eval_episodes=4), dict(epochs=25), dict(epochs=50))
"""100,000 episodes at quick are half the paper's; there, its own curve of Sibling Rivalry has come to 0.78."""
ON_POLICY = LENGTH | Scales(smoke=dict(updates=2, rollouts=8))
OFF_POLICY = LENGTH | Scales(smoke=dict(cycles=2, episodes=4, updates=2, batch_size=32, warmup=40, capacity=5_000))
SHORTER = Scales(quick=dict(epochs=10))
"""40,000 episodes at quick. By then, the paper's curves of Sibling Rivalry and hindsight on its grid, 13 x 13, have
passed 0.9; and PPO needs a fifth of them to solve the longest corridor."""
TRACK = Scales(smoke=dict(updates=4, pairs=4, log_every=2))
CONSTRUCTION = Scales(
    dict(size=5, height=1, sides=(3, 4), max_steps=8, episodes=48, pairs=4, lag=2, log_every=16),
    dict(episodes=100_000),
    dict(picture=(24, 36)),
)
"""Fig. 5: a small arena, in which the agent sees cells and its pose, and the paper's with what the agent sees."""
LOW_LEVEL = Scales(smoke=dict(updates=2, episodes=2, eval_every=1, eval_episodes=2))

MAZE = "PointMaze"
GRID = Scales("PixelGrid-5-12", "PixelGrid-7-25", "PixelGrid-13")
PIXELS = each(GRID, lambda env: {env: SHORTER})
WHOLE = Scales({GRID.smoke: {}}, {GRID.full: SHORTER}, {GRID.full: SHORTER})
ARENA = Scales("VoxelBuildSmall", "VoxelBuildSmall", "VoxelBuild")
CHEAP = Scales(quick=dict(batch_size=256))
"""Of DQN on the grid where it must be cheap: transitions per gradient step, a tenth of the paper's."""

LENGTHS = (2, 4, 6, 8, 10)
"""Side lengths of corridors and U mazes in Fig. 6; the paper's are in its picture only."""
FIG6_EPSILONS = (0, 1, 2, 3, 5)
FIG7_EPSILONS = Scales(range(11), (0, 1, 2, 3, 5, 7, 10), range(11))
SIDES = (1.0, 2.0, 3.0)
"""Sides of the Grid Oracle's regions; the paper calls their number the main hyperparameter and does not name it."""

ANT = Scales("AntMazeSmall", "AntMazeSmall", "AntMaze")
"""Half the maze is a surrogate: a run in the paper's takes hours."""
ANT_SEEDS, ANT_FEW = Scales(1, range(10, 15), 5), Scales(1, range(10, 13), 5)
"""At quick the lower ones were the short runs'. Few: of all but PPO and Sibling Rivalry."""
ANT_LENGTH = Scales(
    dict(epochs=2, eval_episodes=1), dict(epochs=30, eval_episodes=50), dict(epochs=50, eval_episodes=100)
)
"""Epochs of 1,600 episodes: 48,000 at quick, where the paper's curve of Sibling Rivalry, in the whole maze, has come to
0.90; the paper's 80,000 at full. Pairs of an evaluation: the paper does not say how many."""
ANT_ON_POLICY = ANT_LENGTH | Scales(smoke=dict(updates=1, rollouts=4))
ANT_OFF_POLICY = ANT_LENGTH | Scales(
    dict(cycles=1, episodes=4, updates=2, batch_size=16, warmup=20, capacity=5_000),
    dict(eval_episodes=100, capacity=5_000_000),
    dict(eval_episodes=200),
)
"""As many episodes of an evaluation, without pairs. Hindsight keeps all of quick's transitions: 2.5 GB."""
ANT_SHORT = ANT_ON_POLICY | Scales(quick=dict(epochs=12))
"""As quick was first registered."""
ANT_LONG = ANT_ON_POLICY | Scales(quick=dict(epochs=50))
"""The paper's 80,000 episodes."""
ANT_SIDE = Scales(1.0, 1.0, 2.0)
"""Of the Grid Oracle's regions: as in the authors' code, and half of it in half the maze."""


def shapes_epsilon(length: int) -> float:
    """Threshold of the upper curves in Fig. 6, which the paper does not name: half the side, as the point maze has it
    with 5 and 10 cells."""
    return length / 2


# ---- experiments -----------------------------------------------------------------------------------------------------


def on_policy(tasks: Any, variants: Any, seeds: Any = SEEDS, budget: Scales = ON_POLICY) -> Experiment:
    return grid(train, tasks, variants, seeds, budget)


def off_policy(tasks: Any, variants: Any, seeds: Any = SEEDS, budget: Scales = OFF_POLICY) -> Experiment:
    return grid(train_off_policy, tasks, variants, seeds, budget)


def thresholds(values: Iterable[int]) -> dict[str, Any]:
    """Variants: Sibling Rivalry with these inclusion thresholds."""
    return {f"ppo-sr (epsilon {value})": dict(epsilon=float(value)) for value in values}


def growing(shape: str) -> Experiment:
    """Sibling Rivalry on mazes of growing length; inclusion thresholds, curiosity and hindsight on the longest."""
    mazes = {f"{shape}-{n}": SHORTER | dict(epsilon=shapes_epsilon(n)) for n in LENGTHS}
    longest = {f"{shape}-{LENGTHS[-1]}": SHORTER}
    return (
        on_policy(mazes, "ppo-sr", FEW)
        + on_policy(longest, thresholds(FIG6_EPSILONS) | {"ppo-icm": {}}, FEW)
        + off_policy(longest, "ddpg-her", FEW)
    )


STARTS = each(GRID, lambda env: {"PointMaze": {}, env: SHORTER})

EXPERIMENTS: dict[str, Experiment] = {
    # Figs. 1 and 2
    "track": grid(train_track, train_track.ENV, train_track.METHODS, FEW, TRACK),
    # Fig. 3. RND is in the paper's text only
    "maze": on_policy(MAZE, ["ppo", "ppo-sr", "ppo-icm", "ppo-rnd"]) + off_policy(MAZE, "ddpg-her"),
    # Fig. 4; and Sibling Rivalry without the closer of two siblings that end far apart
    "grid": on_policy(PIXELS, ["ppo", "ppo-sr", "ppo-icm"])
    + off_policy(PIXELS, ["dqn-her", "dqn"], budget=OFF_POLICY | CHEAP)
    + on_policy(PIXELS, thresholds([2])),
    # own: one run each on the paper's own grid, DQN with quick's and with the paper's batches
    "whole-grid": (
        on_policy(WHOLE, ["ppo", "ppo-sr"], 1)
        + off_policy(WHOLE, "dqn-her", 1, OFF_POLICY | CHEAP)
        + off_policy(WHOLE, Scales([], *2 * ["dqn-her (batches of 2560)"]), 1)
    ).full_as_quick(),
    # own: Fig. 4's DQN with dense rewards at quick, 100,000 episodes
    "dense-grid": off_policy(GRID, "dqn", budget=OFF_POLICY | CHEAP).full_as_quick(),
    # Fig. 5. The naive reward is in the paper's text only. And at quick five fresh seeds, added when the first had been
    # seen
    "construction": grid(train_build, ARENA, train_build.METHODS, SEEDS, CONSTRUCTION).by("seed"),
    "construction-fresh": grid(train_build, ARENA, train_build.METHODS, Scales((), range(5, 10), ()), CONSTRUCTION).by(
        "seed"
    ),
    # Fig. 6
    "corridors": growing("Corridor"),
    "u-mazes": growing("UMaze"),
    # Fig. 7. 5 is the default, and its runs are those of Fig. 3
    "epsilon": on_policy(MAZE, each(FIG7_EPSILONS, thresholds) | {"ppo-sr (epsilon 5)": {}}, FEW),
    # Fig. 8: siblings that share their start, and siblings that do not
    "starts": on_policy(STARTS, "ppo-sr", MANY)
    + on_policy(STARTS, {"ppo-sr (independent starts)": dict(independent_starts=True)}, MANY),
    # Fig. 9: the Grid Oracle with regions of three sizes
    "oracle": on_policy(MAZE, "ppo-sr")
    + on_policy(MAZE, {f"ppo-go (side {side:g})": dict(cell_side=side) for side in SIDES}),
    # own: means over workers, as the authors' code has them, and the mean over all 80 episodes of an update
    "weighting": on_policy(MAZE, {"ppo-sr": {}, "ppo-sr (one pool)": dict(worker_rollouts=80)}),
    # Fig. 3
    "ant": on_policy(ANT, ["ppo", "ppo-sr"], ANT_SEEDS, ANT_ON_POLICY)
    + on_policy(ANT, "ppo-icm", ANT_FEW, ANT_ON_POLICY)
    + off_policy(ANT, "ddpg-her", ANT_FEW, ANT_OFF_POLICY),
    # Fig. 9
    "ant-oracle": on_policy(ANT, "ppo-sr", ANT_SEEDS, ANT_ON_POLICY)
    + on_policy(ANT, {"ppo-go": dict(cell_side=ANT_SIDE)}, ANT_FEW, ANT_ON_POLICY),
    # own: quick's maze for 19,200 and for 80,000 episodes
    "ant-short": on_policy(ANT, ["ppo", "ppo-sr"], SEEDS, ANT_SHORT).full_as_quick(),
    "ant-long": on_policy(ANT, ["ppo-sr", "ppo"], ANT_SEEDS, ANT_LONG).full_as_quick(),
    # own: the low level alone, without walls
    "low-level": grid(train_low_level, "AntArena", "low-level", Scales(1, 3, 3), LOW_LEVEL),
}
