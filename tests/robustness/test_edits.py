"""The real command line on a small house under git, which is edited and committed while it trains."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.processes import metrics, started, wait_until

ROOT = Path(__file__).parents[2]
FILES = {
    "method.py": '"""A method."""\n\nVALUE = 1.0\n',
    "train.py": """
import time
from dataclasses import dataclass
from lab.run.runs import Run
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
        while state["step"] < 2:
            state["step"] += 1
            run.log(state["step"], {"score": config.seed + VALUE})
            run.save(state)
            while not (run_dir.parent / "go").exists():
                time.sleep(0.02)
        return run.finish({"score": VALUE})
""",
    "evidence/experiments.py": """
from lab.sweep.entry import Entry
from papers.coins.train import Config

def entries(scale):
    return [Entry("flip", "Coin", seed, "papers.coins.train:main", Config(seed=seed)) for seed in range(3)]

EXPERIMENTS = {"flips": entries}
""",
    "evidence/figures.py": """
from lab.judge.plotting import Figure

def draw(results, scale, out):
    out.write_text(str(sorted(results.at("flips", scale)["value"])))

FIGURES = {"fig-1": Figure(("flips",), draw, "flips")}
""",
    "evidence/claims.py": "CLAIMS = []\n",
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
        return started(sys.executable, "-m", "lab", *arguments, cwd=self.root, PYTHONPATH="")

    def stored(self) -> list[tuple]:
        """(commit, dirty, score without its seed) of every finished run."""
        found = []
        for path in self.runs.glob("Coin-*/done.json"):
            content = json.loads((path.parent / "config.json").read_text())
            scores = {float(score) for *_, score in metrics(path.parent)[1:]}
            assert len(scores) == 1 and "resumed" not in content
            found.append((content["commit"], content["dirty"], scores.pop() - content["config"]["seed"]))
        return found


def ended(process: subprocess.Popen, code: int = 0) -> tuple[str, str]:
    """What a command says that ends with this exit code."""
    out, error = process.communicate()
    assert process.returncode == code and "Traceback" not in error, error
    return out, error


def test_what_is_edited_and_committed_while_a_sweep_trains(tmp_path):
    house = House(tmp_path)
    first = house.git("rev-parse", "HEAD").strip()
    begun = house.start("run", "coins", "fig-1", "--jobs", "1")
    wait_until(lambda: list(house.runs.glob("*/checkpoint.pkl")), begun)  # two of its three runs have not begun yet
    house.edit("method.py", "1.0", "2.0")
    second = house.commit()
    (house.runs / "go").touch()
    ended(begun)
    assert house.stored() == [(first, False, 1.0)] * 3

    _, error = ended(house.start("collect", "coins"), 1)
    assert error.count("it is stale, papers/coins/method.py changed\n") == 3
    picture = house.root / "runs/figures/coins/quick/fig-1.png"
    _, error = ended(house.start("run", "coins", "fig-1", "--jobs", "3"))
    assert "3 stale: retrained because papers/coins/method.py changed" in error and "3 finished" in error
    assert house.stored() == [(second, False, 2.0)] * 3
    assert picture.read_text() == "[2.0, 2.0, 3.0, 3.0, 4.0, 4.0]", "old and new are not mixed"

    house.edit("method.py", "A method.", "A method, explained.")  # words are not code
    out, error = ended(house.start("collect", "coins"))
    assert "collected: " in out and not error
