"""What the tests of train scripts share: what a run leaves, and that an interrupted one ends like any other."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from lab.run.errors import UserError
from lab.run.runs import Run


class Killed(Exception):
    """Stands in for a power cut."""


def rows(run_dir: Path) -> list[list[str]]:
    """metrics.csv without header and wall-clock hours: [step, metric, value]."""
    return [line.split(",")[:3] for line in (run_dir / "metrics.csv").read_text().splitlines()[1:]]


def flat(weights: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Weights by name, also where a learner has several networks."""
    found: dict[str, torch.Tensor] = {}
    for name, value in weights.items():
        found |= {f"{name}.{key}": v for key, v in flat(value).items()} if isinstance(value, dict) else {name: value}
    return found


def weights(run_dir: Path) -> dict[str, torch.Tensor]:
    path = run_dir / "weights.pt"
    return flat(torch.load(path, weights_only=True)) if path.exists() else {}


def same(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> bool:
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def same_run(one: Path, other: Path) -> bool:
    return rows(one) == rows(other) and same(weights(one), weights(other))


def assert_refused(script: ModuleType, config, words: str, folder: Path) -> None:
    """Settings that cannot work cost one line and leave no run directory behind."""
    with pytest.raises((UserError, MemoryError), match=words) as error:
        script.main(config, folder / "run")
    assert "\n" not in str(error.value) and not (folder / "run").exists()


def assert_goes_on(
    script: ModuleType,
    config,
    folder: Path,
    monkeypatch,
    method: str,
    when: Callable,
    seen: Callable = lambda one: None,
) -> list:
    """A run that is broken off before the call of a trainer's method at which it is as `when` says ends as one that is
    not, which `folder / "whole"` holds. Returns what is `seen` of the trainer at each call after that."""
    kind, calls = script.Trainer, []
    call = getattr(kind, method)

    def interrupt(self):
        if when(self):
            raise Killed
        return call(self)

    def watched(self):
        calls.append(seen(self))
        return call(self)

    whole, parts = folder / "whole", folder / "parts"
    summary = script.main(config, whole)
    with monkeypatch.context() as patch:
        patch.setattr(kind, method, interrupt)
        with pytest.raises(Killed):
            script.main(config, parts)
        assert (parts / "checkpoint.pkl").exists() and not (parts / "done.json").exists()
        patch.setattr(kind, method, watched)
        assert script.main(config, parts) == summary
        found = calls.copy()
        assert script.main(config, parts) == summary and calls == found  # a finished run is only read
    assert same_run(parts, whole)
    return found


def assert_resumes(
    script: ModuleType,
    config,
    folder: Path,
    monkeypatch,
    *,
    kills: list[int],
    saved: int,
    save_every: int | None = None,
) -> dict:
    """A run that is killed at the steps `kills`, the last after a checkpoint at `saved`, ends as one that is not.

    save_every: the script's SAVE_EVERY, if it has one. Returns the summary of the run, which `folder / "whole"` holds.
    """
    ticks: list[int] = []
    tick = Run.tick

    def counted(self, step: int, **scores) -> None:
        tick(self, step, **scores)
        ticks.append(step)
        if step in kills:
            kills.remove(step)
            raise Killed

    with monkeypatch.context() as patch:
        if save_every is not None:
            patch.setattr(script, "SAVE_EVERY", save_every)
        patch.setattr(Run, "tick", counted)
        for _ in tuple(kills):
            with pytest.raises(Killed):
                script.main(config, folder / "parts")
        assert (folder / "parts" / "checkpoint.pkl").exists()
        ticks.clear()
        summary = script.main(config, folder / "parts")
        resumed = ticks.copy()
        ticks.clear()
        assert script.main(config, folder / "whole") == summary
    assert resumed == [step for step in ticks if step >= resumed[0]] and resumed[0] >= saved  # not from the start
    assert same_run(folder / "parts", folder / "whole")
    assert script.main(config, folder / "whole") == summary  # at once
    return summary
