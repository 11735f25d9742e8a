"""Running a study: train what is missing, go on with what broke off, measure, report.

What a study is, is `fabir.studies.study`; how its results look, `fabir.studies.report`.
"""

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from fabir import __version__
from fabir.answer.files import read_dataset
from fabir.answer.predictor import Predictor
from fabir.data.squad import Dataset, read_json, read_squad, write_squad
from fabir.errors import InputError
from fabir.evaluation.squad import evaluate
from fabir.files import locked, replacing, write_json
from fabir.reader import Reader
from fabir.studies.report import render
from fabir.studies.study import Study, sample
from fabir.training.checkpoint import FILE, load_checkpoint
from fabir.training.configuration import RunConfig
from fabir.training.metrics import best_scores, hours_until, median_rate
from fabir.training.run import train

RESULTS, REPORT, _LOCK = "results.json", "report.md", ".lock"
_GOAL = 77.0  # F1; QANet's paper measures the hours until it is reached
_TIMED, _ROUNDS = 1000, 3  # questions that are answered again, so often, to see how fast


@dataclass(frozen=True)
class Data:
    """The files of a run: SQuAD files to train on and to measure with, and word vectors."""

    train: Path
    dev: Path
    vectors: Path | str


def reproduce(
    study: Study,
    budget: str,
    data: Data,
    output: Path,
    names: list[str] | None = None,
    seeds: int = 1,
) -> Path:
    """Run the rows called `names`, or all, into the folder `output`; returns the report's path.

    A row that is measured already stays as it is, so that a run can be broken off at any time, and
    rows and seeds can be added later. Several processes may run the same study in the same folder:
    a row that another one is training is left to it. Each row and seed has a folder of its own
    there: a reader, as `fabir train` writes it.

    Raises:
        InputError: an unknown budget or row, files that cannot be read, a folder that holds
            another study, budget or data, or a row with other settings, or a launcher that has
            started several processes for one row.
    """
    if "RANK" in os.environ:
        raise InputError("a study starts its own processes: run it without torchrun or accelerate")
    configs = {
        (row.name, seed): _seeded(study.run_config(row, budget), seed)
        for seed in range(seeds)  # a table with one seed for all before the next one
        for row in study.chosen(names or [])
    }
    with _results(study, budget, data, output) as results:
        _check_rows(results, study, budget, output)
        missing = [row for row in configs if not _measured(results, configs, row)]
        if not missing:
            return output / REPORT
        used = _sampled(study, budget, data, output)
        dev = read_squad(used.dev, "keep")
        if dev.has_unanswerable:
            silent = {question.id: "" for _, question in dev.questions}
            results["majority"] = evaluate(dev, silent)
    for number, row in enumerate(missing, 1):
        name, seed = row
        folder = f"{name}-seed-{seed}" if seed else name
        settings = {"seed": configs[row].training.seed, **_settings(study, budget, name)}
        with locked(output / f".{folder}{_LOCK}") as ours:
            with _results(study, budget, data, output) as results:
                done = _measured(results, configs, row)
                if ours and not done:
                    begun = results.setdefault("begun", {}).setdefault(folder, settings)
                    _check(begun, settings, output, f" for {folder}")
            if done or not ours:
                who = "measured" if done else "being trained"
                print(f"row {folder} is {who} by another process", file=sys.stderr)
                continue
            print(f"row {number} of {len(missing)}: {folder}", file=sys.stderr)
            run = _row(configs[row], used, dev, output / folder)
            with _results(study, budget, data, output) as results:
                runs = results["rows"].setdefault(name, [])
                runs.append({**run, "conditions": {**settings, **_machine()}})
                runs.sort(key=lambda run: run["conditions"]["seed"])
                del results["begun"][folder]
    return output / REPORT


def report(study: Study, output: Path) -> Path:
    """Write the report of `output` again from its results; returns its path. Nothing is run.

    Raises:
        InputError: no results there, or another study's.
    """
    known = _known(output)
    _check({"title": known.get("title")}, {"title": study.title}, output)
    _write({**known, **_described(study)}, output)
    return output / REPORT


def _seeded(config: RunConfig, seed: int) -> RunConfig:
    return replace(config, training=replace(config.training, seed=config.training.seed + seed))


def _measured(
    results: dict[str, Any], configs: dict[tuple[str, int], RunConfig], row: tuple[str, int]
) -> bool:
    runs = results["rows"].get(row[0], [])
    return configs[row].training.seed in [run["conditions"]["seed"] for run in runs]


def _write(results: dict[str, Any], output: Path) -> None:
    write_json(output / RESULTS, results)
    with replacing(output / REPORT) as temporary:
        temporary.write_text(render(results), encoding="utf-8")


def _described(study: Study) -> dict[str, Any]:
    """What the report needs beside measures; it may change without any row being run again."""
    paper = {row.name: row.paper for row in study.rows}
    return {
        "title": study.title,
        "source": study.source,
        "base": study.base,
        "ranked": study.ranked,
        "paper": paper,
    }


