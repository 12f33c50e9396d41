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


def label(method: str) -> str:
    """A method of an experiment as legends and verdicts print it: "uer x1" is "UER, ratio 1", "eta=0.5" is "η=0.5"."""
    named = re.sub(r"\b(uer|per|ebu|discor|ter|dreamer)\b", lambda match: NAMES[match[0]], method)
    return re.sub(r" x(?=\d)", ", ratio ", named.replace("beta=", "β=").replace("eta=", "η="))


def place(env: str) -> str:
    """A task's name as titles print it: "Sokoban 5x5-1"."""
    return f"Sokoban {env}" if env[0].isdigit() else env
