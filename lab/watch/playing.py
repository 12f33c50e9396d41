"""Playing episodes with a trained agent before an audience."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lab.errors import UserError
from lab.watch.agents import Act, Agent, load
from lab.watch.display import need_display, picture
from lab.watch.film import Film, Screen
from lab.watch.moment import Moment

SMOOTH = 30
"""Pictures per second at most; of faster environments not every step is drawn."""


def play(env: Any, act: Act, seed: int, rng: np.random.Generator, draw: Callable[[Moment], None]) -> Moment:
    """One episode from the start that `seed` draws; `draw` is told of its start and of every step. Returns its end."""
    observation, info = env.reset(seed=seed)
    now = Moment()
    draw(now)
    while not now.over:
        observation, reward, terminated, truncated, info = env.step(act(observation, info, rng))
        success = info.get("success", info.get("is_success"))
        now = Moment(now.steps + 1, now.total + float(reward), bool(terminated or truncated), success)
        draw(now)
    return now


def watch(agent: Agent, episodes: int, seed: int, out: Path | None) -> list[Moment]:
    """Play `episodes` and show them in a window, or write them to `out`, a GIF; returns their ends."""
    if out is None:
        need_display()
    else:
        _check_out(out)
    from lab.runs import Streams  # loads torch, which --help and mistakes do without

    env, act = load(agent)
    fps = env.metadata["render_fps"]
    every = math.ceil(fps / SMOOTH)
    screen = Film(fps) if out else Screen(agent.name, fps / every)
    streams = Streams(seed)
    starts, rng = streams.numpy("starts"), streams.numpy("actions")
    title = f"{agent.paper}: {agent.name}"
    ends: list[Moment] = []

    def draw(now: Moment) -> None:
        if now.steps % every == 0 or now.over:
            screen.show(picture(env), title, f"{len(ends) + 1} of {episodes}: {now}", now)

    try:
        for _ in range(episodes):
            # Odd, as the seeds of evaluation are where training has even ones: never a level of training.
            ends.append(play(env, act, 2 * int(starts.integers(2**30)) + 1, rng, draw))
            print(f"episode {len(ends)}: {ends[-1]}", flush=True)
    finally:
        env.close()
        screen.close()
    if isinstance(screen, Film):
        assert out is not None
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(screen.gif())
    return ends


def _check_out(out: Path) -> None:
    if out.suffix.lower() != ".gif":
        raise UserError(f"{out} must end in .gif")
    if out.exists():
        raise UserError(f"{out} exists; choose another name")
