import dataclasses
import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from filelock import FileLock, Timeout

from lab.judge import collecting
from lab.judge.collecting import collect, merge_trees, share
from lab.judge.results import COLUMNS, read
from lab.run.errors import UserError
from lab.run.runs import Run
from lab.sweep.entry import Entry

AWKWARD = [0.1 + 0.2, 1 / 3, 1e-323, 1.7976931348623157e308, -0.0, float(np.float32(0.1)), 1e16, 123456.0]


@dataclass
class Config:
    env: str = "Chain"
    method: str = "ter"
    seed: int = 0
    rate: float = 0.1


def entry(seed: int = 0, method: str = "ter", rate: float = 0.1) -> Entry:
    return Entry(method, "Chain", seed, "nowhere:main", Config("Chain", method, seed, rate))


def write_run(runs: Path, run: Entry, rows: list[tuple], done: bool = True, **provenance: object) -> Path:
    directory = run.run_dir(runs)
    directory.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{step},{metric},{value!r},{hours}\n" for step, metric, value, hours in rows)
    (directory / "metrics.csv").write_text("step,metric,value,hours\n" + text)
    config = {"config": vars(run.config), "commit": "abc", "dirty": False, "files": {}} | provenance
    (directory / "config.json").write_text(json.dumps(config))
    if done:
        (directory / "done.json").write_text("{}")
    return directory


def curve(value: float, hours: float = 0.5) -> list[tuple]:
    return [(step, "return", value + step, hours) for step in (100, 200)]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_collect_takes_what_a_real_run_writes(tmp_path):
    run = dataclasses.replace(entry(seed=3), target=f"{__name__}:main")  # as its Config
    with Run.open(run.config, run.run_dir(tmp_path / "runs")) as open_run:
        open_run.load()
        open_run.log(10, {"return": 0.1 + 0.2, "loss": math.nan})
        open_run.finish({})
    arguments = "fig2", "quick", [run], tmp_path / "runs", tmp_path / "results"
    path, refused = collect(*arguments, own=True)  # these tests may run before they are committed
    frame = read(tmp_path / "results", "fig2", "quick")
    assert path == tmp_path / "results" / "quick" / "fig2.csv" and not refused
    assert list(frame.columns) == COLUMNS
    assert frame["metric"].tolist() == ["loss", "return"]
    assert frame["value"][1] == 0.1 + 0.2 and math.isnan(frame["value"][0])
    provenance = json.loads((tmp_path / "results/quick/fig2.provenance.json").read_text())
    assert list(provenance) == ["ter|Chain|3"]
    assert provenance["ter|Chain|3"]["config"]["rate"] == 0.1
    assert {"commit", "dirty", "sources", "files", "versions", "machine", "threads"} <= set(provenance["ter|Chain|3"])
    again = merge_trees(tmp_path / "results", tmp_path / "results")  # with a NaN in it, it is the same run
    assert again == [path]


CHANGED = {"files": {"papers/coins/method.py": "0a0a0a"}}
STALE = "it is stale, papers/coins/method.py is gone"
UNCOMMITTED = "its code was not committed"


@pytest.mark.parametrize(
    ("provenance", "options", "reason"),
    [
        ({}, {}, ""),
        ({"dirty": True}, {}, UNCOMMITTED),
        ({"resumed": [{"commit": "abc", "dirty": True, "files": {}}]}, {}, UNCOMMITTED),
        ({"dirty": None, "commit": "unknown"}, {}, "its commit is unknown"),
        ({"resumed": [{"commit": "unknown", "dirty": None, "files": {}}]}, {}, "its commit is unknown"),
        (CHANGED, {}, STALE),
        ({"resumed": [{"commit": "abc", "dirty": False, **CHANGED}]}, {}, STALE),
        ({"config": {"rate": 0.7}}, {}, "it is stale, rate was 0.7 and is now 0.1"),
        ({"dirty": True}, {"own": True}, ""),
        ({"dirty": None, "commit": "unknown"}, {"own": True}, ""),
        (CHANGED, {"own": True}, STALE),
        (CHANGED, {"own": True, "stale": "keep"}, ""),
    ],
)
def test_whom_collect_refuses(tmp_path, provenance, options, reason):
    directory = write_run(tmp_path / "runs", entry(0), curve(1.0), **provenance)
    write_run(tmp_path / "runs", entry(1), curve(1.0))
    _, refused = collect("e", "quick", [entry(0), entry(1)], tmp_path / "runs", tmp_path / "results", **options)
    assert refused == ([f"skipped {directory}: {reason}"] if reason else [])
    assert read(tmp_path / "results", "e", "quick")["seed"].unique().tolist() == ([1] if reason else [0, 1])


