"""What is run for each figure, at each scale.

``smoke`` only proves that everything is wired. ``quick`` is a laptop's budget, as long as Filtered-HER needs on Hand
until it gains no more. ``full`` has the paper's 15 runs and five times the training.
"""

from collections.abc import Callable, Iterable

from lab.entry import Entry
from papers.bias_reduced_her import appendix_a, bitflip
from papers.bias_reduced_her.train import METHODS, TASKS, Config

HEADLINE: dict[str, Callable[[Entry], bool]] = {
    "fig1": lambda entry: True,
    "fig2": lambda entry: True,
    "bitflip": lambda entry: entry.seed < 3,
    "appendix-a": lambda entry: True,
}
"""What `make reproduce` trains: figures, and which of their runs fit into an hour beside the other papers."""

SCHEDULES: dict[str, dict] = {
    "smoke": dict(epochs=2, cycles=2, updates=5, capacity=5_000, eval_episodes=3),
    "quick": dict(epochs=40),
    "full": dict(epochs=200),
}
SEEDS = {"smoke": 1, "quick": 5, "full": 15}
OWN_SEEDS = SEEDS | {"quick": 3}  # of experiments that are not in the paper


def entries(
    scale: str, envs: Iterable[str], methods: Iterable[str], suffix: str = "", seeds: dict[str, int] = SEEDS, **settings
) -> list[Entry]:
    """Every method on every task with every seed of the scale; `suffix` names what `settings` change."""
    found = []
    for env in envs:
        for method in methods:
            for seed in range(seeds[scale]):
                config = Config(env, method, seed, **SCHEDULES[scale], **settings)  # type: ignore[arg-type]
                found.append(Entry(method + suffix, env, seed, "papers.bias_reduced_her.train:main", config))
    return found


def training(scale: str) -> list[Entry]:
    """The four methods on the three tasks: what Figs. 3 and 4 and Tables 1 and 2 are drawn from."""
    return entries(scale, TASKS, METHODS)


def own_grid(scale: str) -> list[Entry]:
    """Not in the paper: IBS on a grid of a quarter of the cells, so that its weights are far above their floor."""
    return entries(scale, ["Hand"], ["her-ibs", "filtered-her-ibs"], " (10 x 10)", OWN_SEEDS, grid=10)


def own_her(scale: str) -> list[Entry]:
    """Not in the paper: HER and its filter under two settings that decide how much a misleading transition weighs.

    Without prioritised replay it is replayed as often as any other; and it is not terminal where virtual successes are
    bootstrapped.
    """
    settings: dict[str, dict] = {
        " (uniform replay)": dict(per_alpha=0.0),
        " (bootstrapped)": dict(end_at_success=False),
    }
    found = []
    for suffix, changed in settings.items():
        found += entries(scale, ["Hand"], ["her", "filtered-her"], suffix, OWN_SEEDS, **changed)
    return found


def own_penalty(scale: str) -> list[Entry]:
    """Not in the paper: an actor whose outputs are kept from saturating, as in the code of HER."""
    return entries(scale, TASKS, ["her", "filtered-her"], " (penalty 1)", OWN_SEEDS, action_penalty=1.0)


EXPERIMENTS: dict[str, Callable[[str], list[Entry]]] = {
    "training": training,
    "bitflip": bitflip.entries,
    "appendix-a": appendix_a.entries,
    "own-grid": own_grid,
    "own-her": own_her,
    "own-penalty": own_penalty,
}
