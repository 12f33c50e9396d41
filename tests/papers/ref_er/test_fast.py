"""The learners as they are run against the forms to read: the same steps, rounding apart."""

from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import pytest

from papers.ref_er.ddpg import DDPG
from papers.ref_er.fast import FastDDPG, FastNAF, FastVRACER
from papers.ref_er.memory import EpisodeMemory
from papers.ref_er.naf import NAF
from papers.ref_er.networks import MLP, Network
from papers.ref_er.recurrent import LSTM, WindowMemory
from papers.ref_er.refer import RULES
from papers.ref_er.vracer import VRACER
from tests.papers.ref_er.conftest import N_ACTIONS, N_STATES, flat
from tests.papers.ref_er.test_vracer import drawable, filled, random_weights, refer, shaken

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
def test_a_copy_goes_on_like_the_original(name):
    """Deep copies, as pickles, have vectors of their own, and the same steps."""
    _, (one, memory) = pair(name, PAIRS[name][2])
    slots = drawable(memory)
    one.update(memory, slots, random_weights(32), refer(), 1.0)
    twin, its = deepcopy((one, memory))
    before = {key: value.clone() for key, value in flat(twin.weights()).items()}
    one.update(memory, slots, random_weights(32), refer(), 1.0)
    assert all((flat(twin.weights())[key] == value).all() for key, value in before.items()), "its own"
    twin.update(its, slots, random_weights(32), refer(), 1.0)
    for key, value in flat(one.weights()).items():
        np.testing.assert_array_equal(flat(twin.weights())[key], value)
        assert not np.array_equal(before[key], value)


@pytest.mark.parametrize("name", ["vracer", "ddpg", "naf"])
def test_what_is_not_a_number_stays_so(name):
    """A run that diverges must be noticed, also where the sample is far and its gradient is cut."""
    _, (one, memory) = pair(name, PAIRS[name][2])
    slots = drawable(memory)
    memory.states[slots[0]] = np.nan
    errors = one.update(memory, slots, random_weights(32), refer(), 1.0)
    assert np.isnan(errors).sum() >= 1 and np.isnan(memory.rho[slots[0]])
    assert any(value.isnan().any() for value in flat(one.weights()).values())
