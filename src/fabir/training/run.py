"""From the files a user names to a trained reader in a folder: what `fabir train` does."""

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fabir.data.dataset import Dataset, joined
from fabir.data.features import Features, load_features
from fabir.errors import InputError
from fabir.evaluation.squad import evaluate
from fabir.files import writing
from fabir.layers.embedding import VocabularySizes
from fabir.progress import counted
from fabir.readers import build_network
from fabir.runtime.locate import find_model
from fabir.runtime.store import VOCABULARY, check_vacant, read_vocabulary
from fabir.runtime.torch_model import TorchModel
from fabir.text.vectors import Vectors
from fabir.text.vocabulary import Vocabulary, build_vocabulary
from fabir.training.checkpoint import FILE, Progress, load_checkpoint
from fabir.training.distillation import teacher_digest, teacher_probabilities
from fabir.training.examples import Examples, usable_examples
from fabir.training.inputs import RunFiles
from fabir.training.launch import Job, best_processes, in_launcher, launch
from fabir.training.metrics import best_evaluation
from fabir.training.notes import is_first_process, note
from fabir.training.settings import RunConfig, TrainingConfig
from fabir.training.trackers import check_trackers

_HEAD = "no_answer."  # begins the names of its weights
# Each begins a digest in a checkpoint's settings. Older versions wrote none of them.
_ANSWERS, _BATCHES = " answers ", " batches "
_DRAW = "batch_size", "mix", "length_groups", "questions_per_passage", "seed"


def train(
    config: RunConfig,
    files: RunFiles,
    output: Path,
    *,
    resume: bool = False,
    processes: int | None = None,
    log_with: Sequence[str] = (),
) -> float:
    """Train a reader into the folder `output`; returns the best F1 on the dev set.

    Args:
        resume: go on from the last checkpoint in `output`
        processes: how many train together on this machine; as many as are fastest if not said
        log_with: trackers that get the metrics too, of `trackers.TRACKERS`

    Raises:
        InputError: files that cannot be read, a folder in use or with another model, another
            process that trains into it, a checkpoint of other settings, a tracker that is not
            installed.
    """
    check_trackers(log_with)
    files = replace(files, hold_back=files.dev is None)
    # Of the processes that a launcher starts, all with one folder, the first one holds the lock.
    first = is_first_process()
    with writing(output) if first else nullcontext():
        if not resume:
            if (output / FILE).exists():
                raise InputError(
                    f"{output} holds a training run: add --resume to go on, or name another"
                )
            check_vacant(output)
        if in_launcher() and processes not in (None, 1):
            raise InputError("processes are counted twice: by the launcher and by --processes")
        if resume and _is_finished(progress := load_checkpoint(output)[0], config.training):
            note(f"{output} is trained to its end ({counted(progress.epoch, 'epoch')})")
            return progress.best_f1
        if processes is None:
            processes = best_processes(config.training)
        # The job has no name here, so that `launch` can free it.
        launch(_job(config, files, output, resume, tuple(log_with)), processes)
        if first:  # which writes the metrics; others may be here before
            best = best_evaluation(output, last=config.training.no_answer_alone)
            scores = f"F1 {best['f1']:.1f}, EM {best['exact']:.1f}"
            note(f"{output}: {scores} after epoch {best['epoch']:g} of {config.training.epochs}")
        return load_checkpoint(output)[0].best_f1


def check_network(config: RunConfig, dim: int) -> None:
    """Check before long work that a network can be built with vectors of `dim` numbers.

    Raises:
        InputError: it cannot.
    """
    sizes = VocabularySizes(word_dim=dim, trained_words=1, fixed_words=0, characters=2)
    with torch.device("meta"):  # shapes alone
        build_network(config.reader, config.network, sizes)


def _is_finished(progress: Progress, config: TrainingConfig) -> bool:
    """Whether nothing is left to do.

    Raises:
        InputError: nothing is left to do, and nothing was evaluated.
    """
    if progress.epoch == config.epochs and not progress.batch:
        finished = progress.logged == progress.step  # else the last evaluation was stopped
    else:
        finished = progress.epoch >= config.epochs or progress.out_of_patience(config.patience)
    if finished and progress.best_f1 < 0:
        more = progress.epoch + 1
        raise InputError(f"nothing was evaluated yet: resume with training.epochs {more} or more")
    return finished


