"""The runs of one experiment at one scale, and the numbers per run on which verdicts rest."""

import functools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd

from lab.judge.results import MissingData, Results, matrix
from lab.judge.stats import auc
from lab.judge.verdicts import Learning, learning


class Runs:
    """All rows of an experiment. Every method raises MissingData if there are none."""

    def __init__(self, results: Results, experiment: str):
        self.experiment = experiment
        self.frame, self.scale = results.need(experiment)
        self.groups = {pair: rows for pair, rows in self.frame.groupby(["method", "env"])}
        """(method, env) -> its rows."""
        self._curves: dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]] = {}
        self.envs: list[str] = sorted(self.frame["env"].unique())

    @classmethod
    def of(cls, results: Results, experiment: str, *more: Any) -> Self:
        """The runs of an experiment, cached for the claims that follow."""
        results.best(experiment)  # notes that it has been read
        return _made(cls, results, experiment, *more)  # type: ignore[arg-type]  # classes are hashable

    def rows(self, method: str, env: str) -> pd.DataFrame:
        """All rows of a method on a task."""
        if (method, env) not in self.groups:
            raise MissingData(f"no runs of {method} on {env}")
        return self.groups[method, env]

    def steps(self, env: str, *methods: str) -> int:
        """Steps of the longest run on a task, of these methods or of all."""
        chosen = methods or [method for method, where in self.groups if where == env]
        return max(int(self.rows(method, env)["step"].max()) for method in chosen)

    def seeds(self, method: str, env: str) -> list[int]:
        """The seeds that were run, in ascending order."""
        return sorted(self.rows(method, env)["seed"].unique())

    def curve(self, metric: str, method: str, env: str) -> tuple[np.ndarray, np.ndarray]:
        """Steps [T] that all runs have, and the metric [runs, T], runs ordered by seed. The two arrays are cached, as
        many claims use the same curve, and are read-only."""
        key = metric, method, env
        if key not in self._curves:
            self._curves[key] = matrix(self.rows(method, env), *key)
            for array in self._curves[key]:
                array.flags.writeable = False
        return self._curves[key]

    def first(self, metric: str, method: str, env: str) -> np.ndarray:
        """The first value of each run (runs,)."""
        return self.curve(metric, method, env)[1][:, 0]

    def last(self, metric: str, method: str, env: str, count: int = 1) -> np.ndarray:
        """Mean of the last `count` values of each run (runs,)."""
        return self.curve(metric, method, env)[1][:, -count:].mean(axis=1)

    def area(self, metric: str, method: str, env: str) -> np.ndarray:
        """Mean height of each run's curve (runs,)."""
        return np.asarray(auc(*self.curve(metric, method, env)))

    def learning(self, metric: str, method: str, env: str, before: float | None = None) -> Learning:
        """Whether the method learns, compared with `before` or with the first value of each run."""
        _, values = self.curve(metric, method, env)
        return learning(values, values[:, 0] if before is None else before)

    def common(self, values: Sequence[np.ndarray], sides: Sequence[tuple[str, str]]) -> list[np.ndarray]:
        """Scores (runs,) of two sides, (method, task), for the seeds that both have, in the same order."""
        seeds = [self.seeds(*side) for side in sides]
        both = sorted(set(seeds[0]) & set(seeds[1]))
        if not both:
            methods, tasks = (" and ".join(dict.fromkeys(names)) for names in zip(*sides))
            raise MissingData(f"{methods} have no seed in common on {tasks}")
        return [scores[[mine.index(seed) for seed in both]] for scores, mine in zip(values, seeds)]


@functools.lru_cache(maxsize=64)
def _made(kind: type[Any], *how: Any) -> Any:
    return kind(*how)
