"""A service in a process of its own, for tests. No tests here."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple


class Running(NamedTuple):
    url: str
    process: subprocess.Popen[str]


@contextmanager
def running(
    *arguments: object,
    environment: Mapping[str, str] = os.environ,
    under: Sequence[str] = (),
) -> Iterator[Running]:
    """`fabir serve` with the arguments, at a free port; it is stopped at the end.

    `under` is a command that starts the one given after it, and becomes it.
    """
    command = [*under, sys.executable, "-m", "fabir", "serve", "--port", "0", *map(str, arguments)]
    environment = {**environment, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            found = re.search(r"http://\S+(?=;)", line)
            assert found, line
            yield Running(found[0], process)
        finally:
            process.terminate()
