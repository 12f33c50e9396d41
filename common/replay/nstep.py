"""n-step returns of transitions that lie in a ring in the order in which one environment produced them."""

from __future__ import annotations

import numpy as np
from numba import njit


def n_step(
    rewards: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    indices: np.ndarray,
    n: int,
    gamma: float,
    next_index: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum of up to `n` discounted rewards from each start slot, and how to continue it with a value.

    `rewards`, `terminated`, `truncated` are the ring's arrays [capacity], `next_index` is the slot that the next
    transition will fill (`Ring.next_index`), `indices` [batch] are filled slots. Returns, all [batch],

    - the reward sums R (float32),
    - the slots `last` (int64) of the last transition of each sum: the value is that of *its* next state,
    - the discounts D (float32) of that value: gamma^(number of rewards), or 0 after a termination.

    The target is R + D * V(next state of `last`). A sum ends with its episode: a termination has no value after it,
    a time-out is continued with the value of its true final state. It also ends with the newest transition; what
    follows in the ring is the oldest one. So every stored transition is a valid start, also the last n - 1 of an
    episode. IndexError for a slot outside the ring.
    """
    if n < 1:
        raise ValueError(f"an n-step return needs n of at least 1, not {n}")
    newest = (next_index - 1) % len(rewards)
    return _n_step(rewards, terminated, truncated, np.ascontiguousarray(indices, np.int64), n, gamma, newest)


@njit(cache=True)
def _n_step(rewards, terminated, truncated, indices, n, gamma, newest):
    sums = np.empty(indices.size, np.float32)
    last = np.empty(indices.size, np.int64)
    discounts = np.empty(indices.size, np.float32)
    for k in range(indices.size):
        slot = indices[k]
        if not 0 <= slot < rewards.size:  # a kernel does not check array bounds
            raise IndexError("index outside the ring")
        total, discount = 0.0, 1.0
        for _ in range(n):
            total += discount * rewards[slot]
            discount *= gamma
            last[k] = slot
            if terminated[slot]:
                discount = 0.0
            if terminated[slot] or truncated[slot] or slot == newest:
                break
            slot = slot + 1 if slot + 1 < rewards.size else 0
        sums[k], discounts[k] = total, discount
    return sums, last, discounts
