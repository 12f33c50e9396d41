"""lab/sweep/evidence.py, on the house of small papers: what is missing, in which order, and what becomes of it."""

import dataclasses
import re
import shutil

import pytest

from lab.__main__ import main
from lab.judge import collecting, results
from lab.judge.claims import ours_of, planned_from, scale_of
from lab.sweep import evidence
from lab.sweep.entry import Entry
from lab.sweep.prices import priced, usual_hours
from lab.sweep.sweep import Report, sweep
from tests.lab import toy_house

NOTHING = "no similar run was timed"


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A house of which nothing was run, with its sources committed."""
    toy_house.commit_sources(monkeypatch)
    return toy_house.build(tmp_path, monkeypatch)


def all_took(hours, files):
    """Let all runs in these results have taken so long."""
    for path in files:
        path.write_text(re.sub(r",[\d.e-]+$", f",{hours}", path.read_text(), flags=re.MULTILINE))


@pytest.fixture
def swept(monkeypatch):
    """Sweeps are not made but noted: (methods and seeds, seconds), and end with the reports in `reports`, in turn."""

    class Swept(list):
        reports: list[Report] = []

    calls = Swept()

    def note(work, *, seconds, **_):
        [entries] = work.values()
        calls.append((sorted((entry.method, entry.seed) for entry in entries), seconds))
        return calls.reports.pop(0) if calls.reports else Report()

    monkeypatch.setattr("lab.sweep.sweep.sweep", note)
    return calls


def committed(house):
    return house.papers()["coins"].results


def gaps(house):
    return evidence.gaps({paper: evidence.judge(paper) for paper in house.papers().values()})


def test_the_cheapest_undecided_claim_comes_first_and_no_run_twice(house):
    found = gaps(house)
    assert [(gap.claim.id, len(gap.runs)) for gap in found] == [
        ("coins-4", 3),  # three runs of an unknown length against six; fig-2 and fig-3 have no claims
        ("coins-1", 6),  # `again` shares its runs with `compare`
    ]


def test_only_what_is_missing_is_planned_with_the_hours_that_its_like_took(house):
    main(["run", "coins", "fig-1", "--seeds", "2", "--jobs", "2"], house)
    main(["collect", "coins", "--seeds", "2"], house)
    all_took(0.1, [committed(house) / "quick/compare.csv"])
    first, second = gaps(house)
    assert first.claim.id == "coins-1" and sorted(entry.method for entry in first.runs.values()) == ["fixed", "flip"]
    assert first.status == "inconclusive", "two seeds are too few"
    assert first.cost == pytest.approx(0.1, abs=0.01), "what `fixed` took, and flip next to nothing in `again`, `fails`"
    assert second.claim.id == "coins-4" and second.cost == pytest.approx(0.15, abs=0.01), (
        "as the runs of the same script"
    )


@dataclasses.dataclass(frozen=True)
class Config:
    network: str = "codes"
    steps: int | tuple[int, ...] = 100


def run(env="Chain", method="uer", script="minigrid", **settings):
    return Entry(method, env, 0, f"{script}:main", Config(**settings))


SCRIPTS = [(run(script="sokoban", network="pictures", steps=50), 2.0), (run(), 0.1)]
MAZES = [(run("PointMaze", "ppo"), 0.1), (run("AntMazeSmall", "ppo", steps=50), 1.0), (run("AntMazeSmall", "her"), 3.0)]


@pytest.mark.parametrize(
    ("entry", "known", "hours"),
    [
        (run(), [(run(script="elsewhere", network="pictures"), 1e-5)], None),  # what other scripts take says nothing
        (run(steps=500), [(run(), 0.25)], 1.25),
        (run(), [(run(steps=500), 1.25), (run(), 0.25), (run(), 0.25)], 0.25),
        (run(steps=(10, 100)), [(run(steps=(10, 100)), 0.25)], 0.25),  # a list of sizes is no length
        (run(network="pictures"), SCRIPTS, 4.0),  # of its script none has its network: another script's that has
        (run(script="sokoban"), SCRIPTS, 0.1),
        (run(script="atari", network="vectors"), SCRIPTS, None),
        (run("AntMaze", "ppo"), MAZES, 2.0),  # of its method, the task most like it by name
        (run("AntMaze", "icm"), MAZES, 2.5),  # the median of its kin's
        (run("Corridor-2", "ppo"), MAZES, 2.0),  # nothing like it: the median of all
    ],
)
def test_a_run_usually_takes_what_the_most_similar_ones_took(entry, known, hours):
    assert usual_hours(entry, known) == hours


@pytest.mark.parametrize(("scale", "said", "hours"), [("full", "full only", 6), ("long", "long or full", 3)])
def test_what_is_not_run_says_its_price_and_what_quick_cannot_decide_is_not_planned(house, scale, said, hours):
    path = house.root / "house_of_tests/coins/evidence/claims.py"
    more = f'\nfrom lab.judge.claims import planned_from\nCLAIMS = planned_from(CLAIMS, {scale}=["coins-1"])\n'
    path.write_text(path.read_text() + more)
    toy_house.add_long(house, 50)
    main(["run", "coins", "fig-2", "--jobs", "2"], house)
    main(["collect", "coins"], house)
    all_took(0.1, committed(house).glob("quick/*.csv"))
    coins = house.papers()["coins"]
    told = {claim.id: (scale_of(claim, v), ours_of(v)) for claim, v in priced(coins, evidence.judge(coins))}
    assert told["coins-1"] == (said, f"6 runs, about {hours} core-hours"), "ten, or five, times as many steps"
    assert "coins-1" not in [gap.claim.id for gap in gaps(house)]
    with pytest.raises(ValueError, match="unknown claims: nothing"):
        planned_from(coins.claims, full=["nothing"])


def test_a_claim_that_reads_a_part_of_its_figure_lacks_that_part_alone(house):
    path = house.root / "house_of_tests/coins/evidence/claims.py"
    text = path.read_text().replace('"+10", check', '"+10", check, reads="again"').replace('"fig-4"', '"fig-1"')
    path.write_text(text.replace('"-", check_slow', '"-", check_slow, reads="slow+again"'))
    found = {gap.claim.id: [entry.method for entry in gap.runs.values()] for gap in gaps(house)}
    assert found == {"coins-1": ["flip"] * 3, "coins-4": ["slow"] * 3}, "one figure, two questions"
    coins = house.papers()["coins"]
    told = {claim.id: ours_of(verdict) for claim, verdict in priced(coins, evidence.judge(coins))}
    assert told == {"coins-1": f"3 runs, {NOTHING}", "coins-4": f"6 runs, {NOTHING}"}


def test_a_claim_about_some_tasks_lacks_the_runs_on_these_alone(house):
    [task] = {entry.env for entry in house.papers()["coins"].experiments["compare"]("quick")}
    path = house.root / "house_of_tests/coins/evidence/claims.py"
    text = path.read_text().replace('"+10", check', f'"+10", check, tasks=("{task}",)')
    path.write_text(text.replace('"-", check_slow', '"-", check_slow, tasks=("another",)'))
    found = {gap.claim.id: len(gap.runs) for gap in gaps(house)}
    assert found == {"coins-1": 6}, "of the other task there are no runs"


def test_a_dry_run_trains_nothing(house, swept, capsys):
    assert main(["evidence", "--dry", "--hours", "0.2", "--jobs", "2"], house) == 0
    first, *figures = capsys.readouterr().out.splitlines()
    assert first.startswith("3 missing quick runs (about 0.6 core-hours; budget: 0.2 hours on 2 processes)")
    assert [line.split(",")[0].strip() for line in figures] == ["coins fig-4"], "fig-1 does not fit"
    assert not swept and not committed(house).exists()


def test_it_trains_collects_and_says_which_verdicts_changed(house, capsys):
    (house.root / "house_of_tests/coins/evidence/claims.py").write_text(toy_house.CLAIMS.replace("fig-4", "fig-3"))
    main(["run", "coins", "fig-1", "--jobs", "2"], house)  # finished here, so that they need only be collected
    capsys.readouterr()
    assert main(["evidence", "coins", "--hours", "0.5", "--jobs", "2"], house) == 0
    out = capsys.readouterr().out
    assert "coins fig-1, coins-1 (not run): 6 runs, 0 core-hours" in out
    assert "coins fig-1: not run -> reproduced: flip scores higher (+10 [" in out
    assert out.splitlines()[-1].startswith("1 verdicts changed; update figures")
    assert len(results.read(committed(house), "again", "quick")) == 3, "every experiment gets its share"
    assert results.read(committed(house), "fails", "quick") is not None, "flip's runs belong to it, too"
    assert not (house.root / "RESULTS.md").exists()
    assert main(["evidence", "coins"], house) == 0
    assert capsys.readouterr().out == "nothing to run: no undecided claim lacks quick runs\n"


def test_what_other_experiments_have_is_not_trained_again(house, capsys):
    (house.root / "house_of_tests/coins/evidence/claims.py").write_text(toy_house.CLAIMS.replace("fig-4", "fig-3"))
    coins = house.papers()["coins"]
    main(["run", "coins", "fig-1", "--jobs", "2"], house)
    collecting.collect("again", "quick", coins.experiments["again"]("quick"), coins.runs, coins.results)
    shutil.rmtree(house.runs)  # as if they had been another machine's
    capsys.readouterr()
    assert main(["evidence", "coins", "--jobs", "1"], house) == 0
    assert "coins compare: 3 runs copied from other experiments" in capsys.readouterr().out
    trained = (house.runs / "trained.txt").read_text().split()
    assert len(trained) == 3 and all("fixed" in name for name in trained)
    assert [len(results.read(committed(house), name, "quick")) for name in ("compare", "fails")] == [6, 3]


@pytest.mark.parametrize(
    ("reports", "sweeps", "code"),
    [
        ([Report(failed={"a": "broken"}), Report()], 2, 1),  # the others are still trained
        ([Report(interrupted=True)], 1, 130),
    ],
)
def test_failures_and_ctrl_c(house, swept, capsys, reports, sweeps, code):
    swept.reports = reports
    assert main(["evidence", "--hours", "10", "--jobs", "1"], house) == code
    assert len(swept) == sweeps and "0 verdicts changed" in capsys.readouterr().out


def test_no_figure_is_begun_when_the_hours_are_over(house, swept, monkeypatch, capsys):
    clock = iter([0.0, 600.0, 3600.0 * 9.5, 3600.0 * 9.5])
    monkeypatch.setattr(evidence.time, "monotonic", lambda: next(clock))
    assert main(["evidence", "--hours", "9", "--jobs", "1"], house) == 0
    assert [seconds for _, seconds in swept] == [3600.0 * 9 - 600.0]
    assert "the 9 hours are up; rerun the command" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "why"), [({"house_of_tests/coins/train.py"}, "not committed"), (None, "its commit is unknown")]
)
def test_a_checkout_that_is_not_clean_is_refused_before_anything_is_trained(
    house, swept, monkeypatch, one_line, changed, why
):
    toy_house.commit_sources(monkeypatch, changed)
    assert why in one_line(main, ["evidence"], house) and not swept


def test_a_sweep_stops_its_runs_when_its_seconds_are_over(house):
    [entry, *_] = house.papers()["coins"].experiments["slow"]("smoke")
    report = sweep({house.runs: [entry]}, jobs=1, seconds=0.5)  # the run would sleep for a minute
    assert not (report.finished or report.failed or report.interrupted)
    assert not list(house.runs.glob("*/done.json"))
