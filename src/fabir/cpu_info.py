"""The processor that a measurement was made on."""

import platform
import re
from pathlib import Path


def cpu_name() -> str:
    """The processor's model and architecture, if the system gives them: "AMD EPYC, x86_64"."""
    try:
        known = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        known = f"model name: {platform.processor()}"
    found = re.search(r"^model name\s*:\s*(.*?)\s*$", known, re.MULTILINE)
    return ", ".join(filter(None, [found and found[1], platform.machine()]))
