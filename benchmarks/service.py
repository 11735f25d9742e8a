"""Speed, correctness and memory of `fabir serve` with many clients at a time.

    python benchmarks/service.py --data dev-v1.1.json [--reader DIR] [--clients 64] [--seconds 60] \
        [--requests N] [--questions 3000] [--in-order] [--index DIR] [--bad 16] [--output FILE]

The service runs in a new process; this process asks it over loopback. Each client has a connection,
and asks its next question when it has the answer to the last. Before and after, one call answers
the same questions offline. That gives the answers and the rate to compare with. Questions are
shuffled, so a batch rarely has two about one passage; `--in-order` keeps the order of the file. The
clients use processor time too, which is printed.

`--requests` ends it after so many requests. With `--index` every second request goes to /ask, and
is compared with what the index answers offline. `--bad` clients send damaged requests meanwhile,
and leave.
"""

import argparse
import asyncio
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count, cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from answering import Pairs, load_pairs

from fabir import Predictor, __version__, tune_process

WARM_UP = 300  # questions
MARKS = 1_000, 5_000, 10_000, 20_000, 50_000  # responses after which memory is measured
HEAD = b"POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
BAD = [
    b"\0\xff nothing\r\n\r\n",
    HEAD + b'Content-Length: 99\r\n\r\n{"question',
    HEAD + b"Content-Length: -5\r\n\r\n",
    HEAD + b"Content-Length: 9\r\n\r\n" + b"not JSON!",
    HEAD + b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000,
    HEAD + b"Content-Length: 9999999\r\n\r\n" + b"a" * 2_000_000,
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
    GET + b"X: " + b"a" * 100_000,
    GET + b"x: a\r\n" * 200 + b"\r\n",
    (GET + b"\r\n") * 2 + b"\0\xff" * 99,
]

Answered = list[tuple[str, int, int]]


class Asked(NamedTuple):
    """A request, and where its answers stand offline."""

    message: bytes
    expected: Answered


class Response(NamedTuple):
    number: int  # of the request
    status: int
    body: bytes
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--requests", type=int, help="in place of --seconds")
    parser.add_argument("--questions", type=int, default=3000, help="asked again and again")
    parser.add_argument("--in-order", action="store_true")
    parser.add_argument("--index", type=Path)
    parser.add_argument("--bad", type=int, default=0)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    tune_process()
    pairs = load_pairs(options.data)
    if not options.in_order:
        random.Random(0).shuffle(pairs)
    pairs = pairs[: options.questions]
    predictor = Predictor.load(options.reader)
    list(predictor.answer_all(pairs[:WARM_UP]))
    before, expected = offline(predictor, pairs)
    asked = [Asked(request(*pair), found) for pair, found in zip(pairs, expected, strict=True)]
    if options.index:
        asked[1::2] = ask_requests(options.index, predictor, pairs[1::2])
    server, address = start(options.reader, options.index)
    memory: dict[str, int] = {}

    def measure(responses: int) -> None:
        if responses in MARKS:
            memory[f"memory after {responses} requests, MB"] = resident(server.pid)

    seconds = math.inf if options.requests else options.seconds
    most = options.requests or sys.maxsize
    try:
        asyncio.run(load(address, asked, options.clients, math.inf, WARM_UP))
        used = time.process_time(), processor_seconds(server.pid)
        load_them = load(address, asked, options.clients, seconds, most, options.bad, measure)
        responses, bad, took = asyncio.run(load_them)
        mine = time.process_time() - used[0]
        its = processor_seconds(server.pid) - used[1]
    finally:
        server.terminate()
        code = server.wait(60)
    assert server.stderr is not None
    after, _ = offline(predictor, pairs)
    answered = [each for each in responses if each.status == 200]
    wrong = [each for each in answered if places(each.body) != asked[each.number].expected]
    times = 1e3 * np.array([response.seconds for response in responses])
    report: dict[str, Any] = {
        "fabir": __version__,
        "clients": options.clients,
        "order": "of the file" if options.in_order else "shuffled",
        "requests": len(responses),
        "errors": len(responses) - len(answered),
        "wrong answers": len(wrong),
        "damaged requests of bad clients": bad,
        "lines that the service logged": len(server.stderr.readlines()),
        "p50, ms": float(np.quantile(times, 0.5)),
        "p95, ms": float(np.quantile(times, 0.95)),
        "longest, ms": float(times.max()),
        "requests/s": len(responses) / took,
        "offline, questions/s, before": before,
        "offline, questions/s, after": after,
        "share of offline, %": 100 * len(responses) / took / ((before + after) / 2),
        "processor time a request, service, ms": 1e3 * its / len(responses),
        "processor time a request, clients, ms": 1e3 * mine / len(responses),
        **memory,
        "exit code after SIGTERM": code,
    }
    for name, value in report.items():
        print(f"{name:<40}{value:>12.1f}" if isinstance(value, float) else f"{name:<40}{value:>12}")
    for each in wrong[:5]:
        print(asked[each.number].message[-300:], places(each.body), asked[each.number].expected)
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def offline(predictor: Predictor, pairs: Pairs) -> tuple[float, list[Answered]]:
    """Questions per second in one call, and where each question's answers stand."""
    predictor.forget()
    began = time.perf_counter()
    answers = list(predictor.answer_all(pairs))
    rate = len(pairs) / (time.perf_counter() - began)
    return rate, [[("", each.start, each.end) for each in found] for found in answers]


