"""Trained agents in your own script, from any directory with the checkout on the path:

    from lab.agents import load
    agent = load("ter", "5x5-1")         # paper, environment, method; without the last two the paper's headline agent
    print(agent.play(10).returns, agent.card())

papers/<paper>/evidence/trained/<env>-<method>/ holds the config.json and weights.pt of a finished run, without the
weights that acting does not need; beside it lies its GIF. A paper's watch.py says how to play them: HEADLINE, (env,
method) of the agent that is meant when none is named; CONFIGS, the dataclasses of the runs it knows; and player(config,
weights), which returns the environment and act(observation, info, rng) -> action, as the paper evaluates.
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
"""Of a run, and of a folder that lab/hub.py has written."""


@dataclass(frozen=True)
class Saved:
    """A folder with a config.json and weights, and the paper whose script has written them."""

    paper: str
    folder: Path
    name: str
    """What its pictures are called: env and method, or the folder of a run."""


@dataclass(frozen=True)
class Moment:
    """An episode after `steps` steps, as captions say it. total: return so far, not discounted. success: None where the
    environment knows none."""

    steps: int = 0
    total: float = 0.0
    over: bool = False
    success: bool | None = None

    def __str__(self) -> str:
        end = {None: "", True: ", success", False: ", no success"}[self.success] if self.over else ""
        return f"step {self.steps}, return {self.total:.4g}{end}"


class Agent:
    """A trained agent in its environment. UserError, one line, for a folder that holds none.

    env: a gymnasium.Env that draws rgb arrays. act(observation, info, rng): its action, as its paper evaluates, with
    what `env.reset` and `env.step` have returned; random ones are drawn from rng. config: the settings it was trained
    with.
    """

    def __init__(self, saved: Saved):
        self.saved = saved
        self.content = _content(saved.folder)
        self.config = rebuild(module(saved.paper).CONFIGS, self.content["config"], saved.folder / "config.json")
        self.env, self.act = _player(saved, self.config)

    def play(self, episodes: int = 100, seed: int = 0) -> Episodes:
        """Play `episodes` >= 1 from starts that `seed` draws, which are none of training's."""
        if episodes < 1:
            raise UserError(f"{episodes} episodes say nothing; play 1 or more")
        ends = list(self.episodes(episodes, seed))
        known = [end.success for end in ends if end.success is not None]
        successes = np.array(known, bool) if len(known) == len(ends) else None
        return Episodes(np.array([end.total for end in ends]), successes, seed)

    def episodes(self, count: int, seed: int, draw: Callable[[Moment], None] = lambda now: None) -> Iterator[Moment]:
        """Play as `play` does; yields each end. `draw` is told of every start and step."""
        from lab.run.streams import Streams  # loads torch, which --help and mistakes do without

        streams = Streams(seed)
        starts, rng = streams.numpy("starts"), streams.numpy("actions")
        for _ in range(count):
            # Odd, as the seeds of evaluation are where training has even ones: never a level of training.
            yield play(self.env, self.act, 2 * int(starts.integers(2**30)) + 1, rng, draw)

    def card(self, episodes: int = 100, seed: int = 0) -> Card:
        """What it is, what it was trained with and how well it does: it plays `episodes` for this. `str` of the card is
        a page in Markdown."""
        return card(self.saved.paper, self.config, self.content, self.play(episodes, seed))


def load(paper: str, env: str = "", method: str = "") -> Agent:
    """The committed agent of a paper, an environment and a method; the headline's, or the first found, where the last
    two are not given. UserError, which lists the right names, if there is none."""
    return Agent(find(paper, env, method))


def from_folder(folder: str | Path, paper: str = "") -> Agent:
    """The agent of a finished run, or of a folder that `make export` has written; reading it runs no code of it."""
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
    """The committed agent so named; the headline's, or the first found, for empty names. UserError if none."""
    paper = choose("paper", paper, House().papers())
    agents, headline = trained(paper), module(paper).HEADLINE
    env = choose(f"env of {paper}", env or headline[0], dict.fromkeys(of for of, _ in agents))
    methods = [by for of, by in agents if of == env]
    method = method or (headline[1] if headline[1] in methods else methods[0])
    return agents[env, choose(f"method of {paper} on {env}", method, methods)]


