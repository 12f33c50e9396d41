"""The training script: what is stored, schedules, evaluation, resuming, other environments, bad settings, learning."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from common.replay.storage import Ring
from envs.throwing.tasks import Hand
from envs.throwing.vector import ThrowingVector
from papers.bias_reduced_her import train
from papers.bias_reduced_her.agents.ddpg import DDPG
from papers.bias_reduced_her.agents.fast_ddpg import FastDDPG
from papers.bias_reduced_her.agents.fast_plain_ddpg import FastPlainDDPG
from papers.bias_reduced_her.evidence.experiments import BUDGET
from papers.bias_reduced_her.instructional import Grid, UniformGoals, divergence, target_distribution
from papers.bias_reduced_her.train import METHODS, Config, Episode, Trainer, main
from tests.papers.runs import assert_refused, assert_resumes, rows

TINY = BUDGET.smoke
CURVES = {"success", "distance", "q_estimate", "return"}


class Dart(gymnasium.Env):
    """A goal environment of another make: a dart lands where the action says, and stays there until the next one. It
    begins anywhere.

    Success ends nothing, goals have `size` dimensions, and the box of goals is announced only if there are two.
    """

    def __init__(self, size: int = 2):
        if size == 2:
            self.goal_low, self.goal_high = np.full(2, 0.2), np.full(2, 0.8)
        self.size = size
        box = spaces.Box(0.0, 1.0, (size,), np.float32)
        self.observation_space = spaces.Dict(observation=box, achieved_goal=box, desired_goal=box)
        self.action_space = spaces.Box(-1.0, 1.0, (size,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.goal = self.np_random.uniform(0.2, 0.8, self.size).astype(np.float32)
        self.place = self.np_random.uniform(0.0, 1.0, self.size).astype(np.float32)
        return self._observe(), {}

    def step(self, action):
        self.place = (0.5 + 0.5 * np.asarray(action)).astype(np.float32)
        return self._observe(), float(self.compute_reward(self.place, self.goal, None)), False, False, {}

    def compute_reward(self, achieved, desired, info):
        return (np.linalg.norm(achieved - desired, axis=-1) < 0.1) - 1.0

    def _observe(self):
        return {"observation": self.place, "achieved_goal": self.place, "desired_goal": self.goal}


class Flat(gymnasium.Env):
    """No goals: observations are numbers."""

    observation_space, action_space = spaces.Box(0, 1, (3,), np.float32), spaces.Box(-1, 1, (1,), np.float32)


class NoReward(Flat):
    """Goals, but no way to ask for the reward of another one."""

    observation_space = Dart().observation_space


class Wide(Dart):
    """Actions from -2 to 2."""

    def __init__(self):
        super().__init__()
        self.action_space = spaces.Box(-2.0, 2.0, (2,), np.float32)


ENVS = {"Dart": Dart, "Dart1": lambda: Dart(size=1), "Flat": Flat, "NoReward": NoReward, "Wide": Wide, "OneDart": Dart}


@pytest.fixture(autouse=True)
def these_environments():
    for name, make in ENVS.items():
        gymnasium.register(f"tests{name}-v0", entry_point=make, max_episode_steps=1 if name == "OneDart" else 10)
    yield
    for name in ENVS:
        del gymnasium.registry[f"tests{name}-v0"]


def config(**settings) -> Config:
    return Config(**(TINY | settings))


def trainer(**settings) -> Trainer:
    return Trainer(config(**settings))


# --- whole runs ------------------------------------------------------------------------------------------------------


LONGER = dict(epochs=3, sigma_cycles=1, capacity=700)  # sigma falls, and the memory wraps round
VARIANTS = {
    **{method: dict(method=method) for method in [*METHODS, "none"]},
    "wall": dict(env="HandWall"),
    "robot": dict(env="Robot"),
    "redrawn": dict(redraw=True),
    "moving goals": dict(goals="moving"),
    "another environment": dict(env="testsDart-v0", method="filtered-her", end_at_success=False),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_interrupted_and_resumed_equals_uninterrupted(name, tmp_path, monkeypatch):
    """Stopped in the last epoch, with a checkpoint of the second. Also: one seed, one result."""
    settings = config(**(LONGER | VARIANTS[name]))
    summary = assert_resumes(train, settings, tmp_path, monkeypatch, kills=[20], saved=16, save_every=1)

    # and what a run of each method and task leaves behind
    assert set(summary) == CURVES | {"kl", "episodes"} and summary["episodes"] == 24
    assert 0 <= summary["success"] <= 1 and -50 <= summary["return"] <= 0 and 0 < summary["distance"] < 1.5
    found = rows(tmp_path / "whole")
    assert {(step, m) for step, m, _ in found if m in CURVES | {"kl"}} == {
        (step, m) for step in ("8", "16", "24") for m in CURVES | {"kl"}
    }
    once = {m: float(value) for step, m, value in found if m not in CURVES | {"kl"} and step == "24"}
    if settings.method in ("her", "her-ibs", "none"):
        assert once["virtual_per_step"] == (0 if settings.method == "none" else 4)
    virtual = [value for m, value in once.items() if m.startswith("virtual ")]
    assert sum(virtual) == pytest.approx(0 if settings.method == "none" else 1, abs=1e-3)
    starts = {f"{m} {start}" for m in ("success", "q_estimate", "return") for start in ("held", "ground")}
    assert (starts <= set(once)) == (name != "another environment")


def test_evaluations_come_every_so_many_epochs_and_at_the_end(tmp_path):
    main(config(epochs=5, eval_every=2), tmp_path)
    assert [step for step, metric, _ in rows(tmp_path) if metric == "success"] == ["16", "32", "40"]


def test_another_seed_gives_another_run(tmp_path):
    for seed in (0, 1):
        main(config(seed=seed), tmp_path / str(seed))
    assert rows(tmp_path / "0") != rows(tmp_path / "1")


def test_no_learning_before_there_is_a_batch():
    """A cycle of one episode of 10 steps, without virtual goals: learning begins with the seventh."""
    one = trainer(env="testsDart-v0", method="none", episodes=1, batch_size=64, end_at_success=False)
    losses = [one.cycle() for _ in range(8)]
    assert losses[:6] == [0] * 6 and min(losses[6:]) > 0
    assert one.sampler.calls == 2 * 5


def episodes_of(one: Trainer, n: int = 4) -> list[Episode]:
    """The first n episodes of a trainer that does not learn."""
    found: list[Episode] = []
    one.store, one.learn = lambda e, *goals: found.append(e), lambda slots, weights: 0.0
    while len(found) < n:
        one.cycle()
    return found[:n]


def test_methods_share_everything_but_virtual_goals():
    """Same first weights, same first episodes; and each has its own switches."""
    trainers = {method: trainer(method=method) for method in [*METHODS, "none"]}
    kept = {"filtered-her": "filtered", "filtered-her-ibs": "filtered", "her-thinned": "thinned"}
    first = episodes_of(trainers["her"])
    for method, one in trainers.items():
        assert one.hindsight.keep == kept.get(method, "all")
        assert (one.hindsight.instruction is not None) == method.endswith("ibs")
        assert one.hindsight.proposal is one.proposal
        assert one.hindsight.k == (0 if method == "none" else 4)
        assert torch.equal(one.agent.actor.layers[0].weight, trainers["her"].agent.actor.layers[0].weight)
        for mine, his in zip(episodes_of(one) if method != "her" else first, first):
            np.testing.assert_array_equal(mine.states, his.states)
            np.testing.assert_array_equal(mine.actions, his.actions)


# --- what is stored --------------------------------------------------------------------------------------------------


def made_up(length: int, terminated: bool = True, seed: int = 0) -> Episode:
    """An episode with a ball that goes along a line, 0.05 per step, and a goal at its end."""
    rng = np.random.default_rng(seed)
    achieved = np.array([[0.1 + 0.05 * t, 0.3] for t in range(length + 1)], np.float32)
    rewards = np.array([-1.0] * (length - 1) + [0.0])
    states, actions = rng.random((length + 1, 9)), rng.uniform(-1, 1, (length, 3))
    return Episode(states.astype(np.float32), achieved, achieved[-1], actions.astype(np.float32), rewards, terminated)


@pytest.mark.parametrize("terminated", [True, False])
@pytest.mark.parametrize("end_at_success", [True, False])
def test_stored_transitions_by_hand(end_at_success, terminated):
    one, e = trainer(end_at_success=end_at_success), made_up(6, terminated)
    steps = np.array([0, 0, 3, 5, 2])
    goals = e.achieved[[1, 4, 5, 6, 6]]
    one.hindsight = lambda achieved: (steps, goals)
    one.store(e, *one.hindsight(e.achieved))
    assert len(one.memory) == 6 + 5 and (one.steps_done, one.virtual_done, one.episodes_done) == (6, 5, 1)
    stored = one.memory.get(np.arange(11))
    assert all(value.dtype == np.float32 for value in stored.values())
    for row, (t, goal) in enumerate([*((t, e.goal) for t in range(6)), *zip(steps, goals)]):
        np.testing.assert_array_equal(stored["inputs"][row], [*e.states[t], *goal])
        np.testing.assert_array_equal(stored["next_inputs"][row], [*e.states[t + 1], *goal])
        np.testing.assert_array_equal(stored["action"][row], e.actions[t])
    assert stored["reward"].tolist() == [-1, -1, -1, -1, -1, 0] + [0, -1, -1, 0, -1]
    virtual_ends = [1, 0, 0, 1, 0] if end_at_success else [0, 0, 0, 0, 0]
    assert stored["terminal"].tolist() == [0, 0, 0, 0, 0, int(terminated)] + virtual_ends
    assert (one.sampler.tree[:11] == 1).all() and one.sampler.tree.total == 11


def test_inputs_are_scaled_by_what_every_method_sees():
    """Statistics of all states but the first, each with the real goal and with the one that it achieves."""
    seen = []
    for method in ("her", "filtered-her-ibs", "none"):
        one, e = trainer(method=method), made_up(6)
        one.store(e, *one.hindsight(e.achieved))
        everything = [[*e.states[t], *goal] for t in range(1, 7) for goal in (e.goal, e.achieved[t])]
        np.testing.assert_allclose(one.scale.mean, np.mean(everything, axis=0), rtol=1e-5)
        np.testing.assert_allclose(one.scale.deviation, np.maximum(np.std(everything, axis=0), 0.01), rtol=1e-5)
        seen.append(one.scale.mean)
        expected = (np.array([[*e.states[0], *e.goal]]) - one.scale.mean) / one.scale.deviation
        np.testing.assert_allclose(one.inputs(e.states[:1], e.goal[None]), np.clip(expected, -5, 5), rtol=1e-5)
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[0], seen[2])


def test_learning_replays_what_the_sampler_chose(monkeypatch):
    one, heard = trainer(env="testsDart-v0", method="her"), {}
    for seed in range(5):
        for e in one.play(one.worlds, np.arange(4) + 4 * seed, lambda inputs: np.zeros((4, 2), np.float32)):
            one.store(e, *one.hindsight(e.achieved))
    slots, weight = np.arange(64)[::-1].copy(), np.linspace(0.1, 1, 64).astype(np.float32)
    monkeypatch.setattr(one.sampler, "update", lambda indices, signals: heard.update(indices=indices, **signals))
    monkeypatch.setattr(one.agent, "update", lambda b, w: heard.update(batch=b, weights=w) or (0.5, np.ones(64)))
    assert one.learn(slots, weight) == 0.5
    for name in ("action", "reward", "terminal"):
        np.testing.assert_array_equal(getattr(heard["batch"], name), one.memory[name][:64][::-1])
    for name in ("inputs", "next_inputs"):
        scaled = np.clip((one.memory[name][:64][::-1] - one.scale.mean) / one.scale.deviation, -5, 5)
        np.testing.assert_allclose(getattr(heard["batch"], name), scaled, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(heard["weights"], weight)
    assert heard["indices"] is slots and heard["td_error"].tolist() == [1] * 64


# --- acting and schedules --------------------------------------------------------------------------------------------


def test_exploration_fades_with_the_epochs(monkeypatch):
    one, asked = trainer(cycles=3), []
    expected = {0: 1.0, 2: 1.0, 3: 0.95, 5: 0.95, 6: 0.95**2, 174: 0.95**58, 177: 0.05, 600: 0.05}
    for cycles_done, epsilon in expected.items():
        one.cycles_done = cycles_done
        assert one.epsilon == pytest.approx(epsilon)
    explore = one.agent.explore
    monkeypatch.setattr(
        one.agent,
        "explore",
        lambda inputs, **given: asked.append((inputs, given["epsilon"])) or explore(inputs, **given),
    )
    one.cycle()
    assert {epsilon for _, epsilon in asked} == {0.05} and len(asked) == 50


def test_what_the_agent_sees_is_state_and_goal_side_by_side(monkeypatch):
    one, seen = trainer(env="testsDart-v0", method="none"), []
    one.scale = lambda inputs: inputs
    episodes = one.play(one.worlds, np.array([2, 4, 6, 8]), lambda inputs: seen.append(inputs) or np.zeros((4, 2)))
    for i, e in enumerate(episodes):
        for t in range(len(e.actions)):
            np.testing.assert_array_equal(seen[t][i], [*e.states[t], *e.goal])


def test_episodes_played_side_by_side_are_those_played_alone():
    """Hands, each with its own seed, until the last has ended; the policy looks at its own inputs alone."""

    def policy(inputs):
        return np.stack([np.sin(7 * inputs[:, i] + 3 * inputs[:, -1 - i]) for i in range(3)], axis=1).astype(np.float32)

    one = trainer(method="none")
    together = one.play(one.worlds, np.arange(4), policy)
    for seed, e in enumerate(together):
        env = Hand()
        seen, _ = env.reset(seed=seed)
        np.testing.assert_array_equal(e.states[0], seen["observation"])
        np.testing.assert_array_equal(e.goal, seen["desired_goal"])
        for t, action in enumerate(e.actions):
            seen, reward, terminated, _, _ = env.step(action)
            np.testing.assert_array_equal(e.states[t + 1], seen["observation"])
            np.testing.assert_array_equal(e.achieved[t + 1], seen["achieved_goal"])
            assert e.rewards[t] == reward
        assert len(e.actions) == 50 or terminated
        assert e.terminated == terminated


def test_sigma_falls_with_the_cycles():
    """As a standard deviation, and as the variance that the text of the paper writes."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for squared, values in found.items():
        one = trainer(sigma_cycles=3, episodes=1, updates=1, batch_size=2, sigma_squared=squared)
        for _ in range(7):
            one.cycle()
            values.append(one.instruction.variance)
    np.testing.assert_allclose(found[True], [2, 2, 1.8, 1.8, 1.8, 1.62, 1.62])
    np.testing.assert_allclose(found[False], np.array([2, 2, 1.8, 1.8, 1.8, 1.62, 1.62]) ** 2)
    assert one.instruction.variance_end == pytest.approx(0.04)
    assert Config().sigma_cycles == 50 and not Config().sigma_squared


