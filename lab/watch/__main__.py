"""Watch a trained agent, in a window or as a GIF; `make watch` calls this.

    python -m lab.watch                                              what can be watched
    python -m lab.watch --paper ter                                  the paper's headline agent, in a window
    python -m lab.watch --paper ter --env 5x5-1 --method uer --out uer.gif
    python -m lab.watch --run runs/ter/5x5-1-ter-s0-e5115427b5       a finished run of one's own

Exit codes: 0, 2 for a mistake in the command or in a file, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lab.errors import Parser, UserError, guard
from lab.watch.agents import find, of_run, papers, trained
from lab.watch.playing import watch


def show_list() -> None:
    """Print all committed agents, with the command that shows each."""
    for paper, module in papers().items():
        for env, method in trained(paper):
            note = "  (the headline)" if (env, method) == module.HEADLINE else ""
            print(f"make watch PAPER={paper.replace('_', '-')} ENV={env} METHOD={method}{note}")
    print("Add OUT=agent.gif for a GIF instead of a window.")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of episodes, 1 or more")
    return int(text)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(prog="python -m lab.watch", description="Watch a trained agent, in a window or as a GIF.")
    parser.add_argument("--paper", default="", help="its paper; without it and --run, list what can be watched")
    parser.add_argument("--env", default="", help="its environment (default: the paper's headline)")
    parser.add_argument("--method", default="", help="its method (likewise)")
    parser.add_argument("--run", type=Path, metavar="DIR", help="a finished run instead")
    parser.add_argument("--episodes", type=_count, default=3, help="how many (default: 3)")
    parser.add_argument("--seed", type=int, default=0, help="of starts and of random actions (default: 0)")
    parser.add_argument("--out", type=Path, metavar="FILE.gif", help="write a GIF; needs no display")
    return parser.parse_args(argv)


@guard
def main(argv: Sequence[str] | None = None) -> int:
    """Watch an agent or list them; returns the exit code. A user's mistake is one line on stderr and SystemExit(2)."""
    options = _parse(argv)
    if options.run and (options.env or options.method):
        raise UserError("--run says which agent is meant; leave --env and --method out")
    if not options.run and not options.paper:
        if options.env or options.method:
            raise UserError("name the paper, too: PAPER=... (--paper)")
        show_list()
        return 0
    agent = of_run(options.run, options.paper) if options.run else find(options.paper, options.env, options.method)
    try:
        ends = watch(agent, options.episodes, options.seed, options.out)
    except KeyboardInterrupt:
        return 130
    mean = float(np.mean([end.total for end in ends]))
    known = [end.success for end in ends if end.success is not None]
    print(f"mean return {mean:.4g}" + (f", success in {sum(known)} of {len(known)}" if known else ""))
    if options.out:
        print(f"written: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
