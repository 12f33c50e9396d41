"""What is run for each figure, at each scale.

``smoke`` only proves that everything is wired. ``quick`` is a laptop's budget: shorter schedules and rewards divided by
MAXSTEPS, chosen so that UER, the baseline, starts to learn; network, learner and replay settings are the paper's
(README, deviation 1). ``full`` is the paper's protocol: its tasks, steps, seeds and evaluation.
"""

from collections.abc import Callable, Iterable

from common.lab.sweep import Entry
from envs.minigrid_tasks import TASKS, MiniGridTask
from papers.ter import batch_time, nchain
from papers.ter.train import Config

METHODS = ("uer", "per", "ebu", "discor", "ter")
HEADLINE = ("fig2", "fig6")  # what fits into an hour beside the other papers; fig3a alone takes longer

SCHEDULES = {
    "smoke": dict(
        steps=480, capacity=400, warmup=160, epsilon_steps=300, target_interval=100, eval_every=240, eval_episodes=3
    ),
    "quick": dict(steps=100_000, capacity=100_000, warmup=5_000, epsilon_steps=50_000, eval_every=10_000),
    "full": dict(),  # Config's defaults are the paper's
}
SEEDS = {"smoke": 1, "quick": 3, "full": 5}
LONGER = {
    # (scale, task): what differs. A random policy meets the goal of these two three times less often per step than that
    # of SimpleCrossing-Easy, so they take three times as long, and the paper's own warm-up, which costs little.
    ("quick", "LavaCrossing-Easy"): dict(steps=300_000, capacity=300_000, warmup=50_000, epsilon_steps=150_000),
    ("quick", "Unlock"): dict(steps=300_000, capacity=300_000, warmup=50_000, epsilon_steps=150_000),
    ("full", "DoorKey"): dict(steps=6_000_000),
}
MAXSTEPS = {task: MiniGridTask(task).max_steps for task in TASKS}

QUICK_TASKS = ("SimpleCrossing-Easy", "Unlock", "LavaCrossing-Easy")


def entries(
    scale: str, envs: Iterable[str], variants: dict[str, dict], suffix: str = "", schedule: dict | None = None, **common
) -> list[Entry]:
    """Every variant (label -> settings, ``method`` among them) on every task with every seed of the scale.

    ``schedule`` replaces the scale's.
    """
    found = []
    for env in envs:
        budget: dict = (schedule or SCHEDULES[scale]) | LONGER.get((scale, env), {})
        if scale == "quick":
            budget["reward_scale"] = 1 / MAXSTEPS[env]
        for label, settings in variants.items():
            for seed in range(SEEDS[scale]):
                config = Config(env=env, seed=seed, **budget, **common, **settings)
                found.append(Entry(label, env + suffix, seed, "papers.ter.train:main", config))
    return found


def tasks(scale: str, quick: Iterable[str], full: Iterable[str]) -> Iterable[str]:
    """The paper's tasks, or the ones that stand for them on a laptop."""
    return quick if scale == "quick" else full


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
    """Learning curves of the five methods on MiniGrid."""
    return entries(scale, tasks(scale, QUICK_TASKS, TASKS), PLAIN)


def fig4(scale: str) -> list[Entry]:
    """Baselines that learn 1, 4 and 8 times as often as TER."""
    variants = {
        f"{method} x{ratio:g}": dict(method=method, replay_ratio=ratio)
        for method in ("uer", "per", "ebu", "discor")
        for ratio in (0.25, 1.0, 2.0)
    }
    variants["ter x0.25"] = dict(method="ter")
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy"], ["LavaCrossing-Hard", "Unlock"]), variants)


def fig5(scale: str) -> list[Entry]:
    """TER with different shares of prioritised transitions."""
    variants = {f"eta={eta:g}": dict(method="ter", eta=eta) for eta in (0.0, 0.05, 0.1, 0.2, 0.5, 0.7)}
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy"], ["LavaCrossing-Hard", "Unlock"]), variants)


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
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy"], TASKS), variants)


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
    variants: dict[str, dict] = {
        "ebu": dict(method="ebu"),
        "ebu + per": dict(method="ebu", ebu_per_share=0.5),
        "ter": dict(method="ter"),
    }
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy"], TASKS), variants)


def fig_j12(scale: str) -> list[Entry]:
    """EBU without the episodes that ran out of time."""
    variants: dict[str, dict] = {
        "ebu": dict(method="ebu"),
        "ebu (no timeout)": dict(method="ebu", ebu_timeouts=False),
        "ter": dict(method="ter"),
    }
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy"], TASKS), variants)


def fig_k13(scale: str) -> list[Entry]:
    """TER with projections of different length."""
    variants = {f"d={dim}": dict(method="ter", projection_dim=dim) for dim in (1, 3, 10)}
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy"], ["SimpleCrossing-Hard", "LavaCrossing-Hard"]), variants)


def own_target(scale: str) -> list[Entry]:
    """Not in the paper: the target network copied five times as often."""
    settings = {"interval 1000": {}, "interval 200": dict(target_interval=200)}
    if scale == "smoke":  # whose schedule has an interval of its own
        settings = {"interval 100": {}, "interval 20": dict(target_interval=20)}
    found = []
    for name, interval in settings.items():
        schedule = SCHEDULES[scale] | interval
        variants = {f"{method} ({name})": dict(method=method) for method in ("uer", "ter")}
        found += entries(scale, ["SimpleCrossing-Easy"], variants, schedule=schedule)
    return found


EXPERIMENTS: dict[str, Callable[[str], list[Entry]]] = {
    "fig2": fig2,
    "fig3a": fig3a,
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
    "own-target": own_target,
}
