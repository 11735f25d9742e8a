"""Configuration files: YAML and `--key value` overrides into the dataclasses of a run.

The keys of a configuration are `reader` (a registered name), `network`, `vocabulary`, `vectors` and
`training`. A file is one configuration, or a table of them: a `base` and `rows` of differences.
"""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fabir.errors import InputError
from fabir.readers import registered
from fabir.runtime.renamed import OLD_FIELDS, renamed_network
from fabir.text.vocabulary import VocabularyConfig
from fabir.training.notes import note
from fabir.training.settings import RunConfig, TrainingConfig, VectorsConfig

_PACKAGE = Path(str(files("fabir")))
_INSTALLED = _PACKAGE / "configs"  # which in the repository are beside `src`
SHIPPED = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent.parent / "configs"

# Old names of keys, and their present names. Old names are accepted with a line that says so.
RENAMED = {
    "training.questions_together": "training.questions_per_passage",
    "training.teacher_share": "training.distillation_weight",
    "network.cross_start": "network.init",
}
_RENAMED_VALUES = {"network.cross_start": {"alike": "matching"}}  # of old keys, their values now
# Configurations that were renamed or removed.
_OLD_ROWS = {
    "fabir-fast": "it is called crossconv",
    "fabir-modern": "it was removed, `crossconv` is the bundled reader's",
}


def load_config(name: str | Path, overrides: list[str] | None = None) -> RunConfig:
    """Read a configuration; `overrides` are arguments such as `--training.epochs 3`.

    Args:
        name: a .yaml file, which stands for its base if it is a table; a row of a table as
            `FILE.yaml:ROW`; or the name of a shipped row

    Raises:
        InputError: a missing file or row, a misspelt key, a value of the wrong type.
    """
    from jsonargparse import ArgumentError, ArgumentParser

    where, content = _find(str(name))
    reader = content.pop("reader", None)
    if not isinstance(reader, str):
        raise InputError(f"{where}: `reader` is missing: name a registered reader, such as fabir")
    if isinstance(network := content.get("network"), dict):
        reader, content["network"] = _present_network(where, reader, network)
    # An empty section is one of defaults.
    content = {key: {} if value is None else value for key, value in content.items()}
    try:
        sections = {
            "network": registered(reader).config,
            "vocabulary": VocabularyConfig,
            "training": TrainingConfig,
            "vectors": VectorsConfig,
        }
        _check_values(content)
        content = {name: _renamed(where, name, values) for name, values in content.items()}
        overrides = _renamed_arguments(where, overrides or [])
        parser = ArgumentParser(exit_on_error=False, add_help=False, allow_abbrev=False)
        for section, config in sections.items():
            parser.add_class_arguments(config, section)
        parsed = parser.parse_args(overrides, namespace=parser.parse_object(content))
        built = {key: config(**parsed[key].as_dict()) for key, config in sections.items()}
    except (ArgumentError, ValueError, TypeError) as error:
        raise InputError(f"{where}: {' '.join(str(error).split())}") from error
    return RunConfig(reader, **built)


