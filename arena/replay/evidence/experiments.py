"""Experiments, one per task: every idea that can be joined with the task's agent.

`smoke` has tiny runs of uniform replay and one idea of each family. `quick` is the comparison registered in README.md.
There is no `full`, as the arena has its own budget.
"""

from arena.replay import train
from arena.replay.ideas import IDEAS, refusal
from arena.replay.tasks import TASKS
from lab.rooms import plain
from lab.sweep.grid import Experiment, Scales, grid

SEEDS = Scales(1, range(10, 20), 0)
"""Seeds; at quick, lower ones had been used to measure the cost of runs."""
SMOKE = ("uniform", "ter", "discor", "refer", "filtered-her-per")


def legal(env: str) -> list[str]:
    """The ideas that can be joined with the agent of a task, uniform replay first."""
    agent = TASKS[env].agent
    return [idea for idea in IDEAS if not refusal(idea, env, agent.name, agent.provides)]


def of_task(env: str) -> Experiment:
    """All runs on one task, seed by seed."""
    ideas = {idea: dict(idea=idea) for idea in legal(env)}
    some = {idea: ideas[idea] for idea in ideas if idea in SMOKE}
    return grid(train, env, Scales(some, ideas, ideas), SEEDS, Scales(smoke=dict(budget="smoke"))).by("seed")


NAMES = {env: plain(env) for env in TASKS}
"""Task -> its experiment."""
EXPERIMENTS: dict[str, Experiment] = {NAMES[env]: of_task(env) for env in TASKS}
