"""Imported by the server that a sweep's processes are forked from: loads the train scripts named in PRELOAD."""

import contextlib
import os

from lab.run import provenance

for _module in os.environ.get("PRELOAD", "").split():
    with contextlib.suppress(Exception):  # the runs of a broken script report it
        provenance.load(_module)
