"""What is run for each figure, at each scale.

``smoke`` only proves that everything is wired. ``quick`` is a laptop's budget, as long as Filtered-HER needs on Hand
until it gains no more. ``full`` has the paper's 15 runs and five times the training.
"""

from collections.abc import Callable, Iterable

from common.lab.sweep import Entry
from papers.bias_reduced_her.train import METHODS, TASKS, Config

HEADLINE = ("fig3", "fig4", "table2")

SCHEDULES: dict[str, dict] = {
    "smoke": dict(epochs=2, cycles=2, updates=5, capacity=5_000, eval_episodes=3),
    "quick": dict(epochs=40),
    "full": dict(epochs=200),
}
SEEDS = {"smoke": 1, "quick": 5, "full": 15}


def entries(scale: str, envs: Iterable[str], methods: Iterable[str], suffix: str = "", **settings) -> list[Entry]:
    """Every method on every task with every seed of the scale; `suffix` names what `settings` change."""
    found = []
    for env in envs:
        for method in methods:
            for seed in range(SEEDS[scale]):
                config = Config(env, method, seed, **SCHEDULES[scale], **settings)  # type: ignore[arg-type]
                found.append(Entry(method + suffix, env, seed, "papers.bias_reduced_her.train:main", config))
    return found


def training(scale: str) -> list[Entry]:
    """The four methods on the three tasks: what Figs. 3 and 4 and Tables 1 and 2 are drawn from."""
    return entries(scale, TASKS, METHODS)


def own_grid(scale: str) -> list[Entry]:
    """Not in the paper: IBS on a grid of a quarter of the cells, so that its weights are far above their floor."""
    return entries(scale, ["Hand"], [method for method in METHODS if method.endswith("ibs")], " (10 x 10)", grid=10)


EXPERIMENTS: dict[str, Callable[[str], list[Entry]]] = {"training": training, "own-grid": own_grid}