def _present_network(
    where: str, reader: str, network: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The reader and its network without options that reader fabir once had."""
    old = network.keys() & (OLD_FIELDS | {"cross_start"})
    if reader != "fabir" or not old:
        return reader, network
    try:
        now, renamed = renamed_network(reader, network)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if now == reader and network.get("cross_start", "random") != "random":
        raise InputError(f"{where}: reader fabir starts as its thesis says: remove cross_start")
    what = "is now reader " + now if now != reader else "no longer needs them"
    note(f"{where}: reader fabir with {', '.join(sorted(old))} {what}")
    return now, renamed


def new_name(key: str) -> str:
    """The name that a key such as `training.epochs` has now; something may stand before it."""
    for old, new in RENAMED.items():
        if key == old or key.endswith(f".{old}"):
            return key.removesuffix(old) + new
    return key


def new_value(key: str, value: Any) -> Any:
    """The value that `new_name(key)` has now for what `value` was under the name `key`."""
    for old, values in _RENAMED_VALUES.items():
        if isinstance(value, str) and (key == old or key.endswith(f".{old}")):
            return values.get(value, value)
    return value


@cache
def shipped_rows() -> dict[str, Path]:
    """The file of each shipped configuration, by the configuration's name."""
    return {row: path for path in sorted(SHIPPED.glob("*.yaml")) for row in _read_table(path)[1]}


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


def _find(name: str) -> tuple[str, dict[str, Any]]:
    """The place of a configuration as messages name it, and its keys and values."""
    if name in shipped_rows():
        path = shipped_rows()[name]
        return f"{path}:{name}", _read_row(path, name)
    file, suffix, row = name.rpartition(".yaml:")
    if suffix:
        return name, _read_row(Path(f"{file}.yaml"), row)
    path = Path(name)
    if not path.exists():
        _check_old_name(name, path)
        if path.name == name and not path.suffix:
            known = ", ".join(shipped_rows())
            raise InputError(f"no configuration is called {name!r}: name a .yaml file or {known}")
    return name, _read_table(path)[0]


def _check_old_name(name: str, path: Path) -> None:
    """Say what a configuration is called that had a file of its own, or another name."""
    row = path.stem if path.suffix == ".yaml" else name
    if row in shipped_rows():
        table = path.with_name(shipped_rows()[row].name)
        raise InputError(f"there is no {name}: its configuration is `{row}`, or {table}:{row}")
    if row in _OLD_ROWS:
        raise InputError(f"there is no configuration {name}: {_OLD_ROWS[row]}")


def _read_row(path: Path, name: str) -> dict[str, Any]:
    base, rows = _read_table(path)
    if name not in rows:
        raise InputError(f"{path} has no row {name!r}, but {', '.join(rows) or 'none at all'}")
    return _merged(base, rows[name])


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The keys of both; a section of `changes` changes the keys that it has."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict | None):
            value = {**old, **(value or {})}
        merged[key] = value
    return merged


def _read_table(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The base of a file and what its rows change.

    A file of one configuration is a base, and a row of the file's name that changes nothing.

    Raises:
        InputError: the file cannot be read, or its base or a row is no section.
    """
    content = read_yaml(path)
    if not content.keys() & {"base", "rows"}:
        return content, {path.stem: {}}
    for key in content:
        if key not in ("base", "rows"):
            raise InputError(f"{path}: {key!r} beside `base` and `rows`: write it into the base")
    base, rows = (_section(path, key, content.get(key)) for key in ("base", "rows"))
    return base, {str(row): _section(path, f"rows.{row}", rows[row]) for row in rows}


def _section(path: Path, name: str, content: Any) -> dict[str, Any]:
    if not isinstance(content, dict | None):
        raise InputError(f"{path}: `{name}` is not a section of keys and values")
    return content or {}


def _check_values(content: dict[str, Any]) -> None:
    """Check values that the parser accepts, or refuses with an unclear message."""
    for section, values in content.items():
        if not isinstance(values, dict):
            raise ValueError(f"`{section}` is not a section of keys and values")
        for key, value in values.items():
            if value is None:
                raise ValueError(f"`{section}.{key}` has no value")


def _renamed(where: str, section: str, values: dict[str, Any]) -> dict[str, Any]:
    """The values of a section by the names that its keys have now."""
    renamed = {}
    for old, value in values.items():
        new = new_name(f"{section}.{old}").removeprefix(f"{section}.")
        if new != old:
            if new in values:
                raise ValueError(f"{section}.{old} is called {section}.{new}, which is there too")
            _note_once(f"{where}: {section}.{old} is called {section}.{new}")
        renamed[new] = new_value(f"{section}.{old}", value)
    return renamed


def _renamed_arguments(where: str, arguments: list[str]) -> list[str]:
    """Arguments of the command line by the names that their keys and values have now."""
    renamed, key = [], ""  # the key whose value is the next argument
    for argument in arguments:
        if not argument.startswith("--"):
            renamed.append(new_value(key, argument))
            continue
        key, equals, value = argument.removeprefix("--").partition("=")
        new = new_name(key)
        if new != key:
            _note_once(f"{where}: --{key} is called --{new}")
        renamed.append(f"--{new}{equals}{new_value(key, value)}")
    return renamed


_note_once = cache(note)  # a study reads the configuration of each row several times
