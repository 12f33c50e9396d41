"""The memory of frames against a plain twin that keeps the whole history; ends of episodes, edges, pickling, room."""

import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from common.replay.frames import FrameMemory

SHAPE = (2, 3)
GAMMA = 0.9


@dataclass
class Told:
    """An episode as it happened: T steps, T + 1 frames (the last one is that after the last step)."""

    frames: list[np.ndarray]
    actions: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    end: str = "goes on"


class Twin:
    """Keeps all episodes, and makes stacks and returns of them by the definition."""

    def __init__(self, stack: int, n: int):
        self.stack, self.n = stack, n
        self.episodes: list[Told] = []

    def state(self, episode: Told, t: int) -> np.ndarray:
        black = np.zeros(SHAPE, np.uint8)
        return np.stack([episode.frames[s] if s >= 0 else black for s in range(t - self.stack + 1, t + 1)])

    def transitions(self) -> list[tuple]:
        """All whose return is complete, in the order of their steps."""
        found = []
        for episode in self.episodes:
            length = len(episode.actions)
            for t in range(length):
                last = min(t + self.n, length)
                if t + self.n > length and episode.end == "goes on":
                    break
                reward = sum(GAMMA ** (s - t) * episode.rewards[s] for s in range(t, last))
                terminated = episode.end == "terminated" and last == length
                ahead = np.zeros((self.stack, *SHAPE), np.uint8) if terminated else self.state(episode, last)
                discount = 0.0 if terminated else GAMMA ** (last - t)
                found.append((self.state(episode, t), episode.actions[t], reward, discount, ahead, t))
        return found


