"""What is run: every idea that can be joined, on every task; an experiment is a task.

`smoke` has one idea of each family beside uniform replay, and tiny runs. `quick` is the comparison that README.md
registers. There is no `full`: the arena's budget is its own.
"""

from arena.replay import train
from arena.replay.ideas import IDEAS, refusal
from arena.replay.tasks import TASKS
from lab.rooms import plain
from lab.sweep.grid import Experiment, Scales, grid

SEEDS = Scales(1, range(10, 20), 0)
"""At quick lower ones were used to see what runs cost."""
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
