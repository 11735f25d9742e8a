"""The files of a model's folder: names, formats and checksums, reading and writing.

config.json            architecture, network config, format version, checksums of the other files
vocabulary.json        words and characters
words.safetensors      fixed word rows; in an exported model also the trained rows
network.safetensors    every other weight, for torch
words.onnx             for ONNX Runtime: from a word's row and characters to its vector
encode.onnx            for ONNX Runtime: from word vectors to a passage's encoding
answer.onnx            for ONNX Runtime: from encodings and questions to logits

Models in folders side by side may share words: the second and third file are then in the folder
above, once for all of them.

A folder is replaced file by file, and a process may be killed in between. During the write
`config.json` has the checksums of the old and of the new files. So the folder holds one complete
set, or it is refused.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from fabir.errors import InputError
from fabir.files import replacing, write_json
from fabir.runtime.settings import SETTINGS, Settings, format_states, read_json, read_states
from fabir.text.tokens import Tokeniser, check_tokeniser
from fabir.text.vocabulary import MAX_CHARACTERS, Vocabulary

VOCABULARY, WORDS, WEIGHTS = "vocabulary.json", "words.safetensors", "network.safetensors"
EMBED, ENCODE, ANSWER = "words.onnx", "encode.onnx", "answer.onnx"
# In the order of replacement. A folder that has the last file needs no torch.
FILES = SETTINGS, VOCABULARY, WORDS, WEIGHTS, EMBED, ENCODE, ANSWER
TORCH = VOCABULARY, WORDS, WEIGHTS  # the files that each kind of model needs
ONNX = VOCABULARY, WORDS, EMBED, ENCODE, ANSWER
_SHARED = VOCABULARY, WORDS  # files that may be in the folder above
LICENCE = "LICENSE"  # of the weights; the bundled models have one in the folder above
BUNDLED_MODELS = Path(__file__).parents[1] / "pretrained"
_MOST_BYTES = 1 << 30  # of vocabulary.json

Write = Callable[[Path], Any]


def path_of(folder: Path, name: str) -> Path:
    """The path of a model's file: in its folder, or in the one above if models share it."""
    path, above = folder / name, folder.absolute().parent / name
    return above if name in _SHARED and not path.exists() and above.exists() else path


def model_files(folder: Path) -> dict[str, Path]:
    """The files of a model that exist, by name, with those that it shares with other models."""
    return {name: path for name in FILES if (path := path_of(folder, name)).exists()}


def copy_model(folder: Path, copy: Path, **changes: Any) -> None:
    """Copy a model's files into one folder, with those that it shares with other models, and the
    licence of its weights. `changes` are those of its settings.

    Raises:
        InputError: the model is damaged, or the copy cannot be written.
    """
    files = model_files(folder)
    del files[SETTINGS]
    settings = replace(read_settings(folder, files), **changes)
    write_model(copy, settings, {name: partial(shutil.copyfile, files[name]) for name in files})
    copy_licence(folder, copy)


def licence_of(folder: Path) -> Path:
    """The path of the licence of a model's weights, which may not be there."""
    bundled = folder.resolve().parent == BUNDLED_MODELS.resolve()
    return (BUNDLED_MODELS if bundled else folder) / LICENCE


def copy_licence(folder: Path, copy: Path) -> None:
    """Copy the licence of a model's weights into the folder of a model made of it. Without one
    remove that of the model that was there."""
    if (licence := licence_of(folder)).exists():
        copy_file(licence, copy / LICENCE)
    else:
        (copy / LICENCE).unlink(missing_ok=True)


def copy_file(path: Path, copy: Path) -> Path:
    """Write a copy of a file in one piece; returns its path."""
    with replacing(copy) as temporary:
        shutil.copyfile(path, temporary)
    return copy


def is_exported(folder: Path) -> bool:
    """Whether a folder holds an exported model, which needs no torch.

    Raises:
        InputError: not a model's folder, a damaged one, or its graph is missing.
    """
    states = read_states(folder)
    path = folder / ANSWER
    named = any(ANSWER in each.files for each in states)
    if named and len(states) == 1 and not path.exists():
        raise InputError(f"cannot read {path}: it is missing; copy the folder again")
    return named and path.exists()


