"""The paper's tables: the margins that it prints in brackets follow from its columns. Lengths of its runs."""

from types import SimpleNamespace

import pytest

from papers.ners.evidence.paper_values import RANDOM_STEPS, TABLE1, TABLE2, TIME_LIMITS, margin, scorer_updates
from papers.ners.train import Config, Trainer
from papers.ners.train_rainbow import Config as Rainbow

BRACKETS1 = (677.81, 378.62, 451.92, 678.20, 323.12, 354.18)
BRACKETS2 = (
    281.16, 18.85, 26.46, 80.90, 1500.19, 4.83, 125.87, 0.12, 280.88, 2971.23, 432.45, 0.26, 13.16, 136.34, 2596.17,
    30.52,
)  # fmt: skip


@pytest.mark.parametrize(("table", "brackets"), [(TABLE1, BRACKETS1), (TABLE2, BRACKETS2)])
def test_margins_are_those_in_brackets(table, brackets):
    assert [round(margin(row), 2) for row in table.values()] == list(brackets)


@pytest.mark.parametrize("limit", sorted({*TIME_LIMITS.values()}))
def test_scorer_updates_are_a_runs_evaluations_after_its_random_phase(limit):
    """That at the end of the run, too."""
    one, config = SimpleNamespace(eval_every=limit, config=Config()), Config()
    times = range(config.random_steps + 1, config.steps + 1)
    due = sum(Trainer.due(one) for one.t in times)  # type: ignore[arg-type]
    tasks = [env for env, steps in TIME_LIMITS.items() if steps == limit]
    assert {scorer_updates(agent, env) for agent in ("sac", "td3") for env in tasks} == {due}
    assert RANDOM_STEPS["sac"] == RANDOM_STEPS["td3"] == config.random_steps


def test_scorer_updates_of_rainbow():
    config = Rainbow()
    due = range(config.eval_every, config.steps + 1, config.eval_every)
    assert scorer_updates("rainbow", "Alien") == sum(t > config.random_steps for t in due)