def test_targets_move_once_per_cycle(monkeypatch):
    one, moves = trainer(), []
    monkeypatch.setattr(one.agent, "average_targets", lambda: moves.append(one.sampler.calls))
    one.cycle(), one.cycle()
    assert moves == [5, 10]


def test_beta_reaches_1_with_the_last_update():
    one = trainer(epochs=3, cycles=4, updates=5)
    assert one.sampler.beta == 0.4
    one.sampler.calls = 59
    assert one.sampler.beta < 1
    one.sampler.calls = 60
    assert one.sampler.beta == 1


@pytest.mark.parametrize("end_at_success", [True, False])
def test_success_ends_an_episode_or_not(end_at_success):
    """In an environment that does not end itself. Its time-out is never a terminal transition."""
    one, steps = trainer(env="testsDart-v0", method="none", end_at_success=end_at_success), []
    one.scale = lambda inputs: inputs
    one.scale.add = lambda inputs: None

    def towards_the_goal(inputs):
        steps.append(1)
        return (2 * inputs[:, 2:] - 1) if len(steps) >= 3 else -np.ones((4, 2), np.float32)

    for e in one.play(one.worlds, np.arange(4), towards_the_goal):
        one.store(e, *one.hindsight(e.achieved))
        assert len(e.actions) == (3 if end_at_success else 10)
        assert len(e.states) == len(e.achieved) == len(e.actions) + 1 == len(e.rewards) + 1
        assert e.terminated == end_at_success
        assert e.rewards.tolist() == [-1, -1, 0] + ([] if end_at_success else [0] * 7)
    n = 4 * (3 if end_at_success else 10)
    assert one.memory["terminal"][:n].tolist() == ([0, 0, 1] * 4 if end_at_success else [0] * n)


