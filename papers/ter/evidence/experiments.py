"""What is run for each figure, at each scale.

`smoke` only proves that everything is wired. `quick` is a laptop's budget: shorter schedules, a small network on tile
codes whose output is multiplied by the largest return, 30 episodes per evaluation; learner and replay settings are the
paper's, and so are rewards (NOTEBOOK, deviation 1). `long` is for orders between methods: schedules of up to a million
steps with the paper's warm-up, memory and target interval, and the small network. `full` is the paper's protocol: its
tasks, steps, network, pictures, seeds and evaluation.

Two things are not settled by the paper, and are arms. On MiniGrid TER is run as the paper prints it, with 3
predecessors ("ter"), and as the released scripts do, with 1 ("ter (1 predecessor)"). And the Huber loss, which the
paper does not name, bends on MiniGrid at the largest return; where a task is followed by "(bend 1)" it does at 1, as in
the released code. On Sokoban, whose returns are of the size of 10, it bends at 1.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add, or_
from typing import Any

from lab.sweep.entry import Entry
from lab.sweep.grid import Experiment, Scales, each, grid
from papers.ter import train_dreamer, train_nchain
from papers.ter.agents.settings import METHODS
from papers.ter.evidence.budgets import GAMES, MINIGRID, QUICK, SOKOBAN, TASKS, WORLDS, World, at_r_max
from papers.ter.evidence.labels import BEND_1, NO_TERMINAL, RANDOM, named
from papers.ter.evidence.measures import batch_time, replayed, sweeps

SEEDS = Scales(1, range(10, 15), 5, long=range(30, 35))
"""Seeds below 10 have been seen while quick's settings were chosen."""
FEW = Scales(1, range(10, 13), 5, long=range(30, 33))
"""Of what costs more at quick (MiniGrid with the bend at 1 beside Figs. 3 and 6, own-network, DreamerV2), and of K.13,
whose runs are equal."""
AT_R_MAX = Scales(1, range(20, 25), 5, long=range(30, 35))
"""Of MiniGrid where the loss bends at the largest return: its runs with the bend at 1 had been seen before."""
HEADLINE: dict[str, Callable[[Entry], bool]] = {
    "fig2": lambda entry: True,
    "fig3a": lambda entry: entry.method in ("uer", "ter (1 predecessor)") and entry.seed % 10 < 3,
    "fig3b": lambda entry: entry.method in ("uer", "ter") and entry.env == "5x5-1",
}
"""What `make reproduce` trains: figures, and which of their runs fit beside the other papers: on MiniGrid TER as
released, with either bend of the loss (seeds 10 to 12 and 20 to 22)."""

# ---- tables: at smoke, quick and full --------------------------------------------------------------------------------

EASY = ["SimpleCrossing-Easy"]
HARD = ["SimpleCrossing-Hard", "LavaCrossing-Hard"]
AS_WELL = ["SimpleCrossing-Hard", "DoorKey"]
"""Tasks of Fig. 3a that are run with the bend at 1, too, at `long`."""
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
    return Scales(tasks, [task for task in tasks if task in QUICK], tasks, long=tasks)


def simple(quick: Sequence[str], full: Sequence[str]) -> Scales:
    """The paper's tasks, and what stands for them on a laptop and in smoke."""
    return Scales(quick, quick, full)


def varied(full: Sequence[str], quick: Sequence[str] = (*EASY, "5x5-1")) -> Scales:
    """The tasks of a figure that varies a setting; `full`: the paper's."""
    return Scales([*EASY, "5x5-1"], quick, full)


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
    tasks: Any, variants: Any, *notes: str, seeds: Scales | None = None, shared: bool = True, **common: Any
) -> Experiment:
    """Variants, or what a world makes of them, on tasks with the budget of their world. `notes` follow the names of
    tasks where all runs have `common` settings; on MiniGrid the loss bends at R_max unless `BEND_1` is among them."""

    def of(world: World) -> Experiment:
        at_the_largest = world is MINIGRID and BEND_1 not in notes

        def settings(task: str) -> Any:
            return world.longer.get(task, {}) | (at_r_max(task) if at_the_largest else {}) | common

        inside = each(tasks, lambda tasks: {named(t, *notes): settings(t) for t in tasks if t in world.tasks})
        changes = variants(world) if callable(variants) else variants
        usual = AT_R_MAX if at_the_largest else SEEDS
        found = grid(world.script, inside, changes, seeds or usual, world.budget, shared=shared)
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
ALONE = {
    "ter (1 root, 1 predecessor, eta=0)": dict(roots=1, predecessors=1, eta=0.0),
    "ebu (beta=0, terminal only)": dict(ebu_beta=0.0, ebu_timeouts=False),
}
"""Stitching alone: TER cut down until only the graph sets it apart from EBU."""
STANDARDISED = PLAIN | {"ter (standardised U)": dict(standardise_returns=True)}
AS_RELEASED = dict(ebu_double=False)
"""EBU takes the target network's largest value; the paper's text has double DQN for all methods."""

