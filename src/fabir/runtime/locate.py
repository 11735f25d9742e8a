"""Where a model's folder is: a path, the bundled model, or a name on the Hugging Face hub."""

import re
from pathlib import Path

from fabir.runtime.hub import fetch

BUNDLED = Path(__file__).parents[1] / "pretrained"
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def find_model(model: str | Path | None, revision: str | None = None) -> Path:
    """The folder of a model, which may not be one.

    Args:
        model: a folder; None or "bundled" for the one that comes with fabir; or, if there is no
            such folder, "owner/name" on the Hugging Face hub, from where it is fetched
        revision: on the hub, a branch, tag or commit

    Raises:
        InputError: it cannot be fetched.
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
