"""Times the hot parts of the house against their peers, and weighs its memory: ``make bench``.

One thread, as in training: the variables below are read when numpy, torch and numba are loaded, so they are set first.
"""

import os

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"
