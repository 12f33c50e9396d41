"""Many runs: a failing one hurts nobody, a stopped sweep goes on where it was, two sweeps share the work."""

import dataclasses
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from lab.run.errors import UserError
from lab.run.identity import run_name
from lab.run.runs import Run
from lab.sweep.entry import Entry
from lab.sweep.sweep import Progress, Report, sweep
from tests.lab import toy_train
from tests.lab.toy_train import Config, main
from tests.processes import members, metrics, started, wait_until

ROOT = Path(__file__).parents[3]
SWEEP = """
import sys
from pathlib import Path
from lab.sweep.sweep import sweep
from tests.lab.sweep.test_sweep import SLOW

if __name__ == "__main__":
    sys.exit(sweep({Path(sys.argv[1]): SLOW}, jobs=2).exit_code)
"""


def entry(method: str = "plain", seed: int = 0, **settings) -> Entry:
    config = Config(method=method, seed=seed, **settings)
    return Entry(method, "Line", seed, "tests.lab.toy_train:main", config)


SLOW = [entry(seed=seed, steps=300, evaluate_every=5, pause=0.4) for seed in range(3)]


def name(entry: Entry) -> str:
    return run_name(entry.config)


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
    report = sweep({tmp_path: entries + [half, done, new]}, jobs=2)

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

    again = sweep({tmp_path: [done, half, new]}, jobs=2)
    assert again.exit_code == 0 and len(again.skipped) == 3


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for orphans in /proc")
def test_a_second_sweep_and_ctrl_c(tmp_path, capsys):
    (tmp_path / "sweep.py").write_text(SWEEP)
    other = started(sys.executable, str(tmp_path / "sweep.py"), str(tmp_path), cwd=ROOT, PYTHONPATH=str(ROOT))

    def saved() -> list[Entry]:
        """Runs that have a checkpoint, which comes after their first row."""
        return [entry for entry in SLOW if (entry.run_dir(tmp_path) / "checkpoint.pkl").exists()]

    wait_until(lambda: len(saved()) == 2, other)
    two = saved()
    report = sweep({tmp_path: two}, jobs=2)  # a second sweep over the same runs leaves them to the first
    assert sorted(report.busy) == sorted(name(entry) for entry in two)
    assert not report.finished and not report.failed and report.exit_code == 1
    assert capsys.readouterr().err.count("is being trained by another process; rerun once it is done") == 2

    os.killpg(other.pid, signal.SIGINT)
    _, error = other.communicate()
    assert other.returncode == 130
    assert "interrupted: rerun the command to resume" in error and "Traceback" not in error
    wait_until(lambda: not members(other.pid))
    assert not any((entry.run_dir(tmp_path) / "done.json").exists() for entry in SLOW)

    (tmp_path / "hurry").touch()
    report = sweep({tmp_path: SLOW}, jobs=2)
    assert len(report.finished) == 3 and report.exit_code == 0
    for slow in SLOW:
        main(dataclasses.replace(slow.config, pause=0.0), tmp_path / "whole" / name(slow))
        assert metrics(slow.run_dir(tmp_path)) == metrics(tmp_path / "whole" / name(slow))
    last_starts = [log.read_text().splitlines()[-1] for log in tmp_path.glob("*/log.txt")]
    assert sum(start != "plain starts at step 0" for start in last_starts) >= 2


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="Not a directory; choose another place for runs"):
        sweep({tmp_path / "file" / "runs": [entry()]}, jobs=1)
    entry().run_dir(tmp_path).write_text("a file in the way")
    report = sweep({tmp_path: [entry(), entry(seed=1)]}, jobs=2)
    assert report.finished == [name(entry(seed=1))] and list(report.failed) == [name(entry())]
    assert "File exists" in report.failed[name(entry())]


def test_progress_counts_the_work_of_all_runs(tmp_path):
    directories = {letter: tmp_path / letter for letter in "abc"}

    def written(letter: str, steps: str) -> None:
        directories[letter].mkdir(exist_ok=True)
        (directories[letter] / "config.json").write_text('{"total_steps": 100}')
        (directories[letter] / "metrics.csv").write_text("step,metric,value,hours\n" + steps)

    written("a", "40,loss,1.0,0.1\n60,lo")
    progress = Progress(directories, {"a": 0.1, "b": 0.3})  # of c nothing is known: the average
    assert (progress.bar.n, progress.bar.total) == pytest.approx((0.4 * 6, 6 + 18 + 12)), "whole rows only"
    written("b", "20,loss,1.0,0.1\n")
    progress.show(["a", "b"], Report())
    assert progress.bar.n == pytest.approx(0.4 * 6 + 0.2 * 18)
    progress.show(["c"], Report(finished=["a"], failed={"b": "killed"}))
    assert progress.bar.n == pytest.approx(6 + 18) and "2/3 runs, 1 failed" in progress.bar.desc
    assert Progress(directories, {}, anew=["a"]).bar.n == pytest.approx(0.2), "without any all count alike"


