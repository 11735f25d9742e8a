"""The folder of a model, from a path, a bundled model's name, or a name on the Hugging Face hub."""

import os
import re
from pathlib import Path
from typing import Any

from fabir.errors import InputError
from fabir.runtime.hub import fetch
from fabir.runtime.store import BUNDLED_MODELS

BUNDLED = BUNDLED_MODELS / "fast"  # the default
_NAMES = {"fast": BUNDLED, "accurate": BUNDLED_MODELS / "accurate"}
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def find_model(model: str | Path | None, revision: str | None = None) -> Path:
    """The folder of a model; whether it holds one is not checked.

    Args:
        model: a folder; None for the default, "fast"; or, if there is no such folder,
            the name of a bundled model, "fast" or "accurate", or "owner/name" on the Hugging Face
            hub, which is downloaded
        revision: on the hub, a branch, tag or commit

    Raises:
        InputError: there is no such folder or name, it may not be read, or the download fails.
    """
    if model is None:
        return BUNDLED
    if not isinstance(model, str | os.PathLike):
        kind = type(model).__name__
        raise InputError(f"a model is named by a folder or a name, not by an object: {kind}")
    if folder := find_folder(model):
        return folder
    if str(model) in _NAMES:
        return _NAMES[str(model)]
    if is_on_hub(model):
        return fetch(Path(model).as_posix(), revision)
    raise InputError(f"there is no folder {model}, and the bundled models are fast and accurate")


def find_folder(model: str | Path) -> Path | None:
    """The folder of this name, or None if there is none.

    Raises:
        InputError: the name is empty, or the system does not let it be looked at.
    """
    if model == "":
        raise InputError("the name of the model is empty: name a folder, or fast or accurate")
    try:
        return Path(model) if Path(model).exists() else None
    except OSError as error:
        raise InputError(f"cannot read {model}: {error.strerror or error}") from error


def is_on_hub(model: Any) -> bool:
    """Whether it is a name that is looked up on the Hugging Face hub: "owner/name", no folder."""
    if not isinstance(model, str | Path) or find_folder(model):
        return False
    return _HUB_NAME.fullmatch(Path(model).as_posix()) is not None
