"""NERS by hand and against definitions: the score network, features, replay rewards, the step of its networks."""

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor, nn

from papers.ners import ners as module
from papers.ners.ners import NERS, TINY, ScoreNetwork
from papers.ners.samplers.samplers import Settings


# --- score network ----------------------------------------------------------------------------------------------------
def network(n_features: int, seed: int, **kinds) -> ScoreNetwork:
    """In double precision, so that sums in another order are still the same sums."""
    torch.manual_seed(seed)
    return ScoreNetwork(n_features, **kinds).double()


def random_set(n: int, n_features: int, seed: int) -> Tensor:
    return 3.0 * torch.randn(n, n_features, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def apart(scores: Tensor) -> bool:
    """Whether no two scores are the same, so that a permutation of them can be seen."""
    return len(scores) < 2 or float(scores.sort().values.diff().min()) > 1e-9


@torch.no_grad()
@examples(deadline=None, max_examples=25)
@given(n=st.integers(1, 9), seed=st.integers(0, 99), random=st.randoms(use_true_random=False), context=st.booleans())
def test_permuting_the_set_permutes_the_scores(n, seed, random, context):
    scorer, x = network(5, seed, widths="code", global_context=context), random_set(n, 5, seed + 1)
    order = torch.tensor(random.sample(range(n), n))
    scores = scorer(x)
    assert scores.shape == (n,) and ((0 < scores) & (scores < 1)).all() and apart(scores)
    torch.testing.assert_close(scorer(x[order]), scores[order], rtol=0, atol=1e-13)


@torch.no_grad()
@examples(deadline=None, max_examples=25)
@given(n=st.integers(2, 9), seed=st.integers(0, 99))
def test_only_the_global_context_looks_at_the_others(n, seed):
    x = random_set(n, 5, seed)
    alone = network(5, seed, widths="code", global_context=False)
    torch.testing.assert_close(torch.cat([alone(row[None]) for row in x]), alone(x), rtol=0, atol=1e-13)
    other = x.clone()
    other[1:] += 1.0
    among = network(5, seed, widths="code")
    assert alone(other)[0] == pytest.approx(alone(x)[0].item(), abs=1e-13)
    assert abs((among(other)[0] - among(x)[0]).item()) > 1e-9


@torch.no_grad()
def test_context_by_hand(monkeypatch):
    """Networks of a single layer: l = x1 + 2 x2, g = 3 x1 - x2 + 1, score 0.5 l - 0.25 mean(g) + 0.1."""
    monkeypatch.setitem(module.WIDTHS, "linear", ((1,), ()))
    scorer = ScoreNetwork(2, "linear")
    for layer, weight, bias in (
        (scorer.local_context[0], [1.0, 2.0], 0.0),
        (scorer.global_context[0], [3.0, -1.0], 1.0),
        (scorer.score[0], [0.5, -0.25], 0.1),
    ):
        layer.weight[:], layer.bias[:] = torch.tensor([weight]), bias
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])  # l: 5, 11, 2; g: 2, 6, 0
    expected = [1 / (1 + math.exp(-(0.5 * each - 0.25 * 8 / 3 + 0.1))) for each in (5, 11, 2)]
    np.testing.assert_allclose(scorer(x), expected, rtol=1e-6)
    np.testing.assert_allclose(scorer(x[:1]), [1 / (1 + math.exp(-2.1))], rtol=1e-6)  # alone: 2.5 - 0.5 + 0.1


def layers(net: nn.Module) -> list:
    """Inputs and outputs of linear layers, and where the ReLUs are."""
    return [(m.in_features, m.out_features) if isinstance(m, nn.Linear) else type(m).__name__ for m in net.children()]


