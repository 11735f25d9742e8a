"""What a client sends over its connection, byte by byte, to a service in a process of its own."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPResponse

import pytest

from factories import ABBEY
from serving import Running, running

BODY = json.dumps({"question": "When was the abbey founded?", "passage": ABBEY}).encode()
SIZED = f"Content-Length: {len(BODY)}\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"
CHUNKS = b"9\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (BODY[:9], len(BODY[9:]), BODY[9:])
H2C = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQC\r\n"
WEBSOCKET = "Upgrade: websocket\r\nConnection: keep-alive, upgrade\r\n"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    """In the end it has logged nothing."""
    with running() as service:
        yield service
        service.process.terminate()
        assert service.process.wait(60) == 0
        assert service.process.stderr is not None
        assert service.process.stderr.read() == ""


@pytest.fixture
def connection(service: Running) -> Iterator[socket.socket]:
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection


def head(headers: str, asked: str = "POST /answer HTTP/1.1") -> bytes:
    return f"{asked}\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\r\n".encode()


def answer(connection: socket.socket) -> tuple[int, str]:
    """The status of the next response, and its first answer."""
    response = HTTPResponse(connection)
    response.begin()
    return response.status, json.loads(response.read())["answers"][0]["text"]


@pytest.mark.parametrize("framing", [SIZED, CHUNKED])
@pytest.mark.parametrize("upgrade", [H2C, WEBSOCKET])
def test_an_upgrade_is_ignored_and_the_connection_goes_on(
    connection: socket.socket, upgrade: str, framing: str
) -> None:
    sent = head(upgrade + framing), BODY if framing is SIZED else CHUNKS
    whole = b"".join(sent)
    for parts in (
        [whole],
        sent,
        [whole[:70], whole[70:-20], whole[-20:]],
        [head(framing), sent[1]],
        [whole[place : place + 1] for place in range(len(whole))],
    ):
        for number, part in enumerate(parts):
            time.sleep(0.05 if 0 < number < 3 else 0)  # a packet of its own
            connection.sendall(part)
        assert answer(connection) == (200, "1082")


def test_of_requests_sent_at_once_each_may_ask_to_upgrade(connection: socket.socket) -> None:
    sized, chunked = head(H2C + SIZED) + BODY, head(WEBSOCKET + CHUNKED) + CHUNKS
    last = head("Connection: close\r\n" + SIZED) + BODY
    connection.sendall(sized + chunked + head(H2C, "GET /health HTTP/1.1") + sized + last)
    found = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert found.count(b"HTTP/1.1 200 OK") == 5
    assert found.count(b'"text":"1082"') == 4


@pytest.mark.parametrize(
    "sent",
    [
        head("Upgrade: h2c\r\nConnection: close, upgrade\r\n" + SIZED),
        head(H2C + SIZED, "POST /answer HTTP/1.0"),
    ],
)
def test_a_connection_that_asks_to_upgrade_may_be_for_one_request(
    connection: socket.socket, sent: bytes
) -> None:
    connection.sendall(sent)
    time.sleep(0.05)
    connection.sendall(BODY)
    assert answer(connection) == (200, "1082")
    assert connection.recv(1) == b""


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (head(H2C + "".join(f"x{n}: a\r\n" for n in range(100))), b" 431 "),
        (head(H2C + CHUNKED) + b"zz\r\n", b" 400 "),
        (head(H2C, "CONNECT a.example:80 HTTP/1.1"), b" 400 "),
    ],
)
def test_a_request_that_asks_to_upgrade_has_the_limits_of_all(
    connection: socket.socket, sent: bytes, status: bytes
) -> None:
    connection.sendall(sent)
    found = b""
    with suppress(ConnectionError):
        found = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert status in found[:20]
