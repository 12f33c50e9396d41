"""What is run for each figure, at each scale.

``smoke`` only proves that everything is wired. ``quick`` is a laptop's budget: shorter schedules, rewards divided by
the largest return and, in Sokoban, smaller pictures, chosen so that UER, the baseline, starts to learn; learner and
replay settings are the paper's (README, deviation 1). ``full`` is the paper's protocol: its tasks, steps, seeds and
evaluation.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from envs import minigrid_tasks
from envs.sokoban import BOX_REWARD, SOLVED_REWARD
from lab.entry import Entry
from papers.ter import batch_time, nchain, train, train_atari, train_sokoban
from papers.ter.settings import METHODS, Settings

HEADLINE: dict[str, Callable[[Entry], bool]] = {
    "fig2": lambda entry: True,
    "own-start": lambda entry: entry.method in ("uer", "ter"),
}
"""What `make reproduce` trains: figures, and which of their runs fit into an hour beside the other papers."""

TASKS = tuple(minigrid_tasks.TASKS)
SOKOBAN = tuple(train_sokoban.TASKS)
GAMES = tuple(train_atari.SCORES)
SEEDS = {"smoke": 1, "quick": 3, "full": 5}


@dataclass(frozen=True)
class World:
    """Tasks with one train script, and their budgets. Where a budget says nothing, the script's defaults hold: the
    paper's."""

    script: str
    config: type[Settings]
    tasks: tuple[str, ...]
    smoke: dict
    quick: dict
    longer: dict[tuple[str, str], dict]
    """(scale, task): what differs there."""


MINIGRID = World(
    "papers.ter.train:main", train.Config, TASKS,
    smoke=dict(
        steps=480, capacity=400, warmup=160, epsilon_steps=300, target_interval=100, eval_every=240, eval_episodes=3
    ),
    quick=dict(steps=100_000, capacity=100_000, warmup=5_000, epsilon_steps=50_000, eval_every=10_000),
    longer={
        # A random policy meets the goal of these two three times less often per step than that of SimpleCrossing-Easy,
        # so they take three times as long, and the paper's own warm-up, which costs little.
        ("quick", "LavaCrossing-Easy"): dict(steps=300_000, capacity=300_000, warmup=50_000, epsilon_steps=150_000),
        ("quick", "Unlock"): dict(steps=300_000, capacity=300_000, warmup=50_000, epsilon_steps=150_000),
        ("full", "DoorKey"): dict(steps=6_000_000),
    },
)  # fmt: skip
SOKOBAN_WORLD = World(
    "papers.ter.train_sokoban:main", train_sokoban.Config, SOKOBAN,
    smoke=dict(
        steps=280, capacity=200, warmup=130, epsilon_steps=200, target_interval=100, eval_every=140, eval_episodes=2,
        pixels=40,
    ),
    quick=dict(  # a quarter of the paper's schedule of a million steps
        steps=250_000, capacity=250_000, warmup=12_500, epsilon_steps=250_000, target_interval=2_500, pixels=40,
        eval_every=25_000,
    ),
    longer={
        ("full", "6x6-2"): dict(steps=5_000_000),
        ("full", "6x6-3"): dict(steps=10_000_000),
        ("full", "7x7-1"): dict(steps=3_000_000),
        ("full", "7x7-2"): dict(steps=5_000_000),
    },
)  # fmt: skip
ATARI = World(
    "papers.ter.train_atari:main", train_atari.Config, GAMES,
    smoke=dict(
        steps=120, capacity=100, warmup=60, epsilon_steps=100, target_interval=20, eval_every=60, eval_episodes=1
    ),
    quick=dict(
        steps=5_000, capacity=5_000, warmup=250, epsilon_steps=2_500, target_interval=125, eval_every=1_000,
        eval_episodes=3,
    ),
    longer={},
)  # fmt: skip
LARGEST_RETURN = {task: minigrid_tasks.MiniGridTask(task).max_steps for task in TASKS} | {
    task: SOLVED_REWARD + BOX_REWARD * boxes for task, (_, boxes) in train_sokoban.TASKS.items()
}

QUICK_TASKS = ("SimpleCrossing-Easy", "Unlock", "LavaCrossing-Easy")
QUICK_SOKOBAN = ("5x5-1", "6x6-1")


def world_of(task: str) -> World:
    """The world that a task belongs to."""
    [world] = [world for world in (MINIGRID, SOKOBAN_WORLD, ATARI) if task in world.tasks]
    return world


