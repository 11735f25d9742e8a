"""A folder with a web page that answers in the browser: the page, a model and ONNX Runtime.

The page and its scripts are in `fabir/web`. Any server of files can serve the folder.
"""

import hashlib
import json
import re
import shutil
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from fabir.answer.passages import is_punctuation
from fabir.data.download import Collection, download
from fabir.errors import InputError
from fabir.files import cache_folder, check_output, replacing, write_json, writing
from fabir.runtime.onnx_model import OnnxModel
from fabir.runtime.settings import SETTINGS, format_states
from fabir.runtime.store import (
    LICENCE,
    ONNX,
    copy_file,
    copy_licence,
    is_exported,
    path_of,
    read_settings,
    read_vocabulary,
)
from fabir.text import tokens
from fabir.text.normalise import STOP_WORDS
from fabir.text.units import is_blank

PACKAGE = "onnxruntime-web-1.30.0.tgz"
RUNTIME = {
    "onnxruntime-web": Collection(
        url="https://registry.npmjs.org/onnxruntime-web/-/",
        licence="ONNX Runtime is licensed under the MIT licence (Microsoft Corporation)",
        files={PACKAGE: "d2228df7e4616bc3348bf504ee888f3bec43789a273f0a63f3e68d203ce3bf71"},
    )
}
# What runs on WebAssembly in one thread; the whole package has 138 MB.
_RUNTIME_FILES = {  # and their names here; many servers do not know the kind of .mjs
    "ort.wasm.bundle.min.mjs": "ort.wasm.bundle.min.js",
    "ort-wasm-simd-threaded.wasm": "ort-wasm-simd-threaded.wasm",
}
_SCRIPTS = Path(__file__).parents[1] / "web"
_CHARACTERS = "characters.js"  # is written first: its head tells a page from other people's files
_HEAD = "// Classes of characters, as Python has them. Written by fabir export --web."
# The classes of characters in the patterns of `fabir.text`. A browser's own ones are those of
# another version of Unicode, or of ASCII alone.
_CLASSES = {
    "WORD": r"\w",
    "DIGIT": r"\d",
    "SPACE": r"\s",
    "GAP": r"[^\S\n]",
    "ANY_LETTER": r"[^\W\d_]",
    "LETTER": tokens.LETTER,
    "JOINING": tokens.JOINING,
}


def write_page(source: Path, output: Path, runtime: Path | None = None) -> int:
    """Write the page with the model in `source` to the folder `output`; returns its bytes.

    Args:
        source: an exported model
        runtime: the folder of the npm package onnxruntime-web, which is fetched if it is not
            there; the cache if it is None

    Raises:
        InputError: `source` holds no exported model, or one with NLTK's tokeniser; the package is
            neither there nor can be fetched; or `output` cannot be written, or has other files.
    """
    _check_graphs(source)
    package = check_page(source, output, runtime)
    with writing(output):
        written = [
            *write_scripts(output),
            *_write_runtime(package, output / "runtime"),
            *_copy_model(source, output / "model"),
        ]
    return sum(path.stat().st_size for path in written)


def check_page(source: Path, output: Path, runtime: Path | None = None) -> Path:
    """Check all but the graphs before they are made; returns the path of the npm package.

    Args:
        source, output, runtime: see `write_page`; `source` may have no graphs yet

    Raises:
        InputError: see `write_page`.
    """
    if read_vocabulary(source).tokeniser != "fabir":
        raise InputError(f"{source} splits texts with NLTK, which no browser has")
    check_output(output / _CHARACTERS)
    if output.is_dir() and any(output.glob("[!.]*")) and not _is_page(output):
        raise InputError(f"{output} is no such page and not empty: choose another folder")
    return _find_package(runtime or cache_folder("runtime"))


def _is_page(folder: Path) -> bool:
    path = folder / _CHARACTERS
    return path.is_file() and path.read_bytes().startswith(_HEAD.encode())


def _check_graphs(source: Path) -> None:
    if not is_exported(source):
        raise InputError(f"{source} has no ONNX graphs: add --output DIR, where they are written")
    OnnxModel.load(source)  # refuses damaged files


def _find_package(folder: Path) -> Path:
    path, (collection,) = folder / PACKAGE, RUNTIME.values()
    if path.exists():
        with open(path, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == collection.files[PACKAGE]:
                return path
    try:
        (path,) = download("onnxruntime-web", folder, RUNTIME)
    except InputError as error:
        by_hand = f"to do without, put {PACKAGE} of npm into a folder and name it with --runtime"
        raise InputError(f"{error}; {by_hand}") from error
    return path


def _write_runtime(package: Path, folder: Path) -> Iterator[Path]:
    import onnxruntime  # behind `runtime.onnx_model`, which switches its telemetry off

    with tarfile.open(package) as archive:
        for name, written in _RUNTIME_FILES.items():
            content = archive.extractfile(f"package/dist/{name}")
            assert content is not None
            with replacing(folder / written) as temporary, open(temporary, "wb") as file:
                shutil.copyfileobj(content, file)
            yield folder / written
    for name in (LICENCE, "ThirdPartyNotices.txt"):  # which this package has not
        yield copy_file(Path(onnxruntime.__file__).parent / name, folder / name)


def _copy_model(source: Path, folder: Path) -> Iterator[Path]:
    settings = folder / SETTINGS
    settings.unlink(missing_ok=True)  # without it the page uses no model that is half another's
    copy_licence(source, folder)
    if (licence := folder / LICENCE).exists():
        yield licence
    for name in ONNX:
        yield copy_file(path_of(source, name), folder / name)
    write_json(settings, format_states(read_settings(source, ONNX)))
    yield settings


def write_scripts(folder: Path) -> Iterator[Path]:
    """Write the page and its scripts to a folder, without a model; yields the path of each."""
    path = folder / _CHARACTERS
    with replacing(path) as temporary:
        temporary.write_text(_character_classes(), encoding="utf-8")
    yield path
    for script in sorted(_SCRIPTS.iterdir()):
        yield copy_file(script, folder / script.name)


@cache
def _character_classes() -> str:
    """A script with the insides of character classes, and the words without content."""
    everything = "".join(map(chr, range(0x110000)))
    lines = [_HEAD]
    classes = dict(_CLASSES)
    for name, is_one in (("PUNCTUATION", is_punctuation), ("BLANK", is_blank)):
        classes[name] = f"[{re.escape(''.join(filter(is_one, everything)))}]"
    for name, pattern in classes.items():
        ranges = (match.span() for match in re.finditer(f"(?:{pattern})+", everything))
        inside = "".join(rf"\\u{{{start:x}}}-\\u{{{end - 1:x}}}" for start, end in ranges)
        lines.append(f'export const {name} = "{inside}";')
    lines.append(f"export const STOP_WORDS = {json.dumps(sorted(STOP_WORDS))};")
    return "\n".join(lines) + "\n"
