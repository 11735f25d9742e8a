"""How many processors this process may use: affinity, a container's share, OMP_NUM_THREADS."""

import os
from pathlib import Path

SHARE = Path("/sys/fs/cgroup/cpu.max")  # of a control group: microseconds of every so many


def processors() -> int:
    """Processors that this process may use."""
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