# --- goals of another distribution -----------------------------------------------------------------------------------


def test_goals_of_a_mixture_are_what_is_played_and_evaluated():
    one, low, size = trainer(goals="mixture", eval_episodes=50), np.array([0.65, 0.2]), 0.3
    for worlds, n in ((one.worlds, 4), (one.tests, 50)):
        for e in one.play(worlds, np.arange(n), lambda inputs: np.zeros((len(inputs), 3), np.float32)):
            a, b = (e.goal - low) / size
            assert min(np.hypot(a - 0.25, b - 0.75), np.hypot(a - 0.75, b - 0.25)) < 0.45


def test_goals_that_move_move_the_target_at_half_of_the_training():
    """From one diagonal of the box to the other; what was stored stays."""
    one = trainer(goals="moving", epochs=2, cycles=2, sigma=0.05, sigma_end=0.05, grid=20)
    low, size, peaks = np.array([0.65, 0.2]), 0.3, []
    for _ in range(4):
        one.cycle()
        best = one.proposal.grid.centres[one.instruction.target.argsort()[-2:]]
        peaks.append(np.sign(((best - low) / size - 0.5).prod(axis=1)).tolist())
    assert peaks[0] == [-1, -1] and peaks[1:] == [[1, 1]] * 3, "after the second of four cycles"
    assert one.proposal.counts.sum() == one.virtual_done


