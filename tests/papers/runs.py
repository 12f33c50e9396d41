"""What the tests of train scripts share: what a run leaves, and that an interrupted one ends like any other."""

from pathlib import Path
from types import ModuleType

import pytest
import torch

from lab.runs import Run


class Killed(Exception):
    """Stands in for a power cut."""


def rows(run_dir: Path) -> list[list[str]]:
    """metrics.csv without header and wall-clock hours: [step, metric, value]."""
    return [line.split(",")[:3] for line in (run_dir / "metrics.csv").read_text().splitlines()[1:]]


def weights(run_dir: Path) -> dict[str, torch.Tensor]:
    path = run_dir / "weights.pt"
    return torch.load(path, weights_only=True) if path.exists() else {}


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
    assert rows(folder / "parts") == rows(folder / "whole")
    ours, theirs = weights(folder / "whole"), weights(folder / "parts")
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert script.main(config, folder / "whole") == summary  # at once
    return summary
