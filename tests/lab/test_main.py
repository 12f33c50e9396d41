"""lab/__main__.py, on a house of two small papers that are written into a temporary directory."""

import dataclasses
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab import provenance
from lab.__main__ import entries_of, main, usual_hours, write_claims
from lab.rooms import House, choose, every

ROOT = Path(__file__).resolve().parents[2]

TRAIN = """
from dataclasses import dataclass
from lab.runs import Run

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
        with open(run_dir.parent.parent / "trained.txt", "a") as file:
            file.write(f"{run_dir.name}\\n")
        run.log(config.steps, {"score": config.seed + 10.0 * (config.method == "flip")})
        return run.finish({"score": 1.0})
"""
EXPERIMENTS = """
from lab.entry import Entry
from house_of_tests.coins.train import Config

STEPS = {"smoke": 1, "quick": 10, "full": 100}

def grid(scale, methods):
    configs = [Config(method=method, seed=seed, steps=STEPS[scale]) for method in methods for seed in range(3)]
    return [Entry(c.method, c.env, c.seed, "house_of_tests.coins.train:main", c) for c in configs]

EXPERIMENTS = {
    "compare": lambda scale: grid(scale, ["flip", "fixed"]),
    "again": lambda scale: grid(scale, ["flip"]),
    "fails": lambda scale: grid(scale, ["broken"])[:1] + grid(scale, ["flip"]),
}
HEADLINE = {"fig-1": lambda entry: entry.method == "flip" or entry.seed < 2}
"""
FIGURES = """
from lab.plotting import Figure

def chart(experiment):
    def draw(results, scale, out):
        frame = results.at(experiment, scale)
        out.write_text(f"{scale} {len(frame)}")
    return draw

FIGURES = {
    "fig-1": Figure(("compare", "again"), chart("compare"), "flip against fixed"),
    "fig-2": Figure(("fails",), chart("fails"), "one run fails"),
    "fig-3": Figure((), lambda results, scale, out: out.write_text("a world"), "a picture"),
}
"""
CLAIMS = """
from lab.claims import Claim, judge_difference
from lab.results import final

def check(results):
    frame, scale = results.need("compare")
    return judge_difference(*(final(frame, "score", m, "Coin") for m in ("flip", "fixed")), steps=10, scale=scale)

CLAIMS = [Claim("coins-1", "fig-1", "flip scores higher", "+10", check)]
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Papers `coins` and `dice` (the same without claims) and a folder that is no paper."""
    root = tmp_path_factory.mktemp("house")
    package = root / "house_of_tests"
    for name in ("coins", "dice", "not_a_paper"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
        (package / name / "evidence").mkdir()
    (package / "__init__.py").touch()
    (package / "coins/train.py").write_text(TRAIN)
    for name, text in (("experiments", EXPERIMENTS), ("figures", FIGURES), ("claims", CLAIMS)):
        (package / "coins/evidence" / f"{name}.py").write_text(text)
    for name, text in (
        ("experiments", "EXPERIMENTS = {}\n"),
        ("figures", "FIGURES = {}\n"),
        ("claims", "CLAIMS = []\n"),
    ):
        (package / "dice/evidence" / f"{name}.py").write_text(text)
    (root / "README.md").write_text("above\n<!-- claims:begin -->\n<!-- claims:end -->\nbelow\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root))
        patch.setattr(provenance, "_git", lambda: ("c" * 40, set()))  # these tests may run before they are committed
        yield House(package="house_of_tests", root=root, runs=root / "runs")


@pytest.fixture(scope="module")
def after_run(house):
    """The house after `run coins fig-1 fig-2 fig-3`: (house, exit code)."""
    return house, main(["run", "coins", "fig_1", "fig-2", "FIG-3", "--jobs", "2"], house)


def coins(house):
    return house.root / "house_of_tests" / "coins"


def quick_figures(house):
    """Where `run` draws: below runs/, not into the paper."""
    return house.runs / "figures/coins/quick"


def trained(house):
    return (house.runs / "trained.txt").read_text().split()


def test_papers_are_found_by_their_files(house):
    assert list(house.papers()) == ["coins", "dice"]
    assert list(house.papers()["coins"].headline) == ["fig-1"]
    assert house.papers()["dice"].headline == {}


def test_run_trains_shared_runs_once_and_draws(after_run):
    house, code = after_run
    assert code == 1, "one run fails on purpose"
    assert len(trained(house)) == len(set(trained(house))) == 6, "three experiments share flip's three runs"
    drawn = {path.name: path.read_text() for path in quick_figures(house).iterdir()}
    assert drawn == {"fig-1.png": "quick 6", "fig-2.png": "quick 3", "fig-3.png": "a world"}
    assert not (coins(house) / "evidence/results").exists() and not (coins(house) / "evidence/figures").exists()


def test_claims_of_this_machine_leave_the_committed_ones_alone(after_run, capsys):
    house, _ = after_run
    before = (house.root / "README.md").read_text()
    assert main(["claims", "--mine"], house) == 0
    assert "flip scores higher" in (house.runs / "RESULTS.md").read_text()
    assert (house.root / "README.md").read_text() == before and not (house.root / "RESULTS.md").exists()


def test_run_again_skips_what_is_done_and_judges(after_run, capsys):
    house, _ = after_run
    before = trained(house)
    assert main(["run", "coins", "fig-1"], house) == 0
    assert trained(house) == before
    out = capsys.readouterr().out
    assert "coins fig-1: reproduced: flip scores higher (+10, [" in out and "3 seeds, 10 steps, quick" in out


def test_headline_trains_its_own_runs_of_all_papers_and_keeps_what_else_is_there(after_run, tmp_path, capsys):
    house, _ = after_run
    fresh = dataclasses.replace(house, runs=tmp_path / "runs")
    assert main(["run", "all", "--headline", "--jobs", "2"], fresh) == 0
    assert sorted(re.findall("-(flip|fixed)-s(\\d)", (tmp_path / "runs/trained.txt").read_text())) == [
        ("fixed", "0"), ("fixed", "1"), ("flip", "0"), ("flip", "1"), ("flip", "2"),
    ]  # fmt: skip
    assert main(["claims", "--mine", "--show"], fresh) == 0
    out = capsys.readouterr().out
    assert "coins: 1 inconclusive" in out and "ours: +10.5 [" in out and "(2 seeds, 10 steps, quick)" in out, out
    assert out.splitlines()[-1].endswith(f"the pictures are in {tmp_path / 'runs/figures'}")
    assert main(["run", "coins", "fig-1"], fresh) == 0
    assert main(["run", "all", "--headline"], fresh) == 0
    assert "fixed,Coin,2," in (tmp_path / "runs/results/coins/quick/compare.csv").read_text()


def test_usual_hours_come_from_the_committed_results(after_run):
    house, _ = after_run
    main(["collect", "coins"], house)
    paper = house.papers()["coins"]
    path = coins(house) / "evidence/results/quick/compare.csv"
    kept = path.read_text()
    path.write_text(re.sub(r"fixed,(.*),[^,\n]*\n", r"fixed,\1,0.5\n", kept))
    entries = entries_of(paper, {"fig-1": every}, "quick", "cpu")
    hours = usual_hours(paper, entries, "quick")
    assert {name.split("-")[1]: value > 0.4 for name, value in hours.items()} == {"fixed": True, "flip": False}
    assert len(hours) == 6 and usual_hours(paper, entries, "smoke") == {}
    full = usual_hours(paper, entries_of(paper, {"fig-1": every}, "full", "cpu"), "full")
    assert sorted(full.values()) == sorted(hours.values()), "what is known of another scale"
    path.write_text(kept)


def test_failed_run_is_reported(after_run, capsys):
    house, _ = after_run
    assert main(["run", "coins", "fig-2"], house) == 1
    err = capsys.readouterr().err
    assert "broken on purpose" in err and "log.txt" in err and "1 runs failed" in err


def test_collect_and_figures_do_not_train(after_run, capsys):
    house, _ = after_run
    before = trained(house)
    for folder in ("results", "figures"):
        shutil.rmtree(coins(house) / "evidence" / folder, ignore_errors=True)
    assert main(["figures"], house) == 0
    pictures = {path.name for path in (coins(house) / "evidence/figures/quick").iterdir()}
    assert pictures == {"fig-3.png"}, "all that needs no data"
    assert main(["figures", "--scale", "quick"], house) == 0
    assert "fig-1: not drawn, no quick results of compare" in capsys.readouterr().out
    assert main(["collect", "coins"], house) == 0
    assert {path.name for path in (coins(house) / "evidence/results/quick").glob("*.csv")} == {
        "compare.csv", "again.csv", "fails.csv",
    }  # fmt: skip
    assert main(["figures"], house) == 0
    assert (coins(house) / "evidence/figures/quick/fig-1.png").read_text() == "quick 6"
    assert trained(house) == before


def test_claims_write_both_tables(after_run, capsys):
    house, _ = after_run
    assert main(["collect", "coins"], house) == 0
    assert main(["claims", "--show"], house) == 0
    assert "flip scores higher" in capsys.readouterr().out
    readme = (house.root / "README.md").read_text()
    assert "flip scores higher" in (house.root / "RESULTS.md").read_text()
    assert readme.startswith("above\n") and readme.endswith("below\n") and "| reproduced |" in readme
    before = readme, (house.root / "RESULTS.md").stat().st_mtime_ns
    write_claims(house)
    assert before == ((house.root / "README.md").read_text(), (house.root / "RESULTS.md").stat().st_mtime_ns)


def test_smoke_judges_nothing_and_replaces_old_results(after_run, capsys):
    house, _ = after_run
    elsewhere = house.runs / "smoke"
    shutil.copytree(house.runs / "results/coins/quick", elsewhere / "results/coins/smoke")  # damaged: says quick inside
    assert main(["run", "coins", "fig-1", "--scale", "smoke", "--runs", str(elsewhere)], house) == 0
    out = capsys.readouterr().out
    assert "smoke proves only the wiring" in out and "reproduced" not in out
    assert (elsewhere / "figures/coins/smoke/fig-1.png").read_text() == "smoke 6"


def test_device_reaches_the_config(house, monkeypatch):
    entries = entries_of(house.papers()["coins"], {"fig-1": every}, "smoke", "cuda:1")["again"]
    assert [entry.config.device for entry in entries] == ["cuda:1"] * 3
    assert len({entry.run_dir(house.runs) for entry in entries}) == 3


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["run", "coin"], ["coin'", "did you mean coins", "dice"]),
        (["run", "coins", "fig-9"], ["fig-9", "fig-1, fig-2, fig-3"]),
        (["run", "all", "fig-1"], ["one paper"]),
        (["run", "coins", "--scale", "quik"], ["quik", "did you mean quick", "full"]),
        (["run", "coins", "--jobs", "none"], ["none", "1 or more"]),
        (["run", "coins", "--device", "gpu"], ["gpu", "cpu, cuda"]),
        (["run", "coins", "--device", "cuda:99"], ["cuda:99", "CUDA device"]),
        (["run", "coins", "--launcher", "slurm"], ["slurm", "local, ray"]),
        (["figures", "--scale", "huge"], ["huge", "smoke, quick, full"]),
        (["rum", "coins"], ["rum", "run"]),
        (["collect", "coins", "--scale", "smoke"], ["smoke", "quick or full"]),
        (["run"], ["PAPER"]),
    ],
)
def test_mistakes_cost_one_line(house, capsys, command, words):
    with pytest.raises(SystemExit) as stop:
        main(command, house)
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and err.startswith("error: ")
    assert all(word in err for word in words), err


def test_conflicting_results_are_not_overwritten(after_run, capsys):
    house, _ = after_run
    main(["collect", "coins"], house)
    csv = coins(house) / "evidence/results/quick/again.csv"
    kept = csv.read_text()
    csv.write_text(kept.replace(",11.0,", ",12.0,"))
    assert csv.read_text() != kept
    with pytest.raises(SystemExit) as stop:
        main(["collect", "coins"], house)
    assert stop.value.code == 2 and "two different results" in capsys.readouterr().err
    assert ",12.0," in csv.read_text()
    csv.write_text(kept)


def test_list_loads_no_torch():
    code = "import sys\nfrom lab.__main__ import main\nmain(['list'])\nsys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr or "`python -m lab list` has loaded torch"


def test_choose_takes_the_figure_name_in_any_spelling():
    assert choose("figure", "Table-B1", ["fig2", "table_b1"]) == "table_b1"


def test_provenance_is_kept_for_each_run(after_run):
    house, _ = after_run
    main(["collect", "coins"], house)
    provenance = json.loads((coins(house) / "evidence/results/quick/compare.provenance.json").read_text())
    assert set(provenance) == {f"{method}|Coin|{seed}" for method in ("flip", "fixed") for seed in range(3)}
