"""Our Sokoban beside the original, gym-sokoban 0.0.6: ``.venv/bin/python -m benchmarks.gym_sokoban [--levels N]``.

Prints one table. What must be equal (reverse play, steps, rewards and pictures on the same rooms) is counted; what is
random (the levels) is compared by statistics, each with its z-score. Exit code 1 if anything differs.

The original is used if it is installed, or else downloaded; it is never a requirement. Its imports of `gym`,
`pkg_resources` and `imageio`, which its rules do not need, get stand-ins.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import importlib
import importlib.metadata
import itertools
import math
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import gymnasium
import numpy as np
from scipy import stats

from envs.sokoban import levels as levels
from envs.sokoban.game import COLOURS, PIXELS, Sokoban
from lab.run.errors import UserError, guard
from lab.run.threads import one_thread

NAME, VERSION = "gym-sokoban", "0.0.6"
CONFIGURATIONS = [((5, 5), 1), ((5, 5), 2), ((6, 6), 1), ((6, 6), 2), ((6, 6), 3), ((7, 7), 1), ((7, 7), 2)]
"""(shape, boxes): those that the TER paper trains on."""
TRIES = 4  # rooms of score 0 after which an attempt at a level fails
BATCHES = 50  # of our levels, for the spread of the number of distinct ones
PLAYED = 5  # batches that are described and played
LIMIT = 4.0  # |z| above which two samples count as different


# ---- the original package --------------------------------------------------------------------------------------------


class Original(NamedTuple):
    """Modules of the package."""

    rooms: Any
    """room_utils: makes levels."""
    game: Any
    """sokoban_env: the environment."""


@functools.cache
def original() -> Original | None:
    """The package, installed or downloaded; None where it cannot be downloaded."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        installed = importlib.metadata.distribution(NAME)
        if installed.version == VERSION:
            return load(str(installed.locate_file("")))
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "pip", "download", f"{NAME}=={VERSION}", "--no-deps", "--only-binary=:all:"]
        command += ["-d", directory, "--retries", "1", "--timeout", "10"]
        done = subprocess.run(command, capture_output=True)
        wheels = list(Path(directory).glob("*.whl"))
        return load(str(wheels[0])) if done.returncode == 0 and wheels else None


def load(place: str) -> Original:
    """Load the package from a folder or a wheel (Python imports from both), without running its `__init__` files."""
    packages = {name: ModuleType(name) for name in ("gym_sokoban", "gym_sokoban.envs")}
    for name, module in packages.items():
        module.__path__ = [f"{place}/{name.replace('.', '/')}"]
    stand_ins = {
        "gym": gymnasium,
        "gym.utils": gymnasium.utils,
        "gym.spaces": gymnasium.spaces,
        "gym.spaces.discrete": gymnasium.spaces.discrete,
        "pkg_resources": ModuleType("pkg_resources"),
        "imageio": ModuleType("imageio"),
    }
    with patch.dict(sys.modules, packages | stand_ins):
        names = ("room_utils", "sokoban_env")
        return Original(*(importlib.import_module(f"gym_sokoban.envs.{name}") for name in names))


def seed_original(seed: int) -> None:
    """Seed Python's and NumPy's global generators, from which the package draws."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


def their_level(peer: Original, shape: tuple[int, int], boxes: int) -> tuple[np.ndarray, np.ndarray, dict] | None:
    """One attempt at a level: fixed matrix, state matrix and the place of each target's box; None if it failed."""
    try:
        return peer.rooms.generate_room(shape, num_steps=levels.default_walk(shape), num_boxes=boxes, tries=TRIES)
    except (RuntimeError, RuntimeWarning):
        return None


def their_env(peer: Original, shape: tuple[int, int], boxes: int, fixed: np.ndarray, state: np.ndarray) -> Any:
    """The package's environment at the start of a level."""
    env = peer.game.SokobanEnv(shape, num_boxes=boxes, reset=False)
    env.room_fixed, env.room_state = fixed.copy(), state.copy()
    env.player_position = np.argwhere(state == levels.PLAYER)[0]
    env.num_env_steps = 0
    return env


