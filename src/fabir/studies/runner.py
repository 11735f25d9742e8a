"""Running a study: train what is missing, go on with what broke off, measure, report.

Studies are defined in `fabir.studies.study`. Their results are in `fabir.studies.results`, and
their reports in `fabir.studies.report`.
"""

import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from fabir import __version__
from fabir.answer.files import no_answer_probabilities, predictions, read_dataset
from fabir.answer.predictor import Predictor
from fabir.cpu_info import cpu_name
from fabir.data.dataset import Dataset
from fabir.data.squad import read_squad, write_squad
from fabir.errors import InputError
from fabir.evaluation.squad import evaluate, evaluate_by_halves
from fabir.files import locked, writing
from fabir.process_settings import tune_for_training
from fabir.runtime.torch_model import TorchModel
from fabir.studies.results import LOCK, Run, Table
from fabir.studies.study import Budget, Study, sample
from fabir.training.checkpoint import FILE, load_checkpoint
from fabir.training.inputs import RunFiles
from fabir.training.launch import end_with_parent, in_launcher
from fabir.training.metrics import best_scores, curve, hours_until, median_rate
from fabir.training.run import check_network, train
from fabir.training.settings import RunConfig

_GOAL = 77.0  # F1; QANet's paper measures the hours until a run reaches it
_DESCRIBED = "--always", "--dirty", "--abbrev=40", "--exclude=*"
_TIMED, _ROUNDS = 1000, 3  # questions to measure the speed of answering, and repetitions


def reproduce(
    study: Study,
    budget: str,
    files: RunFiles,
    output: Path,
    names: list[str] | None = None,
    seeds: int = 1,
) -> Path:
    """Run the rows called `names`, or all, into the folder `output`; returns the report's path.

    Measured rows are kept. So a run can be interrupted at any time, and rows and seeds can be added
    later. Several processes may run the same study in the same folder: each skips rows that another
    one is training. With several GPUs there is one process for each. Each row and seed has a folder
    of its own with a reader, as `fabir train` writes it.

    Raises:
        InputError: an unknown budget or row, files that cannot be read, a folder that holds
            another study, budget or data, or a row with other settings, or a launcher that has
            started several processes for one row; a training that diverges, once the other rows
            are done.
    """
    if in_launcher():
        raise InputError("a study starts its own processes: run it without torchrun or accelerate")
    table = Table(study, budget, files, output)
    runs = table.runs(names or [], seeds)
    with table.opened() as results:
        table.check(results)
        missing = [run for run in runs if not table.measured(results, run)]
        if not missing:
            return table.report
        used = _sampled(study, budget, files, output)
    if min(torch.cuda.device_count(), len(missing)) > 1:
        _on_gpus(len(missing), study, budget, files, output, names, seeds)
        return table.report
    _check_networks(missing, used)
    limit = study.budget(budget).questions
    further = {run.folder: _further(run, files.train[0], limit, output) for run in missing}
    dev = used.read_dev()
    if dev.has_unanswerable:
        majority = evaluate(dev, {question.id: "" for _, question in dev.questions})
        with table.opened() as results:
            results["majority"] = majority
    failed = []
    for number, run in enumerate(missing, 1):
        with locked(output / f"{LOCK}.{run.folder}") as ours:
            if ours and table.begin(run):
                print(f"row {number} of {len(missing)}: {run.folder}", file=sys.stderr)
                with_further = replace(used, train=used.train + further[run.folder])
                try:
                    scores = _row(
                        _config(run, study.budget(budget)), with_further, dev, output / run.folder
                    )
                except InputError as error:
                    print(f"row {run.folder}: {error}", file=sys.stderr)
                    failed.append(run.folder)
                else:
                    table.finish(run, scores, _machine())
            else:
                who = "was measured" if ours else "is being trained"
                print(f"row {run.folder} {who} by another process", file=sys.stderr)
    if failed:
        raise InputError(f"rows without a result, for the reasons above: {', '.join(failed)}")
    return table.report


