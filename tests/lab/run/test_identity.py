"""Which run a directory holds: its name, and whether today's code would make the same."""

import dataclasses
import json
from pathlib import Path

import pytest

from lab.run.identity import State, config_hash, difference, run_name, settings, state
from tests.lab.toy_train import Config

FILES = {"papers/coins/train.py": "000000", "papers/coins/method.py": "111111"}


@dataclasses.dataclass(frozen=True)
class Inner:
    width: int = 3
    rate: float | None = None


@dataclasses.dataclass(frozen=True)
class Outer:
    seed: int
    env: str = "ALE/Pong-v5"
    method: str = "plain"
    wide: Inner = dataclasses.field(default_factory=lambda: Inner(width=9))


def renamed(cls: type, like: type) -> type:
    """`cls` as a later version of the class `like`."""
    cls.__qualname__, cls.__module__ = like.__qualname__, like.__module__
    return cls


def with_field(base: type, name: str, default: object) -> type:
    fields = [(name, type(default), dataclasses.field(default=default))]
    return renamed(dataclasses.make_dataclass("Later", fields, bases=(base,), frozen=True), base)


def test_names():
    assert run_name(Config(seed=3)) == f"Line-plain-s3-{config_hash(Config(seed=3))}"
    assert run_name(Outer(0)).startswith("ALE_Pong-v5-plain-s0-") and len(config_hash(Outer(0))) == 10
    wide = [Outer(0, wide=inner) for inner in (Inner(9), Inner(), Inner(9, 1.0))]
    configs = [Config(), Config(learning_rate=0.1), *wide]
    assert len({config_hash(config) for config in configs}) == len(configs)
    assert config_hash(Outer(0)) == config_hash(Outer(0, wide=Inner(width=9)))
    twin = dataclasses.make_dataclass("Twin", [], bases=(Config,), frozen=True)
    assert config_hash(twin()) != config_hash(Config()), "another script's config with the same values"


def test_a_new_setting_renames_only_runs_that_use_it():
    Later = with_field(Config, "penalty", 0.0)
    assert run_name(Later()) == run_name(Config()) != run_name(Later(penalty=1.0))
    Wider = renamed(dataclasses.make_dataclass("I", [("bias", bool, True)], bases=(Inner,), frozen=True), Inner)
    Nested = with_field(Outer, "wide", Wider(width=9))
    assert run_name(Nested(0)) == run_name(Outer(0)) != run_name(Nested(0, wide=Wider(width=9, bias=False)))


@pytest.mark.parametrize(
    ("stored", "config", "words"),
    [
        (settings(Config()), Config(), ""),
        ({"seed": 0, "wide": {"width": 9}}, Outer(0), ""),  # stored before there were others
        ({"seed": 0, "wide": {"width": 9}}, Outer(0, wide=Inner(9, 0.5)), "wide.rate was None and is now 0.5"),
        ({"seed": 0, "wide": {"width": 8}}, Outer(0), "wide.width was 8 and is now 9"),
        ({"wide": {}}, Outer(0), "seed was 'not set' and is now 0"),  # nobody knows what it was
        ({"seed": 0, "depth": 2}, Outer(0), "depth was 2 and is now 'not set'"),
        ({"seed": 0, "wide": {"rate": float("nan")}}, Outer(0, wide=Inner(9, float("nan"))), ""),
    ],
)
def test_difference_to_a_stored_config(stored, config, words):
    assert difference(stored, config) == words


def written(directory: Path, content: dict, *others: str) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(content))
    for name in others:
        (directory / name).touch()
    return directory


OLD = FILES | {"papers/coins/method.py": "222222"}
CHANGED = "papers/coins/method.py changed"


@pytest.mark.parametrize(
    ("content", "others", "expected"),
    [
        ({"files": FILES}, ["done.json"], State("finished", True)),
        ({"files": FILES}, ["checkpoint.pkl"], State("begun")),
        ({"files": FILES}, ["previous.pkl"], State("begun")),
        ({"files": OLD}, ["done.json"], State("stale", True, CHANGED)),
        ({"files": OLD}, ["checkpoint.pkl"], State("stale", False, CHANGED)),
        ({"files": OLD}, [], State("begun")),  # nothing that the old code has made is left
        ({}, ["done.json"], State("stale", True, "its sources are unknown")),
        ({"files": FILES, "resumed": [{"files": FILES}]}, ["done.json"], State("finished", True)),
        ({"files": FILES, "resumed": [{"files": OLD}]}, ["done.json"], State("stale", True, CHANGED)),
        ({"files": OLD, "resumed": [{"files": FILES}]}, ["done.json"], State("stale", True, CHANGED)),
        (
            {"files": FILES, "config": {"seed": 0, "method": "other"}},
            ["done.json"],
            State("stale", True, "method was 'other' and is now 'plain'", True),
        ),
    ],
)
def test_state(tmp_path, content, others, expected):
    directory = written(tmp_path / "run", {"config": {"seed": 0}} | content, *others)
    assert state(directory, Outer(0), FILES) == expected


def test_state_where_there_is_no_config(tmp_path):
    assert state(tmp_path, Outer(0), FILES) == State("absent")
    (tmp_path / "done.json").touch()
    assert state(tmp_path, Outer(0), FILES).reason == "its config.json is missing"
