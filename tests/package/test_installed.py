"""The package, built and installed as a user does it, beside a project whose folders have the names of ours."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from package.modules import ROOTS
from tests.package import project as projects
from tests.package.project import ROOT, run

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def build(source: Path, to: Path, kind: str) -> Path:
    """The wheel or sdist of a source tree, built without the network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(to)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    [built] = to.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(ROOT, tmp_path_factory.mktemp("dist"), "wheel")


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The folder that holds the package. What it needs is that of the running Python."""
    to = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(to)]
    subprocess.run([*pip, str(wheel)], check=True)
    return to


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return projects.make(tmp_path_factory.mktemp("theirs") / "project")


@pytest.fixture(scope="module")
def trees(installed):
    """Every module of the package -> its syntax tree."""
    files = sorted((installed / "replaybook").rglob("*.py"))
    return {
        ".".join(path.relative_to(installed).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            path.read_bytes()
        )
        for path in files
    }


def test_it_takes_no_name_but_its_own(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"replaybook", f"replaybook-{PROJECT['version']}.dist-info"}
    assert f"replaybook-{PROJECT['version']}.dist-info/licenses/LICENSE" in names


def test_it_imports_what_it_has_or_an_extra_installs(trees, installed):
    listing = run("import replaybook, json; print(json.dumps(replaybook.EXTRAS))", installed)
    known = {*ast.literal_eval(listing), *sys.stdlib_module_names, "numpy", "numba"}
    for module, tree in trees.items():
        for node in ast.walk(tree):  # short names nowhere, in functions either
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
                assert not {name.partition(".")[0] for name in names} & set(ROOTS), module
        for node in tree.body:
            if isinstance(node, ast.Import):
                assert {alias.name.partition(".")[0] for alias in node.names} <= {*known, "replaybook"}, module
            elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("replaybook"):
                assert (node.module or "").partition(".")[0] in known, module
            elif isinstance(node, ast.ImportFrom):
                assert node.module in trees, f"{module} imports {node.module}"


def test_the_extras_are_those_of_pyproject(installed):
    printed = run("import replaybook as r; print({*r.EXTRAS.values(), *r.AREAS.values()})", installed)
    assert ast.literal_eval(printed) | {"all"} == set(PROJECT["optional-dependencies"])


def test_the_core_needs_numpy_and_numba_and_says_which_extra_the_rest_needs(installed, project):
    """In a Python that finds only these two: what is not in an environment of that kind is hidden. Whatever lists the
    package's names lists what can be had."""
    code = """
import importlib.machinery, inspect, pydoc
class Hidden(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if path is not None or name in ("replaybook", "numpy", "numba", "llvmlite", *sys.stdlib_module_names):
            return super().find_spec(name, path, target)
sys.meta_path[:] = [Hidden if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path]
import replaybook
from replaybook import *
there = dict(inspect.getmembers(replaybook))
assert "PER" in there and "TER" in pydoc.render_doc(replaybook)
for name in {**replaybook.NAMES, **replaybook.SHORT}:
    try:
        getattr(replaybook, name)
        assert name in replaybook.__all__
    except ModuleNotFoundError as error:
        assert name not in replaybook.__all__ and name not in there
        print(name, str(error).partition(": ")[2])
"""
    asked = dict(line.split(" ", 1) for line in run(code, project, installed).splitlines())
    torch, rest = 'pip install "replaybook[torch]"', dict.fromkeys(("SampledDQN", "SampledSAC"), "sb3")
    assert asked.items() >= {name: torch for name in ("EBU", "DisCor", "NERS", "ERO", "FrameMemory")}.items()
    assert asked.items() >= {"Hindsight": 'pip install "replaybook[hindsight]"'}.items()
    assert asked.items() >= {name: f'pip install "replaybook[{extra}]"' for name, extra in rest.items()}.items()
    assert asked["FromProtocol"] == 'pip install "replaybook[torchrl]"'
    core = {
        "PER",
        "TER",
        "TransitionGraph",
        "Step",
        "RankBasedSampler",
        "RRC",
        "RRM",
        "ReLo",
        "IER",
        "LaBER",
        "ReFER",
        "Ring",
    }
    assert not core & set(asked)


