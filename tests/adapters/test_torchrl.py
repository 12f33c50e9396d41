"""Our samplers in TorchRL's replay buffers."""

import random

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from tensordict import TensorDict
from torchrl.collectors import Collector
from torchrl.data import LazyMemmapStorage, LazyTensorStorage, ListStorage, TensorDictReplayBuffer
from torchrl.envs import GymEnv, SerialEnv

from adapters.torchrl import FromProtocol, TorchRLPrioritized
from common.replay.not_in_the_papers.introspective import IER
from common.replay.not_in_the_papers.large_batch import LaBER
from common.replay.not_in_the_papers.reducible import ReLo
from common.replay.not_in_the_papers.reshuffled import RRC, RRM
from common.replay.rank_based import RankBasedSampler
from common.replay.samplers import PrioritizedSampler, StratifiedSampler, UniformSampler
from papers.bias_reduced_her.hindsight import Hindsight
from papers.ners.ners import NERS
from papers.ners.samplers.ero import ERO
from papers.ter.agents.discor import DisCor
from papers.ter.replay.ebu import EBU
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
    assert ours.tree[batch["index"].numpy()].tolist() == batch["td_error"].tolist()
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


# ---- every sampler in every situation --------------------------------------------------------------------------------
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def per(capacity: int, stratified: bool = False) -> PrioritizedSampler:
    return PrioritizedSampler(capacity, rng(), beta_steps=10, stratified=stratified)


def zeros(slots: np.ndarray) -> np.ndarray:
    """TD errors of transitions: a module's function, so that a sampler with it can be pickled."""
    return np.zeros(len(slots))


def position(state: np.ndarray) -> float:
    return float(state[0])


SAMPLERS = {
    "uniform": lambda n: UniformSampler(rng()),
    "stratified": lambda n: StratifiedSampler(rng()),
    "rr-c": lambda n: RRC(n, rng()),
    "rr-m": lambda n: RRM(n, rng()),
    "per": per,
    "per-stratified": lambda n: per(n, True),
    "per-rank": lambda n: RankBasedSampler(n, rng(), beta_steps=10),
    "ter": lambda n: TER(TransitionGraph(n), random.Random(0), position, 0.5, per(n)),
    "laber": lambda n: LaBER(rng(), zeros),
    "ier": lambda n: IER(n, rng(), zeros, pivots=2),
}
STORAGES = {
    "tensors": LazyTensorStorage,
    "list": ListStorage,
    "memmap": LazyMemmapStorage,
    "two dimensions": lambda n: LazyTensorStorage(n, ndim=2),
}


def written(buffer: TensorDictReplayBuffer, data: TensorDict) -> None:
    """Extends by steps [n], in a storage of two dimensions as those of two environments that take turns."""
    buffer.extend(data.reshape(-1, 2).transpose(0, 1) if buffer.storage.ndim == 2 else data)


@pytest.mark.parametrize("kind", STORAGES)
@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_in_every_storage(name, kind, tmp_path):
    def buffer():
        storage = STORAGES[kind](24)
        sampler = FromProtocol(lambda: SAMPLERS[name](24), storage)
        return TensorDictReplayBuffer(storage=storage, sampler=sampler, batch_size=6)

    def drawn(one):
        batch = one.sample()
        assert batch.shape == (6,) and batch["observation"].shape == (6, 1) and (batch["priority_weight"] > 0).all()
        stored = one.storage.get(tuple(batch["index"].unbind(-1)) if kind == "two dimensions" else batch["index"])
        stored = torch.stack(stored) if isinstance(stored, list) else stored
        assert (stored["observation"] == batch["observation"]).all()  # the slots of the sampler are the storage's
        batch["td_error"] = batch["observation"][:, 0] + 0.5
        one.update_tensordict_priority(batch)
        return batch["observation"].flatten().tolist()

    one = buffer()
    data = steps(16) if kind != "two dimensions" else torch.stack([steps(8), steps(8)], 1).reshape(-1)
    for _ in range(2):  # the second time after it was emptied
        with pytest.raises(ValueError, match="nothing"):
            one.sample()
        for _ in range(3):  # 48 steps into 24 slots
            written(one, data)
            assert set(drawn(one)) <= {0.0, 1.0, 2.0, 3.0}
        other = buffer()
        written(other, data)
        other.load_state_dict(one.state_dict())
        if kind != "list":  # TorchRL cannot save a list of tensordicts
            one.dumps(tmp_path / "saved")
            third = buffer()
            third.loads(tmp_path / "saved")
            assert drawn(third) == drawn(other)
        written(other, data)
        one.empty()


