"""What showing an environment asks of the machine: a display for windows, OpenGL for MuJoCo."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from lab.errors import UserError

INSTEAD = "write a GIF with OUT=agent.gif (--out agent.gif)"


def need_display() -> None:
    """UserError where no window can be opened."""
    if _no_display() and not os.environ.get("SDL_VIDEODRIVER"):
        raise UserError(f"there is no display to open a window on; {INSTEAD}")


def _no_display() -> bool:
    return sys.platform.startswith("linux") and not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def follow(task: Any) -> None:
    """Let a MuJoCo task be seen from its camera that follows the robot; gymnasium 1.4 takes one that stays behind."""
    if hasattr(task, "mujoco_renderer"):
        import mujoco

        camera = mujoco.mj_name2id(task.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
        if camera >= 0:
            task.mujoco_renderer.camera_id = camera


def picture(env: Any) -> np.ndarray:
    """The environment as uint8 [height, width, 3]. UserError where MuJoCo, which draws with OpenGL, cannot."""
    if not hasattr(env.unwrapped, "mujoco_renderer"):
        if _no_display():
            os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # for pygame, which else says what the machine lacks
        return env.render()
    import mujoco

    if _no_display():
        os.environ.setdefault("MUJOCO_GL", "egl")  # which draws without one
    try:
        return env.render()
    except (ImportError, AttributeError, RuntimeError, OSError, mujoco.FatalError) as error:
        raise no_opengl(error) from None


def no_opengl(error: Exception) -> UserError:
    """What to install where MuJoCo has ended with `error`."""
    return UserError(
        f"MuJoCo cannot draw here ({str(error).splitlines()[0]}); install OpenGL, e.g. apt install libegl1 libgl1, "
        "or libosmesa6 and set MUJOCO_GL=osmesa"
    )
