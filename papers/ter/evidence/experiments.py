"""What is run for each figure, at each scale.

``smoke`` only proves that everything is wired. ``quick`` is a laptop's budget: shorter schedules, a small network on
tile codes whose output is multiplied by the largest return, 30 episodes per evaluation; learner and replay settings are
the paper's, and so are rewards (README, deviation 1). ``full`` is the paper's protocol: its tasks, steps, network,
pictures, seeds and evaluation.

On MiniGrid TER has two arms: "ter" as the paper prints it, with 3 predecessors, and "ter (1 predecessor)" as the
released scripts run it.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from lab.entry import Entry
from papers.ter import batch_time, nchain, sweeps, train_dreamer
from papers.ter.evidence.budgets import FEW, FRESH, GAMES, QUICK, SEEDS, SOKOBAN, SOKOBAN_WORLD, TASKS, world_of
from papers.ter.settings import METHODS

HEADLINE: dict[str, Callable[[Entry], bool]] = {
    "fig2": lambda entry: True,
    "fig3b": lambda entry: entry.method in ("uer", "ter") and entry.env == "5x5-1" and entry.seed < FRESH + 3,
}
"""What `make reproduce` trains: figures, and which of their runs fit beside the other papers."""

RELEASED = " (1 predecessor)"
"""Follows the name of TER where it runs as in the scripts released for MiniGrid."""
SENSITIVITY = {"smoke": ("SimpleCrossing-Easy", "5x5-1"), "quick": ("5x5-1",)}
"""Tasks of the figures that vary a setting, but for `full`."""
RATIO_TASKS = ("LavaCrossing-Hard", "Unlock", "6x6-2", "6x6-3")
"""Tasks of Figs. 4 and 5 in the paper."""
RATIO_STEPS = 40_000
"""Steps at quick of what learns 4 and 8 times as often; the beginning of Fig. 3's runs is what it is compared with."""


def entries(
    scale: str, envs: Iterable[str], variants: dict[str, dict], suffix: str = "", seeds: int | None = None, **common
) -> list[Entry]:
    """Every variant (label -> settings, ``method`` among them) on every task.

    Settings go before ``common`` ones, and these before the budget. seeds: how many, if not the scale's number.
    """
    found = []
    first = FRESH if scale == "quick" else 0
    for env in envs:
        world = world_of(env)
        budget: dict = {"smoke": world.smoke, "quick": world.quick, "full": {}}[scale]
        budget = budget | world.longer.get((scale, env), {})
        for label, settings in variants.items():
            for seed in range(first, first + (seeds or SEEDS[scale])):
                config = world.config(env=env, seed=seed, **(budget | common | settings))
                found.append(Entry(label, env + suffix, seed, world.script, config))
    return found


def arms(env: str, label: str = "ter", **settings) -> dict[str, dict]:
    """TER on a task: as printed and, on MiniGrid, as released. label: begins with "ter", which the arm follows."""
    found = {label: dict(method="ter") | settings}
    if env in TASKS:
        head, tail = label[:3], label[3:]
        found[head + RELEASED + tail] = dict(method="ter", predecessors=1) | settings
    return found


def plain(env: str) -> dict[str, dict]:
    """All methods on a task."""
    return {method: dict(method=method) for method in METHODS if method != "ter"} | arms(env)


def on_each(scale: str, envs: Iterable[str], variants: Callable[[str], dict[str, dict]], **more) -> list[Entry]:
    """`entries` where the variants depend on the task."""
    return [entry for env in envs for entry in entries(scale, [env], variants(env), **more)]


def tasks(scale: str, quick: Iterable[str], full: Iterable[str]) -> Iterable[str]:
    """The paper's tasks, or the ones that stand for them on a laptop and in smoke."""
    return full if scale == "full" else quick


def varied(scale: str, full: Iterable[str]) -> Iterable[str]:
    """The tasks of a figure that varies a setting; `full`: the paper's."""
    return SENSITIVITY.get(scale, full)


def fig2(scale: str) -> list[Entry]:
    """NChain: backups needed from one fixed data set."""
    seeds = {"smoke": 2, "quick": 10, "full": 20}[scale]
    return [
        Entry(method, "NChain-20", seed, "papers.ter.nchain:main", nchain.Config(method=method, seed=seed))  # type: ignore[arg-type]
        for method in nchain.METHODS
        for seed in range(seeds)
    ]


def curves(scale: str, world: Iterable[str]) -> list[Entry]:
    """Fig. 3: all methods on a world's tasks, at quick on those of `QUICK`."""
    return on_each(scale, [task for task in world if scale != "quick" or task in QUICK], plain)


def fig3a(scale: str) -> list[Entry]:
    """Learning curves of the five methods on MiniGrid."""
    return curves(scale, TASKS)


