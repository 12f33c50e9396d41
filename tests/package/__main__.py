"""Installs the package as a user does, into an environment that is empty, and tries it there: `make package`.

Needs the network, for NumPy, numba and what the tests need.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.package import project as projects
from tests.package.project import ROOT, run

LONGEST = 1.5
"""Seconds of a core that an import may take: what else runs here does not count."""
TIMED = "from time import process_time as now; t = now(); from replaybook import PER, TER; print(now() - t)"


def said(*command: object) -> str:
    """What a command prints; its complaints are shown. Ends when it fails."""
    return subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True).stdout


def environment(folder: Path) -> Path:
    """The Python of a new environment."""
    said(sys.executable, "-m", "venv", folder)
    return folder / "bin/python"


def install(python: Path, *words: object) -> None:
    said(python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words)


def check(folder: Path) -> None:
    """Everything, in an empty folder."""
    python, project = environment(folder / "empty"), projects.make(folder / "project")
    install(python, ROOT)
    there = said(python, "-I", "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check").split()
    names = {line.partition("==")[0] for line in there} - {"pip", "setuptools"}
    print("pip install . brings", *sorted(names), flush=True)
    assert names == {"replaybook", "numpy", "numba", "llvmlite"}

    [example] = projects.examples("README.md")
    assert run(example, project, python=python) == f"{list(range(9, -1, -1))}\n"
    seconds = min(float(run(TIMED, project, python=python)) for _ in range(3))
    print(f"the README's example prints what it says; an import takes {seconds:.2f} s", flush=True)
    assert seconds < LONGEST

    install(python, "pytest", "hypothesis", "scipy")  # what the samplers' tests need
    projects.bring_tests(project, projects.CORE_TESTS)
    print(projects.run_tests(project, python=python), flush=True)

    # Beside PyTorch and the others: those of the Python that runs this.
    install(environment(folder / "other"), "--no-deps", "--target", folder / "site", f"git+file://{ROOT}")
    more = projects.make(folder / "more")
    projects.bring_tests(more, projects.MORE_TESTS)
    print(projects.run_tests(more, folder / "site"), flush=True)
    for example in projects.examples("adapters/README.md"):
        run(example, more, folder / "site", MINARI_DATASETS_PATH=str(folder / "sets"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="package-") as name:
        check(Path(name))
