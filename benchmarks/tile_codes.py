"""Double DQN on tile codes, per environment step: kernels, and the literal forms that they replace.

Both trainers have the settings of `quick`, and the same environment, memory and method settings. The literal one uses
double DQN in PyTorch and TER on nested hash tables.
"""

from functools import partial
from typing import Any
from unittest import mock

from benchmarks.floor import layer_flops, matmul_rate, update_flops
from benchmarks.rows import Row, number
from benchmarks.timing import interleaved, per_call
from benchmarks.trainers import make, train
from papers.ter import train as script
from papers.ter.agents import methods
from papers.ter.evidence.budgets import MINIGRID, SOKOBAN_WORLD
from papers.ter.train import Trainer

LIMITS = {"SimpleCrossing-Easy": 0.4, "5x5-1": 0.3, "7x7-2": 0.3}
METHODS = ("uer", "ter", "discor")
WARMUP, STEPS, ROUNDS = 5_000, 200, 9


def measure() -> list[Row]:
    fast = {(env, method): warmed_up(env, method) for env in LIMITS for method in METHODS}
    literal = {place: warmed_up(*place, literal=True) for place in fast}
    loops = {
        (form, *place): per_call(partial(train, trainer, STEPS), 1, STEPS)
        for form, trainers in (("fast", fast), ("literal", literal))
        for place, trainer in trainers.items()
    }
    looks = {("look", *place): per_call(trainer.evaluate, 1) for place, trainer in fast.items() if place[1] == "uer"}
    us = interleaved({**loops, **looks, "rate": matmul_rate()}, ROUNDS)
    rows = []
    for env, method in fast:
        floor = operations(literal[env, method]) / us["rate"] * 1e6
        note = f"arithmetic floor {number(floor)} us"
        if method == "uer":
            note += f"; an evaluation of 30 episodes takes {us['look', env, method] / 1e3:.0f} ms"
        ours, theirs = us["fast", env, method], us["literal", env, method]
        rows.append(Row(f"{env}, {method}: step", ours, "us", theirs, "literal form", LIMITS[env], note=note))
    return rows


def warmed_up(env: str, method: str, literal: bool = False) -> Trainer:
    """A trainer that has filled part of its memory at random, and acts by its network."""
    world = MINIGRID if env in MINIGRID.tasks else SOKOBAN_WORLD
    config = world.script.Config(env=env, method=method, **world.budget.quick | dict(epsilon_steps=WARMUP))
    choices = [mock.patch.object(module, "on_codes", lambda c: not literal) for module in (methods, script)]
    with choices[0], choices[1]:  # of the search of the graph, and of the learner
        trainer = make(world.script.Trainer, config)
    for _ in range(WARMUP):
        trainer.interact()
    return trainer


def operations(trainer: Any) -> float:
    """Floating-point operations per environment step of the PyTorch form: acting, and a share of an update."""
    config, (rows, columns) = trainer.config, trainer.world.env.grid_shape
    layers = layer_flops(trainer.agent.q, (rows, columns, 0))
    update = update_flops(layers, config.batch_size, looks=2)
    if config.method == "discor":
        update += update_flops(layer_flops(trainer.sampler.errors.q, (rows, columns, 0)), config.batch_size, looks=1)
    return update * config.replay_ratio + sum(layers)
