"""Reading and writing SQuAD files: what is kept, what is refused, and how the refusal reads."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.data.dataset import Answer, Dataset, Passage, Question, joined
from fabir.data.squad import read_squad, write_squad
from fabir.errors import InputError
from fabir.text.units import is_blank

TEXT = "Rain falls. Snow falls too."


def qa(id: str = "q1", **fields: Any) -> dict[str, Any]:
    return {"id": id, "question": "What falls?"} | fields


def answer(text: Any = "Rain", start: Any = 0) -> dict[str, Any]:
    return {"text": text, "answer_start": start}


def document(*qas: Any, version: Any = "1.1", context: Any = TEXT) -> dict[str, Any]:
    paragraphs = [{"context": context, "qas": list(qas)}]
    return {"version": version, "data": [{"title": "Weather", "paragraphs": paragraphs}]}


def save(folder: Path, content: Any) -> Path:
    path = folder / "data.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_squad(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_reads_version_1_1(tmp_path: Path) -> None:
    first = qa("q1", answers=[answer(), answer("Snow", 12)])
    data = read_squad(save(tmp_path, document(first, qa("q2", answers=[answer("Snow", 12)]))))
    assert data.version == "1.1"
    assert not data.has_unanswerable
    assert len(data) == 2
    assert repr(data) == "<Dataset: 2 questions, 1 passages>"
    assert data.bad_answers == ()
    passage, question = next(data.questions)
    assert (passage.text, passage.title) == (TEXT, "Weather")
    assert question == Question("q1", "What falls?", (Answer("Rain", 0), Answer("Snow", 12)))


def test_reads_version_2_0(tmp_path: Path) -> None:
    impossible = qa("q2", answers=[], is_impossible=True, plausible_answers=[answer("Snow", 12)])
    content = document(qa(answers=[answer()], is_impossible=False), impossible, version="v2.0")
    questions = [question for _, question in read_squad(save(tmp_path, content)).questions]
    assert [question.impossible for question in questions] == [False, True]
    assert questions[1].answers == ()
    assert questions[1].plausible == (Answer("Snow", 12),)


def test_is_impossible_makes_it_version_2_0(tmp_path: Path) -> None:
    data = read_squad(save(tmp_path, document(qa(answers=[answer()], is_impossible=False))))
    assert data.version == "v2.0"
    assert data.has_unanswerable


EMPTY = answer(text="", start=-1)
# The other fields of a question, whether it is impossible, and whether it contradicts itself.
LABELS: list[tuple[dict[str, Any], bool, bool]] = [
    ({"answers": []}, True, False),
    ({"answers": [], "is_impossible": True}, True, False),
    ({"answers": [], "is_impossible": False}, True, True),
    ({"answers": [EMPTY]}, True, False),
    ({"answers": [EMPTY], "is_impossible": True}, True, False),
    ({"answers": [answer(text=" ")], "is_impossible": True}, True, False),
    ({"answers": [answer()], "is_impossible": True}, False, True),
    ({"answers": [EMPTY, answer()]}, False, False),
    ({"is_impossible": True}, True, False),
    ({"is_impossible": False}, False, False),
]


@pytest.mark.parametrize("version", ["1.1", "v2.0", None])
@pytest.mark.parametrize(("labels", "impossible", "contradicts"), LABELS)
def test_no_answer_is_what_has_no_answers(
    labels: dict[str, Any],
    impossible: bool,
    contradicts: bool,
    version: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = read_squad(save(tmp_path, document(qa(**labels), version=version)))
    ((_, question),) = data.questions
    assert question.impossible == impossible
    assert data.has_unanswerable == (impossible or "is_impossible" in labels or version == "v2.0")
    expected = (Answer("Rain", 0),) if answer() in labels.get("answers", []) else ()
    assert question.answers == expected
    said = capsys.readouterr().err
    assert said.count("1 questions whose is_impossible contradicts") == contradicts


ASKED = {"question": "What falls?", "answers": {"text": ["Rain"], "answer_start": [0]}}
PARAGRAPH = {"context": TEXT, "qas": [qa(id="1", answers=[answer()])]}


@pytest.mark.parametrize(
    "content",
    [
        [{**ASKED, "context": TEXT, "id": 1}],  # pandas.to_json(orient="records")
        {"version": "0.1", "data": [{**ASKED, "context": TEXT, "id": "1"}]},  # run_qa.py
        [PARAGRAPH],
        {"data": [PARAGRAPH]},
        [{"title": None, "paragraphs": [PARAGRAPH]}],
        document({**qa(answers=[answer(start=0.0)]), "id": 1}, version=None),
    ],
)
def test_files_of_other_tools_are_read(content: Any, tmp_path: Path) -> None:
    ((passage, question),) = read_squad(save(tmp_path, content)).questions
    assert (passage.text, question) == (TEXT, Question("1", "What falls?", (Answer("Rain", 0),)))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ([{**ASKED, "context": TEXT}, 3], "row 2, expected an object, got int"),
        ([{**ASKED}], 'row 1, field "context": missing'),
        ([PARAGRAPH, 3], "paragraph 2, expected an object, got int"),
        (document(qa(answers=[answer(start=0.5)])), "expected an integer, got float"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(content: Any, problem: str, tmp_path: Path) -> None:
    assert problem in refusal(save(tmp_path, content))


def test_questions_without_answers_title_or_version_are_fine(tmp_path: Path) -> None:
    content = {"data": [{"paragraphs": [{"context": TEXT, "qas": [qa()]}]}]}
    data = read_squad(save(tmp_path, content))
    assert [(p.title, q.answers, q.impossible) for p, q in data.questions] == [("", (), False)]


@pytest.mark.parametrize("name", ["data.json.gz", "DATA.JSON.GZ"])
def test_reads_gzip_and_a_byte_order_mark(tmp_path: Path, name: str) -> None:
    content = b"\xef\xbb\xbf" + json.dumps(document(qa(answers=[answer()]))).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content))
    assert len(read_squad(path)) == 1


MALFORMED: list[tuple[Any, str]] = [
    ([], "expected an object, got list"),
    ({}, 'field "data": missing'),
    ({"data": {}}, 'field "data": expected a list, got dict'),
    ({"data": [], "version": []}, 'field "version": expected a string, got list'),
    ({"data": [3]}, "article 1, expected an object, got int"),
    ({"data": [{"title": "W"}]}, 'article 1, field "paragraphs": missing'),
    ({"data": [{"title": 1, "paragraphs": []}]}, 'field "title": expected a string, got int'),
    (document(context=None), 'field "context": expected a string, got null'),
    (document(context=" \n"), "article 1 'Weather', paragraph 1, field \"context\": blank"),
    (document({"question": "?"}), 'paragraph 1, question 1, field "id": missing'),
    (document({"id": "q"}), "question 'q', field \"question\": missing"),
    (document(qa(id="")), 'question 1, field "id": blank'),
    (document(qa(question="  ")), "question 'q1', field \"question\": blank"),
    (document(qa(question="\u00ad")), "question 'q1', field \"question\": blank"),
    (document(qa(), qa()), "question 'q1', field \"id\": another question of this file"),
    (document(qa(answers="Rain")), 'field "answers": expected a list, got str'),
    (document(qa(answers=["Rain"])), "question 'q1', answer 1, expected an object, got str"),
    (document(qa(answers=[{"text": "Rain"}])), 'answer 1, field "answer_start": missing'),
    (document(qa(answers=[answer(), answer(start="0")])), "answer 2, field"),
    (document(qa(answers=[answer(start=False)])), "expected an integer, got bool"),
    (document(qa(answers=[answer(text=None)])), 'field "text": expected a string, got null'),
    (document(qa(is_impossible=1)), 'field "is_impossible": expected true or false, got int'),
    (document(qa(plausible_answers=[{}])), 'plausible answer 1, field "text": missing'),
    (document(qa(question="lone \ud83d")), "half a surrogate pair at character 5"),
    (
        document(qa(answers=[{"text": "\ud83d", "answer_start": 0}])),
        'answer 1, field "text": half a surrogate pair',
    ),
]


@pytest.mark.parametrize(("content", "problem"), MALFORMED)
def test_malformed_files_are_refused_with_the_place(
    tmp_path: Path, content: Any, problem: str
) -> None:
    assert problem in refusal(save(tmp_path, content))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"data": [\n  {"title" 1}]}', "not valid JSON at line 2 column 12"),
        (b"", "not valid JSON at line 1 column 1"),
        (b'{"data": "\xff"}', "not UTF-8 text (byte 10"),
        (b"[" * 100_000, "cannot be read as JSON"),
    ],
)
def test_what_is_not_json_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(content)
    assert problem in refusal(path)


def test_blank_texts_are_read_if_they_are_allowed(tmp_path: Path) -> None:
    for content in (
        document(qa(question="\u200b"), context=" "),
        [{"question": "\u200b", "context": " "}],
    ):
        path = save(tmp_path, content)
        assert "blank" in refusal(path)
        ((passage, question),) = read_squad(path, allow_blank=True).questions
        assert (passage.text, question.text) == (" ", "\u200b")


def test_damaged_gzip_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps(document(qa(answers=[answer()]))).encode())
    path = tmp_path / "data.json.gz"
    broken = whole[:30] + bytes(byte ^ 0xFF for byte in whole[30:50]) + whole[50:]
    for content in (whole[:-10], b"not gzip at all", broken):
        path.write_bytes(content)
        assert "damaged gzip file" in refusal(path)


def test_missing_file_and_unknown_option_are_refused(tmp_path: Path) -> None:
    refusal(tmp_path / "none.json")
    with pytest.raises(InputError, match="--on-bad-answer"):
        read_squad(save(tmp_path, document()), on_bad_answer="guess")  # type: ignore[arg-type]


BAD = document(
    qa("right", answers=[answer()]),
    qa("moved", answers=[answer("falls", 20)]),  # occurs at 5 and 17
    qa("gone", answers=[answer("Hail", 3)]),
    qa("half", answers=[answer("Hail", 3), answer("Snow", 12)]),
    qa("blank", answers=[answer(" ", 4)]),
    qa("negative", answers=[answer("too.", -4)]),
)


def test_bad_answers_are_an_error_that_says_how_to_go_on(tmp_path: Path) -> None:
    message = refusal(save(tmp_path, BAD))
    assert ": 5 (" in message
    assert "moved: answer 1 'falls' is not at offset 20" in message
    assert "and 2 more" in message
    assert "--on-bad-answer" in message


def test_bad_answers_skipped(tmp_path: Path) -> None:
    data = read_squad(save(tmp_path, BAD), on_bad_answer="skip")
    assert {q.id: q.answers for _, q in data.questions} == {
        "right": (Answer("Rain", 0),),
        "half": (Answer("Snow", 12),),
    }
    assert "half: answer 1 'Hail' is not at offset 3; dropped" in data.bad_answers
    assert "blank: answer 1 is blank; dropped" in data.bad_answers
    removed = [line.split(":")[0] for line in data.bad_answers if line.endswith("removed")]
    assert removed == ["moved", "gone", "blank", "negative"]


def test_bad_answers_repaired(tmp_path: Path) -> None:
    data = read_squad(save(tmp_path, BAD), on_bad_answer="repair")
    found = {question.id: question.answers for _, question in data.questions}
    assert found["moved"] == (Answer("falls", 17),)
    assert found["negative"] == (Answer("too.", 23),)
    assert found.keys() == {"right", "moved", "half", "negative"}
    assert "moved: answer 1 'falls' is not at offset 20; moved to 17" in data.bad_answers


def test_bad_answers_kept(tmp_path: Path) -> None:
    data = read_squad(save(tmp_path, BAD), on_bad_answer="keep")
    assert len(data) == 6
    assert {q.id: q.answers for _, q in data.questions}["gone"] == (Answer("Hail", 3),)
    assert len(data.bad_answers) == 5


def test_questions_with_the_same_id(tmp_path: Path) -> None:
    twice = [qa(answers=[answer()]), qa(answers=[answer("Snow", 12)]), qa("q1-2", answers=[])]
    path = save(tmp_path, document(*twice))
    for choice in ("error", "keep"):
        assert "another question of this file has the same id" in refusal(
            path, on_bad_answer=choice
        )
    skipped, repaired = (read_squad(path, choice) for choice in ("skip", "repair"))
    assert [question.id for _, question in skipped.questions] == ["q1", "q1-2"]
    assert skipped.bad_answers[0].startswith("q1: another question of this file has the same id")
    assert [question.id for _, question in repaired.questions] == ["q1", "q1-2", "q1-2-2"]
    assert repaired.bad_answers == (
        "q1: another question of this file has the same id; it is q1-2 now",
        "q1-2: another question of this file has the same id; it is q1-2-2 now",
    )


def test_a_question_that_is_removed_leaves_its_id_to_the_next(tmp_path: Path) -> None:
    twice = [qa(answers=[answer("Hail", 0)]), qa(answers=[answer("Snow", 12)])]
    data = read_squad(save(tmp_path, document(*twice)), on_bad_answer="skip")
    assert [question.answers for _, question in data.questions] == [(Answer("Snow", 12),)]


def test_what_stands_for_no_plausible_answer_is_none(tmp_path: Path) -> None:
    nothing = [answer("", -1)]
    impossible = qa(answers=nothing, is_impossible=True, plausible_answers=nothing)
    ((_, question),) = read_squad(save(tmp_path, document(impossible))).questions
    assert (question.answers, question.plausible) == ((), ())


def test_a_question_keeps_its_place_without_a_bad_plausible_answer(tmp_path: Path) -> None:
    impossible = qa(answers=[], is_impossible=True, plausible_answers=[answer("Hail", 0)])
    data = read_squad(save(tmp_path, document(impossible)), on_bad_answer="skip")
    assert [question.plausible for _, question in data.questions] == [()]
    assert data.bad_answers == ("q1: plausible answer 1 'Hail' is not at offset 0; dropped",)


@given(
    text=st.text("ab ", min_size=1, max_size=30).filter(str.strip),
    start=st.integers(-40, 40),
    answer_text=st.text("ab", min_size=1, max_size=3),
)
def test_repair_takes_the_nearest_occurrence(
    tmp_path_factory: pytest.TempPathFactory, text: str, start: int, answer_text: str
) -> None:
    content = document(qa(answers=[answer(answer_text, start)]), context=text)
    path = save(tmp_path_factory.getbasetemp(), content)
    found = [q.answers for _, q in read_squad(path, on_bad_answer="repair").questions]
    places = [at for at in range(len(text)) if text.startswith(answer_text, at)]
    if not places:
        assert found == []
    else:
        nearest = min(places, key=lambda at: abs(at - max(start, 0)))
        assert found == [(Answer(answer_text, nearest),)]


words = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: not is_blank(text))


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    v2 = draw(st.booleans())
    ids = iter(f"q{number}" for number in range(100))

    def question(text: str) -> Question:
        start = draw(st.integers(0, len(text) - 1))
        piece = Answer(text[start : draw(st.integers(start + 1, len(text)))], start)
        pieces = (piece,) if piece.text.strip() else ()
        impossible = v2 and draw(st.booleans())
        answers, plausible = ((), pieces) if impossible else (pieces, ())
        return Question(next(ids), draw(words), answers, impossible, plausible)

    def passage() -> Passage:
        text = draw(words)
        questions = tuple(question(text) for _ in range(draw(st.integers(0, 3))))
        return Passage(text, draw(st.sampled_from(["", "A", "B"])), questions)

    passages = tuple(passage() for _ in range(draw(st.integers(0, 3))))
    return Dataset(passages, "v2.0" if v2 else "1.1")


@given(data=datasets(), name=st.sampled_from(["data.json", "data.json.gz"]))
def test_what_is_written_reads_back_equal(
    tmp_path_factory: pytest.TempPathFactory, data: Dataset, name: str
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    write_squad(data, path)
    assert read_squad(path) == data


@pytest.mark.parametrize("name", ["data.json.gz", "DATA.JSON.GZ"])
def test_a_name_that_ends_in_gz_is_written_gzipped(tmp_path: Path, name: str) -> None:
    write_squad(Dataset((), "1.1"), tmp_path / name)
    written = gzip.decompress((tmp_path / name).read_bytes())
    assert json.loads(written) == {"version": "1.1", "data": []}


def test_questions_of_several_files_have_ids_of_their_own() -> None:
    def data(*ids: str) -> Dataset:
        return Dataset((Passage(TEXT, "", tuple(Question(id, "?", ()) for id in ids)),), "1.1")

    together = joined([data("1", "2", "2-2"), data("2", "3"), data("2")])
    assert [asked.id for _, asked in together.questions] == ["1", "2", "2-2", "2-3", "3", "2-4"]


def test_neighbouring_passages_of_one_title_make_one_article(tmp_path: Path) -> None:
    passages = tuple(Passage(TEXT, title, ()) for title in ("A", "A", "B"))
    write_squad(Dataset(passages, "1.1"), tmp_path / "out.json")
    articles = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["data"]
    assert [(a["title"], len(a["paragraphs"])) for a in articles] == [("A", 2), ("B", 1)]


def test_official_files_that_are_missing_are_named_with_the_command_that_fetches_them(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "my data"
    with pytest.raises(InputError) as caught:
        read_squad(folder / "dev-v1.1.json")
    assert str(caught.value) == (
        f"there is no {folder}/dev-v1.1.json: `fabir download squad --to '{folder}'` fetches it"
    )
    with pytest.raises(InputError, match="other\\.json: No such file"):
        read_squad(folder / "other.json")
