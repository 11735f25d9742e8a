"""How long a short question to `fabir serve` waits while others send the longest requests allowed.

    python benchmarks/crowd.py [--reader DIR] [--clients 16] [--seconds 20] [--output FILE]

Each client asks 1,000 question marks about 100,000 full stops, each of them a word, again and
again. One more client asks a short question five times a second.
"""

import argparse
import asyncio
import json
import time
from pathlib import Path

import numpy as np
from service import request, start

from fabir import __version__

SHORT = "When did it open?", "The bridge opened in 1887."
LONG = "?" * 1_000, "." * 100_000
PAUSE = 0.2  # seconds


class Client:
    """Asks one question again and again: statuses and seconds of its requests."""

    def __init__(self, question: str, passage: str) -> None:
        self._request = request(question, passage)
        self.statuses: list[int] = []
        self.seconds: list[float] = []

    async def run(self, address: tuple[str, int], until: float) -> None:
        reading, writing = await asyncio.open_connection(*address)
        while time.perf_counter() < until:
            sent = time.perf_counter()
            writing.write(self._request)
            head = (await reading.readuntil(b"\r\n\r\n")).lower()
            await reading.readexactly(int(head.split(b"content-length: ")[1].split(b"\r")[0]))
            self.statuses.append(int(head[9:12]))
            self.seconds.append(time.perf_counter() - sent)
            await asyncio.sleep(PAUSE)
        writing.close()


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    short, long = Client(*SHORT), [Client(*LONG) for _ in range(options.clients)]
    server, address = start(options.reader)
    try:
        asyncio.run(ask([short, *long], address, options.seconds))
    finally:
        server.terminate()
        server.wait(60)
    statuses = [status for client in long for status in client.statuses]
    report = {
        "fabir": __version__,
        "clients with long requests": options.clients,
        "long requests answered": statuses.count(200),
        "long requests turned away": statuses.count(503),
        "short requests": len(short.statuses),
        "short requests not answered": sum(status != 200 for status in short.statuses),
        "short, median, s": round(float(np.median(short.seconds)), 4),
        "short, longest, s": round(max(short.seconds), 4),
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
