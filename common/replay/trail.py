"""Does a step follow the last one? Code that remembers episodes asks here, so as not to join unrelated steps.

A collector may start over without saying so: a second `learn()`, a rollout cut at its length, a run loaded in
mid-episode. Then the next step does not start where the last one ended, which gives it away. If it happens to start at
the very same observation, nothing does: call `Sampler.cut`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from common.replay.protocol import Step

OPENS, FOLLOWS, CUT = "opens", "follows", "cut"
"""What a step is: the first of an episode, after an end or an announced cut; the next one; the first of an episode
although the one before has not ended."""


class Trail:
    """Where the running episode of each environment is."""

    def __init__(self) -> None:
        self._ends: dict[int, Any] = {}  # env_id -> where its last step ended, as `_kept` returns it

    def add(self, step: Step) -> str:
        """Move on to `step`; return OPENS, FOLLOWS or CUT."""
        env, was = step.env_id, OPENS
        if env in self._ends:
            was = FOLLOWS if _same(self._ends[env], _kept(step.observation)) else CUT
        if step.terminated or step.truncated:
            self._ends.pop(env, None)
        else:
            self._ends[env] = _kept(step.next_observation)
        return was

    def cut(self, env_id: int | None = None) -> None:
        """End the running episode of an environment; None: of all of them."""
        for env in [*self._ends] if env_id is None else [env_id]:
            self._ends.pop(env, None)


def _kept(observation: Any) -> Any:
    """A copy to compare with: many environments write each observation into the same array."""
    if isinstance(observation, np.ndarray) and not observation.dtype.hasobject:
        return observation.dtype, observation.shape, observation.tobytes()
    if observation is None or isinstance(observation, (int, float, str, bytes, np.generic)):
        return observation
    if isinstance(observation, Mapping):
        return {name: _kept(part) for name, part in observation.items()}
    if isinstance(observation, (tuple, list)):
        return tuple(map(_kept, observation))
    if isinstance(observation, np.ndarray):
        return _kept(observation.tolist())
    return _kept(np.asarray(observation)) if hasattr(observation, "__array__") else observation


def _same(a: Any, b: Any) -> bool:
    """Compare bit by bit, so that nan equals nan; 1.0 as float32 equals 1.0 as float64."""
    if a == b:
        return True
    if not (isinstance(a, tuple) and isinstance(b, tuple) and a and b and isinstance(a[0], np.dtype)):
        return False
    return a[0] != b[0] and a[1] == b[1] and np.array_equal(_array(a), _array(b))


def _array(kept: Any) -> np.ndarray:
    dtype, shape, content = kept
    return np.frombuffer(content, dtype).reshape(shape)
