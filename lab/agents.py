"""Trained agents in your own script, from any directory with the checkout on the path:

    from lab.agents import load
    agent = load("ter", "5x5-1")         # paper, environment, method; without the last two the paper's headline agent
    print(agent.play(10).returns, agent.card())

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import numpy as np

from lab.cards import Card, Episodes, card
from lab.rooms import House, choose
from lab.run.errors import UserError

Act = Callable[[Any, dict[str, Any], np.random.Generator], Any]
WEIGHTS, SAFE_WEIGHTS = "weights.pt", "model.safetensors"
"""In the folder of a run, and in one written by lab/hub.py."""


@dataclass(frozen=True)
class Saved:
    """A folder with a config.json and weights, and the paper whose script wrote them."""

    paper: str
    folder: Path
    name: str
    """Caption of its pictures: env and method, or the folder of a run."""


@dataclass(frozen=True)
class Moment:
    """An episode after `steps` steps, for captions. total: undiscounted return so far. success: None if the environment
    does not report it."""

    steps: int = 0
    total: float = 0.0
    over: bool = False
    success: bool | None = None

    def __str__(self) -> str:
        end = {None: "", True: ", success", False: ", no success"}[self.success] if self.over else ""
        return f"step {self.steps}, return {self.total:.4g}{end}"


class Agent:
    """A trained agent and its environment. UserError, one line, for a folder that holds none.

    env: a gymnasium.Env that renders rgb arrays. act(observation, info, rng): its action, as its paper evaluates, for
    what `env.reset` or `env.step` returned; rng draws random actions. config: the settings of its training.
    """

    def __init__(self, saved: Saved):
        self.saved = saved
        self.content = _content(saved.folder)
        self.config = rebuild(module(saved.paper).CONFIGS, self.content["config"], saved.folder / "config.json")
        self.env, self.act = _player(saved, self.config)

    def play(self, episodes: int = 100, seed: int = 0) -> Episodes:
        """Play `episodes` >= 1 from starts that `seed` draws; training never sees these."""
        if episodes < 1:
            raise UserError(f"{episodes} episodes say nothing; play 1 or more")
        ends = list(self.episodes(episodes, seed))
        known = [end.success for end in ends if end.success is not None]
        successes = np.array(known, bool) if len(known) == len(ends) else None
        return Episodes(np.array([end.total for end in ends]), successes, seed)

    def episodes(self, count: int, seed: int, draw: Callable[[Moment], None] = lambda now: None) -> Iterator[Moment]:
        """As `play`, but yield the end of each episode; call `draw` at every start and step."""
        from lab.run.streams import Streams  # loads torch, which --help and mistakes do not need

        streams = Streams(seed)
        starts, rng = streams.numpy("starts"), streams.numpy("actions")
        for _ in range(count):
            # Odd, like the seeds of evaluation; training's are even, so no level of training is shown.
            yield play(self.env, self.act, 2 * int(starts.integers(2**30)) + 1, rng, draw)

    def card(self, episodes: int = 100, seed: int = 0) -> Card:
        """What it is, how it was trained and how well it plays, in `episodes` played now. `str` makes it a page of
        Markdown."""
        return card(self.saved.paper, self.config, self.content, self.play(episodes, seed))


def load(paper: str, env: str = "", method: str = "") -> Agent:
    """Load a committed agent; without environment and method, the paper's headline agent. UserError, which lists the
    right names, if there is none."""
    return Agent(find(paper, env, method))


def from_folder(folder: str | Path, paper: str = "") -> Agent:
    """Load the agent of a finished run, or of a folder written by `make export`; no code in it is executed."""
    return Agent(of_run(Path(folder), paper))


# ---- which there are -------------------------------------------------------------------------------------------------


def module(paper: str) -> ModuleType:
    """The paper's watch.py."""
    return importlib.import_module(f"papers.{paper}.evidence.watch")


def trained(paper: str) -> dict[tuple[str, str], Saved]:
    """(env, method) -> the paper's committed agents."""
    found = {}
    for path in sorted((House().papers()[paper].evidence / "trained").glob("*/config.json")):
        env = json.loads(path.read_bytes())["config"]["env"]
        method = path.parent.name.removeprefix(f"{env}-")
        found[env, method] = Saved(paper, path.parent, f"{env} {method}")
    return found