def test_the_longest_runs_come_first(tmp_path):
    entries = [entry(seed=seed) for seed in range(3)]
    hours = {name(entries[0]): 0.01, name(entries[2]): 0.03}  # of the second nothing is known
    report = sweep({tmp_path: entries}, jobs=1, hours=hours, longest_first=True)
    assert report.finished == [name(entries[i]) for i in (2, 1, 0)]


def test_one_sweep_over_two_directories_trains_in_both(tmp_path, capsys):
    first, second = entry(seed=1), entry("raises", seed=2)
    work = {tmp_path / "x": [first], tmp_path / "y": [second, first]}
    report = sweep(work, jobs=2, hours={name(first): 0.01}, tensorboard=True)
    assert sorted(report.finished) == [f"x/{name(first)}", f"y/{name(first)}"]
    assert list(report.failed) == [f"y/{name(second)}"]
    assert metrics(first.run_dir(tmp_path / "x")) == metrics(first.run_dir(tmp_path / "y"))
    assert str(tmp_path / "y" / name(second) / "log.txt") in capsys.readouterr().err
    assert list(first.run_dir(tmp_path / "x").glob("tensorboard/events.*"))


def old(entry: Entry, root: Path, monkeypatch: pytest.MonkeyPatch, *, whole: bool = True, **stored: object) -> Path:
    """A run that other code has trained, to its end or up to a checkpoint; `stored`: what it had for settings."""
    directory = entry.run_dir(root)
    config = dataclasses.replace(entry.config, **stored)
    if whole:
        main(config, directory)
    else:
        with Run.open(config, directory) as run:
            run.load()
            run.save({"step": 0} | toy_train.fresh_state(config))
    path = directory / "config.json"
    path.write_text(re.sub('(toy_train.py": ")......', r"\1ffffff", path.read_text()))
    return directory


@pytest.mark.parametrize("stale", ["again", "keep"])
def test_runs_of_other_code_are_trained_again_or_kept(tmp_path, monkeypatch, capsys, stale):
    done, half, fresh = entry(seed=1), entry(seed=2), entry(seed=3)
    usual = entry(seed=4)  # learned with another step size, which was the default then
    old(done, tmp_path, monkeypatch)
    old(half, tmp_path, monkeypatch, whole=False)
    old(usual, tmp_path, monkeypatch, whole=False, learning_rate=0.5)
    main(fresh.config, fresh.run_dir(tmp_path))
    report = sweep({tmp_path: [done, half, fresh, usual]}, jobs=2, stale=stale)
    assert not report.failed, report.failed
    error, aside = capsys.readouterr().err, tmp_path / "stale"
    default = "1 stale: retrained because learning_rate was 0.5 and is now 0.01"
    assert default in error and (aside / name(usual) / "checkpoint.pkl").exists()
    assert usual.state(tmp_path).stage == "finished"
    if stale == "again":
        assert "2 stale: retrained because tests/lab/toy_train.py changed" in error
        assert report.skipped == [name(fresh)] and len(report.finished) == 3
        assert (aside / name(done) / "done.json").exists() and (aside / name(half) / "checkpoint.pkl").exists()
        assert {run.state(tmp_path).stage for run in (done, half, fresh)} == {"finished"}
    else:
        assert "2 stale: kept although tests/lab/toy_train.py changed" in error
        assert sorted(report.skipped) == sorted([name(done), name(fresh)])
        assert "will not be collected" in (half.run_dir(tmp_path) / "log.txt").read_text()
        assert [path.name for path in aside.iterdir()] == [name(usual)]
        assert {run.state(tmp_path).stage for run in (done, half)} == {"stale"}
    again = sweep({tmp_path: [done, half, fresh, usual]}, jobs=2, stale=stale)
    assert len(again.skipped) == 4 and again.exit_code == 0


def test_a_stale_run_that_is_in_use_is_left_alone(tmp_path, monkeypatch):
    directory = old(entry(), tmp_path, monkeypatch, whole=False)
    with Run.open(entry().config, directory):
        report = sweep({tmp_path: [entry()]}, jobs=1)
        assert report.busy == [name(entry())] and report.exit_code == 1 and (directory / "checkpoint.pkl").exists()
