"""Knowledge distillation (Hinton et al. 2015): a teacher's probabilities for training questions.

The student's targets are mixed with the teacher's probabilities. These tell how good each other
place is too.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from fabir.data.features import Features, Ragged
from fabir.errors import InputError
from fabir.progress import track
from fabir.runtime.base import Model, logits
from fabir.training.examples import Examples, usable_examples
from fabir.training.settings import TrainingConfig

_TOKENS = 32 * 150  # tokens of the passages in a batch, approximately


def with_teacher_probabilities(
    teacher: Model, examples: Examples, features: Features, config: TrainingConfig
) -> Examples:
    """The same examples with the probabilities that `teacher` gives each place of their passages.

    Raises:
        InputError: one of the two readers may say that there is no answer, the other not.
    """
    own = usable_examples(features, teacher.vocabulary, config, examples.file_of)
    if len(own.table.before) != len(examples.table.before):
        raise InputError(
            "teacher and student must both be able to say that there is no answer, or neither: "
            "train them on the same kind of data"
        )
    lengths = own.passages.lengths[own.passage_of] + len(own.table.before)
    rows = own.rows[np.lexsort((own.passage_of[own.rows], lengths[own.rows]))]
    offsets = np.zeros(len(lengths) + 1, np.int64)
    used = np.zeros(len(lengths), np.int64)
    used[rows] = lengths[rows]
    np.cumsum(used, out=offsets[1:])
    values = np.empty((offsets[-1], 2), np.float16)
    batches = np.split(rows, np.flatnonzero(np.diff(np.cumsum(lengths[rows]) // _TOKENS)) + 1)

    def read(chosen: np.ndarray) -> tuple[np.ndarray, ...]:
        return logits(teacher, own.batch(chosen)[0])

    with ThreadPoolExecutor(teacher.parallel) as pool:
        found = zip(batches, pool.map(read, batches), strict=True)
        for chosen, sides in track(found, "the teacher reads", len(batches)):
            for side, scores in enumerate(sides):
                chances = np.exp(scores - scores.max(axis=1, keepdims=True))
                chances /= chances.sum(axis=1, keepdims=True)
                for row, each in zip(chosen, chances, strict=True):
                    values[offsets[row] : offsets[row + 1], side] = each[: lengths[row]]
    return replace(examples, teacher_probabilities=Ragged(values, offsets))
