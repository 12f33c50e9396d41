"""The divergence that a share of far-policy samples stands for, against samples drawn from two policies."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.ref_er.evidence.implied_kl import far_share, implied_kl
from papers.ref_er.refer import ReFER

C_MAX = st.floats(1.01, 1e6)
TOLERANCE = st.floats(1e-6, 1 - 1e-6)


@pytest.mark.parametrize(("at", "kl"), [(0.0, 0.40), (0.5, 0.27), (1.0, 0.20), (2.5, 0.10), (5.0, 0.047)])
def test_along_the_papers_annealing(at, kl):
    refer = ReFER(annealing=5e-7)
    refer.anneal(round(at / 5e-7))
    assert implied_kl(refer.c_max) == pytest.approx(kl, rel=0.025)  # two digits


@pytest.mark.parametrize("d", [1, 6])
@pytest.mark.parametrize(("c_max", "tolerance"), [(5.0, 0.1), (5 / 3, 0.1), (3.0, 0.05), (2.0, 0.7)])
def test_of_samples_of_two_policies(c_max, tolerance, d):
    """Means shifted along a diagonal of the actions by as much as the divergence says: D of the samples are far."""
    rng, kl, std = np.random.default_rng(0), implied_kl(c_max, tolerance), 0.2
    shift = np.full(d, std * math.sqrt(2 * kl / d))  # KL = |shift|^2 / (2 std^2)
    actions = std * rng.standard_normal((200_000, d))
    log_rho = (np.sum(actions**2, axis=1) - np.sum((actions - shift) ** 2, axis=1)) / (2 * std**2)
    far = ~ReFER(c=c_max - 1).near(np.exp(log_rho))
    assert far.mean() == pytest.approx(tolerance, abs=4 * math.sqrt(tolerance / len(actions)))
    assert -log_rho.mean() == pytest.approx(kl, rel=0.03)


def test_one_side_by_hand():
    """c_max = e^(1/2) and delta = 1: ln rho ~ N(-1/2, 1) is below -1/2 with probability 1/2, above 1/2 with 0.1587."""
    assert far_share(1.0, math.exp(0.5)) == pytest.approx(0.5 + 0.158655, abs=1e-6)
    assert implied_kl(math.exp(0.5), 0.658655) == pytest.approx(0.5, rel=1e-5)


@given(C_MAX, TOLERANCE)
def test_it_solves_the_equation(c_max, tolerance):
    assert far_share(math.sqrt(2 * implied_kl(c_max, tolerance)), c_max) == pytest.approx(tolerance, rel=1e-6)


@given(C_MAX, TOLERANCE, st.floats(1.01, 2))
def test_it_grows_with_both(c_max, tolerance, factor):
    kl = implied_kl(c_max, tolerance)
    assert implied_kl(c_max * factor, tolerance) > kl > implied_kl(c_max, tolerance / factor)


@pytest.mark.parametrize(("c_max", "tolerance"), [(1 + 1e-6, 0.1), (1e300, 1e-300), (1e300, 1 - 1e-12)])
def test_extremes_have_a_solution(c_max, tolerance):
    assert 0 < implied_kl(c_max, tolerance) < math.inf


@pytest.mark.parametrize("c_max", [1.0, 0.5, -1.0, math.nan, math.inf])
def test_no_c_max(c_max):
    with pytest.raises(ValueError, match="c_max must be above 1"):
        implied_kl(c_max)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -0.1, math.nan])
def test_no_tolerance(tolerance):
    with pytest.raises(ValueError, match=r"tolerance must lie in \(0, 1\)"):
        implied_kl(5.0, tolerance)
