"""How much freed memory and how many prepared kernels a process keeps. Both come and go with every
batch, and fetching either anew costs more than a tenth of the time."""

import ctypes
import os
from functools import cache

# oneDNN prepares a kernel for every shape of a matrix product and keeps a thousand, half a megabyte
# each with torch's own cache. Batches to answer come sorted by length, so few are in use at a time.
_FEW_KERNELS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "96", "LRU_CACHE_CAPACITY": "96"}
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_KEPT, _MAPPED = 64 << 20, 16 << 20  # bytes free at the top of the heap; of pieces outside of it

# For processes that train, set before they begin; large pages can only be asked for then. The last
# two make a gigabyte less for two processes.
TRAINING = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "512",
    "LRU_CACHE_CAPACITY": "128",
}


@cache
def prepare_to_answer() -> None:
    """Bound the kernels that this process keeps, and let it keep the memory of a batch.

    Whatever the environment says already stays. The kernels' bound holds if no matrix product was
    computed yet; memory is a matter of glibc, elsewhere nothing is done about it.
    """
    for name, value in _FEW_KERNELS.items():
        os.environ.setdefault(name, value)
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for option, name, value in (
        (_M_TRIM_THRESHOLD, "MALLOC_TRIM_THRESHOLD_", _KEPT),
        (_M_MMAP_THRESHOLD, "MALLOC_MMAP_THRESHOLD_", _MAPPED),
    ):
        if name not in os.environ:
            mallopt(option, value)
