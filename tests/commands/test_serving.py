"""The options of `fabir serve`, from the command line and from the environment."""

from pathlib import Path
from typing import Any

import pytest

from fabir.cli import main
from fabir.serve import run
from fabir.serve.run import Sources

DEFAULTS = {
    "host": "127.0.0.1",
    "port": 8000,
    "names": [],
    "cors": [],
    "root_path": "",
    "access_log": True,
    "log_format": "text",
    "unknown": [],
}
VARIABLES = {
    "FABIR_READER": "accurate",
    "FABIR_INDEX": "an-index",
    "FABIR_THRESHOLD": "0.5",
    "FABIR_HOST": "0.0.0.0",
    "FABIR_PORT": "8123",
    "FABIR_ALLOW_HOST": "a.example b.example",
    "FABIR_CORS": "https://a.example",
    "FABIR_ROOT_PATH": "/qa",
    "FABIR_TOKEN_FILE": "tokens",
    "FABIR_ACCESS_LOG": "0",
    "FABIR_LOG_FORMAT": "json",
}


def served(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[Sources, dict[str, Any]]:
    """What the command would serve."""
    calls: list[tuple[Sources, dict[str, Any]]] = []
    monkeypatch.delenv("FABIR_THOROUGH", raising=False)  # of these tests, see `damage`
    monkeypatch.setattr(run, "serve", lambda sources, **options: calls.append((sources, options)))
    main(["serve", *arguments])
    return calls[0]


def test_without_options_it_serves_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # as compose files leave it
    assert served(monkeypatch) == (Sources(), DEFAULTS)


def test_every_option_may_be_a_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    sources, options = served(monkeypatch)
    assert sources == Sources(Path("accurate"), Path("an-index"), 0.5, Path("tokens"))
    assert options == {
        "host": "0.0.0.0",
        "port": 8123,
        "names": ["a.example", "b.example"],
        "cors": ["https://a.example"],
        "root_path": "/qa",
        "access_log": False,
        "log_format": "json",
        "unknown": [],
    }
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    shown = capsys.readouterr().out
    assert all(f"[{name}]" in shown for name in VARIABLES)


def test_the_command_line_counts_more_than_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    given = "--port", "9", "--allow-host", "c.example", "--access-log", "--log-format", "text"
    _, options = served(monkeypatch, *given)
    assert options["port"] == 9
    assert options["names"] == ["c.example"]
    assert options["access_log"] is True
    assert options["log_format"] == "text"


@pytest.mark.parametrize("variable", [None, "https://from.example"])
def test_an_option_that_is_repeated_adds_names_and_replaces_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    if variable:
        monkeypatch.setenv("FABIR_CORS", variable)
    hosts = "--allow-host", "a.example", "b.example", "--allow-host", "c.example"
    _, options = served(monkeypatch, *hosts, "--cors", "https://a.example", "--cors", "*")
    assert options["names"] == ["a.example", "b.example", "c.example"]
    assert options["cors"] == ["https://a.example", "*"]
    assert served(monkeypatch)[1]["cors"] == ([variable] if variable else [])


def test_a_variable_of_no_option_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "FABIR_TOKENFILE", "FABIR_TOKEN", "fabir_port", "OTHER":
        monkeypatch.setenv(name, "a")
    _, options = served(monkeypatch)
    assert options["unknown"] == ["FABIR_TOKENFILE"]


def test_the_case_of_a_choice_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABIR_LOG_FORMAT", "JSON")
    monkeypatch.setenv("FABIR_ACCESS_LOG", "False")
    _, options = served(monkeypatch)
    assert (options["log_format"], options["access_log"]) == ("json", False)
    assert served(monkeypatch, "--log-format", "Text")[1]["log_format"] == "text"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("FABIR_PORT", "tcp://10.0.0.1:8000", "FABIR_PORT is 'tcp://10.0.0.1:8000', which is no"),
        ("FABIR_INDEX", "s3://bucket/index", "'s3://bucket/index', which is no value of --index"),
        ("FABIR_THRESHOLD", "half", "which is no value of --threshold"),
        ("FABIR_LOG_FORMAT", "xml", "no value of --log-format: choose text or json"),
        ("FABIR_ACCESS_LOG", "maybe", "no value of --access-log: choose 1 or true or 0 or false"),
    ],
)
def test_a_variable_with_no_value_of_its_option_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: str,
    message: str,
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as stopped:
        served(monkeypatch)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
    with pytest.raises(SystemExit) as shown:  # other commands do not have the option
        main(["answer", "--help"])
    assert shown.value.code == 0
