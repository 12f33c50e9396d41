"""The card of a trained agent: what it is, how it was trained, how well it plays, and how well its method does."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.rooms import House, Paper
from lab.run.identity import difference

LAST = 3
"""Values at a run's end whose mean is its score in the committed results."""
SCORES = ("success", "return")
"""Metrics that are scores, the better one first."""
BUDGETS = ("steps", "epochs", "episodes")
"""Settings that say how long a run trains; of several the first."""


@dataclass(frozen=True)
class Episodes:
    """What an agent has played."""

    returns: np.ndarray
    """Not discounted, float64 [episodes]."""
    successes: np.ndarray | None
    """bool [episodes]; None where the environment knows none."""
    seed: int
    """That of `play`."""


@dataclass(frozen=True)
class Committed:
    """The runs in the committed results that have an agent's settings, but for the seed."""

    scale: str
    method: str
    """What the results call it."""
    metric: str
    scores: dict[int, float]
    """Seed -> mean of the run's last `LAST` values."""

    @property
    def mean(self) -> float:
        return float(np.mean([*self.scores.values()]))

    @property
    def sd(self) -> float:
        """Sample standard deviation; NaN for a single run."""
        return float(np.std([*self.scores.values()], ddof=1)) if len(self.scores) > 1 else float("nan")


@dataclass(frozen=True)
class Card:
    """What there is to know of a trained agent; `str` makes it a page in Markdown."""

    paper: str
    """Title."""
    reference: str
    """Authors, place and year."""
    room: str
    """Its folder in the repository, which has the verdicts on the method."""
    env: str
    method: str
    budget: str
    seed: int
    commit: str
    played: Episodes
    committed: Committed | None

    @property
    def name(self) -> str:
        return f"{self.method} on {self.env}"

    @property
    def metrics(self) -> list[tuple[str, str, float]]:
        """Of the episodes played: type and name of a metric, and its value."""
        count = len(self.played.returns)
        found = [("mean_reward", f"mean return of {count} episodes", float(self.played.returns.mean()))]
        if self.played.successes is not None:
            found.append(("success_rate", f"success rate in {count} episodes", float(self.played.successes.mean())))
        return found

    def __str__(self) -> str:
        rows = {
            "method": self.method,
            "environment": self.env,
            "training": f"{self.budget}, seed {self.seed}, code of commit {self.commit}",
            "this agent": f"{self._score()} (mean ± SD over episodes)",
            "its episodes": f"`agent.play({len(self.played.returns)}, seed={self.played.seed})`: it acts as in the "
            "paper's evaluation, from starts that are not those of training",
            "its method, same settings": self._method_score(),
            "verdicts": f"[{self.room}/VERDICTS.md]({self.room}/VERDICTS.md)",
        }
        table = "\n".join(f"| {name} | {text} |" for name, text in rows.items())
        origin = f"of a re-implementation of [{self.paper}]({self.room}/README.md) ({self.reference})"
        return f"# {self.name}\n\nA trained agent {origin}.\n\n| | |\n|---|---|\n{table}\n"

    def _score(self) -> str:
        returns, successes = self.played.returns, self.played.successes
        spread = f" ± {returns.std(ddof=1):.4g}" if len(returns) > 1 else ""
        success = f", success in {successes.sum()} of {len(successes)}" if successes is not None else ""
        return f"return {returns.mean():.4g}{spread}{success}"

    def _method_score(self) -> str:
        found = self.committed
        if found is None:
            return "no committed run has these settings"
        seeds, n = ", ".join(map(str, sorted(found.scores))), len(found.scores)
        spread = f" ± {found.sd:.3g}, mean and SD of {n} runs (seeds {seeds})" if n > 1 else f", one run (seed {seeds})"
        own = f"; this one {found.scores[self.seed]:.4g}" if self.seed in found.scores and n > 1 else ""
        return f"{found.metric} {found.mean:.4g}{spread}, last {LAST} values of each, scale {found.scale}{own}"


def card(name: str, config: Any, content: dict[str, Any], played: Episodes) -> Card:
    """The card of an agent of the paper `name` with these settings. content: of its config.json."""
    paper = House().papers()[name]
    title, reference = _heading(paper)
    committed = results_of(paper, config)
    budget = next(f"{getattr(config, unit):,} {unit}" for unit in BUDGETS if hasattr(config, unit))
    return Card(
        title, reference, f"papers/{name}", config.env, committed.method if committed else config.method,
        budget, config.seed, str(content.get("commit", "unknown"))[:7], played, committed,
    )  # fmt: skip


def _heading(paper: Paper) -> tuple[str, str]:
    """Title and reference of a paper, as its README.md begins."""
    title, reference = (paper.folder / "README.md").read_text(encoding="utf-8").split("\n\n")[:2]
    return title.removeprefix("# "), " ".join(reference.split()).rstrip(".")


def results_of(paper: Paper, config: Any) -> Committed | None:
    """The committed runs with the settings of `config`, whatever their seed and device, at the best scale that has
    some; None where none has."""
    from lab.judge.collecting import read_provenance  # here: pandas loads slowly
    from lab.judge.results import EVIDENCE, csv_path, read

    free = {name: getattr(config, name) for name in ("seed", "device") if hasattr(config, name)}
    for scale in EVIDENCE:
        found: list[Committed] = []
        for path in sorted((paper.results / scale).glob("*.csv")):
            runs = read_provenance(csv_path(paper.results, path.stem, scale))
            labels = [run for run, content in runs.items() if not difference({**content["config"], **free}, config)]
            if not labels or (frame := read(paper.results, path.stem, scale)) is None:
                continue
            for method, env, seed in (label.split("|") for label in labels):
                rows = frame[(frame["method"] == method) & (frame["env"] == env) & (frame["seed"] == int(seed))]
                for metric in (metric for metric in SCORES if (rows["metric"] == metric).any()):
                    values = rows[rows["metric"] == metric].sort_values("step")["value"].to_numpy()
                    found.append(Committed(scale, method, metric, {int(seed): float(values[-LAST:].mean())}))
        for metric in SCORES:  # experiments share runs: a seed counts once
            if same := [one for one in found if one.metric == metric]:
                scores = {seed: score for one in reversed(same) for seed, score in one.scores.items()}
                names = Counter(one.method for one in same)  # one setting has several names where a figure varies it
                return Committed(scale, min(names, key=lambda name: (-names[name], len(name))), metric, scores)
    return None
