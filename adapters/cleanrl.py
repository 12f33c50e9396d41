"""CleanRL's replay buffer with any sampler: instead of `ReplayBuffer` of `cleanrl_utils.buffers`, see README.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from adapters.stable_baselines3 import SampledReplayBuffer
from common.replay.protocol import Sampler

FINAL = ("final_obs", "final_observation")
"""Where vector environments write the last observation of an episode: gymnasium 1, and 0.29."""


class ReplayBuffer(SampledReplayBuffer):
    """Is made and used as CleanRL's, and asks a sampler.

    make_sampler: capacity -> sampler. `sample` adds `weights` [n, 1] to the batch; the script says what came of it by
    `rb.sampler.update(rb.indices, {"td_error": ...})`. provides: all that it says there.
    """

    def __init__(
        self,
        *args: Any,
        make_sampler: Callable[[int], Sampler],
        provides: frozenset[str] = frozenset({"td_error"}),
        **settings: Any,
    ):
        super().__init__(*args, make_sampler=make_sampler, provides=provides, **settings)

    def add(self, obs, next_obs, action, reward, done, infos) -> None:
        """One step of all environments; done: where the task is over, infos: those of gymnasium's vector environment,
        which alone know of time limits."""
        if isinstance(infos, Mapping):
            next_obs, infos = told_apart(next_obs, done, infos)
        super().add(obs, next_obs, action, reward, done, infos)


def told_apart(
    next_obs: np.ndarray, terminations: np.ndarray, infos: Mapping[str, Any]
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """What a step led to, also where an episode ended, and the infos of each environment as Stable-Baselines3 has them.

    A script may leave the first observation of the next episode where the task is over: nothing is bootstrapped there.
    But a sampler that reads steps would join both episodes.
    """
    next_obs, each = next_obs.copy(), []
    cut = np.zeros(len(next_obs), bool)
    for key in FINAL:
        for e in np.flatnonzero(infos.get(f"_{key}", [])).tolist():
            next_obs[e], cut[e] = infos[key][e], not terminations[e]
    for e in range(len(next_obs)):
        total = _return(infos, e)
        each.append({"TimeLimit.truncated": bool(cut[e])} | ({} if total is None else {"episode": {"r": total}}))
    return next_obs, each


def _return(infos: Mapping[str, Any], e: int) -> float | None:
    """Of the episode that ended in environment e, where it is recorded."""
    final = infos.get("final_info", infos)
    if not isinstance(final, Mapping):  # gymnasium 0.29: one dictionary per environment, or None
        found = (final[e] or {}).get("episode", {}).get("r")
    else:
        found = final["episode"]["r"][e] if "episode" in final and final["_episode"][e] else None
    return None if found is None else float(np.reshape(found, -1)[0])
