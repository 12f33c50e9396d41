"""What all samplers have in common, and those that learn nothing: RANDOM and PER. methods.py makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from torch import Tensor, nn

from common.replay.protocol import Chosen, Sampler, Signals, Step
from common.replay.samplers import PrioritizedSampler, StratifiedSampler, UniformSampler
from lab.run.settings import Count, NotNegative, Positive, Share


@dataclass(frozen=True)
class Settings:
    """Settings of the samplers, by where their values come from. README.md says why each is as it is."""

    # The paper
    alpha: NotNegative = 0.5
    """PER and NERS: exponent of priorities (Table B.1)."""
    beta: Share = 0.4
    """PER and NERS: first exponent of the importance weights; reaches 1 at the end of training (Table B.1)."""
    scorer_lr: Positive = 1e-4
    """ERO and NERS: Adam's step size (Table B.1)."""
    train_size: Count = 128
    """NERS: n, replayed transitions per step of its networks (Table B.1); the released code takes the batch size."""
    replay_reward: Literal["evaluation", "training"] = "evaluation"
    """NERS: returns that the replay reward compares: of evaluations, or of training episodes (NERS*, Sec. 3.3)."""
    features: Literal["full", "few"] = "full"
    """NERS: all features, or reward, TD error and time step only (Sec. 3.3)."""
    global_context: bool = True
    """NERS: whether a score also depends on the other transitions of the batch (Sec. 3.3)."""

    # Where the paper and the released code differ, or the paper can be read in several ways
    widths: Literal["paper", "code"] = "paper"
    """NERS: layers of its networks as in Table B.1, or half as wide as in the released code."""
    reference: Literal["previous", "first"] = "previous"
    """NERS: the return that a new one is compared with (Eq. 6); the released code never renews the first."""
    tanh_all: bool = False
    """NERS: squash all features, as the released code does, not only TD error and value (App. B)."""
    time: Literal["share", "episode", "environment"] = "share"
    """NERS and ERO: the time step of Eq. (2): as a share of the time limit (ours), as the step in the episode (the
    released code), or as the step of the environment (Algorithm 1's t)."""
    log_loss: Literal["score", "buffer", "train"] = "score"
    """NERS: Eq. (7) for log sigma (the released code), or for log p with Eq. (1)'s sum over all transitions, or over
    I_train alone."""

    # Ours
    ero_batch: Count = 64
    """ERO: transitions per step of its network. Not in the paper."""
    scorer_steps: Count = 1
    """NERS: steps of its networks per replay reward. Not in the paper."""
    standardise: bool = False
    """NERS: standardise TD errors and values over the batch before they are squashed. Not in the paper."""


class Transitions(Protocol):
    """What a sampler can read of the transitions that are stored."""

    encoder: nn.Module
    """Maps the tensors of `full` to features [n, n_features]; learns with the sampler."""
    n_features: int

    def full(self, slots: np.ndarray) -> tuple[Tensor, ...]:
        """All of the transitions in `slots` [n]."""

    def reward_and_time(self, slots: np.ndarray) -> Tensor:
        """Reward and time step of each, [n, 2]."""


class Scored(Protocol):
    """What all samplers of this paper can do beside the common protocol: they say what their law is made of."""

    def scores(self) -> np.ndarray:
        """Score of every stored transition, float64 [stored]."""

    def probabilities(self) -> np.ndarray:
        """Probability of every stored transition in the next draw, float64 [stored]."""

    def metrics(self) -> dict[str, float]:
        """What the sampler has to say of itself since the last call."""


class Random(StratifiedSampler):
    """RANDOM: NERS with equal scores. The very slots that NERS would draw from the same stream, so that the two differ
    by the scores alone."""

    def scores(self) -> np.ndarray:
        """All of them equal."""
        return np.ones(self.stored)


class RandomIID(UniformSampler):
    """Uniform replay as it is usually written: independent draws."""

    def scores(self) -> np.ndarray:
        """All of them equal."""
        return np.ones(self.stored)


class Proportional(Sampler):
    """What PER and NERS share: transitions are drawn in proportion to sigma^alpha, weights correct for it.

    A new transition has the score 1, or the largest score that has been seen, if that is larger.
    """

    def __init__(
        self, capacity: int, rng: np.random.Generator, alpha: float, beta: float, draws: int, epsilon: float = 0.0
    ):
        """draws: calls of `sample` in a whole run. epsilon: is added to scores."""
        self.alpha = alpha
        self.prioritized = PrioritizedSampler(
            capacity, rng, alpha, beta, beta_steps=draws, epsilon=epsilon, clip=None, stratified=True
        )

    def add(self, index: int, step: Step | None = None) -> None:
        self.prioritized.add(index)

    def sample(self, n: int) -> Chosen:
        return self.prioritized.sample(n)  # Eq. (1), Eq. (5); weights are divided by the batch's largest

    def set_scores(self, indices: np.ndarray, scores: np.ndarray) -> None:
        """New scores sigma [n] of the slots `indices` [n]."""
        self.prioritized.update(indices, {"td_error": scores})

    def scores(self) -> np.ndarray:
        tree, stored = self.prioritized.tree, self.prioritized.stored
        return tree[:stored] ** (1.0 / self.alpha) if self.alpha else np.ones(stored)

    def probabilities(self) -> np.ndarray:
        return self.prioritized.probabilities()  # Eq. (1)


class PER(Proportional):
    """Prioritised experience replay (Schaul et al. 2016): the score is the size of the TD error plus epsilon."""

    needs: ClassVar = frozenset({"td_error"})

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        self.set_scores(indices, signals["td_error"])
