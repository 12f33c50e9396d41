"""What can be checked about the benchmarks without their peers and without a clock's verdict."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as bench
from benchmarks.fast_peers import Peers
from benchmarks.floor import layer_flops, update_flops
from benchmarks.python_sum_tree import PythonSumTree
from benchmarks.rows import Row, number, summary, table
from benchmarks.timing import Stopwatch
from common.networks import NatureConv
from common.replay.sum_tree import SumTree
from lab.run.errors import UserError

ROOT = Path(__file__).resolve().parents[2]


# ---- the floor -------------------------------------------------------------------------------------------------------
def test_operations_by_hand():
    by_hand = [
        2 * (9 * 9 * 32) * (8 * 8 * 3),  # outputs times inputs of one output; a product and a sum each
        2 * (3 * 3 * 64) * (4 * 4 * 32),
        2 * (1 * 1 * 64) * (3 * 3 * 64),
        2 * 512 * 64,
        2 * 3 * 512,
    ]
    assert layer_flops(NatureConv((40, 40, 3), 3), (40, 40, 3)) == by_hand
    assert sum(by_hand) == 1_727_488
    # forward and both gradients of s, without the gradient of the frames; two networks on s'
    assert update_flops([10, 1], batch=4, looks=2) == 4 * ((10 + 10) + (1 + 1 + 1) + 2 * (10 + 1))


# ---- rows and tables -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("row", "value", "met", "cell"), [
    (Row("a", 3.0, "us", 4.0, "peer"), 0.75, None, ""),
    (Row("a", 3.0, "us", 4.0, "peer", 0.8), 0.75, True, "yes"),
    (Row("a", 3.0, "us", 4.0, "peer", 0.6), 0.75, False, "no, by 25%"),
    (Row("a", 3.0, "us", 2.0, "peer", 2.0, "ours - peer"), 1.0, True, "yes (1 us)"),
    (Row("a", 3.0, "GB", limit=1.5, judged="ours"), 3.0, False, "no, by 100%"),
])  # fmt: skip
def test_targets(row, value, met, cell):
    assert row.value == pytest.approx(value)
    assert row.met is met
    assert row.cells()[-1] == cell


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.01234, "0.0123"), (1.5, "1.5"), (12.34, "12.3"), (1234.5, "1,234"), (-2.0, "-2")]
)
def test_numbers(value, text):
    assert number(value) == text


def test_the_table_is_aligned_and_lists_the_notes():
    rows = [Row("short", 3.0, "us", 4.0, "peer", 0.8), Row("a longer name", 1234.0, "us", note="here it goes")]
    head, rule, first, second, blank, note = table(rows).splitlines()
    assert len({len(line) for line in (head, rule, first, second)}) == 1
    assert [cell.strip() for cell in first.split("|")[1:-1]] == [
        "short", "3 us", "4 us (peer)", "0.75", "ratio <= 0.8", "yes"
    ]  # fmt: skip
    assert set(rule) == set("|- ") and not blank
    assert note == "- a longer name: here it goes"


def test_the_summary_takes_the_fastest_peer_and_the_floor_from_the_rows():
    rows = [
        Row("step", 3.0, "us", 9.0, "pfrl"), Row("step", 3.0, "us", 4.0, "SB3", 0.5), Row("step", 3.0, "us"),
        Row("other", 1.0, "us", 1.0, "arithmetic floor"), Row("step", 3.0, "us", 2.0, "arithmetic floor"),
    ]  # fmt: skip
    *_, line = summary({"topic": rows}, [("paper", "topic", "step")]).splitlines()
    assert [cell.strip() for cell in line.split("|")[1:-1]] == ["paper", "step", "3 us", "4 us (SB3)", "0.75", "1.5"]
    with pytest.raises(StopIteration):
        summary({"topic": rows}, [("paper", "topic", "other")])


def test_every_paper_has_a_line_in_the_summary():
    papers = {path.parents[1].name for path in (ROOT / "papers").glob("*/evidence/claims.py")}
    assert {paper for paper, _, _ in bench.HEADLINE} == papers
    assert {topic for _, topic, _ in bench.HEADLINE} <= set(bench.TOPICS)


def test_the_report_names_the_fastest_peers_and_the_versions_of_those_measured(monkeypatch):
    monkeypatch.setattr(Peers, "versions", {"SBX": "0.28.0", "navix": "0.7.4"})
    sections: dict[str, list[Row]] = {topic: [] for topic in bench.TOPICS}
    for _, topic, what in bench.HEADLINE:
        sections[topic] += [Row(what, 3.0, "us", 2.0, "SBX", by="XLA"), Row(what, 3.0, "us", 1.0, "arithmetic floor")]
    text = bench.report(sections)
    assert re.search(r"^Peers: SBX 0\.28\.0\.$", text, re.MULTILINE)  # no task of navix has a row
    assert re.search(r"^Matrix products of the kernels: (OpenBLAS [\d.]+ for \w+(, |\.$))+", text, re.MULTILINE)
    assert text.count("**the peer**: XLA") == len(bench.HEADLINE)
    assert all(f"## {title}\n" in text for title in (*bench.TOPICS.values(), "The fastest peers"))


# ---- peers and clocks ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 2, 5, 64, 100])
def test_the_python_sum_tree_finds_what_ours_finds(size):
    rng = np.random.default_rng(size)
    priorities = rng.integers(1, 9, size).astype(float)  # whole numbers: no rounding
    plain, ours = PythonSumTree(priorities.tolist()), SumTree(size)
    ours.set_many(np.arange(size), priorities)
    for index in rng.integers(size, size=20).tolist():
        plain.set(index, 3.0)
        ours.set(index, 3.0)
    assert plain.total == ours.total
    prefixes = np.arange(ours.total)
    assert [plain.find(prefix) for prefix in prefixes] == ours.find(prefixes).tolist()


def test_the_stopwatch_leaves_the_object_as_it_was():
    class Thing:
        def double(self, x: int) -> int:
            return 2 * x

    thing = Thing()
    with Stopwatch(thing, "double") as watch:
        assert thing.double(2) == 4
    assert watch.seconds >= 0.0 and not vars(thing)


# ---- command line ----------------------------------------------------------------------------------------------------
def test_an_unknown_topic_costs_one_line():
    command = [sys.executable, "-m", "benchmarks", "minigird"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "error: unknown topic 'minigird'; choose from: minigrid, sokoban, throwing, goal_tasks, voxel_build, "
        "wake_flow, ant_maze, simulators, sum_tree, prioritised, batches, training, tile_codes, memory, "
        "her_training, fetch_training, construction, sibling_rivalry, ref_er, ners\n"
    )  # fmt: skip


@pytest.mark.parametrize(("topic", "peer"), [
    ("sum_tree", "pfrl"), ("her_training", "stable_baselines3"), ("sibling_rivalry", "stable_baselines3"),
    ("ref_er", "stable_baselines3"),
])  # fmt: skip
def test_a_missing_peer_costs_one_line(topic, peer, monkeypatch):
    monkeypatch.setitem(sys.modules, peer, None)
    for name in (topic, "peers"):
        monkeypatch.delitem(sys.modules, f"benchmarks.{name}", raising=False)
    with pytest.raises(UserError, match=f"^make bench needs {peer}: .venv/bin/pip install --group bench$"):
        importlib.import_module(f"benchmarks.{topic}")
