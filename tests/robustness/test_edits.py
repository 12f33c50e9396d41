"""The real command line on a small house under git: edits and commits while it trains, Ctrl-C, two commands at once."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 300.0  # a limit for what takes a few seconds on an idle machine
FILES = {
    "method.py": '"""A method."""\n\nVALUE = 1.0\n',
    "train.py": """
import time
from dataclasses import dataclass
from lab.runs import Run
from papers.coins.method import VALUE

@dataclass(frozen=True)
class Config:
    env: str = "Coin"
    method: str = "flip"
    seed: int = 0

def main(config, run_dir, *, tensorboard=False, progress=False):
    with Run.open(config, run_dir, total_steps=2) as run:
        if run.finished:
            return run.finished
        state = run.load() or {"step": 0}
        print("begins at", state["step"], flush=True)
        if config.method == "broken":
            raise ValueError("broken on purpose")
        while state["step"] < 2:
            state["step"] += 1
            run.log(state["step"], {"score": config.seed + VALUE})
            run.save(state)
            while not (run_dir.parent / "go").exists():
                time.sleep(0.02)
        return run.finish({"score": VALUE})
""",
    "evidence/experiments.py": """
from lab.entry import Entry
from papers.coins.train import Config

def entries(scale):
    return [Entry("flip", "Coin", seed, "papers.coins.train:main", Config(seed=seed)) for seed in range(3)]

def fails(scale):
    return [Entry("broken", "Coin", 0, "papers.coins.train:main", Config(method="broken"))]

EXPERIMENTS = {"flips": entries, "fails": lambda scale: entries(scale) + fails(scale)}
""",
    "evidence/figures.py": """
from lab.plotting import Figure

def draw(results, scale, out):
    out.write_text(str(sorted(results.at("flips", scale)["value"])))

FIGURES = {"fig-1": Figure(("flips",), draw, "flips"), "fig-2": Figure(("flips", "fails"), draw, "flips")}
""",
    "evidence/claims.py": """
from lab.claims import Claim
from lab.verdicts import above, decide, difference
from lab.results import final

def check(results):
    frame, scale = results.need("flips")
    scores = final(frame, "score", "flip", "Coin")
    return decide(difference(scores + 9, scores), above(), steps=2, scale=scale)

