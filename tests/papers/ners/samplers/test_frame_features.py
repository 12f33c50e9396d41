"""What samplers see of frames: the right parts of the right transitions, the encoder's shape, its own training."""

import pickle

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from common.replay.frames import FrameMemory
from papers.ners.ners import NERS
from papers.ners.samplers.features import Clock
from papers.ners.samplers.frame_features import FrameEncoder, FrameTransitions
from papers.ners.samplers.samplers import Settings

CLOCK = Clock("share", 8.0, np.arange(40))


@pytest.fixture
def memory() -> FrameMemory:
    """Ten steps of an episode that goes on after a terminated one of four; returns of two steps."""
    rng = np.random.default_rng(0)
    memory = FrameMemory(40, 2, 0.5, cut_every=100)
    for length, terminated in ((4, True), (10, False)):
        memory.reset(rng.integers(1, 256, (84, 84), dtype=np.uint8))
        for t in range(1, length + 1):
            frame = rng.integers(1, 256, (84, 84), dtype=np.uint8)
            memory.add(t % 7, float(t), frame, terminated and t == length, False)
    return memory


def test_what_is_seen(memory):
    transitions, slots = FrameTransitions(memory, CLOCK, seed=0), np.array([5, 3, 0])
    states, next_states, numbers = transitions.full(slots)
    np.testing.assert_array_equal(states, memory.states(slots))
    np.testing.assert_array_equal(next_states[0], memory.states(np.array([7]))[0])  # two steps on
    assert not next_states[1].any()  # terminated
    # slots 4, 5, ... are steps 0, 1, ... of the second episode; step t has action (t + 1) % 7 and reward t + 1
    assert numbers.tolist() == [[2, 2 + 0.5 * 3, 1 / 8], [4, 4, 3 / 8], [1, 1 + 0.5 * 2, 0]]
    assert numbers.dtype == torch.float32
    np.testing.assert_array_equal(transitions.reward_and_time(slots), numbers[:, 1:])


def test_frames_that_the_agent_has_learnt_from_are_not_gathered_again(memory, monkeypatch):
    """Once, and only for the very slots of that batch."""
    transitions, slots = FrameTransitions(memory, CLOCK, seed=0), np.array([5, 3, 0])
    wanted, batch, calls = transitions.full(slots), memory.batch(slots), []
    make = memory.batch
    monkeypatch.setattr(memory, "batch", lambda slots: (calls.append(slots), make(slots))[1])
    transitions.gathered(slots, batch)
    found = transitions.full(slots)
    assert not calls and all(torch.equal(ours, theirs) for ours, theirs in zip(found, wanted))
    transitions.gathered(slots, batch)
    transitions.full(np.array([5, 3, 1]))
    transitions.full(slots)
    assert len(calls) == 2
    transitions.gathered(slots, batch)
    monkeypatch.undo()
    assert pickle.loads(pickle.dumps(transitions))._gathered is None  # a checkpoint does not keep a batch


def test_features_are_67_numbers_and_both_states_go_through_the_same_weights(memory):
    transitions, slots = FrameTransitions(memory, CLOCK, seed=0), np.arange(6)
    states, next_states, numbers = transitions.full(slots)
    features = transitions.encoder(states, next_states, numbers)
    assert features.shape == (6, transitions.n_features) == (6, 67)
    swapped = transitions.encoder(next_states, states, numbers)
    torch.testing.assert_close(features[:, :32], swapped[:, 32:64])
    torch.testing.assert_close(features[:, 32:64], swapped[:, :32])
    torch.testing.assert_close(features[:, 64:], numbers)
    assert (features[:, :64] >= 0).all() and (features[:, :64] > 0).any()  # ReLU also after the last layer


def test_the_encoder_has_the_papers_layers():
    encoder = FrameEncoder(4)
    shapes = [tuple(p.shape) for p in encoder.parameters() if p.dim() == 2]
    assert shapes == [(32, 100), (64, 800), (256, 576), (64, 256), (32, 64)]
    x = torch.randint(0, 256, (2, 4, 84, 84), dtype=torch.uint8)
    by_hand = encoder.convolutions(x)
    for layer in encoder.reducers:
        assert isinstance(layer, nn.Linear)
        by_hand = F.relu(F.linear(by_hand, layer.weight, layer.bias))
    torch.testing.assert_close(encoder(x, x, torch.zeros(2, 3))[:, :32], by_hand)


def test_ners_trains_the_encoder_and_both_continue_identically_when_pickled(memory):
    transitions = FrameTransitions(memory, CLOCK, seed=0)
    settings = Settings(widths="code", train_size=8)
    sampler = NERS(40, np.random.default_rng(0), settings, 10, transitions, seed=1)
    for slot in range(len(memory)):
        sampler.add(slot)
    before = [p.clone() for p in transitions.encoder.parameters()]

    def go_on(sampler: NERS) -> np.ndarray:
        for k in range(3):
            slots = sampler.sample(6).indices
            sampler.update(slots, {"td_error": np.full(6, 0.3, np.float32), "target": np.full(6, 0.1, np.float32)})
            sampler.evaluation(float(k * k))
        return sampler.probabilities()

    twin = pickle.loads(pickle.dumps(sampler))
    np.testing.assert_array_equal(go_on(sampler), go_on(twin))
    for old, new, twins in zip(before, transitions.encoder.parameters(), twin.transitions.encoder.parameters()):
        assert not torch.equal(old, new) and torch.equal(new, twins)
