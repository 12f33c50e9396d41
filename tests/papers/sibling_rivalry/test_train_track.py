"""The circular track: what each method pays and learns from, what is measured, runs, and that siblings escape."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from envs.circular_track import GOAL, LOCAL_OPTIMUM, CircularTrack, position
from papers.sibling_rivalry import train_track
from papers.sibling_rivalry.agents.rollouts import Rollouts
from papers.sibling_rivalry.train_track import BINS, METHODS, Config, Trainer, histogram
from tests.papers.runs import assert_resumes, rows

SMALL = dict(updates=6, pairs=5, log_every=2)
TASK = CircularTrack()


def small(method="sr", seed=0, **settings):
    return Config(method=method, seed=seed, **(SMALL | settings))


def ended_at(*phases, lengths=None):
    """Rollouts that ended at these phases, after five steps if nothing else is said; all steps are equally long."""
    n = len(phases)
    lengths = np.array(lengths or [5] * n)
    states, actions = np.zeros((n, 6, 1)), np.zeros((n, 5, 1), np.float32)
    for i, (phase, length) in enumerate(zip(phases, lengths)):
        states[i, : length + 1, 0] = np.linspace(LOCAL_OPTIMUM, phase, length + 1)
        actions[i, :length, 0] = (phase - LOCAL_OPTIMUM) / length
    goals = TASK.goals(n, np.random.default_rng(0))
    ends = TASK.achieved(states[np.arange(n), lengths])
    return Rollouts(states, actions, goals, ends, lengths, TASK.success(ends, goals))


FOUR = ended_at(LOCAL_OPTIMUM, LOCAL_OPTIMUM + 1, GOAL + 2 * math.pi, LOCAL_OPTIMUM - 1.2, lengths=[5, 5, 4, 5])
"""Two pairs: at the local optimum and beside it; at the goal after four steps and beside the local optimum."""


def to_goal(phase):
    return math.dist(position(np.array(phase)), (0, 1))


# ---- what is paid, and what is learnt from ---------------------------------------------------------------------------


def test_naive_pays_the_distance_and_keeps_all():
    rewards, anti_goals, kept, closer = Trainer(small("naive")).last_rewards(FOUR)
    np.testing.assert_allclose(
        rewards, [-0.6, -to_goal(LOCAL_OPTIMUM + 1), 1.0, -to_goal(LOCAL_OPTIMUM - 1.2)], rtol=1e-6
    )
    assert anti_goals is None and kept.all() and len(kept) == len(closer) == 4


def test_fixed_pushes_away_from_the_local_optimum_and_keeps_all():
    rewards, anti_goals, kept, _ = Trainer(small("fixed")).last_rewards(FOUR)
    away = [math.dist(position(np.array(LOCAL_OPTIMUM + by)), (0, 0.4)) for by in (1, -1.2)]
    np.testing.assert_allclose(
        rewards, [-0.6, away[0] - to_goal(LOCAL_OPTIMUM + 1), 1.0, away[1] - to_goal(LOCAL_OPTIMUM - 1.2)], rtol=1e-5
    )
    np.testing.assert_allclose(anti_goals, [(0, 0.4)] * 4, atol=1e-7)
    assert kept.all() and (rewards[[1, 3]] < 0).all()


@pytest.mark.parametrize(("epsilon", "kept"), [(0.0, [0, 1, 1, 1]), (math.inf, [1, 1, 1, 1])])
def test_siblings_push_each_other_away_and_the_closer_counts_if_it_succeeds(epsilon, kept):
    rewards, anti_goals, found, closer = Trainer(small("sr", epsilon=epsilon)).last_rewards(FOUR)
    assert found.tolist() == [bool(k) for k in kept] and closer.tolist() == [True, False, True, False]
    first = math.dist(position(np.array(LOCAL_OPTIMUM + 1)), (0, 0.4))
    expected = [min(0, first - 0.6), first - to_goal(LOCAL_OPTIMUM + 1), 1.0, 0.0]
    np.testing.assert_allclose(rewards, expected, rtol=1e-5, atol=1e-6)
    others = [position(np.array(LOCAL_OPTIMUM + 1)), (0, 0.4), position(np.array(LOCAL_OPTIMUM - 1.2)), (0, 1)]
    np.testing.assert_allclose(anti_goals, others, atol=1e-6)


def test_steps_are_those_of_the_kept_rollouts_and_return_the_rollout_s_reward():
    trainer = Trainer(small())
    anti_goals = np.arange(8, dtype=np.float32).reshape(4, 2)
    steps = trainer.steps(FOUR, np.array([5.0, 6.0, 7.0, 8.0]), anti_goals, np.array([False, True, True, False]))
    assert steps.returns.tolist() == [6.0] * 5 + [7.0] * 4
    assert steps.anti_goals.tolist() == [[2.0, 3.0]] * 5 + [[4.0, 5.0]] * 4
    places = np.concatenate([FOUR.states[1, :5, 0], FOUR.states[2, :4, 0]])  # where actions were taken: not the ends
    np.testing.assert_allclose(steps.observations, position(places), atol=1e-6)
    np.testing.assert_allclose(steps.goals, [(0, 1)] * 9, atol=1e-7)
    np.testing.assert_allclose(steps.actions[:, 0], [0.2] * 5 + [math.pi / 4] * 4, rtol=1e-6)
    fields = [getattr(steps, field.name) for field in dataclasses.fields(steps)]
    assert all(field.dtype == torch.float32 for field in fields)
    assert trainer.steps(FOUR, np.zeros(4), None, np.ones(4, bool)).anti_goals is None


@pytest.mark.parametrize("method", METHODS)
def test_all_methods_play_as_much_and_an_update_learns_from_what_they_keep(method, monkeypatch):
    trainer, learnt = Trainer(small(method, pairs=40)), []
    monkeypatch.setattr(trainer.agent, "update", lambda steps: learnt.append(steps) or {})
    trainer.update()
    assert trainer.episodes_done == 80
    [ended], [steps] = trainer._ended, learnt
    assert len(ended["phases"]) == len(ended["kept"]) == 80
    assert np.array_equal(ended["kept"], ~ended["closer"] | ended["reached"] | (method != "sr"))
    kept, early = 5 * ended["kept"].sum(), 2 * ended["reached"].sum()  # who reaches the goal needs three steps or more
    assert kept - early <= len(steps.returns) <= kept
    assert (steps.anti_goals is None) == (method == "naive")
    assert np.array_equal(ended["ends"], TASK.achieved(ended["phases"][:, None]))


def test_an_update_remembers_where_rollouts_ended_those_too_that_ended_early(monkeypatch):
    monkeypatch.setattr(train_track, "play", lambda *args: FOUR)
    trainer = Trainer(small(pairs=2))
    trainer.update()
    [ended] = trainer._ended
    expected = [LOCAL_OPTIMUM, LOCAL_OPTIMUM + 1, GOAL + 2 * math.pi, LOCAL_OPTIMUM - 1.2]
    np.testing.assert_allclose(ended["phases"], expected)
    flags = {"closer": [1, 0, 1, 0], "kept": [0, 1, 1, 1], "reached": [0, 0, 1, 0]}
    assert {name: ended[name].tolist() for name in flags} == flags


# ---- what is measured ------------------------------------------------------------------------------------------------


def test_bins_by_hand():
    width = 2 * math.pi / BINS
    shares = histogram(np.array([0.5 * width, 1.5 * width, 1.4 * width + 4 * math.pi, -0.5 * width]))
    assert shares.shape == (BINS,) and np.flatnonzero(shares).tolist() == [0, 1, BINS - 1]
    assert shares[[0, 1, -1]].tolist() == [0.25, 0.5, 0.25]
    assert histogram(np.array([-1e-20]))[BINS - 1] == 1  # folded, this is 2 pi itself


def test_goal_and_local_optimum_are_in_the_middle_of_their_bins():
    for phase in (GOAL, LOCAL_OPTIMUM):
        assert phase / (2 * math.pi) * BINS % 1 == pytest.approx(0.5)


def measured(trainer, *batches):
    """Metrics of these rollouts, each as if an update had played it."""
    for rollouts in batches:
        closer = trainer.last_rewards(rollouts)[3]
        phases = rollouts.states[np.arange(len(rollouts)), rollouts.lengths, 0]
        kept = np.ones(len(rollouts), bool)
        trainer._ended.append(
            dict(phases=phases, ends=rollouts.ends, reached=rollouts.reached, closer=closer, kept=kept)
        )
    return trainer.metrics()


def test_metrics_of_all_rollouts_by_hand():
    other = ended_at(LOCAL_OPTIMUM - 0.1, LOCAL_OPTIMUM - 0.25)  # within a fifth of the local optimum, and not
    trainer = Trainer(small("naive"))
    found = measured(trainer, FOUR, other)
    assert found["success"] == round(1 / 6, 5) and found["trapped"] == round(2 / 6, 5)
    assert found["away"] == round((1 + math.pi + 1.2 + 0.1 + 0.25) / 6, 5)
    bins = [int(phase / (2 * math.pi) * BINS) for phase in (GOAL, LOCAL_OPTIMUM)]
    assert found[f"phase {bins[0]}"] == round(1 / 6, 5) and found[f"phase {bins[1]}"] == round(2 / 6, 5)
    assert sum(value for name, value in found.items() if name.startswith("phase")) == pytest.approx(1, abs=1e-4)
    assert not [name for name in found if "closer" in name or "farther" in name or name == "kept"]
    assert 0.0 not in [value for name, value in found.items() if "phase" in name]
    with pytest.raises(IndexError):
        trainer.metrics()  # nothing has been played since


def test_metrics_of_siblings_by_hand():
    """Pairs, closer first: local optimum and right of the goal; goal and left of it; goal and goal."""
    rollouts = ended_at(LOCAL_OPTIMUM, GOAL - 0.8, GOAL, GOAL + 0.3, GOAL, GOAL)
    found = measured(Trainer(small("sr")), rollouts)
    assert found["success"] == 0.5 and found["closer success"] == round(2 / 3, 5)
    assert found["farther success"] == round(1 / 3, 5)
    assert found["trapped"] == round(1 / 6, 5) and found["farther trapped"] == 0
    assert found["closer trapped"] == round(1 / 3, 5)
    assert found["closer away"] == round(2 * math.pi / 3, 5)
    assert found["farther left"] == found["farther right"] == round(1 / 3, 5) and found["kept"] == 1
    goal, optimum = (int(phase / (2 * math.pi) * BINS) for phase in (GOAL, LOCAL_OPTIMUM))
    assert found[f"closer phase {goal}"] == round(2 / 3, 5) and found[f"closer phase {optimum}"] == round(1 / 3, 5)
    assert f"farther phase {optimum}" not in found and found[f"phase {goal}"] == 0.5


def test_left_and_right_are_misses_in_the_upper_half_alone():
    """0.6 right of the goal beats 3 left of it; 0.1 left of it is a success, 1 right of it none."""
    found = measured(Trainer(small("sr")), ended_at(GOAL - 0.3, GOAL - 0.9, GOAL + 0.1, GOAL - 1.0))
    assert found["farther right"] == 1 and found["farther left"] == 0
    found = measured(Trainer(small("sr")), ended_at(GOAL + 0.3, GOAL + 0.9, LOCAL_OPTIMUM, LOCAL_OPTIMUM + 1))
    assert found["farther right"] == 0 and found["farther left"] == 0.5


# ---- runs ------------------------------------------------------------------------------------------------------------


def test_what_is_logged(tmp_path):
    summary = train_track.main(small(updates=5), tmp_path)
    table = rows(tmp_path)
    names = {name for _, name, _ in table}
    whole = {f"{role}{name}" for role in ("", "closer ", "farther ") for name in ("success", "trapped", "away")}
    whole |= {"kept", "farther left", "farther right"}
    assert {name for name in names if "phase" not in name} == whole
    for metric in whole:
        assert [int(step) for step, name, _ in table if name == metric] == [20, 40, 50]  # the rest at the end
    assert {name.rsplit(" ", 1)[0] for name in names - whole} == {"phase", "closer phase", "farther phase"}
    assert set(summary) == {"episodes", *whole} and summary["episodes"] == 50


@pytest.mark.parametrize("method", METHODS)
def test_interrupted_and_resumed_equals_uninterrupted(method, tmp_path, monkeypatch):
    """Before the first checkpoint, and a row after it."""
    config = small(method, updates=9)
    assert_resumes(train_track, config, tmp_path, monkeypatch, kills=[20, 60], saved=40, save_every=2)


# ---- siblings escape -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "escapes"),
    [
        (dict(method="naive"), False),
        (dict(method="fixed"), True),
        (dict(method="sr"), True),
        (dict(method="sr", epsilon=math.inf), False),  # the closer sibling is learnt from, and drags the policy back
    ],
)
def test_pushed_away_from_the_local_optimum_an_agent_finds_the_goal_and_otherwise_stays(settings, escapes):
    trainer = Trainer(Config(**settings))
    for _ in range(200):
        trainer.update()
    trainer._ended = trainer._ended[-10:]
    found = trainer.metrics()
    if escapes:
        assert found["success"] > 0.3 and found["trapped"] < 0.05
    else:
        assert found["success"] < 0.02 and found["trapped"] > 0.2
