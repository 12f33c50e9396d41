"""What is run for each figure, at each scale.

`smoke` only proves that everything is wired. `quick` is a laptop's budget: shorter schedules, a small network on tile
codes whose output is multiplied by the largest return, 30 episodes per evaluation; learner and replay settings are the
paper's, and so are rewards (README, deviation 1). `full` is the paper's protocol: its tasks, steps, network, pictures,
seeds and evaluation.

On MiniGrid TER has two arms: "ter" as the paper prints it, with 3 predecessors, and "ter (1 predecessor)" as the
released scripts run it.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add, or_
from typing import Any

from lab.sweep.entry import Entry
from lab.sweep.grid import Experiment, Scales, each, grid
from papers.ter import train_dreamer, train_nchain
from papers.ter.agents.settings import METHODS
from papers.ter.evidence.budgets import GAMES, MINIGRID, QUICK, SOKOBAN, TASKS, WORLDS, World
from papers.ter.evidence.measures import batch_time, sweeps

FRESH = 10
"""First seed at quick: lower ones have been seen while its settings were chosen."""
SEEDS = Scales(1, range(10, 15), 5)
FEW = Scales(1, range(10, 13), 5)
"""Of what costs more at quick (MiniGrid beside Figs. 3 and 6, own-network, DreamerV2), and of K.13, whose runs are
equal."""
HEADLINE: dict[str, Callable[[Entry], bool]] = {
    "fig2": lambda entry: True,
    "fig3b": lambda entry: entry.method in ("uer", "ter") and entry.env == "5x5-1" and entry.seed < FRESH + 3,
}
"""What `make reproduce` trains: figures, and which of their runs fit beside the other papers."""

# ---- tables: at smoke, quick and full --------------------------------------------------------------------------------

EASY = ["SimpleCrossing-Easy"]
RATIO_TASKS = ("LavaCrossing-Hard", "Unlock", "6x6-2", "6x6-3")
"""Tasks of Figs. 4 and 5 in the paper."""
RATIO_STEPS = 40_000
"""Steps at quick of what learns 4 and 8 times as often; the beginning of Fig. 3's runs is what it is compared with."""
DREAMER = Scales(
    smoke=dict(
        steps=700, capacity=1_000, learning_starts=500, pretrain=1, batch_size=4, sequence=16, log_every=350,
        size="small",
    ),
    quick=dict(steps=10_000, capacity=10_000, log_every=1_000, size="small"),
)  # fmt: skip
"""At quick the steps that an hour of one core is enough for, with small networks (0.3 s each)."""
DREAMER_TASKS = Scales(["5x5-1"], ["5x5-1"], ["SimpleCrossing-Easy", "LavaCrossing-Hard", "5x5-1", "6x6-2"])
"""The paper names none of its four."""
BATCH_TIME = Scales(dict(steps=2_000, warmup=500), dict(steps=200_000, warmup=5_000))
SMALL_MEMORY = Scales(50, 5_000, 50_000)
"""At a shorter budget it holds the same share, a twentieth, of the run."""


def fig3(tasks: Sequence[str]) -> Scales:
    """Of these tasks, at quick those of `QUICK`."""
    return Scales(tasks, [task for task in tasks if task in QUICK], tasks)


def simple(quick: Sequence[str], full: Sequence[str]) -> Scales:
    """The paper's tasks, and what stands for them on a laptop and in smoke."""
    return Scales(quick, quick, full)


def varied(full: Sequence[str]) -> Scales:
    """The tasks of a figure that varies a setting; `full`: the paper's."""
    return Scales([*EASY, "5x5-1"], ["5x5-1"], full)


# ---- experiments -----------------------------------------------------------------------------------------------------

RELEASED = " (1 predecessor)"
"""Follows the name of TER where it runs as in the scripts released for MiniGrid."""


def arms(label: str = "ter{}", **settings: Any) -> dict[str, Any]:
    """Variants: TER as printed, and, with RELEASED for the braces, as released; only MiniGrid has that one."""
    return {label.format(""): settings, label.format(RELEASED): settings | dict(predecessors=1)}


BASELINES = METHODS[:-1]
PLAIN: dict[str, Any] = {method: {} for method in BASELINES} | arms()
"""All methods."""


def on(
    tasks: Any, variants: Any, suffix: str = "", seeds: Scales = SEEDS, shared: bool = True, **common: Any
) -> Experiment:
    """Variants, or what a world makes of them, on tasks with the budget of their world. `suffix` follows the names of
    tasks where all runs have `common` settings."""

    def of(world: World) -> Experiment:
        inside = each(tasks, lambda names: {n + suffix: world.longer.get(n, {}) for n in names if n in world.tasks})
        changes = variants(world) if callable(variants) else variants
        found = grid(world.script, inside, changes, seeds, world.budget | common, shared=shared)
        return found.only(lambda entry: RELEASED not in entry.method or world is MINIGRID)

    return reduce(add, map(of, WORLDS))


def ratios(world: World) -> dict[str, Any]:
    """Baselines that learn 1, 4 and 8 times as often as TER. At quick the ratio 0.25 is that of Fig. 3's runs, and the
    others end earlier, with the schedules of these."""
    short = Scales(quick=dict(steps=RATIO_STEPS, per_beta_steps=world.budget.quick["steps"]))
    at = {0.25: {}, 1.0: short | dict(replay_ratio=1.0), 2.0: short | dict(replay_ratio=2.0)}
    return {f"{method} x{ratio:g}": at[ratio] for method in BASELINES for ratio in at} | arms("ter{} x0.25")


