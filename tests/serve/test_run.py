"""The service as it is started and stopped: in a process of its own, over a real connection."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from calling import refused
from fabir.serve.run import address_of, allowed_hosts, listen
from factories import ABBEY
from serving import Running, running

ASKED = {"question": "When was the abbey founded?", "passage": ABBEY}
# Sends the signals at the first import that takes long.
SIGNALS_WHILE_IT_STARTS = """
import os, signal, sys
class Watch:
    def find_spec(self, name, *_):
        if name in ("fastapi", "numpy", "onnxruntime", "uvicorn"):
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.{how})
            raise SystemExit("the signals did nothing")
sys.meta_path.insert(0, Watch())
from fabir.cli import main
main(["serve", "--port", "0"])
"""


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """This process gets its handlers of signals back."""
    all_signals = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    handlers = {each: signal.getsignal(each) for each in all_signals}
    yield
    for each, handler in handlers.items():
        if signal.getsignal(each) != handler:
            signal.signal(each, handler)


def test_what_cannot_be_served_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert refused(capsys, "serve", "--port", port).endswith("in use\n")
    for port in 80_000, -1:
        line = f"fabir serve: --port {port} is no port: choose one from 0 to 65535\n"
        assert refused(capsys, "serve", "--port", port) == line
    assert "--host: it is empty" in refused(capsys, "serve", "--host", "")
    assert "no name of a host" in refused(capsys, "serve", "--host", "é..b")
    assert "cannot listen on no-such-host" in refused(capsys, "serve", "--host", "no-such-host")
    assert "config.json" in refused(capsys, "serve", "--port", 0, "--reader", tmp_path)
    assert "from 0 to 1" in refused(capsys, "serve", "--port", 0, "--threshold", 7)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "fabir.serve.server", raising=False)
    assert "pip install 'fabir[serve]'" in refused(capsys, "serve", "--port", 0)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signal")
@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT"])
def test_while_it_starts_it_can_be_stopped_and_ignores_a_reload(how: str) -> None:
    command = [sys.executable, "-c", SIGNALS_WHILE_IT_STARTS.format(how=how)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_addresses_of_both_kinds_are_said() -> None:
    with listen("127.0.0.1", 0) as listening:
        assert address_of(listening).startswith("http://127.0.0.1:")
    if socket.has_dualstack_ipv6():
        with listen("::1", 0) as listening:
            assert address_of(listening).startswith("http://[::1]:")


def test_other_hosts_are_known_only_if_other_computers_are_listened_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with listen("127.0.0.1", 0) as own, listen("0.0.0.0", 0) as every:
        assert allowed_hosts(own, []) == []
        assert allowed_hosts(every, []) is None
        for listening in own, every:
            assert allowed_hosts(listening, ["a.example"]) == ["a.example"]
    for name in "https://a.example", "a.example:8000":
        assert "no name of a host" in refused(capsys, "serve", "--allow-host", name)


def test_origins_and_paths_that_cannot_be_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for origin in "a.example", "https://a.example/", "ftp://a.example":
        assert "is no origin" in refused(capsys, "serve", "--cors", origin)
    for path in "qa", "/qa/", "/qa?a", "https://a.example/qa":
        assert "is no path" in refused(capsys, "serve", "--root-path", path)


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running() as service:
        yield service


@pytest.mark.slow
def test_another_sites_name_is_not_this_computers(service: Running) -> None:
    for host, status in ("evil.example", 421), ("localhost", 200):
        found = httpx.post(f"{service.url}/answer", json=ASKED, headers={"host": host}, timeout=60)
        assert found.status_code == status


@pytest.mark.slow
def test_a_proxy_may_take_a_path_off() -> None:
    with running("--root-path", "/qa") as service:
        assert httpx.get(f"{service.url}/health", timeout=60).status_code == 200
        schema = httpx.get(f"{service.url}/openapi.json", timeout=60).json()
        assert schema["servers"] == [{"url": "/qa"}]


@pytest.mark.slow
def test_its_threshold_is_that_of_requests_without_one() -> None:
    with running("--threshold", "1") as service:
        for asked, given in (ASKED, False), ({**ASKED, "threshold": 0}, True):
            found = httpx.post(f"{service.url}/answer", json=asked, timeout=60).json()
            assert bool(found["answers"]) == (found["best_guess"] is None) == given


@pytest.mark.slow
def test_it_answers_without_torch(service: Running) -> None:
    found = httpx.post(f"{service.url}/answer", json=ASKED, timeout=60)
    assert [each["text"] for each in found.json()["answers"]] == ["1082"]
    libraries = Path(f"/proc/{service.process.pid}/maps")
    if libraries.exists():
        assert "torch" not in libraries.read_text()


@pytest.mark.slow
def test_hostile_bodies_do_not_disturb_it(service: Running) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    for sent in (
        b"\x00\xff\xfe nothing\r\n\r\n",
        b"POST /answer HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{",  # and leaves
        b"POST /answer HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
        b"GET /%ff%00/../.. HTTP/1.1\r\nHost: a\r\n\r\n",
    ):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(sent)
    large = httpx.post(f"{service.url}/answer", content=b"a" * 10_000_000, timeout=60)
    assert large.status_code == 413
    assert httpx.post(f"{service.url}/answer", json=ASKED, timeout=60).status_code == 200


@pytest.mark.slow
def test_heads_that_are_too_large_are_refused(service: Running) -> None:
    for headers in {"x": "a" * 70_000}, {f"x{n}": "a" for n in range(200)}:
        found = httpx.post(f"{service.url}/answer", json=ASKED, headers=headers, timeout=60)
        assert found.status_code == 431
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as endless:
        endless.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ")
        with suppress(ConnectionError):
            for _ in range(100):
                endless.sendall(b"a" * 10_000)
            assert b" 431 " in endless.recv(100)
    assert httpx.post(f"{service.url}/answer", json=ASKED, timeout=60).status_code == 200


@pytest.mark.slow
def test_idle_connections_shut_nobody_out_and_nothing_is_logged() -> None:
    with running() as service:
        host, port = service.url.removeprefix("http://").split(":")
        connections = [socket.create_connection((host, int(port))) for _ in range(1_050)]
        try:
            for number, each in enumerate(connections):
                with suppress(ConnectionError):
                    each.sendall(b"GET / HTTP/1.1\r\nHost:" if number % 2 else b"")
            answer = httpx.post(f"{service.url}/answer", json=ASKED, timeout=60)
            assert answer.status_code == 200
            assert httpx.get(f"{service.url}/health", timeout=60).status_code == 200
        finally:
            for each in connections:
                each.close()
        for _ in range(3):  # two requests at once, and then no request
            with socket.create_connection((host, int(port))) as garbage:
                garbage.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2 + b"\0\xff" * 99)
                with suppress(ConnectionError):
                    garbage.recv(10_000)
        service.process.terminate()
        assert service.process.wait(60) == 0
        assert service.process.stderr is not None
        assert service.process.stderr.read() == ""


@pytest.mark.slow
def test_clients_that_send_two_requests_and_leave_are_not_logged() -> None:
    body = json.dumps(ASKED)
    head = "POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    both = f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode() * 2
    with running() as service:
        host, port = service.url.removeprefix("http://").split(":")
        for _ in range(5):
            with socket.create_connection((host, int(port))) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.sendall(both)
                time.sleep(0.01)  # they are being answered
        assert httpx.post(f"{service.url}/answer", json=ASKED, timeout=60).status_code == 200
        service.process.terminate()
        assert service.process.wait(60) == 0
        assert service.process.stderr is not None
        assert service.process.stderr.read() == ""


@pytest.mark.slow
def test_a_head_or_body_that_does_not_come_is_not_waited_for(service: Running) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    head = b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
    with (
        socket.create_connection((host, int(port)), timeout=60) as half,
        socket.create_connection((host, int(port)), timeout=60) as bodiless,
    ):
        half.sendall(b"GET /health HTTP/1.1\r\nHost:")
        bodiless.sendall(head)
        assert b" 404 " in bodiless.recv(10_000)
        time.sleep(0.1)
        bodiless.sendall(b"a")  # its answer has come, its body will not
        assert half.recv(10) == b""
        while bodiless.recv(10_000):  # the rest of the answer, and then the end
            pass


@pytest.mark.slow
def test_listening_to_other_computers_is_said() -> None:
    with running("--host", "0.0.0.0") as service:
        assert service.process.stderr is not None
        assert "other computers can ask too" in service.process.stderr.readline()


@pytest.mark.slow
def test_its_first_lines_say_whether_it_needs_a_token_and_what_it_ignores() -> None:
    mistyped = {"FABIR_TOKENFILE": "x", "FABIR_TOKEN": "a-token"}
    command = [sys.executable, "-m", "fabir", "serve", "--port", "0"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, **mistyped}
    ) as process:
        assert process.stderr is not None
        assert "; requests need a token; Ctrl+C stops it\n" in process.stderr.readline()
        ignored = process.stderr.readline()
        assert ignored.startswith("no variable of fabir serve, so ignored: FABIR_")
        assert "FABIR_TOKENFILE" in ignored
        process.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_what_was_asked_before_it_stops_is_answered(how: signal.Signals) -> None:
    """Much work is under way when it is told to stop."""
    long = {"question": "When was the abbey founded?", "passage": (ABBEY + " ") * 500}
    found: list[httpx.Response] = []
    with running() as service:
        httpx.post(f"{service.url}/answer", json=ASKED, timeout=60)
        asking = [
            threading.Thread(
                target=lambda: found.append(
                    httpx.post(f"{service.url}/answer", json=long, timeout=60)
                )
            )
            for _ in range(3)
        ]
        for each in asking:
            each.start()
        all_arrived = 'fabir_requests_in_progress{path="/answer"} 3.0'
        while all_arrived not in httpx.get(f"{service.url}/metrics").text:
            assert all(each.is_alive() for each in asking), "one is answered: ask for more"
            time.sleep(0.01)
        service.process.send_signal(how)
        for each in asking:
            each.join()
        assert service.process.wait(60) == 0
        assert service.process.stderr is not None
        assert service.process.stderr.read() == ""
    assert [each.status_code for each in found] == [200] * 3
    assert json.loads(found[0].content)["answers"][0]["text"]


def test_help_does_not_wait_for_fastapi() -> None:
    code = (
        "import sys\nfrom fabir.cli import main\n"
        "try: main(['serve', '--help'])\nexcept SystemExit: pass\n"
        "assert not {'fastapi', 'uvicorn', 'numpy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
