"""Figure 2: data sets, backups, the six orders, and that TER needs the fewest backups."""

import functools

import numpy as np
import pytest

from envs.nchain import BACKWARD, FORWARD, NChain, optimal_q
from lab.run.runs import Streams
from papers.ter import train_nchain
from papers.ter.train_nchain import (
    METHODS,
    Config,
    Dataset,
    DisCor,
    EpisodeBackwards,
    Learner,
    Topological,
    backup,
    collect,
)
from tests.papers.runs import assert_refused, assert_resumes, rows

GAMMA = 0.99
SEEDS = 20
CEILING = 35
"""N = 20: 18 -> 19, 17 -> 18, then one step back for every step on, 16 -> 17 to 0 -> 1: 2 + 17 + 16."""


def dataset(*rows: tuple) -> Dataset:
    """From (s, a, r, s', terminated, truncated)."""
    return Dataset(*(np.array(column) for column in zip(*rows)))


TIMED_OUT = dataset(
    (0, FORWARD, 0.0, 1, False, False),
    (1, BACKWARD, 0.0, 0, False, True),
    (0, FORWARD, 0.0, 1, False, False),
    (1, FORWARD, 0.0, 2, False, False),
    (2, FORWARD, 1.0, 3, True, False),
    (0, BACKWARD, 0.0, 0, False, False),
)
"""A time-out, a success, and the beginning of a third episode; four states."""


def make(method, data, n=4, **settings):
    return METHODS[method](Config(f"NChain-{n}", method, **settings), data, np.zeros((n, 2)), Streams(0))


@functools.cache
def needed(method: str, seed: int) -> int:
    """Backups until the greedy path is right, 600 if they do not suffice."""
    learner = Learner(Config(method=method, seed=seed))
    while learner.solved_after is None and learner.count < 600:
        learner.step()
    return learner.solved_after or 600


# ---- data ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_a_data_set_has_a_success_and_follows_the_rules(seed):
    data = collect(20, 1000, np.random.default_rng(seed))
    assert len(data) == 1000 and data.terminated.any()
    ends = data.terminated | data.truncated
    assert np.array_equal(data.next_state[:-1][~ends[:-1]], data.state[1:][~ends[:-1]])
    assert data.state[0] == 0 and (data.state[1:][ends[:-1]] == 0).all()
    assert np.array_equal(data.reward == 1, data.terminated)
    assert np.array_equal(data.next_state == 19, data.terminated)


def test_all_methods_start_from_the_same_data_and_table():
    learners = [Learner(Config(method=method, seed=3)) for method in METHODS]
    for other in learners[1:]:
        assert np.array_equal(other.q, learners[0].q)
        assert np.array_equal(other.data.state, learners[0].data.state)
    assert not np.array_equal(Learner(Config(seed=4)).data.state, learners[0].data.state)
    assert (learners[0].q >= 0).all() and 0.08 < learners[0].q.max() < 0.1


def test_episodes_end_with_terminations_and_time_outs_and_leave_out_the_rest():
    assert TIMED_OUT.episodes() == [range(0, 2), range(2, 5)]


# ---- learning --------------------------------------------------------------------------------------------------------


def test_a_backup_by_hand():
    q = np.array([[0.1, 0.2], [0.4, 0.3], [0.5, 0.6], [9.0, 9.0]])
    assert backup(q, TIMED_OUT, 3, 0.5, 0.9) == pytest.approx(0.9 * 0.6 - 0.4)
    assert q[1, FORWARD] == pytest.approx(0.4 + 0.5 * (0.54 - 0.4))
    assert backup(q, TIMED_OUT, 4, 0.5, 0.9) == pytest.approx(1 - 0.5)  # nothing is earned after the end
    assert backup(q, TIMED_OUT, 1, 0.5, 0.9) == pytest.approx(0.9 * 0.2 - 0.3)  # a time-out bootstraps


def test_return_is_that_of_a_greedy_episode():
    rng, env = np.random.default_rng(0), NChain(4)
    lengths = set()
    for _ in range(60):
        q = rng.random((4, 2))
        state, _ = env.reset()
        length, over = 0, False
        while not over:
            state, _, terminated, truncated, _ = env.step(int(q[state].argmax()))
            length, over = length + 1, terminated or truncated
        assert train_nchain.normalised_return(q) == pytest.approx(1 - length / env.max_steps)
        lengths.add(length)
    assert lengths == {3, 32}


def test_value_error_by_hand():
    q = optimal_q(4, GAMMA)
    assert train_nchain.value_error(q, GAMMA) == 0
    q[1, BACKWARD] += 0.3
    q[3] = 7  # the terminal row is not looked at
    assert train_nchain.value_error(q, GAMMA) == pytest.approx(0.3 / 6)


# ---- orders ----------------------------------------------------------------------------------------------------------


def test_uniform_chooses_every_transition():
    method = make("uer", TIMED_OUT)
    assert {method.choose() for _ in range(200)} == set(range(6))


def test_greedy_prioritised_takes_the_largest_error_with_ties_at_random():
    method = make("per", TIMED_OUT)
    assert {method.choose() for _ in range(200)} == set(range(6))
    for i, td in enumerate([0.3, -0.5, 0.1, 0.0, 0.4, -0.2]):
        method.update(i, td)
    assert {method.choose() for _ in range(20)} == {1}