@pytest.mark.parametrize("widths, context, score", [
    ("paper", [(7, 256), (256, 512), (512, 256), (256, 128)], [256, 256, 128, 64, 1]),
    ("code", [(7, 128), (128, 256), (256, 128), (128, 64)], [128, 128, 64, 1]),
])  # fmt: skip
def test_widths(widths, context, score):
    scorer = ScoreNetwork(7, widths)
    expected = [x for layer in context for x in (layer, "ReLU")][:-1]  # none after the last
    assert layers(scorer.local_context) == layers(scorer.global_context) == expected
    assert [x for x in layers(scorer.score) if x != "ReLU"] == list(pairwise(score))
    assert layers(scorer.score)[1::2] == ["ReLU"] * (len(score) - 2)
    local = ScoreNetwork(7, widths, global_context=False)
    assert layers(local.local_context) == expected and local.global_context is None
    assert layers(local.score)[0] == (score[0] // 2, score[1])


# --- a sampler over a table of transitions ----------------------------------------------------------------------------
class Encoder(nn.Module):
    """3 numbers and 2 numbers -> 4 features."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 4)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.layer(torch.cat([a, b], dim=1))


class Table:
    """16 transitions of random numbers."""

    n_features = 4

    def __init__(self):
        generator = torch.Generator().manual_seed(0)
        self.a, self.b = torch.randn(16, 3, generator=generator), torch.randn(16, 2, generator=generator)
        torch.manual_seed(0)
        self.encoder = Encoder()

    def full(self, slots: np.ndarray) -> tuple[Tensor, ...]:
        return self.a[slots], self.b[slots]

    def reward_and_time(self, slots: np.ndarray) -> Tensor:
        return self.b[slots]


def ners(filled: int = 16, *, rng: int = 0, table: Table | None = None, **settings) -> NERS:
    settings = {"widths": "code"} | settings
    sampler = NERS(16, np.random.default_rng(rng), Settings(**settings), 100, table or Table(), seed=3)
    for slot in range(filled):
        sampler.add(slot)
    return sampler


def replay(sampler: NERS, slots: Iterable[int], td: float = 0.3, value: float = 0.6) -> None:
    """An update of the agent with these slots."""
    array = np.array(list(slots))
    sampler.update(
        array, {"td_error": np.full(len(array), td, np.float32), "target": np.full(len(array), value, np.float32)}
    )


# --- scores and features ----------------------------------------------------------------------------------------------
def test_new_transitions_have_the_score_1_and_signals_of_1():
    sampler = ners(filled=4)
    assert sampler.scores().tolist() == [1.0] * 4 and sampler.probabilities().tolist() == [0.25] * 4
    assert sampler.features(np.arange(4))[:, -2:].tolist() == [[1.0, 1.0]] * 4
    replay(sampler, [1, 2])
    assert (sampler.scores()[[1, 2]] < 0.9).all() and (sampler.features(np.array([1, 2]))[:, -2:] < 0.9).all()
    sampler.add(2)  # another transition comes into the slot
    assert sampler.scores()[2] == 1.0 and sampler.scores()[1] < 0.9
    assert sampler.features(np.array([2]))[0, -2:].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_no_score_exceeds_that_of_a_new_transition(sign):
    """Also when learning has driven the scores to their bounds."""
    sampler = ners(filled=15, scorer_lr=0.03)
    for k in range(30):
        replay(sampler, range(15))
        sampler.evaluation(sign * k)
    replay(sampler, range(15))
    assert (sampler.scores() > 0.99).all() if sign > 0 else (sampler.scores() < 0.01).all()
    sampler.add(15)
    assert sampler.scores()[15] == 1.0 == sampler.prioritized.max_priority
    assert ((0 <= sampler.scores()) & (sampler.scores() <= 1)).all()


@torch.no_grad()
def test_an_update_renews_the_scores_of_its_set_alone():
    """By the network on the features as they are after the update; a slot that comes twice counts twice in the mean."""
    sampler = ners()
    slots = np.array([3, 5, 5, 11])
    sampler.update(slots, {"td_error": np.array([0.1, 9.0, 0.2, 0.3]), "target": np.array([-0.4, 9.0, 0.5, 0.6])})
    squashed = torch.tensor([[0.1, -0.4], [0.2, 0.5], [0.2, 0.5], [0.3, 0.6]]).tanh()  # the last of two counts
    table = sampler.transitions
    features = torch.cat([table.encoder(table.a[slots], table.b[slots]), squashed], dim=1)
    expected = sampler.network(features).double().numpy()
    np.testing.assert_allclose(sampler.scores()[slots], expected, rtol=1e-6)
    others = np.setdiff1d(np.arange(16), slots)
    assert (sampler.scores()[others] == 1).all()
    np.testing.assert_allclose(
        sampler.probabilities()[3], expected[0] ** 0.5 / (13 + (expected[[0, 1, 3]] ** 0.5).sum()), rtol=1e-6
    )


def features(**settings) -> tuple[Tensor, Table]:
    """Of the slots 2, 0, 7 after TD errors 1, 2, 3 and values 0, -6, 0."""
    sampler = ners(**settings)
    slots = np.array([2, 0, 7])
    sampler.update(slots, {"td_error": np.array([1.0, 2.0, 3.0]), "target": np.array([0.0, -6.0, 0.0])})
    return sampler.features(slots).detach(), sampler.transitions


TANH = torch.tensor([[1.0, 0.0], [2.0, -6.0], [3.0, 0.0]]).tanh()
SLOTS = [2, 0, 7]


def test_full_and_few_features():
    """What the encoder makes of the transition, then TD error and value, both squashed; or reward, time, TD error."""
    found, table = features(features="few")
    torch.testing.assert_close(found, torch.cat([table.b[SLOTS], TANH[:, :1]], 1))
    found, table = features()
    torch.testing.assert_close(found, torch.cat([table.encoder(table.a[SLOTS], table.b[SLOTS]), TANH], 1).detach())


@pytest.mark.parametrize("kind", ["full", "few"])
def test_squashing_everything_squashes_the_signals_twice(kind):
    found, _ = features(features=kind, tanh_all=True)
    torch.testing.assert_close(found, features(features=kind)[0].tanh())
    assert found[2, -1 if kind == "few" else -2].item() == pytest.approx(math.tanh(math.tanh(3.0)))


def test_standardised_signals():
    """1, 2, 3 lie sqrt(3/2) apart, and 0, -6, 0 have the mean -2 and the deviation sqrt(8)."""
    found, _ = features(standardise=True)
    td, value = [-(1.5**0.5), 0.0, 1.5**0.5], [0.5**0.5, -(2**0.5), 0.5**0.5]
    np.testing.assert_allclose(found[:, -2:], np.tanh([td, value]).T, atol=1e-5)
    sampler = ners(standardise=True)
    replay(sampler, [4, 5])
    assert sampler.features(np.array([4, 5]))[:, -2:].tolist() == [[0, 0], [0, 0]], "no deviation, no division by it"


def test_signals_are_those_of_the_last_replay_and_the_rest_is_read_anew():
    sampler = ners()
    replay(sampler, [0, 1], td=0.1, value=0.2)
    replay(sampler, [1, 2], td=0.3, value=0.4)
    slots = np.array([0, 1, 2, 3])
    before = sampler.features(slots).detach()
    expected = [[math.tanh(0.1), math.tanh(0.2)], *2 * [[math.tanh(0.3), math.tanh(0.4)]], [1, 1]]
    np.testing.assert_allclose(before[:, -2:], expected, rtol=1e-6)
    sampler.transitions.a[1] += 1.0
    after = sampler.features(slots).detach()
    assert (after != before).any(dim=1).tolist() == [False, True, False, False]
    torch.testing.assert_close(after[:, -2:], before[:, -2:])


# --- when it learns, and from what ------------------------------------------------------------------------------------
def recorded(monkeypatch, **settings) -> tuple[NERS, list[tuple[list[int], float]]]:
    """A sampler that writes down the steps of its networks instead of making them."""
    sampler, steps = ners(**settings), []
    monkeypatch.setattr(sampler, "reinforce", lambda slots, reward: steps.append((sorted(slots.tolist()), reward)))
    return sampler, steps


@pytest.mark.parametrize("reference, rewards", [("previous", [2.0, -1.0, 0.5]), ("first", [2.0, 1.0, 1.5])])
def test_replay_rewards_are_differences_between_evaluations(monkeypatch, reference, rewards):
    sampler, steps = recorded(monkeypatch, reference=reference)
    for mean_return in (3.0, 5.0, 4.0, 4.5):
        replay(sampler, [1, 2])
        sampler.evaluation(mean_return)
    assert [reward for _, reward in steps] == rewards  # nothing at the first


@pytest.mark.parametrize("reference, reward", [("previous", 8.0 - 7.0), ("first", 8.0 - 3.0)])
def test_nothing_is_learnt_while_nothing_is_replayed(monkeypatch, reference, reward):
    """But the returns are remembered."""
    sampler, steps = recorded(monkeypatch, reference=reference)
    for mean_return in (3.0, 7.0):
        sampler.evaluation(mean_return)
    assert not steps and sampler.metrics() == {"scorer_updates": 0}
    replay(sampler, [4])
    sampler.evaluation(8.0)
    assert steps == [([4], reward)]


def test_every_step_learns_from_what_was_replayed_since_the_one_before(monkeypatch):
    """Whether there was a step then or, as after the first return, none."""
    sampler, steps = recorded(monkeypatch)
    replay(sampler, [3])
    sampler.evaluation(0.0)
    replay(sampler, [1, 2, 2])
    replay(sampler, [2, 5])
    sampler.evaluation(1.0)
    sampler.evaluation(2.0)  # nothing has been replayed since
    replay(sampler, [7])
    sampler.evaluation(4.0)
    assert steps == [([1, 2, 2, 2, 5], 1.0), ([7], 2.0)]


@pytest.mark.parametrize("kind, expected", [("evaluation", [10.0]), ("training", [1.0])])
def test_which_returns_count(monkeypatch, kind, expected):
    sampler, steps = recorded(monkeypatch, replay_reward=kind)
    for k in (1.0, 2.0):
        replay(sampler, [1])
        sampler.evaluation(10.0 * k)
        sampler.episode(k)
    assert [reward for _, reward in steps] == expected


@pytest.mark.parametrize("scorer_steps", [1, 3])
def test_number_of_updates(scorer_steps):
    """One per replay reward, so one fewer than evaluations, and so many steps of Adam in each."""
    sampler = ners(scorer_steps=scorer_steps)
    for k in range(10):
        replay(sampler, [1, 2])
        sampler.evaluation(float(k))
    assert sampler.updates == sampler.metrics()["scorer_updates"] == 9
    assert {state["step"].item() for state in sampler.adam.state.values()} == {9 * scorer_steps}


@given(st.lists(st.lists(st.integers(0, 15), min_size=1, max_size=6), min_size=1, max_size=4), st.integers(1, 20))
@examples(deadline=None, max_examples=50)
def test_the_training_set_is_part_of_what_was_replayed(batches, size):
    """Duplicates count as often as they were replayed, and no replay is drawn twice."""
    sampler, steps = ners(train_size=size), []
    sampler.reinforce = lambda slots, reward: steps.append(slots)
    sampler.evaluation(0.0)
    for batch in batches:
        replay(sampler, batch)
    sampler.evaluation(1.0)
    replayed, (drawn,) = [slot for batch in batches for slot in batch], steps
    assert len(drawn) == min(size, len(replayed))
    assert all(drawn.tolist().count(slot) <= replayed.count(slot) for slot in drawn.tolist())


def test_the_training_set_is_drawn_uniformly(monkeypatch):
    sampler, steps = recorded(monkeypatch, train_size=1)
    for k in range(3001):
        sampler.replayed = [np.array([1, 2, 2]), np.array([2, 6])]
        sampler.evaluation(float(k))
    counts = np.bincount([slot for (slot,), _ in steps], minlength=16)
    assert counts.sum() == 3000
    assert chisquare(counts[[1, 2, 6]], [600, 1800, 600]).pvalue > 0.01


# --- the step of the networks -----------------------------------------------------------------------------------------
def score_of(sampler: NERS, slots: np.ndarray) -> Tensor:
    return sampler.network(sampler.features(slots))


@pytest.mark.parametrize("reward", [2.0, -0.5])
def test_the_step_follows_the_reward_times_the_gradient(reward):
    """With plain gradient descent of step 1 in place of Adam, every parameter moves by just that."""
    sampler = ners()
    slots = np.array([1, 4, 4, 9])
    replay(sampler, slots)
    scores = score_of(sampler, slots)
    mean_log = sum(torch.log(score) for score in scores) / 4
    gradients = torch.autograd.grad(mean_log, sampler.parameters)
    before = [p.detach().clone() for p in sampler.parameters]
    sampler.adam = torch.optim.SGD(sampler.parameters, lr=1.0)
    sampler.reinforce(slots, 100.0)  # leaves a gradient behind that must not count
    with torch.no_grad():
        for parameter, value in zip(sampler.parameters, before):
            parameter.copy_(value)
    sampler.reinforce(slots, reward)
    for old, gradient, new in zip(before, gradients, sampler.parameters):
        torch.testing.assert_close(new.detach(), old + reward * gradient, rtol=1e-4, atol=1e-6)
    assert max(gradient.abs().max() for gradient in gradients) > 1e-2


@pytest.mark.parametrize("kind", ["full", "few"])
def test_the_encoder_learns_too(kind):
    """Unless its features are not used."""
    sampler = ners(features=kind)
    before = sampler.transitions.encoder.layer.weight.detach().clone()
    replay(sampler, [1, 2, 3])
    sampler.reinforce(np.array([1, 2, 3]), 1.0)
    moved = (sampler.transitions.encoder.layer.weight - before).abs().max().item()
    assert moved == pytest.approx(1e-4, rel=0.01) if kind == "full" else moved == 0  # Adam's first step


def losses(sampler: NERS, slots: np.ndarray, log_scores: np.ndarray) -> tuple[float, np.ndarray]:
    """The sampler's mean log p and its gradient with respect to log sigma of each different slot [k].

    log_scores [k]: of the different slots, in ascending order.
    """
    log_sigma = torch.tensor(log_scores, requires_grad=True)
    of_each = torch.from_numpy(np.unique(slots, return_inverse=True)[1])
    value = sampler.log_probability(slots, log_sigma.exp()[of_each])
    value.backward()
    assert log_sigma.grad is not None
    return value.item(), log_sigma.grad.numpy()


def stored_scores(sampler: NERS, seed: int) -> np.random.Generator:
    """Writes scores into the tree as if all transitions had been replayed; returns what drew them."""
    rng = np.random.default_rng(seed)
    sampler.prioritized.update(
        np.arange(sampler.prioritized.stored), {"td_error": rng.uniform(0.1, 1.0, sampler.prioritized.stored)}
    )
    return rng


@examples(deadline=None, max_examples=40)
@given(
    filled=st.integers(2, 16), alpha=st.floats(0.1, 2), seed=st.integers(0, 99), places=st.lists(st.floats(0, 0.999))
)
def test_buffer_loss_is_eq_1_over_the_whole_memory(filled, alpha, seed, places):
    """Mean log of p, summed transition by transition: new scores for those in the set, stored ones for the others."""
    sampler = ners(filled, alpha=alpha, log_loss="buffer")
    rng = stored_scores(sampler, seed)
    slots = np.array([0, *(int(filled * x) for x in places)])
    different = np.unique(slots)
    log_scores = np.log(rng.uniform(0.1, 1.0, len(different)))
    value, gradient = losses(sampler, slots, log_scores)

    theta = torch.tensor(log_scores, requires_grad=True)
    new = {slot: theta[k] for k, slot in enumerate(different.tolist())}
    sigma = [new[i].exp() if i in new else torch.tensor(sampler.scores()[i]) for i in range(filled)]
    total = sum(s**alpha for s in sigma)
    expected = sum(torch.log(sigma[i] ** alpha / total) for i in slots.tolist()) / len(slots)
    expected.backward()
    assert value == pytest.approx(expected.item(), abs=1e-4)
    np.testing.assert_allclose(gradient, theta.grad, atol=1e-4)


def test_score_loss_by_hand():
    value, gradient = losses(ners(4), np.array([0, 2, 0]), np.log([0.2, 0.5]))
    assert value == pytest.approx((2 * math.log(0.2) + math.log(0.5)) / 3, abs=1e-4)
    np.testing.assert_allclose(gradient, [2 / 3, 1 / 3], atol=1e-4)
    assert math.isfinite(losses(ners(4), np.array([0]), np.array([-200.0]))[0]), "a score of 0 has no logarithm"
    assert losses(ners(4), np.array([0]), np.array([-200.0]))[0] == pytest.approx(math.log(TINY))


@examples(deadline=None, max_examples=40)
@given(n=st.integers(2, 16), seed=st.integers(0, 99))
def test_why_the_law_is_not_normalised_over_the_training_set(n, seed):
    """When the set is the whole memory, Eq. (1)'s sum runs over the set alone. (`log_loss="train"`: it always does.)

    The gradients then add up to zero, and the larger a score, the smaller its gradient: a reward does not say that
    these transitions were good, it only draws their scores together (or apart, if negative). A sum over a larger
    memory, and log sigma all the more, raise the scores of the set.
    """
    sampler = ners(n, log_loss="buffer")
    log_scores = np.log(stored_scores(sampler, seed).uniform(0.1, 1.0, n))
    everything = np.arange(n)
    _, gradient = losses(sampler, everything, log_scores)
    p = np.exp(0.5 * log_scores) / np.exp(0.5 * log_scores).sum()
    np.testing.assert_allclose(gradient, 0.5 * (1 / n - p), atol=1e-4)
    assert gradient.sum() == pytest.approx(0, abs=1e-4)
    _, alone = losses(ners(16, log_loss="train"), everything, log_scores)  # whatever else is stored
    np.testing.assert_allclose(alone, gradient, atol=1e-4)

    larger = ners(n, log_loss="buffer")
    some = everything[: n // 2]
    stored_scores(larger, seed)
    _, gradient = losses(larger, some, log_scores[: n // 2])
    rest = (larger.scores()[n // 2 :] ** 0.5).sum()
    share = rest / (rest + np.exp(0.5 * log_scores[: n // 2]).sum())
    assert gradient.sum() == pytest.approx(0.5 * share, abs=1e-4) and gradient.sum() > 0.05
    assert losses(ners(n), everything, log_scores)[1] == pytest.approx(np.full(n, 1 / n), abs=1e-4)


def worthless(**settings) -> NERS:
    """A sampler whose network has been driven so low that its scores are exactly 0 in float32."""
    sampler = ners(**settings)
    with torch.no_grad():
        sampler.network.score[-1].bias.fill_(-200.0)
    return sampler


@pytest.mark.parametrize("log_loss", ["score", "buffer"])
def test_scores_of_0_leave_the_networks_finite(log_loss):
    sampler = worthless(log_loss=log_loss)
    replay(sampler, [1, 2, 3])
    assert sampler.scores()[[1, 2, 3]].tolist() == [0, 0, 0]
    for reward in (1.0, -1.0):
        sampler.reinforce(np.array([1, 2, 3]), reward)
    assert all(p.isfinite().all() for p in sampler.parameters)


def test_scores_of_0_alone_still_give_a_law():
    """Statistics of the law are asked for after the agent's update, when the newest transition has been scored too."""
    sampler = worthless()
    replay(sampler, range(16))
    assert sampler.scores().max() == 0
    assert sampler.probabilities().tolist() == [1 / 16] * 16


# --- what it says of itself -------------------------------------------------------------------------------------------
def test_metrics_by_hand():
    """Inputs of the networks beyond 0.99 in size: the reward of one of two transitions, then also TD errors of 3."""
    table = Table()
    table.b[1], table.b[2] = torch.tensor([-5.0, 0.5]), torch.tensor([0.7, 0.9])
    sampler = ners(features="few", table=table)
    sampler.evaluation(1.0)
    replay(sampler, [1, 2], td=0.1)
    sampler.evaluation(2.0)
    replay(sampler, [1, 2], td=3.0)
    sampler.evaluation(7.0)
    assert sampler.metrics() == pytest.approx({"scorer_updates": 2, "replay_reward": 3.0, "saturated": (1 + 3) / 12})
    assert sampler.metrics() == {"scorer_updates": 2}, "means are of the time since the last call"
    replay(sampler, [2, 2], td=0.1)
    sampler.evaluation(6.0)
    assert sampler.metrics() == {"scorer_updates": 3, "replay_reward": -1.0, "saturated": 0}


# --- learning ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("settings", [{}, {"global_context": False}, {"features": "few"}])
@pytest.mark.parametrize("good", [1.0, -1.0])
def test_learns_what_is_worth_replaying(good, settings):
    """The return rises with the share of one kind of transition in the batch, and falls with that of the other."""
    table = Table()
    table.b[:, 0] = table.a[:, 0] = torch.tensor([1.0, -1.0]).repeat(8)
    sampler, total = ners(table=table, scorer_lr=3e-4, **settings), 0.0
    sampler.evaluation(total)
    for _ in range(120):
        slots = sampler.sample(8).indices
        sampler.update(slots, {"td_error": np.full(8, 0.3, np.float32), "target": np.full(8, 0.3, np.float32)})
        total += good * table.b[slots, 0].mean().item()
        sampler.evaluation(total)
    logs = np.log(sampler.scores())
    assert (logs[::2].mean() - logs[1::2].mean()) * good > 0.02  # without learning: below 0.001
