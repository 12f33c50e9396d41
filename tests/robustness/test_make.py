"""The Makefile from outside: its variables, what it installs, Ctrl-C."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import fresh, started, wait_until

ROOT = Path(__file__).parents[2]
DREAMER = "papers/ter/agents/requirements-dreamer.txt"


def make(venv: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run make as from a fresh shell, with this Python as an environment in which everything is installed."""
    command = installed(venv, f'exec {shlex.quote(sys.executable)} "$@"') + list(arguments)
    return subprocess.run(command, cwd=ROOT, env=fresh(), capture_output=True, text=True)


def installed(venv: Path, python: str) -> list[str]:
    """The command that uses an environment in which everything is installed, with a shell script as its Python."""
    (venv / "bin").mkdir(parents=True)
    (venv / "bin/python").write_text(f"#!/bin/sh\n{python}\n")
    (venv / "bin/python").chmod(0o755)
    for stamp in (".run", ".extras", ".dev", ".hub"):
        (venv / stamp).touch()
    return ["make", f"VENV={venv}"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["JOBS=0"], ["0", "1 or more"]),
        (["JOBS=two"], ["two", "1 or more"]),
        (["JOBS=-1"], ["-1", "1 or more"]),
        (["DEVICE=gpu"], ["gpu", "cpu", "cuda"]),
        (["DEVICE=cuda:x"], ["cuda:x", "cuda:0"]),
        (["DEVICE=cuda"], ["cuda", "no CUDA device"]),
        (["LAUNCHER=pbs"], ["pbs", "local, ray, slurm"]),
        (["SEEDS=0"], ["0", "3,7"]),
        (["SEEDS=3;7"], ["3;7", "3,7"]),
        (["SEEDS=10000"], ["10000", "1 to 9999"]),
        (["SEEDS=3,9223372036854775808"], ["9223372036854775808", "18 digits"]),
        (["SEEDS='"], ["'", "3,7"]),
        (["STALE=never"], ["never", "again, keep"]),
        (["TENSORBOARD=yes"], ["yes", "1 (yes) or 0 (no)"]),
        (["HOURS=0.0"], ["0.0", "above 0"]),
        (["HOURS=two"], ["two", "above 0"]),
        (["N=0"], ["0", "1 or more"]),
        (["N=ten"], ["ten", "1 or more"]),
        (["SEED=-1"], ["SEED", "-1", "0 or more"]),
        (["SCALE="], ["smoke, quick, long, full"]),
        (["SCALE=quik"], ["did you mean quick"]),
        (["ners-fig99"], ["ners-fig99", "ners-fig1"]),
        (["reproduse"], ["reproduse", "lists them all"]),
    ],
)
def test_a_wrong_target_or_variable_costs_one_line(tmp_path, arguments, words):
    """And the right target before it is not begun."""
    done = make(tmp_path / "venv", "ter-fig2", *arguments)
    lines = [line for line in done.stderr.splitlines() if not line.startswith(("make: ***", "make[1]: ***"))]
    lines = lines or done.stderr.splitlines()  # what make itself says
    assert done.returncode == 2 and done.stdout == "" and len(lines) == 1, done.stderr
    assert all(word.lower() in lines[0].lower() for word in words), lines


