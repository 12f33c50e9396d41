"""What is run for each figure and table, at each scale; plan.py says on which tasks and with which seeds.

`smoke` only proves that everything is wired. `full` is the paper's protocol: 500,000 steps and 5 seeds for SAC and TD3,
100,000 steps and 5 seeds for Rainbow. `quick` has fewer tasks and steps, more seeds where runs are short, and the
released code's widths of NERS's networks. At any scale, beta reaches 1 at the end of training.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from lab.sweep.entry import Entry
from lab.sweep.grid import Experiment, Scales, each, grid
from papers.ners import train, train_pendulum_draws, train_rainbow, train_scorer
from papers.ners.agents.td3 import LR as TD3_LR
from papers.ners.evidence.plan import FIRST_SEED, HOPPER, LANDER, PENDULUM, PLANS, SEEDS_PER_FILE, files
from papers.ners.samplers.samplers import Settings


def _law(entry: Entry) -> bool:
    label = entry.method.removeprefix("td3 ")
    return label in ("ners", "ners environment", "ners code") and entry.seed == FIRST_SEED


HEADLINE: dict[str, Callable[[Entry], bool]] = {
    "own-why": lambda entry: entry.method.endswith("signs"), "own-law": _law
}  # fmt: skip
"""What `make reproduce` trains: NERS's law under three readings of the paper, one seed each, and own-why's runs with
rewards of random signs, all seeds (a run takes 20 seconds, and one seed decides nothing)."""

# ---- tables: at smoke, quick and full --------------------------------------------------------------------------------

FOUR = ("random", "per", "ero", "ners")
"""The paper's samplers."""
PLAIN: dict[str, Any] = {method: {} for method in FOUR}
SMALL = dict(widths="code", train_size=16, ero_batch=16)
BUDGET = Scales(
    dict(steps=240, random_steps=60, eval_every=24, batch_size=16, score_starts=2, **SMALL), dict(widths="code"), {}
)
AGENTS = {"sac": Scales() | dict(agent="sac"), "td3": Scales() | dict(agent="td3", lr=TD3_LR)}
"""TD3's rate is written out so that own-td3-lr can share these runs where their lengths agree."""
LENGTHS = {
    agent: {
        PENDULUM: Scales(quick=dict(steps=steps)), HOPPER: Scales(quick=dict(steps=100_000)),
        "Pendulum-v1": Scales({}, *2 * [dict(steps=10_000, random_steps=1_000)]),
    } for agent, steps in (("sac", 25_000), ("td3", 20_000))
}  # fmt: skip
"""On the sparse pendulum at quick, where RANDOM solves it, chosen on RANDOM alone; on Hopper, a fifth of the paper's;
and Table 3's 10,000 steps, at quick, too. A variant's own length comes before these."""
_LONG = Scales({}, *2 * [dict(steps=100_000, widths="paper")])
TIME = {"random": _LONG, "ners environment": _LONG | dict(time="environment")}
"""About 500 updates of the scorer, where own-law's 20,000 steps make about 100; the paper's widths, as in own-why."""
LONGER = dict.fromkeys(("random", "ners"), Scales({}, *2 * [dict(steps=300_000, widths="paper")]))
"""Of own-hopper: three times as long as table1 at quick. At full its runs are quick's, as own-time's are: those that
were registered."""
RAINBOW = Scales(
    dict(steps=120, random_steps=50, batch_size=16, eval_every=24, eval_episodes=1, target_every=50, **SMALL),
    dict(steps=40_000, eval_every=1_000, eval_episodes=3, widths="code"),
    {},
)
TD3_RATES = (5e-3, 1e-3, 3e-4)
"""What the paper prints, the default, and on Hopper the third rate from which that was chosen."""
READINGS: dict[str, dict[str, Any]] = {
    "ners": {},
    "ners episode": dict(time="episode"),
    "ners environment": dict(time="environment"),
    "ners tanh": dict(tanh_all=True),
    "ners first": dict(reference="first"),
    "ners i-train": dict(log_loss="train"),
    "ners wide": dict(widths="paper"),
    "ners code": dict(time="episode", tanh_all=True, reference="first", widths="code"),
}
"""Faithful readings of what the paper leaves open: label -> how it differs from ours at quick. "ners code": all
that the released code does; its n is the batch size, which is 128 here as in the paper."""
VARIANTS: dict[str, dict[str, Any]] = {
    "ners*": dict(replay_reward="training"),
    "ners few": dict(features="few"),
    "ners no-global": dict(global_context=False),
    "random-iid": {},
}
"""Of Fig. 4; all but NERS* on one task only."""

