"""Where a run comes from: the sources that it uses, the commit, and that what was seen is what was loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.run import provenance
from lab.run.errors import UserError
from lab.run.sources import changes, sources

ROOT = Path(__file__).parents[3]
METHOD = '''"""A method."""
from dataclasses import dataclass

@dataclass
class Config:
    """Settings."""
    rate: float = 0.1
    """Step size."""

def update(x):
    """One step."""
    return x + 1  # Eq. (1)
'''


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A room with a train script, a method and evidence, in a package of its own name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    package = f"house_{tmp_path.name}"
    folder = tmp_path / package / "coins"
    (folder / "evidence").mkdir(parents=True)
    files = {
        "__init__": "", "method": METHOD, "lazy": "from . import deeper", "deeper": "", "evidence/claims": "",
        "other": "", "train": "from .method import update\nimport numpy\nimport lab.run.runs\n"
        "import common.schedules\nfrom .evidence import claims\n"
        f"def main():\n    from {package}.coins import lazy\n",
    }  # fmt: skip
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def script(room: Path) -> str:
    return f"{room.parent.name}.coins.train"


# ------------------------------------------------------------------------------------------------ sources


def test_sources_are_what_a_script_imports_but_for_the_lab_and_the_evidence(room):
    own = {f"{room.parent.name}/coins/{name}.py" for name in ("__init__", "train", "method", "lazy", "deeper")}
    shared = {"common/__init__.py", "common/numba_cache.py", "common/schedules.py", "lab/run/streams.py"}
    assert set(sources(script(room))) == own | shared
    assert sources("nowhere.at.all") == {}


def test_environments_that_are_made_by_name_are_sources():
    found = set(sources("papers.bias_reduced_her.train"))
    assert {"envs/throwing/tasks.py", "envs/throwing/physics.py", "envs/throwing/vector.py"} <= found
    assert "envs/sokoban/game.py" not in found
    assert "envs/sparse_pendulum.py" in sources("papers.ners.train")


def test_no_script_loads_a_file_that_is_not_among_its_sources():
    code = """
import importlib, os, sys
from pathlib import Path
import gymnasium, minigrid, mujoco, numba, scipy.stats, torch  # of others: once, not in every fork
from lab.run.sources import sources
BY_NAME = {"papers.bias_reduced_her.train": "envs:Hand-v1", "papers.ners.train": "envs:SparsePendulum-v0"}
expected = {script: set(sources(script)) for script in sys.argv[1:]}
for script in sys.argv[1:]:
    if os.fork() == 0:
        importlib.import_module(script)
        if script in BY_NAME:
            gymnasium.make(BY_NAME[script])
        names = [name for name in sys.modules if name.partition(".")[0] in ("common", "envs", "papers")]
        loaded = {os.path.relpath(sys.modules[name].__file__) for name in names}
        left_out = loaded - expected[script]
        if left_out: print(script, *left_out, flush=True)
        os._exit(bool(left_out))
