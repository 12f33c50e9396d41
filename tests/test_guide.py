"""GUIDE.md, followed to the letter: its files in a copy of the checkout, its command, its figure and verdict."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "GUIDE.md").read_text()
FILES = dict(re.findall(r"^`(papers/newest/\S+)`\n\n```python\n(.*?)```$", GUIDE, re.DOTALL | re.MULTILINE))


def test_its_example_trains_draws_and_judges(tmp_path):
    unwanted = shutil.ignore_patterns("__pycache__", "results", "figures", "trained")
    for part in ("common", "envs", "lab"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=unwanted)
    for name in ("papers/__init__.py", "papers/newest/__init__.py", "papers/newest/evidence/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('"""Newest first."""\n')
    assert len(FILES) == 6
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    [command] = re.findall(r"^\.venv/bin/python (-m lab run .*)$", GUIDE, re.MULTILINE)
    done = subprocess.run([sys.executable, *command.split()], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "fig1-better" in done.stdout or "Newest first succeeds more often" in done.stdout
    assert "reproduced" in done.stdout and "not run" not in done.stdout
    assert (tmp_path / "runs/figures/newest/quick/fig1.png").stat().st_size > 10_000
