"""Targets of EBU by hand, and the order in which its sampler serves them."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from common.replay.protocol import Step
from common.replay.storage import Ring
from papers.ter.replay import ebu
from papers.ter.replay.batch import Batch
from papers.ter.replay.ebu import EBU, backward_targets

FIELDS = {"reward": ((), np.float64), "action": ((), np.uint8)}


# --- targets ---------------------------------------------------------------------------------------------------------
REWARDS = np.array([-1.0, -1.0, 10.0])
ACTIONS = np.array([0, 1, 0], np.uint8)
NEXT_Q = np.array([[1.0, 2.0], [3.0, 5.0], [7.0, 4.0]], np.float32)


@pytest.mark.parametrize(("beta", "absorbing", "expected"), [
    # y_2 = 10 in each; q_1 = (3, 5) with its first entry (action of step 2) diffused, q_0 = (1, 2) with its second
    (0.0, True, [-1 + 0.9 * 2, -1 + 0.9 * 5, 10.0]),
    (0.5, True, [-1 + 0.9 * (0.5 * 4.85 + 0.5 * 2), -1 + 0.9 * (0.5 * 10 + 0.5 * 3), 10.0]),
    (1.0, True, [-1 + 0.9 * 8, -1 + 0.9 * 10, 10.0]),
    # after a time-out, y_2 = 10 + 0.9 * 7 = 16.3
    (0.0, False, [-1 + 0.9 * 2, -1 + 0.9 * 5, 16.3]),
    (0.5, False, [-1 + 0.9 * (0.5 * 7.685 + 0.5 * 2), -1 + 0.9 * (0.5 * 16.3 + 0.5 * 3), 16.3]),
    (1.0, False, [-1 + 0.9 * (-1 + 0.9 * 16.3), -1 + 0.9 * 16.3, 16.3]),
])  # fmt: skip
def test_three_steps_by_hand(beta, absorbing, expected):
    before = NEXT_Q.copy()
    y = backward_targets(REWARDS, ACTIONS, NEXT_Q, absorbing, 0.9, beta)
    assert y == pytest.approx(expected)
    assert y.dtype == np.float64
    np.testing.assert_array_equal(NEXT_Q, before)


CHOICE = np.array([[9.0, 0.0], [0.0, 4.0], [1.0, 2.0]], np.float32)
"""The online network's: after steps 0 and 2 it chooses the action that the other one finds worse."""


@pytest.mark.parametrize(("beta", "absorbing", "expected"), [
    (0.0, True, [-1 + 0.9 * 1, -1 + 0.9 * 5, 10.0]),
    # y_2 = 10; after step 1 the table of values is (6.5, 5), that of choices (5, 4); after step 0, with y_1 = 4.85,
    # (1, 3.425) and (9, 2.425): the first action is chosen, which is worth 1
    (0.5, True, [-1 + 0.9 * 1, -1 + 0.9 * 6.5, 10.0]),
    (0.0, False, [-1 + 0.9 * 1, -1 + 0.9 * 5, 10 + 0.9 * 4]),
    # y_2 = 13.6: (8.3, 5) and (6.8, 4) after step 1
    (0.5, False, [-1 + 0.9 * 1, -1 + 0.9 * 8.3, 13.6]),
])  # fmt: skip
def test_three_steps_with_double_dqn_by_hand(beta, absorbing, expected):
    before = CHOICE.copy()
    assert backward_targets(REWARDS, ACTIONS, NEXT_Q, absorbing, 0.9, beta, CHOICE) == pytest.approx(expected)
    np.testing.assert_array_equal(CHOICE, before)
    same = backward_targets(REWARDS, ACTIONS, NEXT_Q, absorbing, 0.9, beta, NEXT_Q)
    assert same.tolist() == backward_targets(REWARDS, ACTIONS, NEXT_Q, absorbing, 0.9, beta).tolist()


# --- sampler ---------------------------------------------------------------------------------------------------------
class Play:
    """A memory, the sampler on it, and transitions whose reward is their number; the target network knows nothing. It
    is the agent, too."""

    gamma: float

    def __init__(self, capacity: int = 1000, **settings):
        self.ring, self.capacity = Ring(capacity, FIELDS), capacity
        self.gamma = settings.pop("gamma", 1.0)
        self.value, self.calls = 0.0, 0
        self.sampler = EBU(self, self, np.random.default_rng(0), **({"beta": 0.0, "double": False} | settings))

    def __getitem__(self, field: str) -> np.ndarray:
        return self.ring[field]

    def batch(self, slots: np.ndarray) -> Batch:
        nothing = torch.zeros(len(slots))
        return Batch(nothing, nothing, nothing, nothing, nothing)

    def next_target_q(self, batch: Batch) -> torch.Tensor:
        self.calls += 1
        return torch.full((len(batch.reward), 2), self.value)

    def step(self, end: str = "goes on", env_id: int = 0) -> None:
        number = self.sampler.count
        index = self.ring.add(reward=float(number), action=0)
        self.sampler.add(index, Step(None, 0, float(number), None, end == "terminal", end == "time-out", env_id))

    def episode(self, length: int, end: str = "terminal") -> None:
        for k in range(length):
            self.step(end if k == length - 1 else "goes on")

    def sample(self, n: int) -> tuple[list[int], list[float]]:
        slots, weights, targets = self.sampler.sample(n)
        assert (weights == 1).all()
        assert slots.shape == targets.shape == (n,)
        assert slots.dtype.kind == "i"
        assert targets.dtype == np.float32
        return slots.tolist(), targets.tolist()