def of_run(folder: Path, paper: str = "") -> Saved:
    """The agent of a finished run or of an exported folder. Its paper is `paper`, or else what the folder says, or the
    name of the folder above it."""
    names, above = House().papers(), folder.resolve().parent.name
    if not paper and (folder / SAFE_WEIGHTS).is_file():
        above = str(_content(folder).get("paper", above))
    if not paper and above not in names:
        raise UserError(f"{folder} does not say of which paper it is; add --paper, one of {', '.join(names)}")
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
    """The weights in a folder, as the run has written them, on the CPU. No code in the file is run."""
    try:
        if (folder / SAFE_WEIGHTS).is_file():
            return _safe_weights(folder / SAFE_WEIGHTS)
        import torch  # here, as it loads slowly, and --help and mistakes do without

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
    """Dictionaries in a dictionary as one: {"states": {"mean": m}} becomes {"states/mean": m}."""
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
    """The agent's environment, which draws pictures, and its act. UserError for files that are damaged."""
    weights = weights_of(saved.folder)
    try:
        env, act = module(saved.paper).player(config, weights)
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"the weights in {saved.folder} do not fit its config.json: {reason}") from None
    except (ImportError, AttributeError) as error:  # MuJoCo looks for OpenGL when it is imported, if it is told which
        if "MUJOCO_GL" not in os.environ:
            raise
        raise no_opengl(error) from None
    task = env.unwrapped
    task.render_mode = "rgb_array"  # environments look at it when they are to draw
    if hasattr(task, "mujoco_renderer"):  # the camera that follows the robot; gymnasium 1.4 takes one that stays behind
        cameras = [task.model.camera(i).name for i in range(task.model.ncam)]
        if "track" in cameras:
            task.mujoco_renderer.camera_id = cameras.index("track")
    import torch

    return env, torch.no_grad()(act)


def no_opengl(error: Exception) -> UserError:
    """What to install where MuJoCo has ended with `error`."""
    return UserError(
        f"MuJoCo cannot draw here ({str(error).splitlines()[0]}); install OpenGL, e.g. apt install libegl1 libgl1, "
        "or libosmesa6 and set MUJOCO_GL=osmesa"
    )


def part(weights: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The weights whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


def rebuild(kinds: Sequence[type], values: dict[str, Any], path: Path) -> Any:
    """The config of `values`: of that dataclass among `kinds` whose fields are most like them. On a CPU.

    Fields that a config did not have yet get their defaults; UserError, which names `path`, for unknown ones.
    """
    kind = min(kinds, key=lambda kind: len({field.name for field in dataclasses.fields(kind)} ^ values.keys()))
    return dataclasses.replace(_build(kind, values, path), device="cpu")


def _build(kind: type, values: dict[str, Any], path: Path) -> Any:
    types = get_type_hints(kind)
    if unknown := values.keys() - {field.name for field in dataclasses.fields(kind)}:
        raise UserError(f"{path} has unknown settings, {', '.join(unknown)}: no run that can be watched has them")
    inside = {name: _build(types[name], value, path) for name, value in values.items() if isinstance(value, dict)}
    return kind(**values | inside)


def play(env: Any, act: Act, seed: int, rng: np.random.Generator, draw: Callable[[Moment], None]) -> Moment:
    """One episode from the start that `seed` draws; `draw` is told of its start and of every step. Returns its end."""
    observation, info = env.reset(seed=seed)
    now = Moment()
    draw(now)
    while not now.over:
        observation, reward, terminated, truncated, info = env.step(act(observation, info, rng))
        success = info.get("success", info.get("is_success"))
        now = Moment(now.steps + 1, now.total + float(reward), bool(terminated or truncated), success)
        draw(now)
    return now
