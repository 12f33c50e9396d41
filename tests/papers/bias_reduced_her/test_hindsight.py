"""Virtual goals of an episode: where they come from, how often, what is filtered and what is counted."""

from bisect import bisect_right
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from envs.throwing.tasks import Hand
from lab.run.errors import UserError
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


class Everywhere:
    """All virtual goals are worth the same."""

    def score(self, goals, sigma):
        return np.ones(len(goals))


def instruction(**options) -> Instruction:
    return Instruction(Proposal(Grid((20, 20))), Everywhere(), **options)


# --- where goals come from -------------------------------------------------------------------------------------------
@settings(deadline=None)
@given(
    places=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=2, max_size=12), k=st.integers(1, 5),
    filtered=st.booleans(), ibs=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_the_same_draws_in_plain_python(places, k, filtered, ibs, seed):
    """Episodes that visit few places again and again. The plain version draws, filters and counts one by one."""
    achieved = np.array(places, np.float32) * np.float32(0.03)  # neighbours are within the tolerance
    given = instruction(floor=0.0024) if ibs else None
    proposal = given.proposal if given else Proposal(Grid((20, 20)))
    proposal.counts[:3] = 1
    counts = proposal.counts.copy()
    weights = given.weights(achieved[1:]).tolist() if given else [1.0] * (len(achieved) - 1)
    steps, goals = Hindsight(
        k, REWARD, rng(seed), keep="filtered" if filtered else "all", instruction=given, proposal=proposal
    )(achieved)

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


def visits(seed: int, length: int = 30) -> np.ndarray:
    """An episode among five places; neighbours are within the tolerance of 0.04."""
    return np.stack([0.03 * rng(seed).integers(5, size=length + 1), np.zeros(length + 1)], axis=1).astype(np.float32)


def counted(keep: str, seed: int, episodes: int = 1) -> list[tuple[int, float]]:
    draw = Hindsight(4, REWARD, rng(seed), keep=keep)
    return [(t, goal[0]) for _ in range(episodes) for t, goal in zip(*draw(visits(0)))]


def test_thinning_keeps_as_many_as_the_filter_but_any():
    """In every episode: the same draws, the same number; and misleading ones among them as often as among all."""
    achieved = visits(0)
    for seed in range(20):
        assert len(counted("thinned", seed)) == len(counted("filtered", seed)) < 120
    kept, every = counted("thinned", 1, 300), counted("all", 1, 300)

    def share(found):
        return np.mean([abs(achieved[t][0] - goal) < 0.04 for t, goal in found])

    assert share(every) > 0.3 and share(kept) == pytest.approx(share(every), abs=0.02)
    assert share(counted("filtered", 1)) == 0


def test_a_goal_that_misleads_is_drawn_again():
    """Four for every step that has a useful goal ahead, and each useful one as often as the others."""
    achieved, found = visits(0), counted("redrawn", 1, 400)
    useful = {t: [g for g in achieved[t + 1 :, 0] if abs(g - achieved[t][0]) >= 0.04] for t in range(30)}
    for t, ahead in useful.items():
        drawn = np.array([goal for step, goal in found if step == t])
        assert len(drawn) == (1600 if ahead else 0)
        places, times = np.unique(ahead, return_counts=True) if ahead else (np.empty(0), np.empty(0))
        assert set(np.unique(drawn)) == set(places.astype(np.float32))
        if len(places) > 1:
            seen = [(drawn == place).sum() for place in places]
            assert chisquare(seen, times / times.sum() * len(drawn)).pvalue > 1e-4
    assert not useful[29] or len(useful[29]) == 1


def test_drawing_again_follows_the_weights():
    """Places of weight 0.05 and 0.15 that do not mislead, and one of a large weight that does."""
    one, achieved = instruction(), line(4)
    achieved[1] = achieved[0]  # step 0 achieves what had been achieved
    one.floor, one.target = 1e-9, np.zeros(400)
    one.target[one.proposal.grid.cell(achieved)] = [0.8, 0.8, 0.05, 0.15]
    draw, first = Hindsight(4, REWARD, rng(), keep="redrawn", instruction=one), []
    for _ in range(500):
        one.proposal.counts[:] = 0
        steps, goals = draw(achieved)
        first += origin(goals[steps == 0]).tolist()
    assert set(first) == {2, 3} and np.mean(np.array(first) == 3) == pytest.approx(0.75, abs=0.04)


# --- what is counted -------------------------------------------------------------------------------------------------
def test_goals_of_any_dimension_without_a_proposal():
    achieved = rng().random((11, 5))
    steps, goals = Hindsight(2, lambda a, b, info: np.zeros(len(a)) - 1, rng(), keep="filtered")(achieved)
    assert len(steps) == 20 and goals.shape == (20, 5)


# --- IBS over many episodes ------------------------------------------------------------------------------------------
class ThreeToOne:
    def score(self, goals, sigma):
        return np.where(goals[:, 0] < 0.5, 3.0, 1.0)


def shares_of_two_places(filtered: bool, ibs: bool) -> np.ndarray:
    """Shares of goals at two places, of which q* wants 3/4 and 1/4, after episodes that visit both by turns."""
    grid = Grid((2, 1))
    one = Instruction(Proposal(grid), ThreeToOne(), 1e-4, 1e-4)
    np.testing.assert_allclose(one.target, [0.75, 0.25])
    episode = np.array([[0.25, 0.1], [0.75, 0.1]] * 10 + [[0.5, 0.9]], np.float32)[::-1]
    draw = Hindsight(
        4,
        REWARD,
        rng(),
        keep="filtered" if filtered else "all",
        instruction=one if ibs else None,
        proposal=one.proposal,
    )
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
    steps, goals = Hindsight(0, REWARD, rng(), keep="filtered" if filtered else "all", proposal=proposal)(line(51))
    assert steps.shape == (0,) and goals.shape == (0, 2)
    assert proposal.counts.sum() == 0


@pytest.mark.parametrize("keep", ["all", "filtered", "redrawn", "thinned"])
def test_achieved_goals_that_are_not_finite_are_refused(keep):
    """nan lies nowhere, so that it would count as achieved wherever a reward asks whether the distance is too large."""
    one, achieved = Hindsight(4, REWARD, rng(), keep=keep, instruction=instruction()), line(6)
    achieved[3, 1] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        one(achieved)
    assert one.proposal.counts.sum() == 0
    expected = Hindsight(4, REWARD, rng(), keep=keep, instruction=instruction())(line(6))
    assert all((a == b).all() for a, b in zip(one(line(6)), expected)), "nothing has been drawn"


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
    with pytest.raises(UserError, match="keep must be one of all, filtered, redrawn, thinned, not 'some'"):
        Hindsight(4, REWARD, rng(), keep="some")
