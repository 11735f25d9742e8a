"""Damaged HTTP messages: each is answered, or its connection ends, soon; nothing is logged."""

import json
import re
import select
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from damage import MEBIBYTES, SECONDS, THOROUGH, altered, damaged
from fabir.answer.predictor import Predictor
from factories import ABBEY
from serving import Running, running

ASKED = {"question": "When was the abbey founded?", "passage": ABBEY, "top_k": 2, "threshold": 0}
SILENCE = 2 if THOROUGH else 0.3  # seconds
PREDICTOR = Predictor.load()


def message(body: bytes, path: str = "/answer", *more: str) -> bytes:
    head = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *more]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


BODY = json.dumps(ASKED).encode()
CHUNKED = (
    b"POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n" + f"{len(BODY):x}\r\n".encode() + BODY + b"\r\n0\r\n\r\n"
)
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\nCookie: a=b\r\n\r\n"
WHOLE = [
    message(BODY),
    message(BODY, "/ask", "Expect: 100-continue", "Connection: close"),
    message(BODY, "/answer", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"),
    CHUNKED,
    GET,
    GET + message(BODY),
]
MESSAGES = st.one_of(
    st.sampled_from(WHOLE).flatmap(damaged),
    altered(ASKED).map(lambda each: message(json.dumps(each).encode())),
)


def exchange(address: tuple[str, int], content: bytes) -> bytes:
    """Send a message; returns the first response. If none comes, the service waits for more: then
    it is told that there is none, and must end the connection."""
    found = b""
    with (
        socket.create_connection(address, timeout=SECONDS) as connection,
        suppress(ConnectionError),  # the service may have refused it, and left
    ):
        connection.sendall(content)
        while not complete(found):
            if not select.select([connection], [], [], SILENCE)[0]:
                connection.shutdown(socket.SHUT_WR)
            part = connection.recv(1 << 16)
            if not part:
                break
            found += part
    return found


def complete(response: bytes) -> bool:
    """Whether all of a response has come."""
    head, end, body = response.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and length is not None and len(body) >= int(length[1])


def check(sent: bytes, found: bytes) -> None:
    """The first response is HTTP; answers are those of the predictor."""
    event(found[9:12].decode() or "ended")
    assert not found or re.match(rb"HTTP/1\.1 [1-5]\d\d ", found)
    assert b" 500 " not in found[:20]
    head, _, body = found.partition(b"\r\n\r\n")
    if b"HTTP/1.1 200" in head and body.startswith(b'{"answers"'):
        check_answers(sent, json.loads(body))


def check_answers(sent: bytes, found: dict[str, Any]) -> None:
    text = sent.partition(b"\r\n\r\n")[2]
    try:
        asked = json.JSONDecoder().raw_decode(text[text.index(b"{") :].decode("utf-8", "replace"))[
            0
        ]
    except ValueError:  # its pieces are not as long as they say, or it is the second message
        return
    pair = asked["question"], asked["passage"]
    (reading,) = PREDICTOR.read_all([pair], asked.get("top_k", 1))
    given = PREDICTOR.given(reading, asked.get("threshold"))
    assert [each["text"] for each in found["answers"]] == [each.text for each in given]


def memory(service: Running) -> int:
    """The most memory that it has had, in MiB; 0 where that cannot be known."""
    status = Path(f"/proc/{service.process.pid}/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) >> 10 if found else 0


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """That of a service which in the end has used little memory, answers right and logs nothing."""
    with running() as service:
        host, port = service.url.removeprefix("http://").split(":")
        yield host, int(port)
        assert memory(service) < MEBIBYTES
        assert b'"text":"1082"' in exchange((host, int(port)), message(BODY))
        service.process.terminate()
        assert service.process.wait(60) == 0
        assert service.process.stderr is not None
        assert service.process.stderr.read() == ""


@pytest.mark.slow
@given(content=MESSAGES)
def test_damaged_messages(address: tuple[str, int], content: bytes) -> None:
    check(content, exchange(address, content))
