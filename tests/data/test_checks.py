"""What is refused before a data set is made."""

from pathlib import Path

import pytest

from fabir.data.checks import check_apart
from fabir.errors import InputError


def test_files_that_are_read_are_not_written(tmp_path: Path) -> None:
    data, link = tmp_path / "data.json", tmp_path / "link.json"
    data.write_text("{}")
    link.symlink_to(data)
    for output in (data, link, tmp_path / "." / "data.json", str(data)):
        with pytest.raises(InputError, match="is read, and would be written over"):
            check_apart(output, None, data)
    check_apart(tmp_path / "other.json", data, None)