def fig3b(scale: str) -> list[Entry]:
    """Learning curves of the five methods on Sokoban, and their Q-values (Fig. E.7)."""
    return curves(scale, SOKOBAN)


def fig4(scale: str) -> list[Entry]:
    """Baselines that learn 1, 4 and 8 times as often as TER. At quick the ratio 0.25 is that of Fig. 3's runs, and the
    others end earlier, with the schedules of these."""

    def variants(env: str) -> dict[str, dict]:
        short: dict = {}
        if scale == "quick":
            short = dict(steps=RATIO_STEPS, per_beta_steps=world_of(env).quick["steps"])
        found = {
            f"{method} x{ratio:g}": dict(method=method) | (dict(replay_ratio=ratio) | short if ratio > 0.25 else {})
            for method in ("uer", "per", "ebu", "discor")
            for ratio in (0.25, 1.0, 2.0)
        }
        return found | arms(env, "ter x0.25")

    return on_each(scale, varied(scale, RATIO_TASKS), variants)


def fig5(scale: str) -> list[Entry]:
    """TER with different shares of prioritised transitions."""

    def variants(env: str) -> dict[str, dict]:
        found: dict[str, dict] = {}
        for eta in (0.0, 0.05, 0.1, 0.2, 0.5, 0.7):
            found[f"eta={eta:g}"] = dict(method="ter", eta=eta)
            if env in TASKS:
                found[f"eta={eta:g}{RELEASED}"] = dict(method="ter", eta=eta, predecessors=1)
        return found

    return on_each(scale, varied(scale, RATIO_TASKS), variants)


def fig6(scale: str) -> list[Entry]:
    """Stitching alone: TER cut down until only the graph sets it apart from EBU."""
    variants = {
        "ter (1 root, 1 predecessor, eta=0)": dict(method="ter", roots=1, predecessors=1, eta=0.0),
        "ebu (beta=0, terminal only)": dict(method="ebu", ebu_beta=0.0, ebu_timeouts=False),
    }
    crossings = [task for task in TASKS if "Crossing" in task]
    return entries(scale, tasks(scale, ["SimpleCrossing-Easy", "5x5-1"], crossings), variants)


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
    """EBU with different diffusion factors, and without double DQN, as in the released code."""
    variants = {f"beta={beta:g}": dict(method="ebu", ebu_beta=beta) for beta in (0.0, 0.25, 0.5, 0.75, 1.0)}
    variants["ebu (released)"] = dict(method="ebu", ebu_double=False)
    return entries(scale, varied(scale, TASKS + SOKOBAN), variants)


def fig_g9(scale: str) -> list[Entry]:
    """A world that replaces every tenth action by a random one."""
    task = tasks(scale, ["SimpleCrossing-Easy"], ["LavaCrossing-Hard"])
    return on_each(scale, task, plain, suffix=" (10 % random)", seeds=FEW[scale], random_action_probability=0.1)


def fig_h10(scale: str) -> list[Entry]:
    """A goal that does not end the episode, and the same tasks where it does; TER's U also standardised."""
    task = tasks(scale, ["SimpleCrossing-Easy"], ["SimpleCrossing-Hard", "LavaCrossing-Hard"])

    def endless(env: str) -> dict[str, dict]:
        return plain(env) | {"ter (standardised U)": dict(method="ter", standardise_returns=True)}

    seeds = FEW[scale]
    without = on_each(scale, task, endless, suffix=" (no terminal)", seeds=seeds, pseudo_terminal=True)
    return without + on_each(scale, task, plain, seeds=seeds)


def fig_i11(scale: str) -> list[Entry]:
    """EBU with TER's share of prioritised transitions."""

    def variants(env: str) -> dict[str, dict]:
        share = world_of(env).config.eta
        return {"ebu": dict(method="ebu"), "ebu + per": dict(method="ebu", ebu_per_share=share)} | arms(env)

    return on_each(scale, varied(scale, TASKS + SOKOBAN), variants)


def fig_j12(scale: str) -> list[Entry]:
    """EBU without the episodes that ran out of time."""

    def variants(env: str) -> dict[str, dict]:
        without: dict[str, dict] = {"ebu (no timeout)": dict(method="ebu", ebu_timeouts=False)}
        return {"ebu": dict(method="ebu")} | without | arms(env)

    return on_each(scale, varied(scale, TASKS + SOKOBAN), variants)


def fig_k13(scale: str) -> list[Entry]:
    """TER with projections of different length; compared to the last bit, so that one machine makes them all."""
    variants = {f"d={dim}": dict(method="ter", projection_dim=dim) for dim in (1, 3, 10)}
    full = ["SimpleCrossing-Hard", "LavaCrossing-Hard", "5x5-1", "6x6-2"]
    return [replace(entry, shared=False) for entry in entries(scale, varied(scale, full), variants, seeds=FEW[scale])]