def _job(
    config: RunConfig, files: RunFiles, output: Path, resume: bool, log_with: tuple[str, ...]
) -> Job:
    dev = files.read_dev()
    if files.hold_back:
        held = f"{len(dev)} questions of {files.train[0]} are held back"
        note(f"without --dev {held} to evaluate with")
    evaluate(dev, {question.id: "" for _, question in dev.questions})  # can it be, in the end?
    teachers = [find_model(name) for name in files.teachers]
    if max(config.training.taught, default=0) > len(teachers):
        raise InputError(
            f"training.taught is {list(config.training.taught)}, with {len(teachers)} teachers: "
            "name as many with --teacher"
        )
    digests = [teacher_digest(folder) for folder in teachers]
    for folder in teachers:
        _check_tokeniser(config, read_vocabulary(folder), folder)
    ready = prepare(config, files)
    examples, settings = ready.examples, " ".join([ready.settings, *digests])
    settings += _ANSWERS + _answers(examples, dev) + _BATCHES + _batches(config.training)
    if resume:
        batches = len(examples.epoch(0, config.training))
        _check_resumable(output, settings, batches, ready.reader, config.training)
    if teachers:
        places = len(examples.table.before)
        read = zip(files.read_train(quiet=True), files.train, strict=True)
        parts = [
            load_features(
                data,
                [path],
                on_unaligned=files.on_unaligned,
                tokeniser=config.vocabulary.tokeniser,
            )
            for data, path in read
        ]
        said = teacher_probabilities(teachers, parts, config.training, places)
        examples = replace(examples, teacher_probabilities=said)
    return Job(ready.reader, config.training, examples, dev, output, settings, resume, log_with)


class Prepared(NamedTuple):
    """A new or continued reader, its training data, and a digest of both."""

    reader: TorchModel
    examples: Examples
    settings: str


def prepare(config: RunConfig, files: RunFiles) -> Prepared:
    """Everything that a run starts with, except its dev set and its teacher.

    Raises:
        InputError: files that cannot be read, or a reader to go on from that has another network.
    """
    vectors = None if files.start or files.words else _vectors(config, files)
    parts = list(files.read_train())
    file_of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    data = joined(parts)
    tokeniser = config.vocabulary.tokeniser
    features = load_features(
        data, files.train, on_unaligned=files.on_unaligned, tokeniser=tokeniser
    )
    _report(data, features, files)
    torch.manual_seed(config.training.seed)
    no_answer = any(question.impossible for _, question in data.questions)
    if files.start:
        reader = _continued(config, files.start, files.words)
    elif files.words:
        reader = _sharing(config, files.words)
    else:
        assert vectors
        reader = _new(config, features, vectors, no_answer, files.vectors)
    _check_tokeniser(config, reader.vocabulary, files.start or files.words)
    head = reader.network.tells_no_answer
    if head and not no_answer:
        reader.no_answer_threshold = 1.0
        stays = "stays as it is" if files.start else "is not trained"
        note(
            f"all questions have an answer: the head that tells that there is none {stays}, and "
            "the model always answers"
        )
        for name, parameter in reader.network.named_parameters():
            if name.startswith(_HEAD):  # which weight decay would change too
                parameter.requires_grad_(False)
    if config.training.no_answer_alone:
        if not head or not no_answer:
            raise InputError(
                "training.no_answer_alone needs a network with a head (network.no_answer_hidden) "
                "and questions without an answer"
            )
        for name, parameter in reader.network.named_parameters():
            parameter.requires_grad_(name.startswith(_HEAD))
    examples = usable_examples(
        features, reader.vocabulary, config.training, file_of, unanswerable=head
    )
    return Prepared(reader, examples, _settings(config, features, reader))


def _check_tokeniser(config: RunConfig, vocabulary: Vocabulary, folder: Path | None) -> None:
    if vocabulary.tokeniser != config.vocabulary.tokeniser:
        raise InputError(
            f"the model in {folder} has the tokeniser {vocabulary.tokeniser}: "
            f"train with --vocabulary.tokeniser {vocabulary.tokeniser}"
        )


def _check_resumable(
    output: Path, settings: str, batches: int, reader: TorchModel, config: TrainingConfig
) -> None:
    progress, groups = load_checkpoint(output)
    (old, _, drawn), (new, _, draws) = (
        each.partition(_BATCHES) for each in (progress.settings, settings)
    )
    (had, _, answered), (has, _, answers) = (each.partition(_ANSWERS) for each in (old, new))
    written = (output / VOCABULARY).exists()  # a run that stopped at its start may have none
    if had != has or (written and read_vocabulary(output) != reader.vocabulary):
        raise InputError(
            f"{output} was trained with another network, vocabulary, training file, vectors "
            "or teacher: resume with the same ones"
        )
    others = progress.step != progress.epoch * batches + progress.batch
    if others or (progress.batch and drawn and drawn != draws):  # between epochs they may change
        raise InputError(
            f"{output} was trained with other batches: resume with the same {', '.join(_DRAW)}, "
            "max_passage and max_question"
        )
    if answered and answered != answers:  # the checkpoints of older versions do not tell
        raise InputError(
            f"{output} was trained with other answers, other limits on lengths or another dev set: "
            "resume with the same ones"
        )
    was = "with" if groups.get("average") else "without"
    if was != ("with" if config.average else "without"):
        raise InputError(f"{output} was trained {was} average: resume {was} it")
    tuned = len(groups["network"].get("embedding.words.tuned", ()))
    if tuned != min(config.word_rows, len(reader.fixed_rows)):
        raise InputError(f"{output} was trained with word_rows {tuned}: resume with as many")