def shares(world: World) -> dict[str, Any]:
    """EBU with TER's share of prioritised transitions."""
    return {"ebu": {}, "ebu + per": dict(ebu_per_share=world.script.Config.eta)} | arms()


def intervals(interval: int) -> dict[str, Any]:
    """The target network copied five times as often."""
    return {
        f"{label} (interval {every})": settings | dict(target_interval=every)
        for every in (interval, interval // 5)
        for label, settings in PLAIN.items()
    }


ETAS = [arms(f"eta={eta:g}{{}}", method="ter", eta=eta) for eta in (0.0, 0.05, 0.1, 0.2, 0.5, 0.7)]
HARD = simple(EASY, ["SimpleCrossing-Hard", "LavaCrossing-Hard"])

EXPERIMENTS: dict[str, Experiment] = {
    # NChain: backups needed from one fixed data set
    "fig2": grid(train_nchain, "NChain-20", list(train_nchain.METHODS), Scales(2, 10, 20)),
    # learning curves on MiniGrid and on Sokoban, and Q-values (Fig. E.7)
    "fig3a": on(fig3(TASKS), PLAIN),
    "fig3b": on(fig3(SOKOBAN), PLAIN),
    "fig4": on(varied(RATIO_TASKS), ratios),
    # different shares of prioritised transitions
    "fig5": on(varied(RATIO_TASKS), reduce(or_, ETAS)),
    # stitching alone: TER cut down until only the graph sets it apart from EBU
    "fig6": on(
        simple([*EASY, "5x5-1"], [task for task in TASKS if "Crossing" in task]),
        {
            "ter (1 root, 1 predecessor, eta=0)": dict(roots=1, predecessors=1, eta=0.0),
            "ebu (beta=0, terminal only)": dict(ebu_beta=0.0, ebu_timeouts=False),
        },
    ),
    # seconds to make a batch
    "table-b1": grid(batch_time, EASY, METHODS, Scales(1, 3, 3), BATCH_TIME),
    # different diffusion factors; and without double DQN, as in the released code
    "fig-f8": on(
        varied(TASKS + SOKOBAN),
        {f"beta={beta:g}": dict(method="ebu", ebu_beta=beta) for beta in (0.0, 0.25, 0.5, 0.75, 1.0)}
        | {"ebu (released)": dict(ebu_double=False)},
    ),
    # every tenth action replaced by a random one
    "fig-g9": on(
        simple(EASY, ["LavaCrossing-Hard"]), PLAIN, " (10 % random)", FEW,
        random_action_probability=0.1,
    ),
    # a goal that does not end the episode, and the same tasks where it does; TER's U also standardised
    "fig-h10": on(
        HARD, PLAIN | {"ter (standardised U)": dict(standardise_returns=True)}, " (no terminal)", FEW,
        pseudo_terminal=True,
    )
    + on(HARD, PLAIN, seeds=FEW),
    "fig-i11": on(varied(TASKS + SOKOBAN), shares),
    # EBU without the episodes that ran out of time
    "fig-j12": on(varied(TASKS + SOKOBAN), {"ebu": {}, "ebu (no timeout)": dict(ebu_timeouts=False)} | arms()),
    # projections of different length; compared to the last bit, so that one machine makes them all
    "fig-k13": on(
        varied(["SimpleCrossing-Hard", "LavaCrossing-Hard", "5x5-1", "6x6-2"]),
        {f"d={dim}": dict(method="ter", projection_dim=dim) for dim in (1, 3, 10)}, seeds=FEW, shared=False,
    ),
    # DreamerV2, and TER as in Fig. 3; compared by the clock, too, so that one machine makes them all
    "fig-l14": (
        grid(train_dreamer, DREAMER_TASKS, "dreamer", FEW, DREAMER, shared=False)
        + on(DREAMER_TASKS, arms(), seeds=FEW, shared=False)
    ).by("env"),
    # four Atari games; at quick one of them, once, for a 500th of the steps
    "fig-m15": on(simple(["Freeway"], GAMES), PLAIN, seeds=Scales(1, range(10, 11), 5)),
    # not in the paper, from here on: the target network copied five times as often
    "own-target": on(EASY, each(Scales(100, 1_000, 1_000), intervals), seeds=FEW),
    # the small network on tile codes, and the paper's on pictures, with the same budget
    "own-network": on(
        varied(EASY),
        {
            f"{label} ({network})": PLAIN[label] | dict(network=network)
            for network in ("codes", "nature")
            for label in ("uer", "ter", f"ter{RELEASED}")
        },
        seeds=FEW,
    ),
    # Sokoban's baselines with a memory of 50,000, as in the released scripts, where TER has 1M
    "own-memory": on(
        simple(["5x5-1"], SOKOBAN), PLAIN | {f"{m} (small memory)": dict(capacity=SMALL_MEMORY) for m in BASELINES}
    ),
    # 64 levels of a Sokoban with two boxes for training, and how the others are played then
    "own-levels": on(simple(["5x5-2"], ["6x6-2"]), PLAIN, " (64 levels)", levels=64),
    # sweeps with 1 and with 3 predecessors over random steps
    "own-predecessors": grid(
        sweeps, ["SimpleCrossing-Easy", "Unlock", "5x5-1", "6x6-2"], {"uer": {}} | arms(), Scales(1, 5, 5),
        Scales(smoke=dict(transitions=4_000, copies=4)),
    ),
}  # fmt: skip
