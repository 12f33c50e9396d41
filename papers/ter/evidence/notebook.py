"""What this paper's notebook shows (lab/pages/notebook): NChain, which takes seconds, and two short runs on Sokoban."""

EQUATIONS = ("Algorithm 1",)
CODE = ("papers.ter.topological:TER.sweep", "papers.ter.topological:TER.sample")
ABOUT = (
    "NChain (Fig. 2), all of it; and a run each of TER and uniform replay on the smallest Sokoban level, with "
    "seed 0: an example. Fig. 3 has more seeds, more levels and longer runs."
)
SHORT = {
    "smoke": "--steps 280 --capacity 200 --warmup 130 --epsilon-steps 200 --eval-every 140 --eval-episodes 2",
    "quick": "--steps 100000 --capacity 100000 --warmup 5000 --epsilon-steps 50000 --target-interval 1000 "
    "--eval-every 5000 --eval-episodes 30 --scale-output",
}
COMMANDS = {
    scale: [
        f"-m lab run ter fig2 --scale {scale}",
        *(
            f"-m papers.ter.train_sokoban --env 5x5-1 --method {method} --network codes --no-progress {settings} "
            f"--run-dir runs/notebook/{scale}/{method}"
            for method in ("ter", "uer")
        ),
        f"-m lab compare runs/notebook/{scale}/ter runs/notebook/{scale}/uer --out runs/notebook/{scale}/ter.png",
    ]
    for scale, settings in SHORT.items()
}
PICTURES = ("runs/figures/ter/{scale}/fig2.png", "runs/notebook/{scale}/ter.png")
