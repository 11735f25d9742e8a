"""A predictor is what its model and its options make it, in every process."""

from pathlib import Path
from typing import Any

import pytest

from exporting import exported_once
from fabir import pipeline
from fabir.answer.predictor import Predictor
from fabir.bulk.readers import as_predictor, digest_of, find_reader
from fabir.errors import InputError


def test_a_predictor_a_pipeline_and_names_are_readers(reader: Path) -> None:
    predictor = Predictor.load(reader)
    assert find_reader(predictor) is find_reader(pipeline(model=predictor)) is predictor
    assert find_reader(reader) == find_reader([str(reader)]) == [str(reader)]
    assert find_reader(None) == find_reader("fast")
    assert repr(as_predictor(reader)) == repr(predictor)
    wrong: Any
    for wrong, message in ((3, "named by a folder or a name"), ("no", "there is no folder no")):
        with pytest.raises(InputError, match=message):
            find_reader(wrong)


def test_what_changes_answers_changes_the_digest(
    reader: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    exported = exported_once(tmp_path_factory)[1]
    made = [
        Predictor.load(reader),
        Predictor.load(reader, max_words=3),
        Predictor.load(reader, threshold=0.5),
        Predictor.load(exported),
        Predictor.load([exported, reader]),
    ]
    digests = [digest_of(predictor) for predictor in made]
    assert len(set(digests)) == len(made)
    for predictor in made:
        predictor.answer("Who?", "Ada did.")
    again = [Predictor.load(reader), *made[1:4], Predictor.load([exported, reader])]
    assert [digest_of(predictor) for predictor in again] == digests
    made[-1].model.no_answer_threshold /= 2  # pyright: ignore[reportAttributeAccessIssue]
    assert digest_of(made[-1]) != digests[-1]
    assert digest_of([str(reader)]) != digest_of([str(exported)])
