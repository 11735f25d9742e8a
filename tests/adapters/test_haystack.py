"""The reader in Haystack's pipelines."""

import logging
import math
from typing import Any

import pytest

from fabir.errors import InputError

pytest.importorskip("haystack", reason="Haystack is missing: pip install 'fabir[haystack]'")

from haystack import Document, ExtractedAnswer, Pipeline

from fabir.adapters.haystack import FabirExtractiveReader
from factories import ABBEY, RAIN

DOCUMENTS = [Document(content=RAIN), Document(content=ABBEY)]


@pytest.fixture(scope="module")
def reader() -> FabirExtractiveReader:
    return FabirExtractiveReader()


def answers_of(reader: FabirExtractiveReader, query: str, **options: Any) -> list[ExtractedAnswer]:
    return reader.run(query, DOCUMENTS, **options)["answers"]


def test_answers_stand_where_they_say(reader: FabirExtractiveReader) -> None:
    answers = answers_of(reader, "Who founded the abbey?", no_answer=False)
    assert (answers[0].data or "").startswith("William")
    assert {answer.document and answer.document.id for answer in answers} == {
        document.id for document in DOCUMENTS
    }
    for answer in answers:
        assert answer.document is not None
        assert answer.document_offset is not None
        text = answer.document.content or ""
        assert answer.data == text[answer.document_offset.start : answer.document_offset.end]
    scores = [answer.score for answer in answers]
    assert scores == sorted(scores, reverse=True)


def test_the_answer_without_text_has_the_rest_of_the_probability(
    reader: FabirExtractiveReader,
) -> None:
    answers = answers_of(reader, "Who founded the abbey?", top_k=3)
    (none,) = (answer for answer in answers if answer.data is None)
    others = [answer.score for answer in answers if answer is not none]
    assert len(others) == 3
    assert none.score == pytest.approx(math.prod(1 - score for score in others))
    assert none.document is none.document_offset is None
    assert answers_of(reader, "Who is the king of France?")[0].data is None


def test_a_threshold_holds_for_all_answers(reader: FabirExtractiveReader) -> None:
    (answer,) = answers_of(reader, "Who founded the abbey?", score_threshold=0.6)
    assert answer.score >= 0.6
    assert answers_of(reader, "Who founded the abbey?", score_threshold=1) == []
    with pytest.raises(InputError, match="a threshold is a probability"):
        answers_of(reader, "Who founded the abbey?", score_threshold=2)
    with pytest.raises(InputError, match="top_k"):
        FabirExtractiveReader(top_k=0)


def test_what_cannot_be_asked_is_refused_whatever_documents_there_are(
    reader: FabirExtractiveReader,
) -> None:
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ("", {}, "the query is empty"),
        ("\u200b \u200d", {}, "the query is empty"),
        (None, {}, "the query is NoneType, not str"),
        ("Who?", {"score_threshold": 7}, "a threshold is a probability"),
        ("Who?", {"top_k": 0}, "top_k"),
    ]
    for documents in ([], [Document(content=None)], DOCUMENTS):
        for query, options, said in wrong:
            with pytest.raises(InputError, match=said):
                reader.run(query, documents, **options)


def test_documents_without_text_are_named(
    reader: FabirExtractiveReader, caplog: pytest.LogCaptureFixture
) -> None:
    assert reader.run("Who?", []) == {"answers": []}
    with caplog.at_level(logging.WARNING):
        (none,) = reader.run("Who?", [Document(id="image", content=None)])["answers"]
    assert (none.data, none.score) == (None, 1)
    assert "Document image has no text" in caplog.text


def test_the_page_of_an_answer(reader: FabirExtractiveReader) -> None:
    document = Document(content=f"A list of abbeys.\f{ABBEY}", meta={"page_number": 4})
    answer = reader.run("Who founded the abbey?", [document])["answers"][0]
    assert answer.meta == {"answer_page_number": 5}


def test_it_is_written_and_read_without_its_model() -> None:
    pipeline = Pipeline()
    pipeline.add_component("reader", FabirExtractiveReader("nowhere", 7, 0.5, no_answer=False))
    text = pipeline.dumps()
    read = Pipeline.loads(text, allowed_modules=["fabir.adapters.haystack"])
    assert read.dumps() == text
    reader: Any = read.get_component("reader")
    data = reader.to_dict()
    assert FabirExtractiveReader.from_dict(data).to_dict() == data
    options = {"model": "nowhere", "top_k": 7, "score_threshold": 0.5, "no_answer": False}
    assert data["init_parameters"] == options
    with pytest.raises(InputError, match="nowhere"):
        read.warm_up()


def test_a_model_of_transformers_is_named() -> None:
    with pytest.raises(InputError, match=r"is by its name a model of transformers.*leave model="):
        FabirExtractiveReader(model="deepset/roberta-base-squad2")
