"""The files that a run reads. Its settings are in `fabir.training.settings`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from fabir.data.dataset import Dataset
from fabir.data.features import OnUnaligned
from fabir.data.squad import read_squad
from fabir.data.tables import table_kind
from fabir.errors import InputError
from fabir.text.vectors import Vectors, read_vectors
from fabir.training.notes import note

_EVERY = 10  # the tenth passage, the twentieth and so on are held back


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """The files that a run reads.

    Args:
        train: SQuAD files to train on: all of them, or mixed as `TrainingConfig.mix` says
        dev: the SQuAD file to evaluate with
        hold_back: train without every tenth passage of the first training file, to evaluate with
            these
        vectors: word vectors of a new reader
        words: a reader whose words a new reader has, instead of vectors; they are not trained
        start: the folder of a reader to go on from, instead of vectors; with `words` it gets the
            words of that other reader
        teachers: readers to learn from beside the answers
        on_bad_answer: what happens to an answer of a training file that is not found at its
            offset: "error", "skip" or "repair"
        on_unaligned: what happens to an answer of a training file that begins or ends inside a
            word: "skip" leaves it out, "widen" takes the whole words
    """

    train: tuple[Path, ...]
    dev: Path | None = None
    hold_back: bool = False
    vectors: Path | str | None = None
    words: Path | None = None
    start: Path | None = None
    teachers: tuple[Path | str, ...] = ()
    on_bad_answer: Literal["error", "skip", "repair"] = "error"
    on_unaligned: OnUnaligned = "skip"

    def read_train(self, *, quiet: bool = False) -> Iterator[Dataset]:
        """The labelled questions of each training file. How many are not is said on stderr, unless
        `quiet` is set.

        Raises:
            InputError: a file cannot be read, or none of its questions is labelled.
        """
        for number, path in enumerate(self.train):
            data = self._read_labelled(path, quiet)
            yield _part(data, held=False) if self.hold_back and number == 0 else data

    def read_dev(self) -> Dataset:
        """The dev set, whose answers may stand anywhere, or what is held back.

        Raises:
            InputError: the file cannot be read, or has too few passages to hold some back.
        """
        if self.dev is not None:
            return read_squad(self.dev, "keep")
        held = _part(self._read_labelled(self.train[0], quiet=True), held=True)
        if not len(held):
            raise InputError(f"{self.train[0]} has too few passages to hold back: name --dev")
        return held

    def _read_labelled(self, path: Path, quiet: bool) -> Dataset:
        data = read_squad(path, self.on_bad_answer, quiet=quiet)
        labelled = Dataset(
            tuple(
                replace(each, questions=tuple(asked for asked in each.questions if asked.labelled))
                for each in data.passages
            ),
            data.version,
            data.bad_answers,
        )
        left_out = len(data) - len(labelled)
        if left_out and not len(labelled):
            how = "; `fabir convert` finds those of a column `answer`" if table_kind(path) else ""
            raise InputError(f"{path}: its questions have no `answers` to train on{how}")
        if left_out and not quiet:
            note(f"{path}: {left_out} of {len(data)} questions have no `answers` and are left out")
        return labelled

    def read_vectors(self) -> Vectors:
        """The word vectors.

        Raises:
            InputError: none are named, or they cannot be read.
        """
        if self.vectors is None:
            raise InputError(
                "a new reader needs word vectors: name them with --vectors, or a reader that has "
                "some with --words or --from"
            )
        return read_vectors(self.vectors)


def _part(data: Dataset, *, held: bool) -> Dataset:
    """The passages that are held back, or all others. One that stands several times, as in a table
    of questions, is one passage."""
    numbers: dict[str, int] = {}
    chosen = tuple(
        each
        for each in data.passages
        if (numbers.setdefault(each.text, len(numbers) + 1) % _EVERY == 0) == held
    )
    return replace(data, passages=chosen)