def test_proportional_draws_by_priority():
    method = make("per-proportional", TIMED_OUT)
    for i, td in enumerate([0.0, -0.5, 0.0, 0.0, 2.0, 0.0]):
        method.update(i, td)
    counts = np.bincount([method.choose() for _ in range(4000)], minlength=6)
    priority = np.array([0.01, 0.51, 0.01, 0.01, 1.01, 0.01]) ** 0.6
    np.testing.assert_allclose(counts / 4000, priority / priority.sum(), atol=0.03)


def test_ebu_goes_backwards_through_one_episode_after_another():
    method = make("ebu", TIMED_OUT)
    assert isinstance(method, EpisodeBackwards)
    seen, order = set(), [method.choose() for _ in range(200)]
    while order:
        episode = (1, 0) if order[0] == 1 else (4, 3, 2)
        assert tuple(order[: len(episode)]) == episode[: len(order)]
        seen.add(episode)
        order = order[len(episode) :]
    assert len(seen) == 2


def test_discor_weights_by_hand():
    method = make("discor", TIMED_OUT, discor_tau=2.0, gamma=0.9)
    assert isinstance(method, DisCor)
    method.q[:] = [[0, 1], [1, 0], [0, 1], [0, 0]]  # greedy: backward, forward, backward
    method.error[:] = [[9, 1], [2, 9], [9, 3], [50, 50]]
    next_error = 0.9 * np.array([2, 1, 2, 3, 0, 1.0])  # nothing is bootstrapped from the goal
    np.testing.assert_allclose(method.next_error(), next_error)
    weights = np.exp(-next_error / 2.0)
    np.testing.assert_allclose(method.probabilities(), weights / weights.sum())


def test_discor_error_table_by_hand():
    method = make("discor", TIMED_OUT, gamma=0.9, lr=0.5)
    method.error[:] = 10.0
    method.update(4, -0.4)
    assert method.error[2, FORWARD] == pytest.approx(10 + 0.5 * (0.4 - 10))
    method.q[2] = [1, 0]
    method.update(3, 0.2)
    assert method.error[1, FORWARD] == pytest.approx(10 + 0.5 * (0.2 + 0.9 * 5.2 - 10))
    assert (method.error != 10).sum() == 2


def test_time_outs_are_never_roots():
    method = make("ter", TIMED_OUT)
    assert isinstance(method, Topological)
    assert method.ter.graph.terminal.items == [3]
    assert method.choose() == 4


@pytest.mark.parametrize("seed", range(5))
def test_ter_sweeps_from_the_goal_to_the_start(seed):
    data = collect(20, 1000, np.random.default_rng(seed))
    method = make("ter", data, n=20)
    pairs = {(int(s), int(a)) for s, a in zip(data.state, data.action)}
    for _ in range(3):  # every sweep takes each pair once, further and further from the goal
        sweep = [method.choose() for _ in range(len(pairs))]
        assert {(int(data.state[i]), int(data.action[i])) for i in sweep} == pairs
        assert (np.diff(data.next_state[sweep]) <= 0).all()


# ---- what the figure shows -------------------------------------------------------------------------------------------


def test_ter_never_needs_more_than_its_ceiling():
    assert max(needed("ter", seed) for seed in range(SEEDS)) <= CEILING


def test_ter_beats_ebu_beats_the_others():
    median = {method: np.median([needed(method, seed) for seed in range(SEEDS)]) for method in METHODS}
    assert median["ter"] < median["ebu"] < min(median[m] for m in ("uer", "per", "per-proportional", "discor"))


def test_values_converge_to_the_optimum():
    learner = Learner(Config())
    for _ in range(400):
        learner.step()
    known = learner.data.state, learner.data.action  # what the data lack keeps its first value
    np.testing.assert_allclose(learner.q[known], optimal_q(20, GAMMA)[known], atol=1e-6)


# ---- runs ------------------------------------------------------------------------------------------------------------


def test_what_is_logged(tmp_path):
    summary = train_nchain.main(Config(log_every=5), tmp_path)
    table = rows(tmp_path)
    for metric in ("return", "value_error"):
        assert [int(step) for step, name, _ in table if name == metric] == list(range(0, 101, 5))
    assert table[-1] == ["100", "backups_to_solve", repr(float(summary["backups_to_solve"]))]
    assert summary["solved"] and 20 <= summary["backups_to_solve"] <= CEILING
    last = {name: float(value) for _, name, value in table}
    assert last["return"] == pytest.approx(1 - 19 / 800) and last["value_error"] < 0.05


def test_a_run_that_never_gets_there_is_given_up(tmp_path):
    summary = train_nchain.main(Config(method="uer", max_backups=100), tmp_path)
    assert summary == {"backups_to_solve": 100, "solved": False}


@pytest.mark.parametrize("method", METHODS)
def test_interrupted_and_resumed_equals_uninterrupted(method, tmp_path, monkeypatch):
    """Before the first checkpoint, and some rows after one."""
    config = Config(method=method, backups=60, max_backups=90)
    assert_resumes(train_nchain, config, tmp_path, monkeypatch, kills=[10, 36], saved=25, save_every=25)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (dict(env="NChain"), "NChain-<states>"),
        (dict(env="NChain-1"), "at least 2 states"),
        (dict(transitions=700), "800 steps, not 700"),
        (dict(max_backups=50), "at least backups"),
    ],
)
def test_bad_settings_cost_one_line_and_leave_nothing(settings, words, tmp_path):
    assert_refused(train_nchain, Config(**settings), words, tmp_path)
