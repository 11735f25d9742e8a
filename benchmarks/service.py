"""Speed and correctness of `fabir serve` with many clients at a time.

    python benchmarks/service.py --data dev-v1.1.json [--reader DIR] [--clients 64] [--seconds 60] \
        [--questions 3000] [--in-order] [--output FILE]

The service runs in a new process; this process asks it over loopback. Each client has a connection,
and asks its next question when it has the answer to the last. Before and after, one call answers
the same questions offline. That gives the answers and the rate to compare with. Questions are
shuffled, so a batch rarely has two about one passage; `--in-order` keeps the order of the file. The
clients use processor time too, which is printed.
"""

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from answering import Pairs, load_pairs

from fabir import Predictor, __version__

WARM_UP = 300  # questions


class Response(NamedTuple):
    number: int  # of the question
    status: int
    body: bytes
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--questions", type=int, default=3000, help="asked again and again")
    parser.add_argument("--in-order", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    pairs = load_pairs(options.data)
    if not options.in_order:
        random.Random(0).shuffle(pairs)
    pairs = pairs[: options.questions]
    predictor = Predictor.load(options.reader)
    list(predictor.answer_all(pairs[:WARM_UP]))
    before, expected = offline(predictor, pairs)
    server, address = start(options.reader)
    try:
        asyncio.run(load(address, pairs[:WARM_UP], options.clients, 3600))
        used = time.process_time(), processor_seconds(server.pid)
        responses, took = asyncio.run(load(address, pairs, options.clients, options.seconds))
        mine = time.process_time() - used[0]
        its = processor_seconds(server.pid) - used[1]
    finally:
        server.terminate()
        code = server.wait(60)
    after, _ = offline(predictor, pairs)
    wrong = [r for r in responses if r.status == 200 and spans(r.body) != expected[r.number]]
    times = 1e3 * np.array([response.seconds for response in responses])
    report: dict[str, Any] = {
        "fabir": __version__,
        "clients": options.clients,
        "order": "of the file" if options.in_order else "shuffled",
        "requests": len(responses),
        "errors": sum(response.status != 200 for response in responses),
        "wrong answers": len(wrong),
        "p50, ms": float(np.quantile(times, 0.5)),
        "p95, ms": float(np.quantile(times, 0.95)),
        "longest, ms": float(times.max()),
        "requests/s": len(responses) / took,
        "offline, questions/s, before": before,
        "offline, questions/s, after": after,
        "share of offline, %": 100 * len(responses) / took / ((before + after) / 2),
        "processor time a request, service, ms": 1e3 * its / len(responses),
        "processor time a request, clients, ms": 1e3 * mine / len(responses),
        "exit code after SIGTERM": code,
    }
    for name, value in report.items():
        print(f"{name:<40}{value:>12.1f}" if isinstance(value, float) else f"{name:<40}{value:>12}")
    for response in wrong[:5]:
        print(pairs[response.number][0], spans(response.body), expected[response.number])
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def offline(predictor: Predictor, pairs: Pairs) -> tuple[float, list[list[tuple[int, int]]]]:
    """Questions per second in one call, and the offsets of each question's answers."""
    predictor.forget()
    began = time.perf_counter()
    answers = list(predictor.answer_all(pairs))
    rate = len(pairs) / (time.perf_counter() - began)
    return rate, [[(each.start, each.end) for each in found] for found in answers]


def spans(body: bytes) -> list[tuple[int, int]]:
    return [(each["start"], each["end"]) for each in json.loads(body)["answers"]]


def start(reader: Path | None) -> tuple[subprocess.Popen[str], tuple[str, int]]:
    command = [sys.executable, "-m", "fabir", "serve", "--port", "0"]
    command += ["--reader", str(reader)] if reader else []
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    line = server.stderr.readline()
    found = re.search(r"http://([\d.]+):(\d+)", line)
    if not found:
        sys.exit(f"the service did not start: {line}")
    return server, (found[1], int(found[2]))


async def load(
    address: tuple[str, int], pairs: Pairs, clients: int, seconds: float
) -> tuple[list[Response], float]:
    """All responses, and the seconds until the last one."""
    requests = [request(question, passage) for question, passage in pairs]
    responses: list[Response] = []
    numbers = count()
    began = time.perf_counter()
    until = began + seconds

    async def client() -> None:
        reading, writing = await asyncio.open_connection(*address)
        while time.perf_counter() < until:
            number = next(numbers)
            if seconds > 600 and number >= len(pairs):  # the warm-up asks each question once
                break
            number %= len(pairs)
            sent = time.perf_counter()
            writing.write(requests[number])
            head = await reading.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", head)
            assert length, head
            body = await reading.readexactly(int(length[1]))
            took = time.perf_counter() - sent
            responses.append(Response(number, int(head[9:12]), body, took))
        writing.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return responses, time.perf_counter() - began


def request(question: str, passage: str) -> bytes:
    body = json.dumps({"question": question, "passage": passage}).encode()
    head = (
        "POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def processor_seconds(process: int) -> float:
    """Processor seconds that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
