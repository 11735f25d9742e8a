"""Running a study: train what is missing, go on with what broke off, measure, report.

What a study is, is `fabir.studies.study`; how its results look, `fabir.studies.report`.
"""

import json
import os
import platform
import sys
import time
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
from fabir.files import replacing, write_json
from fabir.reader import Reader
from fabir.studies.report import render
from fabir.studies.study import Study, sample
from fabir.training.checkpoint import FILE, load_checkpoint
from fabir.training.configuration import RunConfig
from fabir.training.metrics import best_scores, hours_until
from fabir.training.run import train

RESULTS, REPORT = "results.json", "report.md"
_GOAL = 77.0  # F1; QANet's paper measures the hours until it is reached
_TIMED = 1000  # questions that are answered once more, to see how fast


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
    rows and seeds can be added later. Each row and seed has a folder of its own there: a reader,
    as `fabir train` writes it.

    Raises:
        InputError: an unknown budget or row, files that cannot be read, or a folder that holds
            another study, budget or data, or a row with other settings.
    """
    rows = study.chosen(names or [])
    configs = {row.name: study.run_config(row, budget) for row in rows}
    results = _results(study, budget, data, output)
    measured: dict[str, list[dict[str, Any]]] = results["rows"]
    missing = [
        (name, seed)
        for seed in range(seeds)  # a table with one seed for all before the next one
        for name in configs
        if seed >= len(measured.get(name, []))
    ]
    if missing:
        data = _sampled(study, budget, data, output)
        dev = read_squad(data.dev, "keep")
        if dev.has_unanswerable:
            silent = {question.id: "" for _, question in dev.questions}
            results["majority"] = evaluate(dev, silent)
    for number, (name, seed) in enumerate(missing, 1):
        folder = f"{name}-seed-{seed}" if seed else name
        print(f"row {number} of {len(missing)}: {folder}", file=sys.stderr)
        training = replace(configs[name].training, seed=configs[name].training.seed + seed)
        config = replace(configs[name], training=training)
        run = _row(config, data, dev, output / folder)
        conditions = {"seed": training.seed, **_settings(study, budget)[name], **_machine()}
        measured.setdefault(name, []).append({**run, "conditions": conditions})
        _write(results, output)
    _write(results, output)
    return output / REPORT


def report(study: Study, output: Path) -> Path:
    """Write the report of `output` again from its results; returns its path. Nothing is run.

    Raises:
        InputError: no results there, or another study's.
    """
    known = _known(output)
    _check(known, {"title": study.title}, output)
    _write({**known, **_described(study)}, output)
    return output / REPORT


def _write(results: dict[str, Any], output: Path) -> None:
    write_json(output / RESULTS, results)
    with replacing(output / REPORT) as temporary:
        temporary.write_text(render(results), encoding="utf-8")


def _described(study: Study) -> dict[str, Any]:
    """What the report needs beside measures; it may change without any row being run again."""
    paper = {row.name: row.paper for row in study.rows}
    return {"title": study.title, "source": study.source, "base": study.base, "paper": paper}


def _settings(study: Study, budget: str) -> dict[str, dict[str, Any]]:
    """What the study changes of each row's configuration, and the budget does not."""
    settings = {
        row.name: {"network": row.network, "training": row.training.get(budget, {})}
        for row in study.rows
    }
    return json.loads(json.dumps(settings))


def _results(study: Study, budget: str, data: Data, output: Path) -> dict[str, Any]:
    """What is known so far, with all that the report needs beside the measures."""
    described = _described(study) | {
        "budget": {"name": budget, **asdict(study.budget(budget))},
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
    _check(known, {key: described[key] for key in ("title", "budget", "data")}, output)
    for name, settings in _settings(study, budget).items():
        for run in known["rows"].get(name, []):
            _check(run["conditions"], settings, output, f" for {name}")
    return {**known, **described}


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


def _check(known: dict[str, Any], wanted: dict[str, Any], output: Path, where: str = "") -> None:
    for key, value in wanted.items():
        if known.get(key) != value:
            raise InputError(f"{output} was made with another {key}{where}: name another folder")


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
    began = time.perf_counter()
    for _ in read_dataset(Predictor(reader), timed):
        pass
    seconds = time.perf_counter() - began
    return {
        **best_scores(folder),
        **hours_until(folder, _GOAL),
        "parameters": sum(weights.numel() for weights in reader.network.parameters()),
        "epochs": progress.epoch,
        "training_hours": round(progress.seconds / 3600, 3),
        "training_rate": round(progress.step * config.training.batch_size / progress.seconds, 1),
        "answering_rate": round(len(timed) / seconds, 1),
    }


def _machine() -> dict[str, str | int]:
    gpu = torch.cuda.is_available()
    return {
        "fabir": __version__,
        "torch": torch.__version__,
        "processor": torch.cuda.get_device_name() if gpu else platform.machine(),
        "cores": os.cpu_count() or 1,
        "date": time.strftime("%Y-%m-%d"),
    }
