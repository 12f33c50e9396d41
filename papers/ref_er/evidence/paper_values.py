"""Numbers in the paper's text that ours can be compared with. Its returns are in pictures only."""

DDPG_ER_KL = {"Humanoid-v5": 100.0, "Walker2d-v5": 50.0}
"""Around what the divergence of DDPG with plain replay oscillates (Sec. 5.1)."""
DDPG_MAX_KL = {"Humanoid-v5": 850.0, "Walker2d-v5": 300.0}
"""Its maximum 2 d / sigma^2 for d components of the action and sigma = 0.2 (Sec. 5.1)."""
STEPS = 10_000_000
"""Environment steps of a run. Not in the text; the length in the authors' scripts."""
