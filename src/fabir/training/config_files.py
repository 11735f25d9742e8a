"""Configuration files: YAML and `--key value` overrides into the dataclasses of a run.

The keys of a configuration are `reader` (a registered name), `network`, `vocabulary`, `vectors` and
`training`; and `card`, which says what a training costs and brings. A file is one configuration, or
a table of them: a `base` and `rows` of differences.
"""

import re
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fabir.errors import InputError
from fabir.readers import registered
from fabir.runtime.locate import find_model
from fabir.runtime.renamed import OLD_FIELDS, renamed_network
from fabir.runtime.settings import read_states
from fabir.runtime.store import read_vocabulary
from fabir.training.keys import SECTIONS, help_text, suggestion
from fabir.training.notes import note
from fabir.training.parsing import build_sections
from fabir.training.settings import RunConfig

_PACKAGE = Path(str(files("fabir")))
_INSTALLED = _PACKAGE / "configs"  # which in the repository are beside `src`
SHIPPED = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent.parent / "configs"
_ROW_OF_FILE = re.compile(r"(.*\.yaml):(.*)", re.IGNORECASE | re.DOTALL)
_FINE_TUNE = SHIPPED / "recipes" / "fine-tune.yaml"

# Old names of keys, and their present names. Old names are accepted with a line that says so.
RENAMED = {
    "training.questions_together": "training.questions_per_passage",
    "training.teacher_share": "training.distillation_weight",
    "network.cross_start": "network.init",
}
_RENAMED_VALUES = {"network.cross_start": {"alike": "matching"}}  # of old keys, their values now
# Configurations that were renamed or removed.
_OLD_ROWS = {
    "fabir-fast": "it is called crossconv, and with a head for no answer fast",
    "fabir-modern": "it was removed, fast and accurate are those of the bundled models",
}


def load_config(
    name: str | Path | None,
    overrides: list[str] | None = None,
    start: str | Path | None = None,
) -> RunConfig:
    """Read a configuration; `overrides` are arguments such as `--training.epochs 3`.

    Args:
        name: a .yaml file, which stands for its base if it is a table; a row of a table as
            `FILE.yaml:ROW`; the name of a shipped row; or None for the recipe of fine-tuning
        start: the model that the run continues from. A configuration without `reader` has the
            network and the tokeniser of this model, and changes the recipe of fine-tuning

    Raises:
        InputError: a missing file or row, a misspelt key, a value of the wrong type.
    """
    if name is None and start is None:
        raise InputError("name a configuration, or a model to continue from with --from")
    where, content = _find(str(name or _FINE_TUNE))
    where = where if name else "the recipe of fine-tuning"
    if start and "reader" not in content:
        content = _merged(_continuing(start), content)
    content.pop("card", None)
    reader = content.pop("reader", None)
    if not isinstance(reader, str):
        raise InputError(
            f"{where}: `reader` is missing: name a registered reader, such as fabir, or continue "
            "from a model with --from"
        )
    if isinstance(network := content.get("network"), dict):
        content["network"] = _present_network(where, reader, network)
    # An empty section is one of defaults.
    content = {key: {} if value is None else value for key, value in content.items()}
    try:
        sections = {"network": registered(reader).config} | SECTIONS
        content = {name: _renamed(where, name, values) for name, values in content.items()}
        changes = _renamed_changes(where, overrides or [])
        built = build_sections(content, changes, sections)
    except (ValueError, TypeError) as error:
        raise InputError(f"{where}: {' '.join(str(error).split())}") from error
    return RunConfig(reader, **built)


def card_text(name: str) -> str:
    """What a training with a configuration costs and brings, a line for each; empty if its card
    does not say."""
    card = _find(name)[1].get("card")
    lines = card.items() if isinstance(card, dict) else ()
    return "".join(f"{f'{what}:':<8} {said}\n" for what, said in lines)


