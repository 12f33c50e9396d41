"""What this paper's notebook shows (lab/pages/notebook)."""

EQUATIONS = ("Eq. (1)", "Eq. (4)", "Eq. (6)", "Eq. (7)")
CODE = ("papers.ners.ners:ScoreNetwork.forward", "papers.ners.ners:NERS.learn", "papers.ners.ners:NERS.reinforce")
ABOUT = "All runs of `own-why`: how the score networks shrink the spread of their inputs. No agent is trained."
COMMANDS = {scale: [f"-m lab run ners own-why --scale {scale}"] for scale in ("smoke", "quick")}
PICTURES = ("runs/figures/ners/{scale}/own-why.png",)
