"""The packages that are only measured against, or one clear line that says how to get them."""

import contextlib
import io

from lab.run.errors import UserError

try:
    with contextlib.redirect_stderr(io.StringIO()):  # gym, which pfrl imports, prints that it has a successor
        import pfrl
        import pfrl.collections.prioritized
except ImportError as error:
    raise UserError(f"make bench needs {error.name or 'pfrl'}: .venv/bin/pip install --group bench") from None

__all__ = ["pfrl"]
