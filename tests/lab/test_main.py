"""lab/__main__.py and lab/commands.py, on a house of two small papers that are written into a temporary directory."""

import dataclasses
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.__main__ import main
from lab.commands import entries_of, write_claims
from lab.judge import results
from lab.rooms import every
from lab.sweep.sweep import Report
from tests.lab import toy_house

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    root = tmp_path_factory.mktemp("house")
    with pytest.MonkeyPatch.context() as patch:
        toy_house.commit_sources(patch)
        yield toy_house.build(root, patch)


@pytest.fixture(scope="module")
def after_run(house):
    """The house after `run coins fig-1 fig-2 fig-3`, in any spelling: (house, exit code)."""
    return house, main(["run", "coins", "fig_1", "fig-2", "FIG-3", "--jobs", "2"], house)


def evidence(house):
    return house.root / "house_of_tests/coins/evidence"


def trained(house):
    return (house.runs / "trained.txt").read_text().split()


# ---- run -------------------------------------------------------------------------------------------------------------


def test_run_trains_shared_runs_once_and_draws_below_runs(after_run):
    house, code = after_run
    assert code == 1, "one run fails on purpose"
    assert len(trained(house)) == len(set(trained(house))) == 6, "three experiments share flip's three runs"
    drawn = {path.name: path.read_text() for path in (house.runs / "figures/coins/quick").iterdir()}
    assert drawn == {"fig-1.png": "quick 6", "fig-2.png": "quick 3", "fig-3.png": "a world"}
    assert not (evidence(house) / "results").exists() and not (evidence(house) / "figures").exists()


def test_run_again_skips_what_is_done_and_judges(after_run, capsys):
    house, _ = after_run
    before = trained(house)
    assert main(["run", "coins", "fig-1"], house) == 0
    assert trained(house) == before
    out = capsys.readouterr().out
    assert "coins: 1 reproduced\n  reproduced      fig-1       flip scores higher\n" in out
    assert "ours: +10 [" in out and "(3 seeds, 10 steps, quick)" in out


def test_headline_trains_its_own_runs_of_all_papers_and_keeps_what_else_is_there(after_run, tmp_path, capsys):
    house, _ = after_run
    fresh = dataclasses.replace(house, runs=tmp_path / "runs")
    assert main(["run", "all", "--headline", "--jobs", "2"], fresh) == 0
    assert sorted(re.findall("-(flip|fixed)-s(\\d)", (tmp_path / "runs/trained.txt").read_text())) == [
        ("fixed", "0"), ("fixed", "1"), ("flip", "0"), ("flip", "1"), ("flip", "2"),
    ]  # fmt: skip
    assert main(["claims", "--mine", "--show"], fresh) == 0
    out = capsys.readouterr().out
    assert "ours: +10.5 [" in out and "(2 seeds, 10 steps, quick)" in out, out
    assert out.splitlines()[-1].endswith(f"the pictures are in {tmp_path / 'runs/figures'}")
    assert main(["run", "coins", "fig-1"], fresh) == 0
    assert main(["run", "all", "--headline"], fresh) == 0
    assert "fixed,Coin,2," in (tmp_path / "runs/results/coins/quick/compare.csv").read_text()


def test_failed_run_is_reported(after_run, capsys):
    house, _ = after_run
    assert main(["run", "coins", "fig-1", "fig-2"], house) == 1
    said = capsys.readouterr()
    assert "broken on purpose" in said.err and "log.txt" in said.err and "1 runs failed" in said.err
    assert "coins: 1 reproduced" in said.out, "a failed run does not keep the rest from being judged"


def test_smoke_judges_nothing_and_replaces_old_results(after_run, capsys):
    house, _ = after_run
    elsewhere = house.runs / "smoke"
    shutil.copytree(house.runs / "results/coins/quick", elsewhere / "results/coins/smoke")  # damaged: says quick inside
    assert main(["run", "coins", "fig-1", "--scale", "smoke", "--runs", str(elsewhere)], house) == 0
    out = capsys.readouterr().out
    assert "smoke only tests the wiring" in out and "reproduced" not in out
    assert (elsewhere / "figures/coins/smoke/fig-1.png").read_text() == "smoke 6"


@pytest.mark.parametrize(("asked", "seeds"), [("2", [0, 1]), ("7,", [7])])
def test_seeds_replace_those_of_the_experiments(house, tmp_path, asked, seeds):
    fresh = dataclasses.replace(house, runs=tmp_path / "runs")
    assert main(["run", "coins", "fig-1", "--scale", "smoke", "--seeds", asked], fresh) == 0
    frame = results.read(tmp_path / "runs/results/coins", "compare", "smoke")
    assert sorted(frame[["method", "seed"]].itertuples(index=False, name=None)) == [
        (method, seed) for method in ("fixed", "flip") for seed in seeds
    ]
    configs = {entry.config.seed for entry in entries_of(house.papers()["coins"], None, "smoke", seeds=seeds)["again"]}
    assert configs == set(seeds)


