"""One rule for all environments: what is no action, no reset option and no state is refused in one line, and changes
nothing."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from tests.envs.test_contract import ENVS, IDS, equal

NAN, INF = float("nan"), float("inf")


def refused(call, match=None):
    """What `call` raises: a ValueError of one line."""
    with pytest.raises(ValueError, match=match) as caught:
        call()
    assert "\n" not in str(caught.value)


def bad_actions(space):
    if isinstance(space, Discrete):
        return [-1, int(space.n), 0.5, NAN, INF, None, "up", np.array([0, 1]), np.array([0]), np.float32(NAN)]
    n = space.shape[0]
    some = np.zeros(n, np.float32)
    almost = [np.where(np.arange(n) == n - 1, value, some).astype(np.float32) for value in (NAN, INF, -INF)]
    return [*almost, np.zeros(n + 1, np.float32), some[:-1], some[None], np.float32(0), 0.5, None, "up", ["up"] * n]


@pytest.mark.parametrize(("name", "arguments"), [case[:2] for case in ENVS], ids=IDS)
@pytest.mark.filterwarnings("ignore:.*Casting input x to numpy array")  # gymnasium's, of an action that is a list
def test_what_is_refused_changes_nothing(name, arguments):
    """The environment goes on as its twin that was not asked."""
    one, two = (gymnasium.make(name, disable_env_checker=True, **arguments).unwrapped for _ in range(2))
    for env in (one, two):
        env.reset(seed=3)
        env.action_space.seed(4)
    for _ in range(3):
        for action in bad_actions(one.action_space):
            refused(lambda action=action: one.step(action))
        refused(lambda: one.reset(seed=5, options={"no such option": 1}), "unknown reset options")
        assert equal(one.step(one.action_space.sample()), two.step(two.action_space.sample()))
    assert equal(one.reset(options={}), two.reset())


def at(index, value):
    """A way to make a bad state: the environment's own with one number replaced."""

    def change(state):
        changed = np.array(state, np.float64)
        changed[index] = value
        return changed

    return change


ANY = [
    at(0, NAN), at(-1, NAN), at(0, INF), at(-1, -INF), lambda state: state[:-1], lambda state: state[None],
    lambda state: "here", lambda state: None, lambda state: [None] * len(state),
]  # fmt: skip
STATES = {
    "PointMaze-v0": [*ANY, at(0, 9.6), at(1, -0.6), at(0, 1e300)],
    "Corridor-v0": [*ANY, at(1, 0.6)],
    "UMaze-v0": [*ANY, lambda state: [1.0, 1.0]],  # solid
    "PixelGrid-v0": [*ANY, at(0, 2), at(0, 0.5), at(-1, 13), at(-2, -1), at(-1, 256)],
    "VoxelBuildSmall-v0": [*ANY, at(0, 4), at(-8, 7), at(-1, 65), at(-1, 0.5), at(-6, 1)],
    "CircularTrack-v0": ANY,
    "AntMaze-v0": [*ANY, at(0, 25.0), at(1, 8.0), at(slice(3, 7), 0.0), at(20, 2000.0), at(-1, -2e6)],
}
GOALS = {"AntMaze-v0": [(0.0, 8.0)], "UMaze-v0": [(1.0, 1.0)], "PixelGrid-v0": [np.full((1, 13, 13), 0.5)]}


@pytest.mark.parametrize("name", STATES)
def test_states_and_goals_that_cannot_be_are_refused(name):
    env, twin = (gymnasium.make(f"envs:{name}", disable_env_checker=True).unwrapped for _ in range(2))
    for one in (env, twin):
        one.reset(seed=3)
    own, goal = env.state.copy(), env.goal.copy()
    for change in STATES[name]:
        refused(lambda change=change: env.reset(seed=4, options={"state": change(own)}))
    wrong = [np.full_like(goal, value) for value in (NAN, INF, 1e6, -1e6)] + [goal[1:], goal[None], None, "there"]
    for one in wrong + GOALS.get(name, []):
        refused(lambda one=one: env.reset(seed=4, options={"goal": one}))
    action = env.action_space.sample()
    assert equal(env.step(action), twin.step(action))
    again, _ = env.reset(options={"state": env.state, "goal": env.goal})  # what it is in itself is right
    assert equal(env.goal, twin.goal) and again in env.observation_space


@pytest.mark.parametrize("name", ["Hand-v1", "HandWall-v1", "Robot-v1"])
@pytest.mark.parametrize(
    "options",
    [{"goal": (0.5, 1.5)}, {"goal": (NAN, 0.5)}, {"goal": "there"}, {"goal": None}, {"held": NAN}, {"held": "yes"},
     {"held": [[True]]}],
)  # fmt: skip
def test_throws_that_cannot_be_are_refused(name, options):
    env = gymnasium.make(f"envs:{name}", disable_env_checker=True).unwrapped
    env.reset(seed=3)
    before = env.state.tobytes(), env.goal.tobytes(), env.np_random.bit_generator.state
    refused(lambda: env.reset(seed=4, options=options))
    assert before == (env.state.tobytes(), env.goal.tobytes(), env.np_random.bit_generator.state)


@pytest.mark.parametrize(
    "options", [{"x_init": NAN}, {"y_init": INF}, {"x_init": -1}, {"y_init": 9}, {"x_init": "far"}]
)
def test_pendulums_that_cannot_be_are_refused(options):
    env = gymnasium.make("envs:SparsePendulum-v0").unwrapped
    env.reset(seed=3)
    before = env.state.copy()
    refused(lambda: env.reset(seed=4, options=options))
    assert equal(env.state, before)
    seen, _ = env.reset(seed=4, options={"x_init": 0.0, "y_init": 0.0})
    assert seen.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("level", [None, NAN, 7, "", "###", [["#"]], np.full((7, 7), NAN), np.zeros((7, 7), np.uint8)])
def test_levels_that_cannot_be_are_refused(level):
    env, twin = (gymnasium.make("envs:Sokoban-v0").unwrapped for _ in range(2))
    for one in (env, twin):
        one.reset(seed=3)
    refused(lambda: env.reset(seed=4, options={"level": level}))
    assert equal(env.reset(), twin.reset())


VECTORS = ["Hand-v1", "HandWall-v1", "Robot-v1", "VoxelBuild-v0", "VoxelBuildSmall-v0"]


@pytest.mark.parametrize("name", VECTORS)
def test_vector_environments_refuse_the_same(name):
    one, two = (gymnasium.make_vec(f"envs:{name}", num_envs=3) for _ in range(2))
    for envs in (one, two):
        envs.reset(seed=3)
        envs.action_space.seed(4)
    right = two.action_space.sample()
    for action in bad_actions(one.single_action_space):
        actions = [*right[:2].tolist(), action]
        refused(lambda actions=actions: one.step(actions))
    for actions in (right[:2], right[None], right[0], None, NAN, "up", right * NAN):
        refused(lambda actions=actions: one.step(actions))
    refused(lambda: one.reset(seed=5, options={"no such option": 1}), "unknown reset options")
    assert equal(one.step(right), two.step(right))
    assert equal(one.reset(), two.reset())