def read_settings(folder: Path, names: Iterable[str]) -> Settings:
    """The settings of a folder, after the checksums of the files `names` are verified.

    Raises:
        InputError: a file is missing, damaged or of another model.
    """
    states = read_states(folder)
    if states[0].old:
        _warn_old(folder)
        return states[0]
    digests = {name: _digest(path_of(folder, name)) for name in names}
    for settings in states:
        if all(settings.files.get(name) == digest for name, digest in digests.items()):
            return settings
    raise InputError(_mismatch(folder, states, digests))


def _mismatch(folder: Path, states: list[Settings], digests: dict[str, str | None]) -> str:
    wrong = [name for name, digest in digests.items() if digest != states[0].files.get(name)]
    path = path_of(folder, wrong[0])
    if len(states) > 1:
        return (
            f"{folder} has files of two models, because writing {path.name} was interrupted: "
            "continue that run (`fabir train --resume`), or save the model again"
        )
    if digests[wrong[0]] is None:
        above = " (models side by side have it in the folder above)" if wrong[0] in _SHARED else ""
        return f"cannot read {path}: it is missing{above}; copy or download the model again"
    if wrong[0] not in states[0].files:
        return f"cannot read {path}: {SETTINGS} does not name it; save the model again"
    return (
        f"{path} is damaged, or of another model than {SETTINGS} beside it: copy or download the "
        "model's folder again, or save the model again"
    )


@cache
def _warn_old(folder: Path) -> None:
    print(
        f"{folder} is in the old format, without checksums, so damage is not detected: "
        "save or export the model again",
        file=sys.stderr,
    )


def _digest(path: Path) -> str | None:
    """SHA-256 of a file in hexadecimal; None if it is missing."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def check_vacant(folder: Path, *, over_graphs: bool = False, source: Path | None = None) -> None:
    """Check that a model can be written to a folder without loss: it has no other model, and no
    other program's files of these names.

    Args:
        over_graphs: a model of graphs alone may be replaced, as when it is exported again
        source: a model whose licence is to be copied too

    Raises:
        InputError: it has.
    """
    if not (folder / SETTINGS).exists():
        licence = folder / LICENCE
        others = [name for name in FILES if (folder / name).exists()]
        if source and _digest(licence) not in (None, _digest(licence_of(source))):
            others.append(LICENCE)
        if others:
            raise InputError(
                f"{folder} has a file {others[0]}, but no model's {SETTINGS} beside it: name "
                "another folder to write to, or remove the file"
            )
        return
    try:
        read_states(folder)
    except InputError as error:
        raise InputError(f"{error}; remove it, or name another folder to write to") from error
    if (folder / WEIGHTS).exists() or (not over_graphs and (folder / ANSWER).exists()):
        raise InputError(f"{folder} holds another model: remove it, or name another folder")


def write_model(
    folder: Path, settings: Settings, files: Mapping[str, Write], keep: Iterable[str] = ()
) -> None:
    """Write a model's folder. After a kill it holds a complete model, or it is refused.

    Args:
        settings: without `files`
        files: for each file name the function that writes the file to a path
        keep: names of files that are not changed; other files of a model are removed
    """
    before = _present(folder)
    known = before.files if before else {}
    kept = {
        name: digest
        for name in keep
        if name not in files and (digest := known.get(name) or _digest(path_of(folder, name)))
    }
    with ExitStack() as stack:
        made: dict[str, Path] = {}
        for name in reversed([name for name in FILES if name in files]):  # the stack is reversed
            made[name] = stack.enter_context(replacing(folder / name))
            files[name](made[name])
        fresh = {name: _digest(path) for name, path in made.items()}
        coming = replace(settings, files={**kept, **fresh})
        states = [coming] if before is None else [before, coming]
        write_json(folder / SETTINGS, format_states(*states))
        for name in FILES:
            if name not in coming.files and name != SETTINGS:
                (folder / name).unlink(missing_ok=True)
    write_json(folder / SETTINGS, format_states(coming))


def change_settings(folder: Path, **changes: Any) -> Settings:
    """Change fields of `config.json`, such as `calibration`. No other file is changed or verified.

    This also adds checksums to a folder in the old format.

    Raises:
        InputError: not a model's folder.
    """
    changed = replace(read_states(folder)[0], **changes)
    write_model(folder, changed, {}, FILES[1:])
    return changed


def _present(folder: Path) -> Settings | None:
    """The settings that match the folder's files; None if it has no settings."""
    try:
        states = read_states(folder)
    except InputError:
        return None
    digests = {name: digest for name in FILES[1:] if (digest := _digest(path_of(folder, name)))}
    if states[0].old:
        return replace(states[0], files=digests) if digests else None
    return next((each for each in states if each.files.items() <= digests.items()), states[0])


