"""Nothing phones home: what answers leaves nothing in the home folder, and calls nobody."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from factories import ABBEY
from serving import running

ASKED = {"question": "When was the abbey founded?", "passage": ABBEY}
REPORTED = 12.0  # seconds after which ONNX Runtime has reported where it may: after 9, seen in 1.32


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (home := tmp_path / "home").mkdir()
    return home


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return environment_at(home)


def environment_at(home: Path) -> dict[str, str]:
    """That of a user who has said nothing. The process of the tests has imported fabir itself."""
    said = ("XDG_", "ORT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(said)}
    return {**kept, "HOME": str(home)}


def traced(file: Path) -> list[str]:
    """What to start a command under, so that whom it calls is written to `file`."""
    calls = "trace=connect,sendto,sendmsg,sendmmsg"  # not what answers a caller: no address there
    return ["strace", "-D", "-f", "-e", calls, "-o", str(file)]


def called(file: Path, process: int) -> list[str]:
    """The traced calls with an address, of the process that ended, its threads and children."""
    ending = f"{process} +++ exited with 0 +++"
    latest = time.monotonic() + 10
    while True:  # the tracer may end a little later
        lines = [" ".join(line.split()) for line in file.read_text().splitlines()]
        if ending in lines:
            return [line for line in lines if "sa_family=" in line]
        assert time.monotonic() < latest, f"no line '{ending}' in {lines}"
        time.sleep(0.1)


def can_trace() -> bool:
    if not shutil.which("strace"):
        return False
    return subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode == 0


needs_trace = pytest.mark.skipif(
    not can_trace(), reason="strace, which sees calls, is missing or not allowed"
)


def test_answering_leaves_nothing_at_home(home: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "fabir", "answer", ASKED["question"], "--passage", "-"]
    done = subprocess.run(
        command, input=ABBEY, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout == "1082\n"
    assert list(home.rglob("*")) == []


def test_a_library_leaves_nothing_at_home(home: Path, environment: dict[str, str]) -> None:
    program = f"import fabir; print(fabir.Predictor.load().answer(**{ASKED!r})[0].text)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "1082\n"
    assert list(home.rglob("*")) == []


@pytest.mark.slow
def test_serving_leaves_nothing_at_home(home: Path, environment: dict[str, str]) -> None:
    with running(environment=environment) as service:
        httpx.post(f"{service.url}/answer", json=ASKED, timeout=60).raise_for_status()
    assert list(home.rglob("*")) == []


PROGRAM = f"""
import os, time
from fabir import Predictor
Predictor.load().answer(**{ASKED!r})
time.sleep({REPORTED})
print(os.getpid())
"""


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The calls of a library and of a service, which run at the same time: they mostly wait."""
    folder = tmp_path_factory.mktemp("traced")
    environment = environment_at(folder)
    library, serving = folder / "library", folder / "serving"
    command = [*traced(library), sys.executable, "-c", PROGRAM]
    with (
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as program,
        running(environment=environment, under=traced(serving)) as service,
    ):
        httpx.post(f"{service.url}/answer", json=ASKED, timeout=60).raise_for_status()
        time.sleep(REPORTED)
        process, _ = program.communicate()
        assert program.returncode == 0
    return {
        "library": called(library, int(process)),
        "serving": called(serving, service.process.pid),
    }


@pytest.mark.slow
@needs_trace
@pytest.mark.parametrize("who", ["library", "serving"])
def test_nobody_is_called(calls: dict[str, list[str]], who: str) -> None:
    assert calls[who] == []
