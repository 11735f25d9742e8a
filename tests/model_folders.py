"""Models' folders that are changed by hand, with checksums that fit again or with none.

No tests here.
"""

import hashlib
import json
from pathlib import Path
from typing import Any


def edit_json(path: Path, **changes: Any) -> None:
    """Set keys of a JSON file; None removes one."""
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    content = {key: value for key, value in content.items() if value is not None}
    path.write_text(json.dumps(content), encoding="utf-8")


def seal(folder: Path) -> None:
    """Let `config.json` have the checksums of the folder's files as they are."""
    path = folder / "config.json"
    files = {
        each.name: hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(folder.iterdir())
        if each.is_file() and each != path
    }
    edit_json(path, files=files, checksum=None)
    content = json.loads(path.read_text(encoding="utf-8"))
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    edit_json(path, checksum=hashlib.sha256(canonical.encode()).hexdigest())


def make_old(folder: Path) -> None:
    """Turn a folder into one of format 1, which has no checksums."""
    edit_json(folder / "config.json", format=1, files=None, checksum=None, calibration=None)