def test_a_module_of_somebody_else_gets_no_advice(installed, project):
    code = """
import replaybook, importlib.util
assert importlib.util.find_spec("hatchling_is_not_there") is None
replaybook.EXTRAS["not_there"] = "torch"
try:
    import not_there
except ModuleNotFoundError as error:
    print(error)
"""
    assert run(code, project, installed) == "No module named 'not_there'\n"


def test_every_name_can_be_had(installed, project):
    code = "import replaybook\nfor name in replaybook.__all__: assert getattr(replaybook, name).__name__\n"
    code += "assert set(replaybook.__all__) == {*replaybook.NAMES, *replaybook.SHORT}\n"
    code += "print(replaybook.PER.__name__, replaybook.__version__)\n"
    code += "assert set(replaybook.__all__) < set(dir(replaybook)) and not hasattr(replaybook, 'nonsense')"
    assert run(code, project, installed) == f"PrioritizedSampler {PROJECT['version']}\n"


def test_type_checkers_see_the_same_names(installed):
    text = (installed / "replaybook/__init__.pyi").read_text()
    names = {first or second for first, second in re.findall(r"^from .* as (\w+)$|^(\w+) = ", text, re.MULTILINE)}
    assert names == set(run("import replaybook; print(*replaybook.__all__)", installed).split())
    assert (installed / "replaybook/py.typed").exists()


def test_the_readme_example_prints_what_it_says(installed, project):
    [example] = projects.examples("README.md")
    assert run(example, project, installed) == f"{list(range(9, -1, -1))}\n"


def test_environments_by_their_long_names(installed, project, trees):
    code = """
import gymnasium
for name in ("Hand-v1", "BitFlip-v0", "SparsePendulum-v0"):
    env = gymnasium.make(f"replaybook.envs:{name}")
    env.reset(seed=0)
    print(type(env.unwrapped).__module__)
"""
    made = ["replaybook.envs.throwing.tasks", "replaybook.envs.bitflip", "replaybook.envs.sparse_pendulum"]
    assert run(code, project, installed).split() == made
    texts = [node.value for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    entries = [text.partition(":")[0] for text in texts if re.fullmatch(r"replaybook(\.\w+)+:\w*", str(text))]
    assert len(entries) > 10 and set(entries) <= set(trees)


def test_kernels_in_a_place_where_nothing_can_be_written(installed, project, tmp_path):
    """Files where folders would be made: that keeps root, too, from writing. numba may be there already."""
    copy, nowhere = tmp_path / "site", tmp_path / "file"
    shutil.copytree(installed, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for place in (nowhere, copy / "replaybook/common/__pycache__", copy / "replaybook/common/replay/__pycache__"):
        place.touch()
    code = """
from replaybook import PER
import numpy
sampler = PER(4, numpy.random.default_rng(0), beta_steps=9)
sampler.add(2)
print(sampler.sample(1).indices)
"""
    for before in ("", "import numba"):
        assert run(before + code, project, copy, HOME=str(nowhere), XDG_CACHE_HOME=str(nowhere)) == "[2]\n"


def test_the_tests_of_samplers_pass(installed, project):
    """Those of what NumPy and numba are enough for; `make package` runs more."""
    projects.bring_tests(project, projects.CORE_TESTS)
    assert " passed" in projects.run_tests(project, installed)


def test_the_source_distribution_makes_the_same_wheel(wheel, tmp_path):
    packed = build(ROOT, tmp_path / "sdist", "sdist")
    subprocess.run(["tar", "-xzf", str(packed), "-C", str(tmp_path)], check=True)
    again = build(tmp_path / packed.name.removesuffix(".tar.gz"), tmp_path / "wheel", "wheel")
    assert again.name == wheel.name and again.read_bytes() == wheel.read_bytes()


def test_an_installation_in_place_is_refused(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel:editable", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    line = "replaybook cannot be installed in place: use `pip install .`, or work in the checkout"
    assert done.returncode and done.stderr.splitlines()[-1] == f"ValueError: {line}"
