"""Commands in the READMEs and the guide work as they are written, right after `make setup`."""

import contextlib
import functools
import importlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lab.__main__ import read_command
from lab.run.cli import cli

ROOT = Path(__file__).resolve().parents[1]
OTHERS = {".venv", ".venv-dreamer", ".venv-peers", "runs"}
READMES = sorted(path for path in ROOT.rglob("*.md") if not OTHERS & set(path.relative_to(ROOT).parts))


def commands() -> list[str]:
    """Every `python -m` command with what stands before it, up to a comment, a backtick or the end of its line."""
    texts = [path.read_text() for path in READMES]
    found = {match.strip() for text in texts for match in re.findall(r"[\w./]*python3? -m [^#`\n]+", text)}
    return sorted(command for command in found if "newest" not in command)  # the guide's own paper: test_guide.py


def test_commands_are_found():
    assert len(commands()) >= 10 and any("-m lab " in command for command in commands())


@functools.cache
def help_of(module: str) -> str:
    return subprocess.run([sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True).stdout


@pytest.mark.parametrize("command", commands())
def test_a_command_of_a_readme_is_understood(command, monkeypatch):
    python, _, module, *arguments = shlex.split(command)
    assert python == ".venv/bin/python", "the one that `make setup` makes"
    assert importlib.util.find_spec(module) is not None
    with pytest.raises(SystemExit, match=r"^0$") if "--help" in arguments else contextlib.nullcontext():
        if module == "lab":
            read_command(arguments)
        elif module == "arena":
            read_command(arguments)
        elif module.startswith(("papers.", "arena.")):
            script = importlib.import_module(module)
            monkeypatch.setattr(sys, "argv", [module, *arguments])
            monkeypatch.setenv("OMP_NUM_THREADS", "1")  # leave this process its threads
            cli(script.Config, lambda config, run_dir, **_: {}, "")
        else:
            for option in re.findall(r"--[\w-]+", command):
                assert option in help_of(module)
            sys.exit(0) if "--help" in arguments else None


QUICK = (
    "arena list",
    "arena.replay.train --env NChain-20 --idea ter --seed 0",
    "papers.ter.train --env SimpleCrossing-Easy --method ter --steps 20000",
)
"""Those that take less than ten seconds and write nothing beside `runs/`."""


@pytest.mark.parametrize("command", QUICK)
def test_quick_ones_run(command, tmp_path):
    assert f".venv/bin/python -m {command}" in commands()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    process = [sys.executable, "-m", *shlex.split(command)]
    ran = subprocess.run(process, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stdout, ran.stderr
