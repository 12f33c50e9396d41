"""What two or more papers share. Knows nothing of any paper."""

from common.numba_cache import keep_kernels_somewhere

keep_kernels_somewhere()  # before anything of this package imports numba