REFUSED = {  # one line each, with what is missing
    "ReLo needs target_td_error": lambda: ReLo(8, rng(), huber_delta=None, beta_steps=1),
    "EBU needs targets, values": lambda: EBU.__new__(EBU),
    "DisCor needs targets, values": lambda: DisCor.__new__(DisCor),
    "NERS needs episode, evaluation, target": lambda: NERS.__new__(NERS),
    "ERO needs episode": lambda: ERO.__new__(ERO),
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_work_is_refused_in_one_line(line):
    for sampler in (REFUSED[line], REFUSED[line]()):
        with pytest.raises(ValueError, match=f"^{line}, which TorchRL does not pass on.*$"):
            FromProtocol(sampler)


def test_other_mistakes_cost_one_line():
    storage = LazyTensorStorage(8)
    with pytest.raises(TypeError, match="Hindsight is not a sampler"):
        FromProtocol(Hindsight.__new__(Hindsight))
    with pytest.raises(ValueError, match="TER reads steps: pass the buffer's storage"):
        FromProtocol(SAMPLERS["ter"](8))
    buffer = TensorDictReplayBuffer(storage=storage, sampler=FromProtocol(per(8), LazyTensorStorage(8)), batch_size=2)
    buffer.extend(steps(8))
    with pytest.raises(ValueError, match="a storage other than the buffer"):
        buffer.sample()
    flat = TensorDictReplayBuffer(storage=LazyTensorStorage(8, ndim=2), sampler=FromProtocol(per(8)), batch_size=2)
    with pytest.raises(ValueError, match="several dimensions: pass it"):
        flat.extend(steps(8).reshape(2, 4))
    with pytest.raises(ValueError, match="a function that makes the sampler"):
        TensorDictReplayBuffer(storage=storage, sampler=FromProtocol(per(8)), batch_size=2).empty()
    storage = LazyTensorStorage(8)
    one, shared = (TensorDictReplayBuffer(storage=storage, sampler=FromProtocol(per(8)), batch_size=2) for _ in "ab")
    shared.add(steps(1)[0])
    one.extend(steps(8))  # into the same storage, of which `shared` hears nothing
    with pytest.raises(ValueError, match="holds 8 transitions, the sampler knows 1"):
        shared.sample()


# ---- priorities ------------------------------------------------------------------------------------------------------
def test_td_errors_come_with_new_transitions_or_later_and_are_not_forgotten():
    ours = PrioritizedSampler(8, rng(), 1.0, 1.0, beta_steps=1, epsilon=0.0, clip=None)
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(8), sampler=FromProtocol(ours), batch_size=2)
    known = steps(2).set("td_error", torch.tensor([[3.0], [-5.0]]))
    buffer.extend(known)
    buffer.add(known[0].set("td_error", torch.tensor([2.0])))
    assert ours.tree[:3].tolist() == [3.0, 5.0, 2.0]
    buffer.add(steps(1)[0])  # none: the largest, as of all that is new
    assert ours.tree[3] == 5.0
    forgotten = TensorDictReplayBuffer(storage=LazyTensorStorage(8), sampler=FromProtocol(per(8)), batch_size=2)
    forgotten.extend(steps(4))
    for _ in range(2):
        with pytest.raises(ValueError, match="the batch has no TD errors"):
            forgotten.update_tensordict_priority(forgotten.sample())
        forgotten.add(steps(1)[0])
    named = TensorDictReplayBuffer(
        storage=LazyTensorStorage(8), sampler=FromProtocol(per(8)), batch_size=2, priority_key="surprise"
    )
    named.extend(steps(4))
    named.update_tensordict_priority(named.sample().set("surprise", torch.zeros(2)))
    assert named.sampler.sampler.tree[:4].min() < 0.1


