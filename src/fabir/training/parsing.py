"""The values of a configuration, made into the dataclasses of a run. Mistakes are named by key."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fabir.errors import InputError
from fabir.readers import READERS
from fabir.training.keys import all_keys, suggestion

if TYPE_CHECKING:
    from jsonargparse import ArgumentParser

Sections = Mapping[str, type[Any]]  # dataclasses by the names of their sections

_made: dict[tuple[Any, ...], Any] = {}  # objects of sections, which cannot be changed


def build_sections(
    content: dict[str, Any], changes: list[tuple[str, str]], sections: Sections
) -> dict[str, Any]:
    """An object for each section.

    Args:
        content: keys and values of each section, as a YAML file has them
        changes: keys such as `training.epochs` with texts, which come last

    Raises:
        ValueError: a key that there is not, or a value that it cannot have.
    """
    from jsonargparse import ArgumentError

    _check_keys(content, changes, sections)
    try:
        return {
            name: _section(
                (name, config),
                content.get(name, {}),
                tuple(change for change in changes if change[0].partition(".")[0] == name),
            )
            for name, config in sections.items()
        }
    except ArgumentError as error:
        parser = _parser(tuple(sections.items()))
        for key, value, parse in _single(parser, content, changes):
            try:
                parse()
            except ArgumentError:
                kinds = {each.name: each.values for each in all_keys(sections["network"])}
                raise ValueError(f"{key} must be {kinds[key]}, not {value!r}") from error
        raise ValueError(error) from error


def _section(
    section: tuple[str, type[Any]], values: dict[str, Any], changes: tuple[tuple[str, str], ...]
) -> Any:
    """The object of a section, made once: rows of a table have most sections in common."""
    made_of = section, repr(values), changes
    if made_of not in _made:
        name, config = section
        parser = _parser((section,))
        parsed = parser.parse_object({name: values})
        if changes:
            arguments = [f"--{key}={text}" for key, text in changes]
            parsed = parser.parse_args(arguments, namespace=parsed)
        _made[made_of] = config(**parsed[name].as_dict())
    return _made[made_of]


@cache
def _parser(sections: tuple[tuple[str, type[Any]], ...]) -> "ArgumentParser":
    from jsonargparse import ArgumentParser

    parser = ArgumentParser(exit_on_error=False, add_help=False, allow_abbrev=False)
    for section, config in sections:
        parser.add_class_arguments(config, section)
    return parser


def check_options(arguments: Iterable[str]) -> None:
    """Refuse options that are no keys, before a configuration is looked for: what stands after such
    an option may have been taken for its name.

    Raises:
        InputError: names the key that was probably meant.
    """
    for argument in arguments:
        name = argument.removeprefix("--").partition("=")[0]
        if argument.startswith("--") and "." not in name:
            known = [key.name for each in READERS.values() for key in all_keys(each.config)]
            raise InputError(_unknown(name, known, "--"))


def _check_keys(
    content: dict[str, Any], changes: list[tuple[str, str]], sections: Sections
) -> None:
    """Refuse keys that there are not, and values that the parser takes or refuses unclearly."""
    known = [f"{name}.{each.name}" for name, config in sections.items() for each in fields(config)]
    for section, values in content.items():
        if section not in sections:
            raise ValueError(_unknown(str(section), [*known, *sections]))
        if not isinstance(values, dict):
            raise ValueError(f"`{section}` is not a section of keys and values")
        for key, value in values.items():
            if f"{section}.{key}" not in known:
                raise ValueError(_unknown(f"{section}.{key}", known))
            if value is None:
                raise ValueError(f"`{section}.{key}` has no value")
    for key, _ in changes:
        if key not in known:
            raise ValueError(_unknown(key, known, "--"))


def _unknown(key: str, known: Iterable[str], dashes: str = "") -> str:
    meant = suggestion(key, known)
    hint = f"did you mean {dashes}{meant}?" if meant else "`fabir train NAME --help` lists the keys"
    return f"there is no {'option' if dashes else 'key'} {dashes}{key}: {hint}"


def _single(
    parser: Any, content: dict[str, Any], changes: list[tuple[str, str]]
) -> Iterator[tuple[str, Any, Any]]:
    """Each key with its value and a call that parses it alone."""
    for section, values in content.items():
        for name, value in values.items():
            alone = partial(parser.parse_object, {section: {name: value}})
            yield f"{section}.{name}", value, alone
    for key, text in changes:
        yield key, text, partial(parser.parse_args, [f"--{key}={text}"])
