"""Does a sampler differ from RANDOM? Statistics of what it drew and of the law that it draws from next.

Two derivations say what to expect of NERS: `bonus_distance`, how far its law is from uniform if all replayed
transitions have one score, and `spreads`, why they nearly do. The bonus for new transitions is less than 1 / m whatever
the networks learn, so only the law *among replayed transitions* (`tv_replayed`) shows learning.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from papers.ners.ners import ScoreNetwork
from papers.ners.samplers.samplers import Scored

TINY = 1e-12


def bonus_distance(s: float, m: int) -> float:
    """Total variation from uniform of a law with priority 1 for new transitions and s for all others, with m draws per
    new transition.

    Let c be the share of the memory that was never replayed. A draw is a transition's first with probability
    P = c / (c + (1 - c) s). Each step brings one new transition, so c is steady when m draws make one first replay,
    m P = 1, hence

        c = s / (m - 1 + s)        TV = P - c = 1 / m - c = (1 - s) (m - 1) / (m (m - 1 + s))

    which is (1 - s) / (m + s) up to about a share s / m² of it: 0.0022 for m = 128 and 0.0085 for m = 32 at
    sigma = 0.52, s = sigma^0.5 = 0.72. All of it is the bonus for new transitions.
    """
    return (1 - s) / (m + s)


@torch.no_grad()
def spreads(network: ScoreNetwork, features: Tensor) -> list[float]:
    """How much the transitions of a set [n, features] differ, layer by layer along the path of the local context.

    Each entry is the root mean square over a layer's units of the standard deviation over the set: for the features,
    for each linear layer's outputs (before its ReLU), and last for the scores. PyTorch initialises a layer of n inputs
    with weights of variance 1 / (3 n), and ReLU passes on about half of the squared deviation: each layer makes
    deviations about root 6 times smaller, eight of them about a thousand times.
    """
    context = [m for m in network.local_context if isinstance(m, nn.Linear)]
    score = [m for m in network.score if isinstance(m, nn.Linear)]
    found, x = [features], features
    for place, layer in enumerate([*context, *score]):
        if place == len(context) and network.global_context is not None:
            x = torch.cat([x, network.global_context(features).mean(dim=0).expand(len(x), -1)], dim=1)
        x = layer(x if place in (0, len(context)) else torch.relu(x))
        found.append(x)
    found.append(torch.sigmoid(x))
    return [float(values.std(dim=0, correction=0).square().mean().sqrt()) for values in found]


def law_statistics(probabilities: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """How far a sampling law [n] is from uniform, and statistics of the scores [n] behind it.

    tv: total variation distance, 0 to 1. kl: divergence of the law from uniform, in nats. ess: effective sample size
    1 / sum p^2 as a share of n. log_score_mean, log_score_sd: mean and deviation of the scores' natural logarithms.
    """
    n = len(probabilities)
    ratio = probabilities * n
    logs = np.log(scores + TINY)
    return {
        "tv": float(0.5 * np.abs(probabilities - 1.0 / n).sum()),
        "kl": float((probabilities * np.log(np.where(ratio > 0, ratio, 1.0))).sum()),
        "ess": float(1.0 / (n * np.square(probabilities).sum())),
        "log_score_mean": float(logs.mean()),
        "log_score_sd": float(logs.std()),
    }


def replayed_statistics(probabilities: np.ndarray, scores: np.ndarray, replayed: np.ndarray) -> dict[str, float]:
    """tv and log_score_sd as in `law_statistics`, for the law restricted to replayed transitions.

    replayed: bool [n]. Empty if no transition is replayed, or none of those can be drawn.
    """
    law = probabilities[replayed]
    if not law.sum() > 0:
        return {}
    found = law_statistics(law / law.sum(), scores[replayed])
    return {"tv_replayed": found["tv"], "log_score_sd_replayed": found["log_score_sd"]}


class Diagnostics:
    """Records when each slot of a memory was filled and whether it has been replayed; sums up the draws."""

    def __init__(self, capacity: int):
        self.born = np.zeros(capacity, np.int64)
        self.fresh = np.zeros(capacity, bool)
        self.reset()

    def reset(self) -> None:
        """Forget the draws, not the slots."""
        self.draws = 0
        self.sums = dict.fromkeys(("age", "first_time", "td2", "td4", "q", "q2", "log_td"), 0.0)

    def added(self, slot: int, step: int) -> None:
        """A new transition was stored in `slot` at environment step `step`."""
        self.born[slot], self.fresh[slot] = step, True

    def drawn(self, slots: np.ndarray, step: int, td2: np.ndarray, q: np.ndarray) -> None:
        """The transitions in `slots` [n] were drawn at `step`, with squared TD errors [n] and values Q(s, a) [n]."""
        td2, q = np.asarray(td2, np.float64), np.asarray(q, np.float64)
        first = np.unique(slots[self.fresh[slots]])
        self.fresh[first] = False
        self.draws += len(slots)
        for name, total in {
            "age": step * len(slots) - self.born[slots].sum(),
            "first_time": len(first),
            "td2": td2.sum(),
            "td4": np.square(td2).sum(),
            "q": q.sum(),
            "q2": np.square(q).sum(),
            "log_td": 0.5 * np.log(td2 + TINY).sum(),
        }.items():
            self.sums[name] += float(total)

    def report(self, sampler: Scored) -> dict[str, float]:
        """Statistics of the draws since the last report, the sampler's own metrics, and its distance from uniform."""
        law, scores = sampler.probabilities(), sampler.scores()
        values = self.statistics() | sampler.metrics() | law_statistics(law, scores)
        values |= replayed_statistics(law, scores, ~self.fresh[: len(law)])
        self.reset()
        return values

    def statistics(self) -> dict[str, float]:
        """The draws since `reset`: mean age, share of first-time replays, mean log of the TD error's size, mean and
        standard deviation of squared TD errors and of values, and number of draws. Empty if nothing was drawn."""
        n = self.draws
        if n == 0:
            return {}
        mean = {name: total / n for name, total in self.sums.items()}
        return {
            "age": mean["age"],
            "first_time": mean["first_time"],
            "td2_mean": mean["td2"],
            "td2_sd": max(mean["td4"] - mean["td2"] ** 2, 0.0) ** 0.5,
            "q_mean": mean["q"],
            "q_sd": max(mean["q2"] - mean["q"] ** 2, 0.0) ** 0.5,
            "log_td": mean["log_td"],
            "draws": n,
        }
