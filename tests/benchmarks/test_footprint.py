"""Memory and disk at scale: memories are really filled, and the page says what was measured."""

import dataclasses
import importlib
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import footprint

ROOT = Path(__file__).resolve().parents[2]
OWN_ENVIRONMENT = {"ter.train_dreamer"}
PARTS = {"ners.train_pendulum_draws", "ners.train_scorer"}  # of ners.train: its memory, and its networks


def test_every_train_script_is_measured():
    scripts = {f"{path.parent.name}.{path.stem}" for path in (ROOT / "papers").glob("*/train*.py")}
    assert set(footprint.SCRIPTS) == scripts - OWN_ENVIRONMENT - PARTS


@pytest.mark.parametrize("name", footprint.SCRIPTS)
def test_settings_are_right_and_memories_of_a_million_unless_of_frames(name):
    script, module = footprint.SCRIPTS[name], importlib.import_module(f"papers.{name}")
    config = module.Config(**script.settings)
    assert hasattr(module, script.trainer)
    if "capacity" in {field.name for field in dataclasses.fields(config)}:
        assert config.capacity == (100_000 if name in ("ter.train_atari", "ners.train_rainbow") else 1_000_000)


@pytest.mark.parametrize("name", ["ners.train", "ter.train"])
def test_a_memory_is_filled_and_a_checkpoint_written(name, monkeypatch):
    small = {
        "ners.train": {"capacity": 3_000, "env": "Pendulum-v1", "random_steps": 2_000},
        "ter.train": {"capacity": 200, "warmup": 100},
    }[name]
    script = footprint.SCRIPTS[name]
    monkeypatch.setitem(footprint.SCRIPTS, name, script._replace(settings=script.settings | small))
    monkeypatch.setattr(footprint, "one_thread", lambda: None)  # leave this process its threads
    row = dict(zip(footprint.COLUMNS, footprint.weigh(name), strict=True))
    assert row["script"] == name and row["transitions"] == small["capacity"]
    assert row["peak"] >= row["full"] > 0 and row["checkpoint"] > 10 * small["capacity"]


def test_the_table():
    rows = [("a.train", 1_000_000, 4e8, 6e8, 7.123e8, 2.5e7), ("b.train", 0, 4e8, 5e8, 1.25e9, 4e4)]
    _, _, *lines = footprint.table(pd.DataFrame(rows, columns=footprint.COLUMNS)).splitlines()
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines] == [
        ["a.train", "1,000,000", "400 MB", "600 MB", "712 MB", "25 MB"],
        ["b.train", "none", "400 MB", "500 MB", "1.25 GB", "0.04 MB"],
    ]


def test_the_page_has_the_table_of_the_measured_file():
    page = footprint.PAGE.read_text()
    assert footprint.with_table(page, pd.read_csv(footprint.FILE)) == page


def test_an_unknown_script_costs_one_line(capsys):
    with pytest.raises(SystemExit) as stopped:
        footprint.main(["ners.trian"])
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith("error: unknown script 'ners.trian'; choose from: bias_") and err.count("\n") == 1
