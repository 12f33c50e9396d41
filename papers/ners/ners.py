"""The neural experience replay sampler: networks that score transitions, trained on what their replay brought.

A score depends on the transition itself (local context) and on the other transitions of its batch (global context).
Scores become priorities of a sum tree, as in PER. When the agent is evaluated, the change of its return, the replay
reward, says whether the transitions replayed since the last evaluation should be replayed more often, or less.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from common.networks import mlp
from common.replay.checks import checked, finite_return
from common.replay.protocol import Signals, Step
from papers.ners.samplers.samplers import Proportional, Settings, Transitions

WIDTHS = {"paper": ((256, 512, 256, 128), (256, 128, 64)), "code": ((128, 256, 128, 64), (128, 64))}
"""Layers of the local and global networks (the last is their output) and hidden layers of the score network, in Table
B.1 and in the released code."""
TINY = 1e-6  # keeps log sigma and its gradient finite


class ScoreNetwork(nn.Module):
    """Scores of a set of transitions, each in (0, 1); permuting the set permutes the scores.

    n_features: width of a transition's features. With `global_context=False` each score depends only on its own
    transition's features.
    """

    def __init__(self, n_features: int, widths: str = "paper", global_context: bool = True):
        super().__init__()
        context, score = WIDTHS[widths]
        self.local_context = mlp([n_features, *context])
        self.global_context = mlp([n_features, *context]) if global_context else None
        self.score = mlp([(1 + global_context) * context[-1], *score, 1])

    def forward(self, features: Tensor) -> Tensor:
        """Scores [n] of features [n, n_features]."""
        context = self.local_context(features)
        if self.global_context is not None:
            mean = self.global_context(features).mean(dim=0, keepdim=True)
            context = torch.cat([context, mean.expand_as(context)], dim=1)  # Eq. (3)
        return torch.sigmoid(self.score(context)).squeeze(1)  # Eq. (4)


class NERS(Proportional):
    """Samples in proportion to scores^alpha; a score is renewed when its transition is replayed."""

    needs = frozenset({"td_error", "target", "evaluation", "episode"})

    def __init__(
        self,
        capacity: int,
        rng: np.random.Generator,
        settings: Settings,
        draws: int,
        transitions: Transitions,
        seed: int,
        device: str = "cpu",
    ):
        """capacity: slots of the memory. rng: for the batches only, as RANDOM's. draws: calls of `sample` in a whole
        run. seed: for the networks and for the draws that they learn from."""
        super().__init__(capacity, rng, settings.alpha, settings.beta, draws)
        self.rng = np.random.default_rng(seed)
        self.settings, self.transitions, self.device = settings, transitions, device
        self.few = settings.features == "few"
        self.reads = ("td_error",) if self.few else ("td_error", "target")
        self.needs = frozenset({*self.reads, "evaluation" if settings.replay_reward == "evaluation" else "episode"})
        # TD error and target value of each slot; new transitions have 1 for both (App. B)
        self.squashed = np.ones((capacity, 2), np.float32)
        n_features = 3 if self.few else transitions.n_features + 2
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = ScoreNetwork(n_features, settings.widths, settings.global_context).to(device)
        encoder = [] if self.few else list(transitions.encoder.parameters())
        self.parameters = [*self.network.parameters(), *encoder]
        self.adam = torch.optim.Adam(self.parameters, lr=settings.scorer_lr, fused=True)
        self.replayed: list[np.ndarray] = []
        """The set I of Algorithm 1: slots drawn since the last return, duplicates kept."""
        self.reference: float | None = None
        self.updates = 0
        self._rewards: list[float] = []
        self._saturated: list[float] = []

    def add(self, index: int, step: Step | None = None) -> None:
        super().add(index)
        self.squashed[index] = 1.0

    # --- scores -------------------------------------------------------------------------------------------------------

    def features(self, slots: np.ndarray) -> Tensor:
        """The set D of the transitions in `slots`, [n, features] (Eq. 2). TD errors and values date from each
        transition's last replay; everything else is read from the memory."""
        squashed = torch.from_numpy(self.squashed[slots]).to(self.device)
        if self.few:
            features = torch.cat([self.transitions.reward_and_time(slots), squashed[:, :1]], dim=1)
        else:
            encoded = self.transitions.encoder(*self.transitions.full(slots))
            features = torch.cat([encoded, squashed], dim=1)  # Eq. (2)
        return torch.tanh(features) if self.settings.tanh_all else features

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        slots, *_ = checked(indices, signals, *self.reads, stored=self.prioritized.stored)
        if not slots.size:
            return
        columns = np.stack([np.ravel(signals[name]) for name in self.reads], axis=1)
        if self.settings.standardise:
            columns = (columns - columns.mean(axis=0)) / (columns.std(axis=0) + TINY)
        self.squashed[slots, : len(self.reads)] = np.tanh(columns)  # App. B
        scores = self.judged(slots)
        self.replayed.append(slots)  # Algorithm 1, line 9
        self.set_scores(slots, scores)  # Algorithm 1, line 9

    @torch.no_grad()
    def judged(self, slots: np.ndarray) -> np.ndarray:
        """The networks' scores of the transitions in `slots`, as one set, float32 [n]."""
        return self.network(self.features(slots)).cpu().numpy()

    # --- learning -----------------------------------------------------------------------------------------------------

    def evaluation(self, mean_return: float) -> None:
        if self.settings.replay_reward == "evaluation":
            self.learn(mean_return)

    def episode(self, total_return: float) -> None:
        if self.settings.replay_reward == "training":
            self.learn(total_return)

    def learn(self, new_return: float) -> None:
        """Train the networks on the difference between this return and the last; the first one is only remembered.

        ValueError for a return that is not finite.
        """
        new_return = finite_return(new_return, f"an {'evaluation' if 'evaluation' in self.needs else 'episode'}")
        reference = self.reference
        if reference is None or self.settings.reference == "previous":
            self.reference = new_return
        if reference is not None and self.replayed:
            reward = new_return - reference  # Eq. (6)
            replayed = np.concatenate(self.replayed)
            for _ in range(self.settings.scorer_steps):
                size = min(self.settings.train_size, len(replayed))
                self.reinforce(self.rng.choice(replayed, size, replace=False), reward)  # Algorithm 1, line 12
            self.updates += 1
            self._rewards.append(reward)
        self.replayed.clear()  # Algorithm 1, line 15

    def reinforce(self, slots: np.ndarray, reward: float) -> None:
        """One step of the networks: a positive replay reward raises the scores of `slots`, a negative lowers them."""
        features = self.features(slots)
        loss = -reward * self.log_probability(slots, self.network(features))  # Eq. (7)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()  # Algorithm 1, line 14
        self._saturated.append((features.detach().abs() > 0.99).float().mean().item())

    def log_probability(self, slots: np.ndarray, scores: Tensor) -> Tensor:
        """Mean log p of Eq. (7), up to a constant.

        The denominator of p sums over *all* transitions ("buffer"). The scores of a few hardly change it, so log sigma
        is as good ("score"). A sum over I_train alone ("train") can only pull its scores together or apart, whatever
        the reward: the gradients for the log scores add up to 0.
        """
        if self.settings.log_loss == "score":
            return torch.log(scores + TINY).mean()
        if self.settings.log_loss == "train":
            return self.alpha * torch.log(scores + TINY).mean() - torch.log(((scores + TINY) ** self.alpha).sum())
        tree, (different, first) = self.prioritized.tree, np.unique(slots, return_index=True)
        others = max(tree.total - float(tree[different].sum()), 0.0)
        total = others + ((scores[torch.from_numpy(first)] + TINY) ** self.alpha).sum()
        return (self.alpha * torch.log(scores + TINY) - torch.log(total)).mean()

    def metrics(self) -> dict[str, float]:
        values = {"scorer_updates": float(self.updates)}
        if self._rewards:
            values |= {"replay_reward": float(np.mean(self._rewards)), "saturated": float(np.mean(self._saturated))}
            self._rewards, self._saturated = [], []
        return values