def _vectors(config: RunConfig, files: RunFiles) -> Vectors:
    """The vectors of a new reader, of a dimension that its network takes."""
    vectors = files.read_vectors()
    meant = config.vectors.dim
    if meant not in (0, vectors.dim):
        note(
            f"the vectors in {files.vectors} have {vectors.dim} dimensions, the configuration is "
            f"meant for {meant} (vectors.dim)"
        )
    check_network(config, vectors.dim)
    return vectors


def _new(
    config: RunConfig,
    features: Features,
    vectors: Vectors,
    no_answer: bool,
    file: str | Path | None,
) -> TorchModel:
    has_head = getattr(config.network, "no_answer_hidden", 0) > 0
    vocabulary, rows = build_vocabulary(
        features.counts(), vectors.words, config.vocabulary, no_answer=no_answer and not has_head
    )
    fixed = np.asarray(vectors.matrix[rows])
    largest = np.abs(fixed).max(axis=1, initial=0)
    if (beyond := np.flatnonzero(largest > np.finfo(np.float16).max)).size:
        word = vectors.words[rows[beyond[0]]]
        raise InputError(
            f"{file}: the vector of {word!r} has a number beyond 65504, the largest that a model's "
            "file holds: scale the vectors or leave out the word"
        )
    return TorchModel.build(config.reader, config.network, vocabulary, torch.from_numpy(fixed))


def _sharing(config: RunConfig, words: Path) -> TorchModel:
    """A new reader with the vocabulary and word rows of the reader in `words`."""
    if config.training.word_rows:
        raise InputError("rows that two models share are not trained: set training.word_rows to 0")
    other = TorchModel.load(words)
    reader = TorchModel.build(config.reader, config.network, other.vocabulary, other.fixed_rows)
    reader.fix_words(other.trained_rows)
    return reader


def _continued(config: RunConfig, start: Path, words: Path | None) -> TorchModel:
    """The reader in `start`, with the dropout rates of the configuration. It may get a head that
    tells whether there is an answer, and the vocabulary and word rows of the reader in `words`."""
    old = TorchModel.load(start)
    try:
        if words:
            reader = _sharing(config, words)
        else:
            reader = TorchModel.build(config.reader, config.network, old.vocabulary, old.fixed_rows)
        if reader.vocabulary.characters != old.vocabulary.characters:
            raise InputError(f"the models in {start} and {words} know other characters")
        if (ours := old.fixed_rows.shape[1]) != (theirs := reader.fixed_rows.shape[1]):
            raise InputError(
                f"the word vectors of {start} have {ours} dimensions, and those of {words} {theirs}"
            )
        reader.no_answer_threshold = old.no_answer_threshold
        new = reader.network.state_dict()
        head, rows = (
            {name: new[name] for name in new if name.startswith(part)}
            for part in (_HEAD, "embedding.words.")
        )
        weights = head | old.network.state_dict() | (rows if words else {})
        reader.network.load_state_dict(weights)
    except InputError:
        raise
    except (ValueError, RuntimeError) as error:
        raise InputError(
            f"the model {start} has another network than the configuration: leave `reader` and "
            "`network` out of it, or name no configuration, to take the model's"
        ) from error
    return reader


def _settings(config: RunConfig, features: Features, reader: TorchModel) -> str:
    """A digest of the settings and data of a checkpoint; a resumed run may change its schedule."""
    words = (reader.vocabulary.trained, reader.vocabulary.fixed, reader.vocabulary.characters)
    optimiser = config.training.optimiser
    decides = config.reader, asdict(config.network), optimiser, words
    digest = hashlib.sha256(repr(decides).encode())
    for values in (features.passages.values, features.questions.values):
        digest.update(values.tobytes())
    digest.update(reader.fixed_rows.numpy().tobytes())
    return digest.hexdigest()


def _answers(examples: Examples, dev: Dataset) -> str:
    """A digest of what questions are trained on, with which answers, and of the dev set."""
    digest = hashlib.sha256()
    spans = examples.spans
    for values in (examples.rows, examples.passage_of, spans.offsets, spans.values):
        digest.update(values.tobytes())
    for passage, question in dev.questions:
        answers = [answer.text for answer in question.answers]
        digest.update(ascii((passage.text, question.text, answers)).encode())
    return digest.hexdigest()


def _batches(config: TrainingConfig) -> str:
    """A digest of what decides the batches of an epoch, beside the questions."""
    decides = [getattr(config, name) for name in _DRAW]
    return hashlib.sha256(repr(decides).encode()).hexdigest()


def _report(data: Dataset, features: Features, files: RunFiles) -> None:
    """Say which answers and questions cannot be used."""
    for line in data.bad_answers:
        note(f"bad answer: {line}")
    none = int(((features.spans.lengths == 0) & (features.unaligned > 0)).sum())
    widened = " and are widened to whole words" if files.on_unaligned == "widen" else ""
    hint = "; --on-unaligned widen takes whole words" if none and not widened else ""
    note(
        f"{len(data)} questions; {int(features.unaligned.sum())} answers do not fall on word "
        f"borders{widened}, which leaves {none} questions without an answer to train on{hint}"
    )
