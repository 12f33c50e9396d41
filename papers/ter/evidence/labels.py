"""What methods and tasks are called in figures and verdicts. Loads neither torch nor a plotting library."""

import re

NAMES = {"uer": "UER", "per": "PER", "ebu": "EBU", "discor": "DisCor", "ter": "TER", "dreamer": "DreamerV2"}
NCHAIN = {
    "uer": "UER",
    "per": "PER (largest priority)",
    "per-proportional": "PER (proportional)",
    "ebu": "EBU",
    "discor": "DisCor",
    "ter": "TER",
}
"""Methods of NChain, which has two kinds of PER."""


BEND_1, RANDOM, NO_TERMINAL = "bend 1", "10 % random", "no terminal"
"""What follows the name of a task, in brackets, where its runs differ: where the Huber loss bends, two variants."""


def named(task: str, *notes: str) -> str:
    """A task with what sets its runs apart, as results call it."""
    return f"{task} ({', '.join(notes)})" if notes else task


def label(method: str) -> str:
    """A method of an experiment as legends and verdicts print it: "uer x1" is "UER, ratio 1", "eta=0.5" is "η=0.5"."""
    named = re.sub(r"\b(uer|per|ebu|discor|ter|dreamer)\b", lambda match: NAMES[match[0]], method)
    return re.sub(r" x(?=\d)", ", ratio ", named.replace("beta=", "β=").replace("eta=", "η="))


def place(env: str) -> str:
    """A task's name as titles print it: "Sokoban 5x5-1"."""
    return f"Sokoban {env}" if env[0].isdigit() else env
