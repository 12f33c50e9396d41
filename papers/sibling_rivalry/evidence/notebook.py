"""What this paper's notebook shows (lab/pages/notebook)."""

EQUATIONS = ("Eq. (3)", "Algorithm 1")
CODE = (
    "papers.sibling_rivalry.sibling_rivalry:self_balancing_reward",
    "papers.sibling_rivalry.sibling_rivalry:rivalry",
)
COMMANDS = {scale: [f"-m lab run sibling_rivalry fig1 --scale {scale}"] for scale in ("smoke", "quick")}
PICTURES = ("runs/figures/sibling_rivalry/{scale}/fig1.png",)
