"""Which agents, tasks and seeds each experiment has at each scale: experiments.py makes runs of them, claims parts."""

PENDULUM, LANDER, WALKER = "SparsePendulum", "LunarLanderContinuous-v3", "BipedalWalker-v3"
MUJOCO = ("Ant-v4", "Walker2d-v4", "Hopper-v4")
GAMES = (
    "Alien", "Amidar", "Assault", "Asterix", "BattleZone", "Boxing", "ChopperCommand", "Freeway", "Frostbite",
    "KungFuMaster", "MsPacman", "Pong", "PrivateEye", "Qbert", "RoadRunner", "Seaquest",
)  # fmt: skip
"""The games of Table 2."""
QUICK_GAMES = ("MsPacman", "KungFuMaster")
"""Where NERS gains most over the best other sampler in Table 2, as a share of it: 38 and 37 %."""

AGENTS: dict[str, tuple[str, ...]] = {
    "fig1": ("sac",),
    "fig3": ("sac", "td3"),
    "fig4": ("sac",),
    "table1": ("sac", "td3"),
    "table2": ("rainbow",),
    "table3": ("sac",),
    "own-td3-lr": ("td3",),
}
FULL: dict[str, tuple[str, ...]] = {
    "fig1": ("Pendulum-v1",),
    "fig3": (PENDULUM, LANDER, WALKER),
    "fig4": (WALKER, LANDER),
    "table1": MUJOCO,
    "table2": GAMES,
    "table3": ("Pendulum-v1",),
    "own-td3-lr": ("Hopper-v4",),
}
QUICK = FULL | {"fig3": (PENDULUM, LANDER), "fig4": (LANDER,), "table1": ("Hopper-v4",), "table2": QUICK_GAMES}
SMOKE = QUICK | {"table2": QUICK_GAMES[:1]}
QUICK_SEEDS = {PENDULUM: 5, "Pendulum-v1": 5, **dict.fromkeys(QUICK_GAMES, 2)}
"""Elsewhere 3."""
FEWER_SEEDS = {"fig1": 3, "own-td3-lr": 2}
"""Seeds at quick of experiments that have fewer than others on their task."""
CHOSEN_WITH = range(2)
"""Seeds by which TD3's learning rate was chosen, at quick. They are no evidence about that rate."""


def tasks(experiment: str, scale: str) -> tuple[str, ...]:
    """The tasks of an experiment."""
    return {"smoke": SMOKE, "quick": QUICK, "full": FULL}[scale][experiment]


def cells(experiment: str, scale: str) -> list[tuple[str, str]]:
    """(agent, task) of every curve or row of a table."""
    return [(agent, env) for env in tasks(experiment, scale) for agent in AGENTS[experiment]]


def seeds(scale: str, env: str, experiment: str = "") -> range:
    """Seeds of every method on a task, in this experiment or where it has no number of its own."""
    quick = FEWER_SEEDS.get(experiment, QUICK_SEEDS.get(env, 3))
    return range({"smoke": 1, "quick": quick, "full": 5}[scale])
