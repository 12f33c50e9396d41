"""Many runs: a failing one hurts nobody, a stopped sweep goes on where it was, two sweeps share the work."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.errors import UserError
from lab.runs import run_name
from lab.sweep import Entry, Progress, Report, _last_step, run_entries, sweep
from tests.lab import toy_train
from tests.lab.toy_train import Config, main

ROOT = Path(__file__).parents[2]
SWEEP = """
import sys
from pathlib import Path
from lab.sweep import run_entries
from tests.lab.test_sweep import SLOW

if __name__ == "__main__":
    sys.exit(run_entries(SLOW, Path(sys.argv[1]), jobs=2).exit_code)
"""


def entry(method: str = "plain", seed: int = 0, **settings) -> Entry:
    config = Config(method=method, seed=seed, **settings)
    return Entry(method, "Line", seed, "tests.lab.toy_train:main", config)


SLOW = [entry(seed=seed, steps=600, evaluate_every=20, pause=0.05) for seed in range(3)]


def name(entry: Entry) -> str:
    return run_name(entry.config)


def metrics(run_dir: Path) -> list[list[str]]:
    return [line.split(",")[:3] for line in (run_dir / "metrics.csv").read_text().splitlines()]


def test_finished_is_skipped_half_done_resumed_and_failures_stay_alone(tmp_path, monkeypatch, capsys):
    done, half, new, raises, dies = entry(seed=1), entry(seed=2), entry(seed=3), entry("raises"), entry("dies")
    diverges, starves, broken = entry("diverges"), entry("starves"), entry(seed=4)
    broken = dataclasses.replace(broken, target="tests.lab.no_such_script:main")
    main(done.config, done.run_dir(tmp_path))
    for root in (tmp_path, tmp_path / "whole"):
        with monkeypatch.context() as patch:
            pauses = iter(range(32 if root == tmp_path else 1000))
            patch.setattr(toy_train.time, "sleep", lambda _, pauses=pauses: next(pauses))
            try:
                main(half.config, half.run_dir(root))
            except StopIteration:
                assert root == tmp_path
    entries = [raises, done, dies, half, diverges, starves, broken, new]
    report = run_entries(entries + [half, done, new], tmp_path, jobs=2)

    assert report.skipped == [name(done)]
    assert sorted(report.finished) == sorted([name(half), name(new)])
    assert set(report.failed) == {name(raises), name(dies), name(diverges), name(starves), name(broken)}
    assert "ZeroDivisionError: the toy was told to fail" in report.failed[name(raises)]
    assert report.failed[name(dies)].endswith("killed by SIGKILL")
    assert "loss is nan at step 35; last good checkpoint" in report.failed[name(diverges)]
    assert "choose a smaller replay capacity\nexit code 2" in report.failed[name(starves)]
    assert "Traceback" not in report.failed[name(diverges)] + report.failed[name(starves)]
    assert "No module named 'tests.lab.no_such_script'" in report.failed[name(broken)]
    assert not report.interrupted and not report.busy and report.exit_code == 1

    assert metrics(half.run_dir(tmp_path)) == metrics(half.run_dir(tmp_path / "whole"))
    assert "starts at step 30" in (half.run_dir(tmp_path) / "log.txt").read_text()
    assert (new.run_dir(tmp_path) / "log.txt").read_text() == "plain starts at step 0\n"  # once, though listed twice
    assert '"threads": 1,' in (new.run_dir(tmp_path) / "config.json").read_text()
    error = capsys.readouterr().err
    assert "7/7 runs, 5 failed" in error
    assert "runs: 2 finished, 1 finished before, 5 failed" in error
    assert f"failed: {name(raises)} (see {raises.run_dir(tmp_path) / 'log.txt'})" in error

    again = run_entries([done, half, new], tmp_path, jobs=2)
    assert again.exit_code == 0 and len(again.skipped) == 3


def members(group: int) -> list[str]:
    """Command lines of the living processes of a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = path.read_text().rsplit(")", 1)[1].split()[:3]
            if int(process_group) == group and state != "Z":
                found.append((path.parent / "cmdline").read_text())
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def wait_until(condition, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def started_sweep(runs_root: Path) -> subprocess.Popen:
    """Another process that trains SLOW, two of its runs under way."""
    runs_root.mkdir(exist_ok=True)
    (runs_root / "sweep.py").write_text(SWEEP)
    before = [_last_step(entry.run_dir(runs_root)) for entry in SLOW]
    sweep = subprocess.Popen(
        [sys.executable, str(runs_root / "sweep.py"), str(runs_root)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # as from a terminal
    )  # fmt: skip
    wait_until(lambda: sum(_last_step(e.run_dir(runs_root)) > b for e, b in zip(SLOW, before)) == 2, 60)
    return sweep


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for orphans in /proc")
def test_ctrl_c_a_second_sweep_and_a_killed_sweep(tmp_path):
    sweep = started_sweep(tmp_path)
    two = [entry for entry in SLOW if _last_step(entry.run_dir(tmp_path))]
    report = run_entries(two, tmp_path, jobs=2)  # a second sweep over the same runs leaves them to the first
    assert sorted(report.busy) == sorted(name(entry) for entry in two)
    assert not report.finished and not report.failed and report.exit_code == 0

    os.killpg(sweep.pid, signal.SIGINT)
    start = time.monotonic()
    _, error = sweep.communicate(timeout=20)
    assert sweep.returncode == 130 and time.monotonic() - start < 8
    assert "interrupted: the same command again resumes" in error and "Traceback" not in error
    wait_until(lambda: not members(sweep.pid), 10)
    assert not any((entry.run_dir(tmp_path) / "done.json").exists() for entry in SLOW)

    sweep = started_sweep(tmp_path)
    sweep.kill()
    sweep.communicate()
    wait_until(lambda: not members(sweep.pid), 10)

    (tmp_path / "hurry").touch()
    report = run_entries(SLOW, tmp_path, jobs=2)
    assert len(report.finished) == 3 and report.exit_code == 0
    for slow in SLOW:
        main(dataclasses.replace(slow.config, pause=0.0), tmp_path / "whole" / name(slow))
        assert metrics(slow.run_dir(tmp_path)) == metrics(tmp_path / "whole" / name(slow))
    last_starts = [log.read_text().splitlines()[-1] for log in tmp_path.glob("*/log.txt")]
    assert sum(start != "plain starts at step 0" for start in last_starts) >= 2


def test_mistakes(tmp_path):
    with pytest.raises(UserError, match="unknown LAUNCHER=cloud; use one of local, ray, slurm"):
        run_entries([entry()], tmp_path, jobs=1, launcher="cloud")
    with pytest.raises(UserError, match="JOBS=0"):
        run_entries([entry()], tmp_path, jobs=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="Not a directory; choose another place for runs"):
        run_entries([entry()], tmp_path / "file" / "runs", jobs=1)


def test_run_directory_that_cannot_be_made(tmp_path):
    entry().run_dir(tmp_path).write_text("a file in the way")
    report = run_entries([entry(), entry(seed=1)], tmp_path, jobs=2)
    assert report.finished == [name(entry(seed=1))] and list(report.failed) == [name(entry())]


def test_progress_counts_the_work_of_all_runs(tmp_path):
    directories = {letter: tmp_path / letter for letter in "abc"}

    def written(letter: str, steps: str) -> None:
        directories[letter].mkdir(exist_ok=True)
        (directories[letter] / "config.json").write_text('{"total_steps": 100}')
        (directories[letter] / "metrics.csv").write_text("step,metric,value,hours\n" + steps)

    written("a", "40,loss,1.0,0.1\n60,lo")
    with Progress(directories, {}, jobs=2) as progress:  # nothing is known of the runs: all count alike
        assert (progress.bar.n, progress.bar.total) == pytest.approx((0.4, 3.0))  # whole rows only
        written("b", "20,loss,1.0,0.1\n")
        progress.show(["a", "b"], Report())
        assert (progress.bar.n, progress.bar.total) == pytest.approx((0.6, 3.0))
        progress.show(["a", "b"], Report(finished=["a"], failed={"b": "killed"}))
        assert (progress.bar.n, progress.bar.total) == pytest.approx((1.2, 2.2)), "b's other minutes will not be spent"
        assert "2/3 runs, 1 failed" in progress.bar.desc
    with Progress(directories, {"a": 0.1, "b": 0.3}, jobs=2) as progress:
        assert (progress.bar.n, progress.bar.total) == pytest.approx((0.4 * 6 + 0.2 * 18, 6 + 18 + 12))


def test_the_remaining_time_starts_from_the_usual_speed_and_follows_the_one_seen(tmp_path):
    directories = {letter: tmp_path / letter for letter in "abcd"}
    with Progress(directories, dict.fromkeys("abcd", 0.5), jobs=2) as progress:
        remaining = progress.bar.total / progress.bar.format_dict["rate"]
        assert remaining == pytest.approx(4 * 0.5 * 3600 / 2, rel=0.01), "two hours of work for two processes"
        progress.bar.start_t -= 3600  # an hour has passed, and half of the usual work was done in it
        progress.bar.n = 60.0
        remaining = (progress.bar.total - progress.bar.n) / progress.bar.format_dict["rate"]
        assert remaining == pytest.approx(3600, rel=0.06)
        progress.bar.n = 30.0  # only a quarter: this machine takes twice as long
        remaining = (progress.bar.total - progress.bar.n) / progress.bar.format_dict["rate"]
        assert 9000 < remaining < 10800


def test_the_longest_runs_come_first(tmp_path):
    entries = [entry(seed=seed) for seed in range(3)]
    hours = {name(entries[0]): 0.01, name(entries[2]): 0.03}  # of the second nothing is known
    report = sweep({tmp_path: entries}, jobs=1, hours=hours, longest_first=True)
    assert report.finished == [name(entries[i]) for i in (2, 1, 0)]


def test_one_sweep_over_two_directories(tmp_path, capsys):
    first, second = entry(seed=1), entry("raises", seed=2)
    report = sweep({tmp_path / "x": [first], tmp_path / "y": [second, first]}, jobs=1, hours={name(first): 0.01})
    assert (tmp_path / "x" / name(first) / "done.json").exists() and not (tmp_path / "y" / name(first)).exists()
    assert report.finished == [name(first)] and list(report.failed) == [name(second)]
    assert str(tmp_path / "y" / name(second) / "log.txt") in capsys.readouterr().err
