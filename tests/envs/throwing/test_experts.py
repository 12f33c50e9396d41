"""The scripted experts, and the criteria by which the lengths, speeds and times of the ball-throwing tasks were chosen.

They were set before any learner was run, so that the tasks are possible, and hard for the reason they should be:

(a) whoever grabs the ball, swings and lets go at the computed moment succeeds in at least 95 % of the episodes;
(b) who acts at random grips a ball that starts free in 5 to 30 % of the episodes, so that there is something to learn
    from, and succeeds in less than 1 %, so that there is something to learn;
(c) the ball can be thrown to every point of the box of black holes without exceeding the speed limits;
(d) in HandWall, no straight line from the hand's workspace to the centre of a black hole passes over the wall: only an
    arc does;
(e) in HandWall, the wall is no higher than chance passes: acting at random with the ball in hand brings it across the
    wall's place in at least 2 % of the episodes.
"""

import itertools
import math

import numpy as np
import pytest
from numba import njit

from envs.throwing.experts import HandExpert, RobotExpert, _first_hit, swing
from envs.throwing.physics import (
    DT,
    GRIP,
    HAND_SPEED,
    JOINT_SPEED,
    NO_WALL,
    WALL,
    WORKSPACE,
    fly,
    forward_kinematics,
    hand_step,
    robot_step,
)
from envs.throwing.tasks import GOAL_BOX, MAX_STEPS, TOLERANCE, Hand, HandWall, Robot

TASKS = [Hand, HandWall, Robot]
EXPERTS = {Hand: HandExpert(), HandWall: HandExpert(WALL), Robot: RobotExpert()}
X, Y = (np.linspace(*GOAL_BOX[i : i + 2], 7) for i in (0, 2))
GOALS = [np.array(goal) for goal in itertools.product(X, Y)]


def play(env, seed=0, **options):
    """Was the episode a success? And the ball's places [steps, 2]."""
    observation, _ = env.reset(seed=seed, options=options)
    places = []
    for _ in range(MAX_STEPS):
        action = EXPERTS[type(env)](observation["observation"], observation["desired_goal"])
        assert action.shape == (3,) and abs(action).max() <= 1
        observation, _, success, _, _ = env.step(action)
        places.append(observation["achieved_goal"])
        if success:
            break
    return success, np.array(places)


@pytest.mark.parametrize("task", TASKS)
def test_a_experts_succeed(task):
    env = task()
    for held in (True, False):
        assert np.mean([play(env, seed, held=held)[0] for seed in range(60)]) >= 0.95


@njit
def at_random(step, wall, states, goals, actions, gripper, ball, tolerance):
    """Which episodes [n] had the ball held, beyond x = 0.5, and in the black hole. Actions are [n, steps, 3]."""
    held, across, success = np.zeros((3, len(states)), np.bool_)
    for i in range(len(states)):
        state = states[i]
        for t in range(actions.shape[1]):
            step(state, actions[i, t], *wall)
            x, y = state[ball], state[ball + 1]
            held[i] |= state[ball - 1] == 1 and x == state[gripper] and y == state[gripper + 1]
            across[i] |= x > 0.5
            if math.hypot(x - goals[i, 0], y - goals[i, 1]) < tolerance:
                success[i] = True
                break
    return held, across, success


@pytest.mark.parametrize("task", TASKS)
def test_b_and_e_chance_grips_and_throws_sometimes_and_hardly_ever_succeeds(task):
    n = 20_000
    env, rng = task(), np.random.default_rng(0)
    started_held = rng.random(n) < 0.5
    states = np.empty((n, len(env.state)))
    goals = np.array([env.begin(state, rng, held) for state, held in zip(states, started_held)])
    actions = rng.uniform(-1, 1, (n, MAX_STEPS, 3))
    step, wall, gripper = (robot_step, (), 2) if task is Robot else (hand_step, env.wall, 0)
    held, across, success = at_random(step, wall, states, goals, actions, gripper, env.ball.start, TOLERANCE)
    assert 0.05 <= held[~started_held].mean() <= 0.30
    assert success.mean() < 0.01
    assert across[started_held].mean() >= 0.02


@pytest.mark.parametrize("task", TASKS)
def test_c_every_goal_can_be_met(task):
    env = task()
    missed = [goal for goal in GOALS if not play(env, held=True, goal=goal)[0]]
    assert not missed