EXPERIMENTS: dict[str, Experiment] = {
    # NChain: backups needed from one fixed data set
    "fig2": grid(train_nchain, "NChain-20", list(train_nchain.METHODS), Scales(2, 10, 20)),
    # learning curves on MiniGrid and on Sokoban, and Q-values (Fig. E.7); PER's clip at 1 beside the bend at R_max
    "fig3a": on(fig3(TASKS), PLAIN)
    + on(simple(EASY, EASY), {"per (clip 1)": {}}, per_clip=1.0)
    + on(Scales(EASY, EASY, [*EASY, *AS_WELL], long=AS_WELL), PLAIN, BEND_1),
    "fig3b": on(fig3(SOKOBAN), PLAIN),
    "fig4": on(varied(RATIO_TASKS, quick=["5x5-1"]), ratios),
    # different shares of prioritised transitions
    "fig5": on(varied(RATIO_TASKS), reduce(or_, ETAS)),
    "fig6": on(simple([*EASY, "5x5-1"], [task for task in TASKS if "Crossing" in task]), ALONE)
    + on(simple(EASY, EASY), ALONE, BEND_1),
    # seconds to make a batch
    "table-b1": grid(batch_time, EASY, METHODS, Scales(1, 3, 3), BATCH_TIME),
    # different diffusion factors; and without double DQN
    "fig-f8": on(
        varied(TASKS + SOKOBAN),
        {f"beta={beta:g}": dict(method="ebu", ebu_beta=beta) for beta in (0.0, 0.25, 0.5, 0.75, 1.0)}
        | {"ebu (released)": AS_RELEASED},
    ),
    # every tenth action replaced by a random one
    "fig-g9": on(simple(EASY, ["LavaCrossing-Hard"]), PLAIN, RANDOM, random_action_probability=0.1)
    + on(simple(EASY, EASY), PLAIN, RANDOM, BEND_1, seeds=FEW, random_action_probability=0.1),
    # a goal that does not end the episode, and the same tasks where it does; TER's U also standardised
    "fig-h10": on(simple(EASY, HARD), STANDARDISED, NO_TERMINAL, pseudo_terminal=True)
    + on(simple(EASY, HARD), PLAIN)
    + on(simple(EASY, EASY), STANDARDISED, NO_TERMINAL, BEND_1, seeds=FEW, pseudo_terminal=True)
    + on(simple(EASY, EASY), PLAIN, BEND_1, seeds=FEW),
    "fig-i11": on(varied(TASKS + SOKOBAN), shares),
    # EBU without the episodes that ran out of time
    "fig-j12": on(
        varied(TASKS + SOKOBAN),
        {"ebu": {}, "ebu (no timeout)": dict(ebu_timeouts=False), "ebu (released)": AS_RELEASED,
         "ebu (released, no timeout)": AS_RELEASED | dict(ebu_timeouts=False)} | arms(),
    ),
    # projections of different length; compared to the last bit, so that one machine makes them all
    "fig-k13": on(
        varied([*HARD, "5x5-1", "6x6-2"], quick=["5x5-1"]),
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
    "own-target": on(simple(EASY, EASY), each(Scales(100, 1_000, 1_000), intervals), BEND_1, seeds=FEW),
    # the small network on tile codes, and the paper's on pictures, with the same budget
    "own-network": on(
        Scales([*EASY, "5x5-1"], ["5x5-1"], EASY, long=["SimpleCrossing-Easy", "LavaCrossing-Easy"]),
        {
            f"{label} ({network})": PLAIN[label] | dict(network=network)
            for network in ("codes", "nature")
            for label in ("uer", "ter", f"ter{RELEASED}")
        },
        seeds=FEW,
    ),
    # Sokoban, too, with the bend and PER's clip at the largest return
    "own-bend": on(
        simple(["5x5-1"], ["5x5-1"]),
        PLAIN | {f"{method} (bend at R_max)": PLAIN[method] | at_r_max("5x5-1") for method in METHODS},
    ),
    # Sokoban's baselines with a memory of 50,000, as in the released scripts, where TER has 1M
    "own-memory": on(
        simple(["5x5-1"], SOKOBAN), PLAIN | {f"{m} (small memory)": dict(capacity=SMALL_MEMORY) for m in BASELINES}
    ),
    # 64 levels of a Sokoban with two boxes for training, and how the others are played then
    "own-levels": on(simple(["5x5-2"], ["6x6-2"]), PLAIN, "64 levels", levels=64),
    # what is replayed over training, as in Fig. 3a at quick with the bend at R_max
    "own-replayed": grid(
        replayed, {task: at_r_max(task) for task in EASY}, {"uer": {}, "per": {}} | arms(), Scales(1, range(20, 25), 5),
        MINIGRID.budget | Scales(full=MINIGRID.budget.quick),
    ),
    # sweeps with 1 and with 3 predecessors over random steps
    "own-predecessors": grid(
        sweeps, ["SimpleCrossing-Easy", "Unlock", "5x5-1", "6x6-2"], {"uer": {}} | arms(), Scales(1, 5, 5),
        Scales(smoke=dict(transitions=4_000, copies=4)),
    ),
}  # fmt: skip
