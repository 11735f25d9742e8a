"""The processor that a measurement was made on."""

import platform
from pathlib import Path

import pytest

from fabir.cpu_info import cpu_name


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (
            "processor\t: 0\nmodel name\t: Quick 9000 \nprocessor\t: 1\nmodel name\t: other",
            "Quick 9000, ",
        ),
        ("processor\t: 0\nCPU part: 0xd0c\n", ""),
    ],
)
def test_a_processor_has_its_name_where_the_system_tells_it(
    content: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: content)
    assert cpu_name() == f"{name}{platform.machine()}"


def test_where_there_is_no_list_of_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    assert cpu_name() == f"arm, {platform.machine()}"