def test_d_no_straight_line_passes_over_the_wall():
    wall, top = WALL
    corners = (itertools.product(box[:2], box[2:]) for box in (WORKSPACE, GOAL_BOX))
    for (x0, y0), (x1, y1) in itertools.product(*corners):  # the height of a line is largest between two corners
        assert x0 < wall < x1
        assert y0 + (y1 - y0) * (wall - x0) / (x1 - x0) < top


def test_the_experts_throw_goes_over_the_wall_and_without_the_wall_below_it():
    for task, over in ((HandWall, True), (Hand, False)):
        _, places = play(task(), held=True, goal=(0.8, 0.25))
        [beside] = np.nonzero(np.diff(places[:, 0] > WALL[0]))
        assert (places[beside[0], 1] > WALL[1]) == over


@pytest.mark.parametrize("wall", [NO_WALL, WALL])
def test_swings_meet_their_goal(wall):
    """After the step of the swing, the ball is on the parabola that starts where and as fast as the swing did."""
    for goal in GOALS:
        velocity = swing(HandExpert.start, goal, wall)
        assert abs(velocity).max() <= HAND_SPEED
        ball = (*(HandExpert.start + velocity * DT), *velocity)
        flight = [fly(*ball, t * DT, *wall) for t in range(1, MAX_STEPS)]
        assert min(math.dist(place[:2], goal) for place in flight) < 1e-6


def test_a_swing_that_nobody_can_make():
    assert swing(HandExpert.start, np.array([0.9, 0.1]), (0.5, 0.99)) is None
    expert, env = HandExpert((0.5, 0.99)), Hand()
    observation, _ = env.reset(seed=0, options={"held": True})
    action = expert(observation["observation"], observation["desired_goal"])
    assert action.tolist() == [0, 0, 1]  # it keeps the ball


def test_the_robot_expert_takes_a_throw_with_the_shortest_flight():
    expert = EXPERTS[Robot]
    for goal in GOALS[::6]:
        misses = np.linalg.norm(expert.throws - goal, axis=2)
        [steps] = np.nonzero((misses < expert.tolerance).any(axis=1))
        chosen = _first_hit(expert.throws, *goal, expert.tolerance)
        assert misses[steps[0], chosen] < expert.tolerance
    assert _first_hit(expert.throws, 0.999, 0.999, 0.001) == 0  # none


def test_the_robot_expert_knows_where_its_throws_go():
    expert = EXPERTS[Robot]
    for i in range(0, 20_000, 4000):
        state = np.zeros(13)
        state[0:2] = expert.angles[i]
        state[2:4] = state[9:11] = forward_kinematics(*expert.angles[i], 0.0, 0.0)[:2]
        robot_step(state, np.array([*(expert.speeds[i] / JOINT_SPEED), 1.0]))
        for place in expert.throws[:, i]:
            robot_step(state, np.array([0.0, 0.0, -1.0]))
            assert state[9:11] == pytest.approx(place, abs=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_experts_open_a_gripper_that_is_closed_beside_the_ball(task):
    env, expert = task(), EXPERTS[task]
    gripper = slice(2, 4) if task is Robot else slice(0, 2)
    observation, _ = env.reset(seed=1, options={"held": False})
    for _ in range(60):  # slowly to where the expert goes, and always closed
        action = expert(observation["observation"], observation["desired_goal"])
        observation, *_ = env.step(np.array([0.3 * action[0], 0.3 * action[1], 1.0]))
        if 1e-3 < math.dist(env.state[gripper], env.state[env.ball]) < GRIP:
            break
    else:
        raise AssertionError("it did not come near the ball")
    successes, grippers = [], []
    for _ in range(MAX_STEPS):
        action = expert(observation["observation"], observation["desired_goal"])
        observation, _, success, *_ = env.step(action)
        successes.append(success)
        grippers.append(action[2])
    assert any(successes) and grippers[:2] == [-1, 1]


def test_experts_keep_no_state():
    for task, expert in EXPERTS.items():
        env = task()
        observations = [env.reset(seed=seed)[0] for seed in range(4)]
        first, second = (
            [expert(seen["observation"], seen["desired_goal"]) for seen in observations[::order]] for order in (1, -1)
        )
        assert np.array_equal(first, second[::-1])
