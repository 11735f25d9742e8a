"""The folder of a model, from a path, "bundled", or a name on the Hugging Face hub."""

import re
from pathlib import Path

from fabir.runtime.hub import fetch

BUNDLED = Path(__file__).parents[1] / "pretrained"
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def find_model(model: str | Path | None, revision: str | None = None) -> Path:
    """The folder of a model; whether it holds one is not checked.

    Args:
        model: a folder; None or "bundled" for the bundled model; or, if there is no such folder,
            "owner/name" on the Hugging Face hub, which is downloaded
        revision: on the hub, a branch, tag or commit

    Raises:
        InputError: the download fails.
    """
    if model is None:
        return BUNDLED
    folder = Path(model)
    if folder.exists():
        return folder
    if str(model) == "bundled":
        return BUNDLED
    if _HUB_NAME.fullmatch(folder.as_posix()):
        return fetch(folder.as_posix(), revision)
    return folder