def test_device_reaches_the_config(house):
    entries = entries_of(house.papers()["coins"], {"fig-1": every}, "smoke", "cuda:1")["again"]
    assert [entry.config.device for entry in entries] == ["cuda:1"] * 3
    assert len({entry.run_dir(house.runs) for entry in entries}) == 3


def test_how_to_train_reaches_the_sweep(house, monkeypatch):
    seen = {}

    def sweep(work, **how):
        seen.update(how)
        raise KeyboardInterrupt

    monkeypatch.setattr("lab.sweep.sweep.sweep", sweep)
    with pytest.raises(SystemExit) as stop:
        main(["run", "coins", "--jobs", "3", "--launcher", "Ray", "--stale", "keep", "--tensorboard"], house)
    assert stop.value.code == 130
    assert seen.items() >= {"jobs": 3, "launcher": "ray", "stale": "keep", "tensorboard": True}.items()


def test_ctrl_c_ends_a_command_with_130_and_draws_nothing(house, tmp_path, monkeypatch):
    monkeypatch.setattr("lab.sweep.sweep.sweep", lambda work, **how: Report(interrupted=True))
    fresh = dataclasses.replace(house, runs=tmp_path / "runs")
    assert main(["run", "coins", "fig-1", "fig-3"], fresh) == 130
    assert not (tmp_path / "runs").exists()


def test_usual_hours_come_from_the_committed_results(after_run, monkeypatch):
    house, _ = after_run
    main(["collect", "coins"], house)
    path = evidence(house) / "results/quick/compare.csv"
    kept = path.read_text()
    path.write_text(re.sub(r"fixed,(.*),[^,\n]*\n", r"fixed,\1,0.5\n", kept))
    seen = {}

    def sweep(work, *, hours, **how):
        seen[scale] = hours
        raise KeyboardInterrupt

    monkeypatch.setattr("lab.sweep.sweep.sweep", sweep)
    for scale in ("quick", "smoke"):
        with pytest.raises(SystemExit):
            main(["run", "coins", "fig-1", "--scale", scale], house)
    taken = {name.split("-")[1]: value > 0.4 for name, value in seen["quick"].items()}
    assert taken == {"fixed": True, "flip": False} and len(seen["quick"]) == 6
    assert seen["smoke"] == {}, "a few steps take no time that a long run could tell"
    path.write_text(kept)


# ---- from results to pages -------------------------------------------------------------------------------------------


def test_collect_and_figures_do_not_train(after_run, capsys):
    house, _ = after_run
    before = trained(house)
    for folder in ("results", "figures"):
        shutil.rmtree(evidence(house) / folder, ignore_errors=True)
    assert main(["figures"], house) == 0
    pictures = {path.name for path in (evidence(house) / "figures/quick").iterdir()}
    assert pictures == {"fig-3.png"}, "all that needs no data"
    assert main(["figures", "--scale", "quick"], house) == 0
    assert "fig-1: not drawn, no quick results of compare" in capsys.readouterr().out
    assert main(["collect", "coins"], house) == 0
    assert {path.stem for path in (evidence(house) / "results/quick").glob("*.csv")} == {"compare", "again", "fails"}
    assert main(["figures"], house) == 0
    assert (evidence(house) / "figures/quick/fig-1.png").read_text() == "quick 6"
    assert trained(house) == before


def test_claims_write_both_tables_and_with_mine_neither(after_run, capsys):
    house, _ = after_run
    readme, page = house.root / "README.md", house.root / "RESULTS.md"
    verdicts = house.root / "house_of_tests/coins/VERDICTS.md"
    empty = readme.read_text()
    assert main(["claims", "--mine"], house) == 0
    assert "[coins](verdicts/coins.md)" in (house.runs / "RESULTS.md").read_text()
    assert "flip scores higher" in (house.runs / "verdicts/coins.md").read_text()
    assert readme.read_text() == empty and not page.exists() and not verdicts.exists()
    assert main(["collect", "coins"], house) == 0
    capsys.readouterr()
    assert main(["claims", "--show"], house) == 0
    assert "flip scores higher" in capsys.readouterr().out and "flip scores higher" in verdicts.read_text()
    assert "VERDICTS.md)" in page.read_text()
    text = readme.read_text()
    assert text.startswith("above\n") and text.endswith("below\n") and "| reproduced |" in text
    before = text, page.stat().st_mtime_ns
    write_claims(house)
    assert before == (readme.read_text(), page.stat().st_mtime_ns)


def test_merge_brings_in_the_results_of_another_machine(after_run, tmp_path, one_line):
    house, _ = after_run
    mine = house.runs / "results/coins"
    assert main(["merge", str(mine), str(tmp_path / "all")], house) == 0
    assert (tmp_path / "all/quick/again.csv").read_text() == (mine / "quick/again.csv").read_text()
    assert "is not a directory" in one_line(main, ["merge", str(tmp_path / "nowhere"), str(mine)], house)


# ---- a scale that few experiments have -------------------------------------------------------------------------------


@pytest.fixture
def nights(tmp_path, monkeypatch):
    """A house in which one experiment has a long form."""
    toy_house.commit_sources(monkeypatch)
    house = toy_house.build(tmp_path, monkeypatch)
    toy_house.add_long(house, 50)
    return house


