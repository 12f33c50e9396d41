"""Silence what MuJoCo says about gymnasium's models that users need not act on."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

MASSES = "compiler attribute 'settotalmass' is deprecated"


@contextmanager
def quiet_masses(name: str) -> Iterator[None]:
    """Silence a warning while gymnasium makes the task `name`: HalfCheetah's file states its mass in a way that MuJoCo
    is going to drop, and MuJoCo says so on stdout for every environment made. Its other warnings still appear, on
    stderr."""
    if not name.startswith("HalfCheetah"):
        yield
        return
    import mujoco  # most tasks do without

    before = mujoco.get_mju_user_warning()

    def say(text: str) -> None:
        if text.startswith(MASSES):
            return
        if before is not None:
            before(text)
        else:
            print(f"WARNING: {text}", file=sys.stderr)

    mujoco.set_mju_user_warning(say)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