def test_a_storage_that_was_filled_before():
    storage = LazyTensorStorage(8)
    TensorDictReplayBuffer(storage=storage, batch_size=2).extend(steps(8))
    ter = SAMPLERS["ter"](8)
    buffer = TensorDictReplayBuffer(storage=storage, sampler=FromProtocol(ter, storage), batch_size=4)
    assert ter.graph.count == 8 and ter.prioritized.tree[:].min() == 1.0
    assert buffer.sample().shape == (4,)


def test_it_is_prioritised_to_torchrl_alone():
    assert isinstance(FromProtocol(per(8)), TorchRLPrioritized) and TorchRLPrioritized not in FromProtocol.__mro__


# ---- steps -----------------------------------------------------------------------------------------------------------
def reader(capacity: int = 600, phi=bytes, **names) -> tuple[TER, TensorDictReplayBuffer]:
    """TER whose vertices are whole observations, and its buffer."""
    storage = LazyTensorStorage(capacity, ndim=names.pop("ndim", 1))
    ter = TER(TransitionGraph(capacity, track_returns=True), random.Random(0), phi, 0.5, per(capacity))
    sampler = FromProtocol(ter, storage, **names)
    return ter, TensorDictReplayBuffer(storage=storage, sampler=sampler, batch_size=8)


@pytest.mark.parametrize("ndim", [1, 2])
@pytest.mark.parametrize("marked", [True, False])
def test_several_environments_are_told_apart_or_refused(ndim, marked):
    ter, buffer = reader(ndim=ndim)
    collector = Collector(SerialEnv(3, lambda: GymEnv("CartPole-v1")), None, frames_per_batch=60, total_frames=600)
    for data in collector:
        if not marked:
            del data["collector"]
        if not marked and ndim == 1:
            with pytest.raises(ValueError, match="nothing tells them apart; keep the entry"):
                buffer.extend(data.reshape(-1))
            return collector.shutdown()
        buffer.extend(data if ndim == 2 else data.reshape(-1))
    stored = buffer.storage.get(slice(None)).reshape(-1)
    for (v, following, over), step in zip(ter.graph._ends, stored):
        assert v == step["observation"].numpy().tobytes() and over == bool(step["next", "terminated"])
        assert following == step["next", "observation"].numpy().tobytes()
    assert len(ter.graph._ends) == 600 and len(ter.trail._ends) <= 3
    highest = max(mean for mean, _ in ter.graph.visits.values())  # no return is longer than an episode
    lengths = stored["next", "reward"].sum() if not marked else torch.bincount(stored["collector", "traj_ids"]).max()
    assert highest <= lengths
    collector.shutdown()


def test_environments_that_take_turns_are_refused_and_a_key_tells_them_apart():
    one, other = steps(4), steps(4)
    other["observation"] += 10
    other["next", "observation"] += 10
    both = torch.stack([one, other], 1).reshape(-1)
    _, buffer = reader()
    with pytest.raises(ValueError, match="nothing tells them apart"):
        for step in both:
            buffer.add(step)
    both["which"] = torch.arange(8)[:, None] % 2
    ter, buffer = reader(env_key="which", phi=position)
    for step in both:
        buffer.add(step)
    assert ter.graph._ends == [(t + e, t + e + 1.0, t == 3) for t in range(4) for e in (0.0, 10.0)]


