"""What runs take together, and what is said when it is not there."""

import dataclasses
import re
import sys

import pytest

from lab.rooms import House
from lab.run.errors import UserError
from lab.sweep import resources
from lab.sweep.resources import BASE_BYTES, default_jobs, fit, gpu_names, replay_needs
from lab.sweep.sweep import sweep
from tests.lab import toy_train
from tests.lab.sweep.test_sweep import entry

GB = 10**9


@pytest.mark.parametrize(
    ("needs", "jobs", "message"),
    [
        ([7.1] * 9, 8, "JOBS=8 runs of 7.1 GB need 56.8 GB of memory, 21 GB are there; JOBS=2 fits"),
        ([1] * 5 + [9, 12], 3, "JOBS=3 runs of up to 12 GB need 22 GB of memory, 21 GB are there; JOBS=2 fits"),
        ([1] * 5 + [9, 11], 3, ""),
        ([30, 1], 2, "a run needs 30 GB of memory, 21 GB are there; lower its capacity, or train on a larger machine"),
        ([7.1] * 2, 8, ""),
        ([10.5] * 2, 2, ""),
        ([], 2, ""),
    ],
)
def test_the_largest_runs_must_fit_side_by_side(needs, jobs, message):
    sizes = [int(need * GB) for need in needs]
    if not message:
        fit(sizes, jobs, 21 * GB, "memory", "are there")
        return
    with pytest.raises(UserError) as error:
        fit(sizes, jobs, 21 * GB, "memory", "are there")
    assert str(error.value) == message


def test_a_sweep_adds_up_memory_over_its_jobs_before_it_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(toy_train, "replay_bytes", lambda config: 2 * GB - BASE_BYTES, raising=False)
    monkeypatch.setattr(resources, "available_memory", lambda: 5 * GB)
    entries = [entry(seed=seed) for seed in range(4)]
    with pytest.raises(UserError, match="JOBS=4 runs of 2 GB need 8 GB of memory, 5 GB are available; JOBS=2 fits"):
        sweep({tmp_path: entries}, jobs=4)
    assert not list(tmp_path.iterdir())


def test_a_sweep_adds_up_three_copies_on_disk_less_what_is_written(tmp_path, monkeypatch):
    """The replay, 1 GB: the checkpoint, the one before, and the one being written. A cluster has memory of its own."""
    monkeypatch.setattr(toy_train, "replay_bytes", lambda config: GB, raising=False)
    monkeypatch.setattr(resources, "available_memory", lambda: 0)
    free = 6 * GB - 1000
    monkeypatch.setattr(resources.shutil, "disk_usage", lambda path: type("Usage", (), {"free": free}))
    runs = [(each, each.run_dir(tmp_path)) for each in (entry(seed=seed) for seed in range(2))]
    message = r"JOBS=2 runs of 3 GB need 6 GB of disk, 6 GB are free for checkpoints in .*; JOBS=1 fits"
    with pytest.raises(UserError, match=message):
        resources.check(runs, 8, memory=False)
    runs[0][1].mkdir()
    (runs[0][1] / "checkpoint.pkl").write_bytes(bytes(1000))
    resources.check(runs, 8, memory=False)


def test_settings_that_cannot_work_are_left_to_their_run(monkeypatch):
    monkeypatch.setattr(toy_train, "replay_bytes", lambda config: 1 // config.seed, raising=False)
    elsewhere = dataclasses.replace(entry(), target="tests.lab.no_such_script:main")
    assert replay_needs([entry(), elsewhere]) == [0, 0]


def scripts() -> dict[str, object]:
    """A smoke config of every script that the experiments train with."""
    experiments = [make for paper in House().papers().values() for make in paper.experiments.values()]
    return {entry.target.split(":")[0]: entry.config for make in experiments for entry in make("smoke")}


def test_every_script_says_what_its_replay_announces(capsys):
    asked = []
    for module, config in scripts().items():
        script = sys.modules[module]
        if not hasattr(script, "Trainer"):
            assert not hasattr(script, "replay_bytes") or module == "papers.ter.train_dreamer", module  # sheeprl's
            continue
        script.Trainer(config)
        said = capsys.readouterr().out.replace(",", "")
        announced = re.findall(r"replay: (\d+) transitions x (\d+) B(?: \+ up to (\d+) B beside them)? =", said)
        if not announced:
            assert not hasattr(script, "replay_bytes"), module
            continue
        [(capacity, each, beside)] = announced
        assert script.replay_bytes(config) == int(capacity) * int(each) + int(beside or 0), module
        asked.append(module)
    assert len(asked) >= 10


def test_gpus_are_called_as_this_process_may_see_them():
    assert gpu_names(3, None) == ["0", "1", "2"]
    assert gpu_names(2, "5, GPU-8f") == ["5", "GPU-8f"]
    assert gpu_names(1, "5,77") == ["5"], "CUDA stops at the first that is not there"
    assert gpu_names(0, "") == []


@pytest.mark.parametrize(
    ("device", "launcher", "cores", "jobs"),
    [
        ("cpu", "local", 6, 6), ("cuda", "local", 64, 8), ("cuda", "local", 6, 6), ("cuda", "ray", 6, 6),
        ("cpu", "slurm", 6, 100),
    ],
)  # fmt: skip
def test_jobs_where_nobody_says(device, launcher, cores, jobs, monkeypatch):
    monkeypatch.setattr(resources, "count_gpus", lambda: 2)
    monkeypatch.setattr(resources.os, "cpu_count", lambda: cores)
    assert default_jobs(device, launcher) == jobs
