"""Questions of TriviaQA, with a folder of documents."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from fabir.data.published.records import Entry, Options
from fabir.data.published.triviaqa import reader
from fabir.errors import InputError

PAGE = "Lloyd Webber wrote many musicals.\nSunset  Boulevard opened in 1993 on sunset blvd.\n"
SITE = "The official site. Musicals: Sunset Blvd., Cats and more."
ANSWER = {
    "Aliases": ["Sunset Blvd", "Sunset Boulevard", "Boul"],
    "MatchedWikiEntityName": "Sunset Boulevard",
    "NormalizedAliases": ["sunset blvd", "sunset boulevard"],
    "NormalizedMatchedWikiEntityName": "sunset boulevard",
    "NormalizedValue": "sunset boulevard",
    "Type": "WikipediaEntity",
    "Value": "Sunset Boulevard",
}


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    for name, text in (("wikipedia/Andrew_Lloyd_Webber.txt", PAGE), ("web/35/35_995.txt", SITE)):
        path = tmp_path / "evidence" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "evidence"


def question(**fields: Any) -> dict[str, Any]:
    pages = [{"DocSource": "TagMe", "Filename": "Andrew_Lloyd_Webber.txt", "Title": "Lloyd Webber"}]
    results = [{"Filename": "35/35_995.txt", "Rank": 0, "Title": "Site", "Url": "http://a.example"}]
    asked = {"Question": "Which musical premiered in 1993?", "QuestionId": "tc_33"}
    return asked | {"Answer": ANSWER, "EntityPages": pages, "SearchResults": results} | fields


def read(evidence: Path, record: Any, *, max_words: int = 0, **document: Any) -> list[Entry]:
    path = evidence.parent / "qa.json"
    path.write_text(json.dumps({"Data": [record], **document}, indent=4, sort_keys=True))
    return list(reader(path, Options(evidence, max_words=max_words))(record))


def test_each_document_is_a_text_with_the_places_of_all_names(evidence: Path) -> None:
    page, site = read(evidence, question())
    assert (page.title, page.text) == ("Andrew_Lloyd_Webber.txt", PAGE)
    assert page.questions == [
        {
            "id": "tc_33--Andrew_Lloyd_Webber.txt",
            "question": "Which musical premiered in 1993?",
            "answers": [
                {"text": "Sunset  Boulevard", "answer_start": PAGE.index("Sunset")},
                {"text": "sunset blvd", "answer_start": PAGE.index("sunset blvd")},
            ],
        }
    ]
    (other,) = site.questions
    assert other["id"] == "tc_33--35/35_995.txt"
    assert other["answers"] == [{"text": "Sunset Blvd", "answer_start": SITE.index("Sunset")}]
    assert page.left_out == site.left_out == []


def test_answers_of_people_count_too(evidence: Path) -> None:
    answer = {"Value": "Hats", "Aliases": [], "HumanAnswers": ["Cats"], "NormalizedAliases": []}
    page, site = read(evidence, question(Answer=answer))
    assert page.left_out == ["with no answer in the text"]
    assert [each["text"] for each in site.questions[0]["answers"]] == ["Cats"]


def test_a_text_is_cut_before_the_answers_are_searched(evidence: Path) -> None:
    page, site = read(evidence, question(), max_words=8)
    assert page.text == "Lloyd Webber wrote many musicals.\nSunset  Boulevard"
    assert len(page.questions[0]["answers"]) == 1
    assert site.text == "The official site. Musicals: Sunset Blvd"
    page, _ = read(evidence, question(), max_words=6)
    assert (page.questions, page.left_out) == ([], ["with no answer in the text"])


def test_documents_are_found_whatever_form_their_names_have(evidence: Path) -> None:
    name = unicodedata.normalize("NFD", "Pelé_(Footballer).txt")
    (evidence / "wikipedia" / name).write_text(PAGE)
    named = [{"Filename": "Pelé_(footballer).txt"}]
    (entry,) = read(evidence, question(EntityPages=named, SearchResults=[]))
    assert entry.questions[0]["id"] == "tc_33--Pelé_(footballer).txt"


def test_what_lacks_a_text_is_left_out(evidence: Path) -> None:
    (evidence / "wikipedia" / "Blank.txt").write_text(" \n")
    pages = [{"Filename": "Gone.txt"}, {"Filename": "Blank.txt"}, {"Title": "no file"}] * 2
    entries = read(evidence, question(EntityPages=pages, SearchResults=[]))
    assert [each.left_out for each in entries] == [["whose document is missing"], ["blank"]]
    (entry,) = read(evidence, question(EntityPages=[], SearchResults=[]))
    assert entry.left_out == ["without a document"]


def test_a_question_of_the_test_set_has_no_answers(evidence: Path) -> None:
    record = question(SearchResults=[])
    del record["Answer"]
    (entry,) = read(evidence, record)
    assert list(entry.questions[0]) == ["id", "question"]


def test_of_a_verified_file_only_what_people_accepted(evidence: Path) -> None:
    good = question(QuestionPartOfVerifiedEval=True)
    good["EntityPages"] = [{**good["EntityPages"][0], "DocPartOfVerifiedEval": True}]
    good["SearchResults"] = [{**good["SearchResults"][0], "DocPartOfVerifiedEval": False}]
    rejected = question(QuestionPartOfVerifiedEval=False)
    of_wikipedia = {"VerifiedEval": True, "Domain": "Wikipedia", "Version": 1.0}
    assert [entry.title for entry in read(evidence, good, **of_wikipedia)] == [
        "Andrew_Lloyd_Webber.txt"
    ]
    assert len(read(evidence, good, VerifiedEval=True, Domain="Web")) == 2
    (entry,) = read(evidence, rejected, **of_wikipedia)
    assert (entry.questions, entry.left_out) == ([], ["that people rejected"])
    assert len(read(evidence, rejected, VerifiedEval=False, Domain="Wikipedia")) == 2


def test_a_folder_of_documents_must_be_named(tmp_path: Path, evidence: Path) -> None:
    path = tmp_path / "qa.json"
    with pytest.raises(InputError, match=r"folder `evidence`, .* with --evidence"):
        reader(path, Options())
    with pytest.raises(InputError, match="wikipedia has neither a folder `web` nor"):
        reader(path, Options(evidence / "wikipedia"))


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ("tc_33", "expected an object, got str"),
        (question(QuestionId=None), 'field "QuestionId": expected a string, got null'),
        (question(Answer=["Sunset"]), 'field "Answer": expected an object, got list'),
        (question(Answer={"Aliases": []}), 'field "Value": missing'),
        (question(Answer=ANSWER | {"Aliases": [3]}), 'field "Answer": expected a string, got int'),
        (question(EntityPages=["a.txt"]), 'field "EntityPages": expected a list of objects'),
        (question(EntityPages=[{"Filename": 3}]), 'field "Filename": expected a string, got int'),
    ],
)
def test_a_bad_record_is_said(evidence: Path, record: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(evidence, record)
