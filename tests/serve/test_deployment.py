"""The files that deploy the service: those for a container, a proxy and systemd.

Building the image needs a docker that runs, and the network.
"""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabir.cli import main

ROOT = Path(__file__).parents[2]
FILES = "Dockerfile", "compose.yaml", "deploy/fabir.service", "docs/deployment.md"
ASK = """
import json, urllib.request
asked = {"question": "When did the bridge open?", "passage": "The bridge opened in 1887."}
sent = {"content-type": "application/json"}
url = "http://127.0.0.1:8000/answer"
request = urllib.request.Request(url, json.dumps(asked).encode(), sent)
print(json.load(urllib.request.urlopen(request))["answers"][0]["text"])
"""


@pytest.mark.parametrize("name", FILES)
def test_its_variables_are_those_of_the_command(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    known = {*re.findall(r"FABIR_[A-Z_]+", capsys.readouterr().out)}
    used = re.findall(r"FABIR_[A-Z_]+", (ROOT / name).read_text(encoding="utf-8"))
    assert {*used} <= known
    if name == "docs/deployment.md":
        assert known <= {*used}


def test_a_proxy_says_what_it_was_asked_with() -> None:
    """Caddy does without being told."""
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").iterdir(), ROOT / "compose.yaml"]
    blocks = [
        block
        for page in pages
        for block in re.findall(r"\{[^{}]*proxy_pass[^{}]*\}", page.read_text(encoding="utf-8"))
    ]
    assert blocks
    for block in blocks:
        for name in "Host", "X-Forwarded-For", "X-Forwarded-Proto":
            assert f"proxy_set_header {name} " in block


def test_what_is_copied_into_the_image_is_there() -> None:
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE)
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()
        assert f"!{name}" in kept


def docker(*arguments: str, wrong: bool = False) -> str:
    # podman, which may be called docker, keeps a health check in this format only.
    settings = os.environ | {"BUILDAH_FORMAT": "docker"}
    command = ["docker", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=settings)
    assert (done.returncode != 0) == wrong, done.stderr
    return done.stdout + done.stderr


def docker_runs() -> bool:
    if not shutil.which("docker"):
        return False
    return subprocess.run(["docker", "info"], capture_output=True).returncode == 0


def wait_for(line: str, container: str) -> None:
    """Until the container has logged the line."""
    latest = time.monotonic() + 60
    while line not in (logged := docker("logs", container)):
        assert time.monotonic() < latest, logged
        time.sleep(0.2)


@pytest.fixture
def container() -> Iterator[str]:
    """The name of a container that may write nothing."""
    name, hardened = "fabir-test", ("--read-only", "--cap-drop", "ALL")
    docker("build", "--tag", "fabir-test", ".")
    docker("run", "--detach", "--name", name, *hardened, "fabir-test")
    yield name
    docker("rm", "--force", name)


@pytest.mark.slow
@pytest.mark.skipif(not docker_runs(), reason="needs a docker that runs")
def test_the_container_answers_reloads_and_stops(container: str) -> None:
    assert int(docker("image", "inspect", "fabir-test", "--format", "{{.Size}}")) < 350e6
    wait_for("answering on", container)
    check = docker("inspect", container, "--format", "{{json .Config.Healthcheck.Test}}")
    docker("exec", container, *json.loads(check)[1:])
    assert docker("exec", container, "python", "-c", ASK) == "1887\n"
    assert docker("exec", container, "id", "-u") == "10001\n"
    assert "Read-only" in docker("exec", container, "touch", "/opt/fabir/a", wrong=True)
    docker("kill", "--signal", "HUP", container)
    wait_for("reloaded", container)
    docker("stop", container)
    assert docker("inspect", container, "--format", "{{.State.ExitCode}}") == "0\n"
