"""Read steps from a TorchRL storage as our samplers need them, and find out which follow each other.

A storage holds rows, not episodes. A step continues the episode of the step before it, in the same environment, if it
starts from the observation where that one ended; if not, nothing is joined.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import torch
from tensordict import is_tensor_collection
from tensordict.utils import unravel_key
from torchrl.data.replay_buffers.storages import Storage

from common.replay.protocol import Step

Key = str | tuple[str, ...]
"""Name of an entry; a tuple if it is nested."""

TRAJECTORY = ("collector", "traj_ids")
"""Where TorchRL's collectors write which trajectory a step belongs to."""
ENDS = ("terminated", "truncated", "done")
NO_STATES = (*ENDS, "reward", "step_count", "is_init", "episode_reward")
"""Last parts of the names of entries that stand beside observations but are not observations."""
MIXED = (
    "steps do not follow each other: several environments or episodes are mixed, and nothing tells them apart; keep "
    f"the entry {TRAJECTORY}, name one as env_key, or extend by one rollout at a time"
)


class StepReader:
    """Reads steps from `storage`, laid out as TorchRL's environments make them.

    observation: name of its entry, or a list of names: then observations are dictionaries. action, reward: their
    entries. What is not given is found if only one entry can be meant. env_key: the entry that says which environment a
    step is from; by default ("collector", "traj_ids") if it is there, else the place in a row of a storage with several
    dimensions.

    `Step.env_id` is a number that consecutive steps of one episode share, whoever made them.
    """

    def __init__(
        self,
        storage: Storage,
        observation: Key | list[Key] | None = None,
        action: Key | None = None,
        reward: Key | None = None,
        env_key: Key | None = None,
    ):
        self.storage, self.env_key = storage, env_key
        self._given = (observation, action, reward)
        self._names: tuple[list[Key], Key, Key, dict[str, Key]] | None = None
        self._open: dict[int, tuple[int, bytes, bool]] = {}
        """Environment or trajectory -> number of its running episode, a digest of its latest observation, and whether
        it is a single step that did not follow the step before it."""
        self._free: list[int] = []  # numbers of episodes that are over, the latest last
        self._numbers = 0

    def read(self, slots: np.ndarray) -> list[Step]:
        """Return the steps in `slots` [n], which were written in this order.

        ValueError if an entry is missing or ambiguous, if `slots` are more than the storage holds, or if steps that
        nothing tells apart do not follow each other.
        """
        if len(slots) > len(np.unique(slots)):
            raise ValueError(f"{len(slots)} steps at once overwrite each other: extend by fewer than the storage holds")
        data = self._rows(slots)
        if self._names is None:
            self._names = self._find(data)
        states, action, reward, ends = self._names
        before = {name: _array(data[name]) for name in states}
        after = {name: _array(data["next"][name]) for name in states}
        rewards = _column(data["next"][reward], reward).astype(np.float64)
        end = {name: _column(data["next"][entry], entry).astype(bool) for name, entry in ends.items()}
        done = end["done"] if "done" in end else end["terminated"] | end.get("truncated", False)
        terminated = end["terminated"] if "terminated" in end else done & ~end.get("truncated", False)
        truncated = end.get("truncated", False) | (done & ~terminated)
        numbers = self._episodes(self._keys(data, slots), before, after, terminated | truncated)
        seen, then = (one[states[0]] if len(states) == 1 else _rows_of(one) for one in (before, after))
        return list(map(Step, seen, _array(data[action]), rewards.tolist(), then, terminated.tolist(),
                        truncated.tolist(), numbers))  # fmt: skip

    def _rows(self, slots: np.ndarray) -> Any:
        index: Any = torch.from_numpy(slots)
        if self.storage.ndim > 1:
            index = tuple(map(torch.from_numpy, np.unravel_index(slots, tuple(self.storage.shape))))
        data: Any = self.storage.get(index)
        return data if is_tensor_collection(data) else torch.stack(list(data))  # a ListStorage gives a list

    # ---- names -------------------------------------------------------------------------------------------------------
    def _find(self, data: Any) -> tuple[list[Key], Key, Key, dict[str, Key]]:
        now = [unravel_key(key) for key in data.keys(include_nested=True, leaves_only=True)]
        after = [unravel_key(key[1:]) for key in now if isinstance(key, tuple) and key[0] == "next"]
        observation, action, reward = self._given
        both = [key for key in after if key in now and _last(key) not in NO_STATES and key[0] != "collector"]
        many = observation if isinstance(observation, list) else [_only("observation", both, observation, True)]
        states = [unravel_key(key) for key in many]
        for key in states:
            if key not in both:
                raise ValueError(f"there is no entry {key!r} both in the steps and in their 'next'; there are {both}")
        actions = [key for key in now if _last(key) == "action" and key[0] != "next"]
        parents = {key[:-1] if isinstance(key, tuple) else () for key in after if _last(key) in ENDS}
        ends = {name: unravel_key((*parent, name)) for parent in parents for name in ENDS}
        ends = {name: key for name, key in ends.items() if key in after}
        if len(parents) != 1 or not {"terminated", "done"} & ends.keys():
            raise ValueError("steps need one entry 'terminated' or 'done' in their 'next'")
        rewards = [key for key in after if _last(key) == "reward"]
        return states, _only("action", actions, action), _only("reward", rewards, reward), ends

    # ---- which steps follow each other -------------------------------------------------------------------------------
    def _keys(self, data: Any, slots: np.ndarray) -> np.ndarray:
        """What tells environments or trajectories apart: int64 [n]."""
        if self.env_key is not None:
            return _column(data[self.env_key], self.env_key).astype(np.int64)
        if TRAJECTORY in data.keys(include_nested=True):
            return _column(data[TRAJECTORY], TRAJECTORY).astype(np.int64)
        return slots % int(np.prod(self.storage.shape[1:])) if self.storage.ndim > 1 else np.zeros_like(slots)

    def _episodes(self, keys: np.ndarray, before: dict, after: dict, ended: np.ndarray) -> list[int]:
        """The number of each step's episode; those of one key follow each other in the order of the steps."""
        starts, stops = ([_bytes(array) for array in one.values()] for one in (before, after))
        order = np.argsort(keys, kind="stable")
        first = np.append(True, keys[order][1:] != keys[order][:-1])
        last = np.append(first[1:], True)
        earlier, later = order[:-1][~first[1:]], order[1:][~first[1:]]  # pairs of one key
        apart = ~ended[earlier] & np.any([(a[earlier] != b[later]).any(axis=1) for a, b in zip(stops, starts)], axis=0)
        if apart.any():
            raise ValueError(MIXED)
        opens, closes = np.zeros((2, len(keys)), bool)
        opens[order], closes[order] = first, last
        numbers: list[int] = []
        running: dict[int, tuple[int, bool]] = {}
        for i, key in enumerate(keys.tolist()):
            if opens[i]:
                running[key] = self._continued(key, _digest(starts, i))
            elif key not in running:
                running[key] = self._number(), False
            number, alone = running[key]
            numbers.append(number)
            if ended[i]:
                del running[key]
                self._free.append(number)
            elif closes[i]:
                self._open[key] = number, _digest(stops, i), alone and bool(opens[i])
        while len(self._open) > self.storage.max_size:  # cut, and all of their steps overwritten
            del self._open[next(iter(self._open))]
        return numbers

    def _continued(self, key: int, digest: bytes) -> tuple[int, bool]:
        """Number of the episode that a step from the observation with this digest continues; whether it is cut off
        from the step before."""
        if key not in self._open:
            return self._number(), False
        number, came_to, alone = self._open.pop(key)
        if came_to == digest:
            return number, False
        if alone:  # after a reset comes more than one step: these are several environments taking turns
            raise ValueError(MIXED)
        self._numbers += 1  # a reset without an end: to the sampler, the old number's episode is still running
        return self._numbers - 1, True

    def _number(self) -> int:
        """Return a number that no running episode has."""
        if self._free:
            return self._free.pop()
        self._numbers += 1
        return self._numbers - 1

    def state(self) -> tuple:
        """What is pickled, which does not include the storage."""
        return self._names, self._open, self._free, self._numbers

    def restore(self, state: tuple) -> None:
        self._names, self._open, self._free, self._numbers = state


