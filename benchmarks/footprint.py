"""Memory and disk at scale: each train script with a memory of a million transitions, full.

    .venv/bin/python -m benchmarks.footprint              # writes footprint.csv, and the table of README.md here
    .venv/bin/python -m benchmarks.footprint ners.train   # measures and prints one script: a paper, a dot, a script

Every script's trainer is made in a process of its own, its memory is filled, it learns once, and a checkpoint is
written. Memories are filled by playing at random where graph or episodes matter, else by repeating what was played.
Needs 7 GB of memory and 2 of disk, and a quarter of an hour; not part of `make bench`, as neither depends on the load.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import multiprocessing
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.memory import resident
from benchmarks.rows import aligned, number
from lab.run import checkpoints
from lab.run.errors import UserError, guard
from lab.run.threads import one_thread

MILLION = 1_000_000
FILE, PAGE = Path(__file__).with_suffix(".csv"), Path(__file__).with_name("README.md")
BEGIN, END = "<!-- footprint:begin -->\n", "<!-- footprint:end -->\n"


# ---- how a memory is filled, and what learning once is ---------------------------------------------------------------


def copies(trainer: Any) -> None:
    """Fill the trainer's ring with repetitions of what it holds."""
    memory = trainer.memory
    stored, missing = len(memory), memory.capacity - len(memory)
    played = {name: memory[name][:stored] for name in memory.fields}
    slots = memory.extend(**{name: np.resize(rows, (missing, *rows.shape[1:])) for name, rows in played.items()})
    if (sampler := getattr(trainer, "sampler", None)) is None:
        return
    if hasattr(sampler, "extend"):
        sampler.extend(slots)
    else:
        for slot in slots.tolist():
            sampler.add(slot)


def cycles(trainer: Any) -> None:
    """Play and learn a little, then repeat it."""
    for _ in range(3):
        trainer.cycle()
    copies(trainer)


def steps(trainer: Any) -> None:
    """The same where the trainer is advanced step by step, and can be pickled at the end of an episode."""
    for fill in (True, False):
        while not (trainer.advance() and len(trainer.memory) > 1_000):
            pass
        if fill:
            copies(trainer)


def warm_up(trainer: Any) -> None:
    trainer.warm_up()


def at_random(trainer: Any) -> None:
    """Play at random, as the settings have it, until the memory is full."""
    for _ in range(trainer.config.capacity):
        trainer.interact()


def frames(trainer: Any) -> None:
    """Fill Rainbow's memory with frames of noise."""
    noise = np.random.default_rng(0).integers(256, size=(64, 84, 84), dtype=np.uint8)
    t = 0
    while len(trainer.memory) < trainer.config.capacity:
        t += 1
        for slot in trainer.memory.add(0, 0.0, noise[t % 64], t % 500 == 0, False):
            trainer.sampler.add(slot)
            trainer.diagnostics.added(slot, t)
        if t % 500 == 0:
            trainer.memory.reset(noise[0])


def rollout(trainer: Any) -> None:
    """Learn from one rollout, and play on to the end of an episode, where a trainer can be pickled."""
    trainer.warm_up()
    learnt = over = False
    while not (learnt and over):
        over = trainer.play()
        if trainer.rollout.full:
            trainer.learn()
            learnt = True


def with_players(trainer: Any) -> None:
    """One update of a trainer whose players work in the same process."""
    from papers.sibling_rivalry.train_build import make_players

    players = make_players(trainer.config)
    for order in trainer.orders:
        players.submit(order)
    trainer.update(players)


class Script(NamedTuple):
    """How a train script is measured."""

    fill: Callable[[Any], None] | None
    learn: str
    """Its trainer's method that learns; "" where filling does."""
    settings: dict[str, Any] = {}
    trainer: str = "Trainer"


