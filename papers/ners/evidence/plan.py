"""Which agents, tasks and seeds each experiment has at each scale: experiments.py makes runs of them, claims parts."""

PENDULUM, LANDER, WALKER = "SparsePendulum", "LunarLanderContinuous-v3", "BipedalWalker-v3"
MUJOCO = ("Ant-v4", "Walker2d-v4", "Hopper-v4")
GAMES = (
    "Alien", "Amidar", "Assault", "Asterix", "BattleZone", "Boxing", "ChopperCommand", "Freeway", "Frostbite",
    "KungFuMaster", "MsPacman", "Pong", "PrivateEye", "Qbert", "RoadRunner", "Seaquest",
)  # fmt: skip
"""The games of Table 2."""
QUICK_GAMES = ("MsPacman",)
"""Where NERS gains most over the best other sampler in Table 2, as a share of it: 38 %."""

AGENTS: dict[str, tuple[str, ...]] = {
    "fig1": ("sac",),
    "fig3": ("sac", "td3"),
    "fig4": ("sac",),
    "table1": ("sac", "td3"),
    "table2": ("rainbow",),
    "table3": ("sac",),
    "own-law": ("td3",),
    "own-td3-lr": ("td3",),
    "own-why": ("none",),
    "own-time": ("td3",),
}
FULL: dict[str, tuple[str, ...]] = {
    "fig1": ("Pendulum-v1",),
    "fig3": (PENDULUM, LANDER, WALKER),
    "fig4": (WALKER, LANDER),
    "table1": MUJOCO,
    "table2": GAMES,
    "table3": ("Pendulum-v1",),
    "own-law": (PENDULUM,),
    "own-td3-lr": (PENDULUM, "Hopper-v4"),
    "own-why": (PENDULUM,),
    "own-time": (PENDULUM,),
}
QUICK = FULL | {
    "fig3": (PENDULUM,), "fig4": (PENDULUM,), "table1": ("Hopper-v4",), "table2": QUICK_GAMES,
    "own-td3-lr": (PENDULUM,),
}  # fmt: skip
SMOKE = QUICK
FIRST_SEED = 10
"""At quick: lower ones were used by runs before those that are registered."""
QUICK_SEEDS = {"fig1": 3, "fig3": 20, "fig4": 10, "table1": 5, "table2": 3, "table3": 5, "own-law": 3, "own-td3-lr": 5,
               "own-why": 3, "own-time": 10}  # fmt: skip
FRESH = {"own-time": 40}
"""First seeds at quick of experiments whose question came from runs with those from FIRST_SEED on."""
SEEDS_PER_FILE = 5
"""Seeds whose results one file holds: those of twenty would be several megabytes."""
CHOSEN_WITH = range(2)
"""Seeds by which TD3's learning rate was chosen, on Hopper. They are no evidence about that rate."""


def tasks(experiment: str, scale: str) -> tuple[str, ...]:
    """The tasks of an experiment."""
    return {"smoke": SMOKE, "quick": QUICK, "full": FULL}[scale][experiment]


def cells(experiment: str, scale: str) -> list[tuple[str, str]]:
    """(agent, task) of every curve or row of a table."""
    return [(agent, env) for env in tasks(experiment, scale) for agent in AGENTS[experiment]]


def seeds(scale: str, experiment: str) -> range:
    """Seeds of every method of an experiment."""
    if scale == "quick":
        first = FRESH.get(experiment, FIRST_SEED)
        return range(first, first + QUICK_SEEDS[experiment])
    return range({"smoke": 1, "full": 5}[scale])


def files(experiment: str) -> tuple[str, ...]:
    """Names of the parts that hold an experiment's runs, SEEDS_PER_FILE seeds each: itself, then itself-2, ..."""
    count = -(-QUICK_SEEDS[experiment] // SEEDS_PER_FILE)
    return (experiment, *(f"{experiment}-{k}" for k in range(2, count + 1)))


def read_as(*experiments: str) -> str:
    """All parts of some experiments, as lab.results reads them as one."""
    return "+".join(part for experiment in experiments for part in files(experiment))
