"""What is run: every idea that can be joined, on every task; an experiment is a task.

``smoke`` has one idea of each family beside uniform replay, and tiny runs. ``quick`` is the comparison that README.md
registers. There is no ``full``: the arena's budget is its own.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from arena.replay.ideas import IDEAS, refusal
from arena.replay.tasks import TASKS
from arena.replay.train import Config
from lab.entry import Entry
from lab.rooms import plain

FIRST_SEED = 10
"""At quick: lower ones were used to see what runs cost."""
SEEDS = dict.fromkeys(TASKS, 10)
"""Per idea at quick: ten where a run takes less than three minutes, else five."""
SMOKE = ("uniform", "ter", "discor", "refer", "filtered-her-per")


def legal(env: str) -> list[str]:
    """The ideas that can be joined with the agent of a task, uniform replay first."""
    agent = TASKS[env].agent
    return [idea for idea in IDEAS if not refusal(idea, env, agent.name, agent.provides)]


def entries(env: str, scale: str) -> list[Entry]:
    """All runs on one task, seed by seed, so that a sweep that is stopped early has whole comparisons."""
    if scale == "full":
        return []
    changed: dict[str, Any] = dict(budget="smoke") if scale == "smoke" else {}
    ideas = [idea for idea in legal(env) if scale != "smoke" or idea in SMOKE]
    seeds = range(1) if scale == "smoke" else range(FIRST_SEED, FIRST_SEED + SEEDS[env])
    return [
        Entry(idea, env, seed, "arena.replay.train:main", Config(env, idea, seed, **changed))  # type: ignore[arg-type]
        for seed in seeds
        for idea in ideas
    ]


NAMES = {env: plain(env) for env in TASKS}
"""Task -> its experiment."""
EXPERIMENTS: dict[str, Callable[[str], list[Entry]]] = {NAMES[env]: partial(entries, env) for env in TASKS}
