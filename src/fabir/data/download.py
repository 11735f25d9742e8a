"""Fetching the official SQuAD and GloVe files, each checked against its recorded checksum.

Other commands read what is there, but for names on the Hugging Face hub, rows at an address
(`fabir predict`), and the scripts of `fabir export --web`.
"""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fabir.errors import InputError

if TYPE_CHECKING:
    from rich.progress import Progress


@dataclass(frozen=True, slots=True)
class Collection:
    """Files published together: `files` maps each name to its SHA-256, all below `url`."""

    url: str
    licence: str
    files: Mapping[str, str]


# The checksums are those recorded in huggingface/datasets (datasets/squad/dataset_infos.json,
# datasets/squad_v2/dataset_infos.json) and, for GloVe, in JuliaText/Embeddings.jl (src/glove.jl).
COLLECTIONS: Mapping[str, Collection] = {
    "squad": Collection(
        url="https://rajpurkar.github.io/SQuAD-explorer/dataset/",
        licence="SQuAD is licensed under CC BY-SA 4.0 (Rajpurkar et al., 2016 and 2018)",
        files={
            "train-v1.1.json": "3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955",
            "dev-v1.1.json": "95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9",
            "train-v2.0.json": "68dcfbb971bd3e96d5b46c7177b16c1a4e7d4bdef19fb204502738552dede002",
            "dev-v2.0.json": "80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8",
        },
    ),
    "glove": Collection(
        url="https://nlp.stanford.edu/data/",
        licence="GloVe vectors are in the public domain under PDDL 1.0 (Pennington et al., 2014)",
        files={
            "glove.6B.zip": "617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
        },
    ),
}


def how_to_fetch(path: str | Path) -> str:
    """The command that fetches a file of this name, in a phrase; "" if no collection has it."""
    file = Path(path)
    return "".join(
        f"`fabir download {name} --to {shlex.quote(str(file.parent))}` fetches it"
        for name, collection in COLLECTIONS.items()
        if file.name in collection.files
    )


def download(
    name: str, to: str | Path, collections: Mapping[str, Collection] = COLLECTIONS
) -> list[Path]:
    """Fetch the files of collection `name` into the folder `to` and return their paths.

    A file that is already there with the right checksum is not fetched again; one with another
    checksum is replaced. The licence is printed on stderr.

    Raises:
        InputError: no such collection, pooch is not installed, the network or the disk failed, or
            a file came with another checksum (it is then not kept).
    """
    if name not in collections:
        raise InputError(f"nothing to download named {name!r}; known: {', '.join(collections)}")
    collection = collections[name]
    paths = [_fetch(collection, file, Path(to)) for file in collection.files]
    print(collection.licence, file=sys.stderr)
    return paths


def _fetch(collection: Collection, file: str, folder: Path) -> Path:
    try:
        import pooch
        from requests.exceptions import ConnectionError as NoConnection
    except ImportError as error:
        raise InputError("downloading needs pooch: pip install 'fabir[download]'") from error
    from rich.console import Console
    from rich.progress import DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    pooch.get_logger().setLevel(
        "WARNING"
    )  # the progress bar and the returned paths say this already
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), DownloadColumn(), TimeRemainingColumn())
    url = collection.url + file
    try:
        with Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        ) as progress:
            bar: Any = _Bar(progress, file)  # Any: pooch takes it, its annotations do not say so
            downloader: Any = pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 16)
            known = f"sha256:{collection.files[file]}"
            return Path(pooch.retrieve(url, known, file, folder, downloader=downloader))
    except OSError as error:  # errors of requests are OSErrors
        reason = " ".join(str(error).split())
        if type(error) is NoConnection:  # those below it have reasons of their own
            reason = f"there is no connection to {urlsplit(url).netloc}"
        raise InputError(f"cannot fetch {url} to {folder}: {reason}") from error
    except ValueError as error:
        message = f"{url} came with another checksum than the recorded one and was not kept"
        raise InputError(f"{message}; try again, or fetch it by hand") from error


class _Bar:
    """What pooch expects of a progress bar, drawn by rich."""

    def __init__(self, progress: "Progress", description: str) -> None:
        self.total = 0  # bytes; pooch sets it when the server has sent the size
        self._progress = progress
        self._task = progress.add_task(description, total=None)

    def update(self, size: int) -> None:
        self._progress.update(self._task, total=self.total or None, advance=size)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        """Nothing to do: leaving the Progress context clears the bar."""
