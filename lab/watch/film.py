"""Pictures with captions, in a window or on their way into a GIF."""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BytesIO

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from lab.errors import UserError
from lab.watch.display import INSTEAD
from lab.watch.moment import Moment

WINDOW_WIDTH = 480
GIF_WIDTH, GIF_SECONDS, GIF_BYTES, COLOURS = 320, 10.0, 600_000, 64
"""Largest width in pixels, length and file of a GIF, and its colours."""
GIF_TRIES = ((0.08, GIF_WIDTH), (0.12, GIF_WIDTH), (0.12, 260), (0.12, 200), (0.12, 160))
"""(least seconds between two of its pictures, width): the first that keeps it within GIF_BYTES."""
HOLD = 0.8
"""Seconds for which a GIF shows the end of an episode, where that leaves enough for the rest."""
BAR, FONT_SIZE = 38, 13
"""Height of the caption above a picture, and its letters, in pixels."""


def captioned(picture: np.ndarray | Image.Image, width: int, title: str, caption: str) -> Image.Image:
    """The picture, `width` pixels wide, below two lines of text."""
    image = Image.fromarray(picture) if isinstance(picture, np.ndarray) else picture
    height = round(image.height * width / image.width)
    # Small pictures are made of squares, which stay sharp.
    image = image.resize((width, height), Image.Resampling.NEAREST if image.width < 200 else Image.Resampling.LANCZOS)
    whole = Image.new("RGB", (width, height + BAR), "white")
    whole.paste(image, (0, BAR))
    draw, size = ImageDraw.Draw(whole), FONT_SIZE
    for top, text in ((2, title), (19, caption)):
        font = ImageFont.load_default(size)
        while draw.textlength(text, font) > width - 8 and size > 8:
            size -= 1
            font = ImageFont.load_default(size)
        draw.text((4, top), text, "black", font)
    return whole


class Screen:
    """A window. fps: pictures per second."""

    def __init__(self, name: str, fps: float):
        from envs.window import Window

        self.window = Window(name, max(1, round(fps)))

    def show(self, picture: np.ndarray, title: str, caption: str, now: Moment) -> None:
        import pygame

        try:
            self.window.show(np.asarray(captioned(picture, WINDOW_WIDTH, title, caption)))
        except pygame.error as error:
            raise UserError(f"cannot open a window ({error}); {INSTEAD}") from None

    def close(self) -> None:
        self.window.close()


class Film:
    """Pictures on their way into a GIF. fps: steps per second of the environment."""

    def __init__(self, fps: float):
        self.fps = fps
        self.shots: list[tuple[Image.Image, str, str, Moment]] = []

    def show(self, picture: np.ndarray, title: str, caption: str, now: Moment) -> None:
        image = Image.fromarray(picture)
        if image.width > GIF_WIDTH:  # an episode has many: keep no more than is needed
            height = round(image.height * GIF_WIDTH / image.width)
            image = image.resize((GIF_WIDTH, height), Image.Resampling.LANCZOS)
        self.shots.append((image, title, caption, now))

    def close(self) -> None:
        """There is nothing to give back."""

    def gif(self) -> bytes:
        """The GIF: within GIF_SECONDS, for which time may run faster, and GIF_BYTES, for which it may be smaller."""
        for gap, width in GIF_TRIES:
            shots, milliseconds = self._cut(gap)
            images = [captioned(image, width, title, caption) for image, title, caption, _ in shots]
            palette = _palette(images)
            indexed = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
            buffer = BytesIO()
            indexed[0].save(
                buffer, "GIF", save_all=True, append_images=indexed[1:], duration=milliseconds, loop=0, optimize=False
            )
            if buffer.tell() <= GIF_BYTES:
                break
        return buffer.getvalue()

    def _cut(self, gap: float) -> tuple[list[tuple[Image.Image, str, str, Moment]], list[int]]:
        """The shots that are kept, `gap` seconds apart or more, and for how many milliseconds each is shown."""
        ends = [shot[3] for shot in self.shots if shot[3].over]
        hold = min(HOLD, 0.4 * GIF_SECONDS / len(ends))
        room = GIF_SECONDS - hold * len(ends)
        speed = max(self.fps, sum(end.steps for end in ends) / room)  # steps per second
        kept: list[tuple[Image.Image, str, str, Moment]] = []
        seconds: list[float] = []
        since = 0
        for shot in self.shots:
            now = shot[3]
            if now.steps == 0:
                since = 0
            passed = (now.steps - since) / speed
            if now.steps and passed < gap and not now.over:
                continue
            if now.steps:
                seconds[-1] = max(passed, 0.02)  # the one before was shown until now; browsers slow less than 0.02 down
            kept.append(shot)
            seconds.append(hold if now.over else gap)
            since = now.steps
        return kept, [10 * math.floor(100 * length) for length in seconds]  # a GIF counts hundredths


def _palette(images: Sequence[Image.Image]) -> Image.Image:
    """COLOURS that suit all images: those of a few of them, side by side."""
    some = [images[i] for i in sorted({round(i) for i in np.linspace(0, len(images) - 1, 8)})]
    sheet = Image.new("RGB", (sum(image.width for image in some), some[0].height))
    for i, image in enumerate(some):
        sheet.paste(image, (i * image.width, 0))
    return sheet.quantize(COLOURS, Image.Quantize.MAXCOVERAGE)  # which keeps the colours of small things