def test_long_goes_all_the_way_to_the_verdict(nights, capsys):
    assert main(["run", "all", "--scale", "long", "--jobs", "2"], nights) == 0
    assert len(trained(nights)) == 6, "of the one experiment that has it"
    assert "(3 seeds, 10 steps, long)" in capsys.readouterr().out
    drawn = {path.name for path in (nights.runs / "figures/coins/long").iterdir()}
    assert drawn == {"fig-1.png", "fig-3.png"}, "also the figure that needs no runs"
    assert main(["run", "coins", "fig-1", "--jobs", "2"], nights) == 0
    for scale in ("quick", "long"):
        assert main(["collect", "coins", "--scale", scale], nights) == 0
    found = {f"{path.parent.name} {path.stem}" for path in evidence(nights).glob("results/*/*.csv")}
    assert found == {"quick compare", "quick again", "quick fails", "long compare"}
    assert set(results.read(evidence(nights) / "results", "compare", "long")["step"]) == {50}
    assert main(["figures"], nights) == 0 and main(["claims"], nights) == 0
    assert (evidence(nights) / "figures/long/fig-1.png").read_text() == "long 6"
    page = nights.root / "house_of_tests/coins/VERDICTS.md"
    [row] = [line for line in page.read_text().splitlines() if "`coins-1`" in line]
    assert "| reproduced | 3 × 10, long |" in row


@pytest.mark.parametrize("command", ["run coins", "collect coins", "figures coins"])
def test_a_paper_without_long_says_so_in_one_line(house, one_line, command):
    error = one_line(main, [*command.split(), "--scale", "long"], house)
    assert error == "error: coins has no scale long; choose from: smoke, quick, full"


def test_so_does_a_figure_of_a_paper_that_has_it(nights, one_line):
    error = one_line(main, ["run", "coins", "fig-1", "fig_2", "--scale", "long"], nights)
    assert error == "error: coins fig-2 has no scale long; choose from: smoke, quick, full"
    assert not nights.runs.exists()


# ---- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", ["list, run, collect, evidence"]),
        ("rum coins", ["rum", "did you mean run?"]),
        ("run", ["PAPER"]),
        ("run coin", ["coin'", "did you mean coins", "dice"]),
        ("run coins fig-9", ["fig-9", "fig-1, fig-2, fig-3"]),
        ("run all fig-1", ["one paper"]),
        ("run coins --scale quik", ["quik", "did you mean quick", "full"]),
        ("run coins --jobs none", ["--jobs", "none"]),
        ("run coins --jobs 0", ["0", "1 or more"]),
        ("run coins --jobz 1", ["unknown option --jobz", "did you mean --jobs?"]),
        ("run coins --device gpu", ["gpu", "cpu, cuda"]),
        ("run coins --device cuda:99", ["cuda:99", "CUDA device"]),
        ("run coins --launcher lokal", ["lokal", "did you mean local"]),
        ("run coins --stale never", ["never", "again, keep"]),
        ("run coins --seeds -1", ["'-1'", "3,7"]),
        ("run coins --seeds 0", ["'0'", "3,7"]),
        ("run coins --seeds 3,x", ["'3,x'", "3,7"]),
        ("run coins --seeds 18446744073709551616", ["'18446744073709551616'", "1 to 9999"]),
        ("run coins --seeds 3,9223372036854775808", ["9223372036854775808", "18 digits"]),
        ("evidence coins --hours 0", ["hours", "above 0"]),
        ("figures --scale huge", ["huge", "smoke, quick, long, full"]),
        ("collect coins --scale smoke", ["smoke", "quick, long or full"]),
    ],
)
def test_mistakes_cost_one_line(house, one_line, command, words):
    error = one_line(main, command.split(), house)
    assert all(word in error for word in words), error


LONG = "x" * 256


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("merge results file", "file: File exists; choose another name"),
        ("merge results file/below", "Not a directory"),
        (f"merge results {LONG}", "File name too long; choose another name"),
        (f"merge {LONG} target", "File name too long; choose another name"),
        (f"compare {LONG} results", "File name too long; choose another name"),
        (f"compare {LONG}/* results", "File name too long; choose another name"),
        (f"run coins fig-1 --scale smoke --jobs 1 --runs {LONG}", "File name too long; choose another"),
        ("run coins fig-1 --scale smoke --jobs 1 --runs file", "Not a directory"),
    ],
)
def test_names_that_cannot_be_cost_one_line(house, one_line, monkeypatch, tmp_path, command, words):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("results/quick").mkdir(parents=True)
    Path("results/quick/e.csv").write_text(
        "experiment,scale,method,env,seed,step,metric,value,hours\ne,quick,m,x,0,1,r,1.0,0.1\n"
    )
    assert words in one_line(main, command.split(), house)
    assert Path("file").read_bytes() == b""


def test_list_loads_no_torch():
    code = "import sys\nimport lab.sweep.launchers, lab.sweep.resources\nfrom lab.__main__ import main\n"
    code += "main(['list'])\n"
    code += "sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or "`python -m lab list` has loaded torch"
    assert "make ter-fig2" in done.stdout
