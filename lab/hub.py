"""Export a trained agent and its card as a folder in the layout of the Hugging Face hub; `make export` calls this.

    .venv/bin/python -m lab.hub --paper ter --env 5x5-1 --out ter-sokoban                   a committed agent
    .venv/bin/python -m lab.hub --run runs/ter/5x5-1-ter-s0-e5115427b5 --out my-sokoban     a finished run of yours

The folder holds README.md (the card), config.json, model.safetensors and replay.gif. Nothing is uploaded; `from_folder`
of lab/agents.py reads it back. Exit codes: 0, 2 for a mistake in the command or in a file, 130 after Ctrl-C.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from lab.agents import SAFE_WEIGHTS, Agent, find, flat, of_run, weights_of
from lab.cards import Card
from lab.rooms import plain
from lab.run.arguments import parse
from lab.run.errors import UserError, guard
from lab.run.identity import json_bytes

LIBRARY = "replaybook"
FRONT = """\
---
library_name: {library}
pipeline_tag: reinforcement-learning
tags:
- reinforcement-learning
- deep-reinforcement-learning
- {room}
- {env}
model-index:
- name: {name}
  results:
  - task:
      type: reinforcement-learning
      name: reinforcement-learning
    dataset:
      type: {env}
      name: {env}
    metrics:
{metrics}
---

"""
METRIC = """\
    - type: {}
      name: {}
      value: {!r}
      verified: false"""
USE = """
## Use

In a checkout of the repository, to which the links above belong:

```python
from lab.agents import from_folder
agent = from_folder("path/to/this/folder")
print(agent.play(10).returns)
```
"""


def page(card: Card) -> str:
    """The card with the front matter that the hub reads. A JSON string is one in YAML, too."""
    metrics = "\n".join(METRIC.format(kind, json.dumps(name), value) for kind, name, value in card.metrics)
    room, name, env = (json.dumps(text) for text in (plain(Path(card.room).name), card.name, card.env))
    return FRONT.format(library=LIBRARY, room=room, env=env, name=name, metrics=metrics) + str(card) + USE


def export(agent: Agent, out: Path, episodes: int = 100, seed: int = 0) -> Card:
    """Write the agent to `out`, a folder that there is not yet; its score is that of `episodes` played from `seed`.

    UserError where `out` exists or safetensors is missing; then, and when writing fails, there is no folder `out`.
    """
    if out.exists() or out.is_symlink():
        raise UserError(f"{out} exists; choose another name for the folder")
    try:
        from safetensors.torch import save_file
    except ImportError:
        raise UserError("export needs safetensors: .venv/bin/pip install --group hub") from None
    card = agent.card(episodes, seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name[:99]}-", dir=out.parent) as place:
        folder = Path(place) / "folder"
        folder.mkdir()
        # Copies: tensors that share memory, or are not contiguous, cannot be saved.
        weights = {name: value.clone().contiguous() for name, value in flat(weights_of(agent.saved.folder)).items()}
        save_file(weights, folder / SAFE_WEIGHTS, metadata={"format": "pt"})
        (folder / "config.json").write_bytes(json_bytes({"paper": agent.saved.paper, **agent.content}))
        (folder / "README.md").write_text(page(card), encoding="utf-8")
        _picture(agent, seed, folder / "replay.gif")
        folder.rename(out)
    return card


def _picture(agent: Agent, seed: int, path: Path) -> None:
    """Three episodes; of a committed agent the picture that lies beside it."""
    beside = agent.saved.folder.with_name(f"{agent.saved.folder.name}.gif")
    if beside.is_file():
        shutil.copyfile(beside, path)
        return
    from lab.pages.watch.pictures import watch

    watch(agent, 3, seed, path)


@dataclass(frozen=True)
class Options:
    """Export a trained agent and its card as a folder in the layout of the Hugging Face hub."""

    out: Annotated[str, arg(metavar="FOLDER")] = ""
    """Folder to write; it must not exist."""
    paper: str = ""
    """Paper of the agent."""
    env: str = ""
    """Environment; default: that of the headline agent."""
    method: str = ""
    """Method; default: that of the headline agent."""
    run: Annotated[Path | None, arg(metavar="DIR")] = None
    """A finished run instead."""
    episodes: int = 100
    """Number of episodes of its score, 1 or more."""
    seed: int = 0
    """Seed of their starts and random actions."""

    def __post_init__(self) -> None:
        if not self.out:
            raise UserError("name the folder to write: OUT=... (--out)")
        if not self.run and not self.paper:
            raise UserError("name the agent: PAPER=... (--paper), and ENV= and METHOD=; `make watch` lists them")
        if self.run and (self.env or self.method):
            raise UserError("--run already names the agent; drop --env and --method")


@guard
def main(argv: Sequence[str] | None = None) -> int:
    """Export an agent; returns the exit code. A user's mistake is one line on stderr and SystemExit(2)."""
    options = parse(Options, argv, prog=".venv/bin/python -m lab.hub")
    saved = of_run(options.run, options.paper) if options.run else find(options.paper, options.env, options.method)
    out = Path(options.out)
    card = export(Agent(saved), out, options.episodes, options.seed)
    print(f"{card.name}: " + ", ".join(f"{name} {value:.4g}" for _, name, value in card.metrics))
    print(f"written: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
