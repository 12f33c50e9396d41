"""What MuJoCo says about models of gymnasium that asks nothing of whoever trains on them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

MASSES = "compiler attribute 'settotalmass' is deprecated"


@contextmanager
def quiet_masses(name: str) -> Iterator[None]:
    """For the time in which gymnasium makes the task `name`: HalfCheetah's file states its mass in a way that MuJoCo is
    going to drop, which it would say for every environment that is made, on stdout. All else that it says is said, on
    stderr."""
    if not name.startswith("HalfCheetah"):
        yield
        return
    import mujoco  # which most tasks need not load

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
