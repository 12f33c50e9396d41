"""Retrace's estimates of returns (Sec. 2), from the end of an episode to its start: as printed, and as it is run.

Arrays are those of an `EpisodeMemory`, [slots] float32, in which an episode may lie across the end. A reward is stored
with the step before it, so that Eq. (6) has t + 1 where the paper prints t. V-RACER takes Q := V: its `advantages`,
Q - V, are 0.
"""

import numpy as np
from numba import njit

ONE = np.float32(1.0)


def retrace_as_printed(first, length, rewards, values, advantages, rho, returns, gamma, scale):
    """Write Qret of the `length` steps from slot `first` on into `returns`, the last step first: the form to read.

    The slot after them, the episode's last state, already has its Qret.
    """
    for t in reversed(range(length)):
        slot, after = (first + t) % rewards.size, (first + t + 1) % rewards.size
        v, q, q_ret = values[after], values[after] + advantages[after], returns[after]
        v_tbc = v + min(1.0, rho[after]) * (q_ret - q)  # Eq. (7); with Q := V, and with Eq. (6) for Qret, Eq. (8)
        returns[slot] = scale * rewards[slot] + gamma * v_tbc  # Eq. (6)


@njit(cache=True)
def retrace(first, length, rewards, values, advantages, rho, returns, gamma, scale):
    """The same, compiled."""
    _back((first + length) % rewards.size, length, False, rewards, values, advantages, rho, returns, gamma, scale)


@njit(cache=True)
def correct(drawn, tail, steps, rewards, values, advantages, rho, returns, gamma, scale):
    """What `retrace` would change once V, Q and rho of the steps in the slots `drawn` have changed, and no more.

    tail: first slot of the oldest episode. Goes back from each drawn step, the latest first, until a float32 does not
    change (all earlier ones follow from it), or to the next drawn step or the start of the episode.
    """
    place = np.sort((drawn - tail) % rewards.size)  # episodes are contiguous
    for i in range(place.size - 1, -1, -1):
        slot = (place[i] + tail) % rewards.size
        length = steps[slot]
        if i > 0:
            length = min(length, place[i] - place[i - 1])
        _back(slot, length, True, rewards, values, advantages, rho, returns, gamma, scale)


@njit(cache=True)
def _back(after, length, stop, rewards, values, advantages, rho, returns, gamma, scale):
    """Qret of the `length` steps before slot `after`; `stop`: only until one does not change.

    Eqs. (6) to (8) as a fixed part plus a factor times the later Qret: only that product waits for the step before.
    """
    estimate = np.float64(returns[after])
    for _ in range(length):
        slot = after - 1 if after > 0 else rewards.size - 1
        trace = min(ONE, rho[after])
        kept = values[after] - trace * (values[after] + advantages[after])
        estimate = (rewards[slot] * scale + gamma * kept) + (gamma * trace) * estimate
        found = np.float32(estimate)
        if stop and found == returns[slot]:
            break
        returns[slot] = found
        after = slot
