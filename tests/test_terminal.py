"""Streams that are closed, full or of another encoding: one line, and the right exit code."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

GREEK = "Solon wrote the law of debts (Σεισάχθεια 😀) in 594. He was an archon of Athens."
ASK = "What did Solon write?"
NARROW = {"PYTHONIOENCODING": "cp1252"}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(scope="module")
def passage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("passage") / "solon.txt"
    path.write_text(GREEK, "utf-8")
    return path


def run(
    *arguments: str | bytes, shell: str = "", env: dict[str, str] | None = None
) -> tuple[int, bytes, bytes]:
    """Run fabir in a shell that redirects its streams; returns its exit code, stdout and stderr."""
    command = ["sh", "-c", f'exec "$0" -m fabir "$@" {shell}', sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, env=os.environ | (env or {}), timeout=120)
    return done.returncode, done.stdout, done.stderr


def answer(passage: Path, *options: str) -> Sequence[str]:
    return ["answer", ASK, "--passage", str(passage), *options]


@pytest.mark.parametrize("env", [NARROW, ASCII])
@pytest.mark.parametrize("form", ["text", "json"])
def test_characters_that_the_terminal_lacks_are_escaped(
    passage: Path, env: dict[str, str], form: str
) -> None:
    question = "What did Solon write (Σεισάχθεια 😀)?"
    command = ("answer", question, "--passage", str(passage), "--format", form, "--top-k", "3")
    command = (*command, "--threshold", "0")
    code, out, err = run(*command, env=env)
    assert (code, err) == (0, b"")
    if form == "json":
        said = json.loads(out)
        assert said["question"] == question or env is ASCII  # where arguments are bytes
        for each in said["answers"]:
            assert GREEK[each["start"] : each["end"]] == each["text"]
    else:
        assert out.strip()


def test_a_question_that_is_not_utf8_gives_valid_json(passage: Path) -> None:
    code, out, err = run(b"answer", b"caf\xe9?", b"--passage", str(passage).encode(),
                         b"--format", b"json", b"--threshold", b"0")  # fmt: skip
    assert (code, err) == (0, b"")
    assert json.loads(out.decode("utf-8"))["question"] == "caf\udce9?"


@pytest.mark.parametrize(
    ("arguments", "shell", "said"),
    [
        (("answer", ASK, "--passage", "-"), "<&-", b"standard input is closed"),
        (("answer", ASK, "--passage", "{}"), ">&-", b"standard output is closed"),
        (("answer", ASK, "--passage", "{}"), ">/dev/full", b"No space left on device"),
        (("answer", ASK, "--passage", "{}", "--format", "json"), ">/dev/full", b"No space left"),
        (("readers",), ">/dev/full", b"No space left on device"),
        (("--help",), ">&-", b"standard output is closed"),
        (("answer", "--help"), ">/dev/full", b"No space left on device"),
    ],
)
def test_a_stream_that_cannot_be_used_is_one_line(
    passage: Path, arguments: tuple[str, ...], shell: str, said: bytes
) -> None:
    code, out, err = run(*(each.format(passage) for each in arguments), shell=shell)
    assert code == 2
    assert out == b""
    assert err.count(b"\n") == 1
    assert said in err


def test_a_closed_stderr_leaves_the_answer_alone(passage: Path) -> None:
    code, out, err = run(*answer(passage), shell="2>&-")
    assert (code, err) == (0, b"")
    assert out.count(b"\n") == 1


def test_who_reads_stderr_may_go_and_the_work_is_done(passage: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "Who?"}\n[]\n')
    done = tmp_path / "answers.jsonl"
    rows = ("predict", str(tmp_path / "rows.jsonl"), "--output", str(done), "--on-bad-row", "skip")
    missing = ("answer", ASK, "--passage", str(tmp_path / "missing.txt"))
    for command, code in ((rows, 2), (answer(passage), 0), (missing, 2)):
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "wb") as gone:
            command = [sys.executable, "-m", "fabir", *command]
            found = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=gone, timeout=120)
        assert found.returncode == code


def test_a_reader_that_has_gone_is_no_error(passage: Path) -> None:
    for command in ("readers", "--help"):
        code, _, err = run(command, shell="| true")
        assert (code, err) == (0, b"")
