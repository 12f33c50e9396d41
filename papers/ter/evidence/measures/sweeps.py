"""What the number of predecessors makes of TER's sweeps, on a memory of random steps; no network is needed.

    .venv/bin/python -m papers.ter.evidence.measures.sweeps --env SimpleCrossing-Easy --predecessors 1

A random policy fills a memory once. Then batches are drawn as in training, PER's share of them uniformly, since all
priorities are equal. What a target network does is kept in tables: between two copies of it a transition passes on
what was known at the last one. The value of a vertex is *grounded* once a transition that ends the task, or one to a
vertex that was grounded at the last copy, has been replayed from it. A value thus moves by one step from copy to copy
at most, and stops where its transition is not drawn in between.
"""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from common.replay.protocol import Step
from common.replay.samplers import PrioritizedSampler
from envs import minigrid
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, Natural
from papers.ter import train, train_sokoban
from papers.ter.replay.graph import TransitionGraph
from papers.ter.topological import TER

TASKS = (*minigrid.TASKS, *train_sokoban.TASKS)


@dataclass(frozen=True)
class Config:
    """Settings of a measurement. The paper has none; batch and eta are those of the world (App. B)."""

    env: Literal[TASKS] = "SimpleCrossing-Easy"  # type: ignore[valid-type]
    """Task whose random steps are stored."""
    method: Literal["ter", "uer"] = "ter"
    """Batches of TER, or uniform ones."""
    seed: Natural = 0
    """Seed of all random streams."""
    predecessors: Count = 3
    """Predecessors expanded per vertex: 3 in the paper (App. B.5), 1 in the scripts released for MiniGrid."""
    transitions: Count = 20_000
    """Random steps in the memory."""
    target_interval: Count = 1_000
    """Environment steps between two copies of the target network, with a batch at every fourth."""
    copies: Count = 40
    """Copies of the target network that are followed."""


def script_of(task: str) -> Any:
    """The module that trains on a task."""
    return train_sokoban if task in train_sokoban.TASKS else train


def random_steps(config: Config) -> tuple[list[tuple[bytes, bytes, bool]], list[Step]]:
    """(v, v', terminated) of the steps of a random policy, v being a state's codes, and the steps themselves."""
    script = script_of(config.env)
    env = script.make_env(script.Config(env=config.env))
    streams = Streams(config.seed)
    levels, actions = streams.numpy("levels"), streams.numpy("exploration")
    state, steps = None, []
    for _ in range(config.transitions):
        if state is None:
            state = env.reset(seed=2 * int(levels.integers(2**31)))[1]["tiles"].tobytes()
        action = int(actions.integers(env.n_actions))
        _, reward, terminated, truncated, info = env.step(action)
        after = info["tiles"].tobytes()
        steps.append(Step(state, action, reward, after, terminated, truncated))
        state = None if terminated or truncated else after
    return [(step.observation, step.next_observation, step.terminated) for step in steps], steps


def distances(edges: list[tuple[bytes, bytes, bool]]) -> dict[bytes, int]:
    """Steps that separate a vertex from the end of its task along stored transitions; no entry where no path leads."""
    before: dict[bytes, list[bytes]] = {}
    found, frontier = {}, []
    for v, v_next, terminated in edges:
        if terminated:
            frontier += [v] if v not in found else []
            found[v] = 1
        else:
            before.setdefault(v_next, []).append(v)
    while frontier:
        nearer, frontier = frontier, []
        for v_next in nearer:
            for v in before.get(v_next, ()):
                if v not in found:
                    found[v] = found[v_next] + 1
                    frontier.append(v)
    return found


def measure(run: Run, config: Config) -> dict:
    """Measure. Logs, per copy of the target network: ``grounded``, the share of the vertices from which an end can be
    reached whose value rests on one, and ``distance``, how many steps from an end the farthest of them lies. With the
    last one ``transitions_per_sweep``, and ``terminal_share`` of the sweep's draws and ``terminal_stored`` of the
    memory. Raises UserError where no random step ends a task.
    """
    edges, steps = random_steps(config)
    reachable = distances(edges)
    if not reachable:
        raise UserError(f"no random step has ended a task: use more transitions than {config.transitions}")
    world = script_of(config.env).Config()
    streams = Streams(config.seed)
    rng = streams.numpy("replay")
    prioritized = PrioritizedSampler(config.transitions, rng, beta_steps=1)
    ter = TER(
        TransitionGraph(config.transitions), random.Random(streams.integer("sweep")), lambda state: state,
        world.eta, prioritized, world.roots, config.predecessors,
    )  # fmt: skip
    for index, step in enumerate(steps):
        ter.add(index, step)
    grounded: set[bytes] = set()
    swept = ends = 0
    mixed = int(world.eta * world.batch_size)
    metrics: dict[str, float] = {}
    for copy in range(1, config.copies + 1):
        learnt: set[bytes] = set()
        for _ in range(config.target_interval // world.update_every):
            if config.method == "uer":
                drawn = rng.integers(config.transitions, size=world.batch_size)
            else:
                drawn, _, _ = ter.sample(world.batch_size)  # type: ignore[misc]
                swept += world.batch_size - mixed
                ends += sum(edges[index][2] for index in drawn[mixed:])
            for index in drawn:
                v, v_next, terminated = edges[index]
                if terminated or v_next in grounded:
                    learnt.add(v)
        grounded |= learnt
        metrics = {
            "grounded": len(grounded) / len(reachable),
            "distance": float(max((reachable[v] for v in grounded), default=0)),
        }
        run.log(copy, metrics)
        run.tick(copy, grounded=metrics["grounded"])
    last: dict[str, float] = {"terminal_stored": float(np.mean([end for *_, end in edges]))}
    if swept:
        last |= {"transitions_per_sweep": swept / max(ter.sweeps, 1), "terminal_share": ends / swept}
    run.log(config.copies, last)
    return run.finish(metrics | last)


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Measure; returns the summary. An interrupted run starts again. See `lab.run.runs.execute`."""
    return execute(config, run_dir, measure, total=lambda _: config.copies, unit="copy", score="grounded", **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