FULL = {"capacity": MILLION}
TER = {"method": "ter", "epsilon_end": 1.0}
SCRIPTS = {
    "bias_reduced_her.train": Script(cycles, "cycle", FULL),
    "bias_reduced_her.train_fetch": Script(cycles, "cycle", FULL),
    "bias_reduced_her.train_bitflip": Script(cycles, "cycle", FULL),
    "ners.train": Script(steps, "", FULL | {"env": "Hopper-v4", "random_steps": 500}),
    "ners.train_rainbow": Script(frames, "learn"),
    "ref_er.train": Script(warm_up, "learn", FULL | {"warmup": MILLION}),
    "ref_er.train_acer": Script(warm_up, "learn", FULL | {"warmup": MILLION}),
    "ref_er.train_ppo": Script(rollout, ""),
    "sibling_rivalry.train": Script(None, "update"),
    "sibling_rivalry.train_off_policy": Script(cycles, "cycle", FULL | {"warmup": 2_000}),
    "sibling_rivalry.train_build": Script(with_players, ""),
    "sibling_rivalry.train_low_level": Script(None, "update"),
    "sibling_rivalry.train_track": Script(None, "update"),
    "ter.train": Script(at_random, "learn", FULL | TER),
    "ter.train_sokoban": Script(at_random, "learn", FULL | TER),
    "ter.train_atari": Script(at_random, "learn", TER | {"capacity": 100_000}),
    "ter.train_nchain": Script(None, "step", trainer="Learner"),
}
COLUMNS = ["script", "transitions", "before", "full", "peak", "checkpoint"]
"""Bytes resident before the first transition, when full, and at most, and of a checkpoint."""


def weigh(name: str) -> list[Any]:
    """A row of COLUMNS."""
    one_thread()
    script, module = SCRIPTS[name], importlib.import_module(f"papers.{name}")
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = module.Config(**script.settings)
        trainer = getattr(module, script.trainer)(config)
        before = resident()
        if script.fill:
            script.fill(trainer)
        if script.learn:
            getattr(trainer, script.learn)()
        full = resident()
        with tempfile.TemporaryDirectory() as folder:
            checkpoints.save(Path(folder), {"state": trainer})
            checkpoint = (Path(folder) / "checkpoint.pkl").stat().st_size
    return [name, stored(trainer), before, full, resident("VmHWM"), checkpoint]


def stored(trainer: Any) -> int:
    """Transitions in the trainer's replay memory; 0 without one."""
    if (memory := getattr(trainer, "memory", None)) is None:
        return 0
    # ReF-ER's counts its episodes by `len` and their steps by `n`, which in Rainbow's is that of n-step returns.
    return max(len(getattr(memory, "ring", memory)), getattr(memory, "n", 0))


# ---- the table -------------------------------------------------------------------------------------------------------


def table(frame: pd.DataFrame) -> str:
    lines = [["script", "transitions", "memory before", "memory, full", "at most", "checkpoint"]]
    for row in frame.itertuples():
        sizes = [said(getattr(row, column)) for column in ("before", "full", "peak", "checkpoint")]
        lines.append([row.script, f"{row.transitions:,}" if row.transitions else "none", *sizes])
    return aligned(lines)


def said(size: float) -> str:
    """Bytes in MB or, from 1 GB on, in GB."""
    return f"{number(size / 1e9)} GB" if size >= 1e9 else f"{number(size / 1e6)} MB"


def with_table(page: str, frame: pd.DataFrame) -> str:
    """The page with the table between its marks."""
    before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    return before + table(frame) + "\n" + after


@guard
def main(names: list[str]) -> None:
    for name in names:
        if name not in SCRIPTS:
            raise UserError(f"unknown script {name!r}; choose from: {', '.join(SCRIPTS)}")
    rows = []
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, fresh, max_tasks_per_child=1) as pool:
        for name in names or SCRIPTS:
            rows.append(pool.submit(weigh, name).result())
            print(f"{name}: {said(rows[-1][3])}, checkpoint {said(rows[-1][5])}", flush=True)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    if names:
        print(table(frame))
    else:
        frame.to_csv(FILE, index=False, float_format="%.0f")
        PAGE.write_text(with_table(PAGE.read_text(), frame))


if __name__ == "__main__":
    main(sys.argv[1:])