def test_targets_stay_until_the_episode_is_used_up():
    play = Play()
    play.episode(4)
    play.value = 100.0
    assert play.sample(2) == ([3, 2], [3.0, 102.0])
    play.value = 200.0  # the target network moves on
    assert play.sample(2) == ([1, 0], [101.0, 100.0])
    assert play.calls == 1
    assert play.sample(2) == ([3, 2], [3.0, 202.0])


def test_the_rest_of_a_batch_is_the_end_of_further_episodes():
    play = Play()
    play.episode(5)
    play.episode(3)
    fillers = set()
    for _ in range(50):
        slots = play.sample(4)[0]
        if slots[0] == 7:  # the short episode, and one more
            assert slots[:3] == [7, 6, 5]
            fillers.add(tuple(slots[3:]))
        else:
            slots += play.sample(4)[0]
            assert slots[:5] == [4, 3, 2, 1, 0]
            fillers.add(tuple(slots[5:]))
    assert fillers == {(4,), (7,), (4, 3, 2), (7, 6, 5)}
    play = Play()
    play.episode(2)
    assert play.sample(7)[0] == [1, 0, 1, 0, 1, 0, 1]


def test_episodes_are_drawn_uniformly():
    play = Play()
    for length in (1, 2, 3, 4, 5):
        play.episode(length)
    last = Counter()
    for _ in range(4000):
        slots = play.sample(1)[0]
        last.update(slot for slot in slots if slot in (0, 2, 5, 9, 14))
    assert stats.chisquare(list(last.values())).pvalue > 0.001


def test_the_running_episode_is_not_served():
    play = Play()
    assert play.sampler.sample(2) is None
    play.step()
    assert play.sampler.sample(2) is None
    play.step("terminal")
    assert play.sample(2)[0] == [1, 0]
    for _ in range(5):
        play.step()
    assert {slot for _ in range(20) for slot in play.sample(2)[0]} == {0, 1}


def test_time_outs_bootstrap_and_can_be_left_out():
    with_them, without = Play(), Play(timeouts=False)
    for play in (with_them, without):
        play.value = 50.0
        play.episode(3, "time-out")
    assert with_them.sample(3) == ([2, 1, 0], [52.0, 51.0, 50.0])
    assert without.sampler.sample(2) is None
    without.episode(2)
    assert without.sample(2) == ([4, 3], [4.0, 53.0])
    assert {slot for _ in range(20) for slot in without.sample(2)[0]} == {3, 4}


def test_the_first_transitions_can_be_dropped():
    play = Play(drop_first=3)
    play.episode(3)  # nothing is left of it
    assert play.sampler.sample(2) is None
    play.episode(5)
    play.episode(2)
    assert play.sample(2)[0] == [7, 6]
    assert play.sample(2)[0] == [7, 6]


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000), capacity=st.integers(8, 60), n=st.integers(1, 12), every=st.integers(1, 6),
    longest=st.integers(1, 25),
)  # fmt: skip
def test_what_the_ring_has_overwritten_is_never_served(seed, capacity, n, every, longest):
    """With a target equal to the reward, a served target tells which transition was meant."""
    play, rng = Play(capacity, gamma=0.0), np.random.default_rng(seed)
    for step in range(300):
        play.step(["goes on", "terminal", "time-out"][int(rng.integers(3)) if rng.random() < 2 / longest else 0])
        if step % every == 0 and (chosen := play.sampler.sample(n)) is not None:
            slots, _, numbers = chosen
            assert play["reward"][slots].tolist() == numbers.tolist()


def test_an_episode_leaves_with_its_first_transition():
    play = Play(capacity=10)
    play.episode(4)  # 0-3
    play.episode(4)  # 4-7
    play.episode(3)  # 8-10, of which 10 is in slot 0
    assert {slot for _ in range(100) for slot in play.sample(1)[0]} == {4, 5, 6, 7, 8, 9, 0}
    play.episode(4)  # 11-14: 4 is gone, and with it the second episode
    assert {slot for _ in range(100) for slot in play.sample(1)[0]} == {8, 9, 0, 1, 2, 3, 4}


def test_the_list_of_episodes_stays_short():
    play = Play(capacity=100)
    for _ in range(25_000):
        play.step("terminal")
    assert len(play.sampler._episodes) < 10_300
    assert {slot for _ in range(500) for slot in play.sample(4)[0]} == set(range(100))


def test_episodes_of_environments_side_by_side_are_kept_apart():
    """Two of them take turns: transitions 0, 2, 4 are one episode, 1, 3, 5 the other."""
    play = Play()
    for end, env_id in [("goes on", 0), ("goes on", 1)] * 2 + [("terminal", 0), ("time-out", 1)]:
        play.step(end, env_id)
    play.value = 100.0
    seen = {tuple(play.sample(3)[0]) for _ in range(30)}
    assert seen == {(4, 2, 0), (5, 3, 1)}


def test_values_of_long_episodes_are_asked_for_in_parts(monkeypatch):
    monkeypatch.setattr(ebu, "CHUNK", 3)
    play = Play(beta=0.5)
    play.value = 10.0
    play.episode(8)
    parts = play.sampler.sample(8)[2].tolist()
    assert play.calls == 3
    monkeypatch.setattr(ebu, "CHUNK", 512)
    assert play.sampler.sample(8)[2].tolist() == parts and play.calls == 4
