"""A checkout that cannot be written, by a user without a home: read, and train elsewhere; else one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && cd "$0" && echo mounted && exec "$@"'


def read_only(temporary: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run Python in this checkout, mounted read-only for this command alone; other files go to `temporary`."""
    inside = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    inside |= {"HOME": "/proc/nobody", "TMPDIR": str(temporary), "MPLCONFIGDIR": str(temporary)}
    try:
        done = subprocess.run(
            ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNT, str(ROOT), sys.executable, *arguments],
            env=inside, capture_output=True, text=True,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("needs unshare")
    if not done.stdout.startswith("mounted\n"):
        pytest.skip(f"nobody may mount here: {done.stderr}")
    return done


def test_training_elsewhere_works_and_kernels_compile(tmp_path):
    runs = tmp_path / "runs"
    command = ("-m", "lab", "run", "sibling-rivalry", "fig1", "--scale", "smoke", "--jobs", "2", "--runs", str(runs))
    done = read_only(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("kernels-*"))
    assert (runs / "figures/sibling_rivalry/smoke/fig1.png").is_file()


def test_every_kernel_can_be_imported(tmp_path):
    files = [path for folder in ("common", "envs", "lab", "papers") for path in (ROOT / folder).rglob("*.py")]
    modules = [path.relative_to(ROOT) for path in files if "cache=True" in path.read_text()]
    assert len(modules) > 10
    names = [".".join(path.with_suffix("").parts) for path in modules]
    code = "import sys, importlib, common\nfor name in sys.argv[1:]: importlib.import_module(name)"
    done = read_only(tmp_path, "-c", code, *sorted(names))
    assert done.returncode == 0, done.stderr
