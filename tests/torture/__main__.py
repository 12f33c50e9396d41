"""Kill runs of all train scripts at random moments, resume them, and compare them with undisturbed ones.

    .venv/bin/python -m tests.torture --n 100 --jobs 2 --seed 7

The runs are those of scale smoke of every paper and of the arena, script by script and method by method in turn, with a
few more evaluations. Each is played once as it is; then again with a checkpoint after every evaluation, and with one to
three `kill -9` of its process and of all that it has started, each at a random moment: after a random one of its
evaluations, or before the first, a random part of the usual time to the next one later; every fourth waits from there
for the next file that is being written. At the end, metrics, summary and weights must be the same to the last digit.
"""

import itertools
import random
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from lab.rooms import ROOT
from lab.run.arguments import parse
from lab.run.errors import UserError, guard
from lab.sweep.entry import Entry
from lab.sweep.resources import default_jobs
from tests.torture.kills import Case, Torturer
from tests.torture.runs import kind, longer, rotation, smoke

PROG = ".venv/bin/python -m tests.torture"
PLACE = ROOT / "runs" / "torture"


@dataclass(frozen=True)
class Options:
    n: int = 100
    """Runs to kill."""
    jobs: int | None = None
    """Processes side by side; None: one per core."""
    seed: int | None = None
    """Of what is killed, and when; None: another one every time."""


def summary(cases: list[Case]) -> str:
    """How many were the same, and when their kills came."""
    kills = [kill for case in cases for kill in case.kills]
    saved = sum(kill.saved for kill in kills)
    return (
        f"{len(cases)} runs of {len({case.entry.module for case in cases})} scripts and "
        f"{len({(case.entry.module, kind(case.entry)) for case in cases})} methods, killed {len(kills)} times: "
        f"{sum(bool(case.kills) and not case.wrong for case in cases)} identical\n"
        f"kills: {len(kills) - saved} before the first checkpoint, {saved} after it; "
        f"{sum(bool(kill.writing) for kill in kills)} while a file was being written"
    )


def torture(entries: list[Entry], n: int, jobs: int, seed: int, place: Path) -> list[Case]:
    """Kill, resume and compare `n` runs of `entries`, and say what became of each. What differs is kept in `place`."""
    chosen = list(itertools.islice(rotation(entries, random.Random(seed)), n))
    cases = [Case(number, entry) for number, entry in enumerate(chosen, start=1)]
    shutil.rmtree(place, ignore_errors=True)
    for done, case in enumerate(Torturer(chosen, jobs, seed, place).play(cases), start=1):
        print(f"{done:4d}/{n} ({case.number}) {case}", flush=True)
    print(summary(cases))
    if any(case.wrong for case in cases):
        print(f"kept in {place}")
    else:
        shutil.rmtree(place)
    return cases


@guard
def main() -> None:
    """Exit code 1 when a run differs."""
    options = parse(Options, prog=PROG, description=__doc__)
    jobs = options.jobs if options.jobs is not None else default_jobs("cpu", "local")
    if options.n < 1 or jobs < 1:
        raise UserError(f"--n {options.n} --jobs {jobs}: both must be 1 or more")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"SEED={seed}", flush=True)
    cases = torture([longer(entry) for entry in smoke()], options.n, jobs, seed, PLACE)
    sys.exit(any(case.wrong for case in cases))


if __name__ == "__main__":
    main()
