"""What all samplers share, and those that learn nothing: RANDOM and PER. methods.py makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from torch import Tensor, nn

from common.replay.protocol import Chosen, Sampler, Signals, Step
from common.replay.samplers import PrioritizedSampler, StratifiedSampler, UniformSampler
from lab.run.settings import Count, NotNegative, Positive, Share


@dataclass(frozen=True)
class Settings:
    """Settings of the samplers, by where their values come from; NOTEBOOK.md, deviations, gives the reasons."""

    # The paper
    alpha: NotNegative = 0.5
    """PER and NERS: exponent of priorities (Table B.1)."""
    beta: Share = 0.4
    """PER and NERS: initial exponent of the importance weights; reaches 1 at the end of training (Table B.1)."""
    scorer_lr: Positive = 1e-4
    """ERO and NERS: Adam's step size (Table B.1)."""
    train_size: Count = 128
    """NERS: n, replayed transitions per step of its networks (Table B.1); the released code takes the batch size."""
    replay_reward: Literal["evaluation", "training"] = "evaluation"
    """NERS: whether the replay reward compares returns of evaluations or of training episodes (NERS*, Sec. 3.3)."""
    features: Literal["full", "few"] = "full"
    """NERS: all features, or only reward, TD error and time step (Sec. 3.3)."""
    global_context: bool = True
    """NERS: whether a score also depends on the other transitions of the batch (Sec. 3.3)."""

    # Where the paper and the released code differ, or the paper allows several readings
    widths: Literal["paper", "code"] = "paper"
    """NERS: widths of its networks as in Table B.1, or half of them as in the released code."""
    reference: Literal["previous", "first"] = "previous"
    """NERS: the return that a new one is compared with (Eq. 6); the released code always uses the first."""
    tanh_all: bool = False
    """NERS: apply tanh to all features, as the released code does, not only to TD error and value (App. B)."""
    time: Literal["share", "episode", "environment"] = "share"
    """NERS and ERO: the time step of Eq. (2): a share of the time limit (ours), the step in the episode (the released
    code), or the environment step (Algorithm 1's t)."""
    log_loss: Literal["score", "buffer", "train"] = "score"
    """NERS: Eq. (7) with log sigma (the released code), or with log p, whose sum in Eq. (1) is over all transitions or
    over I_train alone."""

    # Ours
    ero_batch: Count = 64
    """ERO: transitions per step of its network. Not in the paper."""
    scorer_steps: Count = 1
    """NERS: steps of its networks per replay reward. Not in the paper."""
    standardise: bool = False
    """NERS: standardise TD errors and values over the batch before their tanh. Not in the paper."""


class Transitions(Protocol):
    """What a sampler can read of the stored transitions."""

    encoder: nn.Module
    """Maps the tensors of `full` to features [n, n_features]; trained with the sampler."""
    n_features: int

    def full(self, slots: np.ndarray) -> tuple[Tensor, ...]:
        """All features of the transitions in `slots` [n]."""

    def reward_and_time(self, slots: np.ndarray) -> Tensor:
        """Reward and time step of each, [n, 2]."""


class Scored(Protocol):
    """What all samplers of this paper offer beyond the common protocol: their scores and their sampling law."""

    def scores(self) -> np.ndarray:
        """Score of every stored transition, float64 [stored]."""

    def probabilities(self) -> np.ndarray:
        """Probability of every stored transition in the next draw, float64 [stored]."""

    def metrics(self) -> dict[str, float]:
        """The sampler's own statistics since the last call."""


class Random(StratifiedSampler):
    """RANDOM: NERS with equal scores. It draws the very slots that NERS would draw then from the same stream, so that
    the two differ by the scores alone."""

    def scores(self) -> np.ndarray:
        """All of them equal."""
        return np.ones(self.stored)


class RandomIID(UniformSampler):
    """Uniform replay in its usual form: independent draws."""

    def scores(self) -> np.ndarray:
        """All of them equal."""
        return np.ones(self.stored)


class Proportional(Sampler):
    """What PER and NERS share: draws in proportion to sigma^alpha, with importance weights.

    A new transition has score 1, or the largest score so far if that is larger.
    """

    def __init__(
        self, capacity: int, rng: np.random.Generator, alpha: float, beta: float, draws: int, epsilon: float = 0.0
    ):
        """draws: calls of `sample` in a whole run. epsilon: added to scores."""
        self.alpha = alpha
        self.prioritized = PrioritizedSampler(
            capacity, rng, alpha, beta, beta_steps=draws, epsilon=epsilon, clip=None, stratified=True
        )

    def add(self, index: int, step: Step | None = None) -> None:
        self.prioritized.add(index)

    def sample(self, n: int) -> Chosen:
        return self.prioritized.sample(n)  # Eq. (1), Eq. (5); weights are divided by the batch's largest

    def set_scores(self, indices: np.ndarray, scores: np.ndarray) -> None:
        """Set the scores sigma [n] of the slots `indices` [n]."""
        self.prioritized.update(indices, {"td_error": scores})

    def scores(self) -> np.ndarray:
        tree, stored = self.prioritized.tree, self.prioritized.stored
        return tree[:stored] ** (1.0 / self.alpha) if self.alpha else np.ones(stored)

    def probabilities(self) -> np.ndarray:
        return self.prioritized.probabilities()  # Eq. (1)


class PER(Proportional):
    """Prioritised experience replay (Schaul et al. 2016): the score is the size of the TD error plus epsilon."""

    needs = frozenset({"td_error"})

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        self.prioritized.update(indices, signals)