# ---- experiments -----------------------------------------------------------------------------------------------------


def config(script: ModuleType, **settings: Any) -> Any:
    """The script's config, of settings of which some are the samplers'."""
    sampling = {name: settings.pop(name) for name in [*settings] if name in Settings.__dataclass_fields__}
    return script.Config(**settings, sampling=Settings(**sampling))


def planned(
    name: str, variants: Any, script: ModuleType = train, budget: Scales = BUDGET, lengths: Mapping[str, Scales] = {}
) -> Experiment:
    """Variants with the experiment's tasks and seeds. lengths: task -> settings."""
    tasks, seeds = PLANS[name].tasks, PLANS[name].seeds
    of_tasks = each(tasks, lambda envs: {env: lengths.get(env, {}) for env in envs})
    return grid(script, of_tasks, variants, seeds, budget, config=partial(config, script))


def arms(name: str, agent: str, changes: Mapping[str, Any] = PLAIN) -> Experiment:
    """An experiment's runs of an agent with samplers, whose names the labels begin with: label -> what is changed."""
    variants = {
        f"{agent} {label}": AGENTS[agent] | dict(method=label.split()[0].strip("*")) | changed
        for label, changed in changes.items()
    }
    return planned(name, variants, lengths=LENGTHS[agent])


def both(name: str, changes: Mapping[str, Any] = PLAIN) -> Experiment:
    """SAC's and TD3's runs, seed by seed, so that partial results can be compared."""
    return (arms(name, "sac", changes) + arms(name, "td3", changes)).by("seed")


def in_files(name: str, experiment: Experiment) -> dict[str, Experiment]:
    """An experiment as the parts that its results are kept in."""

    def part(k: int, scale: str) -> list[Entry]:
        seeds = PLANS[name].seeds
        return [entry for entry in experiment(scale) if (entry.seed - seeds[scale][0]) // SEEDS_PER_FILE == k]

    return {file: Experiment(partial(part, k)) for k, file in enumerate(files(name))}


def _of_one_task(entry: Entry) -> bool:
    return entry.env != LANDER or entry.method.removeprefix("sac ") in (*FOUR, "ners*")


def _of_its_rates(entry: Entry) -> bool:
    return entry.env == HOPPER or entry.config.lr in TD3_RATES[:2]


EXPERIMENTS: dict[str, Experiment] = {
    # not in the paper: how NERS's networks shrink the spread of their inputs. No agent learns in these runs
    "own-why": planned(
        "own-why",
        {
            f"none {time} {rewards}": dict(method="ners", time=time, rewards=rewards)
            for time in ("share", "episode", "environment")
            for rewards in ("signs", "positive")
        },
        train_scorer, Scales(smoke=dict(transitions=300, updates=(0, 3, 6))),
    ),
    # the figure shows one run of each kind; the claims look at all
    "fig1": grid(
        train_pendulum_draws, PLANS["fig1"].tasks,
        {"sac random": dict(method="random"), "sac random terminal": dict(method="random", timeout_terminal=True)},
        PLANS["fig1"].seeds, Scales(smoke=dict(steps=300)),
    ),
    # what was replayed, on the pendulum with its own rewards; time-outs bootstrapped, and terminal
    "table3": arms("table3", "sac", PLAIN | {f"{method} terminal": dict(timeout_terminal=True) for method in FOUR}),
    # classical and Box2D tasks
    **in_files("fig3", both("fig3")),
    # not in the paper: NERS by every faithful reading
    "own-law": arms("own-law", "td3", READINGS),
    # not in the paper: RANDOM beside the one reading whose law leaves uniform in own-why, for long enough that it can
    **in_files("own-time", arms("own-time", "td3", TIME).by("seed")),
    # not in the paper: are NERS and RANDOM alike where both have learned on MuJoCo?
    **in_files("own-hopper", both("own-hopper", LONGER)),
    # variants of NERS, with the samplers that they are compared with
    **in_files("fig4", arms("fig4", "sac", PLAIN | VARIANTS).only(_of_one_task)),
    # not in the paper
    "own-td3-lr": arms(
        "own-td3-lr", "td3", {f"lr {lr:g}": dict(method="random", lr=lr) for lr in TD3_RATES}
    ).only(_of_its_rates),
    # and Fig. C.2: a first seed of every game before a second of any
    "table2": planned(
        "table2", {f"rainbow {method}": dict(method=method) for method in FOUR}, train_rainbow, RAINBOW
    ).by("seed"),
    # and Fig. C.1: MuJoCo
    "table1": both("table1"),
}  # fmt: skip
"""In the order in which they are run."""
