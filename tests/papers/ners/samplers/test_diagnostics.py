"""Statistics of laws by hand and at their extremes; statistics of draws against lists of all that was drawn."""

import math
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.ners import ners
from papers.ners.ners import ScoreNetwork
from papers.ners.samplers.diagnostics import (
    TINY,
    Diagnostics,
    bonus_distance,
    law_statistics,
    replayed_statistics,
    spreads,
)


# --- sampling laws ----------------------------------------------------------------------------------------------------
def test_law_by_hand():
    """(1/2, 1/4, 1/4) beside thirds: distances 1/6, 1/12, 1/12; sum of squares 3/8."""
    found = law_statistics(np.array([0.5, 0.25, 0.25]), np.exp([0.0, 1.0, 2.0]))
    assert found == pytest.approx({
        "tv": 1 / 6, "kl": 0.5 * math.log(1.5) + 0.5 * math.log(0.75), "ess": 8 / 9, "log_score_mean": 1.0,
        "log_score_sd": (2 / 3) ** 0.5,
    })  # fmt: skip


@pytest.mark.parametrize("n", [2, 7, 1000])
def test_one_transition_alone_is_drawn(n):
    p = np.zeros(n)
    p[n // 2] = 1.0
    with np.errstate(all="raise"):  # 0 log 0 is 0
        found = law_statistics(p, p)
    assert [found["tv"], found["kl"], found["ess"]] == pytest.approx([1 - 1 / n, math.log(n), 1 / n])
    assert found["log_score_mean"] == pytest.approx(math.log(TINY) * (n - 1) / n), "a score of 0 stays finite"


def test_the_law_among_replayed_transitions():
    """Two new ones have half of the probability. The rest: priorities 1, 1, 2, hence 1/4, 1/4, 1/2 beside thirds."""
    p, scores = np.array([0.25, 1 / 8, 0.25, 1 / 8, 1 / 4]), np.exp([0.0, -2.0, 0.0, -2.0, -1.0])
    replayed = np.array([False, True, False, True, True])
    found = replayed_statistics(p, scores, replayed)
    assert found == pytest.approx({"tv_replayed": 1 / 6, "log_score_sd_replayed": (2 / 9) ** 0.5})
    assert replayed_statistics(p, scores, ~np.ones(5, bool)) == {}  # nothing was replayed yet
    assert replayed_statistics(np.array([0.5, 0.5, 0.0]), scores[:3], np.array([False, False, True])) == {}


def test_a_report_knows_what_was_replayed():
    """However new transitions are favoured, those that were replayed are alike."""
    diagnostics = Diagnostics(8)
    for slot in range(4):
        diagnostics.added(slot, slot)
    diagnostics.drawn(np.array([0, 2]), 5, np.ones(2), np.ones(2))
    law = SimpleNamespace(
        probabilities=lambda: np.array([0.2, 0.1, 0.2, 0.5]), scores=lambda: np.ones(4), metrics=lambda: {}
    )
    found = diagnostics.report(law)
    assert found["tv"] == pytest.approx(0.25) and found["tv_replayed"] == pytest.approx(0.0)
    assert found["draws"] == 2 and diagnostics.statistics() == {}  # a report starts anew


# --- what to expect of NERS ------------------------------------------------------------------------------------------
def simulated(s: float, m: int, steps: int = 4000, warm: int = 1000) -> float:
    """Mean total variation from uniform of a law in which new transitions have the priority 1 and others s."""
    rng = np.random.default_rng(0)
    fresh, found = np.ones(steps + m, bool), []
    for n in range(m, steps + m):
        ratio = 1.0 / s
        new = np.flatnonzero(fresh[:n])
        share = ratio * len(new) / (ratio * len(new) + n - len(new))
        hit = rng.random(m) < share
        fresh[rng.choice(new, hit.sum())] = False
        if n > warm:
            priorities = np.where(fresh[:n], 1.0, s)
            found.append(0.5 * np.abs(priorities / priorities.sum() - 1 / n).sum())
    return float(np.mean(found))


@pytest.mark.parametrize(("s", "m"), [(0.72, 32), (0.3, 32), (0.5, 128)])
def test_the_bonus_of_new_transitions_is_what_a_simulated_memory_has(s, m):
    assert bonus_distance(s, m) == pytest.approx(simulated(s, m), rel=0.1)


@pytest.mark.parametrize(("s", "m"), [(0.72, 32), (0.3, 32), (0.5, 128)])
def test_the_bonus_is_nearly_what_was_derived(s, m):
    exact = (1 - s) * (m - 1) / (m * (m - 1 + s))
    assert bonus_distance(s, m) == pytest.approx(exact, rel=1.05 * s / m**2)


def test_the_bonus_by_hand():
    assert [round(bonus_distance(0.52**0.5, m), 4) for m in (128, 32)] == [0.0022, 0.0085]
    assert bonus_distance(1.0, 32) == 0 and bonus_distance(1e-9, 32) < 1 / 31


def linear_network(weights: list[list[list[float]]]) -> ScoreNetwork:
    """Local context of two layers of two units, a score of one layer; biases are 0, the global context is 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ners.WIDTHS, "small", ((2, 2), ()))
        network = ScoreNetwork(2, "small")
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        for layer, weight in zip((network.local_context[0], network.local_context[2], network.score[0]), weights):
            layer.weight[:] = torch.tensor(weight)
    return network


def test_spreads_by_hand():
    """Features (1, 0) and (-1, 0): halved to (0.5, 0.5) and (-0.5, -0.5), of which ReLU leaves (0.5, 0.5) and 0."""
    network = linear_network([[[0.5, 0.0], [0.5, 0.0]], [[2.0, 0.0], [0.0, 4.0]], [[1.0, 0.0, 0.0, 0.0]]])
    found = spreads(network, torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    sigmoid = 1 / (1 + math.exp(-1.0))
    # deviations: (1, 0); (0.5, 0.5); (1, 0) and (2, 0) of the units' (1, 0), (0, 0)
    assert found == pytest.approx([0.5**0.5, 0.5, (0.5 * (0.5**2 + 1.0)) ** 0.5, 0.5, (sigmoid - 0.5) / 2])


@pytest.mark.parametrize("widths", ["paper", "code"])
def test_networks_as_they_are_initialised_shrink_the_spread_about_a_thousand_times(widths):
    """Each layer makes it about root 6 times smaller, as the variance of PyTorch's weights and ReLU say."""
    torch.manual_seed(0)
    network = ScoreNetwork(11, widths)
    found = spreads(network, torch.randn(500, 11))
    layers = len(found) - 2
    assert layers == {"paper": 8, "code": 7}[widths]
    per_layer = (found[0] / found[-2]) ** (1 / layers)
    assert per_layer == pytest.approx(6**0.5, rel=0.15)
    assert found[-1] == pytest.approx(found[-2] / 4, rel=0.05)  # the slope of the sigmoid near 0


# --- what was drawn ---------------------------------------------------------------------------------------------------
def test_draws_by_hand():
    diagnostics = Diagnostics(4)
    for slot, step in enumerate([0, 2, 3]):
        diagnostics.added(slot, step)
    diagnostics.drawn(np.array([0, 2]), 5, np.array([1.0, 9.0]), np.array([-1.0, 2.0]))
    diagnostics.drawn(np.array([2, 1]), 7, np.array([4.0, 4.0]), np.array([5.0, 2.0]))
    assert diagnostics.statistics() == pytest.approx({
        "age": (5 + 2 + 4 + 5) / 4, "first_time": 3 / 4, "td2_mean": 4.5, "td2_sd": (114 / 4 - 4.5**2) ** 0.5,
        "q_mean": 2.0, "q_sd": (34 / 4 - 4.0) ** 0.5, "log_td": (math.log(3) + 2 * math.log(2)) / 4, "draws": 4,
    })  # fmt: skip


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.integers(1, 50))
def test_equal_values_have_no_deviation(q, td2, n):
    """Up to rounding, and never the root of a negative number."""
    diagnostics = Diagnostics(1)
    diagnostics.drawn(np.zeros(n, int), 1, np.full(n, td2), np.full(n, q))
    found = diagnostics.statistics()
    assert 0 <= found["td2_sd"] <= 1e-6 * td2 + 1e-9 and 0 <= found["q_sd"] <= 1e-6 * abs(q) + 1e-9


