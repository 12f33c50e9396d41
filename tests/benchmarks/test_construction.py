"""The benchmark of the construction task: what is compared, without a clock's verdict."""

import sys
import types

import pytest
import torch

from benchmarks import construction
from papers.sibling_rivalry.train_build import Config


@pytest.fixture(autouse=True)
def short(monkeypatch, run_once):
    run_once(construction)
    monkeypatch.setattr(construction, "UPDATES", 1)
    monkeypatch.setattr(construction, "CALLS", 1)
    monkeypatch.setattr(construction, "CONFIG", Config(env="VoxelBuildSmall", size=4, height=1, sides=(3, 3), pairs=1))


def test_without_torchrl_and_ray_one_line_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    update, returns = construction.alone()[0], construction.returns("a_package_that_is_not_there.functional")
    assert "playing" in update.note and update.limit == pytest.approx(192)
    [row] = returns
    assert (
        row.peer is None
        and row.note == "torchrl is not installed: .venv/bin/pip install --group adapters, for a comparison"
    )
    assert construction.on_ray() == []


@pytest.mark.parametrize("right", [True, False])
def test_torchrl_is_given_the_same_batch_and_must_agree(right, monkeypatch):
    """A stand-in with torchrl's signature, which computes on tensors [n, T, 1]."""

    def estimate(gamma, log_pi, log_mu, value, next_value, reward, done):
        assert value.shape == (16, 40, 1) and not done.any()
        ratio = (log_pi - log_mu).exp().clamp_max(1.0)
        delta, beyond, found = ratio * (reward + gamma * next_value - value), torch.zeros(16, 1), []
        for t in reversed(range(40)):
            beyond = delta[:, t] + gamma * ratio[:, t] * beyond
            found.append(beyond)
        targets = torch.stack(found[::-1], dim=1) + value
        ahead = torch.cat([targets[:, 1:], next_value[:, -1:]], dim=1)
        return ratio * (reward + gamma * ahead - value), targets if right else value

    package = types.ModuleType("a_peer")
    package.vtrace_advantage_estimate = estimate
    package.__spec__ = types.SimpleNamespace(name="a_peer")
    monkeypatch.setitem(sys.modules, "a_peer", package)
    if right:
        [row] = construction.returns("a_peer")
        assert (row.ours, row.peer) == (1.0, 2.0)
    else:
        with pytest.raises(AssertionError):
            construction.returns("a_peer")