def test_own_results_are_the_runs_that_are_there(tmp_path):
    for seed in (0, 1):
        write_run(tmp_path / "runs", entry(seed), curve(1.0))
    arguments = "e", "quick", [entry(0), entry(1)], tmp_path / "runs", tmp_path / "results"
    path, _ = collect(*arguments, own=True)
    shutil.rmtree(entry(0).run_dir(tmp_path / "runs"))
    write_run(tmp_path / "runs", entry(1), curve(5.0))
    collect(*arguments, own=True)
    assert read(tmp_path / "results", "e", "quick")["value"].tolist() == [105.0, 205.0]
    assert list(json.loads(path.with_suffix(".provenance.json").read_text())) == ["ter|Chain|1"]
    shutil.rmtree(tmp_path / "runs")
    assert collect(*arguments, own=True) == (None, []) and not list((tmp_path / "results").glob("*/*"))


def test_who_changes_results_holds_their_lock_from_reading_to_writing(tmp_path, monkeypatch):
    held = []

    def noting(function):
        def called(*arguments):
            with pytest.raises(Timeout):
                FileLock(tmp_path / "results/.lock", timeout=0).acquire()
            held.append(function.__name__)
            return function(*arguments)

        return called

    for function in (collecting.read, collecting._write):
        monkeypatch.setattr(collecting, function.__name__, noting(function))
    write_run(tmp_path / "runs", entry(), curve(1.0))
    collect("e", "quick", [entry()], tmp_path / "runs", tmp_path / "results")
    merge_trees(tmp_path / "results", tmp_path / "results")
    assert held == ["read", "_write", "read", "read", "_write"]


def test_floats_and_names_survive_exactly(tmp_path):
    run = Entry('a "b", c', "ALE/Pong-v5", 0, "nowhere:main", Config())
    write_run(tmp_path / "runs", run, [(i, "x", value, 0.0) for i, value in enumerate(AWKWARD)])
    collect("e", "quick", [run], tmp_path / "runs", tmp_path / "a")
    once = read(tmp_path / "a", "e", "quick")
    assert [v.hex() for v in once["value"].tolist()] == [v.hex() for v in AWKWARD]
    assert set(once["method"]) == {run.method} and set(once["env"]) == {run.env}
    merge_trees(tmp_path / "a", tmp_path / "b")
    assert snapshot(tmp_path / "a") == snapshot(tmp_path / "b")


def test_collect_is_idempotent_and_sorted_whatever_the_order(tmp_path):
    runs = [entry(seed, method) for seed in (10, 2, 0) for method in ("uer", "ter")]
    for run in runs:
        write_run(tmp_path / "runs", run, curve(run.seed))
    collect("e", "quick", runs, tmp_path / "runs", tmp_path / "a")
    first = snapshot(tmp_path / "a")
    collect("e", "quick", [*runs, *runs], tmp_path / "runs", tmp_path / "a")
    assert snapshot(tmp_path / "a") == first
    for run in reversed(runs):
        collect("e", "quick", [run], tmp_path / "runs", tmp_path / "b")
    assert snapshot(tmp_path / "b") == first
    frame = read(tmp_path / "a", "e", "quick")
    assert frame["method"].unique().tolist() == ["ter", "uer"]
    assert frame["seed"].unique().tolist() == [0, 2, 10]  # as numbers, not as text


def test_rows_of_other_machines_stay(tmp_path):
    write_run(tmp_path / "there", entry(0), curve(1.0))
    write_run(tmp_path / "here", entry(1), curve(2.0))
    for runs in ("there", "here"):
        path, _ = collect("e", "quick", [entry(0), entry(1)], tmp_path / runs, tmp_path / "results")
    assert read(tmp_path / "results", "e", "quick")["seed"].unique().tolist() == [0, 1]
    assert set(json.loads(path.with_suffix(".provenance.json").read_text())) == {"ter|Chain|0", "ter|Chain|1"}


def test_only_finished_runs_count(tmp_path):
    write_run(tmp_path / "runs", entry(0), curve(1.0), done=False)
    assert collect("e", "quick", [entry(0), entry(1)], tmp_path / "runs", tmp_path / "results") == (None, [])
    assert not (tmp_path / "results").exists()
    write_run(tmp_path / "runs", entry(1), curve(1.0))
    collect("e", "quick", [entry(0), entry(1)], tmp_path / "runs", tmp_path / "results")
    assert read(tmp_path / "results", "e", "quick")["seed"].unique().tolist() == [1]


