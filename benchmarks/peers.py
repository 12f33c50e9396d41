"""Packages needed only as peers of measurements, or one clear line that says how to install them."""

import contextlib
import io

from lab.run.errors import UserError

try:
    with contextlib.redirect_stderr(io.StringIO()):  # gym, imported by pfrl, announces its successor
        import pfrl
        import pfrl.collections.prioritized
except ImportError as error:
    raise UserError(f"make bench needs {error.name or 'pfrl'}: .venv/bin/pip install --group bench") from None

__all__ = ["pfrl"]
