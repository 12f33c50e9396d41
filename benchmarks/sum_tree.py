"""Prioritised draws: a million priorities, batches of 256."""

import random
from collections.abc import Callable

import numpy as np

from benchmarks.peers import pfrl
from benchmarks.python_sum_tree import PythonSumTree
from benchmarks.rows import Row
from benchmarks.timing import interleaved, per_call
from common.replay.samplers import PrioritizedSampler
from common.replay.sum_tree import SumTree

SIZE, BATCH = 1_000_000, 256
LIMIT = 100.0  # us for drawing a batch and writing its new priorities
ROUNDS = 15


def measure() -> list[Row]:
    rng = np.random.default_rng(0)
    priorities = rng.uniform(0.05, 1.0, SIZE)
    new = rng.uniform(0.05, 1.0, BATCH)
    tree = SumTree(SIZE)
    tree.set_many(np.arange(SIZE), priorities)
    sampler = PrioritizedSampler(SIZE, rng, beta_steps=10**9)
    sampler.tree, sampler.stored = tree, SIZE

    def ours_distinct() -> None:
        tree.set_many(tree.draw_distinct(BATCH, rng), new)

    def ours_replaced() -> None:
        tree.set_many(tree.find(rng.random(BATCH) * tree.total), new)

    def ours_sampler() -> None:
        indices = sampler.sample(BATCH).indices
        sampler.update(indices, {"td_error": new})

    tasks = {
        "distinct": per_call(ours_distinct, 200),
        "replaced": per_call(ours_replaced, 200),
        "sampler": per_call(ours_sampler, 200),
        "python": per_call(_python(priorities, new), 20),
        "pfrl": per_call(_pfrl(priorities, new), 10),
    }
    us = interleaved(tasks, ROUNDS)
    return [
        Row("tree: draw 256 different of 1M, set them", us["distinct"], "us", us["pfrl"], "pfrl", LIMIT, "ours"),
        Row("tree: draw 256 with repeats, set them", us["replaced"], "us", us["python"], "plain Python", LIMIT, "ours"),
        Row("PrioritizedSampler: sample and update", us["sampler"], "us", us["pfrl"], "pfrl, tree alone", LIMIT, "ours",
            "with the importance weights and the exponent of the priorities, which the peer's time leaves out"),
    ]  # fmt: skip


def _python(priorities: np.ndarray, new: np.ndarray) -> Callable[[], None]:
    tree = PythonSumTree(priorities.tolist())
    values = new.tolist()

    def call() -> None:
        for index, value in zip([tree.find(random.random() * tree.total) for _ in range(BATCH)], values):
            tree.set(index, value)

    return call


def _pfrl(priorities: np.ndarray, new: np.ndarray) -> Callable[[], None]:
    tree = pfrl.collections.prioritized.SumTreeQueue()
    for priority in priorities.tolist():
        tree.append(priority)
    values = new.tolist()

    def call() -> None:
        indices, _ = tree.prioritized_sample(BATCH, remove=True)  # without repeats; removed until they are set again
        for index, value in zip(indices, values):
            tree[index] = value

    return call