def entries(
    scale: str, envs: Iterable[str], variants: dict[str, dict], suffix: str = "", seeds: int | None = None, **common
) -> list[Entry]:
    """Every variant (label -> settings, ``method`` among them) on every task.

    Settings go before ``common`` ones, and these before the budget. seeds: how many, if not the scale's number.
    """
    found = []
    for env in envs:
        world = world_of(env)
        budget: dict = {"smoke": world.smoke, "quick": world.quick, "full": {}}[scale]
        budget = budget | world.longer.get((scale, env), {})
        if scale == "quick" and env in LARGEST_RETURN:
            budget["reward_scale"] = 1 / LARGEST_RETURN[env]
        for label, settings in variants.items():
            for seed in range(seeds or SEEDS[scale]):
                config = world.config(env=env, seed=seed, **(budget | common | settings))
                found.append(Entry(label, env + suffix, seed, world.script, config))
    return found


def tasks(scale: str, quick: Iterable[str], full: Iterable[str]) -> Iterable[str]:
    """The paper's tasks, or the ones that stand for them on a laptop and in smoke."""
    return full if scale == "full" else quick


PLAIN = {method: dict(method=method) for method in METHODS}


def fig2(scale: str) -> list[Entry]:
    """NChain: backups needed from one fixed data set."""
    seeds = {"smoke": 2, "quick": 10, "full": 20}[scale]
    return [
        Entry(method, "NChain-20", seed, "papers.ter.nchain:main", nchain.Config(method=method, seed=seed))  # type: ignore[arg-type]
        for method in nchain.METHODS
        for seed in range(seeds)
    ]


def fig3a(scale: str) -> list[Entry]:
    """Learning curves of the five methods on MiniGrid; smoke tries every task."""
    return entries(scale, QUICK_TASKS if scale == "quick" else TASKS, PLAIN)


def fig3b(scale: str) -> list[Entry]:
    """Learning curves of the five methods on Sokoban, and their Q-values (Fig. E.7); smoke tries every task."""
    return entries(scale, QUICK_SOKOBAN if scale == "quick" else SOKOBAN, PLAIN)


def fig4(scale: str) -> list[Entry]:
    """Baselines that learn 1, 4 and 8 times as often as TER; on Sokoban at quick, 1 and 4 times."""

    def variants(ratios: Iterable[float]) -> dict[str, dict]:
        found = {
            f"{method} x{ratio:g}": dict(method=method, replay_ratio=ratio)
            for method in ("uer", "per", "ebu", "discor")
            for ratio in ratios
        }
        return found | {"ter x0.25": dict(method="ter")}

    all_of_them = variants((0.25, 1.0, 2.0))
    if scale == "quick":
        return entries(scale, ["SimpleCrossing-Easy"], all_of_them) + entries(scale, ["5x5-1"], variants((0.25, 1.0)))
    return entries(scale, ["LavaCrossing-Hard", "Unlock", "6x6-2", "6x6-3"], all_of_them)


def fig5(scale: str) -> list[Entry]:
    """TER with different shares of prioritised transitions."""
    variants = {f"eta={eta:g}": dict(method="ter", eta=eta) for eta in (0.0, 0.05, 0.1, 0.2, 0.5, 0.7)}
    full = ["LavaCrossing-Hard", "Unlock", "6x6-2", "6x6-3"]
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy", "5x5-1"], full), variants)


def fig6(scale: str) -> list[Entry]:
    """Stitching alone: TER cut down until only the graph sets it apart from EBU."""
    variants = {
        "ter (1 root, 1 predecessor, eta=0)": dict(method="ter", roots=1, predecessors=1, eta=0.0),
        "ebu (beta=0, terminal only)": dict(method="ebu", ebu_beta=0.0, ebu_timeouts=False),
    }
    crossings = [task for task in TASKS if "Crossing" in task]
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy"], crossings), variants)


def table_b1(scale: str) -> list[Entry]:
    """Seconds to make a batch."""
    budget = {
        "smoke": dict(steps=2_000, warmup=500),
        "quick": dict(steps=200_000, warmup=5_000),
        "full": {},
    }[scale]
    seeds = range(1 if scale == "smoke" else 3)
    variants: list[dict] = [dict(method=method, seed=seed) | budget for method in METHODS for seed in seeds]
    configs = [batch_time.Config(**variant) for variant in variants]
    return [Entry(config.method, config.env, config.seed, "papers.ter.batch_time:main", config) for config in configs]


