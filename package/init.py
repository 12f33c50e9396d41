"""Replay ideas for reinforcement learning: what to replay, how often, and with which weight.

    from replaybook import PER, TER, Step

Every idea is a sampler with one protocol, `replaybook.common.replay.protocol`. The names in `NAMES` can be imported
from here. Each module is loaded when one of its names is first used, so you only need to install what you use;
`__all__` lists what is installed.
Environments: `gymnasium.make("replaybook.envs:Sokoban-v0")`.
"""

import importlib
import importlib.metadata
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

NAMES = {
    # the protocol, and memories
    "Chosen": "common.replay.protocol",
    "Sampler": "common.replay.protocol",
    "Step": "common.replay.protocol",
    "missing": "common.replay.protocol",
    "Ring": "common.replay.storage",
    "FrameMemory": "common.replay.frames",
    # which transitions, and how much each counts
    "UniformSampler": "common.replay.samplers",
    "StratifiedSampler": "common.replay.samplers",
    "PrioritizedSampler": "common.replay.samplers",
    "RankBasedSampler": "common.replay.rank_based",
    "RRC": "common.replay.not_in_the_papers.reshuffled",
    "RRM": "common.replay.not_in_the_papers.reshuffled",
    "ReLo": "common.replay.not_in_the_papers.reducible",
    "IER": "common.replay.not_in_the_papers.introspective",
    "LaBER": "common.replay.not_in_the_papers.large_batch",
    "TER": "papers.ter.topological",
    "TransitionGraph": "papers.ter.replay.graph",
    "RandomProjection": "papers.ter.replay.graph",
    "EBU": "papers.ter.replay.ebu",
    "DisCor": "papers.ter.agents.discor",
    "NERS": "papers.ners.ners",
    "ERO": "papers.ners.samplers.ero",
    "ReFER": "papers.ref_er.refer",
    # other goals, other rewards
    "Hindsight": "papers.bias_reduced_her.hindsight",
    "rivalry": "papers.sibling_rivalry.sibling_rivalry",
    # in other libraries
    "SampledReplayBuffer": "adapters.stable_baselines3",
    "SampledDQN": "adapters.stable_baselines3",
    "SampledSAC": "adapters.stable_baselines3_sac",
    "SampledTD3": "adapters.stable_baselines3_td3",
    "SampledHerReplayBuffer": "adapters.stable_baselines3_her",
    "FrameReplayBuffer": "adapters.stable_baselines3_pictures",
    "Evaluations": "adapters.stable_baselines3",
    "Seen": "adapters.stable_baselines3_scores",
    "FromProtocol": "adapters.torchrl",
}
"""What can be imported from here -> the module below this one that has it."""
SHORT = {"PER": "PrioritizedSampler"}
EXTRAS = {
    "scipy": "hindsight",
    "torch": "torch",
    "filelock": "torch",
    "tqdm": "torch",
    "threadpoolctl": "torch",
    "gymnasium": "envs",
    "minigrid": "envs",
    "mujoco": "envs",
    "pygame": "envs",
    "ale_py": "envs",
    "Box2D": "envs",
    "stable_baselines3": "sb3",
    "torchrl": "torchrl",
    "tensordict": "torchrl",
    "minari": "minari",
}
"""Third-party modules that only some parts need -> the extra that installs each."""
AREAS = {"envs.": "envs", "adapters.torchrl.": "torchrl", "adapters.minari.": "minari", "adapters.": "sb3"}
"""Parts -> the extra that installs all they need."""
WITH = {
    "torch": ["FrameMemory", "EBU", "DisCor", "NERS", "ERO"],
    "scipy": ["Hindsight", "SampledHerReplayBuffer"],
    "stable_baselines3": [
        "SampledReplayBuffer", "SampledDQN", "SampledSAC", "SampledTD3", "SampledHerReplayBuffer", "FrameReplayBuffer",
        "Evaluations", "Seen",
    ],
    "torchrl": ["FromProtocol"],
}  # fmt: skip
"""Third-party modules -> the names that cannot be had without them, or without what comes with them."""


def _installed(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    return importlib.util.find_spec(module) is not None


__all__ = sorted({*NAMES, *SHORT}.difference(*(names for module, names in WITH.items() if not _installed(module))))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.metadata.version(__name__)
    full = SHORT.get(name, name)
    if full not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{NAMES[full]}"), full)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Advice:
    """Python's last resort for a missing module: says which extra installs it, if a module of this package asks."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: ModuleType | None = None) -> None:
        frame = sys._getframe(1)
        while frame.f_back and frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        asks = str(frame.f_globals.get("__name__"))
        if name in EXTRAS and asks.startswith(f"{__name__}."):
            area = f"{asks}.".removeprefix(f"{__name__}.")
            extra = next((AREAS[one] for one in AREAS if area.startswith(one)), EXTRAS[name])
            advice = f'pip install "{__name__}[{extra}]"'
            raise ModuleNotFoundError(f"{asks} needs {name}, which is not installed: {advice}", name=name)


sys.meta_path.append(_Advice)  # type: ignore[arg-type]
importlib.import_module(f"{__name__}.common")  # before any other part: it finds numba a place for its kernels
if "numba" in sys.modules and (_place := os.environ.get("NUMBA_CACHE_DIR")):
    sys.modules["numba"].config.CACHE_DIR = _place  # numba read the variable when it was imported
