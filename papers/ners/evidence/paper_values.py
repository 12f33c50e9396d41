"""The numbers of the paper's three tables, keyed as our results are.

Tables 1 and 2 hold mean returns of five runs, without deviations; Table 3 holds statistics of the transitions replayed.
"""

from collections.abc import Mapping

SAMPLERS = ("ners", "random", "per", "ero")
"""Columns of Tables 1 and 2, rows of Table 3."""
BASELINES = SAMPLERS[1:]
STEPS = {"fig1": 30_000, "table1": 500_000, "table2": 100_000, "table3": 10_000}
"""Environment steps (of Atari: agent steps) after which the tables are read."""
RANDOM_STEPS = {"sac": 5_000, "td3": 5_000, "rainbow": 1_600}
"""Steps with random actions at first, without learning (Table B.1)."""
TIME_LIMITS = {
    "SparsePendulum": 200, "LunarLanderContinuous-v3": 1_000, "BipedalWalker-v3": 1_600,
    **dict.fromkeys(("Ant-v4", "Walker2d-v4", "Hopper-v4"), 1_000),
}  # fmt: skip
"""Steps of an episode (Table A.1), and between two evaluations (App. B)."""
FIG5 = ("BipedalWalker-v3", "Ant-v4", "Walker2d-v4")
"""Tasks of Fig. 5."""

TABLE1: dict[tuple[str, str], dict[str, float]] = {
    cell: dict(zip(SAMPLERS, values))
    for cell, values in {
        ("td3", "Ant-v4"): (4193.69, 2824.42, 2723.57, 3515.88),
        ("td3", "Walker2d-v4"): (3938.59, 3559.97, 2797.86, 3394.74),
        ("td3", "Hopper-v4"): (3062.32, 2152.82, 1693.32, 2610.40),
        ("sac", "Ant-v4"): (2913.54, 2235.34, 1402.67, 1844.99),
        ("sac", "Walker2d-v4"): (3720.11, 3035.31, 3396.99, 1057.61),
        ("sac", "Hopper-v4"): (2763.69, 2409.51, 2223.08, 2255.67),
    }.items()
}
"""(agent, task) -> sampler -> return. The paper's tasks are the -v3."""

TABLE2: dict[tuple[str, str], dict[str, float]] = {
    ("rainbow", game): dict(zip(SAMPLERS, values))
    for game, values in {
        "Alien": (1125.18, 787.49, 844.02, 810.41),
        "Amidar": (167.50, 148.65, 125.23, 118.30),
        "Assault": (516.52, 490.06, 466.06, 463.39),
        "Asterix": (679.00, 598.10, 587.20, 534.89),
        "BattleZone": (18584.99, 14643.43, 13870.98, 17084.80),
        "Boxing": (2.51, -3.07, -2.32, -3.25),
        "ChopperCommand": (878.73, 696.34, 752.86, 727.45),
        "Freeway": (28.96, 28.09, 28.37, 28.84),
        "Frostbite": (1707.10, 794.50, 1426.22, 832.45),
        "KungFuMaster": (10925.59, 7215.50, 7527.96, 7954.36),
        "MsPacman": (1579.27, 1070.19, 1146.82, 1001.87),
        "Pong": (-18.36, -18.62, -19.08, -18.76),
        "PrivateEye": (91.68, 69.84, 78.52, 56.13),
        "Qbert": (1037.58, 824.15, 901.24, 895.49),
        "RoadRunner": (9689.30, 6382.82, 7093.13, 6199.88),
        "Seaquest": (386.80, 356.28, 343.97, 338.79),
    }.items()
}

STATISTICS = ("sd TD²", "sd Q", "mean TD²", "mean Q")
TABLE3: dict[str, tuple[float, float, float, float]] = {
    "ners": (723.01, 65.22, 87.54, -104.13),
    "random": (528.76, 60.46, 62.43, -120.15),
    "per": (1256.71, 49.78, 139.49, -138.05),
    "ero": (560.56, 59.16, 65.44, -119.03),
}
"""Sampler -> STATISTICS of the replayed transitions on the ordinary Pendulum, SAC.

The paper's "TD error" is read as the squared error, which is what its text calls large: plain errors cannot spread by
500 to 1,300 where values have a mean around -120 and spread by 60.
"""


def best_baseline(row: Mapping[str, float]) -> str:
    """The sampler with the highest value of a row of Table 1 or 2, NERS aside."""
    return max(BASELINES, key=lambda sampler: row[sampler])


def margin(row: Mapping[str, float]) -> float:
    """What NERS is above the best baseline by: the numbers in the tables' brackets."""
    return row["ners"] - row[best_baseline(row)]


def scorer_updates(agent: str, env: str) -> int:
    """Steps of NERS's networks in a run of the paper's length: one per evaluation after the random phase, but for the
    first where there was none before."""
    if agent == "rainbow":
        return STEPS["table2"] // 1_000 - 1
    evaluations = -(-STEPS["table1"] // TIME_LIMITS[env])  # the last at the end of the run
    return evaluations - RANDOM_STEPS[agent] // TIME_LIMITS[env]
