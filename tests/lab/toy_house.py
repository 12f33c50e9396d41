"""A house of two small papers, `coins` and `dice` (the same without content), written into a directory."""

import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from lab.rooms import House
from lab.run import provenance

TRAIN = """
import time
from dataclasses import dataclass
from lab.run.runs import execute

@dataclass(frozen=True)
class Config:
    env: str = "Coin"
    method: str = "flip"
    seed: int = 0
    steps: int = 10
    device: str = "cpu"

def train(run, config):
    if config.method == "broken":
        raise ValueError("broken on purpose")
    if config.method == "slow":
        (run.directory / "waiting").touch()
        time.sleep(60)
    with open(run.directory.parent.parent / "trained.txt", "a") as file:
        file.write(f"{run.directory.name}\\n")
    run.log(config.steps, {"score": config.seed + 10.0 * (config.method == "flip")})
    return run.finish({"score": 1.0})

def main(config, run_dir, **how):
    return execute(config, run_dir, train, **how)
"""
EXPERIMENTS = """
from house_of_tests.coins import train
from lab.sweep.grid import Scales, grid

def of(*methods, seeds=3):
    return grid(train, "Coin", methods, seeds, {"steps": Scales(1, 10, 100)})

EXPERIMENTS = {
    "compare": of("flip", "fixed"),
    "again": of("flip"),
    "fails": of("broken", seeds=1) + of("flip"),
    "slow": of("slow"),
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
from lab.judge.intervals import above, difference
from lab.judge.verdicts import Verdict, decide
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


def commit_sources(patch: pytest.MonkeyPatch, changed: Collection[str] | None = ()) -> None:
    """Let git say that these files differ from the commit; by default none, as tests may run before there is one, and
    None for a checkout without git."""
    patch.setattr(provenance, "_git", lambda: ("unknown" if changed is None else "c" * 40, changed))
    patch.setattr(provenance, "_taken", {})


COINS = {"experiments": EXPERIMENTS, "figures": FIGURES, "claims": CLAIMS}
DICE = {"experiments": "EXPERIMENTS = {}\n", "figures": "FIGURES = {}\n", "claims": "CLAIMS = []\n"}


def add_long(house: House, steps: int) -> None:
    """Give the experiment `compare` runs of so many steps at `long`."""
    path = house.root / "house_of_tests/coins/evidence/experiments.py"
    text = path.read_text().replace("seeds=3)", "seeds=3, **more)").replace("100)", "100, **more)")
    path.write_text(text.replace('of("flip", "fixed")', f'of("flip", "fixed", long={steps})'))


def build(root: Path, patch: pytest.MonkeyPatch, **papers: dict[str, str]) -> House:
    """The papers (name -> files of evidence), or coins and dice, and a folder that is no paper, below
    root/house_of_tests, importable in place of any before."""
    for module in [name for name in sys.modules if name.partition(".")[0] == "house_of_tests"]:
        patch.delitem(sys.modules, module)
    patch.syspath_prepend(str(root))
    package = root / "house_of_tests"
    for name, files in ((papers or {"coins": COINS, "dice": DICE}) | {"not_a_paper": {}}).items():
        (package / name / "evidence").mkdir(parents=True)
        (package / name / "__init__.py").touch()
        for file, text in files.items():
            (package / name / f"evidence/{file}.py").write_text(text)
    (package / "__init__.py").touch()
    if not papers:
        (package / "coins/train.py").write_text(TRAIN)
    (root / "README.md").write_text("above\n<!-- claims:begin -->\n<!-- claims:end -->\nbelow\n")
    return House(package="house_of_tests", root=root, runs=root / "runs")
