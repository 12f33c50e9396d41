"""Runs that are killed and resumed, some side by side."""

import contextlib
import csv
import dataclasses
import itertools
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.run.identity import CHECKPOINTS, run_name
from lab.run.provenance import take
from lab.sweep.entry import Entry, Job
from lab.sweep.launchers import Local
from tests.torture import runs
from tests.torture.compare import differences, evaluations

POLL_SECONDS = 0.002
KILLS, SHARES = (1, 2, 3), (7, 2, 1)
"""How often a run is killed, and how many of ten runs are killed so often."""
AIMED = 0.25
"""Share of the kills that wait for a file that is being written."""
TRIES = 20
"""How often a run may end before its kill until something is wrong with it."""
END_SECONDS = 0.05
"""The last evaluation is followed by so much work, or so."""


def kill(pid: int) -> None:
    """SIGKILL to a process, then to all that it has started, and these."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
    family = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    for member in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)


@dataclass(frozen=True)
class Kill:
    """When a kill came: after how many of the run's evaluations, whether there was a checkpoint, and the file that was
    being written, if any."""

    evaluations: int
    saved: bool
    writing: str

    def __str__(self) -> str:
        when = f"after evaluation {self.evaluations}" if self.evaluations else "before any evaluation"
        return (
            when + ("" if self.saved else ", no checkpoint yet") + (f", writing {self.writing}" if self.writing else "")
        )


@dataclass
class Case:
    """One run to be killed and what became of it. wrong: what differs, or why it came to no end."""

    number: int
    entry: Entry
    kills: list[Kill] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kills = "killed " + "; ".join(map(str, self.kills)) if self.kills else "not killed"
        ends = "DIFFERS: " + "; ".join(self.wrong) if self.wrong else "identical"
        return f"{self.entry.module} {self.entry.method} {self.entry.env}: {kills}: {ends}"


def by(function: Callable[..., None], entry: Entry) -> Entry:
    """The run, trained by another function than its script's."""
    return dataclasses.replace(entry, target=f"{function.__module__}:{function.__name__}")


def gaps(run_dir: Path, seconds: float) -> list[float]:
    """Of a finished run that took `seconds`: those to the first evaluation, from each to the next, and to the end."""
    with (run_dir / "metrics.csv").open() as file:
        at = list({row["step"]: 3600 * float(row["hours"]) for row in csv.DictReader(file)}.values())
    return [max(seconds - at[-1] + at[0], 0.0), *(b - a for a, b in itertools.pairwise(at)), END_SECONDS]


Waits = Generator[None, None, Any]
"""Yields while it waits for a process, and returns what comes of it."""


class Torturer:
    """Plays runs below `place`, `jobs` processes side by side. seed: of the moments."""

    def __init__(self, entries: list[Entry], jobs: int, seed: int, place: Path):
        self.jobs, self.seed, self.place = jobs, seed, place
        self.code = take([runs.__name__])[runs.__name__]
        self.local = Local([*entries, by(runs.undisturbed, entries[0])], jobs)  # which loads their scripts
        self.ended: dict[str, str] = {}
        self.wholes: dict[str, list[float] | str | None] = {}
        """Undisturbed runs, by name: their gaps, what went wrong, or None while they go on."""

    def play(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The cases, as they come to their ends."""
        waiting, playing = iter(cases), dict[int, tuple[Case, Waits]]()
        try:
            while True:
                while len(playing) < self.jobs and (case := next(waiting, None)) is not None:
                    playing[case.number] = case, self._case(case)
                if not playing:
                    return
                for number, (case, waits) in list(playing.items()):
                    try:
                        next(waits)
                    except StopIteration:
                        del playing[number]
                        yield case
                self.ended.update(self.local.wait(POLL_SECONDS))
        finally:
            self.local.stop()

    def _start(self, name: str, entry: Entry, run_dir: Path) -> int:
        """A process that trains the run; its number."""
        self.local.start(name, Job(entry, self.code), run_dir)
        return self.local.running[name].process.pid

    def _whole(self, entry: Entry) -> Waits:
        """The gaps of the undisturbed run, and its directory; a message in place of the gaps when it failed."""
        if getattr(entry.config, "actors", None):  # who plays is no part of the numbers
            entry = dataclasses.replace(entry, config=dataclasses.replace(entry.config, actors=None))
        name = f"{entry.module}-{run_name(entry.config)}"
        run_dir = self.place / "whole" / name
        if name not in self.wholes:
            self.wholes[name] = None
            begin = time.monotonic()
            self._start(name, by(runs.undisturbed, entry), run_dir)
            while name not in self.ended:
                yield
            wrong = self.ended.pop(name)
            self.wholes[name] = f"undisturbed: {wrong}" if wrong else gaps(run_dir, time.monotonic() - begin)
        while (found := self.wholes[name]) is None:
            yield
        return found, run_dir

    def _case(self, case: Case) -> Waits:
        rng = random.Random(f"{self.seed} {case.number}")
        found, whole = yield from self._whole(case.entry)
        if isinstance(found, str):
            case.wrong.append(found)
            return
        run_dir = self.place / "killed" / f"{case.number:03d}-{run_name(case.entry.config)}"
        [times] = rng.choices(KILLS, SHARES)
        tries = 0
        while len(case.kills) < times:
            ended = yield from self._killed(case, run_dir, found, rng)
            if ended == "":  # too late; what it was killed before counts, but not this
                if case.kills:
                    break
                shutil.rmtree(run_dir)
                found = [gap / 2 for gap in found]  # the undisturbed run took longer: it has compiled kernels
                tries += 1
                if tries == TRIES:
                    case.wrong.append(f"it ended {TRIES} times before its kill")
                    return
            elif ended != "killed":
                case.wrong.append(ended)
                return
        if not (run_dir / "done.json").exists():
            name = f"{case.number} resumed"
            self._start(name, by(runs.often_saved, case.entry), run_dir)
            while name not in self.ended:
                yield
            if wrong := self.ended.pop(name):
                case.wrong.append(f"resumed: {wrong}")
                return
        case.wrong += differences(run_dir, whole)
        if not case.wrong:
            shutil.rmtree(run_dir)

    def _killed(self, case: Case, run_dir: Path, usual: list[float], rng: random.Random) -> Waits:
        """Train on until a random moment. "killed", "" where the run came to its end before, or why it failed."""
        present = evaluations(run_dir)
        after = rng.randrange(present, len(usual)) if present < len(usual) else present
        delay = rng.random() * usual[after if after > present else 0]  # from the start of a process: it loads first
        aimed = rng.random() < AIMED
        name = f"{case.number} to kill"
        left = set(run_dir.glob("*.tmp"))
        pid = self._start(name, by(runs.often_saved, case.entry), run_dir)
        begin = time.monotonic() if after == present else None
        while name not in self.ended:
            if begin is None and evaluations(run_dir) >= after:
                begin = time.monotonic()
            due = begin is not None and time.monotonic() - begin >= delay
            if due and (not aimed or set(run_dir.glob("*.tmp")) - left):
                kill(pid)
                break
            yield
        while name not in self.ended:
            yield
        ended = self.ended.pop(name)
        if not ended.endswith("killed by SIGKILL"):
            return ended
        files = {path.name for path in run_dir.glob("*")}
        writing = next((file.split(".")[0] for file in files if file.endswith(".tmp")), "")
        saved = any(file in files for file in (*CHECKPOINTS, "weights.pt"))
        case.kills.append(Kill(evaluations(run_dir), saved, writing))
        return "killed"
