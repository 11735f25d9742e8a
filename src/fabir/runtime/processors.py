"""How many processors this process may use, and which numbers they multiply exactly or fast."""

import os
import platform
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

SHARE = Path("/sys/fs/cgroup/cpu.max")  # of a control group: microseconds of every so many
CPU_INFO = Path("/proc/cpuinfo")  # of Linux
_X86 = {"x86_64", "amd64", "i386", "i686", "x86"}


def processors() -> int:
    """Processors that this process may use: affinity, a container's share, OMP_NUM_THREADS."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdecimal():
        return max(1, int(given))
    affinity = getattr(os, "sched_getaffinity", None)
    seen = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:  # a container's share of their time; "max" if there is no limit
        quota, period = map(int, SHARE.read_text().split())
    except (OSError, ValueError):
        return seen
    return max(1, min(seen, round(quota / period)))


@cache
def lacks_vnni(cpu_info: Path = CPU_INFO, machine: str | None = None) -> bool:
    """Whether the processor is an x86 one that is not known to have VNNI.

    Without these instructions sums of unsigned-by-signed 8-bit products saturate at 16 bits.
    Windows and macOS have no such file, so any x86 processor counts as one without them: exact
    products are at most a fifth slower there, saturated ones change answers.

    Args:
        machine: the kind of processor; by default this one's
    """
    if (machine or platform.machine()).lower() not in _X86:
        return False
    try:
        with open(cpu_info, encoding="utf-8", errors="replace") as file:
            flags = next((line.split() for line in file if line.startswith("flags")), [])
    except OSError:
        return True
    return not {"avx512_vnni", "avx_vnni"} & set(flags)


@cache
def is_amd(cpu_info: Path = CPU_INFO) -> bool:
    """Whether the processor is one of AMD's."""
    try:
        return "AuthenticAMD" in cpu_info.read_text(encoding="utf-8", errors="replace")
    except OSError:  # of Windows and macOS
        return "AuthenticAMD" in platform.processor()


def fast_bf16(device: "torch.device") -> bool:
    """Whether the device multiplies faster in bfloat16 than in float32.

    CPUs do so with AMX, and AMD's with AVX-512's instructions for it. Intel's with these alone are
    slower than in float32, as are CPUs and GPUs that emulate it.
    """
    import torch  # not needed where exported models answer

    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu":
        return False
    amx, avx512 = torch.cpu._is_amx_tile_supported(), torch.cpu._is_avx512_bf16_supported()
    return amx or (avx512 and is_amd())
