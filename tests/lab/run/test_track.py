"""Metrics in Weights & Biases: each step once, however often a run was killed; with a module in its place, and with
the real one where it is installed."""

import importlib.util
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.run.identity import run_name
from lab.run.runs import Run
from tests.lab.toy_train import Config, main
from tests.processes import metrics

ROOT = Path(__file__).parents[3]


class Server:
    """What W&B keeps: of each run's steps what was sent first; as its client, a step is sent when another begins."""

    Error = type("Error", (Exception,), {})

    def __init__(self, offline: bool = False):
        self.offline, self.runs, self.begun = offline, {}, []
        self.Settings = SimpleNamespace

    def init(self, *, id, dir, **how):
        self.begun.append({"id": id, **how})
        steps = {} if self.offline else self.runs.setdefault(id, {})
        folder = Path(dir) / "wandb" / f"offline-run-{len(self.begun)}-{id}"
        if self.offline:
            (folder / "files").mkdir(parents=True)
        return Client(steps, self.offline, str(folder / "files"))


class Client:
    def __init__(self, steps, offline, folder):
        self.steps, self.offline, self.dir = steps, offline, folder
        self.step = max(steps, default=-1) + 1
        self.row = {}

    def log(self, values, step):
        assert step >= self.step, "W&B would drop it and warn"
        if step > self.step:
            self.send()
        self.step = step
        self.row |= values

    def send(self):
        if self.row:
            self.steps[self.step] = self.row
        self.row = {}

    def finish(self):
        self.send()


@pytest.fixture
def server(monkeypatch):
    server = Server()
    monkeypatch.setitem(sys.modules, "wandb", server)
    return server


def attempt(directory: Path, until: int, *, save_at: int = 10**9, killed: bool = False, **how) -> Run:
    """Log steps up to `until`, in two parts each; a checkpoint after one of them."""
    run = Run.open(Config(), directory, **{"track": True} | how)
    for step in range((run.load() or {"step": -1})["step"] + 1, until):
        run.log(step, {"a": step / 2})
        run.log(step, {"b": step / 4})
        if step == save_at:
            run.save({"step": step})
    if killed:
        run._writers = []  # nothing that is kept back is sent
    run.close()
    return run


WHOLE = {step: {"a": step / 2, "b": step / 4} for step in range(7)}


@pytest.mark.parametrize("saved", [{}, {"save_at": 1}], ids=["before the first checkpoint", "after one"])
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "stopped"])
def test_each_step_is_there_once(server, tmp_path, saved, killed):
    """Also where an attempt went on without W&B."""
    attempt(tmp_path, 4, **saved, killed=killed)
    attempt(tmp_path, 5, killed=killed)
    attempt(tmp_path, 6, track=False)
    attempt(tmp_path, 7)
    [steps] = server.runs.values()
    assert steps == WHOLE


def test_offline_the_last_attempt_has_everything(server, tmp_path, monkeypatch):
    server.offline = True
    attempt(tmp_path, 4, save_at=2, killed=True)
    steps: dict = {}
    monkeypatch.setattr(server, "init", lambda init=server.init, **how: _with(init(**how), steps))
    attempt(tmp_path, 7)
    assert steps == WHOLE and len(list(tmp_path.glob("wandb/offline-run-*"))) == 1


def _with(client, steps):
    client.steps = steps
    return client


def test_a_run_has_the_name_the_settings_and_the_paper(server, tmp_path):
    attempt(tmp_path / "a", 1)
    attempt(tmp_path / "a", 2)
    attempt(tmp_path / "b", 1)
    first, again, other = server.begun
    assert first["project"] == "toy-train" and first["name"] == run_name(Config())
    assert first["config"]["learning_rate"] == Config().learning_rate and first["resume"] == "allow"
    assert first["id"] == again["id"] != other["id"], "two directories are two runs, also of one config"


def test_it_changes_no_number(server, tmp_path):
    main(Config(steps=40), tmp_path / "plain")
    main(Config(steps=40), tmp_path / "tracked", track=True)
    assert metrics(tmp_path / "plain") == metrics(tmp_path / "tracked")
    assert (tmp_path / "plain/weights.pt").read_bytes() == (tmp_path / "tracked/weights.pt").read_bytes()
    [steps] = server.runs.values()
    assert len(steps) == len({row.split(",")[0] for row in (tmp_path / "plain/metrics.csv").read_text().split()[1:]})


def test_trouble_costs_one_line(server, one_line, monkeypatch, tmp_path):
    def refused(**_):
        raise server.Error("api_key not configured (no-tty).\ncall wandb login")

    monkeypatch.setattr(server, "init", refused)
    said = one_line(main, Config(), tmp_path / "a", track=True)
    assert "W&B: api_key not configured" in said and "WANDB_MODE=offline" in said
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert "--track needs wandb: .venv/bin/pip install --group track" in one_line(main, Config(), tmp_path, track=True)


SCRIPT = """
import os, sys
from pathlib import Path
from lab.run.runs import Run
from tests.lab.run.test_track import attempt
attempt(Path(sys.argv[1]), 4, save_at=2) if sys.argv[2] == "first" else attempt(Path(sys.argv[1]), 7)
if sys.argv[2] == "first":
    os._exit(9)
"""


def records(data: bytes) -> Iterator[bytes]:
    """Of a file in the format of LevelDB's log, after W&B's header of 7 bytes: blocks of 32 KiB, chunks with a check
    sum, a length and whether they are whole (1) or a first, middle or last part (2, 3, 4)."""
    place, record = 7, b""
    while place + 7 <= len(data):
        _, length, kind = struct.unpack_from("<IHB", data, place)
        if (left := 32768 - place % 32768) < 7 or kind == 0:
            place += left
            continue
        record += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield record
            record = b""


def kept(file: Path) -> dict[int, dict[str, float]]:
    """The history of an offline run, read from W&B's own file."""
    from wandb.proto import wandb_internal_pb2

    found: dict[int, dict[str, float]] = {}
    for data in records(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            row = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
            step = int(row.pop("_step", record.history.step.num))
            assert step not in found, "a step is there twice"
            found[step] = {name: value for name, value in row.items() if not name.startswith("_")}
    return found


@pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="needs wandb (group track), 150 MB")
def test_the_real_one_offline(tmp_path):
    """Of a process that ended without closing anything, and of one that went on."""
    environment = {**os.environ, "WANDB_MODE": "offline", "WANDB_SILENT": "true", "PYTHONPATH": str(ROOT)}
    for which, code in (("first", 9), ("second", 0)):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path), which], env=environment, capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
    [folder] = tmp_path.glob("wandb/offline-run-*")
    [file] = folder.glob("*.wandb")
    assert kept(file) == WHOLE
