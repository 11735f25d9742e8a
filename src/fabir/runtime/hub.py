"""Models on the Hugging Face hub: download and upload. Only `fabir.data.paraphrase`, which loads
models of transformers, contacts it too."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fabir.errors import InputError
from fabir.runtime.store import FILES, LICENCE, SETTINGS, copy_model

_CARD = """---
library_name: fabir
pipeline_tag: question-answering
---
# {name}

A model for extractive question answering with [fabir](https://github.com/fabir-qa/fabir):

```python
from fabir import Predictor

predictor = Predictor.from_pretrained("{name}")
```
"""


def fetch(name: str, revision: str | None = None) -> Path:
    """The folder of a model's files, downloaded unless they are in the hub's cache.

    A private model needs the variable `HF_TOKEN`, or the token that `hf auth login` stored.

    Raises:
        InputError: huggingface_hub is missing, or the download fails.
    """
    try:
        import huggingface_hub
    except ImportError as error:
        raise InputError(
            f"there is no folder {name}; to look for it on the Hugging Face hub: "
            "pip install 'fabir[hub]'"
        ) from error
    try:
        folder = huggingface_hub.snapshot_download(
            name, revision=revision, allow_patterns=[*FILES, LICENCE]
        )
    except Exception as error:  # of the hub, of HTTP or of the file system
        raise InputError(f"there is no folder {name}, {_why_no_download(error)}") from error
    return Path(folder)


def push(folder: str | Path, name: str, *, private: bool = False, token: str | None = None) -> str:
    """Upload a model's folder, exported or not, as `name`, "owner/name"; returns its address.

    The folder's model card (`README.md`) is uploaded too. If neither the folder nor the hub has
    one, a short card is written.

    Raises:
        InputError: not a model's folder, huggingface_hub is missing, or the hub refuses.
    """
    folder = Path(folder)
    if not (folder / SETTINGS).exists():
        raise InputError(f"{folder} is not a model's folder: it lacks {SETTINGS}")
    try:
        import huggingface_hub
    except ImportError as error:
        raise InputError("the hub needs huggingface_hub: pip install 'fabir[hub]'") from error
    api: Any = huggingface_hub.HfApi(token=token)
    try:
        address = api.create_repo(name, private=private, exist_ok=True)
        if not (folder / "README.md").exists() and not api.file_exists(name, "README.md"):
            card = _CARD.format(name=name).encode()
            api.upload_file(path_or_fileobj=card, path_in_repo="README.md", repo_id=name)
        with TemporaryDirectory() as whole:
            copy_model(folder, Path(whole))
            if (card := folder / "README.md").exists():
                shutil.copyfile(card, Path(whole, card.name))
            api.upload_folder(repo_id=name, folder_path=whole)
    except Exception as error:
        what = f"the Hugging Face hub does not take {name}"
        raise InputError(f"{what}: {_reason(error)}") from error
    return str(address)


def _why_no_download(error: Exception) -> str:
    kinds = {type(each).__name__ for each in (error, error.__cause__)}  # some are new in the hub
    if "OfflineModeIsEnabled" in kinds:
        return "and HF_HUB_OFFLINE forbids a download from the Hugging Face hub"
    if "LocalEntryNotFoundError" in kinds:
        return "and the Hugging Face hub cannot be reached"
    return f"nor does the Hugging Face hub give it: {_reason(error)}"


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
