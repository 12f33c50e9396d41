"""CleanRL's replay buffer with any sampler, to replace `cleanrl_utils.buffers.ReplayBuffer`; see README.md."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from adapters.stable_baselines3 import Maker, SampledReplayBuffer
from common.replay.protocol import missing

FINAL = ("final_obs", "final_observation")
"""Where vector environments put the last observation of an episode: gymnasium 1, and 0.29."""


class ReplayBuffer(SampledReplayBuffer):
    """Made and used like CleanRL's, but asks a sampler.

    make_sampler: capacity -> sampler. `sample` adds `weights` [n, 1] to the batch; the script reports the results by
    `rb.sampler.update(rb.indices, {"td_error": ...})`. provides: names of anything else that it reports.
    """

    gives: ClassVar = SampledReplayBuffer.gives | {"td_error", "errors"}
    """"errors" is a function in the script, with which it makes the sampler."""

    def __init__(self, *args: Any, make_sampler: Maker, provides: Collection[str] = (), **settings: Any):
        self.gives = type(self).gives | frozenset(provides)  # type: ignore[misc]
        super().__init__(*args, make_sampler=make_sampler, **settings)
        self.handle_timeout_termination = True  # CleanRL leaves time limits to gymnasium's infos, read in `add`

    def check(self) -> None:
        if lacking := missing(self.sampler, self.gives):
            raise ValueError(
                f"{type(self.sampler).__name__} needs {', '.join(lacking)}, which is not given: if the script reports "
                "it, name it in provides"
            )

    def errors(self, slots: np.ndarray) -> np.ndarray:
        raise ValueError("only the script has networks: let it compute the TD errors of rb.batch(slots)")

    def add(self, obs, next_obs, action, reward, done, infos) -> None:
        """Add one step of all environments. done: where the task is over; infos: those of gymnasium's vector
        environment, which alone know about time limits."""
        if isinstance(infos, Mapping):
            next_obs, infos = told_apart(next_obs, done, infos)
            done = done | np.array([info["TimeLimit.truncated"] for info in infos])
        super().add(obs, next_obs, action, reward, done, infos)


def told_apart(
    next_obs: np.ndarray, terminations: np.ndarray, infos: Mapping[str, Any]
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return what a step led to, also where an episode ended, and each environment's infos as in Stable-Baselines3.

    Where the task is over, a script may pass the first observation of the next episode: nothing is bootstrapped there.
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
    """Return of the episode that ended in environment e, if it is recorded."""
    final = infos.get("final_info", infos)
    if not isinstance(final, Mapping):  # gymnasium 0.29: one dictionary per environment, or None
        found = (final[e] or {}).get("episode", {}).get("r")
    else:
        found = final["episode"]["r"][e] if "episode" in final and final["_episode"][e] else None
    return None if found is None else float(np.reshape(found, -1)[0])