def codes_of(fixed: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Convert the package's two matrices to one in our codes. Its generator marks every box as off its target."""
    codes = state.astype(np.uint8)
    target = fixed == levels.TARGET
    codes[target & (codes == levels.BOX)] = levels.BOX_ON_TARGET
    codes[target & (codes == levels.PLAYER)] = levels.PLAYER_ON_TARGET
    return codes


# ---- what must be equal ----------------------------------------------------------------------------------------------


def reverse_play_is_equal(peer: Original, shape: tuple[int, int], boxes: int) -> bool | None:
    """Whether level and score of one of the package's rooms are equal; None if the room has too few cells."""
    try:
        room = peer.rooms.room_topology_generation(shape, levels.TURN, levels.default_walk(shape))
        room = peer.rooms.place_boxes_and_player(room, boxes, second_player=False)
    except RuntimeError:
        return None
    fixed = np.where(room == levels.PLAYER, levels.FLOOR, room)
    state, score, _ = peer.rooms.reverse_playing(np.where(room == levels.TARGET, levels.BOX, room), fixed)
    codes = codes_of(fixed, np.where(state == levels.BOX_ON_TARGET, levels.BOX, state))
    level, our_score, _ = levels.reverse_play(room.astype(np.uint8))
    return bool(score == our_score and np.array_equal(level, codes))


class Episode(NamedTuple):
    solved: bool
    steps: int
    equal: int
    """Steps that were the same in both environments."""


def play_both(env: Sokoban, theirs: Any, actions: list[int]) -> Episode:
    """Play one episode with the same actions in both, from the level that is set in `theirs`."""
    env.reset(options={"level": codes_of(theirs.room_fixed, theirs.room_state)})
    steps = equal = 0
    for action in actions:
        picture, reward, terminated, truncated, info = env.step(action)
        # The package's action 0 does nothing; ours does not have it.
        tiny, their_reward, done, their_info = theirs.step(action + 1, observation_mode="tiny_rgb_array")
        steps += 1
        equal += bool(
            reward == their_reward
            and done == (terminated or truncated)
            and terminated == their_info.get("all_boxes_on_target", False)
            and np.array_equal(info["tiles"], codes_of(theirs.room_fixed, theirs.room_state))
            and np.array_equal(COLOURS[info["tiles"]], tiny)
            and np.array_equal(picture, enlarged(tiny))
        )
        if terminated or truncated or done:
            break
    return Episode(terminated, steps, equal)


def enlarged(tiny: np.ndarray) -> np.ndarray:
    """Enlarge to the observation's size by nearest neighbour: source = floor(i * cells / 84)."""
    rows, columns = (np.arange(PIXELS) * cells // PIXELS for cells in tiny.shape[:2])
    return tiny[rows[:, None], columns]


# ---- statistics ------------------------------------------------------------------------------------------------------


@dataclass
class Sample:
    """Statistics of the levels of one generator."""

    attempts: int = 0
    failed: int = 0
    floor: list[int] = field(default_factory=list)
    """Number of cells that are not walls, per level."""
    distance: list[int] = field(default_factory=list)
    """Total Manhattan distance of boxes from targets, under the best assignment."""
    solved: int = 0
    """Levels that a random policy solved."""

    def describe(self, level: np.ndarray) -> None:
        self.floor.append(np.count_nonzero(level))
        boxes, targets = np.argwhere(level == levels.BOX), np.argwhere(level == levels.TARGET)
        self.distance.append(min(abs(boxes - order).sum().item() for order in itertools.permutations(targets)))


def our_attempt(rng: np.random.Generator, shape: tuple[int, int], boxes: int) -> np.ndarray | None:
    """One attempt as the package counts it: it fails with too few cells, or at the fourth room of score 0."""
    for _ in range(TRIES):
        level, result, _ = levels.try_once(rng, *shape, boxes, levels.default_walk(shape))
        if result == levels._MADE:
            return level
        if result == levels._TOO_FEW_CELLS:
            return None
    return None


def of_two_rates(hits: int, of: int, their_hits: int, their_of: int) -> float:
    """z-score of the difference of two relative frequencies."""
    rate = (hits + their_hits) / (of + their_of)
    error = math.sqrt(rate * (1 - rate) * (1 / of + 1 / their_of))
    return 0.0 if error == 0 else (hits / of - their_hits / their_of) / error


def of_two_histograms(ours: list[int], theirs: list[int]) -> float:
    """z-score for the chance that two samples of one distribution differ this much (chi-square).

    Neighbouring values are pooled until each sample would have 5 of them.
    """
    counts = [collections.Counter(sample) for sample in (ours, theirs)]
    enough = 5 * (len(ours) + len(theirs)) / min(len(ours), len(theirs))
    groups: list[list[int]] = []
    for value in sorted(counts[0] | counts[1]):
        here = [count[value] for count in counts]
        if groups and sum(groups[-1]) < enough:
            groups[-1] = [a + b for a, b in zip(groups[-1], here)]
        else:
            groups.append(here)
    if len(groups) > 1 and sum(groups[-1]) < enough:
        last = groups.pop()
        groups[-1] = [a + b for a, b in zip(groups[-1], last)]
    if len(groups) < 2:
        return 0.0
    return float(stats.norm.isf(stats.chi2_contingency(groups, correction=False).pvalue / 2))


def of_many(value: float, others: list[int]) -> float:
    """z-score of one count drawn like `others`, whose standard deviation is taken as at least 0.5."""
    return float((np.mean(others) - value) / (max(np.std(others, ddof=1), 0.5) * math.sqrt(1 + 1 / len(others))))


# ---- the comparison --------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """One line of the table. z: None for what must be equal; `ours` and `theirs` are then counts."""

    levels: str
    what: str
    ours: str
    theirs: str
    z: float | None

    @property
    def same(self) -> bool:
        return self.ours == self.theirs if self.z is None else abs(self.z) <= LIMIT

    def cells(self) -> list[str]:
        z = "" if self.z is None else f"{self.z:+.1f}"
        return [self.levels, self.what, self.ours, self.theirs, z, "yes" if self.same else "NO"]


COLUMNS = ["levels", "what", "ours", "original", "z", "same"]


def compare(peer: Original, shape: tuple[int, int], boxes: int, n: int) -> list[Line]:
    """Compare one configuration: reverse play of n rooms, n of the package's levels played in both, statistics."""
    seed_original(n)
    rng, policy, env = np.random.default_rng(n), np.random.default_rng(n + 1), Sokoban(shape, boxes)
    rooms = [equal for _ in range(n) if (equal := reverse_play_is_equal(peer, shape, boxes)) is not None]

    theirs, texts, steps, equal_steps = Sample(), set(), 0, 0
    while len(theirs.floor) < n:
        theirs.attempts += 1
        if (made := their_level(peer, shape, boxes)) is None:
            theirs.failed += 1
            continue
        fixed, state, _ = made
        level = codes_of(fixed, state)
        texts.add(levels.to_text(level))
        theirs.describe(level)
        episode = play_both(env, their_env(peer, shape, boxes, fixed, state), _actions(policy))
        theirs.solved += episode.solved
        steps, equal_steps = steps + episode.steps, equal_steps + episode.equal

    ours, distinct = Sample(), []
    for batch in range(BATCHES):
        batch_texts: set[str] = set()
        made_here = 0
        while made_here < n:
            ours.attempts += 1
            if (level := our_attempt(rng, shape, boxes)) is None:
                ours.failed += 1
                continue
            made_here += 1
            batch_texts.add(levels.to_text(level))
            if batch < PLAYED:
                ours.describe(level)
                env.reset(options={"level": level})
                ours.solved += _solves(env, _actions(policy))
        distinct.append(len(batch_texts))

    failures = (ours.failed, ours.attempts, theirs.failed, theirs.attempts)
    solved = (ours.solved, len(ours.floor), theirs.solved, n)
    name = f"{shape[0]}x{shape[1]}-{boxes}"
    return [
        Line(name, "reverse play: rooms with equal level and score", f"{sum(rooms):,}", f"{len(rooms):,}", None),
        Line(name, "steps with equal codes, reward, end and picture", f"{equal_steps:,}", f"{steps:,}", None),
        Line(name, "failed attempts at a level", *_rates(*failures), of_two_rates(*failures)),
        Line(
            name,
            f"distinct among {n:,} levels",
            f"{np.mean(distinct):.1f} (mean of {BATCHES})",
            f"{len(texts)}",
            of_many(len(texts), distinct),
        ),
        Line(name, "cells that are no wall", *_means(ours.floor, theirs.floor)),
        Line(name, "distance of boxes from targets", *_means(ours.distance, theirs.distance)),
        Line(name, "solved by a random policy", *_rates(*solved), of_two_rates(*solved)),
    ]


def _actions(policy: np.random.Generator) -> list[int]:
    return policy.integers(8, size=120).tolist()


def _solves(env: Sokoban, actions: list[int]) -> bool:
    return any(env.step(action)[2] for action in actions)


def _rates(hits: int, of: int, their_hits: int, their_of: int) -> tuple[str, str]:
    return f"{hits / of:.1%} of {of:,}", f"{their_hits / their_of:.1%} of {their_of:,}"


def _means(ours: list[int], theirs: list[int]) -> tuple[str, str, float]:
    means = (f"{np.mean(sample):.2f} (mean of {len(sample):,})" for sample in (ours, theirs))
    return *means, of_two_histograms(ours, theirs)


def table(lines: list[Line]) -> str:
    """Aligned Markdown table of the lines."""
    rows = [COLUMNS, *(line.cells() for line in lines)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows)


@guard
def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser("benchmarks.gym_sokoban", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--levels", type=int, default=400, metavar="N", help="per configuration (default 400)")
    n = parser.parse_args(arguments).levels
    if n < 2:
        raise UserError(f"--levels must be at least 2, not {n}")
    one_thread()
    peer = original()
    if peer is None:
        raise UserError(f"{NAME} {VERSION} is not installed and pip cannot download it")
    lines = [line for shape, boxes in CONFIGURATIONS for line in compare(peer, shape, boxes, n)]
    print(table(lines))
    differing = sum(not line.same for line in lines)
    print(f"\n{len(lines) - differing} of {len(lines)} lines are the same (statistics: |z| <= {LIMIT:g}).")
    if differing:
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
