"""The results of a study in a folder, which several processes may add to. Nothing is run here."""

import json
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fabir.data.download import how_to_fetch
from fabir.errors import InputError
from fabir.files import locked, read_json, remove_partial, replacing, write_json
from fabir.readers import registered
from fabir.studies.report import render
from fabir.studies.study import Row, Study
from fabir.training.checkpoint import FILE
from fabir.training.config_files import new_name, new_value
from fabir.training.inputs import RunFiles
from fabir.training.keys import SECTIONS
from fabir.training.settings import RunConfig

RESULTS, _REPORT, LOCK = "results.json", "report.md", ".lock"


def find_files(
    study: Study,
    budget: str,
    folder: Path,
    *,
    train: Path | None = None,
    dev: Path | None = None,
    vectors: Path | str | None = None,
) -> RunFiles:
    """The files of a study in `folder`, or those that are named in their place.

    Raises:
        InputError: there is no such budget, or one of the study's files is not there.
    """
    names = {
        "train": study.train,
        "dev": study.dev,
        "vectors": study.budget(budget).vectors or study.vectors,
    }
    named = {"train": train, "dev": dev, "vectors": vectors}
    for option, name in names.items():
        file = name.partition(":")[0]
        if named[option] is None and not (folder / file).exists():
            ways = (how_to_fetch(folder / file), f"--{option} names one")
            raise InputError(f"there is no {folder / file}: {', '.join(filter(None, ways))}")
    return RunFiles(
        train=(train or folder / names["train"],),
        dev=dev or folder / names["dev"],
        vectors=vectors or folder / names["vectors"],
        on_bad_answer="skip",
    )


@dataclass(frozen=True)
class Run:
    """A row of a study with one of its seeds, the first of which is number 0.

    `settings` has the study's own changes to the row's configuration, without those of the budget.
    It also has the whole configuration with the first seed.
    """

    row: Row
    number: int
    config: RunConfig
    settings: dict[str, Any]

    @property
    def folder(self) -> str:
        return f"{self.row.name}-seed-{self.number}" if self.number else self.row.name

    @property
    def seed(self) -> int:
        return self.config.training.seed


@dataclass(frozen=True)
class Table:
    """The results of a study on a budget in the folder `output`."""

    study: Study
    budget: str
    files: RunFiles
    output: Path

    def runs(self, names: list[str], seeds: int) -> list[Run]:
        """Of the rows called `names`, or all; each with its first seed before any with its next."""
        configs = [
            (row, self.study.run_config(row, self.budget)) for row in self.study.chosen(names)
        ]
        return [
            Run(row, number, _seeded(config, number), self._settings(row, config))
            for number in range(seeds)
            for row, config in configs
        ]

    @contextmanager
    def opened(self) -> Iterator[dict[str, Any]]:
        """The results so far, with everything that the report needs. Changes to them are written.
        Other processes wait meanwhile.

        Raises:
            InputError: the folder holds another study, budget or data.
        """
        with locked(self.output / LOCK, wait=True):
            results = self._read()
            if not results["rows"]:
                _write(results, self.output)  # before any other file is in the folder
            yield results
            _write(results, self.output)

    def check(self, results: dict[str, Any]) -> None:
        """Raise InputError if the settings of measured rows have changed."""
        for row in self.study.rows:
            if row.name in results["rows"]:
                now = self._settings(row, self.study.run_config(row, self.budget))
                for run in results["rows"][row.name]:
                    _check_settings(run["conditions"], now, self.output, f" for {row.name}")

    def measured(self, results: dict[str, Any], run: Run) -> bool:
        known = results["rows"].get(run.row.name, [])
        return run.seed in [each["conditions"]["seed"] for each in known]

    def begin(self, run: Run) -> bool:
        """Record the settings of a run that starts; False if it has been measured meanwhile.

        Raises:
            InputError: it was half trained with other or unknown settings.
        """
        with self.opened() as results:
            if self.measured(results, run):
                return False
            begun = results.setdefault("begun", {})
            folder = self.output / run.folder
            if (folder / FILE).exists():
                if run.folder not in begun:
                    raise InputError(
                        f"{folder} holds a training of which {RESULTS} beside it says nothing: "
                        "remove it, or name another folder"
                    )
                _check_settings(begun[run.folder], run.settings, self.output, f" for {run.folder}")
            begun[run.folder] = run.settings
        return True

    def finish(self, run: Run, scores: dict[str, Any], machine: dict[str, Any]) -> None:
        """Add the scores of a run."""
        conditions = {"seed": run.seed, **run.settings, **machine}
        with self.opened() as results:
            runs = results["rows"].setdefault(run.row.name, [])
            runs.append({**scores, "conditions": conditions})
            runs.sort(key=lambda each: each["conditions"]["seed"])
            begun = results.pop("begun", {})
            begun.pop(run.folder, None)
            if begun:
                results["begun"] = begun

    @property
    def report(self) -> Path:
        return self.output / _REPORT

    def _settings(self, row: Row, config: RunConfig) -> dict[str, Any]:
        changed = {key: getattr(row, key).get(self.budget, {}) for key in ("network", "training")}
        further = dict(enumerate(row.train))
        return json.loads(json.dumps({**changed, "train": further, "config": asdict(config)}))

    def _read(self) -> dict[str, Any]:
        limits = asdict(self.study.budget(self.budget))
        del limits["vectors"]  # the data names the vectors that are used
        used = {"train": self.files.train[0], "dev": self.files.dev, "vectors": self.files.vectors}
        data = {name: _bare(path) for name, path in used.items() if path is not None}
        same = {"title": self.study.title, "budget": {"name": self.budget, **limits}, "data": data}
        described = json.loads(json.dumps(_described(self.study)))
        if not (self.output / RESULTS).exists():
            return {**described, **json.loads(json.dumps(same)), "rows": {}}
        known = _known(self.output)
        _check_settings(known, same, self.output)
        return {**known, **described}


