"""The keys of a configuration: what each means, its values and its default.

They are the fields of the dataclasses of a run, and their docstrings say what they mean. What
reads configurations is `fabir.training.config_files`.
"""

import difflib
from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from docstring_parser import parse

from fabir.text.vocabulary import VocabularyConfig
from fabir.training.settings import TrainingConfig, VectorsConfig

SECTIONS: dict[str, type[Any]] = {  # besides `network`, whose keys are those of the reader
    "training": TrainingConfig,
    "vocabulary": VocabularyConfig,
    "vectors": VectorsConfig,
}
KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_PLACES = {int: "N", float: "X", str: "TEXT", bool: "{true,false}"}  # of values in the help
_LISTS = {int: "a list of whole numbers", float: "a list of numbers"}


@dataclass(frozen=True)
class Key:
    """A key such as `training.epochs`; `hint` is the type of its values."""

    name: str
    hint: Any
    default: Any
    meaning: str

    @property
    def values(self) -> str:
        """What a value must be, in words."""
        if get_origin(self.hint) is Literal:
            return "one of " + ", ".join(map(str, get_args(self.hint)))
        if get_origin(self.hint) is tuple:
            return f"{_LISTS[get_args(self.hint)[0]]}, such as [3, 1]"
        return KINDS.get(self.hint, str(self.hint))

    @property
    def place(self) -> str:
        """What stands for a value in the help."""
        if get_origin(self.hint) is Literal:
            return "{" + ",".join(map(str, get_args(self.hint))) + "}"
        if get_origin(self.hint) is tuple:
            return f"[{_PLACES[get_args(self.hint)[0]]},...]"
        return _PLACES.get(self.hint, "VALUE")


@cache
def keys_of(section: str, config: type[Any]) -> list[Key]:
    """The keys of a section, whose dataclass is `config`."""
    hints = get_type_hints(config)
    meanings = {
        each.arg_name: " ".join((each.description or "").split())
        for base in reversed(config.__mro__)
        for each in parse(base.__doc__ or "").params
    }
    return [
        Key(
            f"{section}.{field.name}",
            hints[field.name],
            field.default,
            meanings.get(field.name, ""),
        )
        for field in fields(config)
    ]


def all_keys(network: type[Any] | None = None) -> list[Key]:
    """The keys of every section; those of `network` only if its dataclass is given."""
    sections = SECTIONS | ({"network": network} if network else {})
    return [key for section, config in sections.items() for key in keys_of(section, config)]


def suggestion(name: str, known: Iterable[str]) -> str:
    """The name of `known` that was probably meant; empty if none is close.

    The last part of a name counts: all keys of a section begin alike.
    """
    section, _, last = name.rpartition(".")
    own_last = sorted(known, key=lambda each: each.startswith(f"{section}."))
    by_last = {each.rpartition(".")[2]: each for each in own_last}
    found = difflib.get_close_matches(last, by_last, n=1)
    return by_last[found[0]] if found else ""


def help_text(title: str, about: str, network: type[Any], values: Mapping[str, Any]) -> str:
    """The keys as options, with their meaning and default.

    Args:
        about: lines below the title
        network: the dataclass of a reader
        values: defaults by key
    """
    parser = ArgumentParser(
        add_help=False,
        usage=SUPPRESS,
        allow_abbrev=False,
        formatter_class=RawDescriptionHelpFormatter,
    )
    group = parser.add_argument_group(title, about)
    for key in all_keys(network):
        line = f"{key.meaning} (default: {written(values[key.name])})"
        group.add_argument(f"--{key.name}", metavar=key.place, help=line.replace("%", "%%"))
    return parser.format_help()


def written(value: Any) -> str:
    """A value as a configuration has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value)) if isinstance(value, tuple) else str(value)


_REFERENCE = """\
# Configuration keys

A configuration is a YAML file with a `reader`, and values of the sections below. A key that it
leaves out has its default. On the command line `--training.epochs 3` changes a key of `fabir train`
and `fabir find-lr`; `fabir train NAME --help` lists the keys with the values of the configuration
NAME. [Training](training.md) shows how to use them. [configs](../configs) has the configurations
that come with fabir.

Places such as (thesis 6.2), (IV-A) and (eq. 12) are those of the text that a reader follows. For
`training` and the reader `fabir` these are the thesis of Correia 2017 and the paper [A Fully
Attention-Based Information Retriever](https://arxiv.org/abs/1810.09580) of Correia et al. 2018.
[The readers](readers.md) names the papers of the others.

This page is made from the code by `python -m fabir.training.keys > docs/configuration.md`.
"""
_ABOUT = {
    "training": "How a model is trained, whatever its reader.",
    "vocabulary": "Words and characters of a new model. One that continues another has its words.",
    "vectors": "The word vectors that a configuration is meant for.",
}


def reference() -> str:
    """Every key of every reader, as a page in Markdown."""
    from fabir.readers import READERS

    parts = [_REFERENCE]
    for section, config in SECTIONS.items():
        parts.append(f"\n## {section}\n\n{_ABOUT[section]}\n\n{_table(keys_of(section, config))}")
    for reader, registered in READERS.items():
        keys = keys_of("network", registered.config)
        parts.append(f"\n## network, reader {reader}\n\n{_table(keys)}")
    return "".join(parts)


def _table(keys: Iterable[Key]) -> str:
    rows = (
        f"| `{key.name}` | {key.values} | {f'`{written(key.default)}`'} | {key.meaning} |\n"
        for key in keys
    )
    return "| key | value | default | meaning |\n|---|---|---|---|\n" + "".join(rows)


if __name__ == "__main__":
    print(reference(), end="")
