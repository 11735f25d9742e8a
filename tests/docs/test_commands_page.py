"""docs/commands.md is what the parsers of the commands say."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_it_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("commands_page", ROOT / "dev/commands_page.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), (
        "run python dev/commands_page.py"
    )