def _settings(study: Study, budget: str, name: str) -> dict[str, Any]:
    """What a row is run with: what the study changes of its configuration and the budget does not,
    and, but for the seed, all of the configuration."""
    (row,) = study.chosen([name])
    config = asdict(study.run_config(row, budget))
    del config["training"]["seed"]
    changed = {key: getattr(row, key).get(budget, {}) for key in ("network", "training")}
    return json.loads(json.dumps({**changed, "config": config}))


@contextmanager
def _results(study: Study, budget: str, data: Data, output: Path) -> Iterator[dict[str, Any]]:
    """What is known so far, with all that the report needs beside the measures; what is changed in
    it is written. Other processes wait meanwhile."""
    with locked(output / _LOCK, wait=True):
        results = _opened(study, budget, data, output)
        if not results["rows"]:
            _write(results, output)  # the folder is this budget's before there is anything in it
        yield results
        _write(results, output)


def _opened(study: Study, budget: str, data: Data, output: Path) -> dict[str, Any]:
    limits = asdict(study.budget(budget))
    del limits["vectors"]  # those that are used are among the data
    described = _described(study) | {
        "budget": {"name": budget, **limits},
        "data": {
            "train": _bare(data.train),
            "dev": _bare(data.dev),
            "vectors": _bare(data.vectors),
        },
    }
    described = json.loads(json.dumps(described))
    path = output / RESULTS
    if not path.exists():
        return {**described, "rows": {}}
    known = _known(output)
    same = "title", "budget", "data"
    _check({key: known.get(key) for key in same}, {key: described[key] for key in same}, output)
    return {**known, **described}


def _check_rows(results: dict[str, Any], study: Study, budget: str, output: Path) -> None:
    """Refuse to go on with rows whose settings are no longer those they were run with."""
    for row in study.rows:
        for run in results["rows"].get(row.name, []):
            then = run["conditions"]
            now = _settings(study, budget, row.name)
            then = {key: then.get(key, {}) for key in now}
            # An option that fabir has got since is as it was when there was none.
            known = _flat(then)
            now = {
                key: value
                for key, value in _flat(now).items()
                if key in known or not key.startswith("config.")
            }
            _check(known, now, output, f" for {row.name}")


def _known(output: Path) -> dict[str, Any]:
    known = read_json(output / RESULTS)
    try:
        runs = [run for runs in known["rows"].values() for run in runs]
        if all(run.keys() >= {"f1", "conditions"} for run in runs):
            return known
    except (AttributeError, KeyError, TypeError):
        pass
    raise InputError(
        f"{output / RESULTS} is not of a study, or of an older fabir: name another folder"
    )


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
    """Values within values by names such as `training.epochs`."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        flat |= _flat(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return flat


def _bare(path: Path | str) -> str:
    """A file's name, compressed or not; of an archive the name of the file in it."""
    return Path(path).name.rpartition(".zip:")[2].removesuffix(".gz")


def _sampled(study: Study, budget: str, data: Data, output: Path) -> Data:
    """The files that the budget allows, written beside the results."""
    limits = study.budget(budget)
    named = {"train": limits.questions, "dev": limits.dev_questions}
    paths = {}
    for name, questions in named.items():
        path = getattr(data, name)
        if questions:
            part = output / f"{name}.json.gz"
            if not part.exists():
                write_squad(sample(read_squad(path, "skip"), questions), part)
            path = part
        paths[name] = path
    return Data(paths["train"], paths["dev"], data.vectors)


def _row(config: RunConfig, data: Data, dev: Dataset, folder: Path) -> dict[str, float]:
    """Train a row's reader to the end, or on to it, and measure it."""
    train(
        config,
        [data.train],
        data.dev,
        folder,
        vectors_file=data.vectors,
        resume=(folder / FILE).exists(),
        on_bad_answer="skip",
    )
    progress = load_checkpoint(folder)[0]
    reader, timed = Reader.load(folder), sample(dev, _TIMED)
    seconds = statistics.median(_seconds(reader, timed) for _ in range(_ROUNDS))
    return {
        **best_scores(folder),
        **hours_until(folder, _GOAL),
        "parameters": sum(weights.numel() for weights in reader.network.parameters()),
        "epochs": progress.epoch,
        "training_hours": round(progress.seconds / 3600, 3),
        "training_rate": round(median_rate(folder) * config.training.batch_size, 1),
        "answering_rate": round(len(timed) / seconds, 1),
    }


def _seconds(reader: Reader, questions: Dataset) -> float:
    """How long it takes to answer them, with no words remembered from before."""
    began = time.perf_counter()
    for _ in read_dataset(Predictor(reader), questions):
        pass
    return time.perf_counter() - began


def _machine() -> dict[str, str | int]:
    gpu = torch.cuda.is_available()
    return {
        "fabir": __version__,
        "torch": torch.__version__,
        "processor": torch.cuda.get_device_name() if gpu else platform.machine(),
        "cores": torch.get_num_threads(),
        "date": time.strftime("%Y-%m-%d"),
    }
