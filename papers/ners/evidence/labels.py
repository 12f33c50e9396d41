"""Names, colours and orders of what was run, for figures and claims alike. Nothing is drawn here."""

from lab.judge.colours import OTHERS, OWN_METHOD, PRIORITISED, UNIFORM

AGENTS = {"td3": "TD3", "sac": "SAC", "rainbow": "Rainbow", "none": "no agent"}
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
INDEPENDENT = "random-iid"
SAMPLERS[INDEPENDENT], COLOURS[INDEPENDENT] = "RANDOM, independent draws", "0.5"
TERMINAL = "terminal"
"""Last word of a sampler's label: time-outs are stored as terminations."""
SAMPLERS |= {f"{name} {TERMINAL}": f"{SAMPLERS[name]}, time-outs terminal" for name in ("ners", "random", "per", "ero")}
READINGS = {
    "ners": "time as a share of the limit",
    "ners episode": "time: step in the episode",
    "ners environment": "time: environment step",
    "ners tanh": "tanh on all features",
    "ners first": "first return as reference",
    "ners i-train": "p normalised over I_train",
    "ners wide": "the paper's widths",
    "ners code": "as the released code",
}
"""Labels of own-law's arms: how each differs from the first."""
SAMPLERS |= {name: f"NERS, {text}" for name, text in READINGS.items() if name != "ners"}
READING_COLOURS = dict(
    zip(READINGS, (OWN_METHOD, "#0072B2", "#000000", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "0.5"))
)
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


def score_metric(agent: str) -> str:
    """The metric by which an agent's runs are compared, which Rainbow's evaluations of several games are."""
    return "return" if agent == "rainbow" else "score"


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
