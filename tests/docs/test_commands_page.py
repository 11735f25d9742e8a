"""docs/commands.md is what the parsers of the commands say, and says what each argument is."""

import re
from types import ModuleType

import pytest

from scripts import load_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("dev/commands_page.py")


def test_it_is_up_to_date(script: ModuleType) -> None:
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), (
        "run python dev/commands_page.py"
    )


def test_every_argument_has_a_meaning_and_at_most_one_default(script: ModuleType) -> None:
    rows = re.findall(r"^\| (`[^`]+`|<code>.*?</code>) \| (.*) \|$", script.page(), re.MULTILINE)
    assert len(rows) > 100
    assert not [name for name, text in rows if text.strip() in ("", "required")]
    assert not [text for _, text in rows if text.count("(default: ") > 1 or "True)" in text]
