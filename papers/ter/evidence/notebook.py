"""What this paper's notebook shows (`make notebook`)."""

from lab.pages.notebook import Notebook

NOTEBOOK = Notebook(
    equations=("Algorithm 1",),
    code=("papers.ter.topological:TER.sweep", "papers.ter.topological:TER.sample"),
    about=(
        "NChain (Fig. 2), all of it; and a run each of TER and uniform replay on the smallest Sokoban level, "
        "with seed 0: an example. Fig. 3 has more seeds, more levels and longer runs."
    ),
    figure="fig2",
    train="papers.ter.train_sokoban --env 5x5-1 --network codes --method",
    methods=("ter", "uer"),
    settings={
        "smoke": "--steps 280 --capacity 200 --warmup 130 --epsilon-steps 200 --eval-every 140 --eval-episodes 2",
        "quick": "--steps 100000 --capacity 100000 --warmup 5000 --epsilon-steps 50000 --target-interval 1000 "
        "--eval-every 5000 --eval-episodes 30 --scale-output",
    },
)
