"""Watch a trained agent, in a window or as a GIF; `make watch` calls this.

    .venv/bin/python -m lab.pages.watch                                              list the trained agents
    .venv/bin/python -m lab.pages.watch --paper ter                                  the headline agent, in a window
    .venv/bin/python -m lab.pages.watch --paper ter --env 5x5-1 --method uer --out uer.gif
    .venv/bin/python -m lab.pages.watch --run runs/ter/5x5-1-ter-s0-e5115427b5       a finished run of yours

Exit codes: 0, 2 for a mistake in the command or in a file, 130 after Ctrl-C.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from tyro.conf import arg

from lab.agents import Agent, find, module, of_run, trained
from lab.pages.watch.pictures import watch
from lab.rooms import House, plain
from lab.run.arguments import parse
from lab.run.errors import UserError, guard


def show_list() -> None:
    """Print all committed agents, with the command that shows each."""
    for paper in House().papers():
        for env, method in trained(paper):
            note = "  (the headline)" if (env, method) == module(paper).HEADLINE else ""
            print(f"make watch PAPER={plain(paper)} ENV={env} METHOD={method}{note}")
    print("Add OUT=agent.gif for a GIF instead of a window.")


@dataclass(frozen=True)
class Options:
    """Watch a trained agent, in a window or as a GIF."""

    paper: str = ""
    """Paper of the agent. Without it and --run: list the trained agents."""
    env: str = ""
    """Environment; default: that of the headline agent."""
    method: str = ""
    """Method; default: that of the headline agent."""
    run: Annotated[Path | None, arg(metavar="DIR")] = None
    """A finished run instead."""
    episodes: int = 3
    """Number of episodes, 1 or more."""
    seed: int = 0
    """Seed of starts and random actions."""
    out: Annotated[Path | None, arg(metavar="FILE.gif")] = None
    """Write a GIF; needs no display."""

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise UserError(f"--episodes {self.episodes} shows nothing; use 1 or more")
        if self.out and (self.out.suffix.lower() != ".gif" or self.out.exists()):
            known = f"{self.out} exists; choose another name"
            raise UserError(known if self.out.exists() else f"{self.out} must end in .gif")
        if self.run and (self.env or self.method):
            raise UserError("--run already names the agent; drop --env and --method")


@guard
def main(argv: Sequence[str] | None = None) -> int:
    """Watch an agent or list them; returns the exit code. A user's mistake is one line on stderr and SystemExit(2)."""
    options = parse(Options, argv, prog=".venv/bin/python -m lab.pages.watch")
    if not options.run and not options.paper:
        if options.env or options.method:
            raise UserError("name the paper, too: PAPER=... (--paper)")
        show_list()
        return 0
    saved = of_run(options.run, options.paper) if options.run else find(options.paper, options.env, options.method)
    ends = watch(Agent(saved), options.episodes, options.seed, options.out)
    known = [end.success for end in ends if end.success is not None]
    mean = f"mean return {np.mean([end.total for end in ends]):.4g}"
    print(mean + (f", success in {sum(known)} of {len(known)}" if known else ""))
    if options.out:
        print(f"written: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
