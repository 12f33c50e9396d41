"""The process of the fastest peers, and the rows that are made of what it measures; no clock's verdict counts."""

import inspect
import sys
from pathlib import Path

import pytest

from benchmarks import fast_peers, minigrid, peer_tasks, simulators, sokoban
from benchmarks.fast_peers import Peers, beside
from benchmarks.rows import LIBRARIES, Row, fastest, library, standings
from lab.run.errors import UserError

SMALL = ("cpprb_per", dict(size=1000, batch=8, calls=2))


# ---- the process -----------------------------------------------------------------------------------------------------
def test_tasks_of_the_other_process(monkeypatch, capsys):
    """Two that run, one whose package is missing, one that fails: the first two are measured all the same."""
    pytest.importorskip("cpprb")
    monkeypatch.setattr(fast_peers, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(Peers, "versions", {})
    monkeypatch.setitem(LIBRARIES, "navix", "no-such-package")
    failing = ("cpprb_per", dict(size=1000, batch="many", calls=2))
    with Peers() as peers:
        tasks = peers.tasks({"cpprb": SMALL, "navix": SMALL, "cpprb, again": SMALL, "cpprb, wrong": failing})
        assert list(tasks) == ["cpprb", "cpprb, again"] and all(task() > 0.0 for task in tasks.values())
    assert peers.process.returncode == 0 and list(Peers.versions) == ["cpprb"]
    missing, wrong = capsys.readouterr().err.splitlines()
    assert missing == "left out: navix: no-such-package is not installed: make peers"
    assert wrong.startswith("left out: cpprb, wrong: ") and "Error: " in wrong


def test_a_process_that_ends_costs_one_line(monkeypatch):
    monkeypatch.setattr(fast_peers, "PYTHON", Path(sys.executable))
    with Peers() as peers, pytest.raises(UserError, match=r"^the peers' process ended with status 1 at {'run': 0}$"):
        peers._run(0)  # of a task that was never made


def test_without_their_environment_all_are_left_out_in_one_line(capsys):
    with Peers() as peers:
        assert peers.tasks({"rlox": SMALL, "cpprb": SMALL}) == {}
    assert capsys.readouterr().err == "left out, as .venv-peers is missing (make peers): rlox, cpprb\n"


# ---- rows ------------------------------------------------------------------------------------------------------------
ROWS = [
    Row("step", 3.0, "us", 4.0, "SB3", 0.8, note="a note", unlike="its Adam"),
    Row("step", 3.0, "us", 2.0, "SBX, 8 by 8", unlike="learns late", by="batching"),
    Row("step", 3.0, "us", 1.0, "arithmetic floor"),
    Row("reset", 3.0, "us", 3.5, "EnvPool"),
    Row("draw", 3.0, "us", 1.0, "our per"),
]


@pytest.mark.parametrize(("peer", "name"), [
    ("SB3's DDPG", "SB3"), ("xminigrid, 100 games", "xminigrid"), ("minigrid's RGBImgObsWrapper", "minigrid"),
    ("arithmetic floor", None), ("our her", None), ("", None),
])  # fmt: skip
def test_whose_a_peer_is(peer, name):
    assert library(peer) == name


def test_the_fastest_peer_is_named_and_who_is_ahead():
    assert [(row.what, row.peer_name) for row in fastest(ROWS)] == [("step", "SBX, 8 by 8"), ("reset", "EnvPool")]
    _, _, *lines = standings({"a": ROWS, "b": [Row("draw", 1.0, "us", 2.0, "rlox")]}).splitlines()
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines] == [
        ["step", "3 us", "2 us (SBX, 8 by 8)", "1.5", "**the peer**: batching", "learns late"],
        ["reset", "3 us", "3.5 us (EnvPool)", "0.857", "ours", ""],
        ["draw", "1 us", "2 us (rlox)", "0.5", "ours", ""],
    ]


def test_a_row_stands_beside_the_peers_that_were_measured():
    judged, bare = Row("step", 3.0, "us", 4.0, "SB3", 0.8, note="why"), Row("step", 3.0, "us")
    peers = [("SBX", "", "XLA"), ("rlox", "", "")]
    assert beside(judged, {"SBX": 2.0}, peers) == [judged, Row("step", 3.0, "us", 2.0, "SBX", by="XLA")]
    assert beside(bare, {"SBX": 2.0}, peers) == [Row("step", 3.0, "us", 2.0, "SBX", by="XLA")]
    assert beside(bare, {}, peers) == [bare]


class Everybody:
    """Peers all of which are installed and take `US`; their tasks must be ones that could be made."""

    US = 1e-3

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def tasks(self, wanted):
        for name, (maker, arguments) in wanted.items():
            assert library(name)
            inspect.signature(getattr(peer_tasks, maker)).bind(**arguments)
        return {name: lambda: self.US for name in wanted}


@pytest.mark.parametrize(("topic", "what", "peers"), [
    (minigrid, "DoorKey: step, 100 games", {"EnvPool, 100 games", "xminigrid, 100 games", "navix, 100 games"}),
    (minigrid, "DoorKey: step, codes", {"EnvPool", "xminigrid", "navix"}),
    (sokoban, "10x10-4: step, 100 games, without levels", {"EnvPool, 100 games", "jumanji, 100 games"}),
    (simulators, "LunarLander: step", {"EnvPool"}),
    (simulators, "LunarLander: step, one of 64", {"EnvPool, 64 at once"}),
])  # fmt: skip
def test_rows_name_their_peers(topic, what, peers, monkeypatch):
    monkeypatch.setattr(topic, "Peers", Everybody)
    monkeypatch.setattr(topic, "interleaved", lambda tasks, rounds: {name: task() for name, task in tasks.items()})
    for module, name in ((minigrid, "GAMES"), (minigrid, "STEPS"), (sokoban, "STEPS"), (simulators, "STEPS")):
        monkeypatch.setattr(module, name, 100 if name == "GAMES" else 5)
    monkeypatch.setattr(minigrid, "RESETS", 1)
    if topic is sokoban:
        monkeypatch.setattr(sokoban, "LARGE", ((5, 5), 1))  # whose levels are made at once
        rows = sokoban._large(Everybody())
    else:
        monkeypatch.setattr(topic, "TASKS", {name: topic.TASKS[name] for name in [what.partition(":")[0]]})
        rows = topic.measure()
    others = [row for row in rows if row.what == what and library(row.peer_name)]
    assert {row.peer_name for row in others} == peers
    assert all(row.peer == Everybody.US and row.by for row in others)
    assert {row.peer_name for row in fastest(rows) if row.what == what} < peers or len(peers) == 1
