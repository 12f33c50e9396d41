"""The seeded faults of tests/mutants: their entries, and trying them on a toy project of two files."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from lab.run.errors import UserError
from tests.mutants.__main__ import BEGIN, END, main
from tests.mutants.mutant import FOLDER, Change, Mutant, faulty, read_all
from tests.mutants.trial import Outcome, copy_of, outcome, with_kernels

ROOT = Path(__file__).resolve().parents[1]
MUTANTS = read_all()


# ---- the entries -----------------------------------------------------------------------------------------------------
def test_there_are_enough_of_them_and_each_is_another():
    assert len(MUTANTS) >= 70
    assert not [fault for fault, count in Counter(mutant.fault for mutant in MUTANTS).items() if count > 1]
    areas = {mutant.name.partition("-")[0] for mutant in MUTANTS}
    assert areas == {"adapters", "arena", "common", "envs", "her", "lab", "ners", "refer", "sr", "ter"}
    for path in FOLDER.glob("*.toml"):
        names = re.findall(r"^\[(\S+)\]$", path.read_text(), re.MULTILINE)
        assert names == sorted(names) and {name.partition("-")[0] for name in names} == {path.stem}


def test_what_they_replace_stands_exactly_once_in_todays_code():
    for mutant in MUTANTS:
        assert all(text != (ROOT / file).read_text() for file, text in faulty(mutant, ROOT).items()), mutant.name


def test_they_name_tests_that_exist_and_change_no_tests():
    for mutant in MUTANTS:
        assert not [file for file in mutant.files if file.startswith("tests/")], mutant.name
        for file, name in (test.split("::") for test in mutant.tests):
            assert f"def {name}(" in (ROOT / file).read_text(), mutant.name


def test_the_table_has_them_all():
    text = (ROOT / "tests/README.md").read_text()
    rows = re.findall(r"^\| ([\w-]+) \| (.+?) \| ", text[text.index(BEGIN) : text.index(END)], re.MULTILINE)
    assert rows[1:] == [(mutant.name, mutant.fault) for mutant in MUTANTS], "run `make mutants`"


def test_a_fault_in_what_kernels_are_made_of_is_known():
    kernels = with_kernels(ROOT)
    own = {"common/replay/sum_tree.py", "papers/bias_reduced_her/agents/fast_ddpg.py"}
    assert own <= kernels, "kernels stand there"
    assert "papers/ref_er/memory/episode.py" in kernels, "memory.py, which has kernels, imports it"
    assert not {"lab/run/runs.py", "papers/sibling_rivalry/sibling_rivalry.py"} & kernels


# ---- trying them -----------------------------------------------------------------------------------------------------
HALF = '''def half(x):
    """Of a whole number, rounded down."""
    return x // 2
'''
TESTS = """import half
import pytest


@pytest.mark.parametrize("x", [2, 4])
def test_even(x):
    assert half.half(x) == x / 2


def test_zero():
    assert half.half(0) == 0
