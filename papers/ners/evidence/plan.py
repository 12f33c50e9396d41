"""Which agents, tasks and seeds each experiment has at each scale: experiments.py makes runs of them, claims parts.

Nothing here loads torch, so that listing the figures does not.
"""

from typing import NamedTuple

from lab.sweep.grid import Scales

PENDULUM, LANDER, WALKER, HOPPER = "SparsePendulum", "LunarLanderContinuous-v3", "BipedalWalker-v3", "Hopper-v4"
GAMES = (
    "Alien", "Amidar", "Assault", "Asterix", "BattleZone", "Boxing", "ChopperCommand", "Freeway", "Frostbite",
    "KungFuMaster", "MsPacman", "Pong", "PrivateEye", "Qbert", "RoadRunner", "Seaquest",
)  # fmt: skip
"""The games of Table 2."""
QUICK_GAMES = ("MsPacman",)
"""Where NERS gains most over the best other sampler in Table 2, as a share of it: 38 %."""
FIRST_SEED = 10
"""At quick: lower ones were used by runs before those that are registered."""
SEEDS_PER_FILE = 5
"""Seeds whose results one file holds: those of twenty would be several megabytes."""
CHOSEN_WITH = range(2)
"""Seeds by which TD3's learning rate was chosen, on Hopper. They are no evidence about that rate."""


class Plan(NamedTuple):
    """Of an experiment."""

    agents: tuple[str, ...]
    tasks: Scales
    seeds: Scales


def _plan(agents: str, quick: tuple[str, ...], full: tuple[str, ...], seeds: int, registered: int = 0) -> Plan:
    """seeds: how many at quick, from FIRST_SEED on; or, where a registration names them, from `registered` on, at full
    too: whichever scale is judged, it is judged on these."""
    first = registered or FIRST_SEED
    numbers = range(first, first + seeds)
    return Plan(
        tuple(agents.split()),
        Scales(quick, quick, full),
        Scales(range(1), numbers, numbers if registered else range(5)),
    )


PLANS = {
    "fig1": _plan("sac", ("Pendulum-v1",), ("Pendulum-v1",), 3),
    "fig3": _plan("sac td3", (PENDULUM,), (PENDULUM, LANDER, WALKER), 20),
    "fig4": _plan("sac", (PENDULUM,), (WALKER, LANDER), 10),
    "table1": _plan("sac td3", (HOPPER,), ("Ant-v4", "Walker2d-v4", HOPPER), 5),
    "table2": _plan("rainbow", QUICK_GAMES, GAMES, 3),
    "table3": _plan("sac", ("Pendulum-v1",), ("Pendulum-v1",), 5),
    "own-law": _plan("td3", (PENDULUM,), (PENDULUM,), 3),
    "own-td3-lr": _plan("td3", (PENDULUM,), (PENDULUM, HOPPER), 5),
    "own-why": _plan("none", (PENDULUM,), (PENDULUM,), 3),
    "own-hopper": _plan("sac td3", (HOPPER,), (HOPPER,), 10, registered=50),
    # its question came from runs with lower seeds
    "own-time": _plan("td3", (PENDULUM,), (PENDULUM,), 10, registered=40),
}


def cells(experiment: str, scale: str) -> list[tuple[str, str]]:
    """(agent, task) of every curve or row of a table."""
    plan = PLANS[experiment]
    return [(agent, env) for env in plan.tasks.get(scale, ()) for agent in plan.agents]


def seeds(scale: str, experiment: str) -> range:
    """Seeds of every method of an experiment."""
    return PLANS[experiment].seeds.get(scale, range(0))


def files(experiment: str) -> tuple[str, ...]:
    """Names of the parts that hold an experiment's runs, SEEDS_PER_FILE seeds each: itself, then itself-2, ..."""
    count = -(-len(PLANS[experiment].seeds.quick) // SEEDS_PER_FILE)
    return (experiment, *(f"{experiment}-{k}" for k in range(2, count + 1)))


def read_as(*experiments: str) -> str:
    """All parts of some experiments, as lab.judge.results reads them as one."""
    return "+".join(part for experiment in experiments for part in files(experiment))
