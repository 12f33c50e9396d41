"""One run: the same however often it is stopped, and one clear line for whatever is wrong with its directory."""

import dataclasses
import errno
import json
import multiprocessing
import os
import platform
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from lab.run import checkpoints, provenance
from lab.run.cli import cli
from lab.run.errors import NonFiniteLoss, RunBusy, UserError, guard
from lab.run.identity import run_name, state
from lab.run.runs import Run, Streams, set_aside
from lab.run.settings import check
from lab.run.sources import digest, sources
from tests.lab import toy_train
from tests.lab.toy_train import Config, main
from tests.processes import metrics

ROOT = Path(__file__).parents[3]
processes = multiprocessing.get_context("fork")


def weights(run_dir: Path) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in torch.load(run_dir / "weights.pt").items()}


def stop_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Let the next main() of this process end by an error within update `step` (of this attempt)."""
    calls = iter(range(1, step))

    def sleep(_: float) -> None:
        if next(calls, None) is None:
            monkeypatch.undo()
            raise InterruptedError

    monkeypatch.setattr(toy_train.time, "sleep", sleep)


def half_done(config: Config, run_dir: Path, monkeypatch: pytest.MonkeyPatch, step: int = 33) -> Path:
    stop_at(monkeypatch, step)
    with pytest.raises(InterruptedError):
        main(config, run_dir)
    return run_dir


# ------------------------------------------------------------------------------------------------ stop and go on


def killed_at(call: int, config: Config, run_dir: Path) -> None:
    """main() in a process that is killed just before its `call`-th look at the clock, fsync or rename."""
    left = iter(range(call))
    for module, name in ((os, "fsync"), (os, "replace"), (toy_train.time, "sleep"), (time, "monotonic")):

        def count(*arguments, usual=getattr(module, name)):
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return usual(*arguments)

        setattr(module, name, count)
    main(config, run_dir)


def test_killed_at_random_moments_and_resumed_is_the_same_run(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    main(Config(), whole)
    moments = [random.randrange(5, 36) for _ in range(4)]  # others in every test run, on purpose
    for call in moments:
        process = processes.Process(target=killed_at, args=(call, Config(), killed))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    main(Config(), killed)
    assert metrics(killed) == metrics(whole), f"killed at the calls {moments}"
    assert weights(killed) == weights(whole), f"killed at the calls {moments}"
    assert main(Config(), killed) == main(Config(), whole)


def test_same_seed_same_run_and_another_seed_another(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        main(Config(seed=seed), tmp_path / name)
    assert metrics(tmp_path / "a") == metrics(tmp_path / "b") != metrics(tmp_path / "c")
    assert weights(tmp_path / "a") == weights(tmp_path / "b") != weights(tmp_path / "c")


def test_finished_run_keeps_what_is_needed_and_is_not_run_again(tmp_path, monkeypatch):
    summary = main(Config(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "config.json", "done.json", "lock", "metrics.csv", "weights.pt"
    ]  # fmt: skip
    monkeypatch.setattr(toy_train, "fresh_state", None)
    assert main(Config(), tmp_path) == summary == json.loads((tmp_path / "done.json").read_text())


def test_metrics_rows_and_hours_over_all_attempts(tmp_path, monkeypatch):
    clock = iter(range(0, 3600 * 1000, 36))  # a hundredth of an hour passes between any two looks at the clock
    monkeypatch.setattr("lab.run.runs.time.monotonic", lambda: float(next(clock)))
    for attempt in range(2):
        with Run.open(Config(), tmp_path) as run:
            assert (run.load() is None) == (attempt == 0)
            assert run.last.get("length") == (7 if attempt else None)
            run.log(10 * attempt, {"return": np.float32(0.1), "length": 7})
            run.save({"attempt": attempt})
            run.log(10 * attempt + 5, {"lost": 1.0})
    lines = (tmp_path / "metrics.csv").read_text().splitlines()
    assert [line.rsplit(",", 1)[0] for line in lines] == [
        "step,metric,value", "0,return,0.10000000149011612", "0,length,7.0",
        "10,return,0.10000000149011612", "10,length,7.0", "15,lost,1.0",
    ]  # fmt: skip
    hours = [float(line.rsplit(",", 1)[1]) for line in lines[1:]]
    assert hours == sorted(hours) and hours[2] == pytest.approx(hours[0] + 0.02)  # saved one look later, then one more


def test_kill_between_the_two_renames_of_a_checkpoint(tmp_path, monkeypatch, capsys):
    half_done(Config(), tmp_path, monkeypatch)
    (tmp_path / "checkpoint.pkl").rename(tmp_path / "previous.pkl")
    main(Config(), tmp_path)
    assert "starts at step 30" in capsys.readouterr().out


# ------------------------------------------------------------------------------------------------ damage


def cut(path: Path, rest: float = 0.6) -> None:
    os.truncate(path, int(path.stat().st_size * rest))


def flip(path: Path, place: float = 0.6) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, flip, lambda path: cut(path, 0), lambda path: flip(path, 0.999)])
def test_damaged_checkpoint_is_noticed_and_the_one_before_used(tmp_path, monkeypatch, capsys, damage):
    main(Config(), tmp_path / "whole")
    run_dir = half_done(Config(), tmp_path / "half", monkeypatch)
    damage(run_dir / "checkpoint.pkl")
    capsys.readouterr()
    stop_at(monkeypatch, 7)
    with pytest.raises(InterruptedError):
        main(Config(), run_dir)
    output = capsys.readouterr()
    assert "starts at step 25" in output.out
    assert "checkpoint.pkl" in output.err and "using previous.pkl" in output.err
    assert output.err.count("\n") == 1
    assert checkpoints.read(run_dir / "previous.pkl")["state"]["step"] == 25  # not the damaged one, moved on
    main(Config(), run_dir)
    assert "starts at step 30" in capsys.readouterr().out
    assert metrics(run_dir) == metrics(tmp_path / "whole") and weights(run_dir) == weights(tmp_path / "whole")


def test_both_checkpoints_damaged(tmp_path, monkeypatch, one_line):
    half_done(Config(), tmp_path, monkeypatch)
    cut(tmp_path / "checkpoint.pkl")
    flip(tmp_path / "previous.pkl")
    before = contents(tmp_path)
    assert one_line(main, Config(), tmp_path) == (
        f"error: {tmp_path}: every checkpoint is damaged: checkpoint.pkl (truncated) and previous.pkl (wrong digest); "
        "delete the directory to start again"
    )
    assert contents(tmp_path) == before


def test_metrics_shorter_than_the_checkpoint_remembers(tmp_path, monkeypatch, one_line):
    half_done(Config(), tmp_path, monkeypatch)
    cut(tmp_path / "metrics.csv")
    assert "metrics.csv has" in one_line(main, Config(), tmp_path)


def test_checkpoint_of_other_code(tmp_path, monkeypatch, one_line):
    half_done(Config(), tmp_path, monkeypatch)
    checkpoints.save(tmp_path, Forgotten())
    monkeypatch.delattr(sys.modules[__name__], "Forgotten")
    assert "was written by other code" in one_line(main, Config(), tmp_path)


class Forgotten:
    pass


# ------------------------------------------------------------------------------------------------ mistakes


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def test_a_run_that_is_open_cannot_be_opened_again(tmp_path, one_line):
    (tmp_path / "checkpoint.pkl.0123.tmp").touch()  # by a writer that was killed
    with Run.open(Config(), tmp_path):
        assert not list(tmp_path.glob("*.tmp"))
        before = contents(tmp_path)
        for config in (Config(), Config(seed=9)):
            assert "is being written by another process" in one_line(main, config, tmp_path)
        assert contents(tmp_path) == before
    Run.open(Config(), tmp_path).close()


@pytest.mark.parametrize("finished", [False, True])
def test_another_config_is_refused(tmp_path, monkeypatch, one_line, finished):
    main(Config(), tmp_path) if finished else half_done(Config(), tmp_path, monkeypatch)
    before = contents(tmp_path)
    error = one_line(main, Config(learning_rate=0.1, pause=1.0), tmp_path)
    assert "different settings: learning_rate was 0.01 and is now 0.1;" in error
    assert contents(tmp_path) == before


def test_directory_that_cannot_be_written(tmp_path, monkeypatch, one_line):
    (tmp_path / "file").write_text("")
    error = one_line(main, Config(), tmp_path / "file" / "run")
    assert "Not a directory" in error and "choose another place" in error

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", refuse)
    error = one_line(main, Config(), tmp_path / "run")
    assert f"cannot write {tmp_path / 'run'}: Read-only file system; choose another place for runs" in error


def test_full_disk_while_saving_keeps_the_checkpoint_before(tmp_path, monkeypatch, one_line):
    main(Config(), tmp_path / "whole")
    half_done(Config(), tmp_path / "half", monkeypatch)
    before = contents(tmp_path / "half")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "_to_disk", full)
        patch.setattr("lab.run.runs._write_config", lambda *_: None)
        error = one_line(main, Config(), tmp_path / "half")
    assert "checkpoint.pkl: No space left on device; the previous checkpoint is intact" in error
    after = contents(tmp_path / "half")
    assert all(after[name] == before[name] for name in ("checkpoint.pkl", "previous.pkl"))
    assert after.keys() == before.keys()
    main(Config(), tmp_path / "half")
    assert weights(tmp_path / "half") == weights(tmp_path / "whole")
    assert metrics(tmp_path / "half") == metrics(tmp_path / "whole")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_while_logging(tmp_path, one_line):
    with Run.open(Config(), tmp_path) as run:
        run.load()
        run._metrics = open("/dev/full", "wb")
        assert "metrics.csv: No space left on device" in one_line(run.log, 1, {"a": 1.0})


def test_expected_errors_are_a_line_and_bugs_are_not(one_line, tmp_path):
    def fails(error: Exception) -> None:
        raise error

    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "table.csv")
    assert "cannot write table.csv: No space left on device" in one_line(fails, full)
    assert one_line(fails, MemoryError("the replay needs 9 GB")) == "error: the replay needs 9 GB"
    folder = one_line(checkpoints.write_atomically, tmp_path, b"")
    assert folder == f"error: {tmp_path}: Is a directory; choose another name"
    with pytest.raises(FileNotFoundError):
        guard(open)("/nowhere/at/all")


def test_non_finite_loss_stops_with_step_name_and_checkpoint(tmp_path, one_line):
    config = Config(method="diverges")
    with pytest.raises(NonFiniteLoss):
        main(config, tmp_path)
    error = one_line(main, config, tmp_path, code=1)
    assert error == f"error: loss is nan at step 35; last good checkpoint: {tmp_path / 'checkpoint.pkl'}"
    assert checkpoints.load(tmp_path)["state"]["step"] == 30
    with Run.open(Config(), tmp_path / "new") as run:
        run.check_finite(1, loss=torch.ones((), requires_grad=True))
        with pytest.raises(NonFiniteLoss, match="critic is inf at step 2; no checkpoint"):
            run.check_finite(2, actor=0.0, critic=torch.tensor(float("inf")))


# ------------------------------------------------------------------------------------------------ streams


def test_streams_are_independent_and_repeatable():
    streams, again, other = Streams(5), Streams(5), Streams(6)
    first = streams.numpy("replay").random(4)
    assert np.array_equal(first, again.numpy("replay").random(4))
    assert not np.array_equal(first, streams.numpy("exploration").random(4))
    assert not np.array_equal(first, other.numpy("replay").random(4))
    assert torch.equal(torch.rand(3, generator=streams.torch("noise")), torch.rand(3, generator=again.torch("noise")))
    assert streams.integer("env") == again.integer("env") != other.integer("env")
    assert 0 <= streams.integer("env") < 2**31
    names = ("replay", "starts", "network", "levels")
    assert len({Streams(seed).integer(name) for seed in range(100) for name in names}) == 400
    with pytest.raises(UserError, match="seed -1 is negative"):
        Streams(-1)


# ------------------------------------------------------------------------------------------------ provenance


def test_config_file_says_where_the_numbers_come_from(tmp_path):
    with Run.open(Config(), tmp_path, total_steps=60):
        pass
    text = (tmp_path / "config.json").read_text()
    content = json.loads(text)
    assert content["config"] == dataclasses.asdict(Config()) and content["total_steps"] == 60
    assert content["files"] == sources("tests.lab.toy_train") and content["sources"] == digest(content["files"])
    assert (len(content["commit"]) == 40 and content["dirty"] in (True, False)) or content["commit"] == "unknown"
    assert torch.__version__.startswith(content["versions"]["torch"])  # which may end in the build, such as +cpu
    assert content["threads"] == torch.get_num_threads()
    assert set(content["machine"]) == {"cpu", "cores", "python", "platform"}
    assert len(platform.node()) < 4 or platform.node() not in text


def other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    files = provenance.code("tests.lab.toy_train")["files"] | {"papers/coins/method.py": "0a0a0a"}
    code = {"commit": "f" * 40, "dirty": False, "sources": digest(files), "files": files}
    monkeypatch.setattr(provenance, "_adopted", code)


def test_resuming_under_other_code_goes_on_and_is_noted(tmp_path, monkeypatch, capsys):
    main(Config(), tmp_path / "whole")
    run_dir = half_done(Config(), tmp_path / "half", monkeypatch)
    capsys.readouterr()
    own = provenance.code("tests.lab.toy_train")
    other_code(monkeypatch)
    main(Config(), run_dir)
    error = capsys.readouterr().err
    assert error == (
        f"warning: {run_dir} resumes with changed code: papers/coins/method.py is new; it will not be collected\n"
    )
    assert metrics(run_dir) == metrics(tmp_path / "whole")
    content = json.loads((run_dir / "config.json").read_text())
    assert content["files"] == own["files"]
    assert [attempt["commit"] for attempt in content["resumed"]] == ["f" * 40]
    for files in (own["files"], provenance.code("")["files"]):
        assert state(run_dir, Config(), files).stage == "stale"
    main(Config(), tmp_path / "whole")
    assert capsys.readouterr().err.endswith("was finished with other code: papers/coins/method.py is new\n")


def test_a_directory_is_set_aside_unless_it_is_in_use(tmp_path, monkeypatch):
    run_dir = tmp_path / "run"
    for number in range(2):
        with Run.open(Config(seed=number), run_dir), pytest.raises(RunBusy):
            set_aside(run_dir)
        set_aside(run_dir)
    seeds = [json.loads((tmp_path / "stale" / name / "config.json").read_text()) for name in ("run", "run.2")]
    assert [content["config"]["seed"] for content in seeds] == [0, 1] and not run_dir.exists()


# ------------------------------------------------------------------------------------------------ command line


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["train", *arguments])
    cli(Config, main, "A toy.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--stepz", "3"], "unknown option --stepz; did you mean --steps?"),
        (["something"], "unknown argument something (.venv/bin/python -m tests.lab.toy_train --help)"),
        (["--method", "magic"], "'magic' for argument '--method'. Expected one of ('plain', 'raises', "),
        (["--steps", "many"], "Error parsing --steps: "),
        (["--steps"], "Missing value for argument '--steps'"),
        (["--seed", "-1", "--run-dir", "TMP"], "seed -1 is negative; use 0 or more"),
    ],
)
def test_mistakes_on_the_command_line(monkeypatch, one_line, tmp_path, arguments, words):
    arguments = [argument.replace("TMP", str(tmp_path / "run")) for argument in arguments]
    assert words in one_line(command, monkeypatch, "--no-progress", *arguments)


def test_command_runs_shows_progress_and_prints_the_summary(monkeypatch, capsys, tmp_path):
    threads = torch.get_num_threads()
    try:
        command(monkeypatch, "--run-dir", str(tmp_path), "--steps", "20")
    finally:
        torch.set_num_threads(threads)
    output = capsys.readouterr()
    assert f"run directory: {tmp_path}" in output.out and "steps: 20" in output.out
    assert "20/20" in output.err and "loss=" in output.err


def shown(directory: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows of a run: metric -> step and value."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(directory / "tensorboard"))
    events.Reload()
    return {name: [(one.step, one.value) for one in events.Scalars(name)] for name in events.Tags()["scalars"]}


@pytest.mark.parametrize("saved", [False, True], ids=["before the first checkpoint", "after one"])
def test_tensorboard_shows_what_is_in_the_table(tmp_path, saved):
    """Each step once, whenever the run was killed: also with rows of one step before and after a checkpoint, and where
    an attempt went on without TensorBoard."""
    pytest.importorskip("tensorboard")

    def attempt(steps: int, **how: bool) -> None:
        """Up to so many steps; each is logged, then saved, then logged again."""
        with Run.open(Config(), tmp_path, **{"tensorboard": True} | how) as run:
            begun = run.load()
            if begun is None:
                run.log(0, {"a": 0.0})
            for step in range(begun["step"] if begun else 1, steps):
                if not begun or step > begun["step"]:
                    run.log(step, {"a": step / 2})
                    if saved:
                        run.save({"step": step})
                run.log(step, {"b": step / 4})

    for steps, how in ((2, {}), (3, {}), (4, {"tensorboard": False}), (5, {})):
        attempt(steps, **how)
        time.sleep(0.01)
    assert shown(tmp_path) == {
        "a": [(step, step / 2) for step in range(5)],
        "b": [(step, step / 4) for step in range(1, 5)],
    }
    rows = [line.split(",")[:2] for line in (tmp_path / "metrics.csv").read_text().splitlines()[1:]]
    assert sorted(map(tuple, rows)) == sorted((str(s), name) for name, some in shown(tmp_path).items() for s, _ in some)


def test_a_name_that_is_too_long_costs_one_line(one_line, tmp_path):
    assert "File name too long; choose another name" in one_line(main, Config(), tmp_path / ("x" * 256))


def test_a_seed_that_results_have_no_room_for(one_line, tmp_path):
    assert "seed 9223372036854775808 is too large" in one_line(check, Config(seed=2**63))


def test_tensorboard_missing(monkeypatch, one_line, tmp_path):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    assert "--tensorboard needs tensorboard" in one_line(main, Config(), tmp_path, tensorboard=True)


def test_started_as_a_module_it_is_the_run_that_a_sweep_knows(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "tests.lab.toy_train", "--no-progress", "--method", "dies"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
    )  # fmt: skip
    run_dir = tmp_path / "runs" / "toy_train" / run_name(Config(method="dies"))
    state = checkpoints.load(run_dir)["state"]
    assert state["step"] == 30 and state["config"] == Config(method="dies")  # the same class, not one of __main__


def test_a_closed_pipe_is_no_traceback():
    code = "from lab.run.errors import guard\nguard(lambda: [print('x' * 999, flush=True) for _ in range(9999)])()"
    command = f'{shlex.quote(sys.executable)} -c "{code}" | head -1 > {os.devnull}'
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""
