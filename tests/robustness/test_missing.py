"""What is not there: an optional package, a display. One line says so, or nothing needs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.run.errors import UserError
from papers.bias_reduced_her.worlds import appendix_a

ROOT = Path(__file__).parents[2]


def test_scikit_learn_is_named_in_one_line_by_the_method_that_needs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.mixture", None)
    with pytest.raises(UserError, match=r"needs scikit-learn: .venv/bin/pip install --group extras"):
        appendix_a.main(appendix_a.Config(env="mixture", method="em"), tmp_path)


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
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
