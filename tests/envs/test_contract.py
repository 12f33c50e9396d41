"""What every environment promises: gymnasium's rules, episodes that follow from a seed, copies, and a window."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import check_env

import envs.nchain  # noqa: F401  (registers itself, as the MiniGrid tasks do)
from envs.bitflip import BitFlip
from envs.goal_task import GoalEnv
from envs.minigrid.tasks import TASKS


def box(low, high, *shape):
    return Box(np.float32(low), np.float32(high), shape or None, np.float32)


def picture(*shape):
    return Box(0, 255, shape, np.uint8)


PUSH, MAZE = box(-0.95, 0.95, 2), box(-0.5, 9.5, 2)
GRID = picture(40, 40, 3)
ENVS = [
    ("envs:BitFlip-v0", dict(n=7), Discrete(7), box(0, 1, 7)),  # with 5, the check happens to give up at once
    ("envs:BitFlip-v0", dict(n=7, quit="terminal"), Discrete(8), box(0, 1, 7)),
    ("envs:BitFlipBox-v0", dict(n=7), box(-1, 1, 7), box(0, 1, 7)),
    ("envs:BitFlipBox-v0", dict(n=7, quit="timeout"), box(-1, 1, 8), box(0, 1, 7)),
    ("envs:PointMaze-v0", {}, PUSH, MAZE),
    ("envs:Corridor-v0", {}, PUSH, box([-0.5, -0.5], [10.5, 0.5])),
    ("envs:UMaze-v0", dict(length=3), PUSH, box([-0.5, -0.5], [3.5, 2.5])),
    ("envs:TreeMaze-v0", dict(size=4, seed=2), PUSH, box(-0.5, 3.5, 2)),
    ("envs:PixelGrid-v0", {}, Discrete(9), box(0, 1, 2, 13, 13)),
    ("envs:PixelGrid-v0", dict(size=7, max_steps=25), Discrete(9), box(0, 1, 2, 7, 7)),
    ("envs:VoxelBuild-v0", {}, Discrete(21), None),
    ("envs:VoxelBuildSmall-v0", dict(picture=(24, 36)), Discrete(21), None),
    ("envs:CircularTrack-v0", {}, box(-1, 1, 1), None),
    ("envs:AntMaze-v0", {}, box(-30, 30, 8), None),
    ("envs:AntMazeSmall-v0", {}, box(-30, 30, 8), None),
    ("envs:AntArena-v0", {}, box(-30, 30, 8), None),
    ("envs:Hand-v1", {}, box(-1, 1, 3), None),
    ("envs:HandWall-v1", {}, box(-1, 1, 3), None),
    ("envs:Robot-v1", {}, box(-1, 1, 3), None),
    ("envs:SparsePendulum-v0", {}, box(-1, 1, 1), None),
    ("envs:WakeFlow-v0", {}, box(-1, 1, 3), box(-10, 10, 14)),
    ("envs:Sokoban-v0", {}, Discrete(8), picture(84, 84, 3)),
    ("envs:Sokoban-v0", dict(shape=(5, 7), boxes=1, pixels=40), Discrete(8), picture(40, 40, 3)),
    ("envs:Atari-v0", dict(game="Qbert"), Discrete(6), picture(84, 84)),
    ("NChain-v0", dict(n=6), Discrete(2), Discrete(6)),
    *((f"MiniGridPixels/{task}-v0", {}, Discrete(3 if "Crossing" in task else 7), GRID) for task in TASKS),
    ("MiniGridPixels/Unlock-v0", dict(n_actions=6, random_action_probability=0.3), Discrete(6), GRID),
    ("MiniGridPixels/LavaCrossing-Hard-v0", dict(pseudo_terminal=True), Discrete(3), GRID),
    ("MiniGridPixels/Unlock-v0", dict(observation="codes"), Discrete(7), Box(0, 63, (6, 11), np.uint8)),
    ("envs:Sokoban-v0", dict(shape=(5, 7), boxes=1, observation="codes"), Discrete(8), Box(0, 6, (5, 7), np.uint8)),
]
IDS = [" ".join([name.split("-v0")[0].removeprefix("envs:"), *map(str, given.values())]) for name, given, *_ in ENVS]
WITHOUT_CHANCE = ("CircularTrack", "NChain")
"""Each of their episodes begins alike."""


def equal(one, two):
    """Of observations, infos, and what `step` returns: the same bytes, shapes and types."""
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(equal(one[name], two[name]) for name in one)
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(equal, one, two))
    a, b = np.asarray(one), np.asarray(two)
    return type(one) is type(two) and (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def play(env, n, seed):
    """Yields what is seen in n random steps, and after each end of an episode."""
    env.action_space.seed(seed)
    for _ in range(n):
        seen = env.step(env.action_space.sample())
        yield seen
        if seen[2] or seen[3]:
            yield env.reset()


@pytest.mark.filterwarnings("ignore:.*For Box action spaces, we recommend")  # the ant's torques have their units
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "arguments", "actions", "observations"), ENVS, ids=IDS)
def test_gymnasium_accepts_it(name, arguments, actions, observations, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")  # the check opens windows, too
    for kind in (GoalEnv, BitFlip):
        monkeypatch.setitem(kind.metadata, "render_fps", 1000)
    env = gymnasium.make(name, **arguments)
    check_env(env.unwrapped)
    assert env.action_space == actions
    seen = env.observation_space
    if observations is not None:
        assert (seen["observation"] if isinstance(seen, gymnasium.spaces.Dict) else seen) == observations


@pytest.mark.parametrize(("name", "arguments"), [case[:2] for case in ENVS], ids=IDS)
def test_the_seed_decides_and_copies_go_on_alike_and_what_was_seen_stays(name, arguments):
    """Whatever was played before, and whatever other generators do; pickled in the middle, too."""
    one, two = (gymnasium.make(name, disable_env_checker=True, **arguments) for _ in range(2))
    two.reset(seed=77)
    list(play(two, 40, 1))
    first, second, other = one.reset(seed=3), two.reset(seed=3), copy.deepcopy(two.reset(seed=4))
    two.reset(seed=3)
    assert equal(first, second)
    assert equal(first, other) == any(word in name for word in WITHOUT_CHANCE)
    kept = [(first, copy.deepcopy(first))]
    for n, seed in ((60, 2), (150, 3)):
        for ours, theirs in zip(play(one, n, seed), play(two, n, seed), strict=True):
            np.random.seed(len(kept))  # noqa: NPY002
            assert equal(ours, theirs)
            kept.append((ours, copy.deepcopy(ours)))
        two = pickle.loads(pickle.dumps(one))
    assert all(equal(*pair) for pair in kept)


@pytest.mark.filterwarnings("ignore")  # moviepy's own
@pytest.mark.parametrize(("name", "arguments"), [case[:2] for case in ENVS], ids=IDS)
def test_its_episodes_can_be_recorded(name, arguments, tmp_path):
    """With the group `video` of pyproject.toml."""
    pytest.importorskip("moviepy")
    env = gymnasium.make(name, render_mode="rgb_array", disable_env_checker=True, **arguments)
    film = gymnasium.wrappers.RecordVideo(env, str(tmp_path))
    film.reset(seed=0)
    list(zip(range(3), play(film, 3, 0)))
    film.close()
    assert next(tmp_path.glob("*.mp4")).stat().st_size > 0


@pytest.mark.parametrize(("name", "scale"), [("BitFlip", 1), ("PixelGrid", 1), ("VoxelBuildSmall", 1), ("Sokoban", 2)])
def test_a_window_shows_the_picture(name, scale, monkeypatch):
    """With SDL's driver without a screen. It can be closed twice."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    monkeypatch.setattr(pygame.time, "wait", lambda milliseconds: None)
    human, still, blind = (
        gymnasium.make(f"envs:{name}-v0", render_mode=mode).unwrapped for mode in ("human", "rgb_array", None)
    )
    for env in (human, still, blind):
        env.reset(seed=0)
    for action in (0, 2, 1, 3):
        surface = pygame.display.get_surface()
        shown = pygame.surfarray.array3d(surface).swapaxes(0, 1)
        np.testing.assert_array_equal(shown, np.kron(still.render(), np.ones((scale, scale, 1), np.uint8)))
        for env in (human, still):
            env.step(action)
        assert pygame.display.get_surface() is surface
    assert human.render() is None and blind.render() is None
    human.close()
    human.close()
    assert not pygame.display.get_init()
