"""Time the hot parts of the code against peers, and measure memory: ``make bench``.

One thread, as in training. numpy, torch and numba read the variables below when they are loaded, so they are set first.
"""

import os

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"