def test_the_same_run_with_other_hours_is_fine_and_the_old_hours_stay(tmp_path):
    write_run(tmp_path / "runs", entry(), curve(1.0, hours=0.5))
    collect("e", "quick", [entry()], tmp_path / "runs", tmp_path / "results")
    before = snapshot(tmp_path / "results")
    write_run(tmp_path / "runs", entry(), curve(1.0, hours=0.7))
    collect("e", "quick", [entry()], tmp_path / "runs", tmp_path / "results")
    assert snapshot(tmp_path / "results") == before


@pytest.mark.parametrize(
    "rows, words",
    [
        (curve(1.5), "return at step 100 is 101.0 in the first and 101.5 in the second"),
        (curve(1.0)[:1], "return at step 200 is 201.0 in the first and nothing in the second"),
        (curve(1.0) + [(300, "return", 7.0, 0.1)], "return at step 300 is nothing in the first and 7.0 in the second"),
    ],
)
def test_two_results_of_one_run_are_refused(tmp_path, rows, words):
    write_run(tmp_path / "runs", entry(), curve(1.0))
    path, _ = collect("e", "quick", [entry()], tmp_path / "runs", tmp_path / "results")
    before = read(tmp_path / "results", "e", "quick")
    directory = write_run(tmp_path / "runs", entry(), rows)
    write_run(tmp_path / "runs", entry(1), curve(1.0))
    _, [line] = collect("e", "quick", [entry(1), entry()], tmp_path / "runs", tmp_path / "results")
    for part in (f"skipped {directory}: run ter|Chain|0 of e is in {path} (first)", words, "delete that file"):
        assert part in line and "\n" not in line
    frame = read(tmp_path / "results", "e", "quick")
    assert frame["seed"].unique().tolist() == [0, 1], "the others are taken"
    pd.testing.assert_frame_equal(frame[frame["seed"] == 0], before)


def test_two_configs_under_one_label_are_a_bug_of_the_experiment(tmp_path):
    with pytest.raises(ValueError, match=r"two configs as ter\|Chain\|0"):
        collect("e", "quick", [entry(rate=0.1), entry(rate=0.2)], tmp_path, tmp_path / "results")


# ---- runs that two experiments share ---------------------------------------------------------------------------------


def called(label: str, run: Entry, **changes) -> Entry:
    """The same run under another label."""
    return dataclasses.replace(run, method=label, **changes)


def donors(tmp_path, *runs: Entry, **provenance) -> None:
    """Results of the experiment "donor", whose runs are on another machine now."""
    for run in runs:
        write_run(tmp_path / "elsewhere", run, curve(run.seed), **provenance)
    collect("donor", "quick", runs, tmp_path / "elsewhere", tmp_path / "results")


def test_an_experiment_gets_what_another_one_has_of_it(tmp_path):
    theirs = [entry(0), entry(1), entry(2)]
    donors(tmp_path, *theirs)
    mine = [called("ter (as usual)", run) for run in (*theirs[:2], entry(7))] + [entry(0, rate=0.3)]
    write_run(tmp_path / "runs", mine[3], curve(50.0))
    collect("e", "quick", mine, tmp_path / "runs", tmp_path / "results")
    others = {(name, "quick"): of_it for name, of_it in {"donor": theirs, "e": mine, "never run": theirs}.items()}
    brought = share("e", "quick", mine, others, tmp_path / "results")
    assert brought == ["ter (as usual)|Chain|0", "ter (as usual)|Chain|1"]
    frame = read(tmp_path / "results", "e", "quick")
    assert frame.groupby(["method", "seed"], observed=True)["value"].first().to_dict() == {
        ("ter", 0): 150.0, ("ter (as usual)", 0): 100.0, ("ter (as usual)", 1): 101.0,
    }  # fmt: skip
    of_donor, of_mine = (
        json.loads((tmp_path / f"results/quick/{name}.provenance.json").read_text()) for name in ("donor", "e")
    )
    assert [of_mine[run] for run in brought] == [of_donor[f"ter|Chain|{seed}"] for seed in (0, 1)]
    before = snapshot(tmp_path / "results")
    assert share("e", "quick", mine, others, tmp_path / "results") == [] and snapshot(tmp_path / "results") == before


def test_a_scale_gets_what_another_one_has_of_it_once_it_was_begun(tmp_path):
    at_quick, at_full = [entry(0), entry(1), entry(2, rate=0.5)], [entry(seed) for seed in range(4)]
    for run in at_quick:
        write_run(tmp_path / "quick", run, curve(run.seed))
    collect("e", "quick", at_quick, tmp_path / "quick", tmp_path / "results")
    others = {("e", "quick"): at_quick, ("e", "full"): at_full}
    assert share("e", "full", at_full, others, tmp_path / "results") == []
    assert read(tmp_path / "results", "e", "full") is None
    for run in (entry(1), entry(3)):  # a run of its own stays, though the other scale has it
        write_run(tmp_path / "full", run, curve(run.seed, hours=7.0))
    collect("e", "full", at_full, tmp_path / "full", tmp_path / "results")
    before = snapshot(tmp_path / "results/quick")
    assert share("e", "full", at_full, others, tmp_path / "results") == ["ter|Chain|0"]
    frame = read(tmp_path / "results", "e", "full")
    assert frame.groupby("seed")["hours"].first().to_dict() == {0: 0.5, 1: 7.0, 3: 7.0}
    assert set(frame["scale"]) == {"full"} and snapshot(tmp_path / "results/quick") == before