def picture(number: int) -> np.ndarray:
    """Different for up to 65,535 numbers, and never black."""
    return np.array([[1, number % 256, number // 256], [2, 3, 4]], np.uint8)


def play(memory: FrameMemory, twin: Twin, ends: list[str], rewards: np.random.Generator) -> list[int]:
    """One step per entry of `ends`; returns the slots in the order in which the memory named them.

    "cut": the episode is given up after the step, which is all the same to the twin as if the time limit had cut it.
    """
    number = sum(len(episode.frames) for episode in twin.episodes)
    slots = []
    for end in ends:
        if not twin.episodes or twin.episodes[-1].end != "goes on":
            twin.episodes.append(Told([picture(number)]))
            memory.reset(picture(number))
            number += 1
        episode = twin.episodes[-1]
        episode.frames.append(picture(number))
        episode.actions.append(number % 5)
        episode.rewards.append(float(rewards.integers(-3, 4)))
        episode.end = "truncated" if end == "cut" else end
        slots += memory.add(
            episode.actions[-1], episode.rewards[-1], picture(number), end == "terminated", end == "truncated"
        )
        slots += memory.cut() if end == "cut" else []
        number += 1
    return slots


def assert_equal_to_twin(memory: FrameMemory, twin: Twin) -> None:
    expected = twin.transitions()
    kept = range(len(expected) - len(memory), len(expected))
    batch = memory.batch(np.array([k % memory.transitions.capacity for k in kept], np.int64))
    kinds = [part.dtype for part in vars(batch).values()]
    assert kinds == [torch.uint8, torch.int64, torch.float32, torch.float32, torch.uint8]
    for row, k in enumerate(kept):
        state, action, reward, discount, next_state, t = expected[k]
        np.testing.assert_array_equal(batch.state[row], state)
        np.testing.assert_array_equal(batch.next_state[row], next_state)
        assert batch.action[row] == action and memory.transitions["t"][k % memory.transitions.capacity] == t
        assert float(batch.reward[row]) == pytest.approx(reward, abs=1e-5)
        assert float(batch.discount[row]) == pytest.approx(discount)


ends = st.lists(st.sampled_from(["goes on"] * 5 + ["terminated", "truncated", "cut"]), min_size=1, max_size=60)


@settings(deadline=None)
@given(ends=ends, capacity=st.integers(1, 20), n=st.integers(1, 6), stack=st.integers(1, 4), seed=st.integers(0, 9))
def test_equals_the_plain_twin(ends, capacity, n, stack, seed):
    memory = FrameMemory(capacity, n, GAMMA, cut_every=1, shape=SHAPE, stack=stack)
    twin, rewards = Twin(stack, n), np.random.default_rng(seed)
    slots = []
    for step in range(len(ends)):
        slots += play(memory, twin, ends[step : step + 1], rewards)
        told = twin.episodes[-1]
        assert slots == [k % capacity for k in range(len(twin.transitions()))]  # one after another, none twice
        assert len(memory) == min(len(slots), capacity)
        if told.end == "goes on":
            np.testing.assert_array_equal(memory.state(), twin.state(told, len(told.actions)))
        assert_equal_to_twin(memory, twin)


def test_three_steps_by_hand():
    memory = FrameMemory(10, 2, 0.5, cut_every=100, shape=(1, 1), stack=2)
    frame = [np.full((1, 1), value, np.uint8) for value in (10, 11, 12, 13, 20)]
    memory.reset(frame[0])
    assert memory.state().ravel().tolist() == [0, 10]
    assert memory.add(3, 1.0, frame[1], False, False) == []
    assert memory.add(4, 2.0, frame[2], False, False) == [0] and memory.since(0) == 2
    assert memory.add(5, 4.0, frame[3], False, True) == [1, 2] and [memory.since(k) for k in (1, 2)] == [2, 1]
    memory.reset(frame[4])
    assert memory.state().ravel().tolist() == [0, 20]
    batch = memory.batch(np.array([2, 0, 1]))
    assert batch.action.tolist() == [5, 3, 4]
    assert batch.state.flatten(1).tolist() == [[11, 12], [0, 10], [10, 11]]
    assert batch.reward.tolist() == [4, 1 + 0.5 * 2, 2 + 0.5 * 4]
    assert batch.discount.tolist() == [0.5, 0.25, 0.25]  # the time limit: the value of the last frame goes on
    assert batch.next_state.flatten(1).tolist() == [[12, 13], [11, 12], [12, 13]]


def test_a_termination_has_no_value_after_it_and_its_frame_is_not_kept():
    memory = FrameMemory(10, 3, 0.5, cut_every=100, shape=(1, 1), stack=2)
    memory.reset(np.full((1, 1), 10, np.uint8))
    memory.add(0, 1.0, np.full((1, 1), 11, np.uint8), False, False)
    assert memory.add(1, 2.0, np.full((1, 1), 99, np.uint8), True, False) == [0, 1]
    batch = memory.batch(np.array([0, 1]))
    assert batch.reward.tolist() == [1 + 0.5 * 2, 2] and batch.discount.tolist() == [0, 0]
    assert batch.state.flatten(1).tolist() == [[0, 10], [10, 11]] and not batch.next_state.any()
    assert 99 not in memory.frames["frame"]


def test_fields_are_read_by_slot():
    """Of six one-step transitions the last four are kept; the fifth and sixth lie in the slots of the first two."""
    memory = FrameMemory(4, 1, 0.5, cut_every=100, shape=(1, 1), stack=2)
    memory.reset(np.full((1, 1), 10, np.uint8))
    assert memory.capacity == 4 and len(memory) == 0
    for step in range(6):
        memory.add(step, 10.0 * step, np.full((1, 1), 11 + step, np.uint8), step == 5, False)
    assert memory["action"].tolist() == [4, 5, 2, 3]
    assert memory["reward"].tolist() == [40, 50, 20, 30]
    assert memory["discount"].tolist() == [0.5, 0, 0.5, 0.5]
    assert memory.capacity == len(memory) == 4
    assert np.shares_memory(memory["reward"], memory.transitions["reward"])


@pytest.mark.parametrize("steps", [3, 9, 40])
def test_pickled_in_the_middle_it_continues_identically(steps):
    memory, twin = FrameMemory(12, 4, GAMMA, cut_every=2, shape=SHAPE, stack=3), Twin(3, 4)
    pattern = ["goes on"] * 5 + ["truncated"] + ["goes on"] * 6 + ["terminated"]
    rng = np.random.default_rng(0)
    play(memory, twin, (pattern * 4)[:steps], rng)
    memory = pickle.loads(pickle.dumps(memory))
    play(memory, twin, (pattern * 5)[steps:], rng)
    assert_equal_to_twin(memory, twin)


def test_room_is_enough_for_as_many_cut_episodes_as_announced_and_not_for_more():
    def cut_after(steps: int) -> None:
        memory, twin = FrameMemory(50, 3, GAMMA, cut_every=10, shape=SHAPE, stack=4), Twin(4, 3)
        play(memory, twin, (["goes on"] * (steps - 1) + ["truncated"]) * (400 // steps), np.random.default_rng(0))
        assert_equal_to_twin(memory, twin)

    cut_after(10)
    with pytest.raises(ValueError, match="cut by a time limit more often"):
        cut_after(4)


def test_frames_are_stored_once():
    """A memory for 100,000 steps takes less than 1 GB; no frame is kept twice."""
    memory = FrameMemory(1000, 20, 0.99, cut_every=13_500)
    assert sum(array.nbytes for array in (memory.frames["frame"],)) <= 1.03 * 1000 * 84 * 84
    per_step = 84 * 84 + sum(np.dtype(dtype).itemsize for _, dtype in memory.transitions.fields.values())
    assert 100_000 * per_step < 0.8e9


def test_misuse():
    with pytest.raises(ValueError, match="at least 1"):
        FrameMemory(10, 0, 0.99, cut_every=1)
    memory = FrameMemory(10, 3, 0.99, cut_every=1, shape=SHAPE)
    memory.reset(picture(1))
    memory.add(0, 0.0, picture(2), False, False)
    with pytest.raises(ValueError, match=r"has not ended.*; call cut\(\) first$"):
        memory.reset(picture(3))
    assert memory.cut() == [0] and memory.cut() == []
    memory.reset(picture(3))
    memory.add(0, 0.0, picture(4), True, False)
    fresh = FrameMemory(10, 3, 0.99, cut_every=1, shape=SHAPE)
    for one in (memory, fresh):  # after an end, and before a beginning
        stored, seen = len(one), one.seen
        with pytest.raises(ValueError, match=r"^no episode is running: call reset\(\) with its first frame$"):
            one.add(0, 0.0, picture(5), False, False)
        assert (len(one), one.seen) == (stored, seen)
    with pytest.raises(MemoryError, match="choose a smaller replay capacity"):
        FrameMemory(10**12, 20, 0.99, cut_every=13_500)