def fig_f8(scale: str) -> list[Entry]:
    """EBU with different diffusion factors."""
    variants = {f"beta={beta:g}": dict(method="ebu", ebu_beta=beta) for beta in (0.0, 0.25, 0.5, 0.75, 1.0)}
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy"], TASKS + SOKOBAN), variants)


def fig_g9(scale: str) -> list[Entry]:
    """A world that replaces every tenth action by a random one."""
    task = tasks(scale, ["LavaCrossing-Easy"], ["LavaCrossing-Hard"])
    return entries(scale, task, PLAIN, " (10 % random)", random_action_probability=0.1)


def fig_h10(scale: str) -> list[Entry]:
    """A goal that does not end the episode, and the same tasks where it does."""
    task = list(tasks(scale, ["SimpleCrossing-Easy"], ["SimpleCrossing-Hard", "LavaCrossing-Hard"]))
    return entries(scale, task, PLAIN, " (no terminal)", pseudo_terminal=True) + entries(scale, task, PLAIN)


def fig_i11(scale: str) -> list[Entry]:
    """EBU with TER's share of prioritised transitions."""
    found = []
    for task in tasks(scale, ["SimpleCrossing-Easy"], TASKS + SOKOBAN):
        variants: dict[str, dict] = {
            "ebu": dict(method="ebu"),
            "ebu + per": dict(method="ebu", ebu_per_share=world_of(task).config.eta),
            "ter": dict(method="ter"),
        }
        found += entries(scale, [task], variants)
    return found


def fig_j12(scale: str) -> list[Entry]:
    """EBU without the episodes that ran out of time."""
    variants: dict[str, dict] = {
        "ebu": dict(method="ebu"),
        "ebu (no timeout)": dict(method="ebu", ebu_timeouts=False),
        "ter": dict(method="ter"),
    }
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy"], TASKS + SOKOBAN), variants)


def fig_k13(scale: str) -> list[Entry]:
    """TER with projections of different length."""
    variants = {f"d={dim}": dict(method="ter", projection_dim=dim) for dim in (1, 3, 10)}
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy"], ["SimpleCrossing-Hard", "LavaCrossing-Hard"]), variants)


def fig_m15(scale: str) -> list[Entry]:
    """Four Atari games; at quick one of them, once, for a 500th of the steps."""
    return entries(scale, tasks(scale, ["Freeway"], GAMES), PLAIN, seeds=1 if scale == "quick" else None)


def own_target(scale: str) -> list[Entry]:
    """Not in the paper: the target network copied five times as often."""
    interval = 100 if scale == "smoke" else 1000
    variants = {
        f"{method} (interval {every})": dict(method=method, target_interval=every)
        for every in (interval, interval // 5)
        for method in ("uer", "ter")
    }
    return entries(scale, ["SimpleCrossing-Easy"], variants)


def own_start(scale: str) -> list[Entry]:
    """Not in the paper: the beginning of Fig. 3b on the smallest Sokoban, in which the methods differ most; at quick
    with the schedules of the longer runs."""
    budget: dict = dict(steps=75_000, eval_every=12_500) if scale == "quick" else {}
    return entries(scale, ["5x5-1"], PLAIN, **budget)


def own_memory(scale: str) -> list[Entry]:
    """Not in the paper: Sokoban's baselines with a memory of 50,000, as in the released scripts, where TER has 1M.

    At a shorter budget the small memory holds the same share, a twentieth, of the run.
    """
    small = {"smoke": 50, "quick": SOKOBAN_WORLD.quick["capacity"] // 20, "full": 50_000}[scale]
    variants = PLAIN | {f"{method} (small memory)": dict(method=method, capacity=small) for method in METHODS[:-1]}
    return entries(scale, tasks(scale, ["5x5-1"], SOKOBAN), variants)


EXPERIMENTS: dict[str, Callable[[str], list[Entry]]] = {
    "fig2": fig2,
    "fig3a": fig3a,
    "fig3b": fig3b,
    "fig4": fig4,
    "fig5": fig5,
    "fig6": fig6,
    "table-b1": table_b1,
    "fig-f8": fig_f8,
    "fig-g9": fig_g9,
    "fig-h10": fig_h10,
    "fig-i11": fig_i11,
    "fig-j12": fig_j12,
    "fig-k13": fig_k13,
    "fig-m15": fig_m15,
    "own-target": own_target,
    "own-memory": own_memory,
    "own-start": own_start,
}