def write_vocabulary(vocabulary: Vocabulary, path: Path) -> None:
    """Write `vocabulary.json` in place."""
    content = {
        "trained": vocabulary.trained,
        "fixed": vocabulary.fixed,
        "characters": vocabulary.characters,
        "max_characters": vocabulary.max_characters,
        "tokeniser": vocabulary.tokeniser,
    }
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")


def read_vocabulary(folder: Path) -> Vocabulary:
    """The words and characters of a model.

    Raises:
        InputError: the file cannot be read, a value has a wrong type or range, or the model needs
            NLTK, which is not installed.
    """
    path = path_of(folder, VOCABULARY)
    kinds = {"trained": list, "fixed": list, "characters": str, "max_characters": int}
    fields = read_json(path, set(kinds), _MOST_BYTES)
    for name, kind in kinds.items():
        if type(fields[name]) is not kind:
            raise InputError(f"{path}: `{name}` is not of type {kind.__name__}")
        if kind is list and not set(map(type, fields[name])) <= {str}:
            raise InputError(f"{path}: `{name}` must be a list of words")
    if not 0 <= fields["max_characters"] <= MAX_CHARACTERS:
        raise InputError(f"{path}: `max_characters` must be from 0 to {MAX_CHARACTERS}")
    return Vocabulary(
        trained=tuple(fields["trained"]),
        fixed=tuple(fields["fixed"]),
        characters=fields["characters"],
        max_characters=fields["max_characters"],
        tokeniser=_tokeniser(path, fields.get("tokeniser", "fabir")),
    )


def _tokeniser(path: Path, name: Any) -> Tokeniser:
    try:
        return check_tokeniser(name)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def read_words(folder: Path, vocabulary: Vocabulary, *, exported: bool) -> dict[str, np.ndarray]:
    """The arrays of `words.safetensors`, with shapes that match the vocabulary.

    Returns:
        `rows` [fixed words, word_dim]; `scales` [fixed words] float if `rows` are in 8 bits; for
        an exported model also `trained` [1 + trained words, word_dim] float

    Raises:
        InputError: the file is damaged or belongs to another vocabulary.
    """
    path = path_of(folder, WORDS)
    try:
        with safe_open(path, framework="np") as file:
            words = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, TypeError, AttributeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    missing = {"rows", "trained"} - words.keys() if exported else {"rows"} - words.keys()
    if missing:
        kind = "an exported model's file" if exported else "a model's file"
        raise InputError(f"{path}: not {kind}, it lacks {', '.join(sorted(missing))}")
    dim = words["rows"].shape[-1] if words["rows"].ndim else 0
    shapes = {
        "rows": (len(vocabulary.fixed), dim),
        "scales": (len(vocabulary.fixed),),
        "trained": (1 + len(vocabulary.trained), dim),
    }
    for name, array in words.items():
        if array.shape != shapes.get(name):
            raise InputError(
                f"{path}: its files do not fit together: `{name}` has shape {array.shape}, the "
                f"vocabulary's is {shapes.get(name)}"
            )
        in_8_bits = name == "rows" and "scales" in words
        if array.dtype != np.int8 if in_8_bits else not _are_numbers(array):
            raise InputError(f"{path} is damaged: `{name}` are not finite numbers")
    return words


def _are_numbers(array: np.ndarray) -> bool:
    """Whether an array holds finite floating-point numbers, within the range of float16."""
    if array.dtype == np.float16:  # comparing its bits is six times faster
        infinite = 0x7C00
        return bool((array.view(np.uint16) & 0x7FFF).max(initial=0) < infinite)
    largest = np.abs(array).max(initial=0) if array.dtype.kind == "f" else np.inf
    return bool(largest <= np.finfo(np.float16).max)
