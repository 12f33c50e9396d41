"""RR-M's tree draws what its literal form draws, and looks at few transitions for it."""

import pickle

import numpy as np
import pytest

from common.replay.not_in_the_papers import ahead
from common.replay.not_in_the_papers.ahead import MASKED, AheadTree
from common.replay.not_in_the_papers.reshuffled import RRM


class Literal:
    """RR-M as it is written down: everything is computed for all stored transitions in every batch."""

    def __init__(self, capacity: int, rng: np.random.Generator, beta: float = 0.4):
        self.rng, self.beta, self.stored, self.max_priority = rng, beta, 0, 1.0
        self.priority, self.expected, self.drawn = np.zeros((3, capacity))

    def add(self, index: int) -> None:
        self.stored = max(self.stored, index + 1)
        self.priority[index] = self.max_priority
        if self.expected[index] > 0.0:
            self.expected[index] = self.drawn[index] = 0.0
            if (total := self.expected.sum()) > 0.0:
                self.expected *= self.drawn.sum() / total

    def sample(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        law = self.priority[: self.stored] / self.priority[: self.stored].sum()
        ahead = self.drawn[: self.stored] > self.expected[: self.stored]
        masked = np.where(ahead, MASKED * law, law)
        slots = self.rng.choice(self.stored, n, replace=self.stored < n, p=masked / masked.sum())
        self.expected[: self.stored] += n * law
        np.add.at(self.drawn, slots, 1)
        return slots, ((law[slots] / law[slots].min()) ** -self.beta).astype(np.float32)

    def update(self, indices: np.ndarray, td: np.ndarray) -> None:
        self.priority[indices] = (np.abs(td) + 0.01) ** 0.6
        self.max_priority = float(self.priority[indices].max(initial=self.max_priority))


RUNS = {
    "never full": (500, 500, 16, 1, 40),
    "full and overwritten": (300, 1_500, 32, 1, 60),
    "seldom drawn": (400, 3_000, 64, 8, 64),
    "all at once": (40, 200, 40, 1, 5),
    "more than are stored": (50, 200, 128, 1, 2),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", RUNS)
def test_the_same_draws_as_the_literal_form(name, seed):
    capacity, steps, n, every, warmup = RUNS[name]
    literal, fast = (kind(capacity, np.random.default_rng(seed)) for kind in (Literal, RRM_))
    rng = np.random.default_rng(seed + 10)
    value = 0.3 * rng.standard_t(2, size=capacity)  # a few TD errors are far larger than the others
    for t in range(steps):
        literal.add(t % capacity)
        fast.add(t % capacity)
        if t >= warmup and t % every == 0:
            slots, weights = literal.sample(n)
            again, fast_weights, _ = fast.sample(n)
            assert slots.tolist() == again.tolist()
            np.testing.assert_allclose(fast_weights, weights, rtol=1e-6)
            td = value[slots] * (1 + 0.1 * rng.normal(size=n))
            literal.update(slots, td)
            fast.update(again, {"td_error": td})
        if t == steps // 2:
            fast = pickle.loads(pickle.dumps(fast))
    np.testing.assert_allclose(fast.tree.expected, literal.expected[: fast.stored], rtol=1e-9, atol=1e-9)
    assert (fast.tree.drawn == literal.drawn[: fast.stored]).all()


def RRM_(capacity: int, rng: np.random.Generator) -> RRM:
    return RRM(capacity, rng, clip=None)


@pytest.mark.parametrize("stored", [1_000, 50_000])
def test_a_batch_looks_at_few_transitions_however_many_are_stored(stored, monkeypatch):
    looked = []

    def look(nodes, width, items, now, changed):
        looked.append(int(changed[-1, 0]))
        return original(nodes, width, items, now, changed)

    original = ahead._look
    monkeypatch.setattr(ahead, "_look", look)
    sampler, rng, n = RRM_(stored, np.random.default_rng(0)), np.random.default_rng(1), 64
    for slot in range(stored):
        sampler.add(slot)
    for t in range(3_000):
        slots, _, _ = sampler.sample(n)
        sampler.update(slots, {"td_error": rng.normal(size=n)})
        sampler.add(t % stored)
    assert np.mean(looked[1:]) < 5 * n


def test_a_leaving_transition_takes_all_that_was_drawn_with_it():
    """Then nothing was expected of the others, either."""
    tree, rng = AheadTree(3), np.random.default_rng(0)
    for slot in range(3):
        tree.add(slot, 1.0)
    drawn = int(tree.draw(1, rng)[0])
    tree.add(drawn, 1.0)
    assert tree.expected.tolist() == [0, 0, 0] and tree.drawn.sum() == 0
    tree.draw(3, rng)
    np.testing.assert_allclose(tree.expected, 1.0)


def test_priorities_of_zero():
    tree, rng = AheadTree(6), np.random.default_rng(0)
    for slot in range(6):
        tree.add(slot, 1.0)
    tree.set_many(np.arange(6), np.array([0.0, 0, 1, 1, 0, 0]))
    assert sorted(tree.draw(2, rng)) == [2, 3] and set(tree.draw(4, rng)) <= {2, 3}
    tree.set_many(np.arange(6), np.zeros(6))
    assert sorted(tree.draw(6, rng)) == list(range(6))
    tree.set_many(np.arange(6), np.array([0.0, 1, 0, 0, 0, 0]))
    assert tree.draw(1, rng).tolist() == [1] and np.isfinite(tree.expected).all()


def test_one_enormous_priority_leaves_no_trace():
    tree = AheadTree(4)
    for slot in range(4):
        tree.add(slot, 1.0)
    tree.set_many(np.array([0]), np.array([1e25]))
    tree.draw(1, np.random.default_rng(0))
    tree.set_many(np.array([0]), np.array([1.0]))
    before = tree.expected
    tree.draw(4, np.random.default_rng(0))
    np.testing.assert_allclose(tree.expected - before, 1.0, rtol=1e-6)