codes = [os.wait()[1] for _ in sys.argv[1:]]
sys.exit(any(codes))
"""
    files = [path for path in ROOT.glob("papers/*/*.py") if 'if __name__ == "__main__"' in path.read_text()]
    scripts = sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files)
    assert len(scripts) >= 17
    done = subprocess.run([sys.executable, "-c", code, *scripts], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("  # Eq. (1)", "  # Eq. (2), and more", False),
        ('"""One step."""', '"""One step, that is all."""', False),
        ('    """Step size."""\n', "", False),
        ("x + 1", "(x\n        + 1)", False),
        ("x + 1", "x + 2", True),
        ("x + 1", "x - 1", True),
        ("x + 1", "x + True", True),
        ("rate: float = 0.1", "rate: float = 0.2", True),
        ("@dataclass\n", "", True),
        ("return x + 1", "return x +", True),  # does not even compile
    ],
)
def test_code_counts_and_its_comments_do_not(room, old, new, counts):
    before = sources(script(room))
    assert old in METHOD
    (room / "method.py").write_text(METHOD.replace(old, new))
    name = f"{room.parent.name}/coins/method.py"
    assert changes(before, sources(script(room))) == (f"{name} changed" if counts else "")


def test_files_that_come_and_go(room):
    before = sources(script(room))
    (room / "lazy.py").write_text("from . import other")
    now = sources(script(room))
    place = f"{room.parent.name}/coins"
    assert changes(before, now) == f"{place}/deeper.py is gone, {place}/lazy.py changed, {place}/other.py is new"
    assert changes({}, dict.fromkeys("abcde", "")) == "a is new, b is new, c is new and 2 more"


# ------------------------------------------------------------------------------------------------ commit


def git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True)


def test_commit_and_what_differs_from_it(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "ROOT", tmp_path.resolve())
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert provenance._git() == ("unknown", None)
    (tmp_path / "code.py").write_text("")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        git(tmp_path, *command)
    (tmp_path / "notes.md").write_text("not code")
    index = (tmp_path / ".git/index").stat().st_mtime_ns
    os.utime(tmp_path / "code.py")  # git would like to refresh its index now
    commit, changed = provenance._git()
    assert len(commit) == 40 and changed == set()
    assert (tmp_path / ".git/index").stat().st_mtime_ns == index, "took the lock of the index"
    (tmp_path / "code.py").write_text("x = 1")
    (tmp_path / "new").mkdir()
    (tmp_path / "new/ä b.py").write_text("")
    assert provenance._git() == (commit, {"code.py", "new/ä b.py"})
    (tmp_path / "inside").mkdir()
    monkeypatch.setattr(provenance, "ROOT", tmp_path.resolve() / "inside")
    assert provenance._git() == ("unknown", None)


@pytest.mark.parametrize(
    ("changed", "dirty"),
    [
        (set(), False),
        (None, None),
        ({"papers/x.py", "tests/y.py"}, False),
        ({"METHOD"}, True),
        ({"lab/run/runs.py"}, True),
    ],
)
def test_a_run_is_dirty_when_its_sources_or_the_lab_are(room, monkeypatch, changed, dirty):
    own = f"{room.parent.name}/coins/method.py"
    names = None if changed is None else {name.replace("METHOD", own) for name in changed}
    monkeypatch.setattr(provenance, "_taken", {})
    monkeypatch.setattr(provenance, "_git", lambda: ("c" * 40, names))
    assert provenance.take([script(room)])[script(room)]["dirty"] is dirty


def test_what_was_taken_stays_and_is_asked_for_once(room, monkeypatch):
    monkeypatch.setattr(provenance, "_taken", {})
    asked = []
    monkeypatch.setattr(provenance, "_git", lambda: asked.append(1) or ("c" * 40, set()))
    first = provenance.take([script(room), "tests.lab.toy_train"])
    (room / "method.py").write_text("x = 1")
    assert provenance.take([script(room)])[script(room)] == first[script(room)]
    assert provenance.code(script(room)) == first[script(room)] and len(asked) == 1


def test_an_edit_while_git_is_asked_is_seen(room, monkeypatch):
    monkeypatch.setattr(provenance, "_taken", {})
    commits = iter("ab")

    def edited_and_committed() -> tuple[str, set[str]]:
        commit = next(commits)
        (room / "method.py").write_text("x = 1")
        return commit, set()

    monkeypatch.setattr(provenance, "_git", edited_and_committed)
    taken = provenance.take([script(room)])[script(room)]
    assert taken["commit"] == "b" and taken["files"] == sources(script(room))


# ------------------------------------------------------------------------------------------------ loading


def test_a_script_that_was_written_after_it_was_loaded_is_of_no_commit(room, monkeypatch, capsys):
    monkeypatch.setattr(provenance, "_taken", {})
    monkeypatch.setattr(provenance, "_git", lambda: ("c" * 40, set()))
    os.utime(room / "method.py", (2e9, 2e9))
    taken = provenance.code(script(room))
    assert (taken["commit"], taken["dirty"]) == ("unknown", None)
    assert capsys.readouterr().err.startswith(f"warning: the sources of {script(room)} were written while")


@pytest.mark.parametrize("moment", ["before", "after", "while loading", "until loaded"])
def test_only_what_the_sweep_has_seen_is_trained(room, monkeypatch, moment):
    for name in ("_taken", "_loaded"):
        monkeypatch.setattr(provenance, name, {})
    monkeypatch.setattr(provenance, "_adopted", None)
    (room / "train.py").write_text("from . import method\n")
    edit = "from pathlib import Path\nPath(__file__).with_name('train.py').write_text('x = 3')\n"
    (room / "method.py").write_text(edit if moment == "while loading" else "x = 1\n")
    seen = provenance.take([script(room)])[script(room)]
    if moment == "before":
        (room / "method.py").write_text("x = 2\n")
    if moment == "until loaded":  # then it is as the sweep has seen it, but that is not what runs
        back = "from pathlib import Path\nPath(__file__).write_text('x = 1\\n')\n"
        (room / "method.py").write_text(back)
    provenance.load(script(room))
    if moment == "after":
        (room / "method.py").write_text("x = 2\n")
    if moment != "after":
        with pytest.raises(UserError, match=r"have changed since the sweep began \(house_.*; rerun the command"):
            provenance.adopt(script(room), seen)
        assert provenance._adopted is None
    else:
        provenance.adopt(script(room), seen)
        assert provenance.code("anything") is seen
