"""Configuration files: YAML and `--key value` overrides into the dataclasses of a run.

The keys of a file are `reader` (a registered name), `network`, `vocabulary` and `training`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabir.errors import InputError
from fabir.readers import registered
from fabir.text.vocabulary import VocabularyConfig
from fabir.training.config import TrainingConfig


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a training run, but for its files."""

    reader: str
    network: Any
    vocabulary: VocabularyConfig
    training: TrainingConfig


def load_config(path: str | Path, overrides: list[str] | None = None) -> RunConfig:
    """Read a YAML file; `overrides` are arguments such as `--training.epochs 3`.

    Raises:
        InputError: a missing file, a misspelt key, a value of the wrong type.
    """
    from jsonargparse import ArgumentError, ArgumentParser

    path = Path(path)
    if not path.is_file():
        raise InputError(f"cannot read {path}: no such file")
    parser = ArgumentParser(exit_on_error=False)
    try:
        parser.add_argument("--reader", type=str)
        name = _reader_name(path, overrides or [])
        parser.add_class_arguments(registered(name).config, "network")
        parser.add_class_arguments(VocabularyConfig, "vocabulary")
        parser.add_class_arguments(TrainingConfig, "training")
        parser.add_argument("--config", action="config")
        parsed = parser.parse_args(["--config", str(path), *(overrides or [])])
        built = parser.instantiate(parsed)
    except (ArgumentError, ValueError, TypeError) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from error
    return RunConfig(name, built.network, built.vocabulary, built.training)


def _reader_name(path: Path, overrides: list[str]) -> str:
    """The reader must be known before the rest of the file can be checked against its config."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or not isinstance(content.get("reader"), str):
        raise InputError(f"{path}: `reader` is missing: name a registered reader, such as fabir")
    if "--reader" in overrides:
        raise InputError("the reader is named in the configuration file, not on the command line")
    return content["reader"]
