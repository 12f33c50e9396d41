"""What can be checked about the benchmark of Sokoban and its comparison with the original, without the original."""

import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from benchmarks import gym_sokoban, sokoban
from envs.sokoban import levels as levels
from envs.sokoban.game import COLOURS
from tests.envs.plain_sokoban import PlainSokoban


# ---- a stand-in for the original -------------------------------------------------------------------------------------
class FakeRooms:
    """room_utils with our levels. faults: what it does otherwise than ours."""

    def __init__(self, faults=()):
        self.rng, self.faults = np.random.default_rng(0), faults

    def room_topology_generation(self, dim, p_change_directions, num_steps):
        assert p_change_directions == 0.35
        return levels.carve(self.rng, *dim, num_steps).astype(int)

    def place_boxes_and_player(self, room, num_boxes, second_player):
        codes = room.astype(np.uint8)
        if not levels.place(self.rng, codes, num_boxes):
            raise RuntimeError("Not enough free spots")
        return codes.astype(int)

    def reverse_playing(self, room_state, room_structure):
        room = np.where(room_structure == 2, levels.TARGET, room_state).astype(np.uint8)
        level, score, _ = levels.reverse_play(room)
        state = np.where(level == levels.PLAYER_ON_TARGET, levels.PLAYER, level)
        state[state == levels.BOX] = 3  # the code of a pulled box
        return state.astype(int), score + ("score" in self.faults), {}

    def generate_room(self, dim, num_steps, num_boxes, tries):
        assert tries == 4
        if "fails" in self.faults and self.rng.random() < 0.5:
            raise RuntimeWarning("Generated Model with score == 0")
        if (level := gym_sokoban.our_attempt(self.rng, dim, num_boxes)) is None:
            raise RuntimeError("Not enough free spots")
        fixed = np.where(np.isin(level, (levels.BOX, levels.PLAYER)), levels.FLOOR, level)
        return fixed.astype(int), level.astype(int), {}


class FakeEnv:
    """SokobanEnv by the public rules."""

    def __init__(self, dim_room, num_boxes, reset, faults=()):
        assert not reset
        self.faults, self.twin = faults, None

    def step(self, action, observation_mode):
        assert 1 <= action <= 8 and observation_mode == "tiny_rgb_array"
        if self.twin is None:
            self.twin = PlainSokoban(gym_sokoban.codes_of(self.room_fixed, self.room_state).tolist(), 120)
        reward, terminated, truncated = self.twin.step(action - 1)
        self.room_state = np.array(self.twin.state)
        if "reward" in self.faults:
            reward += 1e-15
        done = terminated or truncated
        info = {"all_boxes_on_target": terminated} if done else {}
        return self.render("tiny_rgb_array"), reward, done, info

    def render(self, mode):
        assert mode == "tiny_rgb_array"
        colours = COLOURS + np.uint8(1) if "picture" in self.faults else COLOURS
        return colours[gym_sokoban.codes_of(self.room_fixed, self.room_state)]


def fake(*faults: str) -> gym_sokoban.Original:
    game = SimpleNamespace(SokobanEnv=lambda *args, **kwargs: FakeEnv(*args, **kwargs, faults=faults))
    return gym_sokoban.Original(FakeRooms(faults), game)


@pytest.fixture
def small(monkeypatch):
    """Two configurations, and few of our levels."""
    monkeypatch.setattr(gym_sokoban, "CONFIGURATIONS", [((5, 5), 1), ((5, 5), 2)])
    monkeypatch.setattr(gym_sokoban, "BATCHES", 6)
    monkeypatch.setattr(gym_sokoban, "PLAYED", 2)


# ---- where the original comes from -----------------------------------------------------------------------------------
SOURCES = {
    "gym_sokoban/__init__.py": "raise RuntimeError('never run')",
    "gym_sokoban/envs/__init__.py": "raise RuntimeError('never run')",
    "gym_sokoban/envs/render_utils.py": "import pkg_resources\nimport imageio\n",
    "gym_sokoban/envs/room_utils.py": "number = 5\n",
    "gym_sokoban/envs/sokoban_env.py": (
        "import gym\nfrom gym.utils import seeding\nfrom gym.spaces.discrete import Discrete\n"
        "from .room_utils import number\nfrom . import render_utils\n"
        "class SokobanEnv(gym.Env):\n    number = number\n"
    ),
}


@pytest.mark.parametrize("packed", [False, True])
def test_modules_are_loaded_from_a_folder_or_a_wheel_and_leave_nothing_behind(tmp_path, packed):
    for name, source in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    place = tmp_path
    if packed:
        place = tmp_path / "some.whl"
        with zipfile.ZipFile(place, "w") as wheel:
            for name, source in SOURCES.items():
                wheel.writestr(name, source)
    before = {name for name in sys.modules if name.split(".")[0] in ("gym_sokoban", "gym", "pkg_resources")}
    peer = gym_sokoban.load(str(place))
    assert peer.rooms.number == peer.game.SokobanEnv.number == 5
    assert before == {name for name in sys.modules if name.split(".")[0] in ("gym_sokoban", "gym", "pkg_resources")}


