"""Folders of models that cannot be looked at. `test_hub` has the names of models."""

import os
from pathlib import Path
from typing import Any

import pytest

from fabir import Predictor, pipeline
from fabir.errors import InputError


@pytest.mark.parametrize("load", [Predictor.load, lambda model: pipeline(model=model)])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "^the name of the model is empty: name a folder, or fast or accurate$"),
        ("x" * 300, "^cannot read x+: File name too long$"),
    ],
)
def test_a_name_that_no_folder_can_have(
    load: Any, name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')  # of no model that is named
    with pytest.raises(InputError, match=said):
        load(name)


@pytest.mark.parametrize("load", [Predictor.load, lambda model: pipeline(model=model)])
def test_a_folder_that_may_not_be_read(load: Any, tmp_path: Path) -> None:
    (tmp_path / "closed" / "model").mkdir(parents=True)
    (tmp_path / "closed").chmod(0)
    try:
        if os.access(tmp_path / "closed", os.X_OK):
            pytest.skip("this user may read everything")
        with pytest.raises(InputError, match="closed/model"):
            load(tmp_path / "closed" / "model")
    finally:
        (tmp_path / "closed").chmod(0o700)
