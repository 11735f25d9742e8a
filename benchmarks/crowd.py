"""How long a short question to `fabir serve` waits while others send the longest requests allowed.

    python benchmarks/crowd.py [--reader DIR] [--index DIR] [--clients 16] [--seconds 20] \
        [--output FILE]

Each client asks 1,000 question marks about 100,000 full stops, each of them a word, again and
again. One more client asks a short question five times a second. With `--index` every second client
asks the index with 1,000 different characters, each of them a word, and one more client asks it a
short question.
"""

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from service import post, request, response, start

from fabir import __version__

SHORT = request("When did it open?", "The bridge opened in 1887.")
LONG = request("?" * 1_000, "." * 100_000)
SHORT_SEARCH = post("/ask", question="When did it open?")
LONG_SEARCH = post("/ask", question="".join(map(chr, range(0x4E00, 0x4E00 + 1_000))))
PAUSE = 0.2  # seconds


class Client:
    """Sends one request again and again: statuses and seconds of its responses."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self.statuses: list[int] = []
        self.seconds: list[float] = []

    async def run(self, address: tuple[str, int], until: float) -> None:
        reading, writing = await asyncio.open_connection(*address)
        while time.perf_counter() < until:
            sent = time.perf_counter()
            writing.write(self._message)
            status, _ = await response(reading)
            self.statuses.append(status)
            self.seconds.append(time.perf_counter() - sent)
            await asyncio.sleep(PAUSE)
        writing.close()


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    kinds = [LONG, LONG_SEARCH] if options.index else [LONG]
    long = [Client(kinds[number % len(kinds)]) for number in range(options.clients)]
    short = {"short": Client(SHORT)}
    if options.index:
        short["short to the index"] = Client(SHORT_SEARCH)
    server, address = start(options.reader, options.index)
    try:
        asyncio.run(ask([*short.values(), *long], address, options.seconds))
    finally:
        server.terminate()
        server.wait(60)
    statuses = [status for client in long for status in client.statuses]
    report: dict[str, Any] = {
        "fabir": __version__,
        "clients with long requests": options.clients,
        "long requests answered": statuses.count(200),
        "long requests turned away": statuses.count(503),
    }
    for name, client in short.items():
        report |= {
            f"{name} requests": len(client.statuses),
            f"{name} requests not answered": sum(status != 200 for status in client.statuses),
            f"{name}, median, s": round(float(np.median(client.seconds)), 4),
            f"{name}, longest, s": round(max(client.seconds), 4),
        }
    text = json.dumps(report, indent=1)
    print(text)
    if options.output:
        options.output.write_text(text + "\n")


async def ask(clients: list[Client], address: tuple[str, int], seconds: float) -> None:
    until = time.perf_counter() + seconds
    await asyncio.gather(*(client.run(address, until) for client in clients))


if __name__ == "__main__":
    main()
