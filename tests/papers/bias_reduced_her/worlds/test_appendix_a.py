"""The measurements of Appendix A: runs, their numbers, and hindsight whose goals jump."""

from itertools import pairwise

import numpy as np
import pytest

from lab.run.runs import Streams
from papers.bias_reduced_her.instructional import Grid, target_distribution
from papers.bias_reduced_her.worlds import appendix_a
from papers.bias_reduced_her.worlds.appendix_a import (
    AFTER,
    BEFORE,
    GOALS,
    METHODS,
    PER_SIDE,
    Config,
    Selection,
    main,
    measure,
)
from tests.papers.runs import assert_refused, rows

RUNS = [(env, method) for env, methods in METHODS.items() for method in methods]
SMALL = dict(samples=100, episodes=30)


# ---- runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("env", "method"), RUNS)
def test_the_same_seed_gives_the_same_run(env, method, tmp_path):
    config = Config(env, method, 1, **SMALL)
    summary = main(config, tmp_path / "one")
    assert main(config, tmp_path / "two") == summary and rows(tmp_path / "one") == rows(tmp_path / "two")
    assert main(Config(env, method, 2, **SMALL), tmp_path / "three") != summary


@pytest.mark.parametrize("method", METHODS["mixture"])
def test_what_a_mixture_run_logs(method, tmp_path):
    summary = main(Config("mixture", method, samples=300), tmp_path)
    table = rows(tmp_path)
    assert {int(step) for step, _, _ in table} == {30, 100, 300}
    assert {name: float(value) for step, name, value in table if step == "300"} == summary
    more = {"standard_error", "predicted_error", "variance", "predicted_variance"} if method != "em" else set()
    assert set(summary) == {"error", *more}


def test_what_a_run_with_moving_goals_logs(tmp_path):
    summary = main(Config("moving goals", "her-ibs", episodes=100), tmp_path)
    table = rows(tmp_path)
    curve = {int(step): float(value) for step, name, value in table if name == "kl"}
    assert list(curve) == [*range(2, 51, 2), 51, *range(52, 101, 2)]
    assert curve[50] == summary["kl_before"] and curve[100] == summary["kl_end"]
    assert {name: float(value) for step, name, value in table if name != "kl" and step == "100"} == summary


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (dict(method="her"), "choose from: monte-carlo, importance-sampling, em"),
        (dict(env="moving goals", method="em"), "choose from: her, her-ibs"),
        (dict(samples=20), "samples must be at least 30, not 20"),
    ],
)
def test_bad_settings_cost_one_line_and_leave_nothing(settings, words, tmp_path):
    assert_refused(appendix_a, Config(**settings), words, tmp_path)


# ---- estimates -------------------------------------------------------------------------------------------------------


def test_the_known_mixture_lies_in_the_square():
    """Only then is the closed form also the integral over the square."""
    samples = GOALS.sample(100_000, np.random.default_rng(0))
    assert ((samples < 0) | (samples > 1)).any(axis=1).mean() < 1e-4


@pytest.mark.parametrize("method", METHODS["mixture"])
@pytest.mark.parametrize("sigma2", [0.04, 2.0])
def test_errors_fall_with_the_number_of_samples(method, sigma2):
    few, many = (
        np.mean([measure(Config(method=method, sigma2=sigma2), n, Streams(seed))["error"] for seed in range(6)])
        for n in (30, 1000)
    )
    assert few / many == pytest.approx((1000 / 30) ** 0.5, rel=0.6)


@pytest.mark.parametrize("method", METHODS["mixture"][:2])
def test_errors_are_what_the_formula_and_the_samples_say(method):
    runs = [measure(Config(method=method, sigma2=0.04), 1000, Streams(seed)) for seed in range(30)]
    square = {name: np.mean([run[name] ** 2 for run in runs]) for name in runs[0]}
    assert square["error"] == pytest.approx(square["predicted_error"], rel=0.3)
    assert square["standard_error"] == pytest.approx(square["predicted_error"], rel=0.1)
    for run in runs[:3]:
        assert run["variance"] == pytest.approx(run["standard_error"] ** 2 * 1000)
        assert run["predicted_variance"] == pytest.approx(run["predicted_error"] ** 2 * 1000)


