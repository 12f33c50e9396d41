"""Which runs are killed, script by script and method by method, and how they are trained."""

import dataclasses
import importlib.util
import itertools
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from arena.__main__ import HOUSE as ARENA
from lab.rooms import House
from lab.run.identity import run_name
from lab.sweep.entry import Entry
from papers.sibling_rivalry import train_build
from papers.ter import train_dreamer

LONGER: dict[str, dict[str, Any]] = {
    "papers.bias_reduced_her.train_bitflip": dict(epochs=6),
    "papers.bias_reduced_her.train": dict(epochs=6),
    "papers.ners.train": dict(steps=480),
    "papers.ref_er.train": dict(bins=6),
    "papers.ref_er.train_acer": dict(bins=6),
    "papers.ref_er.train_ppo": dict(bins=6),
    "papers.sibling_rivalry.train_build": dict(episodes=96, log_every=8),
    "papers.sibling_rivalry.train_track": dict(updates=8, log_every=1),
    "papers.sibling_rivalry.train": dict(epochs=5),
    "papers.sibling_rivalry.train_low_level": dict(updates=4),
    "papers.sibling_rivalry.train_off_policy": dict(epochs=5),
    "papers.ter.train": dict(eval_every=80),
    "papers.ter.train_atari": dict(eval_every=30),
    "papers.ter.train_sokoban": dict(eval_every=70),
}
"""What differs from scale smoke, where a run of two evaluations would mostly be killed before its first checkpoint."""
SAVE_EVERY = {"papers.ter.train_nchain": 20}
"""What a script's constant of this name is set to in runs that are killed, if not 1."""


def smoke() -> Iterator[Entry]:
    """All runs of scale smoke; and those of players in processes of their own where Ray is installed. Those of a script
    that cannot run here are left out."""
    for house in (House(), ARENA):
        for paper in house.papers().values():
            for experiment in paper.experiments.values():
                for entry in experiment("smoke"):
                    if not isinstance(entry.config, train_dreamer.Config) or train_dreamer.PYTHON.exists():
                        yield entry
                    if isinstance(entry.config, train_build.Config) and importlib.util.find_spec("ray"):
                        config = dataclasses.replace(entry.config, actors=train_build.RAY_ACTORS)
                        yield dataclasses.replace(entry, method=f"{entry.method} on Ray", config=config)


def longer(entry: Entry) -> Entry:
    """The run with a few more evaluations."""
    return dataclasses.replace(entry, config=dataclasses.replace(entry.config, **LONGER.get(entry.module, {})))


def kind(entry: Entry) -> tuple[Any, ...]:
    """What a method consists of: runs of a script that share it differ in task, seed or a number."""
    names = ("method", "replay", "agent", "idea", "network", "actors")
    return tuple(getattr(entry.config, name, None) for name in names)


def rotation(entries: Iterable[Entry], rng: random.Random) -> Iterator[Entry]:
    """Without end: a method of every script, then another one of each, until all had their turn; and again, with other
    runs of these methods."""
    scripts: dict[str, dict[Any, dict[Any, Entry]]] = {}
    for entry in entries:
        scripts.setdefault(entry.module, {}).setdefault(kind(entry), {}).setdefault(run_name(entry.config), entry)
    turns: list[tuple[int, list[Entry]]] = []
    for methods in scripts.values():
        groups = [list(runs.values()) for runs in methods.values()]
        rng.shuffle(groups)
        turns += enumerate(groups)
    turns.sort(key=lambda turn: turn[0])
    for _, runs in turns:
        rng.shuffle(runs)
    for again in itertools.count():
        for _, runs in turns:
            yield runs[again % len(runs)]


# ---- in the run's process --------------------------------------------------------------------------------------------


def undisturbed(config: Any, run_dir: Path, **_: bool) -> None:
    """The train script's main."""
    sys.modules[type(config).__module__].main(config, run_dir)  # type: ignore[attr-defined]


def often_saved(config: Any, run_dir: Path, **_: bool) -> None:
    """The train script's main, with a checkpoint after every evaluation."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("papers.", "arena.")) and hasattr(module, "SAVE_EVERY"):
            module.SAVE_EVERY = SAVE_EVERY.get(name, 1)
    undisturbed(config, run_dir)
