"""What is measured of episodes, by hand."""

import numpy as np
import pytest

from papers.bias_reduced_her.evidence.experiments import BUDGET
from papers.bias_reduced_her.train import Config, Episode, Trainer
from papers.bias_reduced_her.worlds import measure


def trainer(**settings) -> Trainer:
    return Trainer(Config(**(BUDGET.smoke | settings)))


def episode(success: int, far: float) -> Episode:
    """At most 5 steps; it succeeds in step `success` (0: never) and ends `far` times (3, 4) from the goal."""
    n = success or 5
    achieved = np.full((n + 1, 2), 9.0, np.float32)
    achieved[-1] = 3 * far, 4 * far
    rewards = np.array([-1.0] * (n - 1) + [0.0 if success else -1.0])
    zeros = np.zeros((n + 1, 9), np.float32)
    return Episode(zeros, achieved, np.zeros(2, np.float32), np.zeros((n, 3), np.float32), rewards, success > 0)


@pytest.mark.parametrize(("episodes", "expected"), [
    ([(0, 0.2)], dict(success=0, distance=1.0, value=-50.0)),  # fails for ever: -1 / (1 - 0.98)
    ([(1, 0.0)], dict(success=1, distance=0.0, value=0.0)),
    ([(3, 0.1)], dict(success=1, distance=0.5, value=-1 - 0.98)),
    ([(5, 0.1)], dict(success=1, distance=0.5, value=-(1 - 0.98**4) / 0.02)),
    ([(1, 0.0), (0, 0.2), (0, 0.4), (1, 0.0)], dict(success=0.5, distance=0.75, value=-25.0)),
])  # fmt: skip
def test_the_summary_by_hand(episodes, expected, monkeypatch):
    one = trainer()
    monkeypatch.setattr(one.agent, "value", lambda inputs: np.full(len(inputs), -7.5, np.float32))
    found = measure.summary(one, [episode(*each) for each in episodes])
    assert found.pop("return") == pytest.approx(expected.pop("value"), rel=1e-4)
    assert found == pytest.approx(expected | dict(q_estimate=-7.5), rel=1e-4)


def test_the_estimate_is_that_of_the_first_state_and_its_goal():
    one = trainer(eval_episodes=3)
    for _ in range(2):
        one.cycle()
    played = one.play(one.tests, np.arange(3), one.agent.act)
    first = np.stack([np.concatenate([e.states[0], e.goal]) for e in played])
    scaled = np.clip((first - one.scale.mean) / one.scale.deviation, -5, 5).astype(np.float32)
    assert measure.summary(one, played)["q_estimate"] == pytest.approx(one.agent.value(scaled).mean(), rel=1e-5)


def test_the_virtual_goals_as_metrics():
    one = trainer(grid=2)
    one.proposal.add(np.array([[0.1, 0.1], [0.1, 0.9], [0.1, 0.8], [0.9, 0.2]]))
    one.steps_done, one.virtual_done = 40, 100
    found = measure.at_the_end(one)
    assert {m: v for m, v in found.items() if m.startswith("virtual ")} == {
        "virtual 0 0": 0.25, "virtual 0 1": 0.5, "virtual 1 0": 0.25
    }  # fmt: skip
    assert (found["env_steps"], found["virtual_per_step"]) == (40, 2.5)


def test_nothing_is_measured_on_an_episode_of_training(monkeypatch):
    """Training has the even seeds."""
    one, seeds = trainer(eval_episodes=3), []
    play = one.play
    monkeypatch.setattr(
        one, "play", lambda tests, s, *a, **kw: (seeds.append(np.array(s)), play(tests, s, *a, **kw))[1]
    )
    measure.starts_and_line(one)
    assert len(seeds) == 2 * measure.ROUNDS + len(measure.LINE) and (np.concatenate(seeds) % 2 == 1).all()


def test_starts_and_line_of_a_policy_that_throws_what_it_holds(monkeypatch):
    """An estimate that is the distance from ball to goal tells the starts and the places on the line apart."""
    one = trainer(eval_episodes=20)
    one.scale.mean[:], one.scale.deviation[:] = 0, 1
    asked = []

    def value(inputs):
        asked.append(inputs)
        return np.hypot(*(inputs[:, 5:7] - inputs[:, -2:]).T)

    monkeypatch.setattr(one.agent, "value", value)
    monkeypatch.setattr(one.agent, "act", lambda inputs: np.zeros((len(inputs), 3), np.float32))
    found = measure.starts_and_line(one)
    held, ground, *line = asked
    assert (held[:, 6] == held[:, 1]).all() and (held[:, 4] == 1).all() and len(held) == 5 * 20
    assert (ground[:, 6] == 0).all() and (ground[:, 4] == 0).all() and len(ground) == 5 * 20
    distances = [found[f"estimate {share}"] for share in measure.LINE]
    np.testing.assert_allclose(distances, np.array(measure.LINE) * distances[-1], atol=1e-5)
    np.testing.assert_allclose(line[-1][:, 5:7], line[3][:, 5:7])
    assert (found["realised 0.0"], found["realised 1.0"]) == pytest.approx((0, -50)), "it succeeds where it lies"