def help_of(name: str | None, start: str | Path | None) -> str:
    """What `load_config` reads without overrides: a card, and each key with its meaning."""
    run = load_config(name, start=start)
    sections = {each: asdict(getattr(run, each)) for each in ("network", *SECTIONS)}
    values = {f"{each}.{key}": it for each in sections for key, it in sections[each].items()}
    title = f"keys of the configuration {name}" if name else f"keys, to fine-tune {start}"
    about = card_text(name) if name else ""
    return help_text(title, about, type(run.network), values)


def _continuing(start: str | Path) -> dict[str, Any]:
    """The configuration of a run that fine-tunes the model `start`."""
    folder = find_model(start)
    settings = read_states(folder)[0]
    network = renamed_network(settings.reader, settings.network)
    vocabulary = {"tokeniser": read_vocabulary(folder).tokeniser}
    recipe = _read_table(_FINE_TUNE)[0]
    return recipe | {"reader": settings.reader, "network": network, "vocabulary": vocabulary}


def _present_network(where: str, reader: str, network: dict[str, Any]) -> dict[str, Any]:
    """The network without options that reader fabir once had."""
    old = network.keys() & (OLD_FIELDS | {"cross_start"})
    if reader != "fabir" or not old:
        return network
    try:
        renamed = renamed_network(reader, network)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if network.get("cross_start", "random") != "random":
        raise InputError(f"{where}: reader fabir starts as its thesis says: remove cross_start")
    note(f"{where}: reader fabir with {', '.join(sorted(old))} no longer needs them")
    return renamed


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
        # The parser in C, where PyYAML has it, takes a tenth of the time.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        content = yaml.load(path.read_text(encoding="utf-8"), loader)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    return content if isinstance(content, dict) else {}


def _find(name: str) -> tuple[str, dict[str, Any]]:
    """The place of a configuration as messages name it, and its keys and values."""
    if name in shipped_rows():
        path = shipped_rows()[name]
        return name, _read_row(path, name)
    in_file = _ROW_OF_FILE.fullmatch(name)
    if in_file:
        return name, _read_row(Path(in_file[1]), in_file[2])
    path = Path(name)
    if not path.exists():
        _check_old_name(name, path)
        if path.name == name and not path.suffix:
            meant = suggestion(name, shipped_rows())
            hint = f"did you mean {meant}?" if meant else "name a .yaml file, or a row of one"
            raise InputError(f"no configuration is called {name!r}: {hint} (`fabir readers`)")
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
    card = base.get("card")
    if rows[name] and isinstance(card, dict) and "F1" in card:  # which is that of the base
        base = _merged(base, {"card": {"F1": "not measured for this row"}})
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


def _renamed(where: str, section: str, values: Any) -> Any:
    """The values of a section by the names that its keys have now."""
    if not isinstance(values, dict):
        return values
    renamed = {}
    for old, value in values.items():
        new = new_name(f"{section}.{old}").removeprefix(f"{section}.")
        if new != str(old):
            if new in values:
                raise ValueError(f"{section}.{old} is called {section}.{new}, which is there too")
            _note_once(f"{where}: {section}.{old} is called {section}.{new}")
        renamed[new] = new_value(f"{section}.{old}", value)
    return renamed


def _renamed_changes(where: str, arguments: list[str]) -> list[tuple[str, str]]:
    """Keys and values of the command line, by the names that they have now."""
    changes, rest = [], iter(arguments)
    for argument in rest:
        key, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--"):
            raise ValueError(f"{argument!r} is no key: keys are such as --training.epochs 3")
        new = new_name(key)
        if new != key:
            _note_once(f"{where}: --{key} is called --{new}")
        if not equals:
            value = next(rest, "--")
            if value.startswith("--"):
                raise ValueError(f"--{key} has no value")
        changes.append((new, new_value(key, value)))
    return changes


_note_once = cache(note)  # a study reads the configuration of each row several times
