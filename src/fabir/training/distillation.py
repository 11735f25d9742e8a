"""Probabilities that trained readers, the teachers, give the places of an answer: the targets of a
student beside the answers (knowledge distillation, Hinton et al. 2015)."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from fabir.data.features import Features, Ragged, renumber
from fabir.errors import InputError
from fabir.files import cache_folder, replacing, writing
from fabir.progress import track
from fabir.runtime.base import Model, load_model, logits
from fabir.runtime.settings import SETTINGS, read_states
from fabir.runtime.store import model_files
from fabir.training.examples import Examples
from fabir.training.settings import TrainingConfig

_VERSION = "1"
_TOKENS = 32 * 150  # tokens of the passages in a batch, approximately
_FLOOR = -30.0  # of logarithms of probabilities


def teacher_digest(folder: Path) -> str:
    """SHA-256 of a reader's network and of its files, but for the other settings.

    Raises:
        InputError: the folder holds no reader.
    """
    settings = read_states(folder)[0]
    digest = hashlib.sha256(repr((settings.reader, settings.network)).encode())
    for name, path in model_files(folder).items():
        if name != SETTINGS:
            digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()


def teacher_probabilities(
    teachers: Sequence[Path],
    parts: Sequence[Features],
    config: TrainingConfig,
    places: int,
    cache: Path | None = None,
) -> Ragged:
    """Of each question [places, 2] probabilities of start and end: the teachers' normalised
    geometric mean.

    Every question that is not too long has them, with an answer or without, but for those of files
    that no teacher reads (`taught`). What a teacher says of a training file is cached on disk, so
    another student or another mixture of teachers need not wait for it.

    Args:
        teachers: folders of readers
        parts: the features of each training file
        places: places before each passage, 0 or 1: see `Vocabulary.no_answer`

    Raises:
        InputError: the student may say by such a place that there is no answer, a teacher not. If
            only the teacher may, its other places teach.
    """
    said = [
        _average([_cached(folder, part, config, places, cache) for folder in teachers[:readers]])
        if readers
        else Ragged(np.zeros((0, 2), np.float16), np.zeros(len(part.questions) + 1, np.int64))
        for part, readers in zip(parts, config.taught or [len(teachers)] * len(parts), strict=True)
    ]
    lengths = np.concatenate([part.lengths for part in said])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Ragged(np.concatenate([part.values for part in said]), offsets)


def _average(said: Sequence[Ragged]) -> Ragged:
    """The normalised geometric mean of what teachers say of one file: probabilities, float16."""
    chances = np.zeros(said[0].values.shape, np.float32)
    for each in said:
        chances += each.values / np.float32(len(said))
    np.exp(chances, out=chances)
    lengths = said[0].lengths
    begins = said[0].offsets[:-1][lengths > 0]
    if len(begins):
        sums = np.add.reduceat(chances, begins, axis=0)
        chances /= np.repeat(sums, lengths[lengths > 0], axis=0)
    return Ragged(chances.astype(np.float16), said[0].offsets)


def _cached(
    folder: Path, features: Features, config: TrainingConfig, places: int, cache: Path | None
) -> Ragged:
    """What one teacher says of one file: logarithms of probabilities, float16."""
    digest = hashlib.sha256(repr((_VERSION, config.max_passage, config.max_question)).encode())
    digest.update(teacher_digest(folder).encode())
    for part in (features.passages, features.questions):
        digest.update(part.values.tobytes() + part.offsets.tobytes())
    spelt = "\n".join(features.spellings).encode("utf-8", "surrogatepass")
    digest.update(features.passage_of.tobytes() + spelt)
    path = (cache or cache_folder("teachers")) / f"{digest.hexdigest()}.npz"
    try:
        with open(path, "rb") as file, np.load(file) as arrays:
            found = Ragged(arrays["values"], arrays["offsets"])
    except Exception:  # whatever a damaged archive raises, the entry can be made again
        found = _read(load_model(folder), features, config)
        with (
            writing(path, wait=True),
            replacing(path) as temporary,
            open(temporary, "wb") as file,
        ):
            np.savez(file, values=found.values, offsets=found.offsets)
    lengths = features.passages.lengths[features.passage_of]
    own_places = (found.lengths - lengths)[found.lengths > 0].max(initial=0)
    if own_places < places:
        raise InputError(
            f"the teacher {folder} has no place for no answer before the passage, but the student "
            "has: train them on the same kind of data"
        )
    return found if own_places == places else _without_place(found)


def _without_place(said: Ragged) -> Ragged:
    """What a teacher says of the words of a passage, without the place before it."""
    words = np.ones(len(said.values), bool)
    words[said.offsets[:-1][said.lengths > 0]] = False
    lengths = np.maximum(said.lengths - 1, 0)
    return Ragged(said.values[words], np.concatenate([[0], np.cumsum(lengths)]))


def _read(teacher: Model, features: Features, config: TrainingConfig) -> Ragged:
    table, passages, questions = renumber(features, teacher.vocabulary)
    places = len(table.before)
    lengths = passages.lengths[features.passage_of] + places
    usable = (lengths <= config.max_passage + places) & (questions.lengths > 0)
    usable &= questions.lengths <= config.max_question
    rows = np.flatnonzero(usable)
    passage_of, file_of = features.passage_of, np.zeros(len(lengths), np.int32)
    all_of = Examples(table, passages, questions, rows, passage_of, features.spans, file_of)
    used = np.where(usable, lengths, 0)
    offsets = np.concatenate([[0], np.cumsum(used)])
    values = np.empty((offsets[-1], 2), np.float16)
    if not len(rows):
        return Ragged(values, offsets)
    rows = rows[np.lexsort((passage_of[rows], lengths[rows]))]
    batches = np.split(rows, np.flatnonzero(np.diff(np.cumsum(lengths[rows]) // _TOKENS)) + 1)

    def read(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = logits(teacher, all_of.batch(chosen)[0])
        return found.start, found.end

    with ThreadPoolExecutor(teacher.parallel) as pool:
        found = zip(batches, pool.map(read, batches), strict=True)
        for chosen, sides in track(found, "the teacher reads", len(batches)):
            for side, scores in enumerate(sides):
                scores = scores - scores.max(axis=1, keepdims=True)
                scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
                np.maximum(scores, _FLOOR, out=scores)
                for row, each in zip(chosen, scores, strict=True):
                    values[offsets[row] : offsets[row + 1], side] = each[: lengths[row]]
    return Ragged(values, offsets)
