"""Curves beside Stable-Baselines3's: what needs no Stable-Baselines3, and a few steps of it where it is there."""

import sys

import numpy as np
import pandas as pd
import pytest

from benchmarks import ners_curves


def test_without_stable_baselines3_one_line_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(SystemExit) as stopped:
        ners_curves.main([])
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert not out and err == "error: ners_curves needs stable_baselines3: .venv/bin/pip install --group bench\n"


def test_two_pictures_cost_one_line(capsys):
    with pytest.raises(SystemExit):
        ners_curves.main(["a.png", "b.png"])
    assert capsys.readouterr().err == "error: give at most one picture, not 'a.png b.png'\n"


@pytest.mark.parametrize("agent", ners_curves.AGENTS)
def test_ours_learns_and_is_scored_in_between(agent, monkeypatch):
    """The policy moves after the random steps, and a score depends on nothing but the policy."""
    for name, value in dict(STEPS=5_020, EVERY=2_510, STARTS=2).items():
        monkeypatch.setattr(ners_curves, name, value)
    scores = []
    for step, policy in ners_curves.ours(agent, 0):
        scores.append((step, ners_curves.score(policy)))
        assert scores[-1][1] == ners_curves.score(policy)
    assert [step for step, _ in scores] == [2_510, 5_020] and scores[0][1] != scores[1][1]


def test_the_picture_has_both_learners_of_both_agents(tmp_path):
    rows = [
        ("Hopper-v5", name, agent, seed, step, "score", 1.0 * step + seed)
        for name in ners_curves.LOOKS for agent in ners_curves.AGENTS for seed in range(3) for step in (10, 20)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["env", "method", "agent", "seed", "step", "metric", "value"])
    ners_curves.draw(frame, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_the_page_has_means_and_differences_with_their_intervals():
    """Final scores of three runs, by hand: 1, 2, 3 and 3, 4, 5; before, all are 0."""
    rows = [
        ("Hopper-v5", name, agent, seed, step, "score", (more + seed) * (step > 1))
        for name, more in (("ours", 1.0), ("Stable-Baselines3", 3.0))
        for agent in ners_curves.AGENTS for seed in range(3) for step in range(7)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["env", "method", "agent", "seed", "step", "metric", "value"])
    text = ners_curves.page(frame, "a.png")
    # Student's t at 0.975 is 4.303 with 2 and 2.776 with 4 degrees of freedom
    cells = [[cell.strip() for cell in line.split("|")[2:-1]] for line in text.splitlines() if line.startswith("|")]
    final = ["from 2 steps on", "2 [-0.484, 4.48]", "4 [1.52, 6.48]", "-2 [-4.27, +0.267]"]
    assert cells[3] == cells[5] == final
    assert cells[2][:2] == ["all of training", "1.43 [-0.346, 3.2]"]  # five sevenths of it
    assert "](a.csv)" in text and "](a.png)" in text and "6 steps, 3 seeds" in text


def test_the_peer_trains_with_our_settings(monkeypatch):
    sb3 = pytest.importorskip("stable_baselines3")
    for name, value in dict(STEPS=40, EVERY=20).items():
        monkeypatch.setattr(ners_curves, name, value)
    for agent in ners_curves.AGENTS:
        found = [(step, policy(np.zeros(11, np.float32)).shape) for step, policy in ners_curves.theirs(sb3, agent, 0)]
        assert found == [(20, (3,)), (40, (3,))]
