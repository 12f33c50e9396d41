"""A house of two small papers, `coins` and `dice` (the same without content), written into a directory."""

import sys
from pathlib import Path

import pytest

from lab.rooms import House
from lab.run import provenance

TRAIN = """
import time
from dataclasses import dataclass
from lab.run.runs import Run

@dataclass(frozen=True)
class Config:
    env: str = "Coin"
    method: str = "flip"
    seed: int = 0
    steps: int = 10
    device: str = "cpu"

def main(config, run_dir, *, tensorboard=False, progress=False):
    with Run.open(config, run_dir, total_steps=config.steps) as run:
        if run.finished:
            return run.finished
        run.load()
        if config.method == "broken":
            raise ValueError("broken on purpose")
        if config.method == "slow":
            (run_dir / "waiting").touch()
            time.sleep(60)
        with open(run_dir.parent.parent / "trained.txt", "a") as file:
            file.write(f"{run_dir.name}\\n")
        run.log(config.steps, {"score": config.seed + 10.0 * (config.method == "flip")})
        return run.finish({"score": 1.0})
"""
EXPERIMENTS = """
from lab.sweep.entry import Entry
from house_of_tests.coins.train import Config

STEPS = {"smoke": 1, "quick": 10, "full": 100}

def grid(scale, methods):
    configs = [Config(method=method, seed=seed, steps=STEPS[scale]) for method in methods for seed in range(3)]
    return [Entry(c.method, c.env, c.seed, "house_of_tests.coins.train:main", c) for c in configs]

EXPERIMENTS = {
    "compare": lambda scale: grid(scale, ["flip", "fixed"]),
    "again": lambda scale: grid(scale, ["flip"]),
    "fails": lambda scale: grid(scale, ["broken"])[:1] + grid(scale, ["flip"]),
    "slow": lambda scale: grid(scale, ["slow"]),
}
HEADLINE = {"fig-1": lambda entry: entry.method == "flip" or entry.seed < 2}
"""
FIGURES = """
from lab.judge.plotting import Figure

def chart(experiment):
    def draw(results, scale, out):
        frame = results.at(experiment, scale)
        out.write_text(f"{scale} {len(frame)}")
    return draw

FIGURES = {
    "fig-1": Figure(("compare", "again"), chart("compare"), "flip against fixed"),
    "fig-2": Figure(("fails",), chart("fails"), "one run fails"),
    "fig-3": Figure((), lambda results, scale, out: out.write_text("a world"), "a picture"),
    "fig-4": Figure(("slow",), chart("slow"), "takes its time"),
}
"""
CLAIMS = """
from lab.judge.claims import Claim
from lab.judge.verdicts import Verdict, above, decide, difference
from lab.judge.results import final

def check(results):
    frame, scale = results.need("compare")
    x, y = (final(frame, "score", m, "Coin") for m in ("flip", "fixed"))
    return decide(difference(x, y), above(), steps=10, scale=scale)

def check_slow(results):
    return Verdict("reproduced", scale=results.need("slow")[1])

CLAIMS = [
    Claim("coins-1", "fig-1", "flip scores higher", "+10", check),
    Claim("coins-4", "fig-4", "slow ends", "-", check_slow),
]
"""


def commit_sources(patch: pytest.MonkeyPatch) -> None:
    """Let git say that all sources are committed: the tests may run before they are."""
    patch.setattr(provenance, "_git", lambda: ("c" * 40, set()))
    patch.setattr(provenance, "_taken", {})


def build(root: Path, patch: pytest.MonkeyPatch) -> House:
    """The papers, and a folder that is no paper, below root/house_of_tests, importable in place of any before."""
    for module in [name for name in sys.modules if name.partition(".")[0] == "house_of_tests"]:
        patch.delitem(sys.modules, module)
    patch.syspath_prepend(str(root))
    package = root / "house_of_tests"
    for name in ("coins", "dice", "not_a_paper"):
        (package / name / "evidence").mkdir(parents=True)
        (package / name / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "coins/train.py").write_text(TRAIN)
    for name, text, empty in (
        ("experiments", EXPERIMENTS, "EXPERIMENTS = {}\n"),
        ("figures", FIGURES, "FIGURES = {}\n"),
        ("claims", CLAIMS, "CLAIMS = []\n"),
    ):
        (package / f"coins/evidence/{name}.py").write_text(text)
        (package / f"dice/evidence/{name}.py").write_text(empty)
    (root / "README.md").write_text("above\n<!-- claims:begin -->\n<!-- claims:end -->\nbelow\n")
    return House(package="house_of_tests", root=root, runs=root / "runs")
