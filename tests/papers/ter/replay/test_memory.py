"""The memory of tiles; what it stores in training is in test_trainer.py."""

from types import SimpleNamespace

import numpy as np

from papers.ter.replay.memory import TileMemory


def test_a_batch_is_kept_until_something_is_stored():
    memory = TileMemory(SimpleNamespace(grid_shape=(2, 3)), capacity=2, pictures=None)
    zeros = np.zeros((2, 3), np.uint8)
    for code in (1, 2):
        memory.add(zeros + code, code, 0.5 * code, zeros + code + 1, False)
    slots = np.array([1, 0])
    batch = memory.batch(slots)
    assert batch.action.tolist() == [2, 1] and batch.reward.tolist() == [1.0, 0.5]
    assert memory.batch(slots) is batch
    memory.add(zeros + 3, 3, 1.5, zeros + 4, True)  # in slot 0
    later = memory.batch(slots)
    assert later.action.tolist() == [2, 3] and later.reward.tolist() == [1.0, 1.5]
    assert later.absorbing.tolist() == [0, 1] and later.next_frame[1].unique().tolist() == [4]
