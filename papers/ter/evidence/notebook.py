"""What this paper's notebook shows (lab/pages/notebook)."""

EQUATIONS = ("Algorithm 1",)
CODE = ("papers.ter.topological:TER.sweep", "papers.ter.topological:TER.sample")
COMMANDS = {scale: [f"-m lab run ter fig2 --scale {scale}"] for scale in ("smoke", "quick")}
PICTURE = "runs/figures/ter/{scale}/fig2.png"
