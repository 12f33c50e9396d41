"""The swimmer's flow: time of a solver step with cylinder and swimmer, and of an action through gymnasium; and of a
gradient step of the recurrent V-RACER that learns from it, beside forward and backward of PyTorch's LSTM on as many
windows.

Swimmers are put back to their start before they leave the domain.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from benchmarks.rows import Row
from benchmarks.timing import interleaved, per_call
from envs.wake.flow import PLACE, WakeFlow
from papers.ref_er.agents.fast import FastVRACER
from papers.ref_er.memory.episode import Episode
from papers.ref_er.recurrent.recurrent import LSTM, WindowMemory
from papers.ref_er.refer import ReFER

GRIDS = {16: 1e6 / 3000, 32: None}
"""Cells per diameter -> most microseconds that a step may take: 3,000 steps per second."""
STEPS, ACTIONS, UPDATES, ROUNDS = 50, 3, 3, 9
BATCH, WINDOW, CELLS, N_STATES, N_ACTIONS = 256, 16, 32, 14, 3


def measure() -> list[Row]:
    worlds = {cells: started(cells) for cells in GRIDS}
    tasks = {f"D/{cells}": per_call(solver_step(world), STEPS) for cells, world in worlds.items()}
    tasks["action"] = per_call(action(started(16)), ACTIONS)
    ours, theirs = updates()
    tasks |= {"update": per_call(ours, UPDATES), "torch": per_call(theirs, UPDATES)}
    us = interleaved(tasks, ROUNDS)
    rows = []
    for cells, limit in GRIDS.items():
        took = us[f"D/{cells}"]
        note = f"{1e6 / took:,.0f} steps per second, {8 * cells} x {4 * cells} cells"
        rows.append(Row(f"swimmer's flow, D/{cells}: step", took, "us", limit=limit, judged="ours", note=note))
    rows.append(Row("swimmer's flow, D/16: action through gymnasium", us["action"] / 1e3, "ms"))
    note = f"{BATCH} windows of {WINDOW} steps, 2 x {CELLS} cells; the peer's: forward and backward alone"
    rows.append(
        Row(
            "recurrent V-RACER: gradient step", us["update"] / 1e3, "ms", us["torch"] / 1e3, "PyTorch's LSTM", note=note
        )
    )
    return rows


def started(cells: int) -> WakeFlow:
    world = WakeFlow(cells=cells)
    world.reset(seed=0)
    return world


def put_back(world: WakeFlow) -> None:
    world.swimmer.x, world.swimmer.y = PLACE[0] + 1.5, PLACE[1]


def solver_step(world: WakeFlow) -> Callable[[], None]:
    def step() -> None:
        world.advance(world.flow.longest_step())
        put_back(world)

    return step


def action(world: WakeFlow) -> Callable[[], None]:
    def act() -> None:
        put_back(world)
        world.step(np.array([-0.1, 0.0, 0.0]))

    return act


def updates() -> tuple[Callable[[], object], Callable[[], object]]:
    """Our gradient step, and forward and backward of PyTorch's layers on as many windows."""
    rng, memory = np.random.default_rng(0), WindowMemory(4096, N_STATES, N_ACTIONS, 400, 0.995, length=WINDOW)
    while memory.n < 4096:
        n = int(rng.integers(20, 400))
        states = list(rng.normal(size=(n + 1, N_STATES)).astype(np.float32))
        actions = list(0.4 * rng.normal(size=(n, N_ACTIONS)).astype(np.float32))
        means, stds = [np.zeros(N_ACTIONS, np.float32)] * n, [np.full(N_ACTIONS, 0.45, np.float32)] * n
        memory.add(Episode(states, actions, means, stds, list(rng.normal(size=n)), [0.0] * (n + 1), True))
    agent = FastVRACER(N_STATES, N_ACTIONS, hidden=(CELLS, CELLS), network=LSTM)
    rules, weights = ReFER(), np.ones(BATCH, np.float32)

    def ours() -> None:
        agent.update(memory, memory.sample(BATCH, rng), weights, rules, 1.0)

    layers = torch.nn.LSTM(N_STATES, CELLS, 2, batch_first=True)
    windows = torch.from_numpy(memory.inputs(memory.sample(BATCH, rng))[..., 1:].copy())

    def theirs() -> None:
        layers.zero_grad()
        layers(windows)[0][:, -1].sum().backward()

    return ours, theirs
