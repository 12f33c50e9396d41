"""How this paper's figures look: colours, and the rows of experiments with their captions."""

from collections.abc import Iterable

import pandas as pd

from lab.judge import plotting
from lab.judge.colours import BLACK, GREEN, OWN_METHOD, PURPLE, SKY, UNIFORM
from lab.judge.results import MissingData, Results
from papers.bias_reduced_her.evidence.labels import BOOTSTRAPPED, CONTROLS, SUCCESS, TRAINING, label

COLOURS = {
    "her": UNIFORM, "her-ibs": PURPLE, "filtered-her": GREEN, "filtered-her-ibs": OWN_METHOD, "her-thinned": SKY,
    "none": BLACK,
}  # fmt: skip
DASHES = {
    "(20 x 20, sigma^2)": "--", "(uniform replay)": "--", "(bootstrapped)": ":", "(drawn again)": "-.",
    "(penalty 1)": "--", "(mixture)": "-", "(moving)": "--", "(terminal)": "--",
}  # fmt: skip
HOW = "median, 33rd to 67th percentile, single runs thin"


def styles(methods: Iterable[str]) -> dict[str, dict]:
    """A method has one colour in all figures; its variants are dashed."""
    found = {}
    for method in methods:
        base, _, variant = method.partition(" ")
        dashes = ":" if base in CONTROLS else DASHES.get(variant, "-")
        found[method] = {"color": COLOURS[base], "linestyle": dashes}
    return found


class Data(plotting.Data):
    """The rows of experiments, and figures of them."""

    paper, plan = "Bias-reduced HER", "papers.bias_reduced_her.evidence.experiments"
    kind, unit, xlabel = "median-33-67", "episode", "training episodes"
    label, styles = staticmethod(label), staticmethod(styles)

    def __init__(self, results: Results, experiment: str, scale: str) -> None:
        super().__init__(results, experiment, scale)
        self.results = results
        self.both = BOOTSTRAPPED in experiment
        """Whether virtual successes are read in both ways."""

    def readings(self) -> dict[str, str]:
        """Of SUCCESS, those of which something was run; all where nothing says otherwise. One without a name where the
        experiment does not compare them."""
        run = {method.partition(" ")[2] for method in self.frame["method"].unique() if method != "none"}
        found = {end: name for end, name in SUCCESS.items() if end.strip() in run or self.scale != "quick"}
        return found if self.both else {"": ""}

    def join(self, methods: tuple[str, ...]) -> None:
        """Add the runs of Fig. 3 of these methods, if there are any, on the same tasks and with the same seeds."""
        try:
            main = Data(self.results, TRAINING, self.scale).frame
        except MissingData:
            return
        alike = main["env"].isin(self.shown) & main["seed"].isin(set(self.frame["seed"]))
        self.frame = pd.concat([main[main["method"].isin(methods) & alike], self.frame], ignore_index=True)
        self.methods = [*methods, *self.methods]
