"""Virtual goals of an episode: where they come from, how often, what is filtered and what is counted."""

from bisect import bisect_right
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from envs.throwing import Hand
from lab.errors import UserError
from papers.bias_reduced_her.hindsight import Hindsight
from papers.bias_reduced_her.instructional import Grid, Instruction, Proposal

REWARD = Hand(tolerance=0.04).compute_reward


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def line(n: int) -> np.ndarray:
    """Places 0.05 apart, all different and none within reach of another: the goal tells the state it comes from."""
    t = np.arange(n)
    return np.stack([0.025 + 0.05 * (t % 20), 0.025 + 0.05 * (t // 20)], axis=1).astype(np.float32)


def origin(goals: np.ndarray) -> np.ndarray:
    """States of `line` that the goals come from."""
    return np.rint((goals[:, 0] - 0.025) / 0.05 + 20 * (goals[:, 1] - 0.025) / 0.05).astype(int)


def instruction(**options) -> Instruction:
    return Instruction(Proposal(Grid((20, 20))), lambda x: np.ones(len(x)), **options)


# --- where goals come from -------------------------------------------------------------------------------------------


def test_with_instruction_goals_are_drawn_by_their_weights():
    """The exact probabilities of Eq. (7), normalised over what is still to come of the episode."""
    one, achieved = instruction(), line(6)
    one.proposal.counts[:] = 400
    one.proposal.counts[one.proposal.grid.cell(achieved[1:])] = [0, 200, 300, 390, 9000]  # from most to least wanted
    before = one.proposal.counts.copy()
    weights = np.maximum(1 / 400 * np.ones(5) - before[one.proposal.grid.cell(achieved[1:])] / before.sum(), 0.0001)
    one.floor, one.target = 0.0001, np.full(400, 1 / 400)
    draw, picks = Hindsight(4, REWARD, rng(1), instruction=one), []
    for _ in range(2000):
        one.proposal.counts[:] = before  # what the draws themselves would change
        picks.append(origin(draw(achieved)[1]).reshape(5, 4))
    for t in range(4):
        counts = np.bincount(np.array(picks)[:, t].ravel(), minlength=6)
        expected = weights[t:] / weights[t:].sum() * counts.sum()
        assert chisquare(counts[t + 1 :], expected).pvalue > 0.01
    assert len(np.unique(weights)) == 5


@settings(deadline=None)
@given(
    places=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=2, max_size=12),
    k=st.integers(1, 5),
    filtered=st.booleans(),
    ibs=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_same_draws_in_plain_python(places, k, filtered, ibs, seed):
    """Episodes that visit few places again and again. The plain version draws, filters and counts one by one."""
    achieved = np.array(places, np.float32) * np.float32(0.03)  # neighbours are within the tolerance
    given = instruction(floor=0.0024) if ibs else None
    proposal = given.proposal if given else Proposal(Grid((20, 20)))
    proposal.counts[:3] = 1
    counts = proposal.counts.copy()
    weights = given.weights(achieved[1:]).tolist() if given else [1.0] * (len(achieved) - 1)
    steps, goals = Hindsight(k, REWARD, rng(seed), filtered=filtered, instruction=given, proposal=proposal)(achieved)

    assert steps.dtype == np.int64 and goals.dtype == np.float32
    uniforms, expected, sums = rng(seed), [], list(accumulate(weights))
    for t in range(len(weights)):
        for _ in range(k):
            before = sums[t] - weights[t]
            pick = bisect_right(sums, before + uniforms.random() * (sums[-1] - before))
            u = min(max(pick, t), len(weights) - 1) + 1
            (x, y), (gx, gy) = places[t], places[u]
            already = 0.03**2 * ((x - gx) ** 2 + (y - gy) ** 2) < 0.04**2
            if not (filtered and already):
                expected.append((t, *achieved[u]))
                counts[int(achieved[u][0] / 0.05) * 20 + int(achieved[u][1] / 0.05)] += 1
    assert [(t, *goal) for t, goal in zip(steps, goals)] == expected
    assert proposal.counts.tolist() == counts.tolist()


# --- what is counted -------------------------------------------------------------------------------------------------


def test_goals_of_any_dimension_without_a_proposal():
    achieved = rng().random((11, 5))
    steps, goals = Hindsight(2, lambda a, b, info: np.zeros(len(a)) - 1, rng(), filtered=True)(achieved)
    assert len(steps) == 20 and goals.shape == (20, 5)


# --- IBS over many episodes ------------------------------------------------------------------------------------------


def shares_of_two_places(filtered: bool, ibs: bool) -> np.ndarray:
    """Shares of goals at two places, of which q* wants 3/4 and 1/4, after episodes that visit both by turns."""
    grid = Grid((2, 1))
    one = Instruction(Proposal(grid), lambda x: np.where(x[:, 0] < 0.5, 3.0, 1.0), 1e-4, 1e-4)
    np.testing.assert_allclose(one.target, [0.75, 0.25])
    episode = np.array([[0.25, 0.1], [0.75, 0.1]] * 10 + [[0.5, 0.9]], np.float32)[::-1]
    draw = Hindsight(4, REWARD, rng(), filtered=filtered, instruction=one if ibs else None, proposal=one.proposal)
    for _ in range(200):
        draw(episode)
    return one.proposal.q


@pytest.mark.parametrize("filtered", [False, True])
def test_ibs_brings_the_counts_to_the_target(filtered):
    assert shares_of_two_places(filtered, ibs=True)[0] == pytest.approx(0.75, abs=0.02)
    assert 0.5 < shares_of_two_places(filtered, ibs=False)[0] < 0.6  # the episode ends at the first of the two


# --- edges -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("filtered", [False, True])
def test_no_goals_without_hindsight(filtered):
    proposal = Proposal(Grid())
    steps, goals = Hindsight(0, REWARD, rng(), filtered=filtered, proposal=proposal)(line(51))
    assert steps.shape == (0,) and goals.shape == (0, 2)
    assert proposal.counts.sum() == 0


def test_the_episode_is_left_as_it_was():
    achieved = line(31)
    _, goals = Hindsight(4, REWARD, rng(), instruction=instruction())(achieved)
    goals[:] = 0
    np.testing.assert_array_equal(achieved, line(31))


def test_settings_that_cannot_work():
    with pytest.raises(UserError, match="must not be negative, not -1"):
        Hindsight(-1, REWARD, rng())
    with pytest.raises(UserError, match="compute_reward"):
        Hindsight(4, None, rng())