# --- evaluation ------------------------------------------------------------------------------------------------------


def test_evaluation_is_greedy_and_compares_with_the_last_target(monkeypatch):
    """Every method with q* of the smallest sigma, also before sigma has got there."""
    found = []
    for method in ("her", "her-ibs"):
        one = trainer(method=method, eval_episodes=2)
        monkeypatch.setattr(one.agent, "explore", None)  # would fail if asked
        one.proposal.add(np.array([[0.7, 0.3]] * 50 + [[0.1, 0.0]] * 10))
        box = UniformGoals(np.array([0.65, 0.2]), np.array([0.95, 0.5]))
        metrics = one.evaluate()
        target = target_distribution(Grid((10, 10)), box, 0.2**2)
        assert metrics["kl"] == pytest.approx(divergence(target, one.proposal.smoothed), rel=1e-4)
        found.append(metrics)
    assert found[0] == found[1]


def test_training_and_evaluation_never_draw_the_same_start(monkeypatch):
    """Training has even seeds, evaluation odd ones: at one time the same, later others. Methods have the same."""
    drawn: list[int] = []
    reset = ThrowingVector.reset
    monkeypatch.setattr(
        ThrowingVector,
        "reset",
        lambda self, *, seed, options: drawn.extend(seed) or reset(self, seed=seed, options=options),
    )

    def starts(function) -> list[int]:
        drawn.clear()
        function()
        return drawn.copy()

    played = {}
    for method in ("her", "filtered-her-ibs"):
        one = trainer(method=method, eval_episodes=5)
        training = [start for _ in range(5) for start in starts(one.cycle)]
        first, again = starts(one.evaluate), starts(one.evaluate)
        one.cycle()
        played[method] = training, first, starts(one.evaluate)
        assert first == again
    assert played["her"] == played["filtered-her-ibs"]
    training, first, later = played["her"]
    assert len(set(training)) == 20 and not any(seed % 2 for seed in training)
    assert len({*first, *later}) == 10 and all(seed % 2 for seed in first + later)


