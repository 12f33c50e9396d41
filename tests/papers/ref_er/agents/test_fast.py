"""The learners as they are run against the forms to read: the same steps, rounding apart."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from papers.ref_er.agents.ddpg import DDPG
from papers.ref_er.agents.fast import FastDDPG, FastNAF, FastVRACER
from papers.ref_er.agents.naf import NAF
from papers.ref_er.agents.networks import MLP, Network
from papers.ref_er.agents.vracer import VRACER
from papers.ref_er.memory.memory import EpisodeMemory
from papers.ref_er.recurrent.recurrent import LSTM, WindowMemory
from papers.ref_er.refer import RULES
from tests.papers.ref_er.agents.test_vracer import drawable, filled, random_weights, refer, shaken
from tests.papers.ref_er.conftest import N_ACTIONS, N_STATES
from tests.papers.runs import flat

PAIRS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "vracer": (VRACER, FastVRACER, {}),
    "vracer reverse": (VRACER, FastVRACER, dict(reverse_kl=True)),
    "ddpg": (DDPG, FastDDPG, dict(noise=0.4, weight_decay=0.01)),
    "ddpg linear": (DDPG, FastDDPG, dict(noise=0.4, linear=True)),
    "vracer lstm": (VRACER, FastVRACER, dict(network=LSTM)),
    "ddpg lstm": (DDPG, FastDDPG, dict(noise=0.4, network=LSTM)),
    "naf": (NAF, FastNAF, dict(noise=0.4)),
    "naf residual": (NAF, FastNAF, dict(noise=0.4, network=partial(MLP, residual=True))),
}
STORED = ("values", "rho", "kl", "returns")


def pair(name: str, settings: dict[str, Any]) -> list[tuple[Any, EpisodeMemory]]:
    """The form to read and the fast one, each with a memory; the policy is far from some of the old ones."""
    found = []
    for kind in PAIRS[name][:2]:
        one = kind(N_STATES, N_ACTIONS, hidden=(8, 8), **settings)
        shaken(*(network for network in vars(one).values() if isinstance(network, Network)))
        memory = partial(WindowMemory, length=5) if settings.get("network") is LSTM else EpisodeMemory
        found.append((one, filled(std=0.4, kind=memory)))
    return found


@pytest.mark.parametrize("replay", RULES)
@pytest.mark.parametrize("name", PAIRS)
def test_ten_updates_are_those_of_the_form_to_read(name, replay):
    both = pair(name, PAIRS[name][2] | dict(lr=0.003))
    for step in range(10):
        rules = refer(replay)
        slots = np.random.default_rng(step).permutation(drawable(both[0][1]))[:24]
        errors = [one.update(memory, slots, random_weights(24), rules, 0.5) for one, memory in both]
        np.testing.assert_allclose(errors[1], errors[0], rtol=1e-3, atol=1e-4)
    (read, memory), (fast, other) = both
    for array in STORED:
        np.testing.assert_allclose(getattr(other, array), getattr(memory, array), rtol=1e-3, atol=1e-4, err_msg=array)
    assert other.count_far(rules.c_max) == memory.count_far(rules.c_max) > 0
    ours, theirs = flat(fast.weights()), flat(read.weights())
    for key, values in theirs.items():
        np.testing.assert_allclose(ours[key], values, rtol=1e-3, atol=1e-4, err_msg=key)


@pytest.mark.parametrize("name", ["vracer", "ddpg", "naf"])
def test_what_is_not_a_number_stays_so(name):
    """A run that diverges must be noticed, also where the sample is far and its gradient is cut."""
    _, (one, memory) = pair(name, PAIRS[name][2])
    slots = drawable(memory)
    memory.states[slots[0]] = np.nan
    errors = one.update(memory, slots, random_weights(32), refer(), 1.0)
    assert np.isnan(errors).sum() >= 1 and np.isnan(memory.rho[slots[0]])
    assert any(value.isnan().any() for value in flat(one.weights()).values())


IN_ANOTHER_PROCESS = """
import numpy as np
from papers.ref_er.agents.fast import Rules, Steps, ddpg_gradients

def draw(*shape):
    return rng.normal(size=shape).astype(np.float32)

rng, one = np.random.default_rng(0), np.float32(1.0)
rows = np.tanh(draw(64, 12))  # as in the memory, whose arrays are columns of one
rows[:, 8:11] = 0.2
steps = Steps(np.arange(32), *(rows[:, i : i + 3] for i in (0, 4, 8)), draw(64), np.zeros(64, np.uint8))
found = [np.empty((32, 3), np.float32), np.empty((32, 1), np.float32), *np.empty((3, 32), np.float32)]
ddpg_gradients(
    steps.means[:32] + 0.01 * draw(32, 3), rows[0, 8:11].copy(), draw(32, 1), draw(32, 1), draw(32, 5)[:, 2:], steps,
    one, one, draw(32), Rules(one / 2, one / 4, one * 4, True), False, *found,
)
print(len(ddpg_gradients.stats.cache_hits), *(array.tobytes().hex() for array in found))
"""


def test_the_process_that_compiles_a_kernel_computes_what_others_do_to_the_last_digit(tmp_path):
    """An interrupted run would otherwise differ, if it is the first in a new checkout."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).resolve().parents[4])}
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS]
    printed = [subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    (compiled, *ours), (loaded, *theirs) = (text.split() for text in printed)
    assert (compiled, loaded) == ("0", "1") and ours == theirs
