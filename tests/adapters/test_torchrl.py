"""Our samplers in TorchRL's replay buffers."""

import random

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

from adapters.torchrl import FromProtocol
from common.replay.samplers import PrioritizedSampler, UniformSampler
from papers.ter.replay.graph import TransitionGraph
from papers.ter.topological import TER


def steps(n: int) -> TensorDict:
    """n steps along a line whose end is reached after every fourth of them."""
    t = torch.arange(n)
    after = {"observation": (t % 4 + 1.0)[:, None], "reward": (t % 4 == 3).float()[:, None],
             "terminated": (t % 4 == 3)[:, None], "truncated": torch.zeros(n, 1, dtype=torch.bool)}  # fmt: skip
    return TensorDict({"observation": (t % 4 * 1.0)[:, None], "action": t % 2, "next": after}, [n])


def test_prioritised_draws_and_weights():
    ours = PrioritizedSampler(
        8, np.random.default_rng(0), 1.0, 1.0, beta_steps=1, epsilon=0, clip=None, stratified=True
    )
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(8), sampler=FromProtocol(ours), batch_size=4)
    buffer.extend(steps(8))
    batch = buffer.sample()
    batch["td_error"] = batch["index"].float() + 1.0
    buffer.update_tensordict_priority(batch)
    buffer.update_priority(torch.arange(8), torch.arange(1.0, 9.0))
    batches = [buffer.sample() for _ in range(2_000)]
    counts = np.bincount(torch.cat([b["index"] for b in batches]).numpy(), minlength=8)
    assert chisquare(counts, 8_000 * np.arange(1, 9) / 36).pvalue > 0.01
    smallest = batches[0]["index"].min() + 1.0
    torch.testing.assert_close(batches[0]["priority_weight"], smallest / (batches[0]["index"] + 1.0))


def test_ter_reads_its_steps_from_the_storage():
    storage = LazyTensorStorage(16)
    prioritized = PrioritizedSampler(16, np.random.default_rng(0), beta_steps=10)
    ter = TER(TransitionGraph(16), random.Random(0), lambda s: float(s[0]), 0.0, prioritized)
    buffer = TensorDictReplayBuffer(storage=storage, sampler=FromProtocol(ter, storage), batch_size=4)
    buffer.extend(steps(8))
    for one in steps(12):  # four of them overwrite the first
        buffer.add(one)
    assert ter.graph.count == 20 and ter.graph.terminal.items == [4.0]
    assert buffer.sample()["observation"].flatten().tolist() == [3.0, 2.0, 1.0, 0.0]  # from the end of the line back


def test_saved_and_loaded(tmp_path):
    adapter = FromProtocol(UniformSampler(np.random.default_rng(0)))
    for index in range(5):
        adapter.add(index)
    other, third = (FromProtocol(UniformSampler(np.random.default_rng(1))) for _ in range(2))
    adapter.dumps(tmp_path)
    other.load_state_dict(adapter.state_dict())
    third.loads(tmp_path)
    draws = [each.sample(None, 50)[0].tolist() for each in (adapter, other, third)]
    assert draws[0] == draws[1] == draws[2]


def test_what_cannot_be_is_said():
    class Needy(UniformSampler):
        needs = frozenset({"evaluation", "td_error"})

    with pytest.raises(ValueError, match="Needy needs evaluation, which TorchRL does not pass on"):
        FromProtocol(Needy(np.random.default_rng(0)))
    with pytest.raises(ValueError, match="TER reads steps: pass the buffer's storage"):
        FromProtocol(TER(TransitionGraph(4), random.Random(0), float))
