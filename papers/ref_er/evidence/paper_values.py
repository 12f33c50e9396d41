"""Numbers in the paper's text, for claims and figures: what it sets, and what ours can be compared with.

Its returns are in pictures only.
"""

TOLERANCE = 0.1
"""D of the runs that the KL figures show (Sec. 3)."""
NOISE = 0.2
"""DDPG and NAF: standard deviation of the exploration noise (App. A)."""
START = 0.2**0.5
"""V-RACER: standard deviation of the policy at first (App. A)."""
ACTIONS = {
    "HumanoidStandup-v5": 17, "Humanoid-v5": 17, "Ant-v5": 8, "Walker2d-v5": 6, "HalfCheetah-v5": 6, "Reacher-v5": 2,
    "Swimmer-v5": 2, "Hopper-v5": 3, "InvertedPendulum-v5": 1, "InvertedDoublePendulum-v5": 1,
}  # fmt: skip
"""Components of an action in each of the tasks of Figs. 1 to 5."""
FIG1 = "fig1+fig1-rules+fig1-others"
"""The experiments of Figs. 1 and 2, read as one, so that no file of results exceeds 2 MB."""
FIG4 = "fig4+fig4-rules+fig4-others"
"""Those of Figs. 4 and 5."""
FIG7 = "fig7+fig7-memory+fig7-updates+fig7-ant"
FIG8 = "fig8+fig8-advantages"

DDPG_ER_KL = {"Humanoid-v5": 100.0, "Walker2d-v5": 50.0}
"""Around what the divergence of DDPG with plain replay oscillates (Sec. 5.1)."""
DDPG_MAX_KL = {"Humanoid-v5": 850.0, "Walker2d-v5": 300.0}
"""Its maximum 2 d / sigma^2 for d components of the action and sigma = 0.2 (Sec. 5.1)."""
STEPS = 10_000_000
"""Environment steps of a run. Not in the text; the length in the authors' scripts."""