def ask_requests(index: Path, predictor: Predictor, pairs: Pairs) -> list[Asked]:
    """Requests to /ask with the questions of `pairs`."""
    from fabir.search.asker import Asker
    from fabir.search.index import Index

    asker = Asker(Index.open(index), predictor)
    asked = []
    for question, _ in pairs:
        found = asker.ask(question, 1)
        message = post("/ask", question=question, top_k=1)
        asked.append(Asked(message, [(each.document, each.start, each.end) for each in found]))
    return asked


def places(body: bytes) -> Answered:
    """The document of each answer, if there is one, and its offsets."""
    found = json.loads(body)["answers"]
    return [(each.get("document", ""), each["start"], each["end"]) for each in found]


def start(
    reader: Path | None, index: Path | None = None
) -> tuple[subprocess.Popen[str], tuple[str, int]]:
    command = [sys.executable, "-m", "fabir", "serve", "--port", "0"]
    command += ["--reader", str(reader)] if reader else []
    command += ["--index", str(index)] if index else []
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    line = server.stderr.readline()
    found = re.search(r"http://([\d.]+):(\d+)", line)
    if not found:
        sys.exit(f"the service did not start: {line}")
    return server, (found[1], int(found[2]))


async def load(
    address: tuple[str, int],
    asked: list[Asked],
    clients: int,
    seconds: float,
    most: int,
    bad: int = 0,
    measure: Callable[[int], None] = lambda responses: None,
) -> tuple[list[Response], int, float]:
    """All responses, the number of damaged requests, and the seconds until the last response.

    Args:
        seconds: until no more is asked
        most: requests
        bad: clients that send damaged requests
        measure: gets the number of responses so far
    """
    responses: list[Response] = []
    numbers = count()
    sent_badly = count()
    began = time.perf_counter()

    async def client() -> None:
        reading, writing = await asyncio.open_connection(*address)
        while time.perf_counter() < began + seconds and (number := next(numbers)) < most:
            sent = time.perf_counter()
            writing.write(asked[number % len(asked)].message)
            status, body = await response(reading)
            took = time.perf_counter() - sent
            responses.append(Response(number % len(asked), status, body, took))
            measure(len(responses))
        writing.close()

    done = asyncio.Event()
    disturbing = [asyncio.create_task(disturb(address, sent_badly, done)) for _ in range(bad)]
    await asyncio.gather(*(client() for _ in range(clients)))
    took = time.perf_counter() - began
    done.set()
    await asyncio.gather(*disturbing)
    return responses, next(sent_badly), took


async def disturb(address: tuple[str, int], sent: "count[int]", done: asyncio.Event) -> None:
    """Send damaged requests, and leave before or after the response, until the others are done."""
    for number, message in enumerate(cycle(BAD)):
        if done.is_set():
            break
        with suppress(OSError, TimeoutError):
            reading, writing = await asyncio.open_connection(*address)
            try:
                writing.write(message)
                next(sent)
                if number % 3:
                    await asyncio.wait_for(reading.read(1_000), 0.5)
            finally:
                writing.transport.abort()
        await asyncio.sleep(0)


async def response(reading: asyncio.StreamReader) -> tuple[int, bytes]:
    """The status and body of a response."""
    head = await reading.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    assert length, head
    return int(head[9:12]), await reading.readexactly(int(length[1]))


def request(question: str, passage: str) -> bytes:
    return post("/answer", question=question, passage=passage)


def post(path: str, **content: Any) -> bytes:
    body = json.dumps(content).encode()
    return HEAD.replace(b"/answer", path.encode()) + b"Content-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


def processor_seconds(process: int) -> float:
    """Processor seconds that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(process: int) -> int:
    """Memory of a process (RSS) in MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


if __name__ == "__main__":
    main()
