"""Wrong variables of the Makefile: one clear line, exit code 2, nothing installed and nothing run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(venv: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run make as from a fresh shell, with this Python as an environment in which everything is installed."""
    (venv / "bin").mkdir(parents=True)
    (venv / "bin/python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (venv / "bin/python").chmod(0o755)
    for stamp in (".run", ".dev"):
        (venv / stamp).touch()
    own = ("MAKE", "MFLAGS", "SCALE", "JOBS", "DEVICE", "LAUNCHER", "PYTHON")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    environment["CUDA_VISIBLE_DEVICES"] = ""
    command = ["make", f"VENV={venv}", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["JOBS=0"], ["0", "1 or more"]),
        (["JOBS=two"], ["two", "1 or more"]),
        (["JOBS="], ["jobs"]),
        (["DEVICE=gpu"], ["gpu", "cpu", "cuda"]),
        (["DEVICE=cuda"], ["cuda", "no CUDA device"]),
        (["LAUNCHER=slurm"], ["slurm", "local", "ray"]),
        (["SCALE="], ["smoke, quick and full"]),
    ],
)
def test_a_wrong_variable_costs_one_line(tmp_path, arguments, words):
    done = make(tmp_path / "venv", "ter-fig2", *arguments)
    lines = [line for line in done.stderr.splitlines() if not line.startswith(("make: ***", "make[1]: ***"))]
    assert done.returncode == 2 and done.stdout == "" and len(lines) == 1, done.stderr
    assert all(word.lower() in lines[0].lower() for word in words), lines


def test_of_several_targets_a_wrong_one_stops_all(tmp_path):
    done = make(tmp_path / "venv", "ter-fig2", "ners-fig99")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "ners-fig99" in done.stderr and "ners-fig1" in done.stderr


def test_several_targets_are_made_one_after_the_other(tmp_path):
    done = make(tmp_path / "venv", "--dry-run", "ter-fig2", "ners-fig1", "SCALE=smoke")
    commands = [line for line in done.stdout.splitlines() if " run " in line]
    assert done.returncode == 0 and len(commands) == 2
    assert " run ter fig2 --scale smoke" in commands[0] and " run ners fig1 --scale smoke" in commands[1]
