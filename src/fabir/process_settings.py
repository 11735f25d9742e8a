"""Settings of a whole process: environment variables, and those of the memory allocator.

`import fabir` and a `Predictor` change none of them. The command line calls `tune_process`.
"""

import ctypes
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

# ONNX Runtime 1.29 and later store a device number in the home folder and send telemetry to
# Microsoft. It reads this variable when it is imported, and only then.
NO_TELEMETRY = {"ORT_DISABLE_TELEMETRY": "1"}
# A thread that spins while it waits takes a shared processor away from the others, which makes them
# up to twenty times slower. The variable must be set before the first import of torch.
_PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE"}
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
    **_PASSIVE,
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "512",
    "LRU_CACHE_CAPACITY": "128",
}


def tune_process() -> None:
    """Change settings of this process so that models answer faster and take less memory.

    Call it first in a program that mostly answers questions; fabir's commands do. It sets
    environment variables, which programs that it starts inherit; variables that are already set
    stay:

    - `OMP_WAIT_POLICY=PASSIVE`: torch's threads sleep while they wait. Before torch is imported.
    - `ONEDNN_PRIMITIVE_CACHE_CAPACITY=96` and `LRU_CACHE_CAPACITY=96`: torch keeps fewer compiled
      kernels. Before torch's first matrix product.
    - `ORT_DISABLE_TELEMETRY=1`: also for programs that import ONNX Runtime without fabir.

    And it asks glibc's memory allocator to keep up to 64 MiB of free memory instead of returning it
    to the system after every batch. Other C libraries are left alone.
    """
    tune_for_training()
    _set_defaults(_FEW_KERNELS)


def tune_for_training() -> None:
    """The same as `tune_process`, without the limit of kernels: training has more shapes."""
    _set_defaults(_PASSIVE | NO_TELEMETRY)
    _keep_memory()


@contextmanager
def temporary_defaults(variables: Mapping[str, str]) -> Iterator[None]:
    """Within it these environment variables are set, unless they already are."""
    added = _set_defaults(variables)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _set_defaults(variables: Mapping[str, str]) -> list[str]:
    """Set environment variables that are not set, and return their names."""
    added = [name for name in variables if name not in os.environ]
    os.environ.update((name, variables[name]) for name in added)
    return added


def _keep_memory() -> None:
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
