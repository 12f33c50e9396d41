"""DreamerV2's runs: what its learner is told and what is made of what it prints. The learner itself is sheeprl's, which
has an environment of its own; in its place stands a script here."""

import json
import re
import shlex
import sys

import numpy as np
import pytest

from lab.run.errors import UserError
from papers.ter import train_dreamer
from papers.ter.agents import dreamer
from papers.ter.train_dreamer import Config, main
from tests.papers.runs import assert_refused, rows

SHORT = dict(steps=1_000, capacity=500, learning_starts=100, log_every=400)
FAKE = """import json, sys
assert sys.argv[1:3] == ["-m", "papers.ter.agents.dreamer"]
settings = json.loads(sys.argv[3])
open("log", "w").close()
print("something else that a library says")
for line in {lines}:
    print(line, flush=True)
sys.exit({code})
"""


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """Put a script that prints these lines in the place of the interpreter that has sheeprl."""

    def put(*lines: str, code: int = 0) -> None:
        fake, path = tmp_path / "fake.py", tmp_path / "python"
        fake.write_text(FAKE.format(lines=lines, code=code))
        path.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {fake} \"$@\"\n")
        path.chmod(0o755)
        monkeypatch.setattr(train_dreamer, "PYTHON", path)

    return put


def test_rows_are_means_over_the_episodes_since_the_row_before(learner, tmp_path):
    learner(
        "episode 324 -324.0 0",
        "episode 410 238.0 1",
        "episode 500 234.0 1",
        "episode 824 -324.0 0",
        "episode 990 158.0 1",
    )
    found = main(Config(**SHORT), tmp_path / "run")
    table = {(int(step), name): float(value) for step, name, value in rows(tmp_path / "run")}
    assert {step for step, _ in table} == {400, 800, 1000}
    assert (table[400, "return"], table[400, "success"]) == (-43.0, 0.5)
    assert table[400, "normalized_return"] == pytest.approx((324 - 43) / 648)
    assert (table[800, "return"], table[1000, "return"]) == (-45.0, 158.0)
    assert found["success"] == 1.0 and main(Config(**SHORT), tmp_path / "run") == found


def test_sheeprl_writes_where_it_runs_whatever_the_folder_is_called(learner, tmp_path):
    """Its command line would take a space, a comma or a bracket in a path for the path's end."""
    learner("episode 990 158.0 1")
    directory = tmp_path / "it's [a], ü"
    assert main(Config(**SHORT), directory)["return"] == 158.0
    assert not (directory / "sheeprl").exists() and not (tmp_path / "log").exists()
    learner("RuntimeError: out of luck", code=3)
    with pytest.raises(UserError):
        main(Config(**SHORT), tmp_path / "run, 2")
    assert (tmp_path / "run, 2/sheeprl/log").exists()


def test_a_learner_that_fails_costs_one_line_and_leaves_no_result(learner, tmp_path):
    learner("episode 324 -324.0 0", "RuntimeError: out of luck", code=3)
    with pytest.raises(UserError, match="DreamerV2 ended with exit code 3: RuntimeError: out of luck"):
        main(Config(**SHORT), tmp_path / "run")
    assert not (tmp_path / "run/done.json").exists()


def test_without_its_environment_or_with_wrong_settings_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(train_dreamer, "PYTHON", tmp_path / "nobody")
    assert_refused(train_dreamer, Config(**SHORT), "make dreamer", tmp_path)
    short = Config(**(SHORT | dict(learning_starts=10)))
    assert_refused(train_dreamer, short, "must be at least a sequence, 50 steps", tmp_path)


def test_what_sheeprl_is_told():
    settings = Config(env="5x5-1", seed=7, levels=3, size="small").__dict__ | {"accelerator": "cpu"}
    told = dict(text.split("=", 1) for text in dreamer.overrides(json.loads(json.dumps(settings))))
    assert told["env.id"] == "5x5-1" and told["seed"] == "7" and told["algo.dense_units"] == "128"
    assert (told["env.wrapper._target_"], told["+env.wrapper.seed"]) == ("papers.ter.agents.dreamer.make", "7")
    assert callable(dreamer.make)
    assert all(re.fullmatch(r"[\w./+-]+", text) for text in told.values())  # what hydra takes without quotation marks
    paper = dreamer.overrides(settings | {"size": "paper"})
    assert not any("dense_units" in text for text in paper)


@pytest.mark.parametrize(("env", "largest"), [("SimpleCrossing-Easy", 324.0), ("5x5-1", 11.0)])
def test_the_task_as_sheeprl_takes_it(env, largest, capsys):
    one, same = (dreamer.make(id=env, seed=3, levels=2) for _ in range(2))
    first, _ = one.reset(seed=99)  # whatever sheeprl asks for: levels are ours
    np.testing.assert_array_equal(first["rgb"], same.reset(seed=1)[0]["rgb"])
    assert one.observation_space.contains(first) and len({*one.known}) == 2 and not any(k % 2 for k in one.known)
    rng, steps, total, over = np.random.default_rng(0), 0, 0.0, False
    while not over:
        _, reward, terminated, truncated, _ = one.step(np.array([[rng.integers(one.action_space.n)]]))
        steps, total, over = steps + 1, total + reward, terminated or truncated
    word, at, said, solved = capsys.readouterr().out.split()
    assert (word, int(at)) == ("episode", steps) and float(said) == pytest.approx(total * largest) and solved in "01"


def test_levels_are_those_of_the_other_methods():
    from papers.ter import train

    settings = dict(levels=4, seed=5, capacity=400, warmup=160)
    theirs = dreamer.make(id="SimpleCrossing-Easy", seed=5, levels=4)
    assert theirs.known == train.Trainer(train.Config(**settings)).world.known
