"""A study: the rows of a paper's table, the paper's figures, and budgets to run them on. Data, read
from a file; nothing is run here."""

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from fabir.data.dataset import Dataset
from fabir.errors import InputError
from fabir.readers import READERS, registered
from fabir.studies.report import MEASURES
from fabir.training.config_files import SHIPPED, load_config, read_yaml
from fabir.training.keys import KINDS, suggestion
from fabir.training.settings import RunConfig

_OWN = "results.json", "report.md", "train.json.gz", "dev.json.gz"  # beside the rows' folders
_KINDS = KINDS | {tuple: "a list"}  # what values of a study must be, in words


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The share of a study's data that a run uses, and changes to its configurations.

    Args:
        questions: of the training file, in whole articles; 0 for all
        dev_questions: of the dev file, in whole articles; 0 for all
        training: values of the configurations' training sections
        network: values of their network sections; a reader without such a field has none
        vocabulary: values of their vocabulary sections
        vectors: the name of the word vectors' file, if not the study's

    Raises:
        ValueError: no reader has such a field of its network, or a number is below 0.
    """

    questions: int = 0
    dev_questions: int = 0
    training: dict[str, Any] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)
    vocabulary: dict[str, Any] = field(default_factory=dict)
    vectors: str = ""

    def __post_init__(self) -> None:
        for name in ("questions", "dev_questions"):
            if getattr(self, name) < 0:
                raise ValueError(f"budgets: {name} must be at least 0, not {getattr(self, name)}")
        known = {name for reader in READERS for name in _network_fields(reader)}
        for name in self.network.keys() - known:
            meant = suggestion(name, known)
            hint = f": did you mean {meant}?" if meant else ""
            raise ValueError(f"budgets: network: no reader has {name!r}{hint}")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A configuration and its paper's figures.

    Args:
        name: the row's name in the report
        config: the name of a shipped row, or beside the study's file another one or a row of it
        network: by budget, values of its network section that go before the budget's, such as for
            vectors of another size than the paper's
        training: by budget, values of its training section that go before the budget's
        train: names of further training files, which lie beside the study's
        paper: the paper's figures by measure (`f1`, `exact`, `parameters` ...)

    Raises:
        ValueError: no folder can have the name, a file is not beside the study's, or a figure is no
            number.
    """

    name: str
    config: str
    network: dict[str, dict[str, Any]] = field(default_factory=dict)
    training: dict[str, dict[str, Any]] = field(default_factory=dict)
    train: tuple[str, ...] = ()
    paper: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = self.name in _OWN or self.name.startswith("further-")
        if own or not _is_name(self.name):
            raise ValueError(f"row {self.name!r}: its folder cannot have this name")
        for name in self.train:
            if not _is_name(name):
                raise ValueError(
                    f"row {self.name}: train: {name!r} is no name of a file beside the study's"
                )
        for name, figure in self.paper.items():
            if not math.isfinite(figure):
                raise ValueError(f"row {self.name}: paper.{name} must be a number, not {figure}")


@dataclass(frozen=True, kw_only=True)
class Study:
    """A table to reproduce.

    Args:
        title: of the report
        source: where the paper's figures stand
        rows: of the table, in its order
        budgets: by name; or the name of the shipped study that has them
        base: the row that others are compared with
        train: the training file's name, as `fabir download` writes it
        dev: the name of the file to measure with
        vectors: the name of the word vectors' file
        ranked: the paper's figures are of one set of runs, so that the order of its rows says
            something
        folder: where the study's file is

    Raises:
        ValueError: two rows have one name, a row's name ends like a run's with another seed, or a
            base, budget or measure does not exist.
    """

    title: str
    source: str
    rows: tuple[Row, ...]
    budgets: dict[str, Budget]
    base: str = ""
    train: str = "train-v1.1.json"
    dev: str = "dev-v1.1.json"
    vectors: str = "glove.6B.zip:glove.6B.100d.txt"
    ranked: bool = True
    folder: Path = SHIPPED

    def __post_init__(self) -> None:
        names = [row.name for row in self.rows]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"two rows are called {twice[0]!r}")
        seeds = [name for name in names if re.search(r"-seed-\d+$", name)]
        if seeds:
            raise ValueError(f"row {seeds[0]}: runs with further seeds are called so, rows cannot")
        if self.base:
            _among("base", [self.base], names)
        for row in self.rows:
            _among(f"row {row.name}: network", row.network, self.budgets)
            _among(f"row {row.name}: training", row.training, self.budgets)
            _among(f"row {row.name}: paper", row.paper, MEASURES)

    def budget(self, name: str) -> Budget:
        """The budget called `name`; InputError if there is none."""
        if name not in self.budgets:
            raise InputError(f"the study has no budget {name!r}, but {', '.join(self.budgets)}")
        return self.budgets[name]

    def chosen(self, names: list[str]) -> list[Row]:
        """The rows called `names`, in the study's order; all if there are no names.

        A name that no row has may be the configuration of rows.
        """
        rows = {row.name for row in self.rows}
        configs = set(names) - rows
        unknown = configs - {row.config for row in self.rows}
        if unknown:
            known = ", ".join(row.name for row in self.rows)
            raise InputError(f"the study has no row {sorted(unknown)[0]!r}, but {known}")
        wanted = [row for row in self.rows if row.name in names or row.config in configs]
        return wanted if names else list(self.rows)

    def run_config(self, row: Row, name: str) -> RunConfig:
        """The configuration of a row on the budget called `name`."""
        config = self.folder / row.config if ".yaml" in row.config.lower() else row.config
        budget = self.budget(name)
        try:
            known = _network_fields(_reader(config))
            shared = {key: value for key, value in budget.network.items() if key in known}
            changed = {
                "network": shared | row.network.get(name, {}),
                "vocabulary": budget.vocabulary,
                "training": budget.training | row.training.get(name, {}),
            }
            overrides = [
                text
                for section, values in changed.items()
                for key, value in values.items()
                for text in (f"--{section}.{key}", str(value))
            ]
            return load_config(config, overrides)
        except InputError as error:
            raise InputError(f"row {row.name}, budget {name}: {error}") from error