def test_a_reset_without_an_end_joins_nothing():
    ter, buffer = reader(phi=position)
    buffer.extend(steps(3))  # a rollout that was cut at its length
    buffer.extend(steps(4))
    for step in steps(2):
        buffer.add(step)
    buffer.extend(steps(4)[2:])  # goes on
    starts = [v for v, _, _ in ter.graph._ends]
    assert starts == [0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3]
    assert {vertex: total[1] for vertex, total in ter.graph.visits.items()} == {0: 3, 1: 3, 2: 3, 3: 3, 4: 2}


def test_the_storage_is_read_once_for_all_steps(monkeypatch):
    _, buffer = reader()
    reads, get = [], buffer.storage.get
    monkeypatch.setattr(buffer.storage, "get", lambda index: reads.append(index) or get(index))
    buffer.extend(steps(64))
    assert len(reads) == 1


def test_a_batch_that_overwrites_itself_is_refused():
    _, buffer = reader(8)
    with pytest.raises(ValueError, match="16 steps at once overwrite each other"):
        buffer.extend(steps(16))


def renamed(state=("observation",), action=("action",), reward=("reward",), group=()) -> TensorDict:
    data, found = steps(4), TensorDict({}, [4])
    found[state], found["next", *state] = data["observation"], data["next", "observation"]
    found[action], found["next", *reward] = data["action"], data["next", "reward"]
    for name in ("terminated", "truncated"):
        found["next", *group, name] = data["next", name]
    return found


@pytest.mark.parametrize("names", [
    dict(state=("pixels",)), dict(state=("agent", "state"), action=("agent", "action"), reward=("agent", "reward")),
    dict(group=("agent",)),
])  # fmt: skip
def test_entries_are_found_where_one_can_be_meant(names):
    ter, buffer = reader(phi=position)
    buffer.extend(renamed(**names))
    assert ter.graph._ends == [(0, 1, False), (1, 2, False), (2, 3, False), (3, 4, True)]


def test_entries_that_cannot_be_found_are_asked_for():
    two = renamed().rename_key_("observation", "left")
    two["next"].rename_key_("observation", "left")
    two["right"], two["next", "right"] = two["left"] * 2, two["next", "left"] * 2
    with pytest.raises(ValueError, match=r"which entry is the observation.*'left', 'right'"):
        reader()[1].extend(two)
    ter, buffer = reader(phi=position, observation="right")
    buffer.extend(two)
    assert [v for v, _, _ in ter.graph._ends] == [0, 2, 4, 6]
    ter, buffer = reader(phi=lambda seen: float(seen["left"][0] + seen["right"][0]), observation=["left", "right"])
    buffer.extend(two)
    assert [v for v, _, _ in ter.graph._ends] == [0, 3, 6, 9]
    with pytest.raises(ValueError, match="no entry 'up'"):
        reader(observation="up")[1].extend(two)
    for gone, line in ((("next", "reward"), "which entry is the reward.*none"), ("action", "is the action.*none"),
                       (("next", "terminated"), "'terminated' or 'done'")):  # fmt: skip
        with pytest.raises(ValueError, match=line):
            reader()[1].extend(renamed().exclude(gone))
    with pytest.raises(ValueError, match="'reward' must be one value per step"):
        wide = renamed()
        wide["next", "reward"] = torch.zeros(4, 2)
        reader()[1].extend(wide)


def test_done_alone_is_an_end():
    data = renamed()
    data["next", "done"] = data["next", "terminated"]
    for gone in ("terminated", "truncated"):
        ter, buffer = reader(phi=position)
        buffer.extend(data.exclude(("next", gone)))
        assert ter.trail._ends == {} and ter.graph._ends[3][2] is True
    data["next", "truncated"] = data["next", "done"]  # done by the time limit alone
    ter, buffer = reader(phi=position)
    buffer.extend(data.exclude(("next", "terminated")))
    assert ter.trail._ends == {} and ter.graph._ends[3][2] is False
