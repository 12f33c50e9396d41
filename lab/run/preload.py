"""Load the train scripts named in PRELOAD; imported by the server from which a sweep forks its processes."""

import contextlib
import os

from lab.run import provenance

for _module in os.environ.get("PRELOAD", "").split():
    with contextlib.suppress(Exception):  # the runs of a broken script report it
        provenance.load(_module)
