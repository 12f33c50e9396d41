"""The memory of tiles; what it stores in training is in test_trainer.py."""

import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from papers.ter.replay.memory import TileMemory
from tests.processes import fresh

ENV = SimpleNamespace(grid_shape=(2, 3), tiles=np.random.default_rng(0).integers(0, 255, (9, 4, 4, 3), np.uint8))


def filled(pictures: int | None = None) -> tuple[TileMemory, list]:
    """A memory of the last 20 of 33 random steps, and all of them: (codes, action, reward, next codes, absorbing)."""
    memory, rng, steps = TileMemory(ENV, 20, pictures), np.random.default_rng(0), []
    for k in range(33):
        codes, after = rng.integers(0, 2, (2, 2, 3), np.uint8)
        steps.append((codes, int(rng.integers(7)), 0.5 * k, after, bool(k % 3 == 0)))
        memory.begin(codes)
        assert memory.add(*steps[-1][1:]) == k % 20
    return memory, steps


@pytest.mark.parametrize("pictures", [None, 36])
def test_a_batch_against_the_steps(pictures):
    memory, steps = filled(pictures)
    memory = pickle.loads(pickle.dumps(memory))
    slots = np.array([0, 19, 4, 4, 12, 13])
    batch, expected = memory.batch(slots), [steps[k] for k in (20, 19, 24, 24, 32, 13)]
    codes, after = (np.stack([step[k] for step in expected]) for k in (0, 3))
    assert torch.equal(batch.frame, memory.draw(codes)) and torch.equal(batch.next_frame, memory.draw(after))
    assert batch.frame.shape == ((6, 2, 3) if pictures is None else (6, 3, 36, 36))
    assert batch.action.tolist() == [step[1] for step in expected] and batch.action.dtype == torch.int64
    assert batch.reward.tolist() == [step[2] for step in expected]
    assert batch.absorbing.tolist() == [float(step[4]) for step in expected]
    assert batch.ids.dtype == batch.next_ids.dtype == np.int32
    np.testing.assert_array_equal(memory.states[batch.ids], codes)
    np.testing.assert_array_equal(memory.states[batch.next_ids], after)


def test_a_batch_is_kept_until_something_is_stored():
    memory, slots = filled()[0], np.array([13, 2])
    batch = memory.batch(slots)
    assert memory.batch(slots) is batch
    memory.begin(memory.states[int(batch.ids[1])])
    memory.add(5, 99.0, memory.states[int(batch.ids[0])], True)  # in slot 13
    later = memory.batch(slots)
    assert later.reward.tolist() == [99.0, batch.reward[1].item()] and later.action.tolist()[0] == 5
    assert torch.equal(later.next_frame[0], batch.frame[0]) and later.absorbing.tolist()[0] == 1.0


def test_no_step_begins_where_an_episode_has_ended():
    memory, (one, two, three) = TileMemory(ENV, 20, None), np.eye(3, 6, dtype=np.uint8).reshape(3, 2, 3)
    with pytest.raises(ValueError, match=r"^no episode is running: call begin\(\) with its first state$"):
        memory.add(0, 0.0, one, False)
    memory.begin(one)
    memory.add(0, 0.0, two, False, ended=True)
    with pytest.raises(ValueError, match="no episode is running"):
        memory.add(0, 0.0, three, False)
    assert len(memory.ring) == 1
    memory.begin(three)
    memory.begin(one)  # the one before was given up
    memory.add(0, 0.0, three, False)
    np.testing.assert_array_equal(memory.states[memory["state"][:2]], [one, one])


WEIGH = """
import numpy as np
from papers.ter.replay import fast_graph, graph, states
from papers.ter.replay.graph import RandomProjection

def resident(what):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(what))

class Itself:  # a projection in which all states differ
    matrix = np.zeros((3, 1))
    def __call__(self, codes):
        return np.full(3, codes.view(np.uint32)[0], np.float64).tobytes()

def number(k, cells):
    codes = np.zeros(cells, np.uint8)
    codes[:4] = np.array([k], np.uint32).view(np.uint8)
    return codes

N = {n}
states.StateTable((4,)).see(number(1, 4)), fast_graph.FastGraph(2).add(0, 1, False)  # kernels are loaded
before = resident("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # the peak starts here
{what}
print(resident("VmHWM") - before, announced)
"""
CASES = {
    "table": "t = states.StateTable((9, 9)); announced = states.table_bytes(N, 81)\n"
    "for k in range(N): t.see(number(k, 81))",
    "fast graph": "t = states.StateTable((4,)); phi = states.Vertices(Itself(), t); g = fast_graph.FastGraph(N)\n"
    "announced = fast_graph.graph_bytes(N, 2 * N + 1) + states.table_bytes(2 * N + 1, 4)\n"
    "for k in range(2 * N): g.add(phi(t.see(number(k, 4))), phi(t.see(number(k + 1, 4))), k % 9 == 0)",
    "literal graph": "g = graph.TransitionGraph(N); announced = graph.graph_bytes(N)\n"
    "phi, key = Itself(), Itself()(number(0, 4))\n"
    "for k in range(2 * N): after = phi(number(k + 1, 4)); g.add(key, after, k % 9 == 0); key = after",
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="asks Linux")
@pytest.mark.parametrize("what", CASES)
def test_announced_memory_is_what_new_states_with_every_step_take(what):
    """Just after everything has grown for the last time; and not four times as much."""
    code = WEIGH.format(n=2**16 + 1, what=CASES[what])
    done = subprocess.run([sys.executable, "-c", code], env=fresh(), capture_output=True, text=True, check=True)
    taken, announced = map(int, done.stdout.split())
    assert 0.25 * announced < taken < announced + 4e6, f"{taken / announced:.2f}"  # beside them the heap has holes
