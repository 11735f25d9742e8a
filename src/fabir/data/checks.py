"""What commands check before they make a data set or ask its questions."""

from pathlib import Path

from fabir.data.dataset import Dataset
from fabir.errors import InputError


def check_apart(output: str | Path, *inputs: str | Path | None) -> None:
    """Check before long work that none of the files that are read would be written over.

    Raises:
        InputError: `output` is one of `inputs`, perhaps through a symbolic link.
    """
    written = Path(output).resolve()
    if any(each is not None and Path(each).resolve() == written for each in inputs):
        raise InputError(f"{output} is read, and would be written over: name another file")


def check_seed(seed: int) -> None:
    """Check the seed of NumPy's generator.

    Raises:
        InputError: it is negative.
    """
    if seed < 0:
        raise InputError(f"the seed must be at least 0, not {seed}")


def check_labelled(data: Dataset) -> None:
    """Check that the answer to each question is known, also that there is none.

    Raises:
        InputError: a question lacks `answers`, and is not marked as unanswerable.
    """
    for _, question in data.questions:
        if not question.labelled:
            raise InputError(f"question {question.id!r} has no reference answers to evaluate with")
