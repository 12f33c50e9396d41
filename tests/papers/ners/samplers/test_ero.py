"""ERO by hand: the subset, the draws from it, the step of its network."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare
from torch import Tensor, nn

from papers.ners.samplers.ero import ERO
from papers.ners.samplers.samplers import Settings


class Table:
    """16 transitions with random rewards and time steps; ERO sees nothing else of them."""

    encoder: nn.Module = nn.Identity()
    n_features = 99

    def __init__(self):
        self.numbers = torch.randn(16, 2, generator=torch.Generator().manual_seed(0))

    def full(self, slots: np.ndarray) -> tuple[Tensor, ...]:
        raise AssertionError("ERO sees reward, time step and TD error alone")

    def reward_and_time(self, slots: np.ndarray) -> Tensor:
        return self.numbers[slots]


def ero(filled: int = 16, **changes) -> ERO:
    changes = {"ero_batch": 8} | changes
    sampler = ERO(16, np.random.default_rng(0), Settings(**changes), Table(), seed=3)
    for slot in range(filled):
        sampler.add(slot)
    return sampler


def select(sampler: ERO, *slots: int) -> None:
    """Make these the subset."""
    sampler.mask[:] = False
    sampler.mask[list(slots)] = True
    sampler.selected = len(slots)


def counts(sampler: ERO, batch: int, draws: int) -> np.ndarray:
    slots = np.concatenate([sampler.sample(batch)[0] for _ in range(draws // batch)])
    return np.bincount(slots, minlength=16)


def recorded(monkeypatch, sampler: ERO) -> list[tuple[np.ndarray, float]]:
    """Steps of the network are written down instead of made."""
    steps: list[tuple[np.ndarray, float]] = []
    monkeypatch.setattr(sampler, "reinforce", lambda slots, reward: steps.append((slots, reward)))
    return steps


# --- the subset and the draws from it ---------------------------------------------------------------------------------
def test_new_transitions_are_in_the_subset():
    sampler = ero(filled=3)
    assert sampler.mask[:3].all() and not sampler.mask[3:].any() and sampler.selected == 3
    assert sampler.scores().tolist() == [1, 1, 1] and sampler.squashed[:3].tolist() == [1, 1, 1]
    sampler.update(np.array([0, 1]), {"td_error": np.array([0.1, 0.2])})
    select(sampler, 1)
    sampler.add(0)  # overwritten, outside the subset
    sampler.add(1)  # overwritten, inside
    assert sampler.mask[:3].tolist() == [True, True, False] and sampler.selected == 2
    assert sampler.scores().tolist() == [1, 1, 1] and sampler.squashed[:3].tolist() == [1, 1, 1]


def test_draws_come_from_the_subset_and_are_uniform_there():
    sampler = ero(filled=12)
    select(sampler, 1, 4, 5, 11)
    slots, weights, _ = sampler.sample(4)  # as many as there are
    assert slots.dtype == np.int64 and weights.dtype == np.float32 and weights.tolist() == [1, 1, 1, 1]
    found = counts(sampler, 4, 12_000)
    assert found[[1, 4, 5, 11]].sum() == 12_000
    assert chisquare(found[[1, 4, 5, 11]]).pvalue > 0.01
    assert sampler.probabilities().tolist() == [0, 0.25, 0, 0, 0.25, 0.25, 0, 0, 0, 0, 0, 0.25]


@pytest.mark.parametrize("subset", [(), (1, 4, 5)])
def test_all_are_drawn_from_while_the_subset_is_smaller_than_a_batch(subset):
    sampler = ero(filled=12)
    select(sampler, *subset)
    found = counts(sampler, 4, 12_000)
    assert found[12:].sum() == 0 and chisquare(found[:12]).pvalue > 0.01
    assert sampler.probabilities().tolist() == [1 / 12] * 12


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="nothing to draw"):
        ero(filled=0).sample(1)
    assert ero(filled=0).probabilities().shape == ero(filled=0).scores().shape == (0,)


# --- scores -----------------------------------------------------------------------------------------------------------
def layers(sampler: ERO) -> list:
    return [(m.in_features, m.out_features) if isinstance(m, nn.Linear) else type(m).__name__ for m in sampler.network]


def score(sampler: ERO, slot: int, td: float) -> Tensor:
    """Of one transition: reward, time step and tanh of the TD error through the network, then a sigmoid."""
    reward, time = sampler.transitions.reward_and_time(np.array([slot]))[0].tolist()
    return torch.sigmoid(sampler.network(torch.tensor([reward, time, math.tanh(td)])))[0]


def test_the_network():
    assert layers(ero()) == [(3, 64), "ReLU", (64, 64), "ReLU", (64, 1)]


def test_scores_are_renewed_by_replays_alone():
    sampler = ero()
    sampler.update(np.array([3, 7, 7]), {"td_error": np.array([0.5, 9.0, 2.0]), "target": np.array([1.0, 2.0, 3.0])})
    expected = np.ones(16)
    expected[3], expected[7] = score(sampler, 3, 0.5).item(), score(sampler, 7, 2.0).item()  # the last of two counts
    np.testing.assert_allclose(sampler.scores(), expected, rtol=1e-6)
    assert (expected[[3, 7]] < 0.9).all()
    for total in (1.0, 5.0, 2.0):
        sampler.episode(total)
    assert sampler.updates == 2
    np.testing.assert_allclose(sampler.scores(), expected, rtol=1e-6)  # although the network has learnt


# --- when it learns ---------------------------------------------------------------------------------------------------
def test_replay_rewards_are_differences_to_the_episode_before(monkeypatch):
    sampler = ero()
    steps = recorded(monkeypatch, sampler)
    select(sampler, 1, 2)
    for k, total in enumerate((3.0, 5.0, 4.0)):
        sampler.evaluation(100.0 * total)  # does not matter
        sampler.episode(total)
        assert sampler.selected == (16 if k else 2), "the first episode is only remembered"
    assert [reward for _, reward in steps] == [2.0, -1.0]
    assert sampler.updates == 2 and sampler.metrics() == {"scorer_updates": 2.0}


def test_nothing_is_learnt_from_less_than_a_batch(monkeypatch):
    """But the return is remembered."""
    sampler = ero(filled=7)
    steps = recorded(monkeypatch, sampler)
    sampler.episode(3.0)
    sampler.episode(5.0)
    assert not steps and sampler.updates == 0
    sampler.add(7)
    sampler.episode(9.0)
    assert [reward for _, reward in steps] == [4.0]


def test_training_batches_are_drawn_from_all_transitions(monkeypatch):
    """Neither from the subset nor from what was replayed alone."""
    sampler = ero(filled=12)
    steps = recorded(monkeypatch, sampler)
    for k in range(1501):
        select(sampler, 3, 4)
        sampler.update(np.array([3]), {"td_error": np.array([0.5])})
        sampler.episode(float(k))
    assert {slots.size for slots, _ in steps} == {8}
    found = np.bincount(np.concatenate([slots for slots, _ in steps]))
    assert len(found) == 12 and chisquare(found).pvalue > 0.01


def test_the_subset_is_drawn_anew_with_the_scores_as_probabilities(monkeypatch):
    sampler = ero(filled=10)
    recorded(monkeypatch, sampler)
    sampler.phi[:10] = [0.0, 1.0, 0.5, 0.1, 0.9, 0.3, 0.7, 0.5, 0.5, 1.0]
    sampler.episode(0.0)
    masks = []
    for k in range(2000):
        sampler.episode(k)
        assert sampler.selected == sampler.mask.sum() and not sampler.mask[10:].any()
        masks.append(sampler.mask[:10].copy())
    found = np.sum(masks, axis=0)
    assert found[0] == 0 and found[1] == found[9] == 2000
    for slot in range(2, 9):
        assert binomtest(found[slot], 2000, sampler.phi[slot]).pvalue > 1e-3
    both = np.bincount(np.array(masks) @ [0, 0, 1, 0, 0, 0, 0, 2, 4, 0])
    assert chisquare(both).pvalue > 0.01, "slots 2, 7 and 8 do not depend on each other"


# --- the step of the network ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("reward", [0.5, -2.0])
def test_the_step_follows_the_reward_times_the_gradient(reward):
    """With plain gradient descent of step 1 in place of Adam; slot 4 comes twice, slots 4 and 5 are in the subset."""
    sampler = ero()
    td = {4: 0.1, 5: 0.9, 8: 0.4, 9: 1.5}
    sampler.update(np.array(list(td)), {"td_error": np.array(list(td.values()))})
    select(sampler, 4, 5)
    slots = np.array([4, 8, 5, 4, 9])
    total = sum(
        torch.log(score(sampler, i, td[i])) if i in (4, 5) else torch.log(1 - score(sampler, i, td[i]))
        for i in slots.tolist()
    )
    parameters = list(sampler.network.parameters())
    gradients = torch.autograd.grad(total, parameters)
    before = [p.detach().clone() for p in parameters]
    sampler.adam = torch.optim.SGD(parameters, lr=1.0)
    for p in parameters:
        p.grad = torch.ones_like(p)  # left from the step before, must not count
    sampler.reinforce(slots, reward)
    for old, gradient, new in zip(before, gradients, parameters):
        torch.testing.assert_close(new.detach(), old + reward * gradient, rtol=1e-4, atol=1e-5)
    assert max(gradient.abs().max() for gradient in gradients) > 0.1


def test_sure_scores_have_finite_logarithms():
    """Of 0 for a transition in the subset, and of 1 for one that is not."""
    sampler = ero()
    select(sampler, 1)
    for bias in (-200.0, 200.0):
        with torch.no_grad():
            sampler.network[-1].bias.fill_(bias)
        sampler.reinforce(np.array([1, 2]), 1.0)
        assert all(p.isfinite().all() for p in sampler.network.parameters())


# --- any order of calls -----------------------------------------------------------------------------------------------
@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["add", "learn", "episode"]), max_size=60), st.integers(0, 99))
def test_the_subset_is_counted_right(calls, seed):
    """In a ring that is overwritten, while scores fall and subsets are drawn anew."""
    sampler, slot = ero(filled=0, ero_batch=4), 0
    rng = np.random.default_rng(seed)
    for call in ["add", *calls, "add", "episode", "add"]:
        if call == "add":
            for _ in range(5):
                sampler.add(slot)
                assert sampler.mask[slot] and sampler.phi[slot] == 1
                slot = (slot + 1) % 16
        elif call == "learn":
            slots = sampler.sample(3).indices
            assert slots.max() < sampler.stored
            assert sampler.mask[slots].all() or sampler.selected < 3
            sampler.update(slots, {"td_error": rng.random(3)})
        else:
            sampler.episode(rng.normal())
        assert sampler.selected == sampler.mask.sum() and not sampler.mask[sampler.stored :].any()
        assert len(sampler.scores()) == len(sampler.probabilities()) == sampler.stored
        assert ((0 <= sampler.scores()) & (sampler.scores() <= 1)).all()
        assert sampler.probabilities().sum() == pytest.approx(1)


# --- learning ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("good", [1.0, -1.0])
def test_learns_what_belongs_into_the_subset(good):
    """The return rises with the share of one kind of transition in the subset, and falls with that of the other."""
    sampler, total, everything = ero(ero_batch=16, scorer_lr=1e-3), 0.0, np.arange(16)
    kind = torch.tensor([1.0, -1.0]).repeat(8)
    sampler.transitions.numbers[:, 0] = kind
    for _ in range(150):
        sampler.update(everything, {"td_error": np.full(16, 0.3)})
        total += good * kind[sampler.mask].sum().item()
        sampler.episode(total)
    logs = np.log(sampler.scores())
    assert (logs[::2].mean() - logs[1::2].mean()) * good > 0.1
