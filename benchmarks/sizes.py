"""Time per step against size, ours beside the fastest peers: up to where is our way the right one?

    env -u OPENBLAS_CORETYPE .venv/bin/python -m benchmarks.sizes   # writes sizes.csv, .md and .png beside this file
    .venv/bin/python -m benchmarks.sizes width    # measures and prints one of them: width, batch, memory, games

Gradient steps of SAC (two hidden layers, on Hopper's transitions, drawing the batch included) against width and batch;
prioritised replay of batches of 256 against the size of the memory; DoorKey against the number of games side by side.
The peers are those of `make peers`, and PyTorch, the form to read of ours. One thread on a CPU; ours and the peers take
turns. Not part of `make bench`. OPENBLAS_CORETYPE would hold our kernels, and no peer, to an older processor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from benchmarks import minigrid
from benchmarks.fast_peers import Peers, Wanted
from benchmarks.floor import products
from benchmarks.prioritised import OTHERS, memory
from benchmarks.rows import aligned, number
from benchmarks.timing import interleaved, per_call
from common.replay.storage import Ring
from envs.minigrid.tasks import MiniGridTask
from lab.judge.colours import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from lab.judge.plotting import new_figure, save
from lab.run.errors import UserError, guard
from lab.run.threads import one_thread
from papers.ners.agents.fast_sac import FastSAC
from papers.ners.agents.sac import SAC
from papers.ners.samplers.batch import Batch

FILES = Path(__file__).with_suffix("")
OURS, LITERAL, SBX, SBX_8 = "ours", "PyTorch", "SBX", "SBX, 8 in a call"
COLOURS = {
    OURS: VERMILLION, LITERAL: BLUE, SBX: GREEN, SBX_8: SKY, "cpprb": BLUE, "rlox": GREEN, "flashbax": PURPLE,
    "EnvPool": BLUE, "xminigrid": PURPLE, "navix": ORANGE,
}  # fmt: skip
STATES, ACTIONS = 11, 3  # of Hopper
WIDTH, BATCH = 256, 128
ROUNDS = 5
Tasks = dict[str, Callable[[], float]]


class Study(NamedTuple):
    """Something whose size is varied."""

    title: str
    unit: str
    """What is timed."""
    sizes: tuple[int, ...]
    ours: Callable[[int], Tasks]
    peers: Callable[[int], Wanted]


# ---- gradient steps --------------------------------------------------------------------------------------------------


def updates(width: int, batch: int) -> int:
    """Gradient steps that take about as long as 16 of the usual size: at least 2, at most 64."""
    return int(np.clip(16 * (WIDTH / width) ** 2 * BATCH / batch, 2, 64))


def learners(width: int, batch: int) -> Tasks:
    """Our kernel and the form to read, on batches that they draw."""
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {
        "state": (STATES,), "action": (ACTIONS,), "reward": (), "next_state": (STATES,), "terminal": (), "weight": ()
    }  # fmt: skip
    ring = Ring(10_000, {name: (shape, "f4") for name, shape in shapes.items()})
    ring.extend(**{name: rng.uniform(0.0, 1.0, (10_000, *shape)) for name, shape in shapes.items()})

    def task(agent: Any) -> Callable[[], float]:
        def learn() -> None:
            drawn = ring.get(rng.integers(len(ring), size=batch))
            agent.update(Batch(**{name: torch.from_numpy(values) for name, values in drawn.items()}))

        return per_call(learn, updates(width, batch))

    kinds = {OURS: FastSAC, LITERAL: SAC}
    return {name: task(kind(STATES, ACTIONS, hidden=(width, width))) for name, kind in kinds.items()}


def sbx(width: int, batch: int) -> Wanted:
    arguments = dict(
        algorithm="SAC", make_env="papers.ners.agents.tasks.make_env", env="Hopper-v4", width=width, batch=batch,
        updates=updates(width, batch),
    )  # fmt: skip
    return {SBX: ("sbx_updates", arguments), SBX_8: ("sbx_updates", arguments | dict(at_once=8))}


# ---- games side by side ----------------------------------------------------------------------------------------------


def games(n: int) -> Tasks:
    env = MiniGridTask(minigrid.SHARED, observation="codes")
    return {OURS: minigrid.one_by_one(env, env.n_actions) if n == 1 else minigrid.side_by_side(env, n)}


def other_games(n: int) -> Wanted:
    return {
        name: (f"{name.lower()}_steps", dict(env=env, n=n, steps=max(400, 20 * n)))
        for name, env in minigrid.PEERS.items()
    }


STUDIES = {
    "width": Study(
        f"SAC, batch {BATCH}: units per layer", "us per gradient step", (32, 64, 128, 256, 512, 1024),
        lambda width: learners(width, BATCH), lambda width: sbx(width, BATCH),
    ),
    "batch": Study(
        f"SAC, {WIDTH} units: batch", "us per gradient step", (32, 64, 128, 256, 512, 1024),
        lambda batch: learners(WIDTH, batch), lambda batch: sbx(WIDTH, batch),
    ),
    "memory": Study(
        "prioritised replay of 256: transitions stored", "us per batch", (10**4, 10**5, 10**6, 10**7),
        lambda size: {OURS: memory(size, 256, 100)},
        lambda size: {name: (f"{name}_per", dict(size=size, batch=256, calls=100)) for name in OTHERS},
    ),
    "games": Study(
        f"{minigrid.SHARED}: games side by side", "us per step of a game", (1, 8, 64, 512), games, other_games
    ),
}  # fmt: skip


def measure(name: str) -> pd.DataFrame:
    """Columns study, size, who, us."""
    study, rows = STUDIES[name], []
    for size in study.sizes:
        with Peers() as peers:
            us = interleaved(study.ours(size) | peers.tasks(study.peers(size)), ROUNDS)
        rows += [(name, size, who, value) for who, value in us.items()]
        print(f"{name} {size:,}: " + ", ".join(f"{who} {number(value)} us" for who, value in us.items()), flush=True)
    return pd.DataFrame(rows, columns=["study", "size", "who", "us"])


# ---- what comes out --------------------------------------------------------------------------------------------------


def table(frame: pd.DataFrame, name: str) -> str:
    """Microseconds at each size, and how ours compares with the fastest of the others."""
    times = frame[frame["study"] == name].pivot(index="size", columns="who", values="us")
    others = [who for who in COLOURS if who in times and who != OURS]
    best = times[others].min(axis=1)
    lines = [["size", OURS, *others, "ours / fastest other"]]
    for size, row in times.iterrows():
        cells = [number(row[who]) for who in (OURS, *others)]
        lines.append([f"{size:,}", *cells, f"{number(row[OURS] / best[size])} ({times.loc[size, others].idxmin()})"])
    return aligned(lines)


def page(frame: pd.DataFrame) -> str:
    lines = [
        "# Time per step against size",
        "",
        "Written by `.venv/bin/python -m benchmarks.sizes`; do not edit. Microseconds on one thread of a CPU, medians",
        f"of {ROUNDS} rounds in which ours and the peers took turns; a ratio below 1: ours is faster. What multiplies",
        f"matrices in ours: {products()}.",
        "Eight updates in a call are not like for like: they follow eight steps, ours each step.",
        "",
        "![time per step against size](sizes.png)",
    ]
    for name, study in STUDIES.items():
        lines += ["", f"## {study.title} ({study.unit})", "", table(frame, name)]
    return "\n".join(lines) + "\n"


def draw(frame: pd.DataFrame, picture: Path) -> None:
    """A panel for each study, both axes logarithmic."""
    note = "One thread on a CPU; medians of processor time"
    canvas, axes = new_figure(2, 2, "Time per step against size", caption=note, size=(3.6, 2.7))
    for ax, (name, study) in zip(axes.flat, STUDIES.items()):
        for who, colour in COLOURS.items():
            rows = frame[(frame["study"] == name) & (frame["who"] == who)].sort_values("size")
            if len(rows):
                ax.loglog(rows["size"], rows["us"], "o-", color=colour, markersize=3, label=who)
        ax.set_xticks(study.sizes, [f"{size:,}" for size in study.sizes])
        ax.xaxis.minorticks_off()
        ax.set_title(study.title)
        ax.set_ylabel(study.unit)
        ax.legend()
    save(canvas, picture)


@guard
def main(names: list[str]) -> None:
    for name in names:
        if name not in STUDIES:
            raise UserError(f"unknown study {name!r}; choose from: {', '.join(STUDIES)}")
    one_thread()
    frame = pd.concat([measure(name) for name in names or STUDIES], ignore_index=True)
    if not names:
        frame.to_csv(FILES.with_suffix(".csv"), index=False, float_format="%.4g")
        draw(frame, FILES.with_suffix(".png"))
        FILES.with_suffix(".md").write_text(page(frame))


if __name__ == "__main__":
    main(sys.argv[1:])
