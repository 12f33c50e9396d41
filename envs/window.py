"""A window for pictures, for environments whose "human" mode shows what "rgb_array" returns."""

from __future__ import annotations

from typing import Any

import numpy as np


class Window:
    """A window that opens with the first picture. It needs pygame, loaded only then: training does without.

    caption: the window's title. fps: pictures per second at most; `show` waits accordingly.
    """

    def __init__(self, caption: str, fps: int):
        self.caption, self.fps = caption, fps
        self._surface: Any = None

    def show(self, picture: np.ndarray) -> None:
        """Show uint8 [height, width, 3]."""
        import pygame

        if self._surface is None:
            pygame.display.init()
            self._surface = pygame.display.set_mode(picture.shape[1::-1])
            pygame.display.set_caption(self.caption)
        pygame.surfarray.blit_array(self._surface, picture.swapaxes(0, 1))
        pygame.event.pump()  # else the system takes the window for frozen
        pygame.display.flip()
        pygame.time.wait(1000 // self.fps)

    def close(self) -> None:
        """Close the window if it is open."""
        if self._surface is not None:
            import pygame

            pygame.display.quit()
            self._surface = None
