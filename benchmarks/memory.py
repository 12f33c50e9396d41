"""Memory of a million transitions of a tile task, with every structure that TER keeps for them.

Each measurement runs in its own process, two at a time.
"""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rows import Row

STATUS = Path("/proc/self/status")  # Linux only; nothing is measured elsewhere
STEPS = 1_000_000
MINIGRID = "SimpleCrossing-Hard"  # the one with the most states of its seven tasks
SOKOBAN = "7x7-2"  # likewise
PEER_STEPS = 20_000  # pfrl is measured with fewer and scaled up, as a million frames may not fit
UPDATES = 100  # after the memory is full, so that activations, gradients and the optimiser's moments count
LIMIT = 1.5  # GB resident


def measure() -> list[Row]:
    if not STATUS.exists():
        return []
    fresh = multiprocessing.get_context("spawn")  # not a copy of this process, which holds everything measured so far
    with ProcessPoolExecutor(2, fresh, max_tasks_per_child=1) as pool:
        weighed = [
            pool.submit(weigh) for weigh in (weigh_minigrid, weigh_sokoban, weigh_minigrid_peer, weigh_sokoban_peer)
        ]
        minigrid, sokoban, minigrid_peer, sokoban_peer = (weights.result() for weights in weighed)
    return [_row(MINIGRID, minigrid, minigrid_peer), _row(f"Sokoban {SOKOBAN}", sokoban, sokoban_peer)]


def _row(task: str, ours: dict[str, float], peer: dict[str, float]) -> Row:
    whole_peer = peer["before"] + (peer["after"] - peer["before"]) / PEER_STEPS * STEPS
    graph = ours["filled"] - ours["before"] - ours["ring"] - ours["tree"]
    parts = {
        "before the first transition (Python, torch, networks)": ours["before"],
        "ring": ours["ring"],
        "priorities": ours["tree"],
        f"graph with hash keys ({ours['vertices']:,.0f} vertices, {ours['edges']:,.0f} edges)": graph,
        f"{UPDATES} updates": ours["after"] - ours["filled"],
    }
    note = ", ".join(f"{name} {size / 1e9:.2f} GB" for name, size in parts.items())
    note += (
        f"; peak {ours['peak'] / 1e9:.2f} GB; pfrl keeps uint8 frames and is scaled up from {PEER_STEPS:,} transitions"
    )
    what = f"{task}: 1M transitions, ter"
    return Row(what, ours["after"] / 1e9, "GB", whole_peer / 1e9, "pfrl PER", LIMIT, "ours", note)


def resident(key: str = "VmRSS") -> float:
    """Resident bytes of this process: now (VmRSS), or the peak so far (VmHWM)."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines[key].split()[0]) * 1024.0


def weigh_minigrid() -> dict[str, float]:
    from papers.ter.train import Config, Trainer

    return _weigh_ours(Trainer, Config(env=MINIGRID, method="ter", capacity=STEPS, epsilon_end=1.0))


def weigh_sokoban() -> dict[str, float]:
    from papers.ter.train_sokoban import Config, Trainer

    return _weigh_ours(Trainer, Config(env=SOKOBAN, method="ter", capacity=STEPS, epsilon_end=1.0))


def _weigh_ours(kind: Any, config: Any) -> dict[str, float]:
    from benchmarks.trainers import make, train

    trainer = make(kind, config)
    weights = {"before": resident()}
    for _ in range(STEPS):
        trainer.interact()
    weights["filled"] = resident()
    train(trainer, UPDATES * trainer.config.update_every)
    graph = trainer.sampler.graph
    return weights | {
        "after": resident(),
        "peak": resident("VmHWM"),
        "ring": float(sum(trainer.memory[name].nbytes for name in trainer.memory.ring.fields)),
        "tree": float(trainer.sampler.prioritized.tree._nodes.nbytes),
        "vertices": len(graph.reached),
        "edges": sum(map(len, graph.predecessors.values())),
    }


def weigh_minigrid_peer() -> dict[str, float]:
    from envs.minigrid.tasks import TASKS, MiniGridTask

    return _weigh_peer(MiniGridTask(MINIGRID), TASKS[MINIGRID][2])


def weigh_sokoban_peer() -> dict[str, float]:
    from envs.sokoban.game import Sokoban
    from papers.ter.train_sokoban import TASKS

    size, boxes = TASKS[SOKOBAN]
    env = Sokoban((size, size), boxes)
    return _weigh_peer(env, env.n_actions)


def _weigh_peer(env: Any, n_actions: int) -> dict[str, float]:
    from benchmarks.peers import pfrl

    rng = np.random.default_rng(0)
    buffer = pfrl.replay_buffers.PrioritizedReplayBuffer(STEPS)
    frame, _ = env.reset(seed=0)
    before = resident()
    for _ in range(PEER_STEPS):
        action = int(rng.integers(n_actions))
        next_frame, reward, terminated, truncated, _ = env.step(action)
        buffer.append(frame, action, reward, next_frame, is_state_terminal=terminated)
        frame = next_frame
        if terminated or truncated:
            buffer.stop_current_episode()
            frame, _ = env.reset()
    return {"before": before, "after": resident()}