def test_evaluating_leaves_training_alone():
    one, other = trainer(goals="moving"), trainer(goals="moving")
    for _ in range(3):
        one.evaluate(), train.measure.at_the_end(one)
        one.cycle(), other.cycle()
    np.testing.assert_array_equal(one.memory["inputs"], other.memory["inputs"])
    assert torch.equal(one.agent.critic.output.weight, other.agent.critic.output.weight)


# --- other environments and bad settings -----------------------------------------------------------------------------


def test_any_goal_environment_will_do(tmp_path):
    summary = main(config(env="testsDart1-v0", method="filtered-her"), tmp_path)
    assert set(summary) == CURVES | {"episodes"}  # no box of goals, hence no target distribution


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(env="Hnad"), "unknown env 'Hnad' .*; choose from: Hand, .*, FetchSlide or an installed id"),
        (dict(env="CartPole-v1"), "CartPole-v1 is no goal environment: its observations need achieved_goal"),
        (dict(env="testsFlat-v0"), "testsFlat-v0 is no goal environment"),
        (dict(env="testsNoReward-v0"), r"testsNoReward-v0 has no compute_reward\(achieved, desired, info\)"),
        (dict(env="testsWide-v0"), r"testsWide-v0 needs continuous actions in \[-1, 1\], not Box"),
        (dict(env="testsDart1-v0", method="her-ibs"), "her-ibs needs a task with two-dimensional goals from a box"),
        (dict(sigma=0.1), r"sigma\^2 must be positive and fall"),
        (dict(method="her", redraw=True), "redraw draws again what a filter leaves out; her has none"),
        (dict(env="testsDart1-v0", method="her", goals="mixture"), "goals mixture need a task with two-dimensional"),
        (dict(batch_size=1), "batch_size must be at least 2, which batch normalisation needs, not 1"),
        (dict(capacity=249), "a capacity of 249 holds no episode of 50 steps with virtual goals"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_settings_that_cannot_work_are_named(settings, message, tmp_path):
    assert_refused(train, config(**settings), message, tmp_path)


def test_the_smallest_settings_that_are_allowed_do_run(tmp_path):
    smallest = dict(epochs=1, cycles=1, episodes=1, updates=1, batch_size=2, eval_episodes=1, k=0, grid=1, tau=0.0)
    assert main(config(**smallest, capacity=50, epsilon=0.0, per_alpha=0.0, per_beta=0.0), tmp_path)["episodes"] == 1


def test_every_setting_reaches_its_place():
    one = trainer(
        lr=0.01, gamma=0.9, tau=0.2, clip=1.0, action_penalty=0.3, k=3, capacity=999, per_alpha=0.3, per_beta=0.2,
        grid=7, sigma=1.0, sigma_end=0.5, sigma_decay=0.8, floor=0.01, sigma_squared=True, redraw=True, episodes=5,
        eval_episodes=7, noise=0.3, random_actions=0.4,
    )  # fmt: skip
    agent, instruction = one.agent, one.instruction
    assert type(agent) is FastDDPG
    assert (agent.gamma, agent.tau, agent.clip, agent.action_penalty, agent.lr) == (0.9, 0.2, 1.0, 0.3, 0.01)
    assert (agent.noise, agent.random_actions) == (0.3, 0.4)
    assert type(trainer(networks="her").agent) is FastPlainDDPG
    assert (one.hindsight.k, one.memory.capacity, one.sampler.tree.capacity) == (3, 999, 999)
    assert (one.sampler.alpha, one.sampler.beta, one.sampler.clip) == (0.3, 0.2, np.inf)
    assert one.proposal.grid.shape == (7, 7) and one.hindsight.keep == "redrawn"
    assert (instruction.variance, instruction.variance_end, instruction.variance_decay) == (1.0, 0.5, 0.8)
    assert instruction.floor == 0.01 and isinstance(one.memory, Ring)
    assert (one.worlds.num_envs, one.tests.num_envs) == (5, 7)


def test_on_another_device_the_agent_is_the_one_of_pytorch(monkeypatch):
    """The meta device has shapes and no numbers; to be made is all that is asked of it."""
    assert type(trainer(device="meta").agent) is DDPG


# --- learning --------------------------------------------------------------------------------------------------------


def hits(method: str, seed: int) -> float:
    """Success of the greedy policy after 40 cycles of 16 darts."""
    one = trainer(
        env="testsOneDart-v0", method=method, seed=seed, episodes=16, updates=20, eval_episodes=50, tau=0.5
    )  # fmt: skip
    for _ in range(40):
        one.cycle()
    return one.evaluate()["success"]


def test_darts_are_learned_in_hindsight_and_not_without():
    """Goals are 3 % of the square each: there are too few real successes to learn from."""
    assert min(hits("filtered-her", seed) for seed in (0, 1)) >= 0.7  # 0.88 to 1 on the processors seen
    assert max(hits("none", seed) for seed in (0, 1)) <= 0.1