def test_a_td_error_of_nothing_has_a_finite_logarithm():
    diagnostics = Diagnostics(1)
    diagnostics.drawn(np.zeros(1, int), 1, np.zeros(1, np.float32), np.zeros(1, np.float32))
    assert diagnostics.statistics()["log_td"] == pytest.approx(math.log(TINY) / 2)


@dataclass
class Twin:
    """Keeps everything in lists."""

    born: dict[int, int] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    draws: list[tuple[int, bool, float, float]] = field(default_factory=list)

    def added(self, slot: int, step: int) -> None:
        self.born[slot] = step
        self.seen.discard(slot)

    def drawn(self, slots: list[int], step: int, td2: list[float], q: list[float]) -> None:
        for slot, a, b in zip(slots, td2, q):
            self.draws.append((step - self.born[slot], slot not in self.seen, a, b))
            self.seen.add(slot)

    def statistics(self) -> dict[str, float]:
        if not self.draws:
            return {}
        age, first, td2, q = np.array(self.draws, float).T
        return {
            "age": age.mean(), "first_time": first.mean(), "td2_mean": td2.mean(), "td2_sd": td2.std(),
            "q_mean": q.mean(), "q_sd": q.std(), "log_td": np.log(np.sqrt(td2)).mean(), "draws": len(self.draws),
        }  # fmt: skip


SLOT = st.integers(0, 5)
DRAWS = st.lists(st.tuples(SLOT, st.floats(2**-7, 100, width=32), st.floats(-100, 100, width=32)), min_size=1)
CALLS = st.lists(st.one_of(SLOT, DRAWS, st.none()), max_size=25)


@settings(deadline=None)
@given(CALLS)
def test_any_calls_against_a_twin(calls):
    """A number fills that slot, a list is a batch of draws, None asks for the statistics and resets them."""
    diagnostics, twin = Diagnostics(6), Twin()
    for slot in range(6):
        diagnostics.added(slot, 0)
        twin.added(slot, 0)
    for step, call in enumerate([*calls, None], start=1):
        if call is None:
            assert diagnostics.statistics() == pytest.approx(twin.statistics(), rel=1e-6, abs=1e-4)
            diagnostics.reset()
            twin.draws.clear()
        elif isinstance(call, int):
            diagnostics.added(call, step)
            twin.added(call, step)
        else:
            slots, td2, q = map(list, zip(*call))
            diagnostics.drawn(np.array(slots), step, np.array(td2, np.float32), np.array(q, np.float32))
            twin.drawn(slots, step, td2, q)
