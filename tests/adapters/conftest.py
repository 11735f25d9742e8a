"""An index of one document."""

import os
from pathlib import Path

import pytest

from fabir.answer.predictor import Predictor
from fabir.search.asker import Asker
from fabir.search.index import Index

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # Haystack looks when it is imported

MILL = """# The mill of Lund

The mill was built in 1902 by Otto Berg. Its wheel was made of oak in Bergen.

## Visitors

The mill is open on Sundays from May to September. A guided tour costs 12 euros.
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a document in `notes`, and its index in `my-index`."""
    folder = tmp_path_factory.mktemp("mill")
    (folder / "notes").mkdir()
    (folder / "notes" / "mill.md").write_text(MILL, encoding="utf-8")
    Index.build([folder / "notes"], folder / "my-index")
    return folder


@pytest.fixture(scope="session")
def index(folder: Path) -> Index:
    return Index.open(folder / "my-index")


@pytest.fixture(scope="session")
def asker(index: Index) -> Asker:
    return Asker(index, Predictor.load())