@pytest.mark.parametrize("wrong", ["SCALE=quik", "DEVICE=gpu"])
def test_before_anything_is_installed_too(tmp_path, wrong):
    command = ["make", "setup", wrong, f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(command, cwd=ROOT, env=fresh(), capture_output=True, text=True)
    assert done.returncode == 2 and wrong.partition("=")[2] in done.stderr and not (tmp_path / "venv").exists()


def test_a_missing_or_old_python_costs_one_line(tmp_path):
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    for python in (str(old), "no-such-python"):
        command = ["make", "setup", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}"]
        done = subprocess.run(command, cwd=ROOT, env=fresh(), capture_output=True, text=True)
        assert done.returncode == 2 and "install Python 3.11 or newer" in done.stderr.splitlines()[0]
        assert not (tmp_path / "venv").exists()


def test_several_targets_are_made_one_after_the_other(tmp_path):
    done = make(tmp_path / "venv", "--dry-run", "ter-fig2", "ners-fig1", "SCALE=smoke")
    commands = [line for line in done.stdout.splitlines() if " run " in line]
    assert done.returncode == 0 and len(commands) == 2
    assert " run ter fig2 --scale smoke" in commands[0] and " run ners fig1 --scale smoke" in commands[1]


def test_the_variables_reach_the_command(tmp_path):
    """With a Python that only says how it was called."""
    command = installed(tmp_path / "venv", 'echo "$@"')

    def called(*arguments: str) -> str:
        done = subprocess.run([*command, *arguments], cwd=ROOT, env=fresh(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    how = "--jobs 3 --device cpu --launcher local --stale"
    given = ["JOBS=3", "SEEDS=3,7", "STALE=keep", "TENSORBOARD=1"]
    assert called("ter-fig2", *given) == f"-m lab run ter fig2 --scale quick --seeds 3,7 {how} keep --tensorboard"
    assert called("ter-fig2", "JOBS=3") == f"-m lab run ter fig2 --scale quick {how} again"
    assert called("evidence", "JOBS=3", "PAPER=ter", "DRY=1", "HOURS=.5") == (
        f"-m lab evidence ter --hours .5 --dry {how} again"
    )
    assert called("collect", "SEEDS=5").splitlines() == [
        "-m lab collect all --scale quick --seeds 5 --device cpu", "-m arena collect replay --scale quick --seeds 5",
    ]  # fmt: skip
    assert called("collect", "SCALE=full") == "-m lab collect all --scale full --device cpu", "the arena has none"
    assert (
        called("arena", "SCALE=smoke", "JOBS=3") == f"-m arena run replay --scale smoke {how} again --runs runs/smoke"
    )
    assert called("torture") == "-m tests.torture --n 100"
    assert called("torture", "N=7", "JOBS=3", "SEED=5") == "-m tests.torture --n 7 --jobs 3 --seed 5"
    given = ["PAPER=ter", "ENV=5x5-1", "METHOD=uer"]
    assert called("watch", *given) == "-m lab.pages.watch --paper ter --env 5x5-1 --method uer"
    assert called("export", *given, "OUT=a folder") == (
        "-m lab.hub --paper ter --env 5x5-1 --method uer --out a folder"
    )
    assert called("compare", "A=one", "B=two", "OUT=c.png") == "-m lab compare one two --out c.png"


@pytest.mark.parametrize("how", [[], ["-e"]])
def test_a_shell_has_an_env_of_its_own(tmp_path, how):
    """Also where what is exported goes before what the Makefile says. The command line goes before both."""
    command = [*installed(tmp_path / "venv", 'echo "$@"'), *how]
    shell = {**fresh(), "ENV": "/etc/profile", "OUT": "/tmp/out", "N": "ten"}

    def called(*arguments: str) -> list[str]:
        done = subprocess.run([*command, *arguments], cwd=ROOT, env=shell, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert called("watch") == "-m lab.pages.watch --paper --env --method".split()
    assert called("watch", "ENV=5x5-1", "OUT=a.gif") == (
        "-m lab.pages.watch --paper --env 5x5-1 --method --out a.gif".split()
    )
    assert called("torture") == "-m tests.torture --n 100".split()


@pytest.mark.parametrize("folder", ["it's here", "two  spaces", " before", "a\ttab", "a#b $c", "a=b"])
def test_a_makefile_below_any_folder_lists_its_targets(tmp_path, folder):
    """Also as one of several makefiles, of which another one's path has a space, too."""
    makefile, other = tmp_path / folder / "Makefile", tmp_path / "an other"
    makefile.parent.mkdir()
    makefile.write_text((ROOT / "Makefile").read_text())
    other.touch()
    right = subprocess.check_output(["make"], cwd=ROOT, env=fresh())
    for path, cwd in ((makefile, ROOT), (f"{folder}/Makefile", tmp_path)):
        for before in ([], ["-f", other]):
            command = ["make", *before, "-f", path]
            assert subprocess.check_output(command, cwd=cwd, env=fresh(), stderr=subprocess.STDOUT) == right


@pytest.mark.parametrize(("status", "judged"), [(0, True), (1, True), (2, False), (130, False)])
def test_runs_that_failed_do_not_keep_the_others_from_being_judged(tmp_path, status, judged):
    """`reproduce` judges after status 0 and 1, and ends as its training did."""
    command = installed(tmp_path / "venv", f'echo "$2 $3"; [ "$3" = run ] && exit {status}; exit 0')
    done = subprocess.run([*command, "reproduce"], cwd=ROOT, env=fresh(), capture_output=True, text=True)
    said = ["lab run", "lab claims", "lab.pages.mine --scale"]
    assert done.stdout.splitlines() == (said if judged else said[:1])
    assert bool(done.returncode) == bool(status) and (f"Error {status}" in done.stderr) == bool(status)


@pytest.mark.parametrize("target", ["ter-fig2", "reproduce", "evidence"])
def test_ctrl_c_ends_make_as_an_interrupted_command_ends(tmp_path, target):
    """The whole foreground group gets the signal. A shell then shows 130, also where a recipe looks at the status.

    And make waits for the command, which takes its time to end. (Where it is gone at once, make 4.3 at times waits for
    it twice and ends with status 2.)
    """
    waiting, ended = tmp_path / "waiting", tmp_path / "ended"
    python = f"trap 'sleep 0.5; touch {ended}; exit 130' INT; touch {waiting}; while true; do sleep 0.1; done"
    process = started(*installed(tmp_path / "venv", python), target, cwd=ROOT)
    wait_until(waiting.exists, process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait() in (-signal.SIGINT, 130) and ended.exists()


def test_an_optional_package_is_installed_by_the_targets_that_need_it():
    def installs(*arguments: str) -> bool:
        command = ["make", "--dry-run", "VENV=nowhere", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=fresh(), capture_output=True, text=True)
        return "--group extras" in done.stdout

    assert all(installs(target) for target in ("reproduce", "all", "smoke", "evidence", "bias-reduced-her-appendix-a"))
    assert installs("ter-fig2", "TENSORBOARD=1") and not installs("ter-fig2")


def test_dreamer_is_installed_by_the_targets_that_train_it():
    def installs(*arguments: str) -> bool:
        command = ["make", "--dry-run", f"--assume-new={DREAMER}", "VENV=nowhere", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=fresh(), capture_output=True, text=True)
        return DREAMER in done.stdout

    assert all(installs(target) for target in ("dreamer", "ter-fig-l14", "ter", "all", "smoke"))
    assert not any(installs(target) for target in ("ter-fig2", "reproduce", "evidence", "test"))