def test_without_the_original_there_is_one_clear_line(monkeypatch, capsys):
    def missing(name):
        raise gym_sokoban.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(gym_sokoban.importlib.metadata, "distribution", missing)
    gym_sokoban.original.cache_clear()
    monkeypatch.setattr(gym_sokoban.subprocess, "run", lambda *args, **kwargs: SimpleNamespace(returncode=1))
    assert gym_sokoban.original() is None
    with pytest.raises(SystemExit) as end:
        gym_sokoban.main([])
    printed = capsys.readouterr()
    gym_sokoban.original.cache_clear()
    assert end.value.code == 2 and printed.out == ""
    assert printed.err == "error: gym-sokoban 0.0.6 is not installed and pip cannot download it\n"


@pytest.mark.parametrize("number", ["1", "0", "-3"])
def test_too_few_levels_are_named(number, capsys):
    with pytest.raises(SystemExit) as end:
        gym_sokoban.main(["--levels", number])
    assert end.value.code == 2
    assert capsys.readouterr().err == f"error: --levels must be at least 2, not {number}\n"


# ---- the comparison --------------------------------------------------------------------------------------------------
def test_what_is_the_same_is_counted_and_said(monkeypatch, small, capsys):
    peer = fake()
    monkeypatch.setattr(gym_sokoban, "original", lambda: peer)
    gym_sokoban.main(["--levels", "40"])
    *table, blank, verdict = capsys.readouterr().out.splitlines()
    assert not blank and verdict == "14 of 14 lines are the same (statistics: |z| <= 4)."
    assert len({len(line) for line in table}) == 1 and len(table) == 2 + 2 * 7
    assert [line.split("|")[-2].strip() for line in table] == ["same", "-" * 4, *["yes"] * 14]


@pytest.mark.parametrize(
    ("fault", "what"),
    [("score", "reverse play"), ("reward", "steps with"), ("picture", "steps with"), ("fails", "failed attempts")],
)
def test_what_differs_is_named_and_the_exit_code_is_1(monkeypatch, small, capsys, fault, what):
    peer = fake(fault)
    monkeypatch.setattr(gym_sokoban, "original", lambda: peer)
    monkeypatch.setattr(gym_sokoban, "CONFIGURATIONS", [((5, 5), 1)])
    with pytest.raises(SystemExit) as end:
        gym_sokoban.main(["--levels", "40"])
    assert end.value.code == 1
    bad = [line for line in capsys.readouterr().out.splitlines() if line.endswith("NO   |")]
    assert [line.split("|")[2].strip()[: len(what)] for line in bad] == [what]


# ---- statistics ------------------------------------------------------------------------------------------------------
def test_rates_and_counts_by_hand():
    # half of 100 and a quarter of 100: 0.25 / sqrt(0.375 * 0.625 * 2 / 100)
    assert gym_sokoban.of_two_rates(50, 100, 25, 100) == pytest.approx(0.25 / np.sqrt(0.375 * 0.625 / 50))
    assert gym_sokoban.of_two_rates(0, 100, 0, 50) == gym_sokoban.of_two_rates(9, 9, 4, 4) == 0
    assert gym_sokoban.of_many(5, [8, 10]) == pytest.approx(4 / (np.sqrt(2) * np.sqrt(1.5)))
    assert gym_sokoban.of_many(3, [4, 4, 4]) == pytest.approx(1 / (0.5 * np.sqrt(4 / 3)))


def test_two_histograms():
    rng = np.random.default_rng(0)
    scores = [gym_sokoban.of_two_histograms(list(rng.poisson(4, 300)), list(rng.poisson(4, 90))) for _ in range(200)]
    # z-scores of samples of one distribution: their chances are spread evenly
    assert stats.kstest(2 * stats.norm.sf(scores), "uniform").pvalue > 0.001
    assert gym_sokoban.of_two_histograms(list(rng.poisson(4, 300)), list(rng.poisson(6, 300))) > 4
    assert gym_sokoban.of_two_histograms([1] * 50 + [2] * 50, [1] * 50 + [2] * 50) == pytest.approx(0)
    assert gym_sokoban.of_two_histograms([1, 2, 3], [3, 4, 5]) == 0  # too few to tell


def test_levels_are_described():
    sample = gym_sokoban.Sample()
    sample.describe(levels.parse("#######\n#@$ . #\n#   $.#\n#######"))
    # 10 cells; the near target for the right box leaves 2 steps for the left one
    assert (sample.floor, sample.distance) == ([10], [2 + 1])


# ---- the benchmark ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("peer", [None, fake()], ids=["alone", "with the original"])
def test_rows(monkeypatch, run_once, peer):
    for name, value in dict(
        STEPS=150, LEVELS=2, THEIR_LEVELS=2, CONFIGURATIONS=[((6, 6), 2)], LARGE=((5, 5), 1)
    ).items():
        monkeypatch.setattr(sokoban, name, value)
    monkeypatch.setattr(sokoban, "original", lambda: peer)
    run_once(sokoban)
    step, *beside, level, one, many = sokoban.measure()
    assert (step.ours, step.peer, step.peer_name, step.met) == (1.0, 2.0, "codes alone", True)
    assert "1,000,000 steps per second" in step.note and "1,000,000 levels per second" in level.note
    *beside, games = beside
    assert [(row.peer, row.peer_name) for row in beside] == ([(32.0, "gym-sokoban")] if peer else [])
    assert (games.ours, games.peer, games.peer_name) == (4.0, 2.0, "codes, one by one")
    assert (level.ours, level.peer, level.limit) == (1e-3, 2e-3 if peer else None, 1.0)
    assert [(row.ours, row.peer) for row in (one, many)] == [(1.0, None), (2.0, None)]  # without the fastest peers