def report(study: Study, output: Path) -> Path:
    """Write the report of `output` again from its results; returns its path. Nothing is run.

    Raises:
        InputError: no results there, or another study's.
    """
    _known(output)  # before there is a lock in a folder of something else
    with locked(output / LOCK, wait=True):
        known = _known(output)
        _check({"title": known.get("title")}, {"title": study.title}, output)
        _write({**known, **_described(study)}, output)
    return output / _REPORT


def _seeded(config: RunConfig, number: int) -> RunConfig:
    return replace(config, training=replace(config.training, seed=config.training.seed + number))


def _write(results: dict[str, Any], output: Path) -> None:
    for name in (RESULTS, _REPORT):  # the folder's lock is held
        remove_partial(output / name)
    write_json(output / RESULTS, results)
    with replacing(output / _REPORT) as temporary:
        temporary.write_text(render(results), encoding="utf-8")


def _described(study: Study) -> dict[str, Any]:
    """The data of the report besides scores; changes to it do not need new runs."""
    paper = {row.name: row.paper for row in study.rows}
    return {
        "title": study.title,
        "source": study.source,
        "base": study.base,
        "ranked": study.ranked,
        "paper": paper,
    }


_KEYS = {"title", "source", "base", "ranked", "paper", "budget", "data", "rows"}


def _known(output: Path) -> dict[str, Any]:
    known = read_json(output / RESULTS)
    try:
        runs = [run for runs in known["rows"].values() for run in runs]
        if known.keys() >= _KEYS and all(run.keys() >= {"f1", "conditions"} for run in runs):
            return known
    except (AttributeError, KeyError, TypeError):
        pass
    raise InputError(
        f"{output / RESULTS} is not of a study, or of an older fabir: name another folder"
    )


def _check_settings(
    then: dict[str, Any], now: dict[str, Any], output: Path, where: str = ""
) -> None:
    before, after = _flat({key: then.get(key, {}) for key in now}), _flat(now)
    # An option that the results lack is newer than they are: they have its default. A value that
    # their budget lacks was the rows' own: the configurations tell whether it is another.
    if "config" in then:
        before = _defaults(now["config"]["reader"], then["config"].keys()) | before
    known = {
        key: value
        for key, value in after.items()
        if key in before or not key.startswith(("config.", "budget."))
    }
    _check(before, known, output, where)


def _defaults(reader: str, of: Collection[str]) -> dict[str, Any]:
    """The defaults of all options of some sections of a configuration, by names such as
    `config.training.epochs`."""
    sections = {"network": registered(reader).config} | SECTIONS
    options = {name: asdict(sections[name]()) for name in sections.keys() & of}
    return _flat({"config": json.loads(json.dumps(options))})


def _check(then: dict[str, Any], now: dict[str, Any], output: Path, where: str = "") -> None:
    before, after = _flat(then), _flat(now)
    for key in {**after, **before}:
        old, new = before.get(key, "unset"), after.get(key, "unset")
        if old != new:
            raise InputError(
                f"{output} was made with {key} {old}{where}, and now it is {new}: name another "
                "folder"
            )


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested values by their present names, such as `training.epochs`."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = new_name(f"{prefix}{key}")
        if isinstance(value, dict):
            flat |= _flat(value, f"{name}.")
        else:
            flat[name] = new_value(f"{prefix}{key}", value)
    return flat


def _bare(path: Path | str) -> str:
    """A file's name, compressed or not; of an archive the name of the file in it."""
    return re.sub(r".*\.zip:|\.gz$", "", Path(path).name, flags=re.IGNORECASE)
