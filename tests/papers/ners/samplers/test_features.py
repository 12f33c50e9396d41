"""What samplers see of a transition between vectors, column by column."""

import numpy as np
import pytest
import torch

from common.replay.storage import Ring
from papers.ners.samplers.features import Clock, VectorTransitions


def memory(capacity: int = 3) -> Ring:
    """Four transitions k: state (k, -k), action k / 10, reward 10 k, next state (k + 1, -k - 1), time 5 k."""
    ring = Ring(capacity, {
        "state": ((2,), np.float32), "action": ((1,), np.float32), "reward": ((), np.float32),
        "next_state": ((2,), np.float32), "terminal": ((), np.float32), "time": ((), np.int32),
    })  # fmt: skip
    for k in range(4):
        ring.add(state=[k, -k], action=[k / 10], reward=10 * k, next_state=[k + 1, -k - 1], terminal=1.0, time=5 * k)
    return ring


def clock(kind: str) -> Clock:
    """Slots 0, 1 and 2 hold what was played at the environment steps 300, 100 and 200."""
    return Clock(kind, 20, np.array([300, 100, 200]))


@pytest.mark.parametrize(
    ("kind", "times"), [("share", [0.5, 0.75]), ("episode", [10, 15]), ("environment", [200, 300])]
)
def test_three_readings_of_the_time_step(kind, times):
    """Of transitions 2 and 3 in slots 2 and 0."""
    seen = VectorTransitions(memory(), clock(kind))
    assert (
        seen.full(np.array([2, 0]))[0][:, -1].tolist() == seen.reward_and_time(np.array([2, 0]))[:, 1].tolist() == times
    )


def test_columns_by_hand():
    """Slot 0 has been overwritten by transition 3."""
    seen = VectorTransitions(memory(), clock("share"))
    (full,) = seen.full(np.array([2, 0, 2]))
    row2, row3 = [2, -2, 0.2, 20, 3, -3, 0.5], [3, -3, 0.3, 30, 4, -4, 0.75]
    torch.testing.assert_close(full, torch.tensor([row2, row3, row2]))
    torch.testing.assert_close(seen.reward_and_time(np.array([1, 0])), torch.tensor([[10.0, 0.25], [30.0, 0.75]]))
    assert seen.n_features == full.shape[1] == 7


def test_transitions_are_read_anew():
    ring = memory()
    seen, slots = VectorTransitions(ring, clock("share")), np.array([1])
    before = seen.full(slots)[0]
    ring.add(state=[9, 9], action=[9], reward=9, next_state=[9, 9], terminal=0.0, time=20)
    torch.testing.assert_close(seen.full(slots)[0], torch.tensor([[9.0, 9, 9, 9, 9, 9, 1]]))
    torch.testing.assert_close(before[0, :2], torch.tensor([1.0, -1.0]))  # a copy
    torch.testing.assert_close(seen.reward_and_time(slots), torch.tensor([[9.0, 1.0]]))
