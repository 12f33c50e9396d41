"""Data sets of Minari: what is written is read back, with the ends, cuts and environments that it had."""

import random
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from common.replay.protocol import Sampler, Step
from common.replay.samplers import UniformSampler
from common.replay.storage import Ring
from papers.ter.replay.graph import TransitionGraph
from papers.ter.topological import TER

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:minari")  # who wrote a data set is not said here
library = pytest.importorskip("minari", reason="needs minari and h5py (group adapters)")
pytest.importorskip("h5py", reason="needs minari and h5py (group adapters)")

from adapters.minari import NAMES, episodes, fill, read, steps_of, write  # noqa: E402

CELLS = dict(observation_space=spaces.Discrete(99), action_space=spaces.Discrete(3))


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


def walk(*cells: int, end: str = "", env_id: int = 0) -> list[Step]:
    """Steps from cell to cell; how the last one ends."""
    last = len(cells) - 2
    return [
        Step(a, i % 3, float(i), b, end == "terminated" and i == last, end == "truncated" and i == last, env_id)
        for i, (a, b) in enumerate(pairwise(cells))
    ]


def test_ends_cuts_and_environments_are_kept():
    first, second = walk(0, 1, 2, 3, end="terminated"), walk(50, 51, 52, end="truncated", env_id=1)
    third, fourth = walk(10, 11, 12), walk(30, 31, env_id=1)
    mixed = [first[0], second[0], first[1], second[1], first[2], third[0], fourth[0], third[1]]
    again = walk(20, 21)  # though the third had not ended
    data = write("cells-v0", [*mixed, *again], **CELLS)
    wanted = [first, second, third, fourth, again]
    assert episodes([*mixed, *again]) == wanted
    assert (data.total_episodes, data.total_steps) == (5, 9)
    assert list(read("cells-v0")) == [step._replace(env_id=0) for steps in wanted for step in steps]
    found = library.load_dataset("cells-v0")
    assert [(bool(one.terminations[-1]), bool(one.truncations[-1])) for one in found.iterate_episodes()] == [
        (True, False), (False, True), (False, False), (False, False), (False, False),
    ]  # fmt: skip


def test_nothing_is_joined_across_a_cut():
    """An episode that was given up in the very cell in which the next one begins."""
    sampler = TER(TransitionGraph(9), random.Random(0), phi=int)
    data = write("cut-v0", [*walk(4, 5), *walk(7, 0), *walk(5, 6, end="terminated")], **CELLS)
    told: list[object] = []
    sampler.cut = lambda env=None, cut=sampler.cut: (told.append(env), cut(env))
    assert fill(data, sampler) == 3 and len(told) == 3
    swept = [int(sampler.sample(1).indices[0]) for _ in range(2)]
    assert swept[0] == 2, "backwards from the end"


BOX = spaces.Box(-1.0, 1.0, (3,), np.float32)
PICTURE = spaces.Box(0, 255, (8, 8, 3), np.uint8)
KINDS = {
    "box": (BOX, spaces.Box(-1.0, 1.0, (2,), np.float32)),
    "picture": (PICTURE, spaces.Discrete(4)),
    "dict": (spaces.Dict(observation=BOX, desired_goal=BOX, inside=spaces.Dict(n=spaces.Discrete(5))), BOX),
    "tuple": (spaces.Tuple((BOX, spaces.Discrete(3))), spaces.MultiDiscrete([2, 3])),
}


@pytest.mark.parametrize("kind", KINDS)
def test_observations_and_actions_come_back_bit_by_bit(kind):
    observation, action = KINDS[kind]
    observation.seed(0), action.seed(0)
    seen = [observation.sample() for _ in range(6)]
    steps = [Step(seen[i], action.sample(), 0.1 * i, seen[i + 1], i == 4, False) for i in range(5)]
    data = write(f"{kind}-v0", steps, observation_space=observation, action_space=action)
    back = list(read(data))
    assert len(back) == 5 and [step.reward for step in back] == [step.reward for step in steps]
    for ours, theirs in zip(steps, back):
        for part in ("observation", "action", "next_observation"):
            assert_same(getattr(ours, part), getattr(theirs, part))
    assert all(observation.contains(step.observation) for step in back) or kind in ("dict", "tuple")


def assert_same(a, b):
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        [assert_same(a[name], b[name]) for name in a]
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        [assert_same(*pair) for pair in zip(a, b)]
    else:
        np.testing.assert_array_equal(a, b, strict=isinstance(a, np.ndarray))


def ring(capacity: int) -> Ring:
    fields = {name: ((), "i8") for name in NAMES} | {name: ((), "?") for name in ("terminated", "truncated")}
    return Ring(capacity, fields | {"reward": ((), "f8")})


def test_a_memory_that_has_gone_round_is_written_and_read_into_another():
    memory, other, sampler = ring(4), ring(9), UniformSampler(np.random.default_rng(0))
    for step in [*walk(0, 1, 2, 3, end="terminated"), *walk(10, 11, 12, 13, end="truncated")]:
        memory.add(**{name: getattr(step, name) for name in NAMES})
    left = list(steps_of(memory))
    assert [int(step.observation) for step in left] == [2, 10, 11, 12]
    data = write("memory-v0", left, **CELLS)
    assert data.total_episodes == 2 and fill(data, sampler, other) == 4
    for name in NAMES:
        assert list(other[name][:4]) == [getattr(step, name) for step in left]
    assert set(sampler.sample(64).indices) == {0, 1, 2, 3}


def test_mistakes_are_refused_before_anything_is_changed():
    with pytest.raises(ValueError, match="no steps"):
        write("none-v0", [], **CELLS)
    data, memory, told = write("four-v0", walk(0, 1, 2, 3, 4), **CELLS), ring(3), []

    class Told(Sampler):
        def add(self, index, step=None):
            told.append(index)

    with pytest.raises(ValueError, match="4 steps, the memory room for 3"):
        fill(data, Told(), memory)
    assert not told and len(memory) == 0


def test_the_example_of_the_readme_runs():
    """Steps of CartPole into a data set, from there into a sampler, and here into a memory, too."""
    page = (Path(__file__).resolve().parents[2] / "adapters/README.md").read_text()
    [example] = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "adapters.minari" in block]
    there: dict = {}
    exec(compile(example, "adapters/README.md", "exec"), there)
    steps, box, bit = there["steps"], ((4,), "f4"), ((), "?")
    memory = Ring(60, dict(zip(NAMES, (box, ((), "i8"), ((), "f8"), box, bit, bit))))
    assert max(there["sampler"].sample(500).indices) == 59 and fill("mine-v0", memory=memory) == 60
    np.testing.assert_array_equal(memory["next_observation"], [step.next_observation for step in steps])
    assert memory["terminated"].sum() == sum(step.terminated for step in steps) > 0
