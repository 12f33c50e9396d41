"""What this paper's notebook shows (lab/pages/notebook)."""

EQUATIONS = ("Algorithm 2",)
CODE = ("papers.bias_reduced_her.filtered:misleading", "papers.bias_reduced_her.hindsight:Hindsight.__call__")
ABOUT = (
    "Bit flipping with a useless action, where the true values are known, with seed 3 alone. The figure in the "
    "room has fifteen seeds."
)
COMMANDS = {
    "smoke": ["-m lab run bias_reduced_her bitflip --scale smoke"],
    "quick": ["-m lab run bias_reduced_her bitflip --scale quick --seeds 3"],
}
PICTURES = ("runs/figures/bias_reduced_her/{scale}/bitflip.png",)