def _is_name(name: str) -> bool:
    """Whether it is that of a file or folder, in the folder that is meant, and not hidden."""
    return bool(re.fullmatch(r"[^./\\\x00-\x1f][^/\\\x00-\x1f]*", name))


@cache
def _reader(config: str | Path) -> str:
    return load_config(config).reader


def _network_fields(reader: str) -> set[str]:
    return {each.name for each in fields(registered(reader).config)}


def _among(where: str, found: Iterable[str], known: Iterable[str]) -> None:
    for name in found:
        if name not in known:
            raise ValueError(f"{where}: {name!r} is none of {', '.join(known)}")


def shipped() -> list[str]:
    """The names of the studies that come with fabir."""
    return sorted(path.stem for path in (SHIPPED / "studies").glob("*.yaml"))


def read_study(name: str) -> Study:
    """A shipped study by its name, or one from a file that ends in `.yaml`.

    Raises:
        InputError: no such study, a misspelt key, a value of the wrong type.
    """
    path = Path(name)
    if path.suffix.lower() != ".yaml":
        if name not in shipped():
            meant = suggestion(name, shipped())
            known = f"name a .yaml file or {', '.join(shipped())}"
            hint = f"did you mean {meant}?" if meant else known
            raise InputError(f"no study is called {name!r}: {hint}")
        path = SHIPPED / "studies" / f"{name}.yaml"
    content = read_yaml(path)
    budgets = content.get("budgets")
    if isinstance(budgets, str):
        if budgets not in shipped():
            known = ", ".join(shipped())
            raise InputError(
                f"{path}: budgets: no study is called {budgets!r}: name one of {known}"
            )
        budgets = read_yaml(SHIPPED / "studies" / f"{budgets}.yaml")["budgets"]
    if isinstance(budgets, dict):  # an empty budget changes nothing
        content["budgets"] = {name: value or {} for name, value in budgets.items()}
    try:
        return replace(_parsed_object("", Study, content), folder=path.parent)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error


def _parsed_object(where: str, kind: type[Any], content: dict[str, Any]) -> Any:
    """An object of a dataclass from its keys and values.

    Args:
        where: what messages begin with

    Raises:
        ValueError: a key that there is not, a key that is missing, or a value of the wrong type.
    """
    known = {each.name: each for each in fields(kind) if each.name != "folder"}
    for key in content:
        if key not in known:
            meant = suggestion(str(key), known)
            hint = f"did you mean {meant}?" if meant else f"keys are {', '.join(sorted(known))}"
            raise ValueError(f"{where}there is no key {key}: {hint}")
    for key, each in known.items():
        if key not in content and each.default is each.default_factory is MISSING:
            raise ValueError(f"{where}{key} is missing")
    hints = get_type_hints(kind)
    parsed = {key: _parsed(f"{where}{key}", hints[key], value) for key, value in content.items()}
    return kind(**parsed)


def _parsed(place: str, hint: Any, value: Any) -> Any:
    """A value of YAML as one of the type `hint`; `place` is its key, as messages name it."""
    kind, *inside = get_origin(hint) or hint, *get_args(hint)
    if value is None:
        raise ValueError(f"{place} has no value")
    if is_dataclass(hint) and isinstance(value, dict):
        return _parsed_object(f"{place}: ", kind, value)
    if kind is tuple and isinstance(value, list):
        of = inside[0]
        return tuple(
            _parsed(_part(place, of, _name(each, number)), of, each)
            for number, each in enumerate(value, 1)
        )
    if kind is dict and isinstance(value, dict):
        of = inside[1]
        return {
            str(name): _parsed(_part(place, of, name), of, each) for name, each in value.items()
        }
    if kind is float and type(value) in (int, str):  # YAML reads 1e3 as text
        with suppress(ValueError, OverflowError):
            return float(value)
    if hint is Any or type(value) is kind:
        return value
    raise ValueError(f"{place} must be {_KINDS.get(kind, 'keys and values')}, not {value!r}")


def _part(place: str, hint: Any, name: Any) -> str:
    """The place of one of several values: "row fabir", "budget short", or a key "paper.f1"."""
    return f"{hint.__name__.lower()} {name}" if hint in (Row, Budget) else f"{place}.{name}"


def _name(item: Any, number: int) -> Any:
    return item.get("name", number) if isinstance(item, dict) else number


def sample(data: Dataset, questions: int) -> Dataset:
    """Whole articles of `data`, spread evenly over it, with at least `questions` questions.

    It is all of `data` for 0, or if `data` has no more questions.
    """
    titles = list(dict.fromkeys(passage.title for passage in data.passages))
    asked = dict.fromkeys(titles, 0)
    for passage in data.passages:
        asked[passage.title] += len(passage.questions)
    if not 0 < questions < len(data):
        return data
    # Bit-reversed order: halves, quarters, eighths. Its first articles are always spread evenly.
    order = sorted(range(len(titles)), key=lambda number: f"{number:032b}"[::-1])
    chosen: set[str] = set()
    for number in order:
        if sum(asked[title] for title in chosen) >= questions:
            break
        chosen.add(titles[number])
    kept = tuple(passage for passage in data.passages if passage.title in chosen)
    return Dataset(kept, data.version, data.bad_answers)
