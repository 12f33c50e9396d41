"""Any sampler in TorchRL: `TensorDictReplayBuffer(storage=..., sampler=FromProtocol(...), batch_size=...)`.

TorchRL's buffers speak of priorities: what is given to `update_tensordict_priority` reaches the sampler as TD errors.
Weights of losses are in "priority_weight" of each batch, as with TorchRL's own prioritised replay.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torchrl.data.replay_buffers.samplers import Sampler as TorchRLSampler
from torchrl.data.replay_buffers.storages import Storage

from common.replay.protocol import Sampler, Step, missing


class FromProtocol(TorchRLSampler):
    """TorchRL's sampler that asks one of ours.

    storage: the buffer's, of steps as TorchRL's environments make them; needed by samplers that read steps, as TER
    does. env_key: the entry that says which environment a step is from, where there are several.
    """

    def __init__(self, sampler: Sampler, storage: Storage | None = None, *, env_key: str | None = None):
        if lacking := missing(sampler, frozenset({"step", "td_error"})):
            raise ValueError(f"{type(sampler).__name__} needs {', '.join(lacking)}, which TorchRL does not pass on")
        if "step" in sampler.needs and storage is None:
            raise ValueError(f"{type(sampler).__name__} reads steps: pass the buffer's storage, too")
        self.sampler, self.storage, self.env_key = sampler, storage, env_key

    def add(self, index: int) -> None:
        self.sampler.add(int(index), self._step(int(index)))

    def extend(self, index: torch.Tensor) -> None:
        for i in torch.as_tensor(index).reshape(-1).tolist():
            self.add(i)

    def _step(self, index: int) -> Step | None:
        if self.storage is None or "step" not in self.sampler.needs:
            return None
        stored, after = (one := self.storage.get(index)), one["next"]
        ended = [bool(after.get(name, torch.tensor(False))) for name in ("terminated", "truncated")]
        env_id = 0 if self.env_key is None else int(stored[self.env_key])
        seen = (stored["observation"].numpy(), stored["action"].numpy())
        return Step(*seen, float(after["reward"]), after["observation"].numpy(), *ended, env_id)

    def sample(self, storage: Storage, batch_size: int) -> tuple[torch.Tensor, dict]:
        chosen = self.sampler.sample(batch_size)
        if chosen is None:
            raise RuntimeError(f"{type(self.sampler).__name__} has nothing to replay yet")
        return torch.from_numpy(chosen.indices), {"priority_weight": torch.from_numpy(chosen.weights)}

    def update_priority(self, index: Any, priority: Any, *, storage: Storage | None = None) -> None:
        slots = torch.as_tensor(index).reshape(-1).numpy()
        errors = torch.as_tensor(priority).detach().cpu().reshape(-1).numpy()
        self.sampler.update(slots, {"td_error": np.broadcast_to(errors, slots.shape)})

    def state_dict(self) -> dict[str, Any]:
        return {"sampler": pickle.dumps(self.sampler)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.sampler = pickle.loads(state_dict["sampler"])

    def dumps(self, path: Any) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)
        (Path(path) / "sampler.pkl").write_bytes(pickle.dumps(self.sampler))

    def loads(self, path: Any) -> None:
        self.sampler = pickle.loads((Path(path) / "sampler.pkl").read_bytes())

    def _empty(self) -> None:
        raise NotImplementedError("samplers are not emptied: make a new one for a new buffer")
