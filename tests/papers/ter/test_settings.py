"""Settings that all train scripts share: which ones cannot work, and how that is said."""

import dataclasses

import pytest

from lab.errors import UserError
from papers.ter.settings import check_shared
from papers.ter.train import Config

VALID = Config(batch_size=16)


@pytest.mark.parametrize(("settings", "message"), [
    ({"eta": 1.5}, r"eta must lie in \[0, 1\], not 1.5"),
    ({"ebu_beta": -0.1}, r"ebu_beta must lie in \[0, 1\], not -0.1"),
    ({"steps": 0}, "steps must be at least 1, not 0"),
    ({"roots": 0}, "roots must be at least 1, not 0"),
    ({"epsilon_steps": 0}, "epsilon_steps must be at least 1, not 0"),
    ({"predecessors": 0}, "predecessors must be at least 1, not 0"),
    ({"projection_dim": 0}, "projection_dim must be at least 1, not 0"),
    ({"capacity": 10}, "capacity and warmup must hold at least one batch of 16"),
    ({"warmup": 15}, "capacity and warmup must hold at least one batch of 16"),
    ({"replay_ratio": 0.3}, r"replay_ratio \* update_every must be whole, not 1.2"),
    ({"replay_ratio": -1.0}, "replay_ratio must be positive, not -1.0"),
    ({"lr": 0.0}, "lr must be positive, not 0.0"),
    ({"per_beta_steps": 0}, "per_beta_steps must be at least 1, not 0"),
    ({"discor_tau": float("nan")}, "discor_tau must be positive, not nan"),
    ({"ebu_per_share": 1.0}, "ebu_per_share must be below 1"),
])  # fmt: skip
def test_settings_that_cannot_work_are_named_in_one_line(settings, message):
    with pytest.raises(UserError, match=message) as error:
        check_shared(dataclasses.replace(VALID, **settings))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("ends", [0.0, 1.0])
def test_the_limits_themselves_are_allowed(ends):
    check_shared(Config(eta=ends, ebu_beta=ends, epsilon_end=ends, eval_noise=ends))
    check_shared(Config(batch_size=16, capacity=16, warmup=16, update_every=2, replay_ratio=0.5))
