"""Names, colours and orders of what was run, for figures and claims alike. Nothing is drawn here."""

from lab.colours import OTHERS, OWN_METHOD, PRIORITISED, UNIFORM

AGENTS = {"td3": "TD3", "sac": "SAC", "rainbow": "Rainbow"}
SAMPLERS = {
    "ners": "NERS",
    "random": "RANDOM",
    "per": "PER",
    "ero": "ERO",
    "ners*": "NERS* (training returns)",
    "ners few": "NERS, only reward, TD error and time",
    "ners no-global": "NERS without global context",
}
COLOURS = dict(zip(SAMPLERS, (OWN_METHOD, UNIFORM, PRIORITISED, *OTHERS)))
TASKS = {
    "SparsePendulum": "Pendulum*",
    "Pendulum-v1": "Pendulum",
    "LunarLanderContinuous-v3": "LunarLander",
    "BipedalWalker-v3": "BipedalWalker",
    "Hopper-v4": "Hopper",
    "Walker2d-v4": "Walker2d",
    "Ant-v4": "Ant",
}
"""Names as the paper has them; an Atari game is its own name."""


def split(method: str) -> tuple[str, str]:
    """Agent and sampler of a method's label: "sac ners few" is ("sac", "ners few")."""
    agent, _, sampler = method.partition(" ")
    return agent, sampler


def task(env: str) -> str:
    """A task's name in titles."""
    return TASKS.get(env, env)


def cell(agent: str, env: str) -> str:
    """An agent on a task: "SAC Pendulum*"."""
    return f"{AGENTS.get(agent, agent)} {task(env)}"


def label(method: str, short: bool = False) -> str:
    """A method's label as captions print it: "sac per" is "SAC with PER", in short "PER"."""
    agent, sampler = split(method)
    name = SAMPLERS.get(sampler, sampler)
    return name if short else f"{AGENTS.get(agent, agent)} with {name}"
