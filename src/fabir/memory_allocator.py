"""Memory allocator settings, and the size of the kernel caches of oneDNN and torch.

Every batch frees its memory and may need other kernels. By default the process returns the memory
to the system and asks for it again, which costs more than a tenth of the time.
"""

import ctypes
import os
from functools import cache

# oneDNN compiles a kernel for each shape of a matrix product and caches a thousand of them. Each
# takes half a megabyte, with torch's own cache. Inference batches are sorted by length, so few are
# in use.
_FEW_KERNELS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "96", "LRU_CACHE_CAPACITY": "96"}
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
# Bytes of free memory kept at the top of the heap, and the size from which a block is mapped.
_KEPT, _MAPPED = 64 << 20, 16 << 20

# Environment variables of training processes, set before they start: glibc reads the request for
# huge pages only then. The two cache capacities save a gigabyte for two processes.
TRAINING = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "512",
    "LRU_CACHE_CAPACITY": "128",
}


@cache
def prepare_to_answer() -> None:
    """Limit the kernel caches of this process, and let it keep the memory of a batch.

    Variables that are already in the environment stay. The cache limit has an effect only before
    the first matrix product. The memory settings apply to glibc; other C libraries are left alone.
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