"""
FAULTS = """
[toy-broken-code]
fault = "Half cannot be read."
changes = [{ file = "half.py", replace = "x // 2", by = "x //" }]
tests = ["tests/test_half.py::test_zero", "tests/test_half.py::test_even"]
[toy-caught]
fault = "Half is a third."
changes = [{ file = "half.py", replace = "return x // 2", by = "return x // 3" }]
tests = ["tests/test_half.py::test_zero", "tests/test_half.py::test_even"]
[toy-of-yesterday]
fault = "What is replaced is not there."
changes = [{ file = "half.py", replace = "x // 4", by = "x // 2" }]
tests = ["tests/test_half.py::test_zero"]
[toy-survives]
fault = "Half is rounded up."
changes = [{ file = "half.py", replace = "x // 2", by = "-(-x // 2)" }]
tests = ["tests/test_half.py::test_zero", "tests/test_half.py::test_even"]
"""


@pytest.fixture
def toy(tmp_path) -> Path:
    """A project of a module and its tests, under git, with a table to be filled and a folder of faults."""
    root = tmp_path / "toy"
    for folder in ("tests", "faults"):
        (root / folder).mkdir(parents=True)
    (root / "half.py").write_text(HALF)
    (root / "tests/test_half.py").write_text(TESTS)
    (root / "tests/README.md").write_text(f"# Tests\n\n{BEGIN}\nold\n{END}\n\nThe end.\n")
    (root / "faults/toy.toml").write_text(FAULTS)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def test_all_are_tried_and_the_table_is_written(toy, capsys):
    assert main(["--jobs", "2"], toy, toy / "faults") == 1
    text = (toy / "tests/README.md").read_text()
    assert text.startswith(f"# Tests\n\n{BEGIN}\n") and text.endswith(f"{END}\n\nThe end.\n")
    cells = {row.split(" | ")[0].strip("| "): row.split(" | ")[-1].strip("| ") for row in text.splitlines()[5:9]}
    assert list(cells) == ["toy-broken-code", "toy-caught", "toy-of-yesterday", "toy-survives"]
    assert cells["toy-caught"] == "`test_half.py`: `test_even`"
    assert cells["toy-survives"] == "not caught"
    assert cells["toy-of-yesterday"] == "'x // 4' is 0 times in half.py"
    assert cells["toy-broken-code"].startswith("its tests could not be run")
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert first.startswith("4 faults; first their 2 tests")
    assert len(lines) == 4 and last == "1 of 4 faults are caught (25.0 %)"


def test_one_is_tried_and_nothing_is_written(toy, capsys):
    assert main(["toy-caught", "--jobs", "1"], toy, toy / "faults") == 0
    assert "old" in (toy / "tests/README.md").read_text()
    assert capsys.readouterr().out.endswith("1 of 1 faults are caught (100.0 %)\n")


def test_mistakes_cost_one_line(toy, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["toy-cought"], toy, toy / "faults")
    assert "unknown mutant 'toy-cought'" in one_line(capsys)
    with pytest.raises(SystemExit, match="2"):
        main(["--jobs", "0"], toy, toy / "faults")
    assert "--jobs 0" in one_line(capsys)
    (toy / "half.py").write_text(HALF.replace("2", "4"))
    with pytest.raises(SystemExit, match="2"):
        main(["toy-caught", "--jobs", "1"], toy, toy / "faults")
    assert "without any fault, tests fail: tests/test_half.py::test_even" in one_line(capsys)


def one_line(capsys) -> str:
    [line] = capsys.readouterr().err.splitlines()
    return line


def test_a_copy_is_as_before_once_a_fault_is_taken_out(toy, tmp_path):
    copy = tmp_path / "copy"
    copy_of(toy, copy)
    before = (copy / "half.py").stat()
    assert before.st_mtime_ns == (toy / "half.py").stat().st_mtime_ns
    found = outcome(read_all(toy / "faults")[1], copy, kernels=["half.py"])
    assert found == Outcome(caught_by="tests/test_half.py::test_even")
    after = (copy / "half.py").stat()
    assert (copy / "half.py").read_text() == HALF and after.st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize(("old", "new", "word"), [
    ("Half is a third.", "no sentence", "one sentence, not 'no sentence'"),
    ("tests = ", "test = ", "test_x"),
    ("test_half.py::test_even", "test_half.py", "test_x"),
    ("changes = [{", "changes = [] # ", "file, replace, by"),
    ("file = ", "path = ", "file, replace, by"),
    ("[toy-caught]", "[toy-caught", "Expected"),
])  # fmt: skip
def test_what_is_missing_in_an_entry_is_said(toy, old, new, word):
    (toy / "faults/toy.toml").write_text(FAULTS.replace(old, new))
    with pytest.raises(UserError, match=f"^toy.toml: .*{word}"):
        read_all(toy / "faults")


def test_an_entry_is_read(toy):
    tests = ("tests/test_half.py::test_zero", "tests/test_half.py::test_even")
    changes = (Change("half.py", "return x // 2", "return x // 3"),)
    assert read_all(toy / "faults")[1] == Mutant("toy-caught", "Half is a third.", changes, tests)