def find(paper: str, env: str = "", method: str = "") -> Saved:
    """Find a committed agent; empty names mean the headline's, or else the first found. UserError if there is none."""
    paper = choose("paper", paper, House().papers())
    agents, headline = trained(paper), module(paper).HEADLINE
    env = choose(f"env of {paper}", env or headline[0], dict.fromkeys(of for of, _ in agents))
    methods = [by for of, by in agents if of == env]
    method = method or (headline[1] if headline[1] in methods else methods[0])
    return agents[env, choose(f"method of {paper} on {env}", method, methods)]


def of_run(folder: Path, paper: str = "") -> Saved:
    """The agent of a finished run or of an exported folder. Its paper is `paper`, what the folder says, or the name of
    the folder above it, in this order."""
    names, above = House().papers(), folder.resolve().parent.name
    if not paper and (folder / SAFE_WEIGHTS).is_file():
        above = str(_content(folder).get("paper", above))
    if not paper and above not in names:
        raise UserError(f"{folder} does not say which paper it belongs to; add --paper, one of {', '.join(names)}")
    return Saved(choose("paper", paper or above, names), folder, folder.resolve().name)


# ---- how they are loaded ---------------------------------------------------------------------------------------------


def _content(folder: Path) -> dict[str, Any]:
    """The folder's config.json."""
    try:
        content = json.loads((folder / "config.json").read_bytes())
        return {**content, "config": dict(content["config"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(folder, error) from None


def _unreadable(folder: Path, error: Exception) -> UserError:
    what = f"a finished run that keeps its weights has config.json and {WEIGHTS}"
    return UserError(f"cannot read the run in {folder} ({str(error).splitlines()[0]}); {what}")


def weights_of(folder: Path) -> dict[str, Any]:
    """Read the weights in a folder, to the CPU. No code in the file is executed."""
    try:
        if (folder / SAFE_WEIGHTS).is_file():
            return _safe_weights(folder / SAFE_WEIGHTS)
        import torch  # here, as it loads slowly and --help and mistakes do not need it

        return dict(torch.load(folder / WEIGHTS, map_location="cpu", weights_only=True))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise _unreadable(folder, error) from None


def _safe_weights(path: Path) -> dict[str, Any]:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError:
        raise UserError(f"{path} needs safetensors: .venv/bin/pip install --group hub") from None
    try:
        return nested(load_file(path))
    except SafetensorError as error:
        raise _unreadable(path.parent, error) from None


def flat(weights: dict[str, Any]) -> dict[str, Any]:
    """Flatten nested dictionaries: {"states": {"mean": m}} becomes {"states/mean": m}."""
    found: dict[str, Any] = {}
    for name, value in weights.items():
        inside = flat(value) if isinstance(value, dict) else None
        found |= {name: value} if inside is None else {f"{name}/{key}": one for key, one in inside.items()}
    return found


def nested(weights: dict[str, Any]) -> dict[str, Any]:
    """The inverse of `flat`."""
    found: dict[str, Any] = {}
    for name, value in weights.items():
        *above, last = name.split("/")
        place = found
        for part in above:
            place = place.setdefault(part, {})
        place[last] = value
    return found


def _player(saved: Saved, config: Any) -> tuple[Any, Act]:
    """Load the agent's environment, with pictures on, and its act. UserError for damaged files."""
    weights = weights_of(saved.folder)
    try:
        env, act = module(saved.paper).player(config, weights)
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"the weights in {saved.folder} do not fit its config.json: {reason}") from None
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
    import torch

    return env, torch.no_grad()(act)


def no_opengl(error: Exception) -> UserError:
    """UserError that says what to install after MuJoCo failed with `error`."""
    return UserError(
        f"MuJoCo cannot draw here ({str(error).splitlines()[0]}); install OpenGL, e.g. apt install libegl1 libgl1, "
        "or libosmesa6 and set MUJOCO_GL=osmesa"
    )


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
    inside = {name: _build(types[name], value, path) for name, value in values.items() if isinstance(value, dict)}
    return kind(**values | inside)


def play(env: Any, act: Act, seed: int, rng: np.random.Generator, draw: Callable[[Moment], None]) -> Moment:
    """Play one episode from the start that `seed` draws, and return its end; call `draw` at each step."""
    observation, info = env.reset(seed=seed)
    now = Moment()
    draw(now)
    while not now.over:
        observation, reward, terminated, truncated, info = env.step(act(observation, info, rng))
        success = info.get("success", info.get("is_success"))
        success = None if success is None else bool(success)  # some environments give 0.0 and 1.0
        now = Moment(now.steps + 1, now.total + float(reward), bool(terminated or truncated), success)
        draw(now)
    return now
