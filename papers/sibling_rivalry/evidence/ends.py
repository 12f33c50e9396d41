"""Where episodes ended, read from results: points in mazes, shares of the phase on the track."""

import numpy as np
import pandas as pd

from lab.judge.results import matrix
from papers.sibling_rivalry.train_track import BINS, ENV


def end_points(frame: pd.DataFrame) -> pd.DataFrame:
    """Where episodes ended: x and y by seed, step and episode, from the rows of the metrics "end 3 x", "end 3 y"."""
    parts = frame["metric"].str.extract(r"^end (\d+) ([xy])$")
    rows = frame.assign(episode=parts[0], axis=parts[1]).dropna(subset="axis")
    return rows.pivot(index=["seed", "step", "episode"], columns="axis", values="value")


def histograms(frame: pd.DataFrame, method: str, role: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Where a method's episodes ended: steps int64 [T] and shares float64 [seeds, T, BINS].

    role: "closer " or "farther " for one of the siblings. Bins that are not in the results are empty. MissingData
    without results of the method.
    """
    steps, _ = matrix(frame, f"{role}success", method, ENV)
    rows = frame[(frame["method"] == method) & frame["metric"].str.fullmatch(rf"{role}phase \d+")]
    bins = rows["metric"].str.rsplit(" ", n=1).str[1].astype(int)
    table = rows.assign(bin=bins).pivot_table(index=["seed", "step"], columns="bin", values="value", fill_value=0.0)
    seeds = sorted(rows["seed"].unique())
    index = pd.MultiIndex.from_product([seeds, steps])
    shares = table.reindex(index=index, columns=range(BINS), fill_value=0.0).to_numpy()
    return steps, shares.reshape(len(seeds), len(steps), BINS)
