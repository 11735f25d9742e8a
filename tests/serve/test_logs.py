"""The access log of every request: where, how and how long, nothing of what was asked."""

import asyncio
import json
import logging
import os
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.serve.app import create_app
from fabir.serve.logs import configure_logs
from factories import ABBEY, small_reader
from serving import running, talk

ASKED = {"question": "When was the abbey founded?", "passage": ABBEY}


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor(small_reader())


def test_every_request_is_logged(predictor: Predictor, caplog: pytest.LogCaptureFixture) -> None:
    async def call(client: httpx.AsyncClient) -> None:
        await client.post("/answer", json=ASKED)
        await client.get("/a%0Ab?secret=1")
        await client.get("/health", headers={"host": "evil.example"})

    with caplog.at_level(logging.INFO, "fabir.access"):
        talk(predictor, call, allowed_hosts=["test"])
    assert [record.getMessage() for record in caplog.records] == [
        "POST /answer 200",
        "GET /a%0Ab 404",
        "GET /health 421",
    ]
    assert all(vars(record)["client"] == "127.0.0.1" for record in caplog.records)
    assert all(vars(record)["milliseconds"] >= 0 for record in caplog.records)


def test_no_client_writes_into_the_log(
    predictor: Predictor, caplog: pytest.LogCaptureFixture
) -> None:
    """Behind some proxies it names its own address."""
    clients = "::1", '10.0.0.9 "POST /answer" 200\x85\n\x9b2J'

    async def call(name: str) -> None:
        transport = httpx.ASGITransport(create_app(predictor), client=(name, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            await client.get("/health")

    with caplog.at_level(logging.INFO, "fabir.access"):
        for name in clients:
            asyncio.run(call(name))
    first, second = (vars(record)["client"] for record in caplog.records)
    assert first == "::1"
    assert second.startswith("10.0.0.9%20%22POST%20")
    assert second.isprintable()


@pytest.mark.parametrize("given", ["7f3a-b", "Root=1:a.b/c+d@e_f", "x" * 128])
def test_the_id_of_a_request_is_kept(predictor: Predictor, given: str) -> None:
    found = talk(predictor, lambda client: client.get("/health", headers={"x-request-id": given}))
    assert found.headers.get_list("x-request-id") == [given]


@pytest.mark.parametrize("given", [None, "", "a b", "x" * 129, '"', "a{b}", b"\xff", "a;b"])
def test_another_id_is_made(predictor: Predictor, given: str | bytes | None) -> None:
    headers: Any = {} if given is None else {"x-request-id": given}
    for path in "/health", "/nowhere":
        found = talk(predictor, lambda client, path=path: client.get(path, headers=headers))
        assert re.fullmatch("[0-9a-f]{32}", found.headers["x-request-id"])


def test_there_are_two_formats() -> None:
    with pytest.raises(InputError, match="no log format 'xml': choose text or json"):
        configure_logs("xml")


def logged(tmp_path: Path, *arguments: str) -> tuple[list[str], list[str]]:
    """The lines of stdout and stderr after a question and a bad path."""
    with (tmp_path / "log").open("w") as file, running(*arguments, stdout=file) as service:
        headers = {"x-request-id": "its-id"}
        url = f"{service.url}/answer"
        assert httpx.post(url, json=ASKED, headers=headers, timeout=60).status_code == 200
        assert httpx.get(f"{service.url}/nowhere", timeout=60).status_code == 404
        service.process.terminate()
        assert service.process.wait(60) == 0
        assert service.process.stderr is not None
        errors = service.process.stderr.read().splitlines()
    return (tmp_path / "log").read_text().splitlines(), errors


@pytest.mark.slow
def test_the_log_is_text(tmp_path: Path) -> None:
    (answered, missed), errors = logged(tmp_path)
    line = r'\S+ \S+ 127\.0\.0\.1 "POST /answer" 200 [\d.]+ ms its-id'
    assert re.fullmatch(line, answered)
    assert '"GET /nowhere" 404' in missed
    assert errors == []


@pytest.mark.slow
def test_the_log_is_json(tmp_path: Path) -> None:
    # The line that says where it listens is JSON too, and has the address that `running` looks for.
    lines, errors = logged(tmp_path, "--log-format", "json")
    answered, missed = map(json.loads, lines)
    assert answered.pop("time") < missed.pop("time")
    assert answered.pop("milliseconds") > 0
    assert answered == {
        "level": "INFO",
        "logger": "fabir.access",
        "message": "POST /answer 200",
        "client": "127.0.0.1",
        "method": "POST",
        "path": "/answer",
        "status": 200,
        "request_id": "its-id",
    }
    assert errors == []


@pytest.mark.slow
def test_there_may_be_no_access_log(tmp_path: Path) -> None:
    assert logged(tmp_path, "--no-access-log") == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("full", [True, False])
def test_a_log_that_cannot_be_written_stops_nothing(full: bool) -> None:
    """A full disk, and a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    with open("/dev/full" if full else writing, "w") as stdout, running(stdout=stdout) as service:
        for _ in range(3):
            found = httpx.post(f"{service.url}/answer", json=ASKED, timeout=60)
            assert found.status_code == 200
        service.process.terminate()
        service.process.wait(60)
        assert service.process.stderr is not None
        assert "Traceback" not in service.process.stderr.read()
