"""Measure everything and write benchmarks/RESULTS.md: ``.venv/bin/python -m benchmarks``.

``.venv/bin/python -m benchmarks minigrid training`` measures only these topics, and writes nothing.
"""

import contextlib
import importlib
import importlib.metadata
import sys
import time
from pathlib import Path

from benchmarks.fast_peers import Peers
from benchmarks.floor import products
from benchmarks.rows import LIBRARIES, Row, library, standings, summary, table
from lab.run.errors import UserError, guard
from lab.run.provenance import surroundings
from lab.run.threads import one_thread

TOPICS = {
    "minigrid": "Steps and resets of the MiniGrid tasks",
    "sokoban": "Steps and levels of Sokoban",
    "throwing": "A step of the ball-throwing tasks",
    "goal_tasks": "A step of the point maze and the pixel grid",
    "voxel_build": "A step of the construction task",
    "wake_flow": "The swimmer in the wake, and what learns from it",
    "ant_maze": "A step of the ant maze",
    "simulators": "A step of the environments that others made",
    "sum_tree": "Prioritised draws",
    "prioritised": "Prioritised replay: draw a batch, gather it, set its priorities",
    "batches": "Making a batch (SimpleCrossing-Easy, 50,000 transitions stored)",
    "training": "Training on SimpleCrossing-Easy and on Sokoban, per environment step",
    "tile_codes": "Training on tile codes (TER's quick), per environment step",
    "memory": "Memory",
    "her_training": "Training with hindsight on Hand, per environment step",
    "fetch_training": "Training with hindsight on FetchPush, per environment step",
    "construction": "Training on the construction task",
    "sibling_rivalry": "Training Sibling Rivalry on the point maze",
    "ref_er": "Training with ReF-ER, per gradient or environment step",
    "ners": "Training with learnt sampling (NERS), per environment or gradient step",
}
HEADLINE = (
    ("bias_reduced_her", "her_training", "her: step"),
    ("sibling_rivalry", "sibling_rivalry", "ppo-sr: step"),
    ("ref_er", "ref_er", "ddpg: step"),
    ("ners", "ners", "sac: step"),
    ("ners", "ners", "td3: step"),
    ("ners", "ners", "rainbow per: gradient step"),
    ("ter", "training", "per: step"),
)
"""Training of each paper that peers also do: paper, topic and row."""
RESULTS = Path(__file__).parent / "RESULTS.md"


@guard
def main(names: list[str]) -> None:
    """Measure the named topics, or all; print their tables."""
    for name in names:
        if name not in TOPICS:
            raise UserError(f"unknown topic {name!r}; choose from: {', '.join(TOPICS)}")
    one_thread()
    # Import all before measuring the first, so that a missing package is noticed at once.
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in names or TOPICS}
    sections = {}
    for name, module in modules.items():
        begin = time.perf_counter()
        print(f"measuring {name} ...", file=sys.stderr, end=" ", flush=True)
        sections[name] = module.measure()
        print(f"{time.perf_counter() - begin:.0f} s", file=sys.stderr)
        print(f"\n{TOPICS[name]}\n\n{table(sections[name])}\n", flush=True)
    if not names:
        RESULTS.write_text(report(sections))
        print(f"written: {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")


def report(sections: dict[str, list[Row]]) -> str:
    """Text of RESULTS.md, from all sections."""
    made = surroundings()
    machine, versions = made["machine"], made["versions"]
    judged = [row for rows in sections.values() for row in rows if row.met is not None]
    kept = ("torch", "numpy", "numba", "gymnasium", "minigrid", "mujoco", "ale-py")
    lines = [
        "# Speed and memory",
        "",
        "Written by `make bench`; do not edit. All numbers are from one run on one thread, in which ours and the peer",
        "took turns; times are medians of processor time. A ratio is ours / peer.",
        "",
        f"Machine: {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}; "
        + ", ".join(f"{name} {versions[name]}" for name in kept if name in versions)
        + ".",
        f"Matrix products of the kernels: {products()}.",
        f"Peers: {', '.join(f'{name} {version}' for name, version in peers(sections).items())}.",
        f"Targets met: {sum(bool(row.met) for row in judged)} of {len(judged)}.",
        "",
        "## Training in each paper, in short",
        "",
        "A step is one of the environment with its share of gradient steps, or a gradient step where that is said.",
        "The floor is the time of the matrix products and convolutions alone; what is left out of it stands below.",
        "",
        summary(sections, HEADLINE),
        "",
        "## The fastest peers",
        "",
        "The fastest library that we know for each thing that a library also does; on a CPU, one thread.",
        "",
        standings(sections),
    ]
    for name, rows in sections.items():
        lines += ["", f"## {TOPICS[name]}", "", table(rows)]
    return "\n".join(lines) + "\n"


def peers(sections: dict[str, list[Row]]) -> dict[str, str]:
    """Versions of the libraries that were measured, be it in this environment or in that of the fastest peers."""
    measured = {library(row.peer_name) for rows in sections.values() for row in rows}
    versions = dict(Peers.versions)
    for name, package in LIBRARIES.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions.setdefault(name, importlib.metadata.version(package))
    return {name: versions[name] for name in LIBRARIES if name in measured and name in versions}


if __name__ == "__main__":
    main(sys.argv[1:])
