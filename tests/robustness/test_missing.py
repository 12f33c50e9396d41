"""What is not there: an optional package, a display. One line says so, or nothing needs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKED = """
import runpy, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
sys.argv = {arguments!r}
runpy.run_module({arguments!r}[0], run_name="__main__", alter_sys=True)
"""


def without(packages: set[str], *arguments: str) -> subprocess.CompletedProcess:
    """`python -m arguments...` where `packages` are not installed."""
    code = BLOCKED.format(names=packages, arguments=list(arguments))
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("launcher", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_package_of_a_cluster_is_named_in_one_line(launcher, package, tmp_path):
    arguments = ["lab", "run", "ter", "fig2", "--scale", "smoke", "--launcher", launcher, "--runs", str(tmp_path)]
    done = without({package}, *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == f"error: LAUNCHER={launcher} needs {package}: pip install -r requirements-cluster.txt\n"
    assert not list(tmp_path.rglob("*.json"))


def test_a_package_of_the_report_is_named_in_one_line(tmp_path):
    done = without({"jinja2"}, "lab.pages.report", "--out", str(tmp_path / "report.html"))
    assert done.returncode == 2 and done.stdout == "" and not list(tmp_path.iterdir())
    assert done.stderr == "error: the report needs jinja2, which is not installed; `make setup` installs it\n"


def test_scikit_learn_is_named_in_one_line_by_the_method_that_needs_it(tmp_path):
    arguments = ["--env", "mixture", "--method", "em", "--no-progress", "--run-dir", str(tmp_path)]
    done = without({"sklearn"}, "papers.bias_reduced_her.appendix_a", *arguments)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "needs scikit-learn: .venv/bin/pip install -r requirements-extras.txt" in done.stderr


def test_figures_claims_and_other_training_need_no_optional_package():
    optional = {"ray", "submitit", "tensorboard", "sklearn", "pfrl", "stable_baselines3", "playwright", "pytest"}
    for module in ("papers.ter.nchain", "papers.bias_reduced_her.appendix_a"):
        done = without(optional, module, "--help")
        assert done.returncode == 0 and "--run-dir" in done.stdout, done.stderr
    done = without(optional, "lab", "evidence", "bias-reduced-her", "--dry")  # loads its experiments and claims
    assert done.returncode == 0 and "run" in done.stdout, done.stderr


def test_a_window_without_a_display_is_drawn_nowhere():
    """SDL finds a driver that shows nothing: a human mode on a server costs time, not a traceback."""
    code = (
        "import gymnasium\n"
        "env = gymnasium.make('envs:Sokoban-v0', shape=(5, 5), boxes=1, render_mode='human')\n"
        "env.reset(seed=0)\n"
        "env.close()\n"
    )
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
