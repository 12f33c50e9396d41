"""What the methods are called, what the paper's Table 2 says, and the bias of an estimate: for figures and claims."""

import numpy as np
import pandas as pd

from lab.judge.results import stack

NAMES = {
    "her": "HER",
    "her-ibs": "HER-IBS",
    "filtered-her": "Filtered-HER",
    "filtered-her-ibs": "Filtered-HER-IBS",
}
CONTROLS = {"her-thinned": "HER, thinned", "none": "no hindsight"}
TABLE_2 = {  # KL(q* || q), the paper's, in the order of NAMES
    "Hand": (2.0317, 1.6623, 0.3436, 0.2272),
    "HandWall": (5.0574, 4.6005, 0.9606, 0.5971),
    "Robot": (2.3201, 1.9909, 0.8609, 0.3113),
}
TRAINING = "+".join(f"{kind}-{task.lower()}" for kind in ("training", "controls") for task in TABLE_2)
"""The experiments of Figs. 3 and 4 and Tables 1 and 2, methods and controls of each task, read as one."""
BOOTSTRAPPED = "+".join(f"bootstrapped-{part}{task.lower()}" for part in ("", "ibs-") for task in TABLE_2)
"""The same methods where a virtual success is bootstrapped; the run without hindsight is the same in both readings."""
BOTH = f"{TRAINING}+{BOOTSTRAPPED}"
FETCH_HER = "fetch-her"
"""Fetch, with HER's own protocol: no hindsight and HER, which are run first."""
FETCH = f"{FETCH_HER}+fetch-filter"
"""These and the filter."""
FETCH_FRESH = "fetch-fresh"
"""HER and the filter on fresh seeds, judged alone."""
SUCCESS = {"": "terminal", " (bootstrapped)": "bootstrapped"}
"""Readings of a virtual success: what follows a method's name -> what becomes of the success."""
READINGS = {  # of giving up in bit flipping
    "BitFlip-10-terminal": "giving up ends in a terminal state",
    "BitFlip-10-timeout": "giving up is a time-out",
}
PLAIN = "BitFlip-10"
SIGMA2 = (2.0, 0.2, 0.04)
"""sigma^2: the first and the last of the paper's schedule, and that of sigma = 0.2, which its Fig. 2 is drawn for."""
SMALL_FLOOR = "her-ibs (floor 1e-6)"
"""Not in the paper: IBS whose weights may fall to almost nothing."""


def env_label(env: str, sigma2: float) -> str:
    """What the results call an env of Appendix A with a kernel of this variance."""
    return f"{env}, sigma^2 = {sigma2:g}"


def label(method: str) -> str:
    """A method's label as legends print it: "her-ibs (mixture)" is "HER-IBS (mixture)"."""
    base, _, variant = method.partition(" ")
    return " ".join([(NAMES | CONTROLS).get(base, base), *([variant] if variant else [])])


def with_bias(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows and further ones of the metric ``bias``: the estimate less the return that it should equal."""
    keys = ["experiment", "scale", "method", "env", "seed", "step"]
    table = frame[frame["metric"].isin(["q_estimate", "return"])].pivot(index=keys, columns="metric", values="value")
    bias = (table["q_estimate"] - table["return"]).rename("value").reset_index()
    return stack([frame, bias.assign(metric="bias", hours=np.nan)])
