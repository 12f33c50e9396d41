"""The one protocol of all replay ideas: what a sampler is told, what it answers, and what it needs from a learner.

Storage keeps transitions in slots. A sampler decides which slots are replayed, with which weights in the loss and, if
it has its own, with which targets. It is told about new transitions, what the learner found out about a batch, ends of
episodes, evaluations and copies of the target network, and uses what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from common.replay.checks import all_finite


class Step(NamedTuple):
    """One environment step. A sampler reads the fields it needs."""

    observation: Any
    """Where the step starts, as the sampler is to see it. Within an episode it equals the last step's
    `next_observation` bit by bit; if it differs, the episode before was abandoned (trail.py)."""
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    """The task is over."""
    truncated: bool
    """The episode was cut by the time limit."""
    env_id: int = 0
    """Which of several parallel environments: the steps of an episode share it and follow each other."""

    @property
    def ended(self) -> bool:
        return self.terminated or self.truncated


class Chosen(NamedTuple):
    """A batch: which transitions, how much each counts, and the targets for their values."""

    indices: np.ndarray
    """Slots int64 [n]."""
    weights: np.ndarray
    """Weights of their losses, float32 [n]."""
    targets: np.ndarray | None = None
    """float32 [n]; None for the learner's own."""


Signals = Mapping[str, np.ndarray]
"""What a learner found out about a batch, name -> [n]; see `SIGNALS`."""

SIGNALS = {
    "td_error": "target less Q(s, a), or its size",
    "q": "Q(s, a)",
    "target": "what Q(s, a) was moved to",
    "target_td_error": "the same with the target network's Q(s, a)",
    "ratio": "density of the action today over that when it was taken",
    "divergence": "Kullback-Leibler divergence of the policy then from the policy of today",
}
"""The names that `update` knows."""


class Sampler:
    """Base of all samplers. Notifications are optional: by default they do nothing."""

    needs: frozenset[str] = frozenset()
    """What a learner must provide besides slots: names in `SIGNALS`; "step" (with `add`), "episode" and "evaluation"
    (it calls the methods below); "values" and "errors" (it can value states, and give the TD error of any transition);
    "targets" (it accepts the sampler's). On a class: all that its samplers may need; on a sampler: what its settings
    need."""

    def add(self, index: int, step: Step | None = None) -> None:
        """Slot `index` has just been filled, or overwritten, by a new transition."""
        raise NotImplementedError

    def sample(self, n: int) -> Chosen | None:
        """Return the next batch of n >= 1 transitions; None while the method waits for something.

        If fewer can be drawn, some come more than once or the batch is smaller, depending on the method. ValueError if
        nothing has been stored.
        """
        raise NotImplementedError

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        """The learner has used the slots `indices` [n] and found `signals`, [n] each.

        ValueError if a signal is missing or not finite, IndexError if a slot holds no transition; in either case,
        nothing changes.
        """
        all_finite(signals)

    def cut(self, env_id: int | None = None) -> None:
        """The running episode of an environment (None: of all) was abandoned: its next step begins another.

        Needed only where a step may start at the very observation where the last one ended without following it.
        """

    def episode(self, total_return: float) -> None:
        """A training episode is over."""

    def evaluation(self, mean_return: float) -> None:
        """An evaluation has been made."""

    def synced(self) -> None:
        """The Q-network was copied into the target network."""

    def metrics(self) -> dict[str, float]:
        """What the sampler reports about itself at an evaluation."""
        return {}

    def probabilities(self) -> np.ndarray | None:
        """Probability of every stored transition in a single draw, float64 [stored]; None if there is no such law
        because each draw depends on those before."""
        return None


def missing(sampler: type[Sampler] | Sampler, provided: frozenset[str]) -> list[str]:
    """Return, sorted, what a sampler needs that is not in `provided`, what the learner provides."""
    return sorted(sampler.needs - provided)