def _on_gpus(most: int, *job: Any) -> None:
    """Run a study in a process for each visible GPU, at most `most`; they share the rows."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = seen.split(",") if seen else [str(gpu) for gpu in range(torch.cuda.device_count())]
    processes = []
    try:
        for gpu in gpus[:most]:
            os.environ["CUDA_VISIBLE_DEVICES"] = gpu  # read when a process starts
            process = multiprocessing.get_context("spawn").Process(target=_work, args=job)
            process.start()
            processes.append(process)
    finally:
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        os.environ |= {"CUDA_VISIBLE_DEVICES": seen} if seen else {}
    for process in processes:
        process.join()
    if failed := [process.exitcode for process in processes if process.exitcode]:
        sys.exit(failed[0])


def _work(*job: Any) -> None:
    end_with_parent()
    tune_for_training()
    try:
        reproduce(*job)
    except InputError as error:
        print(f"fabir reproduce: {error}", file=sys.stderr)
        sys.exit(2)


def _sampled(study: Study, budget: str, files: RunFiles, output: Path) -> RunFiles:
    """The files that the budget allows, written beside the results."""
    limits = study.budget(budget)
    train = (_sample(files.train[0], limits.questions, output / "train.json.gz"),)
    dev = files.dev and _sample(files.dev, limits.dev_questions, output / "dev.json.gz")
    return replace(files, train=train, dev=dev)


def _further(run: Run, beside: Path, questions: int, output: Path) -> tuple[Path, ...]:
    """The row's own training files, or their parts that the budget allows.

    Raises:
        InputError: one of them is not there.
    """
    found = [beside.with_name(name) for name in run.row.train]
    if missing := [path for path in found if not path.exists()]:
        raise InputError(f"row {run.row.name} trains on {missing[0]} too, which is not there")
    parts = (output / f"further-{path.name}.json.gz" for path in found)  # none is the main sample
    return tuple(_sample(path, questions, part) for path, part in zip(found, parts, strict=True))


def _sample(path: Path, questions: int, part: Path) -> Path:
    """The file `path`, or if it is to have fewer questions, `part` of it."""
    if not questions:
        return path
    with writing(part, wait=True):
        if not part.exists():
            write_squad(sample(read_squad(path, "skip"), questions), part)
    return part


def _check_networks(runs: list[Run], files: RunFiles) -> None:
    """Raise InputError for a row whose network does not fit the vectors, before any training."""
    dim = files.read_vectors().dim
    for run in runs:
        try:
            check_network(run.config, dim)
        except InputError as error:
            raise InputError(f"row {run.row.name}: {error}") from error


def _config(run: Run, budget: Budget) -> RunConfig:
    """The row's configuration. Vectors that the budget names may have any dimension."""
    if not budget.vectors:
        return run.config
    return replace(run.config, vectors=replace(run.config.vectors, dim=0))


def _row(config: RunConfig, files: RunFiles, dev: Dataset, folder: Path) -> dict[str, Any]:
    """Train a row's reader to the end, or on to it, and measure it."""
    train(config, files, folder, resume=(folder / FILE).exists())
    progress = load_checkpoint(folder)[0]
    reader, timed = TorchModel.load(folder), sample(dev, _TIMED)
    if torch.cuda.is_available():
        reader.network.cuda()
    seconds = statistics.median(_seconds(reader, timed) for _ in range(_ROUNDS))
    return {
        **best_scores(folder, last=config.training.no_answer_alone),
        **_by_threshold(reader, dev),
        **hours_until(folder, _GOAL),
        "curve": curve(folder),
        "parameters": sum(weights.numel() for weights in reader.network.parameters()),
        "epochs": progress.epoch,
        "training_hours": round(progress.seconds / 3600, 3),
        "training_rate": round(median_rate(folder) * config.training.batch_size, 1),
        "answering_rate": round(len(timed) / seconds, 1),
    }


def _by_threshold(reader: TorchModel, dev: Dataset) -> dict[str, float]:
    """Scores with thresholds that were not chosen on the questions that they are used on.

    At 0.5 there is no answer where its place is likelier than the best span: the rule of A3 and of
    the ladder to R-Net.
    """
    if not (dev.has_unanswerable and reader.tells_no_answer):
        return {}
    found = dict(read_dataset(Predictor(reader), dev))
    given = predictions(found), no_answer_probabilities(found)
    scores = {"papers_rule": evaluate(dev, *given, 0.5)}
    if len({passage.title for passage, _ in dev.questions}) > 1:
        scores["by_halves"] = evaluate_by_halves(dev, *given)
    return {
        f"{rule}_{key}": values[key] for rule, values in scores.items() for key in ("f1", "exact")
    }


def _seconds(reader: TorchModel, questions: Dataset) -> float:
    """Time to answer the questions in seconds, with empty caches."""
    predictor = Predictor(reader)
    began = time.perf_counter()
    for _ in read_dataset(predictor, questions):
        pass
    return time.perf_counter() - began


def _machine() -> dict[str, str | int]:
    gpu = torch.cuda.is_available()
    machine = (
        {"processor": torch.cuda.get_device_name()}
        if gpu
        else {"processor": cpu_name(), "cores": torch.get_num_threads()}
    )
    return {
        "fabir": __version__,
        "torch": torch.__version__,
        **machine,
        "date": time.strftime("%Y-%m-%d"),
        **_commit(),
    }


def _commit() -> dict[str, str]:
    """The commit of the code that runs, if it is in a git repository."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        for command in (["ls-files", "--error-unmatch", __file__], ["describe", *_DESCRIBED]):
            found = subprocess.run([*git, *command], capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": found.stdout.strip()}
