"""Configuration files: YAML and `--key value` overrides into the dataclasses of a run.

The keys of a file are `reader` (a registered name), `network`, `vocabulary` and `training`.
"""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from fabir.errors import InputError
from fabir.readers import registered
from fabir.text.vocabulary import VocabularyConfig
from fabir.training.config import TrainingConfig

_PACKAGE = Path(str(files("fabir")))
_INSTALLED = _PACKAGE / "configs"  # which in the repository are beside `src`
SHIPPED = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent.parent / "configs"


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
    content = read_yaml(path)
    name = content.pop("reader", None)
    if not isinstance(name, str):
        raise InputError(f"{path}: `reader` is missing: name a registered reader, such as fabir")
    # An empty section is one of defaults.
    content = {key: {} if value is None else value for key, value in content.items()}
    try:
        sections = {
            "network": registered(name).config,
            "vocabulary": VocabularyConfig,
            "training": TrainingConfig,
        }
        _check_values(content)
        parser = ArgumentParser(exit_on_error=False, add_help=False, allow_abbrev=False)
        for section, config in sections.items():
            parser.add_class_arguments(config, section)
        parsed = parser.parse_args(overrides or [], namespace=parser.parse_object(content))
        built = {key: config(**parsed[key].as_dict()) for key, config in sections.items()}
    except (ArgumentError, ValueError, TypeError) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from error
    return RunConfig(name, **built)


def read_yaml(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file; none if it holds anything else.

    Raises:
        InputError: the file cannot be read, or is not YAML.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    return content if isinstance(content, dict) else {}


def _check_values(content: dict[str, Any]) -> None:
    """What the parser lets through, or refuses in its own words."""
    for section, values in content.items():
        if not isinstance(values, dict):
            raise ValueError(f"`{section}` is not a section of keys and values")
        for key, value in values.items():
            if value is None:
                raise ValueError(f"`{section}.{key}` has no value")
