"""A service for tests, in a process of its own or in this one. No tests here."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from fabir.answer.predictor import Predictor
from fabir.serve.app import create_app


class Running(NamedTuple):
    url: str
    process: subprocess.Popen[str]


@contextmanager
def running(
    *arguments: object,
    environment: Mapping[str, str] = os.environ,
    under: Sequence[str] = (),
    stdout: Any = subprocess.DEVNULL,
) -> Iterator[Running]:
    """`fabir serve` with the arguments, at a free port; it is stopped at the end.

    `under` is a command that starts the one given after it, and becomes it. `stdout` gets the
    access log.
    """
    command = [*under, sys.executable, "-m", "fabir", "serve", "--port", "0", *map(str, arguments)]
    environment = {**environment, "OMP_NUM_THREADS": "1"}
    environment.pop("FABIR_THOROUGH", None)  # of these tests, see `damage`
    with subprocess.Popen(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            found = re.search(r"http://\S+(?=;)", line)
            assert found, line
            yield Running(found[0], process)
        finally:
            process.terminate()


Call = Callable[[httpx.AsyncClient], Awaitable[Any]]


def talk(predictor: Predictor, call: Call, **options: Any) -> Any:
    """What `call` makes of a client of a new application."""

    async def run() -> Any:
        transport = httpx.ASGITransport(create_app(predictor, **options))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await call(client)

    return asyncio.run(run())


def post(predictor: Predictor, path: str, **content: Any) -> httpx.Response:
    options = content.pop("options", {})
    return talk(predictor, lambda client: client.post(path, **content), **options)
