"""Code that two or more papers share. It knows nothing about any one paper."""

from common.numba_cache import keep_kernels_somewhere

keep_kernels_somewhere()  # before anything in this package imports numba
