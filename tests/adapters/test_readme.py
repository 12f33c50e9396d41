"""README.md: its examples run, and so do the two scripts, which differ by what it shows."""

import difflib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("cleanrl_dqn", "cleanrl_dqn_ter")


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_runs(name):
    command = [sys.executable, "-m", f"adapters.{name}", "--total-timesteps", "1200"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mean return of the last ")


def test_the_readme_shows_the_difference():
    one, other = ((ROOT / "adapters" / f"{name}.py").read_text().partition("@dataclass")[2] for name in SCRIPTS)
    difference = difflib.unified_diff(one.splitlines(), other.splitlines(), n=0, lineterm="")
    changed = [line for line in difference if not line.startswith(("---", "+++", "@@"))]
    shown = (ROOT / "adapters" / "README.md").read_text().partition("```diff\n")[2].partition("```")[0]
    assert [line for line in shown.splitlines() if line[:1] in "+-"] == changed
    assert len([line for line in changed if line.startswith("+")]) <= 10


EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "adapters" / "README.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=["stable-baselines3", "torchrl"])
def test_an_example_runs(example):
    exec(compile(example, "adapters/README.md", "exec"), {})
