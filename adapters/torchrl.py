"""Any sampler in TorchRL: `TensorDictReplayBuffer(storage=..., sampler=FromProtocol(...), batch_size=...)`.

TorchRL's buffers speak of priorities: what you pass to `update_tensordict_priority` reaches the sampler as TD errors.
Weights of losses are in each batch's "priority_weight", as with TorchRL's own prioritised replay.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torchrl.data.replay_buffers.samplers import PrioritizedSampler as TorchRLPrioritized
from torchrl.data.replay_buffers.samplers import Sampler as TorchRLSampler
from torchrl.data.replay_buffers.storages import Storage

from adapters.torchrl_steps import Key, StepReader
from common.replay.protocol import Sampler, missing

PROVIDED = frozenset({"step", "td_error", "errors"})
"""What a sampler gets here. "errors" is a function that it is made with, which may read the storage."""


class FromProtocol(TorchRLSampler):
    """A TorchRL sampler that asks one of ours.

    sampler: one with the storage's capacity, or a function without arguments that makes one, so that the buffer can be
    emptied, too. storage: the buffer's; needed if it has several dimensions, and by samplers that read steps, such as
    TER. The other arguments say how steps are read: see `StepReader`.

    ValueError for a sampler that needs what TorchRL does not pass on, TypeError for anything but a sampler.
    """

    reduction = "max"
    """How TorchRL reduces several priorities to one, for items of more than one step."""

    def __init__(
        self,
        sampler: Sampler | Callable[[], Sampler],
        storage: Storage | None = None,
        *,
        observation: Key | list[Key] | None = None,
        action: Key | None = None,
        reward: Key | None = None,
        env_key: Key | None = None,
    ):
        self._make = None if isinstance(sampler, Sampler) or not _is_maker(sampler) else sampler
        self.storage = storage
        self._names: dict[str, Any] = dict(observation=observation, action=action, reward=reward, env_key=env_key)
        self._begin(sampler if self._make is None else self._make())  # type: ignore[arg-type]

    def _begin(self, sampler: Sampler) -> None:
        name = type(sampler).__name__
        if not isinstance(sampler, Sampler):
            raise TypeError(f"{name} is not a sampler of common.replay.protocol, and FromProtocol takes only these")
        if lacking := missing(sampler, PROVIDED):
            raise ValueError(f"{name} needs {', '.join(lacking)}, which TorchRL does not pass on: only TD errors are")
        reads = "step" in sampler.needs
        if reads and self.storage is None:
            raise ValueError(f"{name} reads steps: pass the buffer's storage, too")
        self.sampler, self.steps = sampler, StepReader(self.storage, **self._names) if reads else None
        self._told = 0  # slots from 0 on that the sampler knows
        self._just_added = self._pass_over = False

    # ---- what the buffer says ----------------------------------------------------------------------------------------
    def add(self, index: int | torch.Tensor) -> None:
        self.extend(torch.as_tensor(index)[None] if np.ndim(index) == 0 else torch.as_tensor(index))
        self._just_added = True

    def extend(self, index: torch.Tensor) -> None:
        slots = self._slots(index, self.storage)
        self._told = max(self._told, int(slots.max(initial=-1)) + 1)
        if self.steps is not None:
            for slot, step in zip(slots.tolist(), self.steps.read(slots)):
                self.sampler.add(slot, step)
        elif hasattr(self.sampler, "extend"):
            self.sampler.extend(slots)
        else:
            for slot in slots.tolist():
                self.sampler.add(slot)

    def sample(self, storage: Storage, batch_size: int) -> tuple[Any, dict]:
        if self.storage is not None and storage is not None and storage is not self.storage:
            raise ValueError("the sampler was given a storage other than the buffer's: pass the buffer's")
        if storage is not None and len(storage) > self._told:
            raise ValueError(
                f"the storage holds {len(storage)} transitions, the sampler knows {self._told}: fill it by this buffer"
            )
        if not self._told:
            raise ValueError("nothing to draw: no transition has been added yet")
        chosen = self.sampler.sample(batch_size)
        if chosen is None:
            raise RuntimeError(f"{type(self.sampler).__name__} has nothing to replay yet")
        slots: Any = torch.from_numpy(chosen.indices)
        if storage is not None and storage.ndim > 1:
            slots = tuple(map(torch.from_numpy, np.unravel_index(chosen.indices, tuple(storage.shape))))
        return slots, {"priority_weight": torch.from_numpy(chosen.weights)}

    def update_priority(self, index: Any, priority: Any, *, storage: Storage | None = None) -> None:
        if self._pass_over:  # TorchRL's word for "unknown", about what `add` has just told the sampler
            self._pass_over = False
            return
        if not self._told:  # a buffer made on a storage that was filled before
            self.extend(torch.arange(len(storage)) if storage is not None else index)
            return
        self._just_added = False
        slots = self._slots(index, self.storage if storage is None else storage)
        errors = torch.as_tensor(priority).detach().cpu().reshape(-1).numpy()
        self.sampler.update(slots, {"td_error": np.broadcast_to(errors, slots.shape)})

    @property
    def default_priority(self) -> float:
        """What TorchRL asks for if it finds no TD error: right after `add`, or because a user has forgotten them."""
        if self._told and not self._just_added:
            raise ValueError("the batch has no TD errors: set its entry 'td_error', or what priority_key names")
        self._pass_over, self._just_added = self._just_added, False
        return 1.0

    def _slots(self, index: Any, storage: Storage | None) -> np.ndarray:
        """Slots int64 [n] of TorchRL's indices: [n], or [n, d] coordinates in a storage of d dimensions."""
        found = torch.as_tensor(index).cpu().numpy().astype(np.int64)
        if found.ndim < 2 or (storage is not None and storage.ndim == 1):
            return found.reshape(-1)
        if storage is None:
            raise ValueError("the storage has several dimensions: pass it, too, as FromProtocol(sampler, storage)")
        sizes = np.array(storage.shape[1:], np.int64)
        return found @ np.append(np.cumprod(sizes[::-1])[::-1], 1)

    # ---- saved, loaded, emptied --------------------------------------------------------------------------------------
    def _state(self) -> bytes:
        return pickle.dumps((self.sampler, self._told, None if self.steps is None else self.steps.state()))

    def _restore(self, state: bytes) -> None:
        self.sampler, self._told, steps = pickle.loads(state)
        if self.steps is not None:
            self.steps.restore(steps)

    def state_dict(self) -> dict[str, Any]:
        return {"sampler": self._state()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._restore(state_dict["sampler"])

    def dumps(self, path: Any) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)
        (Path(path) / "sampler.pkl").write_bytes(self._state())

    def loads(self, path: Any) -> None:
        self._restore((Path(path) / "sampler.pkl").read_bytes())

    def _empty(self) -> None:
        if self._make is None:
            raise ValueError("to empty the buffer, give FromProtocol a function that makes the sampler: lambda: ...")
        self._begin(self._make())


def _is_maker(given: Any) -> bool:
    """Whether it can be called without arguments."""
    try:
        inspect.signature(given).bind()
    except TypeError:
        return False
    return True


# TorchRL's buffers pass TD errors on only to samplers that they take for prioritised.
TorchRLPrioritized.register(FromProtocol)
