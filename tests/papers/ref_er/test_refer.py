"""Rules 1 and 2, the controller of beta and the annealing, by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.run.errors import UserError
from papers.ref_er.memory.episode import Episode
from papers.ref_er.memory.memory import EpisodeMemory
from papers.ref_er.refer import RULES, ReFER

G = np.array([[1.0, -2.0], [3.0, 4.0], [-5.0, 6.0]])
G_KL = np.array([[0.1, 0.2], [-0.3, 0.4], [0.5, -0.6]])
RHO = np.array([1.0, 6.0, 0.1], np.float32)  # near, too likely, too unlikely for c_max = 5


# --- Rules 1 and 2 ---------------------------------------------------------------------------------------------------
def followed(refer: ReFER) -> np.ndarray:
    return refer.gradient(G, G_KL, refer.mask(RHO))


def test_gradient_by_hand():
    """beta g - (1 - beta) g_KL where the sample is near, only the second part where it is far."""
    np.testing.assert_allclose(
        followed(ReFER(beta=0.25)),
        [[0.25 * 1 - 0.75 * 0.1, 0.25 * -2 - 0.75 * 0.2], [0.75 * 0.3, -0.75 * 0.4], [-0.75 * 0.5, 0.75 * 0.6]],
    )


def test_the_penalty_pulls_the_policy_back():
    """A mean above the old one has a positive g_KL; following the gradient must lower it."""
    refer = ReFER(beta=0.5)
    assert refer.gradient(np.zeros((1, 1)), np.ones((1, 1)), np.ones(1)) == -0.5


@pytest.mark.parametrize(
    "replay, mask, penalised",
    [("refer", [1, 0, 0], True), ("refer-1", [1, 0, 0], False), ("refer-2", [1, 1, 1], True), ("er", [1, 1, 1], False)],
)
def test_kinds_of_replay(replay, mask, penalised):
    refer = ReFER(*RULES[replay], beta=0.25, rate=0.1)
    assert refer.mask(RHO).tolist() == mask and refer.mask(RHO).dtype == np.float32
    beta = 0.25 if penalised else 1.0
    np.testing.assert_allclose(followed(refer), beta * np.array(mask)[:, None] * G - (1 - beta) * G_KL)
    refer.update(1000, 1000)
    assert refer.beta == pytest.approx(0.9 * 0.25 if penalised else 1.0)
    refer.update(0, 1000)
    assert refer.beta == pytest.approx(0.9 * 0.9 * 0.25 + 0.1 if penalised else 1.0)
    assert refer.near(RHO).tolist() == [True, False, False], "what is near does not depend on the rules"


# --- near and far ----------------------------------------------------------------------------------------------------
def test_the_bounds_are_far():
    refer = ReFER(c=3.0)  # c_max = 4: both bounds are exact
    inside = [np.nextafter(np.float32(0.25), np.float32(1)), 1, np.nextafter(np.float32(4), np.float32(1))]
    assert refer.near(np.array(inside, np.float32)).all()
    assert not refer.near(np.array([0.25, 4, 0, 1000, np.nan], np.float32)).any()


def beside(x: float) -> list[float]:
    x = np.float32(x)
    return [float(y) for y in (np.nextafter(x, np.float32(0)), x, np.nextafter(x, np.float32(np.inf)))]


@given(st.floats(0.05, 8), st.integers(0, 10**7), st.lists(st.floats(2**-10, 1024, width=32), max_size=8))
@settings(deadline=None)
def test_every_step_is_either_near_or_counted_as_far(c, t, rho):
    """The memory counts exactly what Rule 1 cuts, next to the bounds as well."""
    refer = ReFER(c=c)
    refer.anneal(t)
    rho = np.array(rho + beside(refer.c_max) + beside(1 / refer.c_max), np.float32)
    n = len(rho)
    memory = EpisodeMemory(n, 1, 1, n, 0.9)
    zero, one = np.zeros(1), np.ones(1)
    slots, _ = memory.add(Episode([zero] * (n + 1), [zero] * n, [zero] * n, [one] * n, [0.0] * n, [0.0] * (n + 1)))
    assert memory.count_far(refer.c_max) == 0, "stored as if just acted"
    memory.store(slots, np.zeros(n), rho, np.zeros(n))
    near = refer.near(memory.rho[slots])
    assert memory.count_far(refer.c_max) == n - near.sum()
    assert 0 < near.sum() < n


# --- beta ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_far, limit", [(101, 0.0), (100, 1.0), (0, 1.0)])
def test_beta_approaches_its_fixed_points(n_far, limit):
    """Exactly a share of D is not too many. After 1 / rate steps, 1 / e of the distance is left."""
    refer = ReFER(rate=1e-3, beta=0.3)
    for _ in range(1000):
        refer.update(n_far, 1000)
    left = (refer.beta - limit) / (0.3 - limit)
    assert left == pytest.approx((1 - 1e-3) ** 1000) and left == pytest.approx(math.exp(-1), rel=1e-3)
    for _ in range(30_000):
        refer.update(n_far, 1000)
    assert refer.beta == pytest.approx(limit, abs=1e-12)


def test_the_share_is_of_the_stored_steps():
    refer = ReFER(rate=0.5, beta=0.5, tolerance=0.25)
    refer.update(26, 100)
    assert refer.beta == 0.25
    refer.update(26, 200)
    assert refer.beta == 0.625


# --- annealing -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "t, c_max, factor", [(0, 5, 1), (1e6, 3.67, 0.67), (2e6, 3, 0.5), (5e6, 2.14, 0.29), (1e7, 1.67, 0.17)]
)
def test_annealing_of_the_paper(t, c_max, factor):
    """C = 4, A = 5e-7: c_max falls from 5 to 1.67 in ten million steps, the learning rate to a sixth."""
    refer = ReFER()
    assert refer.c_max == 5
    assert refer.anneal(t) == pytest.approx(factor, abs=0.005)
    assert refer.c_max == pytest.approx(c_max, abs=0.005)


def test_annealing_depends_on_the_time_alone():
    refer, other = ReFER(), ReFER()
    for t in (1000, 2 * 10**6, 10**6):
        refer.anneal(t)
    assert refer.anneal(10**6) == other.anneal(10**6) and refer.c_max == other.c_max


# --- bad input -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("settings, words", [
    (dict(c=0.0), "C must be positive, not 0.0"),
    (dict(c=-1.0), "C must be positive"),
    (dict(c=math.nan), "C must be positive"),
    (dict(tolerance=0.0), r"D must lie in \(0, 1\), not 0.0"),
    (dict(tolerance=1.0), r"D must lie in \(0, 1\)"),
    (dict(tolerance=math.nan), "D must lie in"),
    (dict(annealing=-1e-9), "A must not be negative"),
    (dict(annealing=math.nan), "A must not be negative"),
    (dict(rate=-0.1), "must lie in"),
    (dict(rate=1.1), "must lie in"),
    (dict(beta=-0.1), "must lie in"),
    (dict(beta=1.1), "must lie in"),
    (dict(beta=math.nan), "must lie in"),
])  # fmt: skip
def test_bad_settings(settings, words):
    with pytest.raises(UserError, match=words) as error:
        ReFER(**settings)
    assert "\n" not in str(error.value)


def test_extreme_settings_that_are_right():
    ReFER(c=1e-9, tolerance=1e-9, annealing=0.0, rate=0.0, beta=0.0)
    ReFER(c=1e9, tolerance=1 - 1e-9, annealing=1.0, rate=1.0, beta=1.0)
