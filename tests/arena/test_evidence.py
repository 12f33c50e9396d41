"""What the arena says of results: on made-up ones, whose truth is known. And its page says what can be joined."""

import re
from pathlib import Path

import numpy as np
import pytest

from arena.__main__ import HOUSE, main
from arena.replay.evidence import claims, gains
from arena.replay.evidence.experiments import EXPERIMENTS, NAMES, legal
from arena.replay.evidence.figures import FIGURES
from arena.replay.ideas import IDEAS
from arena.replay.tasks import TASKS
from lab.judge.claims import evaluate
from lab.judge.results import MissingData, Results
from tests.papers.judged import read_elsewhere, save

README = (Path(__file__).parents[2] / "arena/README.md").read_text()
EFFECTS = {"NChain-20": {"ter": 0.3, "rr-c": -0.3}, "BitFlip-6": {}}
"""What ideas gain in the results made up; all others nothing, but for noise that hides nothing of a margin."""


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Results:
    root, rng = tmp_path_factory.mktemp("results"), np.random.default_rng(0)
    for env, effects in EFFECTS.items():
        rows = []
        for entry in EXPERIMENTS[NAMES[env]]("quick"):
            level = 0.5 + effects.get(entry.method, 0.0) + 0.02 * np.sin(entry.seed) + 0.005 * rng.standard_normal()
            names = {"replayed": 0.9, "age": 100.0, "entropy": 5.0, "weighed": 1.0}
            for step in range(5):
                values = names | {TASKS[env].score: level * step / 2}
                run = (NAMES[env], "quick", entry.method, env, entry.seed, step)
                rows += [(*run, *item, 0.01) for item in values.items()]
        results = save(root, rows)
    return results


def test_gains_are_found_and_nothing_else(results):
    found = {(one.env, one.idea): one for one in gains.gains(results, "quick")}
    assert set(found) == {(env, idea) for env in EFFECTS for idea in legal(env)[1:]}
    for (env, idea), one in found.items():
        # the mean height of a curve from 0 to twice the level; runs of a seed share the sine
        assert one.estimate.value == pytest.approx(EFFECTS[env].get(idea, 0.0), abs=0.01) and one.estimate.seeds == 10
        assert one.estimate.error < 0.005, "paired by seed"
    limit = gains.limit(list(found.values()))
    clear = {key for key, one in found.items() if one.p <= limit}
    assert {("NChain-20", "ter"), ("NChain-20", "rr-c")} <= clear and len(clear) <= 4
    p = sorted(one.p for one in found.values())
    assert limit == max(p[k] for k in range(len(p)) if p[k] <= 0.05 * (k + 1) / len(p)), "Benjamini and Hochberg"


def test_the_null_hypothesis_is_refuted_where_it_is_false(results):
    found = {claim.id: verdict for claim, verdict in evaluate(claims.CLAIMS, results)}
    assert not read_elsewhere(HOUSE.papers()["replay"], found)
    assert found["null-nchain-20"].parts["ter"].status == "not reproduced"
    assert found["null-nchain-20"].parts["rr-c"].status == "reproduced", "worse is not better"
    assert found["null-nchain-20"].status == "not reproduced"
    assert found["null-bitflip-6"].parts["her"].status in ("reproduced", "not reproduced"), "no gain of a fifth"
    assert found["control-ter-nchain-20"].status == "reproduced"
    assert found["null-hand"].status == found["null-hopper-v4"].status == "not run"
    assert all(claim.kind == "own" for claim in claims.CLAIMS)


def test_a_small_gain_refutes_and_a_wide_interval_leaves_open():
    rule = claims.no_gain(0.1)
    assert (
        rule(0.01, 0.02) == "not reproduced"
        and rule(-0.2, 0.09) == "reproduced"
        and rule(-0.2, 0.3) == ("inconclusive")
    )


@pytest.mark.parametrize("name", FIGURES)
def test_pictures_are_drawn_of_what_there_is(name, results, tmp_path):
    FIGURES[name].draw(results, "quick", tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    with pytest.raises(MissingData):
        FIGURES[name].draw(Results(tmp_path), "quick", tmp_path / "none.png")


def test_the_page_says_what_can_be_joined():
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines() if "|" in line]
    header = next(row for row in rows if row[:2] == ["idea", "family"])
    assert header[3:] == list(TASKS)
    cells = {row[0]: row[1:] for row in rows if row[0] in IDEAS and len(row) == len(header)}
    assert list(cells) == list(IDEAS)
    for idea, (family, text, *marks) in cells.items():
        assert (family, text) == (IDEAS[idea].family, IDEAS[idea].text)
        assert [mark == "x" for mark in marks] == [idea in legal(env) for env in TASKS], idea
    settings = README[README.index("| idea | settings |") :]
    named = {name for row in re.findall(r"^\| ([\w, -]+) \|", settings, re.M) for name in row.split(", ")}
    assert {idea.removesuffix("-per") for idea in IDEAS} <= named


def test_quick_runs_are_whole_comparisons_seed_by_seed():
    for env, name in NAMES.items():
        entries = EXPERIMENTS[name]("quick")
        ideas = legal(env)
        assert [entry.method for entry in entries[: len(ideas)]] == ideas and ideas[0] == "uniform"
        assert len({entry.seed for entry in entries[: len(ideas)]}) == 1
        assert len({entry.run_dir(Path()).name for entry in entries}) == len(entries)


def test_its_help_is_about_its_own_commands(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "python -m arena" in (said := capsys.readouterr().out) and "python -m lab" not in said