def _last(key: Key) -> str:
    return key if isinstance(key, str) else key[-1]


def _only(what: str, found: list[Key], given: Key | None, plain_first: bool = False) -> Key:
    """Return the entry that is meant. ValueError if it could be several, or none."""
    if given is not None:
        return unravel_key(given)
    if plain_first and what in found:
        return what
    if len(found) != 1:
        these = ", ".join(map(repr, found)) or "none"
        raise ValueError(f"which entry is the {what}? Candidates: {these}. Name it: {what}=...")
    return found[0]


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()


def _column(tensor: torch.Tensor, name: Key) -> np.ndarray:
    """One value per step, [n]."""
    array = _array(tensor)
    if array.size != len(array):
        raise ValueError(f"{name!r} must be one value per step, not of shape {array.shape[1:]}")
    return array.reshape(-1)


def _bytes(array: np.ndarray) -> np.ndarray:
    """Rows as bytes [n, ...]: copies are equal, NaN included."""
    return np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)


def _digest(rows: list[np.ndarray], i: int) -> bytes:
    """Digest of row i of all `rows`."""
    return hashlib.blake2b(b"".join(one[i].tobytes() for one in rows), digest_size=16).digest()


def _rows_of(columns: dict[Key, np.ndarray]) -> list[dict[Key, np.ndarray]]:
    return [dict(zip(columns, row)) for row in zip(*columns.values())]