CLAIMS = [Claim(f"coins-{figure}", figure, "flips score", "+9", check) for figure in ("fig-1", "fig-2")]
""",
}


class House:
    """A checkout of its own with the real laboratory and one small paper, committed."""

    def __init__(self, root: Path) -> None:
        self.root = root / "house"
        for package in ("lab", "common", "envs"):
            shutil.copytree(ROOT / package, self.root / package, ignore=shutil.ignore_patterns("__pycache__"))
        self.paper, self.runs = self.root / "papers/coins", self.root / "runs/coins"
        (self.paper / "evidence").mkdir(parents=True)
        for name, text in FILES.items():
            (self.paper / name).write_text(text)
        for folder in (self.paper.parent, self.paper, self.paper / "evidence"):
            (folder / "__init__.py").touch()
        (self.root / ".gitignore").write_text("__pycache__/\nruns/\n")
        self.git("init", "-q")
        self.commit()
        self.results = self.paper / "evidence/results/quick/flips.csv"

    def git(self, *arguments: str) -> str:
        settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        command = ["git", *settings, *arguments]
        return subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True).stdout

    def commit(self) -> str:
        self.git("add", ".")
        self.git("commit", "-q", "-m", "a commit")
        return self.git("rev-parse", "HEAD").strip()

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.paper / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def start(self, *arguments: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", "lab", *arguments],
            cwd=self.root, env={**os.environ, "PYTHONPATH": "", "OMP_NUM_THREADS": "1"}, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # as from a terminal
        )  # fmt: skip

    def ran(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """What a command says that ends with this exit code."""
        return ended(self.start(*arguments), code)

    def stored(self) -> list[dict]:
        """config.json of the runs of fig-1 with the score in their metrics, by seed."""
        found = []
        for path in sorted(self.runs.glob("Coin-flip-s*"), key=lambda path: path.name.split("-")[2]):
            scores = {float(line.split(",")[2]) for line in (path / "metrics.csv").read_text().splitlines()[1:]}
            content = json.loads((path / "config.json").read_text())
            assert len(scores) == 1 and "resumed" not in content
            found.append(content | {"score": scores.pop() - content["config"]["seed"]})
        return found


def ended(process: subprocess.Popen, code: int = 0) -> tuple[str, str]:
    out, error = process.communicate(timeout=SECONDS)
    assert process.returncode == code and "Traceback" not in error, error
    return out, error


def wait_until(condition) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def test_edits_and_commits(house):
    first = house.git("rev-parse", "HEAD").strip()

    # A commit while a sweep is under way: two of the three runs have not begun yet.
    sweep = house.start("run", "coins", "fig-1", "--jobs", "1")
    wait_until(lambda: list(house.runs.glob("*/checkpoint.pkl")))
    house.edit("method.py", "1.0", "2.0")
    second = house.commit()
    (house.runs / "go").touch()
    ended(sweep)
    before = house.stored()
    assert [(run["commit"], run["dirty"], run["score"]) for run in before] == [(first, False, 1.0)] * 3
    assert len({run["sources"] for run in before}) == 1

    # What it has trained is no longer what the code does.
    _, error = house.ran("collect", "coins", code=1)
    assert error.count("is left out: it is stale, papers/coins/method.py changed\n") == 3 and not house.results.exists()
    _, error = house.ran("run", "coins", "fig-1", "--stale", "keep")
    assert "3 stale: kept although papers/coins/method.py changed" in error and "3 finished before" in error
    assert house.stored() == before
    picture = house.root / "runs/figures/coins/quick/fig-1.png"
    assert picture.read_text() == "[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]"
    _, error = house.ran("run", "coins", "fig-1", "--jobs", "2")
    assert "3 stale: trained again because papers/coins/method.py changed" in error and "3 finished" in error
    assert [(run["commit"], run["score"]) for run in house.stored()] == [(second, 2.0)] * 3
    assert len(list((house.runs / "stale").glob("*/done.json"))) == 3
    assert picture.read_text() == "[2.0, 2.0, 3.0, 3.0, 4.0, 4.0]", "old and new are not mixed"

    # Words are not code.
    house.edit("method.py", "A method.", "A method, explained.")
    house.edit("train.py", "        while state", "        # Until the end.\n        while state")
    out, error = house.ran("collect", "coins")
    assert "collected: " in out and not error
    collected = house.results.read_bytes()

    # A new setting: the runs keep their names, and what is not committed is no evidence.
    names = {path.name for path in house.runs.glob("Coin-*")}
    house.edit("train.py", "    seed: int = 0\n", "    seed: int = 0\n    penalty: float = 0.0\n")
    _, error = house.ran("run", "coins", "fig-1", "--jobs", "2")
    assert "3 stale: trained again because papers/coins/train.py changed" in error
    assert {path.name for path in house.runs.glob("Coin-*")} == names
    assert [run["dirty"] for run in house.stored()] == [True] * 3
    _, error = house.ran("collect", "coins", code=1)
    assert error.count("is left out: its code was not committed\n") == 3 and house.results.read_bytes() == collected
    provenance = json.loads(house.results.with_suffix(".provenance.json").read_text())
    assert {run["commit"] for run in provenance.values()} == {second}


def test_ctrl_c_two_commands_at_once_and_a_failed_run(house):
    sweep = house.start("run", "coins", "fig-1", "--jobs", "2")
    wait_until(lambda: len(list(house.runs.glob("*/checkpoint.pkl"))) == 2)
    os.killpg(sweep.pid, signal.SIGINT)
    _, error = ended(sweep, 130)
    assert "interrupted: the same command again resumes" in error
    assert not list(house.runs.glob("*/done.json")) and not (house.root / "runs/figures").exists()

    def begins() -> int:
        return sum(path.read_text().count("begins at") for path in house.runs.glob("*/log.txt"))

    assert begins() == 2
    two = [house.start("run", "coins", "fig-1", "--jobs", "1") for _ in range(2)]
    wait_until(lambda: begins() == 4)
    (house.runs / "go").touch()
    for process in two:
        out, error = process.communicate(timeout=SECONDS)
        busy = re.search(r"(\d) busy elsewhere", error)
        assert process.returncode == bool(busy) and "Traceback" not in error and "failed" not in error, error
        assert error.count("is trained by another process") == int(busy[1] if busy else 0)

    out, error = house.ran("run", "coins", "fig-2", code=1)
    assert "runs: 0 finished, 3 finished before, 1 failed" in error and "broken on purpose" in error
    assert "coins fig-2: reproduced: flips score" in out, "a failed run does not keep the rest from being judged"
    table = (house.root / "runs/results/coins/quick/flips.csv").read_text()
    assert re.findall(r"flip,Coin,(\d),2,score", table) == ["0", "1", "2"]
    for path in house.runs.glob("Coin-flip-*/metrics.csv"):
        steps = [line.split(",")[0] for line in path.read_text().splitlines()]
        assert steps == ["step", "1", "2"]