def fig_m15(scale: str) -> list[Entry]:
    """Four Atari games; at quick one of them, once, for a 500th of the steps."""
    return on_each(scale, tasks(scale, ["Freeway"], GAMES), plain, seeds=1 if scale == "quick" else None)


def own_target(scale: str) -> list[Entry]:
    """Not in the paper: the target network copied five times as often."""
    interval = 100 if scale == "smoke" else 1000

    def variants(env: str) -> dict[str, dict]:
        return {
            f"{label} (interval {every})": settings | dict(target_interval=every)
            for every in (interval, interval // 5)
            for label, settings in plain(env).items()
        }

    return on_each(scale, ["SimpleCrossing-Easy"], variants, seeds=FEW[scale])


def own_network(scale: str) -> list[Entry]:
    """Not in the paper: the small network on tile codes, and the paper's on pictures, with the same budget."""
    chosen = ("uer", "ter", f"ter{RELEASED}")

    def variants(env: str) -> dict[str, dict]:
        return {
            f"{label} ({network})": plain(env)[label] | dict(network=network)
            for network in ("codes", "nature")
            for label in chosen
            if label in plain(env)
        }

    return on_each(scale, varied(scale, ["SimpleCrossing-Easy"]), variants, seeds=FEW[scale])


def own_levels(scale: str) -> list[Entry]:
    """Not in the paper: 64 levels of a Sokoban with two boxes for training, and how the others are played then."""
    return on_each(scale, tasks(scale, ["5x5-2"], ["6x6-2"]), plain, suffix=" (64 levels)", levels=64)


def own_memory(scale: str) -> list[Entry]:
    """Not in the paper: Sokoban's baselines with a memory of 50,000, as in the released scripts, where TER has 1M.

    At a shorter budget the small memory holds the same share, a twentieth, of the run.
    """
    small = {"smoke": 50, "quick": SOKOBAN_WORLD.quick["capacity"] // 20, "full": 50_000}[scale]

    def variants(env: str) -> dict[str, dict]:
        return plain(env) | {f"{m} (small memory)": dict(method=m, capacity=small) for m in METHODS[:-1]}

    return on_each(scale, tasks(scale, ["5x5-1"], SOKOBAN), variants)


DREAMER: dict[str, dict] = {
    "smoke": dict(
        steps=700, capacity=1_000, learning_starts=500, pretrain=1, batch_size=4, sequence=16, log_every=350,
        size="small",
    ),
    "quick": dict(steps=10_000, capacity=10_000, log_every=1_000, size="small"),
    "full": {},
}  # fmt: skip
"""DreamerV2's budgets. At quick: the steps that an hour of one core is enough for, with small networks (0.3 s each)."""
DREAMER_TASKS = {
    "quick": ("5x5-1",),
    "full": ("SimpleCrossing-Easy", "LavaCrossing-Hard", "5x5-1", "6x6-2"),
}
"""The paper names none of its four."""


def fig_l14(scale: str) -> list[Entry]:
    """Fig. L.14: DreamerV2, and TER as in Fig. 3; compared by the clock, too, so that one machine makes them all."""
    found = []
    for env in DREAMER_TASKS.get(scale, DREAMER_TASKS["quick"]):
        others = on_each(scale, [env], arms, seeds=FEW[scale])
        levels = others[0].config.levels
        for seed in dict.fromkeys(entry.seed for entry in others):
            config = train_dreamer.Config(env=env, seed=seed, levels=levels, **DREAMER[scale])
            found.append(Entry("dreamer", env, seed, "papers.ter.train_dreamer:main", config))
        found += others
    return [replace(entry, shared=False) for entry in found]


def own_predecessors(scale: str) -> list[Entry]:
    """Not in the paper: sweeps with 1 and with 3 predecessors over random steps."""
    variants: dict[str, dict] = {"uer": dict(method="uer"), "ter": {}, f"ter{RELEASED}": dict(predecessors=1)}
    budget: dict = dict(transitions=4_000, copies=4) if scale == "smoke" else {}
    return [
        Entry(label, env, seed, "papers.ter.sweeps:main", sweeps.Config(env=env, seed=seed, **(settings | budget)))
        for env in ("SimpleCrossing-Easy", "Unlock", "5x5-1", "6x6-2")
        for label, settings in variants.items()
        for seed in range(1 if scale == "smoke" else 5)
    ]


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
    "fig-l14": fig_l14,
    "fig-m15": fig_m15,
    "own-target": own_target,
    "own-network": own_network,
    "own-memory": own_memory,
    "own-levels": own_levels,
    "own-predecessors": own_predecessors,
}
