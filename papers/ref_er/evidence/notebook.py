"""What this paper's notebook shows (`make notebook`)."""

from lab.pages.notebook import Notebook

NOTEBOOK = Notebook(
    equations=("Eq. (6)", "Eq. (7)", "Eq. (8)"),
    code=("papers.ref_er.refer:ReFER", "papers.ref_er.agents.retrace:retrace_as_printed"),
    about=(
        "A run each with ReF-ER and without, with seed 0, on a task that is soon learnt: an example. The "
        "figures have harder tasks and more seeds."
    ),
    train="papers.ref_er.train --env InvertedPendulum-v5 --replay",
    methods=("refer", "er"),
    settings={
        "smoke": "--steps 300 --warmup 256 --capacity 256 --bins 3",
        "quick": "--steps 60000 --warmup 4096 --capacity 16384 --annealing 8e-5 --beta 0.3",
    },
)
