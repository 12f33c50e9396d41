"""What this paper's notebook shows (lab/pages/notebook): two short runs, as its figures take hours."""

EQUATIONS = ("Eq. (6)", "Eq. (7)", "Eq. (8)")
CODE = ("papers.ref_er.refer:ReFER", "papers.ref_er.retrace:retrace_as_printed")
ABOUT = (
    "A run each with ReF-ER and without, with seed 0, on a task that is soon learnt: an example. The figures have "
    "harder tasks and more seeds."
)
SHORT = {
    "smoke": "--steps 300 --warmup 256 --capacity 256 --bins 3",
    "quick": "--steps 60000 --warmup 4096 --capacity 16384 --annealing 8e-5 --beta 0.3",
}
COMMANDS = {
    scale: [
        *(
            f"-m papers.ref_er.train --env InvertedPendulum-v5 --replay {replay} --no-progress {settings} "
            f"--run-dir runs/notebook/{scale}/{replay}"
            for replay in ("refer", "er")
        ),
        f"-m lab compare runs/notebook/{scale}/refer runs/notebook/{scale}/er --out runs/notebook/{scale}/ref_er.png",
    ]
    for scale, settings in SHORT.items()
}
PICTURES = ("runs/notebook/{scale}/ref_er.png",)
