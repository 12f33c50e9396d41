"""Memory: a million transitions of a grid task with every structure that TER keeps for them.

Each measurement has a process of its own: ``python -m benchmarks.memory ours`` prints it as JSON.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.rows import Row

ROOT = Path(__file__).resolve().parents[1]
STATUS = Path("/proc/self/status")  # Linux only; nothing is measured elsewhere
ENV, STEPS = "SimpleCrossing-Hard", 1_000_000  # of the seven tasks the one with the most states
PEER_STEPS = 20_000  # pfrl is weighed with fewer and scaled up: a million frames may not fit
UPDATES = 100  # after the memory is full: activations, gradients and the optimiser's moments count, too
LIMIT = 1.5  # GB resident


def measure() -> list[Row]:
    if not STATUS.exists():
        return []
    ours, peer = _in_own_process("ours"), _in_own_process("peer")
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
    what = f"{ENV}: 1M transitions, ter"
    return [Row(what, ours["after"] / 1e9, "GB", whole_peer / 1e9, "pfrl PER", LIMIT, "ours", note)]


def resident(key: str = "VmRSS") -> float:
    """Bytes of this process in memory: now (VmRSS), or at most so far (VmHWM)."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines[key].split()[0]) * 1024.0


def _in_own_process(name: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.memory", name]
    return json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout)


def weigh_ours() -> dict[str, float]:
    from benchmarks.trainers import make, train
    from papers.ter.train import Config

    trainer = make(Config(env=ENV, method="ter", capacity=STEPS, epsilon_end=1.0))
    weights = {"before": resident()}
    for _ in range(STEPS):
        trainer.interact()
    weights["filled"] = resident()
    train(trainer, UPDATES * trainer.config.update_every)
    graph = trainer.sampler.graph
    return weights | {
        "after": resident(),
        "peak": resident("VmHWM"),
        "ring": float(sum(trainer.memory[name].nbytes for name in trainer.memory.fields)),
        "tree": float(trainer.sampler.prioritized.tree._nodes.nbytes),
        "vertices": len(graph.reached),
        "edges": sum(map(len, graph.predecessors.values())),
    }


def weigh_peer() -> dict[str, float]:
    from benchmarks.peers import pfrl
    from envs.minigrid_tasks import TASKS, MiniGridTask

    env, n_actions, rng = MiniGridTask(ENV), TASKS[ENV][2], np.random.default_rng(0)
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


if __name__ == "__main__":
    print(json.dumps({"ours": weigh_ours, "peer": weigh_peer}[sys.argv[1]]()))
