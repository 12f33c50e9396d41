"""The fastest peers that we know. They run in an environment of their own, .venv-peers, which `make peers` installs.

    with Peers() as peers:
        results = interleaved({"ours": ours, **peers.tasks({"SBX": ("sbx", settings)})}, ROUNDS)

Their process works only while one of its tasks has its turn. A peer that is not installed costs one line, and its rows
are left out.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.rows import LIBRARIES, Row, library
from lab.run.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venv-peers/bin/python"
Wanted = Mapping[str, tuple[str, dict[str, Any]]]
"""Name of a peer in its row -> the function of `benchmarks.peer_tasks` that makes its task, and the arguments."""


class Peers:
    """A process of .venv-peers that makes and runs tasks of `benchmarks.peer_tasks`."""

    versions: ClassVar[dict[str, str]] = {}
    """Of each library of which a task was made, in any process."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        if PYTHON.exists():
            command = [str(PYTHON), "-m", "benchmarks.peer_tasks"]
            pipes: Any = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.process = subprocess.Popen(command, cwd=ROOT, text=True, **pipes)

    def __enter__(self) -> Peers:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.process is not None:
            self.process.communicate()  # the end of its orders ends it

    def tasks(self, wanted: Wanted) -> dict[str, Callable[[], float]]:
        """Tasks for `interleaved`, by name; those that cannot be had are left out, each with a line that says why."""
        if self.process is None:
            print(f"left out, as .venv-peers is missing (make peers): {', '.join(wanted)}", file=sys.stderr)
            return {}
        made: dict[str, Callable[[], float]] = {}
        for name, (maker, arguments) in wanted.items():
            label = library(name)
            answer = self._ask({"make": maker, "arguments": arguments, "package": LIBRARIES[label] if label else None})
            if "error" in answer:
                print(f"left out: {name}: {answer['error']}", file=sys.stderr)
                continue
            if label:
                self.versions[label] = answer["version"]
            made[name] = partial(self._run, answer["task"])
        return made

    def _run(self, task: int) -> float:
        return self._ask({"run": task})["us"]

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """UserError if the process has ended."""
        assert self.process is not None and self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise UserError(f"the peers' process ended with status {self.process.wait()} at {order}")
        return json.loads(answer)


def beside(row: Row, us: Mapping[str, float], peers: Iterable[tuple[str, str, str]]) -> list[Row]:
    """The row, and its like for those of the `peers` (name, unlike, by) that were measured, which have no target.

    The row itself is left out if it says nothing more: it has no peer and no target.
    """
    rows = [
        Row(row.what, row.ours, row.unit, us[name], name, unlike=unlike, by=by)
        for name, unlike, by in peers
        if name in us
    ]
    return rows if rows and row.peer is None and row.limit is None else [row, *rows]
