"""Which idea works in which library: writes IDEAS.md from what samplers need and what adapters give.

.venv/bin/python -m adapters.ideas
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adapters.cleanrl import ReplayBuffer
from adapters.stable_baselines3 import SampledDQN, SampledReplayBuffer
from adapters.stable_baselines3_her import SampledHerReplayBuffer
from adapters.stable_baselines3_sac import SampledSAC
from adapters.stable_baselines3_td3 import SampledTD3
from adapters.torchrl import PROVIDED
from common.replay.not_in_the_papers.introspective import IER
from common.replay.not_in_the_papers.large_batch import LaBER
from common.replay.not_in_the_papers.reducible import ReLo
from common.replay.not_in_the_papers.reshuffled import RRC, RRM
from common.replay.protocol import Sampler, missing
from common.replay.rank_based import RankBasedSampler
from common.replay.samplers import PrioritizedSampler, StratifiedSampler, UniformSampler
from package.modules import code, imported, reached, table
from papers.ners.ners import NERS
from papers.ners.samplers.ero import ERO
from papers.ter.agents.discor import DisCor
from papers.ter.replay.ebu import EBU
from papers.ter.replay.graph import TransitionGraph
from papers.ter.topological import TER

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).parent / "IDEAS.md"


class Idea(NamedTuple):
    """A row of the table."""

    text: str
    sampler: type[Sampler] | Sampler
    """Its class, or an instance if the settings decide what it needs."""


IDEAS = (
    Idea("uniform", UniformSampler),
    Idea("stratified", StratifiedSampler),
    Idea("random reshuffling (RR-C)", RRC),
    Idea("the same with priorities (RR-M)", RRM),
    Idea("prioritised (PER)", PrioritizedSampler),
    Idea("prioritised by rank", RankBasedSampler),
    Idea("reducible loss (ReLo)", ReLo),
    Idea("large batches (LaBER)", LaBER),
    Idea("introspective (IER)", IER),
    Idea("TER", TER),
    Idea("TER, `eta=0`", TER(TransitionGraph(1), random.Random(0), int)),
    Idea("ERO", ERO),
    Idea("NERS", NERS),
    Idea("EBU", EBU),
    Idea("DisCor", DisCor),
)
BUFFER = SampledReplayBuffer.gives
LIBRARIES = {
    "`SampledDQN`": BUFFER | SampledDQN.gives,
    "`SampledSAC`": BUFFER | SampledSAC.gives,
    "`SampledTD3`": BUFFER | SampledTD3.gives,
    "with hindsight": SampledHerReplayBuffer.gives | SampledDQN.gives,
    "other agents": BUFFER,
    "CleanRL": ReplayBuffer.gives,
    "TorchRL": PROVIDED,
}
"""Column -> what it gives a sampler."""
HEAD = """# Which idea works in which library

Written by `.venv/bin/python -m adapters.ideas` from what samplers need (`needs`) and what the adapters give. A test
runs every cell: "yes" works, and any other pair is refused when it is made, in one line that says what is missing. In
your own loop, any idea works if you give it what it needs; `SIGNALS` and `Sampler.needs` in
[common/replay/protocol.py](../common/replay/protocol.py) explain the words.
"""
FOOT = """
- "Other agents" are those of Stable-Baselines3 with `replay_buffer_class=SampledReplayBuffer`. "With hindsight": the
  first three agents with `SampledHerReplayBuffer`, for HER and filtered HER.
- "CleanRL" is its dqn.py with the patch of [README.md](README.md); a script that passes more to `rb.sampler.update`
  names it in `provides`, and more ideas work.
- LaBER and IER take a function that computes TD errors: in Stable-Baselines3 the buffer's `errors`, elsewhere one of
  your own.
- NERS and ERO take `Seen`, which reads the buffer; NERS also needs the callback `Evaluations`.
- EBU and DisCor ask for the value of every action in a state. Only the double DQN of [papers/ter](../papers/ter) gives
  it.
- Not samplers, so for any learner: ReF-ER's rules (`ReFER`), the relabeller of HER, filtered HER and IBS (`Hindsight`,
  extra `hindsight`), and the rewards of Sibling Rivalry (`rivalry`).
- Extras: `pip install "replaybook[torch]"`; the columns need `sb3`, the last one `torchrl`.
"""


def kind(idea: Idea) -> type[Sampler]:
    return idea.sampler if isinstance(idea.sampler, type) else type(idea.sampler)


def extra(idea: Idea, trees: dict[str, ast.Module]) -> str:
    """Name of the extra to install besides the core; "" for none."""
    extras, path = table(ROOT, "EXTRAS"), kind(idea).__module__.replace(".", "/") + ".py"
    words = {name.partition(".")[0] for each in reached(trees, [path]) for name in imported(trees[each])}
    return ", ".join(sorted({extras[word] for word in words & set(extras)}))


def cell(idea: Idea, given: frozenset[str]) -> str:
    """Cell of an idea for a library that gives `given`."""
    lacking = missing(idea.sampler, given)
    return f"no: {', '.join(lacking)}".replace("_", " ") if lacking else "yes"


def rows() -> Iterator[list[str]]:
    """Yield the rows of the table, its head first."""
    trees, short = code(ROOT), {full: name for name, full in table(ROOT, "SHORT").items()}
    yield ["idea", "`from replaybook import`", "extra", "needs", *LIBRARIES]
    for idea in IDEAS:
        name = short.get(kind(idea).__name__, kind(idea).__name__)
        needs = ", ".join(sorted(idea.sampler.needs)).replace("_", " ")
        cells = [cell(idea, given) for given in LIBRARIES.values()]
        text = f"[{idea.text}](../{kind(idea).__module__.replace('.', '/')}.py)"
        yield [text, f"`{name}`", f"`{found}`" if (found := extra(idea, trees)) else "", needs, *cells]


def page() -> str:
    head, *body = rows()
    lines = [head, ["---"] * len(head), *body]
    return "\n".join([HEAD, *(f"| {' | '.join(line)} |" for line in lines)]) + "\n" + FOOT


if __name__ == "__main__":
    PAGE.write_text(page())
