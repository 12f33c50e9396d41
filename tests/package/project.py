"""Somebody's project, with a `common` and an `envs` of its own, that uses the installed package."""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from package.modules import rewrite
from tests.processes import fresh

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ["tests/__init__.py", "tests/conftest.py", "tests/processes.py"]
"""What all tests import."""
CORE_TESTS = [
    "tests/common/replay/not_in_the_papers",
    "tests/common/replay/test_rank_based.py",
    "tests/common/replay/test_samplers.py",
    "tests/common/replay/test_storage.py",
    "tests/common/replay/test_sum_tree.py",
    "tests/papers/ref_er/test_refer.py",
]
"""Tests of ideas that run on NumPy and numba alone (the tests also need SciPy)."""
MORE_TESTS = [
    "arena/__init__.py",
    "arena/replay/__init__.py",
    "arena/replay/joined.py",
    "arena/replay/meter.py",
    "tests/adapters/test_cleanrl.py",
    "tests/adapters/test_stable_baselines3.py",
    "tests/adapters/test_torchrl.py",
    "tests/common/replay/test_every_sampler.py",
    "tests/common/replay/test_frames.py",
    "tests/common/replay/test_trail.py",
    "tests/papers/bias_reduced_her/test_filtered.py",
    "tests/papers/bias_reduced_her/test_hindsight.py",
    "tests/papers/bias_reduced_her/test_instructional.py",
    "tests/papers/ners/conftest.py",
    "tests/papers/ners/samplers",
    "tests/papers/sibling_rivalry/fake_tasks.py",
    "tests/papers/sibling_rivalry/test_sibling_rivalry.py",
    "tests/papers/ter/replay/test_ebu.py",
    "tests/papers/ter/replay/test_states.py",
    "tests/papers/ter/test_topological.py",
]
"""Tests of ideas that need the extras, or whose tests do, and what these import."""
OF_THE_CHECKOUT = [
    "tests/adapters/test_stable_baselines3.py::test_a_file_whose_sampler_cannot_be_read",  # writes code
    "tests/common/replay/test_every_sampler.py::test_none_is_missing_here",  # wants all of the arena
]
"""Tests among these that are not for the package."""
THEIRS = "raise RuntimeError('this is the code of somebody else')\n"


def make(folder: Path) -> Path:
    """A folder with packages that have the names of ours, and break whatever imports them."""
    for name in ("common", "envs", "papers", "lab", "adapters"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(THEIRS)
    return folder


def bring_tests(folder: Path, names: Iterable[str]) -> Path:
    """Files of this repository, as tests of the package: with long names."""
    for name in (*BESIDE, *names):
        place = ROOT / name
        for path in place.rglob("*.py") if place.is_dir() else [place]:
            to = folder / path.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(rewrite(path.read_bytes(), path.name))
    left_out = " ".join(f"--deselect {name}" for name in OF_THE_CHECKOUT)
    options = f"-q --import-mode=importlib -p no:cacheprovider {left_out}"
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {options}\n")
    return folder / "tests"


def examples(page: str) -> list[str]:
    """Those of a page in Markdown, with long names."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    return [rewrite(block.encode(), page).decode() for block in blocks]


def run(code: str, *places: Path, python: str | Path = sys.executable, **environment: str) -> str:
    """What Python prints that looks into `places` before what is installed, but neither here nor into PYTHONPATH."""
    begin = f"import sys; sys.path[:0] = {[str(place) for place in places]}\n"
    command = [str(python), "-I", "-c", begin + code]
    done = subprocess.run(command, cwd=places[0], env=fresh() | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_tests(project: Path, *places: Path, python: str | Path = sys.executable) -> str:
    """All tests of a project; the last lines."""
    code = "import pytest; sys.exit(pytest.main(['tests']))"
    return run(code, project, *places, python=python, NUMBA_CACHE_DIR=str(project / "kernels"))