def test_what_is_at_the_scale_comes_before_what_is_at_others(tmp_path):
    donors(tmp_path, entry(0))
    write_run(tmp_path / "full", entry(0), curve(0, hours=7.0))
    collect("e", "full", [entry(0)], tmp_path / "full", tmp_path / "results")
    others = {("e", "full"): [entry(0)], ("donor", "quick"): [entry(0)]}
    assert len(share("e", "quick", [entry(0), called("b", entry(0))], others, tmp_path / "results")) == 2, "two labels"
    assert read(tmp_path / "results", "e", "quick")["hours"].tolist() == [0.5] * 4


@pytest.mark.parametrize("stale", [CHANGED, {"config": {"rate": 0.7}}, {}])
def test_what_today_s_code_would_not_make_is_not_shared(tmp_path, stale):
    donors(tmp_path, entry(0))
    path = tmp_path / "results/quick/donor.provenance.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({run: told | stale for run, told in content.items()}))
    mine = [called("a", entry(0), shared=bool(stale))]  # or what machines make in different ways
    assert share("e", "quick", mine, {("donor", "quick"): [entry(0)]}, tmp_path / "results") == []
    assert not (tmp_path / "results/quick/e.csv").exists()


# ---- trees -----------------------------------------------------------------------------------------------------------


def test_merge_trees(tmp_path):
    for where, seeds in (("a", (0, 1)), ("b", (1, 2))):
        runs = [entry(seed) for seed in seeds]
        for run in runs:
            write_run(tmp_path / where, run, curve(run.seed, hours=seeds[0]))
        collect("e", "full", runs, tmp_path / where, tmp_path / f"{where}-results")
    write_run(tmp_path / "b", entry(9), curve(9))
    collect("other", "quick", [entry(9)], tmp_path / "b", tmp_path / "b-results")
    written = merge_trees(tmp_path / "b-results", tmp_path / "a-results")
    assert written == [tmp_path / "a-results/full/e.csv", tmp_path / "a-results/quick/other.csv"]
    frame = read(tmp_path / "a-results", "e", "full")
    assert frame.groupby("seed")["hours"].first().tolist() == [0, 0, 1]  # the target's copy of seed 1 stays
    provenance = json.loads((tmp_path / "a-results/full/e.provenance.json").read_text())
    assert list(provenance) == [f"ter|Chain|{seed}" for seed in range(3)]
    before = snapshot(tmp_path / "a-results")
    merge_trees(tmp_path / "b-results", tmp_path / "a-results")
    assert snapshot(tmp_path / "a-results") == before


def test_merge_trees_writes_nothing_when_one_run_differs(tmp_path):
    for where, value in (("a", 1.0), ("b", 2.0)):
        write_run(tmp_path / where, entry(), curve(value))
        collect("e", "quick", [entry()], tmp_path / where, tmp_path / f"{where}-results")
    write_run(tmp_path / "b", entry(5), curve(5))
    collect("a", "quick", [entry(5)], tmp_path / "b", tmp_path / "b-results")
    before = snapshot(tmp_path / "a-results")
    with pytest.raises(UserError, match=r"run ter\|Chain\|0 of e has two different results.*remove the run's rows"):
        merge_trees(tmp_path / "b-results", tmp_path / "a-results")
    assert snapshot(tmp_path / "a-results") == before


def test_merge_trees_without_results(tmp_path):
    with pytest.raises(UserError, match="is not a directory"):
        merge_trees(tmp_path / "nowhere", tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no results"):
        merge_trees(tmp_path / "empty", tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("config.json", "{", r"cannot read .*config.json .*; delete .* to start again"),
        ("metrics.csv", "step,value,hours\n", r"metrics.csv: column 'metric' is missing"),
        ("metrics.csv", None, r"No such file.*delete .* and run it again"),
    ],
)
def test_damaged_run_is_named(tmp_path, name, text, words):
    path = write_run(tmp_path / "runs", entry(), curve(1.0)) / name
    path.write_text(text) if text else path.unlink()
    with pytest.raises(UserError, match=words):
        collect("e", "quick", [entry()], tmp_path / "runs", tmp_path / "results")
    assert not list((tmp_path / "results").glob("*/*"))
