"""Atari: against the raw emulator and a plain resizing, and the rules of lives against scripted games."""

import math
import pickle
import subprocess
import sys
from fractions import Fraction

import ale_py
import gymnasium
import numpy as np
import pytest
from ale_py import roms
from hypothesis import given, settings
from hypothesis import strategies as st

from envs import atari
from envs.atari import GAMES, MAX_NOOPS, NOOP, SIZE, Atari, _shrink, neighbours

ACTIONS = {
    "Alien": 18, "Amidar": 10, "Assault": 7, "Asterix": 9, "BattleZone": 18, "Boxing": 18, "ChopperCommand": 18,
    "Freeway": 3, "Frostbite": 18, "KungFuMaster": 14, "MsPacman": 9, "Pong": 6, "PrivateEye": 18, "Qbert": 6,
    "RoadRunner": 18, "Seaquest": 18,
}  # fmt: skip
"""How many actions have an effect, by game."""


def raw_game(env):
    """The bare emulator, in the same game and brought to the same frame."""
    ale = ale_py.ALEInterface()
    ale.setInt("random_seed", env._seed)
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("max_num_frames_per_episode", env.max_frames)
    ale.loadROM(roms.get_rom_path(GAMES[env.game]))
    ale.reset_game()
    while ale.getEpisodeFrameNumber() < env.ale.getEpisodeFrameNumber():
        ale.act(NOOP)
    return ale


def shrink(*screens):
    out = np.empty((SIZE, SIZE), np.uint8)
    _shrink(np.stack(screens), neighbours(screens[0].shape[0]), neighbours(screens[0].shape[1]), out)
    return out


