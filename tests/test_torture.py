"""The torturer tortured: it kills, it resumes, and it finds the script that forgets a random stream."""

import itertools
import random
from pathlib import Path

import pytest

from lab.sweep.entry import Entry
from tests.lab import forgetful_train, toy_train
from tests.torture import runs
from tests.torture.__main__ import torture

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for children in /proc")

EVALUATIONS = toy_train.Config().steps // toy_train.Config().evaluate_every


def entry(script, seed: int = 0) -> Entry:
    return Entry("plain", "Line", seed, f"{script.__name__}:main", script.Config(seed=seed, pause=0.01))


def test_a_random_stream_that_a_checkpoint_forgets_is_found(tmp_path, capsys):
    cases = torture([entry(toy_train), entry(forgetful_train)], n=8, jobs=2, seed=1, place=tmp_path / "kept")
    by_script = {
        script: [case for case in cases if case.entry.module == script.__name__]
        for script in (toy_train, forgetful_train)
    }
    assert [len(found) for found in by_script.values()] == [4, 4]
    assert all(case.kills and not case.wrong for case in by_script[toy_train])
    found = [case for case in by_script[forgetful_train] if case.wrong]
    assert found and all("of metrics.csv is" in case.wrong[0] for case in found)
    assert all("tensors in weights.pt" in case.wrong[-1] for case in found)
    for case in by_script[forgetful_train]:  # what begins again, or has no step left, has lost nothing
        if any(kill.saved and kill.evaluations < EVALUATIONS for kill in case.kills):
            assert case in found
        if not any(kill.saved for kill in case.kills):
            assert case not in found
    output = capsys.readouterr().out
    assert output.count("DIFFERS") == len(found) and f"times: {8 - len(found)} identical" in output
    assert len(list((tmp_path / "kept" / "killed").iterdir())) == len(found), "what differs is kept, and nothing else"


def test_every_method_of_every_script_has_its_turn():
    entries = [runs.longer(run) for run in runs.smoke()]
    assert all(run.target == f"{type(run.config).__module__}:main" for run in entries)
    methods = {(run.module, runs.kind(run)) for run in entries}
    chosen = list(itertools.islice(runs.rotation(entries, random.Random(3)), 2 * len(methods)))
    scripts = {run.module for run in entries}
    assert {run.module for run in chosen[: len(scripts)]} == scripts
    assert {(run.module, runs.kind(run)) for run in chosen[: len(methods)]} == methods
    assert len(methods) <= 110, "for README.md, whose hundred kills are said to be of nearly all"
    assert set(runs.LONGER) | set(runs.SAVE_EVERY) <= scripts
