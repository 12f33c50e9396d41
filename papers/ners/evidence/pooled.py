"""Statistics of everything that a run replayed, from those of its stretches.

A run logs mean and standard deviation of what was drawn since it logged last, and the number of draws. Together they
give mean and deviation over all of the run, exactly.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lab.judge.results import MissingData

METRICS = ("draws", "td2_mean", "td2_sd", "q_mean", "q_sd")


def pool(counts: ArrayLike, means: ArrayLike, deviations: ArrayLike) -> tuple[float, float]:
    """Mean and standard deviation of a union of samples, each given by its size, mean and deviation, all [n].

    Law of total variance: the mean of the variances plus the variance of the means, weighted with the sizes.
    ValueError for a union of nothing.
    """
    n, mean, sd = (np.asarray(values, dtype=np.float64) for values in (counts, means, deviations))
    if not n.sum() > 0:
        raise ValueError("statistics of no draws")
    centre = np.average(mean, weights=n)
    return float(centre), float(np.sqrt(np.average(sd**2 + (mean - centre) ** 2, weights=n)))


def replayed(rows: pd.DataFrame) -> np.ndarray:
    """float64[seeds, 4]: sd TD², sd Q, mean TD², mean Q of all transitions that each run replayed, as in Table 3.

    rows: tidy rows of one method on one task. MissingData where no run has logged what was drawn.
    """
    rows = rows[rows["metric"].isin(METRICS)]
    table = rows.pivot(index=["seed", "step"], columns="metric", values="value").reindex(columns=list(METRICS)).dropna()
    table = table[table["draws"] > 0]
    if table.empty:
        raise MissingData("no statistics of replayed transitions")
    found = []
    for _, run in table.groupby(level="seed"):
        td, td_sd = pool(run["draws"], run["td2_mean"], run["td2_sd"])
        q, q_sd = pool(run["draws"], run["q_mean"], run["q_sd"])
        found.append((td_sd, q_sd, td, q))
    return np.array(found)
