"""Where an episode stands, as captions say it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Moment:
    """An episode after `steps` steps."""

    steps: int = 0
    total: float = 0.0
    """Return so far, not discounted."""
    over: bool = False
    success: bool | None = None
    """None where the environment knows no success."""

    def __str__(self) -> str:
        end = {None: "", True: ", success", False: ", no success"}[self.success] if self.over else ""
        return f"step {self.steps}, return {self.total:.4g}{end}"