def play(env, steps, seed=0):
    """Yields what `step` returns, over as many episodes as it takes."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        outcome = env.step(rng.integers(env.action_space.n))
        yield outcome
        if outcome[2] or outcome[3]:
            env.reset()


def until_a_life_is_lost(env):
    """Plays at random to the first end of an episode at which the game is not over."""
    rng = np.random.default_rng(0)
    while not env.step(rng.integers(env.action_space.n))[4]["life_lost"]:
        pass


def same(first, second):
    return np.array_equal(first[0], second[0]) and first[1:] == second[1:]


# --- gymnasium --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("game", ACTIONS)
def test_only_actions_with_an_effect_are_offered(game):
    env = Atari(game)
    frame, info = env.reset(seed=0)
    assert env.action_space.n == ACTIONS[game] and env.observation_space.contains(frame)
    assert (info["lives"] == 0) == (game in ("Boxing", "Freeway", "Pong", "PrivateEye"))


def test_every_game_that_ale_can_run_has_the_name_that_gymnasium_gives_it():
    known = {name.removeprefix("ALE/").removesuffix("-v5") for name in gymnasium.registry if name.startswith("ALE/")}
    assert set(GAMES) == known and len(known) > 90


def test_pictures(capfd):
    env = Atari("Pong", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (210, 160, 3) and env.render().dtype == np.uint8
    assert Atari("Pong").render() is None
    assert capfd.readouterr() == ("", "")  # no banner


# --- from the emulator's frames to the agent's ------------------------------------------------------------------------
@pytest.mark.parametrize("game", ["Seaquest", "Pong", "Pooyan"])
def test_a_step_is_four_frames_the_sum_of_their_rewards_and_the_maximum_of_the_last_two(game):
    env = Atari(game, training=False)
    env.reset(seed=2)
    raw = raw_game(env)
    actions = raw.getMinimalActionSet()
    flickered = pooled_later = rewards = 0
    rng = np.random.default_rng(0)
    for _ in range(250):
        action = rng.integers(len(actions))
        frame, reward, terminated, truncated, info = env.step(action)
        paid, screens = 0, []
        for _ in range(4):
            paid += raw.act(actions[action])
            screens.append(raw.getScreenGrayscale())
        assert np.array_equal(frame, np.maximum(shrink(screens[2]), shrink(screens[3])))
        assert reward == paid and not terminated and not truncated and info["lives"] == raw.lives()
        flickered += not np.array_equal(frame, shrink(screens[3]))
        pooled_later += not np.array_equal(frame, shrink(np.maximum(screens[2], screens[3])))
        rewards += reward != 0
    assert np.array_equal(env.ale.getRAM(), raw.getRAM())
    assert flickered and pooled_later and rewards, "the test has not seen what it is about"


def bilinear(screen, i, j):
    """Pixel (i, j) of the picture shrunken by bilinear interpolation, exactly."""
    y, x = (Fraction(2 * k + 1, 2) * size / SIZE - Fraction(1, 2) for k, size in zip((i, j), screen.shape))
    top, left = math.floor(y), math.floor(x)
    corners = (
        (1 - abs(y - row)) * (1 - abs(x - column)) * int(screen[row, column])
        for row in (top, top + 1)
        for column in (left, left + 1)
    )
    return sum(corners)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([(210, 160), (250, 160), (230, 160), (97, 131)]), st.integers(0, 2**32 - 1))
def test_resizing_is_bilinear_rounded_and_goes_before_the_maximum(shape, seed):
    rng = np.random.default_rng(seed)
    one, two = rng.integers(0, 256, (2, *shape), np.uint8)
    frame = shrink(one, two)
    for i, j in [(0, 0), (83, 83), (0, 83), *rng.integers(SIZE, size=(20, 2))]:
        value = max(bilinear(screen, int(i), int(j)) for screen in (one, two))
        assert frame[i, j] == math.floor(value + Fraction(1, 2))


# --- beginnings and ends ----------------------------------------------------------------------------------------------
def test_a_game_begins_with_0_to_29_frames_without_an_action(pong):
    env = scripted(pong, [3])
    env.np_random = np.random.default_rng(0)
    frames = [env.reset() and env.ale.frame for _ in range(1000)]
    assert set(frames) == set(range(30)) and env.ale.games == 1000 and MAX_NOOPS == 29
    assert set(env.ale.actions) == {NOOP}


def test_a_game_that_is_over_before_its_first_step_begins_again():
    env = Atari("Pong", max_frames=10)
    for _ in range(20):
        env.reset()
        assert not env.ale.game_over()


@pytest.mark.parametrize("limit", [41, 42, 43, 44])
def test_the_limit_of_frames_truncates_also_within_a_step(limit):
    env = Atari("Seaquest", max_frames=limit)
    env.reset(seed=0)
    raw = raw_game(env)
    started = raw.getEpisodeFrameNumber()
    outcomes = []
    while not (outcomes and outcomes[-1][3]):
        outcomes.append(env.step(1))
    screens = []
    while not raw.game_over():
        raw.act(1)
        screens.append(raw.getScreenGrayscale())
    assert env.ale.getEpisodeFrameNumber() == limit and len(outcomes) == -(-(limit - started) // 4)
    assert not any(terminated for _, _, terminated, _, _ in outcomes)
    last = screens[4 * (len(outcomes) - 1) :]  # 1 to 4 of them; the third and the fourth are looked at
    assert np.array_equal(outcomes[-1][0], shrink(*(last[2:] or last[-1:])))
    env.reset()
    assert env.ale.getEpisodeFrameNumber() <= MAX_NOOPS


def test_a_lost_life_ends_an_episode_of_training_and_the_game_goes_on():
    env = Atari("MsPacman")
    env.reset(seed=1)
    raw = raw_game(env)
    actions = raw.getMinimalActionSet()
    rng = np.random.default_rng(0)
    ends = []
    while not ends or ends[-1]["life_lost"]:
        action = rng.integers(len(actions))
        _, _, terminated, truncated, info = env.step(action)
        for _ in range(4):
            if not raw.game_over():
                raw.act(actions[action])
        assert np.array_equal(env.ale.getRAM(), raw.getRAM()) and not truncated
        assert info["life_lost"] == (terminated and not raw.game_over())
        if terminated:
            ends.append(info)
            randomness = env.np_random.bit_generator.state
            frame, begin = env.reset()
            if info["life_lost"]:
                raw.act(NOOP)
                assert np.array_equal(env.ale.getRAM(), raw.getRAM())
                assert env.ale.getEpisodeFrameNumber() == raw.getEpisodeFrameNumber() > 100
                assert np.array_equal(frame, shrink(raw.getScreenGrayscale()))
                assert begin == {"lives": info["lives"], "life_lost": False}
                assert env.np_random.bit_generator.state == randomness
    assert [end["lives"] for end in ends] == [2, 1, 0]  # MsPacman has three
    assert env.ale.getEpisodeFrameNumber() <= MAX_NOOPS, "after the last one, a new game"


def test_a_seed_starts_a_new_game_also_after_a_lost_life():
    env = Atari("MsPacman")
    first, _ = env.reset(seed=1)
    until_a_life_is_lost(env)
    assert np.array_equal(env.reset(seed=1)[0], first) and env.ale.getEpisodeFrameNumber() <= MAX_NOOPS


def test_an_evaluation_plays_whole_games():
    env = Atari("MsPacman", training=False)
    env.reset(seed=1)
    seen = []
    for _, _, terminated, _, info in play(env, 5000):
        seen.append(info["lives"])
        assert not info["life_lost"]
        if terminated:
            break
    assert set(seen) == {3, 2, 1, 0} and seen.index(0) == len(seen) - 1


class Script:
    """Stands in for the emulator: a game with these lives after every frame."""

    def __init__(self, lives, over=None, limit=math.inf):
        self.script, self.over, self.limit, self.frame, self.games = lives, over, limit, 0, 0
        self.actions = []

    def act(self, action):
        self.actions.append(action)
        self.frame += 1
        return 1

    def lives(self):
        return self.script[min(self.frame, len(self.script) - 1)]

    def game_over(self, *, with_truncation=True):
        return self.frame == self.over or (with_truncation and self.frame >= self.limit)

    def getScreenGrayscale(self, out):
        out[:] = self.frame

    def reset_game(self):
        self.frame, self.games = 0, self.games + 1


@pytest.fixture(scope="module")
def pong():
    """Whose emulator the tests replace."""
    return Atari("Pong")


def scripted(pong, lives, training=True, **end):
    """A game with such lives, at its first frame."""
    pong.ale, pong.training, pong._lives, pong._goes_on = Script(lives, **end), training, lives[0], False
    return pong


@pytest.mark.parametrize(("script", "lost"), [
    ([3, 3, 3, 2, 2], True),
    ([3, 3, 3, 3, 2], True),
    ([3, 2, 1, 1, 1], True),  # two at once
    ([3, 2, 3, 3, 3], False),  # only what is left at the end of the step counts
    ([1, 1, 1, 0, 0], False),  # none left: the game will say itself that it is over
    ([0, 11, 11, 11, 11], False),  # Amidar
    ([0, 0, 0, 0, 0], False),  # Pong
    ([2, 3, 3, 3, 3], False),  # won one
])  # fmt: skip
def test_which_lives_are_lost(pong, script, lost):
    env = scripted(pong, script)
    assert env.step(0)[1:] == (4.0, lost, False, {"lives": script[-1], "life_lost": lost})
    in_evaluation = scripted(pong, script, training=False)
    assert in_evaluation.step(0)[2:] == (False, False, {"lives": script[-1], "life_lost": False})


def test_what_was_lost_is_counted_from_the_step_before(pong):
    env = scripted(pong, [2] * 5 + [3] * 4 + [2] * 4)
    assert [env.step(0)[2] for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("frame", [1, 2, 3, 4])
def test_the_end_of_the_game_stops_the_step_and_is_no_lost_life(pong, frame):
    env = scripted(pong, [3, 2, 2, 2, 2], over=frame)
    picture, *outcome = env.step(0)
    assert outcome == [float(frame), True, False, {"lives": 2, "life_lost": False}]
    assert (picture == frame).all()
    env.reset()
    assert env.ale.games >= 1


def test_a_life_lost_at_the_limit_of_frames_terminates_and_the_game_is_not_resumed(pong):
    env = scripted(pong, [3, 3, 3, 3, 2], limit=4)
    assert env.step(0)[2:] == (True, False, {"lives": 2, "life_lost": True})
    env.reset()
    assert env.ale.games >= 1
    only_limit = scripted(pong, [3], limit=4)
    assert only_limit.step(0)[2:] == (False, True, {"lives": 3, "life_lost": False})


def test_a_lost_life_resumes_with_one_frame_and_once(pong):
    env = scripted(pong, [3, 3, 3, 3, 2])
    env.step(0)
    frame, info = env.reset()
    assert (env.ale.frame, env.ale.games, info) == (5, 0, {"lives": 2, "life_lost": False}) and (frame == 5).all()
    env.reset()
    assert env.ale.games == 1


def test_a_game_that_ends_while_it_is_resumed_begins_again(pong):
    env = scripted(pong, [3, 3, 3, 3, 2], limit=5)
    env.step(0)
    env.reset()
    assert env.ale.games >= 1 and env.ale.frame < 5


# --- pickling ---------------------------------------------------------------------------------------------------------
def assert_the_same_from_here(env, twin, steps=40):
    assert np.array_equal(env.ale.getScreenRGB(), twin.ale.getScreenRGB())
    for first, second in zip(play(env, steps), play(twin, steps), strict=True):
        assert same(first, second) and np.array_equal(env.ale.getRAM(), twin.ale.getRAM())
        assert env.ale.getEpisodeFrameNumber() == twin.ale.getEpisodeFrameNumber()


@pytest.mark.parametrize("game", ["Freeway", "Qbert"])
def test_a_copy_of_a_copy_goes_on_identically(game):
    env = Atari(game, max_frames=150)
    env.reset(seed=3)
    twin = pickle.loads(pickle.dumps(env))
    for steps in (0, 10, 60):  # a game that has hardly begun, one in its middle, and one after others
        for each in (env, twin):
            list(play(each, steps))
        twin = pickle.loads(pickle.dumps(twin))
        assert_the_same_from_here(env, twin)


def test_what_must_be_played_again_is_bounded(monkeypatch):
    monkeypatch.setattr(atari, "FRESH", 150)
    env = Atari("Freeway", max_frames=150)
    env.reset(seed=3)
    longest, emulators = 0, set()
    for _ in play(env, 120):
        longest, emulators = max(longest, len(env._played)), emulators | {env.ale}
    assert 150 < longest <= 150 + 2 * (MAX_NOOPS + 1) + 150 and len(emulators) >= 3
    assert_the_same_from_here(env, pickle.loads(pickle.dumps(env)))


def test_a_lost_life_and_the_random_numbers_are_pickled():
    env = Atari("MsPacman")
    env.reset(seed=1)
    until_a_life_is_lost(env)
    twin = pickle.loads(pickle.dumps(env))
    first, second = env.reset(), twin.reset()
    assert np.array_equal(first[0], second[0]) and first[1] == second[1]
    assert env.ale.getEpisodeFrameNumber() == twin.ale.getEpisodeFrameNumber() > 100
    starts = [(env.reset() and env.ale.getEpisodeFrameNumber()) for env in (env, twin) for _ in range(6)]
    assert starts[:6] == starts[6:] and len(set(starts)) > 1


# --- mistakes ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("arguments", "words"), [
    ({"game": "Pnog"}, "unknown Atari game 'Pnog'; did you mean .*Pong"),
    ({"game": "ms_pacman"}, "did you mean MsPacman"),
    ({"game": "Chess 3000"}, "envs.atari.GAMES lists them all"),
    ({"game": "Joust"}, "unknown Atari game"),  # needs two players; ALE would end the whole process
    ({"game": "Pong", "max_frames": 0}, "max_frames must be at least 1, not 0"),
    ({"game": "Pong", "render_mode": "ansi"}, "render_mode must be one of .* not 'ansi'"),
])  # fmt: skip
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words) as error:
        Atari(**arguments)
    assert "\n" not in str(error.value)


def test_without_ale_the_module_loads_and_says_what_is_missing():
    program = "import sys; sys.modules['ale_py'] = None; from envs.atari import Atari; Atari('Pong')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last == 'ValueError: Atari games need ale-py, which is not installed: pip install "ale-py>=0.12.1"'


def test_ale_without_roms(monkeypatch, tmp_path):
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    with pytest.raises(ValueError, match=r"no intact ROM of Pong; install one: pip .*ale-py>=0\.12\.1") as error:
        Atari("Pong")
    assert "\n" not in str(error.value)
