from pathlib import Path

import pandas as pd
import pytest

from lab.judge.results import COLUMNS, Grid, MissingData, Results, final, matrix, read
from lab.run.errors import UserError
from lab.sweep.entry import Entry

HEADER = ",".join(COLUMNS)
ROW = "e,quick,ter,Chain,0,100,return,1.0,0.5"


@pytest.mark.parametrize(
    "text, words",
    [
        (HEADER.replace("metric,", "") + "\n", "column 'metric' is missing"),
        ("", "column 'experiment' is missing"),
        (
            f"{HEADER}\n{ROW.replace('1.0', 'high')}\n",
            "cannot be read as CSV (could not convert string to float: 'high')",
        ),
        (f"{HEADER}\n{ROW}\n{ROW.replace('100', '2.5')}\n", "cannot be read as CSV"),
        (f"{HEADER}\n{ROW.replace(',0,', f',{2**63},')}\n", "cannot be read as CSV"),
        (f"{HEADER}\n{ROW.replace('100', f'{2**64}')}\n", "cannot be read as CSV"),
        (f"{HEADER}\n{ROW}\n{ROW.replace('100', '1e30')}\n", "cannot be read as CSV"),
        (f"{HEADER}\n{ROW[:-8]}\n", "could not convert string to float: ''"),
        (f"{HEADER}\n{ROW},7\n", "cannot be read as CSV"),
        (f"{HEADER}\n{ROW}\n{ROW},7\n", "Expected 9 fields in line 3, saw 10"),
        (f"{HEADER}\n\n{ROW}\n", "cannot be read as CSV"),
        (f"{HEADER}\n{ROW}\n{ROW}\n", "seed 0 step 100 metric return occurs twice"),
        (f"{HEADER}\n{ROW.replace('quick', 'smoke')}\n", "column 'scale' holds 'smoke', expected 'quick'"),
        (f"{HEADER}\n{ROW.replace('e,', 'f,', 1)}\n", "column 'experiment' holds 'f', expected 'e'"),
        (f'{HEADER}\n"e,quick\n', "cannot be read as CSV"),
        (b"\xff\xfe\x00", "cannot be read as CSV"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_damaged_file_is_named(tmp_path, text, words):
    path = tmp_path / "quick" / "e.csv"
    path.parent.mkdir()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError) as error:
        read(tmp_path, "e", "quick")
    message = str(error.value)
    assert str(path) in message and words in message and "\n" not in message


def add_file(root: Path, scale: str, experiment: str = "e") -> None:
    (root / scale).mkdir(parents=True, exist_ok=True)
    row = f"{experiment},{scale},ter,Chain,0,100,return,1.0,0.5"
    (root / scale / f"{experiment}.csv").write_text(f"{HEADER}\n{row}\n")


def test_reader_prefers_full_and_never_takes_smoke(tmp_path):
    add_file(tmp_path, "smoke")
    with pytest.raises(MissingData, match="no full or long or quick results of e"):
        Results(tmp_path).need("e")
    add_file(tmp_path, "quick")
    frame, scale = Results(tmp_path).need("e")
    assert scale == "quick" and set(frame["scale"]) == {"quick"}
    add_file(tmp_path, "full")
    frame, scale = Results(tmp_path).need("e")
    assert scale == "full" and set(frame["scale"]) == {"full"}
    assert set(Results(tmp_path).at("e", "smoke")["scale"]) == {"smoke"}  # a figure may show it
    with pytest.raises(MissingData, match="no quick results of other"):
        Results(tmp_path).at("other", "quick")


def test_reader_hands_out_copies(tmp_path):
    add_file(tmp_path, "quick")
    reader = Results(tmp_path)
    frame = reader.at("e", "quick")
    frame["value"] = -1.0
    assert reader.at("e", "quick")["value"].tolist() == [1.0]


def test_several_experiments_are_read_as_one(tmp_path):
    add_file(tmp_path, "quick", "a")
    add_file(tmp_path, "quick", "c")
    add_file(tmp_path, "full", "other")
    reader = Results(tmp_path)
    frame, scale = reader.need("a+b+c")
    assert scale == "quick" and frame["experiment"].tolist() == ["a", "c"] and frame.index.tolist() == [0, 1]
    assert reader.sources == {"quick/a", "quick/c"}
    add_file(tmp_path, "full", "b")
    frame, scale = Results(tmp_path).need("a+b+c")
    assert scale == "full" and frame["experiment"].tolist() == ["b"], "scales are never mixed"
    with pytest.raises(MissingData, match=r"no quick results of b\+d"):
        reader.at("b+d", "quick")


def tidy(rows: list[tuple]) -> pd.DataFrame:
    return pd.DataFrame([("e", "quick", *row, 0.0) for row in rows], columns=COLUMNS)


def test_matrix_and_final():
    frame = tidy(
        [("ter", "Chain", seed, step, "return", 10.0 * seed + step) for seed in (2, 10) for step in (3, 1, 2)]
        + [("ter", "Chain", 10, 4, "return", 99.0), ("uer", "Chain", 0, 1, "return", 7.0), ("ter", "B", 0, 1, "x", 7.0)]
    )
    steps, values = matrix(frame, "return", "ter", "Chain")
    assert steps.tolist() == [1, 2, 3]  # step 4 is seed 10's alone
    assert values.tolist() == [[21, 22, 23], [101, 102, 103]]
    assert final(frame, "return", "ter", "Chain").tolist() == [23, 103]
    assert final(frame, "return", "ter", "Chain", last=2).tolist() == [22.5, 102.5]
    with pytest.raises(MissingData, match="no loss of ter on Chain"):
        matrix(frame, "loss", "ter", "Chain")
    apart = tidy([("ter", "Chain", seed, seed, "return", 1.0) for seed in (1, 2)])
    with pytest.raises(MissingData, match="no step of return in common"):
        matrix(apart, "return", "ter", "Chain")


def test_a_grid_knows_its_runs_and_what_is_missing(tmp_path):
    def run(seed: int, method: str = "ter") -> Entry:
        return Entry(method, "Chain", seed, "nowhere:main", None)

    path = tmp_path / "quick" / "demo.csv"
    path.parent.mkdir()
    rows = [("demo", "quick", method, "Chain", 0, 10, "return", 1.0, 0.1) for method in ("ter", "other")]
    pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)
    grid = Grid(Results(tmp_path), "demo", "quick", [run(0), run(1), run(0, "uer"), run(1)])
    assert (grid.methods, grid.envs, grid.scale) == (["ter", "uer"], ["Chain"], "quick")
    assert grid.wanted == [("ter", "Chain", 0), ("ter", "Chain", 1), ("uer", "Chain", 0)]
    assert grid.missing == [("ter", "Chain", 1), ("uer", "Chain", 0)]
    assert list(grid.frame["method"]) == ["ter"] == list(grid.of("Chain")["method"]) and grid.of("Maze").empty
    with pytest.raises(MissingData, match="none of the quick runs of demo"):
        Grid(Results(tmp_path), "demo", "quick", [run(0, "uer")])
