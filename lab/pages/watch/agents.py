"""Find, load and play the committed agents.

papers/<paper>/evidence/trained/<env>-<method>/ holds the config.json and weights.pt of a finished run, without the
weights that acting does not need; its GIF lies beside the folder. A paper's watch.py says how to play them: HEADLINE,
the (env, method) of its default agent; CONFIGS, the config dataclasses that it knows; and player(config, weights),
which returns the environment and act(observation, info, rng) -> action, as the paper evaluates.
"""

import dataclasses
import importlib
import json
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import numpy as np

from lab.pages.watch.pictures import Film, Moment, Screen, no_opengl
from lab.rooms import House, choose
from lab.run.errors import UserError

Act = Callable[[Any, dict[str, Any], np.random.Generator], Any]


@dataclass(frozen=True)
class Agent:
    """A folder with config.json and weights.pt, and the paper whose script wrote them."""

    paper: str
    folder: Path
    name: str
    """Caption of its pictures: env and method, or the folder of a run."""


def module(paper: str) -> ModuleType:
    """The paper's watch.py."""
    return importlib.import_module(f"papers.{paper}.evidence.watch")


def trained(paper: str) -> dict[tuple[str, str], Agent]:
    """(env, method) -> the paper's committed agents."""
    found = {}
    for path in sorted((House().papers()[paper].evidence / "trained").glob("*/config.json")):
        env = json.loads(path.read_bytes())["config"]["env"]
        method = path.parent.name.removeprefix(f"{env}-")
        found[env, method] = Agent(paper, path.parent, f"{env} {method}")
    return found


def find(paper: str, env: str = "", method: str = "") -> Agent:
    """Find a committed agent; empty names mean the headline's, or else the first found. UserError if there is none."""
    paper = choose("paper", paper, House().papers())
    agents, headline = trained(paper), module(paper).HEADLINE
    env = choose(f"env of {paper}", env or headline[0], [of for of, _ in agents])
    methods = [by for of, by in agents if of == env]
    method = method or (headline[1] if headline[1] in methods else methods[0])
    return agents[env, choose(f"method of {paper} on {env}", method, methods)]


def of_run(folder: Path, paper: str = "") -> Agent:
    """The agent of a finished run. The folder above it names the paper, unless `paper` does."""
    names, above = House().papers(), folder.resolve().parent.name
    if not paper and above not in names:
        raise UserError(f"{folder} does not say which paper it belongs to; add --paper, one of {', '.join(names)}")
    return Agent(choose("paper", paper or above, names), folder, folder.resolve().name)


def load(agent: Agent) -> tuple[Any, Act]:
    """Load the agent's environment, with pictures on, and act(observation, info, rng). UserError for damaged files."""
    import torch  # here, as it loads slowly and --help and mistakes do not need it

    room, path = module(agent.paper), agent.folder / "config.json"
    try:
        settings = dict(json.loads(path.read_bytes())["config"])
        weights = dict(torch.load(agent.folder / "weights.pt", map_location="cpu", weights_only=True))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        what = "a finished run that keeps its weights has config.json and weights.pt"
        raise UserError(f"cannot read the run in {agent.folder} ({str(error).splitlines()[0]}); {what}") from None
    config = rebuild(room.CONFIGS, settings, path)
    try:
        env, act = room.player(config, weights)
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"the weights in {agent.folder} do not fit its config.json: {reason}") from None
    except (ImportError, AttributeError) as error:  # with MUJOCO_GL set, MuJoCo loads OpenGL on import
        if "MUJOCO_GL" not in os.environ:
            raise
        raise no_opengl(error) from None
    task = env.unwrapped
    task.render_mode = "rgb_array"  # environments read it when they draw
    if hasattr(task, "mujoco_renderer"):  # use the camera that follows the robot; gymnasium 1.4's default stays behind
        cameras = [task.model.camera(i).name for i in range(task.model.ncam)]
        if "track" in cameras:
            task.mujoco_renderer.camera_id = cameras.index("track")
    return env, torch.no_grad()(act)


def part(weights: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Weights whose names begin with the prefix; the prefix is removed."""
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


def rebuild(kinds: Sequence[type], values: dict[str, Any], path: Path) -> Any:
    """Rebuild a config from `values`, on the CPU, as the dataclass among `kinds` whose fields match best.

    Missing fields get their defaults; unknown ones raise UserError, which names `path`.
    """
    kind = min(kinds, key=lambda kind: len({field.name for field in dataclasses.fields(kind)} ^ values.keys()))
    return dataclasses.replace(_build(kind, values, path), device="cpu")


def _build(kind: type, values: dict[str, Any], path: Path) -> Any:
    types = get_type_hints(kind)
    if unknown := values.keys() - {field.name for field in dataclasses.fields(kind)}:
        raise UserError(f"{path} has unknown settings, {', '.join(unknown)}; such a run cannot be watched")
    nested = {name: _build(types[name], value, path) for name, value in values.items() if isinstance(value, dict)}
    return kind(**values | nested)


def play(env: Any, act: Act, seed: int, rng: np.random.Generator, draw: Callable[[Moment], None]) -> Moment:
    """Play one episode from the start that `seed` draws, and return its end; call `draw` at each step."""
    observation, info = env.reset(seed=seed)
    now = Moment()
    draw(now)
    while not now.over:
        observation, reward, terminated, truncated, info = env.step(act(observation, info, rng))
        success = info.get("success", info.get("is_success"))
        now = Moment(now.steps + 1, now.total + float(reward), bool(terminated or truncated), success)
        draw(now)
    return now


def watch(agent: Agent, episodes: int, seed: int, out: Path | None) -> list[Moment]:
    """Play `episodes` in a window, or write them to `out`, a GIF; returns their ends."""
    if out and (out.suffix.lower() != ".gif" or out.exists()):
        raise UserError(f"{out} exists; choose another name" if out.exists() else f"{out} must end in .gif")
    from lab.run.streams import Streams  # loads torch, which --help and mistakes do not need

    env, act = load(agent)
    screen: Any = (Film if out else Screen)(f"{agent.paper}: {agent.name}", env.metadata["render_fps"])
    streams = Streams(seed)
    starts, rng = streams.numpy("starts"), streams.numpy("actions")
    ends: list[Moment] = []

    def draw(now: Moment) -> None:
        screen.show(env, f"{len(ends) + 1} of {episodes}: {now}", now)

    try:
        for _ in range(episodes):
            # Odd, like the seeds of evaluation; training's are even, so no level of training is shown.
            ends.append(play(env, act, 2 * int(starts.integers(2**30)) + 1, rng, draw))
            print(f"episode {len(ends)}: {ends[-1]}", flush=True)
    finally:
        env.close()
        screen.close()
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(screen.gif())
    return ends
