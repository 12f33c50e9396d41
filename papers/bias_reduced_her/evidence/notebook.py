"""What this paper's notebook shows (`make notebook`)."""

from lab.pages.notebook import Notebook

NOTEBOOK = Notebook(
    equations=("Algorithm 2",),
    code=("papers.bias_reduced_her.filtered:misleading", "papers.bias_reduced_her.hindsight:Hindsight.__call__"),
    about=(
        "Bit flipping with a useless action, where the true values are known, with three seeds. The figure in "
        "the room has fifteen."
    ),
    figure="bitflip",
    seeds="3",
)
