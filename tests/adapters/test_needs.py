"""An adapter whose library is missing says in one line what to install."""

import importlib
import sys
import tomllib
from pathlib import Path

import pytest

from fabir.adapters import MissingPackageError
from fabir.cli import main

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
PACKAGES = {  # of each adapter
    "haystack": "haystack",
    "langchain": "langchain_core",
    "llamaindex": "llama_index",
    "mcp": "mcp",
    "tools": "pydantic",
}


def remove(monkeypatch: pytest.MonkeyPatch, adapter: str) -> None:
    """As if the package of an adapter was not installed, and nothing of it imported."""
    package = PACKAGES[adapter]
    for name in list(sys.modules):
        if name.partition(".")[0] == package or name == f"fabir.adapters.{adapter}":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.parametrize("adapter", PACKAGES)
def test_the_extra_is_named(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    assert adapter in project["optional-dependencies"]
    remove(monkeypatch, adapter)
    with pytest.raises(MissingPackageError) as caught:
        importlib.import_module(f"fabir.adapters.{adapter}")
    assert str(caught.value).endswith(f": pip install 'fabir[{adapter}]'")
    assert isinstance(caught.value, ModuleNotFoundError)
    assert caught.value.name


def test_the_command_says_it_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remove(monkeypatch, "mcp")
    with pytest.raises(SystemExit) as caught:
        main(["mcp", "--index", "nowhere"])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said == "fabir mcp: this needs the MCP SDK 2: pip install 'fabir[mcp]'\n"
