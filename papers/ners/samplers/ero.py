"""Experience replay optimisation (Zha et al., IJCAI 2019), the learned sampler that the paper compares with.

A transition's score is its probability of entering a subset of the memory; batches are drawn uniformly from the subset.
NOTEBOOK.md, deviation 12, says how we fill the gaps that the paper and the original leave.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from common.networks import mlp
from common.replay.checks import checked, drawable, finite_return
from common.replay.protocol import Chosen, Sampler, Signals, Step
from papers.ners.samplers.samplers import Settings, Transitions

HIDDEN = (64, 64)  # Table B.1
TINY = 1e-6  # keeps both logarithms finite


class ERO(Sampler):
    """Two-stage sampling with a learned first stage; all weights are 1. IndexError for a slot outside the capacity."""

    needs = frozenset({"td_error", "episode"})

    def __init__(
        self,
        capacity: int,
        rng: np.random.Generator,
        settings: Settings,
        transitions: Transitions,
        seed: int,
        device: str = "cpu",
    ):
        """capacity: slots of the memory. seed: for the network."""
        self.rng, self.transitions, self.device, self.batch = rng, transitions, device, settings.ero_batch
        self.stored = self.selected = self.size = 0
        """Transitions stored, how many of them are in the subset, and the size of the last batch."""
        self.phi = np.ones(capacity)
        """Score of each slot, renewed when it is replayed; 1 for new transitions."""
        self.mask = np.zeros(capacity, bool)
        """Whether each slot is in the subset: drawn with probability phi; new transitions always are."""
        self.squashed = np.ones(capacity, np.float32)
        """tanh of the TD error of each slot; 1 for new transitions."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = mlp([3, *HIDDEN, 1]).to(device)
        self.adam = torch.optim.Adam(self.network.parameters(), lr=settings.scorer_lr, fused=True)
        self.reference: float | None = None
        self.updates = 0

    def add(self, index: int, step: Step | None = None) -> None:
        if not 0 <= index < len(self.mask):
            raise IndexError(f"slots run from 0 to {len(self.mask) - 1}, not to {index}")
        self.stored = max(self.stored, index + 1)
        self.selected += not self.mask[index]
        self.phi[index], self.mask[index], self.squashed[index] = 1.0, True, 1.0

    def sample(self, n: int) -> Chosen:
        """Draws uniformly from the subset, or from all transitions while the subset is smaller than a batch."""
        drawable(n, self.stored)
        self.size = n
        slots = self.rng.integers(self.stored, size=n)
        if self.selected >= max(n, self.stored // 10):
            while not (chosen := self.mask[slots]).all():  # redraw those outside the subset
                slots[~chosen] = self.rng.integers(self.stored, size=int((~chosen).sum()))
        elif self.selected >= n:  # the same, for a small subset
            slots = self.rng.choice(np.flatnonzero(self.mask[: self.stored]), n)
        return Chosen(slots, np.ones(n, np.float32))

    def _network(self, slots: np.ndarray) -> Tensor:
        """Scores [n]."""
        td = torch.from_numpy(self.squashed[slots]).to(self.device)
        features = torch.cat([self.transitions.reward_and_time(slots), td[:, None]], dim=1)
        return torch.sigmoid(self.network(features)).squeeze(1)

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        slots, _ = checked(indices, signals, "td_error", stored=self.stored)
        self.squashed[slots] = np.tanh(np.ravel(signals["td_error"]))
        with torch.no_grad():
            self.phi[slots] = self._network(slots).cpu().numpy()

    def episode(self, total_return: float) -> None:
        """Train the network on the difference between this return and the last episode's, then redraw the subset.

        ValueError for a return that is not finite.
        """
        total_return = finite_return(total_return, "an episode")
        reference, self.reference = self.reference, total_return
        if reference is None or self.stored < self.batch:
            return
        self.reinforce(self.rng.integers(self.stored, size=self.batch), total_return - reference)
        self.mask[: self.stored] = self.rng.random(self.stored) < self.phi[: self.stored]
        self.selected = int(self.mask.sum())
        self.updates += 1

    def reinforce(self, slots: np.ndarray, reward: float) -> None:
        """One step of the network: a positive reward makes the current draws of `slots`, in or out, more probable."""
        phi, drawn = self._network(slots), torch.from_numpy(self.mask[slots]).to(self.device)
        log_probability = torch.where(drawn, torch.log(phi + TINY), torch.log(1.0 - phi + TINY))
        loss = -reward * log_probability.sum()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()

    def scores(self) -> np.ndarray:
        return self.phi[: self.stored].copy()

    def probabilities(self) -> np.ndarray:
        """Given the current subset."""
        if self.selected < max(self.size, 1):  # as in `sample`
            return np.full(self.stored, 1.0 / max(self.stored, 1))
        return self.mask[: self.stored] / self.selected

    def metrics(self) -> dict[str, float]:
        return {"scorer_updates": float(self.updates)}
