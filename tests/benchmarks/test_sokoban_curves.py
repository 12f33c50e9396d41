"""Picture and table of adapters/README.md: of today's runs, all of them, with intervals by hand."""

import numpy as np
import pandas as pd
import pytest

from adapters import sokoban_sb3
from benchmarks import sokoban_curves
from benchmarks.sokoban_curves import COLUMNS, FOLDER


def made_up(settings):
    """Three seeds: DQN solves 0.1, 0.2, 0.3 at the end, with TER 0.4 more; before, all solve nothing."""
    rows = [
        (name, method, seed, step, (more + 0.1 * seed) * (step > 1))
        for name in settings for method, more in (("dqn", 0.0), ("ter", 0.4)) for seed in (1, 2, 3) for step in (1, 2)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def test_the_readme_is_of_todays_runs():
    runs = sokoban_curves.read(FOLDER / "sokoban_sb3.csv")
    page = (FOLDER / "README.md").read_text()
    assert sokoban_curves.with_table(page, runs) == page, "run .venv/bin/python -m benchmarks.sokoban_curves"
    assert set(runs["settings"]) <= set(sokoban_sb3.SETTINGS) == set(sokoban_curves.TITLES)
    for _, run in runs.groupby(COLUMNS[:3]):
        assert run["step"].tolist() == list(range(sokoban_sb3.EVERY, sokoban_sb3.STEPS + 1, sokoban_sb3.EVERY))
        assert run["success"].between(0, 1).all()
    assert (runs.groupby(["settings", "method"])["seed"].nunique() == 5).all()


def test_the_table_has_means_and_their_intervals():
    # Student's t at 0.975 is 4.303 with 2 and 2.776 with 4 degrees of freedom
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in
             sokoban_curves.table(made_up(["often"])).splitlines()]  # fmt: skip
    assert cells[2] == [
        "a gradient step per step", "after 2 steps", "0.20 [-0.05, 0.45]", "0.60 [0.35, 0.85]", "+0.40 [+0.17, +0.63]",
    ]  # fmt: skip
    assert cells[3][2].startswith("0.10 ")


def test_each_method_is_also_compared_where_it_does_best():
    frame = made_up(["defaults", "often"])
    frame.loc[(frame["settings"] == "often") & (frame["method"] == "ter"), "success"] += 0.2
    rows = [line.split("|") for line in sokoban_curves.table(frame).splitlines()]
    assert [row[5].split()[0] for row in rows if "after" in row[2]] == ["+0.40", "+0.60", "+0.60"]
    frame.loc[(frame["settings"] == "often") & (frame["method"] == "dqn"), "success"] += 0.2
    assert "+0.60" in sokoban_curves.table(frame).splitlines()[4]


def test_the_picture_has_a_panel_for_each_of_the_settings(tmp_path):
    sokoban_curves.draw(made_up(["defaults"]), tmp_path / "one.png")
    sokoban_curves.draw(made_up(["defaults", "often"]), tmp_path / "two.png")
    one, two = (int.from_bytes((tmp_path / name).read_bytes()[16:20]) for name in ("one.png", "two.png"))
    assert two > 1.5 * one > 300  # pixels across


def test_a_run_that_is_there_twice_is_not_counted_twice(tmp_path):
    frame = made_up(["often"])
    pd.concat([frame, frame]).to_csv(tmp_path / "runs.csv", header=False, index=False)
    with pytest.raises(ValueError, match="has a run twice"):
        sokoban_curves.read(tmp_path / "runs.csv")


def test_an_agent_is_judged_by_the_levels_it_solves():
    """Every level by hand, with a network that always moves on."""
    env = sokoban_sb3.make_env()
    agent = sokoban_sb3.make_agent("ter", 0, sokoban_sb3.SETTINGS["often"])
    assert (agent.train_freq.frequency, agent.target_update_interval) == (1, 1_000)
    solved = 0
    for seed in sokoban_sb3.LEVELS[:20]:
        seen, over = env.reset(seed=seed)[0], False
        while not over:
            seen, _, terminated, truncated, _ = env.step(int(agent.predict(seen, deterministic=True)[0]))
            over = terminated or truncated
        solved += terminated
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sokoban_sb3, "LEVELS", sokoban_sb3.LEVELS[:20])
        assert sokoban_sb3.solved(agent, env) == pytest.approx(np.float64(solved) / 20)
