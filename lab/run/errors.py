"""Errors that a user can act on: one line, no traceback, a meaningful exit code."""

import errno
import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR}
MISNAMED = {errno.ENAMETOOLONG, errno.ELOOP, errno.EEXIST, errno.EISDIR}


class UserError(Exception):
    """A mistake by the user or in the machine's set-up. The message is one line: what is wrong, and what is right."""


class RunBusy(UserError):
    """The run is being written by another process."""


class NonFiniteLoss(RuntimeError):
    """A loss became NaN or infinite. The message names the step, the loss and the last good checkpoint."""


def expected(error: BaseException) -> tuple[str, int] | None:
    """The line and the exit code of an error that a user can act on; None for a bug.

    2 for a UserError, too little memory, a disk that cannot be written or a name that cannot be; 1 for a non-finite
    loss.
    """
    if isinstance(error, (UserError, NonFiniteLoss, MemoryError)):
        return f"error: {str(error) or 'out of memory'}", 1 if isinstance(error, NonFiniteLoss) else 2
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        where = f" {error.filename}" if error.filename else ""
        return f"error: cannot write{where}: {error.strerror}; fix this and rerun the command", 2
    if isinstance(error, OSError) and error.errno in MISNAMED and error.filename:
        name = error.filename2 or error.filename  # of a file that takes its name at last, the first is a temporary one
        return f"error: {name}: {error.strerror}; choose another name", 2
    return None


def guard(fn: Callable[P, R]) -> Callable[P, R]:
    """Decorate a command's entry point: an expected error becomes one line on stderr, Ctrl-C exit code 130."""

    @functools.wraps(fn)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fn(*args, **kwargs)
        except BrokenPipeError:  # `... --help | head`: the reader has left; Python must not complain at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None
        except KeyboardInterrupt:
            print("interrupted: rerun the command to resume from the last checkpoint", file=sys.stderr)
            raise SystemExit(130) from None
        except Exception as error:
            if (said := expected(error)) is None:
                raise
            print(said[0], file=sys.stderr)
            raise SystemExit(said[1]) from None

    return guarded
