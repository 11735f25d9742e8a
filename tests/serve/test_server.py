"""Reloading at a signal, in a process of its own."""

import json
import os
import pty
import re
import select
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from fabir.runtime.locate import BUNDLED, BUNDLED_MODELS
from fabir.runtime.store import copy_model
from fabir.search.index import Index
from factories import ABBEY
from serving import Running, running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signal"),
]
ASKED = {"question": "When was the abbey founded?", "passage": ABBEY}


def reload(service: Running) -> str:
    """The line that says how the reload went."""
    service.process.send_signal(signal.SIGHUP)
    assert service.process.stderr is not None
    return service.process.stderr.readline()


def asked(service: Running, path: str, token: str, **content: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.post(f"{service.url}{path}", json=content, headers=headers, timeout=60)


def index_of(text: str, folder: Path) -> Path:
    (documents := folder / "documents").mkdir(parents=True)
    (documents / "mill.txt").write_text(text)
    Index.build([documents], folder / "index")
    return folder / "index"


def test_model_index_and_tokens_are_read_again(tmp_path: Path) -> None:
    model, index, tokens = (tmp_path / name for name in ("model", "index", "tokens"))
    copy_model(BUNDLED, model)
    shutil.copytree(index_of("The mill was built by Ada Quist.", tmp_path / "first"), index)
    tokens.write_text("old")
    sources = "--reader", model, "--index", index, "--token-file", tokens
    with running(*sources) as service:
        before = asked(service, "/answer", "old", **ASKED).json()
        shutil.rmtree(model)
        copy_model(BUNDLED_MODELS / "accurate", model)
        shutil.rmtree(index)
        shutil.copytree(index_of("The mill was built by Ida Strand.", tmp_path / "second"), index)
        tokens.write_text("old\nnew")
        assert reload(service) == "reloaded\n"
        after = asked(service, "/answer", "new", **ASKED).json()
        assert before["answers"][0]["text"] == after["answers"][0]["text"] == "1082"
        assert before["no_answer"] != after["no_answer"]
        found = asked(service, "/ask", "old", question="Who built the mill?", threshold=0).json()
        assert found["answers"][0]["text"] == "Ida Strand"
        # What is broken changes nothing.
        config = (model / "config.json").read_text()
        (model / "config.json").write_text("{")
        assert reload(service).startswith("not reloaded, all stays as it was: ")
        (model / "config.json").write_text(config)
        tokens.write_text("")
        assert "has no token" in reload(service)
        assert asked(service, "/answer", "new", **ASKED).json() == after
        sent = {"authorization": "Bearer new"}
        metrics = httpx.get(f"{service.url}/metrics", headers=sent, timeout=60).text
        assert 'fabir_reloads_total{result="done"} 1.0' in metrics
        assert 'fabir_reloads_total{result="failed"} 2.0' in metrics
        service.process.terminate()
        assert service.process.wait(60) == 0


def test_requests_go_on_while_it_reloads() -> None:
    with running() as service:
        for _ in range(5):
            service.process.send_signal(signal.SIGHUP)
            for _ in range(5):
                assert asked(service, "/answer", "any", **ASKED).status_code == 200
        service.process.terminate()
        assert service.process.wait(60) == 0
        assert service.process.stderr is not None
        assert set(service.process.stderr.read().splitlines()) <= {"reloaded"}


def test_it_ends_with_its_terminal() -> None:
    """A terminal that is closed sends the same signal."""
    command = [sys.executable, "-m", "fabir", "serve", "--port", "0"]
    process, terminal = pty.fork()
    if process == 0:
        os.execv(command[0], command)
    said = b""
    while not (address := re.search(rb"http://\S+(?=;)", said)):
        assert select.select([terminal], [], [], 60)[0]
        said += os.read(terminal, 1_000)
    assert httpx.get(f"{address[0].decode()}/health", timeout=60).status_code == 200
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0, said


def test_a_log_of_json_says_that_it_reloads() -> None:
    with running("--log-format", "json") as service:
        assert asked(service, "/answer", "any", **ASKED).status_code == 200
        assert json.loads(reload(service))["message"] == "reloaded"
