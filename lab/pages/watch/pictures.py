"""Captioned pictures of an environment, in a window or for a GIF; and an agent that is watched."""

import math
import os
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from lab.agents import Agent, Moment, no_opengl
from lab.run.errors import UserError

INSTEAD = "write a GIF with OUT=agent.gif (--out agent.gif)"
WINDOW_WIDTH, WINDOW_FPS = 480, 30
"""Width in pixels, and most pictures per second; faster environments skip steps."""
GIF_WIDTH, GIF_SECONDS, GIF_BYTES, COLOURS = 320, 10.0, 600_000, 64
"""Limits of a GIF: width in pixels, length, size of the file, number of colours."""
GIF_TRIES = ((0.08, GIF_WIDTH), (0.12, GIF_WIDTH), (0.12, 260), (0.12, 200), (0.12, 160))
"""(least seconds between two pictures, width) of a GIF: the first that keeps it within GIF_BYTES is used."""
HOLD = 0.8
"""Seconds for which a GIF shows the end of an episode, if that leaves enough for the rest."""
BAR, FONT_SIZE = 38, 13
"""Heights of the caption above a picture and of its letters, in pixels."""


def no_display() -> bool:
    """Whether no window can be opened."""
    return sys.platform.startswith("linux") and not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def picture(env: Any) -> np.ndarray:
    """Render the environment as uint8 [height, width, 3]. UserError if MuJoCo cannot draw, for lack of OpenGL."""
    if no_display():  # pygame and MuJoCo can draw without one
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        os.environ.setdefault("MUJOCO_GL", "egl")
    try:
        return env.render()
    except Exception as error:
        if not hasattr(env.unwrapped, "mujoco_renderer"):
            raise
        raise no_opengl(error) from None


def captioned(image: Image.Image, width: int, title: str, caption: str) -> Image.Image:
    """The picture, scaled to `width` pixels, below two lines of text."""
    height = round(image.height * width / image.width)
    # Small pictures consist of squares, which must stay sharp.
    image = image.resize((width, height), Image.Resampling.NEAREST if image.width < 200 else Image.Resampling.LANCZOS)
    whole = Image.new("RGB", (width, height + BAR), "white")
    whole.paste(image, (0, BAR))
    draw = ImageDraw.Draw(whole)
    for top, text in ((2, title), (19, caption)):
        fonts = [ImageFont.load_default(size) for size in range(FONT_SIZE, 7, -1)]
        fits = (font for font in fonts if draw.textlength(text, font) <= width - 8)
        draw.text((4, top), text, "black", next(fits, fonts[-1]))
    return whole


class Screen:
    """A window. fps: steps per second of the environment."""

    def __init__(self, title: str, fps: float):
        from envs.window import Window

        if no_display() and not os.environ.get("SDL_VIDEODRIVER"):
            raise UserError(f"there is no display to open a window on; {INSTEAD}")
        self.every, self.title = math.ceil(fps / WINDOW_FPS), title
        self.window = Window(title, max(1, round(fps / self.every)))

    def show(self, env: Any, caption: str, now: Moment) -> None:
        import pygame

        if now.steps % self.every and not now.over:
            return
        try:
            self.window.show(np.asarray(captioned(Image.fromarray(picture(env)), WINDOW_WIDTH, self.title, caption)))
        except pygame.error as error:
            raise UserError(f"cannot open a window ({error}); {INSTEAD}") from None

    def close(self) -> None:
        self.window.close()


class Film:
    """Pictures for a GIF. fps: steps per second of the environment."""

    def __init__(self, title: str, fps: float):
        self.title, self.fps = title, fps
        self.shots: list[tuple[Image.Image, str, Moment]] = []

    def show(self, env: Any, caption: str, now: Moment) -> None:
        if now.over or now.steps % math.ceil(self.fps / WINDOW_FPS) == 0:
            image = Image.fromarray(picture(env))
            # An episode has many pictures: keep them small.
            image.thumbnail((GIF_WIDTH, 10 * GIF_WIDTH), Image.Resampling.LANCZOS)
            self.shots.append((image, caption, now))

    def close(self) -> None: ...

    def gif(self) -> bytes:
        """Encode the GIF within GIF_SECONDS (time may run faster) and GIF_BYTES (it may be smaller)."""
        for gap, width in GIF_TRIES:
            kept, milliseconds = cut([now for _, _, now in self.shots], self.fps, gap)
            shots = [self.shots[i] for i in kept]
            images = [captioned(image, width, self.title, caption) for image, caption, _ in shots]
            palette = _palette(images)
            first, *rest = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
            buffer = BytesIO()
            first.save(buffer, "GIF", save_all=True, append_images=rest, duration=milliseconds, loop=0, optimize=False)
            if buffer.tell() <= GIF_BYTES:
                break
        return buffer.getvalue()


def cut(moments: Sequence[Moment], fps: float, gap: float) -> tuple[list[int], list[int]]:
    """Choose the pictures to keep, including every start and end, and how many milliseconds each is shown.

    fps: steps per second of the environment; if that takes too long, time runs faster. gap: least seconds between two.
    """
    ends = [now.steps for now in moments if now.over]
    hold = min(HOLD, 0.4 * GIF_SECONDS / len(ends))
    room = GIF_SECONDS - hold * len(ends)
    speed = max(fps, sum(ends) / room)  # steps per second
    kept: list[int] = []
    seconds: list[float] = []
    for i, now in enumerate(moments):
        passed = (now.steps - moments[kept[-1]].steps) / speed if kept and now.steps else math.inf
        if passed < gap and not now.over:
            continue
        if now.steps:
            seconds[-1] = max(passed, 0.02)  # how long the one before was shown; browsers slow down below 0.02
        kept.append(i)
        seconds.append(hold)
    return kept, [10 * math.floor(100 * length) for length in seconds]  # a GIF counts hundredths


def _palette(images: Sequence[Image.Image]) -> Image.Image:
    """Palette of COLOURS for all images, from a few of them stacked."""
    some = [np.asarray(images[i]) for i in sorted({round(i) for i in np.linspace(0, len(images) - 1, 8)})]
    # MAXCOVERAGE keeps the colours of small things.
    return Image.fromarray(np.concatenate(some)).quantize(COLOURS, Image.Quantize.MAXCOVERAGE)


def watch(agent: Agent, episodes: int, seed: int, out: Path | None = None) -> list[Moment]:
    """Play `episodes` and show them in a window, or write them to `out`, a GIF; returns their ends."""
    screen: Any = (Film if out else Screen)(
        f"{agent.saved.paper}: {agent.saved.name}", agent.env.metadata["render_fps"]
    )
    ends: list[Moment] = []

    def draw(now: Moment) -> None:
        screen.show(agent.env, f"{len(ends) + 1} of {episodes}: {now}", now)

    try:
        for end in agent.episodes(episodes, seed, draw):
            ends.append(end)
            print(f"episode {len(ends)}: {end}", flush=True)
    finally:
        agent.env.close()
        screen.close()
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(screen.gif())
    return ends
