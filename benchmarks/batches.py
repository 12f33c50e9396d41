"""Time to make a batch: choosing the transitions, then gathering them and drawing their pictures."""

import numpy as np

from benchmarks.rows import Row
from benchmarks.timing import clock
from benchmarks.trainers import METHODS, warmed_up
from papers.ter.train import Trainer

LIMIT = 1.5  # TER over PER
ROUNDS, CALLS = 20, 25


def measure() -> list[Row]:
    rng = np.random.default_rng(0)
    trainers = {method: warmed_up(method) for method in METHODS}
    times: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
    for _ in range(ROUNDS):
        for method, trainer in trainers.items():
            times[method] += [_one(trainer, rng) for _ in range(CALLS)]
    us = {method: np.array(seconds) * 1e6 for method, seconds in times.items()}  # (batches, 2)
    medians = {method: float(np.median(u.sum(axis=1))) for method, u in us.items()}
    rows = []
    for method, u in us.items():
        choose, draw = np.median(u, axis=0)
        limit = LIMIT if method == "ter" else None
        note = f"median {choose:.0f} us to choose (mean {u[:, 0].mean():.0f}), {draw:.0f} us to gather and draw"
        if method == "discor":
            note += "; choosing includes its weights and targets, for which its networks look at the drawn batch"
        if method == "ebu":
            note += "; most batches were prepared with the episode's first one, hence the mean"
        rows.append(Row(f"{method}: batch of 64", medians[method], "us", medians["per"], "our per", limit, note=note))
    choose = {method: float(np.median(us[method][:, 0])) for method in ("per", "ter")}
    rows.append(Row("ter: choose only", choose["ter"], "us", choose["per"], "our per"))
    return rows


def _one(trainer: Trainer, rng: np.random.Generator) -> tuple[float, float]:
    """Seconds to choose a batch, and to gather and draw it. Then priorities change, as in training."""
    begin = clock()
    batch = trainer.sampler.sample(trainer.config.batch_size)
    chosen = clock()
    assert batch is not None, "an episode has ended in the warm-up"
    trainer.memory.batch(batch[0])
    end = clock()
    if trainer.config.method != "discor":  # its networks would learn
        trainer.sampler.update(batch[0], {"td_error": rng.random(len(batch[0]))})
    return chosen - begin, end - chosen