def test_the_error_by_hand(monkeypatch):
    """Estimates that are off by half of mu everywhere have a relative error of a half."""
    exact = GOALS.score(Grid((PER_SIDE, PER_SIDE)).centres, 0.2)
    monkeypatch.setattr(appendix_a, "monte_carlo", lambda *_: (1.5 * exact, np.full_like(exact, 0.1)))
    found = measure(Config(method="monte-carlo", sigma2=0.04), 100, Streams(0))
    assert found["error"] == pytest.approx(0.5)
    assert found["standard_error"] == pytest.approx(0.1 / (exact**2).mean() ** 0.5)


# ---- goals that move -------------------------------------------------------------------------------------------------


def test_the_jump_changes_the_target_and_keeps_the_histogram():
    selection = Selection(Config("moving goals", "her-ibs", sigma2=0.04))
    assert np.abs(Grid().centres[selection.target.argmax()] - 0.75).max() < 0.05
    for _ in range(5):
        selection.episode()
    counts = selection.proposal.counts.copy()
    assert counts.sum() == 5 * 50 * 4
    selection.set_goals(AFTER)
    np.testing.assert_array_equal(selection.proposal.counts, counts)
    np.testing.assert_allclose(selection.target, target_distribution(Grid(), AFTER, 0.04))
    np.testing.assert_array_equal(selection.hindsight.instruction.target, selection.target)
    q = (counts + 1) / (counts + 1).sum()
    assert selection.kl() == pytest.approx((selection.target * np.log(selection.target / q)).sum())


def test_both_goals_are_equally_hard():
    """One is the other seen from the opposite corner."""
    before, after = (target_distribution(Grid(), goals, 0.2) for goals in (BEFORE, AFTER))
    np.testing.assert_allclose(before, after[::-1])


def test_without_instruction_the_goals_do_not_matter():
    one, other = (Selection(Config("moving goals", "her")) for _ in range(2))
    other.set_goals(AFTER)
    for _ in range(3):
        one.episode()
        other.episode()
    np.testing.assert_array_equal(one.proposal.counts, other.proposal.counts)


def test_instruction_looks_for_the_goals_wherever_they_are():
    """With hardly a floor, q follows q*, loses it at the jump and finds it again; without instruction it never does."""
    settings = dict(env="moving goals", sigma2=0.04, episodes=400, floor=1e-6)
    kls = {}
    for method in METHODS["moving goals"]:
        selection, found = Selection(Config(method=method, **settings)), []
        for goals in (BEFORE, AFTER):
            selection.set_goals(goals)
            found.append(selection.kl())
            for _ in range(200):
                selection.episode()
            found.append(selection.kl())
        kls[method] = found[1:]  # before, right after, at the end
    before, after, end = kls["her-ibs"]
    assert before < 0.1 and after > 2 and end < 0.7
    assert before < end < min(kls["her"])
    assert all(abs(x - y) < 0.1 for x, y in pairwise(kls["her"]))


class Script:
    """A Selection whose KL is known: 8 to 5 in four episodes, 9 once the goals have jumped, then 8, 7.1, 7 and 6."""

    first, then = [8.0, 7.0, 6.0, 5.0], [9.0, 8.0, 7.1, 7.0, 6.0]

    def __init__(self, config):
        self.values = iter(self.first)

    def episode(self):
        pass

    def set_goals(self, goals):
        assert goals is AFTER and next(self.values, None) is None
        self.values = iter(self.then)

    def kl(self):
        return next(self.values)


def test_recovery_by_hand(tmp_path, monkeypatch):
    monkeypatch.setattr(appendix_a, "Selection", Script)
    summary = main(Config("moving goals", "her-ibs", episodes=8), tmp_path)
    assert summary == {"kl_before": 5, "kl_after": 9, "kl_end": 6, "episodes_to_recover": 3}
    curve = [(int(step), float(value)) for step, name, value in rows(tmp_path) if name == "kl"]
    assert curve == list(zip(range(1, 9), [8.0, 7.0, 6.0, 5.0, 8.0, 7.1, 7.0, 6.0]))


def test_what_never_recovers_counts_as_all_episodes(tmp_path, monkeypatch):
    class Stuck(Script):
        first, then = [1.0, 1.0], [4.0, 4.0, 3.0]

    monkeypatch.setattr(appendix_a, "Selection", Stuck)
    assert main(Config("moving goals", "her", episodes=4), tmp_path)["episodes_to_recover"] == 2
