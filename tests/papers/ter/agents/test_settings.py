"""Settings that all train scripts share: which ones cannot work, and how that is said."""

import dataclasses

import pytest

from lab.run.errors import UserError
from lab.run.settings import check
from papers.ter.train import Config

VALID = Config(batch_size=16)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"capacity": 10}, "capacity and warmup must hold at least one batch of 16"),
        ({"warmup": 15}, "capacity and warmup must hold at least one batch of 16"),
        ({"replay_ratio": 0.3}, r"replay_ratio \* update_every must be whole, not 1.2"),
        ({"ebu_per_share": 1.0}, r"ebu_per_share must lie in \[0, 1\), not 1.0"),
    ],
)
def test_settings_that_cannot_work_are_named_in_one_line(settings, message):
    with pytest.raises(UserError, match=message) as error:
        check(dataclasses.replace(VALID, **settings))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("ends", [0.0, 1.0])
def test_the_limits_themselves_are_allowed(ends):
    check(Config(eta=ends, ebu_beta=ends, epsilon_end=ends, eval_noise=ends))
    check(Config(batch_size=16, capacity=16, warmup=16, update_every=2, replay_ratio=0.5))
