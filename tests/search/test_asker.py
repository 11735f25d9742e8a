"""Asking an index: answers that stand where they say, the best of all passages, or none."""

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from calling import refused
from collection import PAGES, write_collection, write_pdf
from fabir.answer.predictor import Answer, Predictor, Reading
from fabir.cli import main
from fabir.errors import InputError
from fabir.runtime.settings import NEUTRAL, Calibration
from fabir.search import prompt
from fabir.search.asker import Asker, Found, Result, merge
from fabir.search.index import Index, Passage
from fabir.search.show import place
from office_files import paragraph, row, write_docx, write_xlsx

FITTED = Calibration(
    bias=0.352,
    search=0.073,
    reader=6.074,
    lead=0.3,
    least=0.151,
    answerable=0.17,
    unknown_name=-1.759,
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    write_collection(folder)
    write_pdf(folder / "mill.pdf", PAGES)
    return folder


@pytest.fixture(scope="module")
def index(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Index:
    pytest.importorskip("pypdfium2")
    return Index.build([collection], tmp_path_factory.mktemp("index"))


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor.load()


class Pointing:
    """In place of a Predictor: answers with the words it is told, if the passage has them."""

    def __init__(self, **scores: float) -> None:
        self.scores = scores
        self.model = SimpleNamespace(no_answer_threshold=0.9, calibration=FITTED)
        self.threshold: float | None = None
        self.read: list[str] = []

    def read_all(self, pairs: Iterable[tuple[str, str]], top_k: int = 1) -> Iterator[Reading]:
        for _, passage in pairs:
            self.read.append(passage)
            answers = [
                Answer(word, passage.index(word), passage.index(word) + len(word), score)
                for word, score in self.scores.items()
                if word in passage
            ]
            yield Reading(answers, 0.0 if answers else 1.0)


def asker(index: Index, **scores: float) -> tuple[Asker, Pointing]:
    pointing: Any = Pointing(**scores)
    return Asker(index, pointing), pointing


@pytest.mark.parametrize(
    ("question", "text", "document", "page", "line"),
    [
        ("Who flew the first kite?", "Anna Mill", "kites.md", None, 3),
        ("When does snow fall?", "winter", "deep/rain.txt", None, 3),
        ("How high is the lighthouse of Skagen?", "46", "deep/er/page.html", None, None),
        ("When was the mill built?", "1902", "mill.pdf", 1, None),
        ("What was the wheel made of?", "oak", "mill.pdf", 2, None),
        ("How many steps has the tower?", "99", "rows.jsonl#7", None, 3),
    ],
)
def test_answers_stand_where_they_say(
    index: Index, question: str, text: str, document: str, page: int | None, line: int | None
) -> None:
    asking, pointing = asker(index, **{text: 0.9})
    found = asking.ask(question)[0]
    assert (found.text, found.document, found.page, found.line) == (text, document, page, line)
    assert found.passage[found.passage_start : found.passage_end] == text
    assert found.end - found.start == len(text)
    assert text in found.sentence
    assert found.sentence in found.passage
    assert 0 < len(pointing.read) <= 5


def test_offsets_are_those_of_the_file(index: Index, collection: Path) -> None:
    [found] = asker(index, **{"Anna Mill": 0.9})[0].ask("Who flew the first kite?")
    text = (collection / "kites.md").read_text("utf-8")
    assert text[found.start : found.end] == "Anna Mill"
    assert found.sentence == "The first kite of the valley was flown by Anna Mill in 1871."


def test_the_bundled_reader_finds_answers(index: Index, predictor: Predictor) -> None:
    found = Asker(index, predictor).ask("Who flew the first kite of the valley in 1871?")
    assert found[0].document == "kites.md"
    assert "Anna Mill" in found[0].text
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert len({each.text for each in found}) == len(found)


def passage(text: str, score: float) -> Passage:
    return Passage(text, score, "a.txt", "/a.txt", "a", None, 1, 0, len(text))


def test_both_the_search_and_the_reader_count() -> None:
    one, two = passage("rain", 9.0), passage("snow", 4.0)
    rain, snow = Answer("rain", 0, 4, 0.5), Answer("snow", 0, 4, 0.5)
    ranked = merge([(two, Reading([snow], 0.0)), (one, Reading([rain], 0.0))])
    assert [answer.text for _, _, answer in ranked] == ["rain", "snow"]
    sure = Answer("snow", 0, 4, 1.0)
    unsure = Answer("rain", 0, 4, 1e-9)
    ranked = merge([(one, Reading([unsure], 0.0)), (two, Reading([sure], 0.0))])
    assert [answer.text for _, _, answer in ranked] == ["snow", "rain"]


def test_answers_that_differ_in_a_sign_are_two() -> None:
    texts = ["C++", "C#", "C", "3.5 %", "35 %", "-5", "5", ".NET", "“The net”.", "net", "A", "NET"]
    answers = [Answer(text, 0, len(text), 0.9 - n / 100) for n, text in enumerate(texts)]
    found = [(passage(each.text, 9.0), Reading([each], 0.0)) for each in answers]
    kept = [answer.text for _, _, answer in merge(found)]
    assert kept == [text for text in texts if text not in ("net", "NET")]


def test_an_answer_is_given_once_and_none_that_the_reader_refuses() -> None:
    one, two = passage("Rain", 9.0), passage("the rain", 8.0)
    first, second = Answer("Rain", 0, 4, 0.5), Answer("the rain", 0, 8, 0.5)
    found = [(one, Reading([first], 0.0)), (two, Reading([second], 0.0))]
    [(_, place, answer)] = merge(found)
    assert (place, answer) == (one, first)
    assert merge([(one, Reading([first], 0.8))], threshold=0.7) == []
    assert merge([]) == []


@pytest.mark.parametrize(
    "calibration", [NEUTRAL, FITTED, Calibration(1e6, 1e6, 1e6, 1e6, 0.0, 1e6, -1e6)]
)
def test_the_likelihood_of_an_answer_grows_with_all_that_speaks_for_it(
    calibration: Calibration,
) -> None:
    likely = partial(calibration.likely, highest=9.0, no_answer=0.2, unknown_name=False)
    assert likely(9.0, score=0.9) >= likely(9.0, score=0.1) >= likely(8.0, score=0.1)
    assert likely(9.0, score=0.9) >= likely(9.0, score=0.9, no_answer=0.8)
    assert likely(9.0, score=0.9) >= likely(9.0, score=0.9, unknown_name=True)
    assert all(
        0 <= likely(own, score=score, no_answer=none, unknown_name=unknown) <= 1
        for own in (-1e9, 9.0)
        for score in (0.0, 1.0)
        for none in (0.0, 1.0)
        for unknown in (False, True)
    )


def test_a_passage_that_may_have_no_answer_counts_less_where_the_calibration_says_so() -> None:
    one, two = passage("rain", 9.0), passage("snow", 9.0)
    rain, snow = Answer("rain", 0, 4, 0.6), Answer("snow", 0, 4, 0.5)
    found = [(one, Reading([rain], 0.5)), (two, Reading([snow], 0.1))]
    assert [answer.text for _, _, answer in merge(found)] == ["rain", "snow"]
    ranked = merge(found, calibration=Calibration(answerable=1.0))
    assert [answer.text for _, _, answer in ranked] == ["snow", "rain"]
    assert [score for score, _, _ in ranked] == pytest.approx([0.45 / 1.45, 0.3 / 1.3])


def test_a_model_without_a_calibration_withholds_no_answer(index: Index) -> None:
    pointing: Any = Pointing(flown=1e-12)
    pointing.model.calibration = NEUTRAL
    assert Asker(index, pointing).ask("Who flew the kite?")
    assert not Asker(index, pointing, threshold=0.5).ask("Who flew the kite?")


def test_the_threshold_is_the_askers_or_the_predictors_or_the_questions(index: Index) -> None:
    asking, pointing = asker(index, flown=0.9)
    (found, *_) = asking.ask("Who flew the kite?", 1)
    lower, higher = found.score * 0.9, min(1.0, found.score * 1.1)
    kite: Any = pointing
    assert Asker(index, kite, threshold=lower).ask("Who flew the kite?", 1) == [found]
    assert found.score < 1
    assert Asker(index, kite, threshold=higher).ask("Who flew the kite?") == []
    pointing.threshold = higher
    strict = Asker(index, kite)
    assert strict.ask("Who flew the kite?") == []
    assert Asker(index, kite, threshold=0).ask("Who flew the kite?", 1) == [found]
    passages = strict.search("Who flew the kite?")
    readings = list(pointing.read_all(("", each.text) for each in passages))
    assert strict.choose("", passages, readings, 1, lower).answers == [found]
    with pytest.raises(InputError, match="from 0 to 1, not 2"):
        Asker(index, kite, threshold=2)
    with pytest.raises(InputError, match="from 0 to 1, not 2"):
        strict.choose("", passages, readings, 1, 2)


def test_the_best_guess_is_there_if_no_answer_is_given(index: Index) -> None:
    asking, _ = asker(index, flown=0.9)
    result = asking.read("Who flew the kite?", 1)
    assert result.best_guess is None
    assert result.no_answer == 1 - result.answers[0].score
    unsure, _ = asker(index, flown=1e-12)
    result = unsure.read("Who flew the kite?")
    assert result.answers == []
    assert result.best_guess is not None
    assert result.best_guess.text == "flown"
    assert result.no_answer == 1 - result.best_guess.score > 0.5
    assert unsure.read("zzz qqq") == Result([], 1.0, None)


def test_with_a_threshold_the_models_own_rule_does_not_apply(index: Index) -> None:
    pointing: Any = Pointing(flown=0.9)
    pointing.model.calibration = replace(FITTED, least=1.0)
    refusing = Asker(index, pointing).read("Who flew the kite?")
    assert refusing.answers == []
    assert refusing.best_guess is not None
    assert refusing.best_guess.text == "flown"
    given = Asker(index, pointing, threshold=0).read("Who flew the kite?")
    assert given.answers[0] == refusing.best_guess
    assert given.best_guess is None


def test_an_uncalibrated_models_threshold_of_no_answer_decides(index: Index) -> None:
    pointing: Any = Pointing(flown=0.9)
    pointing.model.no_answer_threshold = -1.0  # no passage is sure enough
    assert Asker(index, pointing).ask("Who flew the kite?")
    pointing.model.calibration = NEUTRAL
    assert Asker(index, pointing).ask("Who flew the kite?") == []


def test_the_month_of_a_date_is_no_unknown_name(tmp_path: Path) -> None:
    (tmp_path / "army.csv").write_text("date,size\n1854-12-01,32779\n1855-01-01,32393\n")
    index = Index.build([tmp_path / "army.csv"], tmp_path / "index")
    question = "How large was the army in December 1854?"
    assert not index.search(question)[0].lacks_name
    assert index.search(question)[0].text.endswith("size: 32779")
    assert index.search("How large was it in March 1854?")[0].lacks_name


def test_a_name_counts_in_the_whole_document_of_a_passage(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    marl = "Of Marl.\n\n" + "It was dry and cold there in the year of the fair. " * 40
    (tmp_path / "notes" / "a.txt").write_text(f"{marl}\n\nThe kite was flown by Ole.")
    (tmp_path / "notes" / "tern.txt").write_text("The mill stands by the sea.")
    index = Index.build([tmp_path / "notes"], tmp_path / "index", size=300)
    lacking = {
        question: {each.document: each.lacks_name for each in index.search(question, 20)}
        for question in ("Who flew the kite in Marl?", "Who flew the kite in Tern?")
    }
    assert list(lacking.values()) == [{"a.txt": False}, {"a.txt": True, "tern.txt": False}]


def test_a_name_that_no_document_has_makes_an_answer_unlikely(index: Index) -> None:
    asking, _ = asker(index, flown=0.9)
    known, unknown = "Who flew the kite, Anna?", "Who flew the kite, Zebulon?"
    lacks = {
        question: index.search(question)[0].lacks_name
        for question in (
            known,
            unknown,
            " Zebulon's kite, who flew it with zebulon?",
            "Who flew the kite, Annabel or Annamaria?",
            "Who flew the kite in the Millwright?",
        )
    }
    assert list(lacks.values()) == [False, True, False, True, True]
    (likely,), guess = asking.ask(known, 1), asking.read(unknown, 1)
    [found] = guess.answers or [guess.best_guess]
    assert found is not None
    assert found.score < likely.score / 2


def test_there_may_be_no_answer(index: Index) -> None:
    asking, _ = asker(index, flown=1e-12)
    assert asking.ask("Who flew the kite?") == []
    assert asking.ask("zzz qqq") == []


def test_mistakes_are_refused(index: Index) -> None:
    asking, pointing = asker(index)
    for blank in (" ", "\u200b"):
        with pytest.raises(InputError, match="the question is empty"):
            asking.ask(blank)
    wrong: Any
    for wrong in (0, "2", 1.5):
        with pytest.raises(InputError, match="top_k must be a whole number, at least 1"):
            asking.ask("Who?", wrong)
        with pytest.raises(InputError, match="top_k must be a whole number, at least 1"):
            next(asking.read_many(["Who?"], wrong))
        with pytest.raises(InputError, match="passages must be a whole number, at least 1"):
            Asker(index, pointing, passages=wrong)  # pyright: ignore[reportArgumentType]
    assert asking.ask("Who flew the kite?", np.int64(1)) == asking.ask("Who flew the kite?", 1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="the question is NoneType, not str"):
        asking.ask(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="questions is one text: put it into a list"):
        list(asking.read_many("Who?"))
    with pytest.raises(InputError, match="index is str, not Index"):
        Asker("index", asking.predictor)  # pyright: ignore[reportArgumentType]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[str, str]:
    main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_index_update_and_ask(
    capsys: pytest.CaptureFixture[str], collection: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    out, err = run(capsys, "index", collection / "kites.md", "--output", folder)
    assert (out, err) == ("", "1 document, 1 passage\n")
    (tmp_path / "bad.txt").write_bytes(b"\xff")
    out, err = run(
        capsys, "index", collection, tmp_path / "bad.txt", "--output", folder, "--update"
    )
    assert err.startswith("skipped: ")
    assert err.count("\n") == 2
    assert err.endswith("passages; 1 skipped\n")
    question = "Who flew the first kite of the valley in 1871?"
    out, _ = run(capsys, "ask", question, "--index", folder, "--format", "json", "--top-k", 2)
    record = json.loads(out)
    assert record["question"] == question
    assert set(record["answers"][0]) == set(Found.__slots__)
    assert record["answers"][0]["line"] == 3
    out, _ = run(capsys, "ask", question, "--index", folder, "--top-k", 1, "--passages", 2)
    text, place, score = out.rstrip("\n").split("\t")
    assert "Anna Mill" in text
    assert place.endswith("kites.md, line 3")
    assert score == f"{record['answers'][0]['score']:.2f}"


def test_what_is_withheld_is_said(
    capsys: pytest.CaptureFixture[str], index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(score: float, *options: object) -> tuple[str, str]:
        def load(_: object, threshold: float | None) -> Pointing:
            pointing = Pointing(flown=score)
            pointing.threshold = threshold
            return pointing

        monkeypatch.setattr(Predictor, "load", load)
        question = "Who flew the first kite of the valley in 1871?"
        return run(capsys, "ask", question, "--index", index.folder, "--top-k", 1, *options)

    given = json.loads(ask(0.9, "--format", "json")[0])
    assert (given["answers"][0]["text"], given["best_guess"]) == ("flown", None)
    score = given["answers"][0]["score"]
    assert given["no_answer"] == 1 - score
    out, err = ask(0.9, "--format", "json", "--threshold", 1)
    assert json.loads(out) == given | {"answers": [], "best_guess": given["answers"][0]}
    assert err == f'no answer is sure enough (best: "flown", score {score:.2f})\n'
    assert ask(0.9, "--threshold", 1) == ("", err)
    unlikely = 'probably not in the documents (100 %); best guess: "flown"\n'
    assert ask(1e-12) == ("", unlikely)
    out, err = ask(1e-12, "--threshold", 0)
    assert out.startswith("flown\t")
    assert err == "probably not in the documents (100 %)\n"
    assert ask(0.9, "--threshold", 0)[1] == ""


@pytest.mark.parametrize("form", ["text", "json"])
def test_of_questions_from_a_pipe_stderr_says_nothing(
    capsys: pytest.CaptureFixture[str], index: Index, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Lines(["Who invented the telephone of kites?\n"]))
    out, err = run(capsys, "ask", "--index", index.folder, "--format", form, "--threshold", 1)
    assert out.count("\n") == 1
    assert err == ""


def test_the_command_line_refuses_in_one_line(
    capsys: pytest.CaptureFixture[str], collection: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"\xff")
    output = ("--output", tmp_path / "index")
    assert "bad.txt" in refused(capsys, "index", collection, bad, *output, "--strict")
    assert not (tmp_path / "index" / "current").exists()
    assert "name the folders" in refused(capsys, "index", *output)
    assert "no index in" in refused(capsys, "index", collection, *output, "--update")
    assert "no index in" in refused(capsys, "ask", "Who?", "--index", tmp_path / "index")
    run(capsys, "index", collection, *output)
    assert "--size" in refused(capsys, "index", *output, "--update", "--size", 9)
    assert "question is empty" in refused(capsys, "ask", " ", "--index", tmp_path / "index")
    ask = ("ask", "Who?", "--index", tmp_path / "index")
    assert "from 0 to 1" in refused(capsys, *ask, "--threshold", 7)


def test_asking_needs_no_torch(collection: Path, tmp_path: Path) -> None:
    Index.build([collection / "kites.md"], tmp_path / "index")
    code = (
        "import sys\nfrom fabir.cli import main\n"
        f"main(['ask', 'Who flew the kite?', '--index', {str(tmp_path / 'index')!r}])\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert b"kites.md" in done.stdout


def test_on_a_terminal_the_answer_stands_in_its_sentence(
    capsys: pytest.CaptureFixture[str], index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabir.search.show.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    question = "Who flew the first kite of the valley in 1871?"
    out, _ = run(capsys, "ask", question, "--index", index.folder, "--top-k", 1)
    assert "kites.md, line 3" in out
    assert "  The first kite of the valley was flown by Anna Mill in 1871." in out


def test_control_characters_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("The kite was flown by Anna \x1b[2J\x07 Mill in 1871.")
    Index.build([tmp_path / "a.txt"], tmp_path / "index")
    for terminal in (False, True):
        monkeypatch.setattr("fabir.search.show.on_terminal", lambda now=terminal: now)
        out, _ = run(capsys, "ask", "Who flew the kite?", "--index", tmp_path / "index")
        assert "Anna" in out
        assert "\x1b[2J" not in out
        assert "\x07" not in out


def test_questions_come_from_a_pipe_or_a_person(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "stdin", Lines(["one\n", "\u200b\n", "two\n"]))
    assert list(prompt.read_questions()) == ["one", "two"]
    deep = '{"a":' * 100_000
    rows = ['{"id": 1, "question": "one"}\n', "{two} is what?\n", deep]
    monkeypatch.setattr(sys, "stdin", Lines(rows))
    assert list(prompt.read_questions()) == ["one", "{two} is what?", deep]
    for wrong in ('{"id": 1}', '{"question": 1}', '{"question": "\u200b"}'):
        monkeypatch.setattr(sys, "stdin", Lines(["one\n", "\n", wrong]))
        with pytest.raises(InputError, match=r'line 3 of .* no text in its field "question"'):
            list(prompt.read_questions())
    said = b'\xef\xbb\xbf{"question": "caf\xc3\xa9?"}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said), encoding="ascii"))
    assert list(prompt.read_questions()) == ["café?"]
    for number, other in (1, "one\n".encode("utf-16")), (2, b"one\n \xff\n"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(other)))
        with pytest.raises(InputError, match=f"line {number} of standard input is not UTF-8 text"):
            list(prompt.read_questions())
    monkeypatch.setattr(sys, "stdin", Lines([], terminal=True))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for end in ("", "\u200b", "quit", "EXIT"):
        typed = iter(["three", "help", " four ", end, "five"])
        monkeypatch.setattr("builtins.input", lambda prompt="", typed=typed: next(typed))
        capsys.readouterr()
        assert list(prompt.read_questions()) == ["three", "four"]
        began, helped = capsys.readouterr().err.splitlines()
        assert "quit" in began
        assert "quit" in helped
    assert os.path.exists(tmp_path / "fabir" / "history")

    def not_text(prompt: str = "") -> str:
        return b"caf\xe9".decode()

    monkeypatch.setattr("builtins.input", not_text)
    with pytest.raises(InputError, match="not UTF-8 text: convert it"):
        list(prompt.read_questions())


class Lines(list[str]):
    """A standard input."""

    def __init__(self, lines: list[str], *, terminal: bool = False) -> None:
        super().__init__(lines)
        self.isatty = lambda: terminal


ASKING = {
    "faq.md": "# Questions people ask\n\n- When was the Harle pumping station built?\n"
    "- Who designed the Harle pumping station?\n"
    "- How much water does the Harle pumping station move in a day?\n"
    "- When is the Harle museum closed? On Mondays.\n",
    "mail.txt": "Hello Tom,\n\ndo you know when the Harle pumping station was built, and who "
    "designed the Harle pumping station? I would like to know how much water the Harle pumping "
    "station moves in a day.\n\nBest wishes, Ann\n",
    "history.txt": "After the flood the town council of Harle asked Josephine Bell to design a "
    "pumping station beside the canal. It was completed in 1873 and moved nine million litres a "
    "day. The engines were replaced in 1921.\n",
}


@pytest.mark.parametrize(
    ("question", "text", "document"),
    [
        ("When was the Harle pumping station built?", "1873", "history.txt"),
        ("Who designed the Harle pumping station?", "Josephine Bell", "history.txt"),
        (
            "How much water does the Harle pumping station move in a day?",
            "nine million litres",
            "history.txt",
        ),
        ("When is the Harle museum closed?", "Mondays", "faq.md"),
    ],
)
def test_text_that_repeats_a_question_does_not_answer_it(
    predictor: Predictor, tmp_path: Path, question: str, text: str, document: str
) -> None:
    index = build_small(tmp_path, ASKING)
    found = Asker(index, predictor).ask(question)[0]
    assert (found.text, found.document) == (text, document)
    assert found.score > 0.5


def test_a_list_of_frequent_questions_answers_them(predictor: Predictor, tmp_path: Path) -> None:
    faq = "# Frequently asked\n\n## When was the Marl tower built?\n\nIn 1771, after a fire.\n\n"
    faq += "## Who designed the Marl tower?\n\nThe mason Aldo Brandt drew the plans.\n"
    other = "The Marl tower stands in the market. It was painted in 1990 by Lise Holm."
    index = build_small(tmp_path, {"faq.md": faq, "other.txt": other})
    asking = Asker(index, predictor)
    assert asking.ask("When was the Marl tower built?")[0].text == "1771"
    found = asking.ask("Who designed the Marl tower?")[0]
    assert (found.text, found.line) == ("Aldo Brandt", 9)
    assert found.heading == "Who designed the Marl tower?"


def test_a_part_of_a_section_is_read_with_its_heading(tmp_path: Path) -> None:
    text = "# Mills\n\n" + "They grind rye. " * 20 + "One has sails.\n"
    index = build_small(tmp_path, {"a.md": text}, size=100)
    asking, pointing = asker(index, sails=0.9)
    found = asking.ask("Which has sails?")[0]
    assert pointing.read[0].startswith("Mills\n\n")
    assert text[found.start : found.end] == found.text == "sails"
    assert found.heading == "Mills"


def test_a_later_part_of_a_table_is_read_with_the_names_of_its_columns(tmp_path: Path) -> None:
    rows = [f"| Pump K{number} | 18{number} | Ada Berg |" for number in range(10, 70)]
    table = "\n".join(["| Pump | Built | Owner |", "|---|---|---|", *rows])
    text = f"# Pumps\n\n{table}\n\n# Mills\n\nThey grind rye.\n"
    index = build_small(tmp_path, {"a.md": text}, size=300)
    asking, pointing = asker(index, **{"1850": 0.9})
    found = asking.ask("When was pump K50 built?")[0]
    assert pointing.read[0].startswith("Pumps\n\n\t Pump\t  Built\t  Owner\t \n\t Pump K")
    assert text[found.start : found.end] == found.text == "1850"
    later = [each for each in index.search("owner", 50) if "Owner" not in each.text]
    assert len(later) > 4


def test_an_answer_without_page_line_or_heading_has_its_paragraph(
    predictor: Predictor, tmp_path: Path
) -> None:
    rye = f"<p>{'The old mill grinds rye. ' * 9}</p>"
    page = f"{rye * 3}<p>It has a wheel.</p><p>It has sails.</p>"
    index = build_small(tmp_path, {"a.html": page, "b.html": "<p>One kite flies.</p>"}, size=200)
    asking, _ = asker(index, sails=0.9, kite=0.9)
    found = asking.ask("Which mill has sails?")[0]
    assert (found.text, found.paragraph, place(found)) == ("sails", 5, "a.html, paragraph 5")
    found = asking.ask("Which kite flies?")[0]
    assert (found.paragraph, place(found)) == (None, "b.html")


def test_an_answer_on_a_later_page_has_its_page(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    write_pdf(tmp_path / "mill.pdf", PAGES)
    index = Index.build([tmp_path / "mill.pdf"], tmp_path / "index")
    asking, _ = asker(index, Bergen=0.9)
    assert asking.ask("In which town was the wheel made?")[0].page == 2


def test_the_first_answer_does_not_depend_on_how_many_are_wanted(
    predictor: Predictor, tmp_path: Path
) -> None:
    """The best span repeats the question, and another one of the passage does not."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "b.txt").write_text("The mayor of Paris met Ida Strand, the painter.")
    asking = Asker(Index.build([tmp_path / "texts"], tmp_path / "index"), predictor)
    question = "Where is the mayor of Paris?"
    first, *more = (asking.read(question, number) for number in (5, 1, 2))
    assert first.best_guess or first.answers
    ((_, many),) = asking.read_many([question], 1)
    for result in (*more, many):
        assert result.answers[:1] == first.answers[:1]
        assert (result.no_answer, result.best_guess) == (first.no_answer, first.best_guess)


def test_many_questions_give_what_each_alone_gives(index: Index, predictor: Predictor) -> None:
    questions = ["Who flew the first kite?", "zzz qqq", "When was the mill built?", "Zebulon?"]
    asking = Asker(index, predictor)
    found = list(asking.read_many(questions, 2))
    assert [question for question, _ in found] == questions
    for question, result in found:
        alone = asking.read(question, 2)
        assert [each.text for each in result.answers] == [each.text for each in alone.answers]
        assert result.no_answer == pytest.approx(alone.no_answer, abs=1e-4)


def test_each_of_many_questions_is_answered_before_the_next_one_comes(
    index: Index, predictor: Predictor
) -> None:
    results = Queue[Any]()
    questions = Queue[str]()
    asking = Asker(index, predictor)

    def answer() -> None:
        for each in asking.read_many(iter(questions.get, ""), 1):
            results.put(each)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    for question in ("zzz qqq", "When was the mill built?", "qqq"):
        questions.put(question)
        assert results.get(timeout=60)[0] == question
    questions.put("")
    thread.join(60)
    assert not thread.is_alive()


def test_questions_from_a_pipe_stand_beside_their_answers(
    capsys: pytest.CaptureFixture[str], index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = ["Who flew the first kite?", "zzz qqq", "When was the mill built?"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n".join(questions)))
    out, err = run(capsys, "ask", "--index", index.folder, "--top-k", 1)
    assert err == ""
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[:3] for row in rows] == [
        ["Who flew the first kite?", "Anna Mill", "kites.md, line 3"],
        ["zzz qqq", "", ""],
        ["When was the mill built?", "1902", "mill.pdf, page 1"],
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(questions)))
    out, _ = run(capsys, "ask", "--index", index.folder, "--format", "json")
    records = [json.loads(line) for line in out.splitlines()]
    scores = [
        f"{record['answers'][0]['score']:.2f}" if record["answers"] else "" for record in records
    ]
    assert [row[3] for row in rows] == scores
    assert [record["question"] for record in records] == questions
    assert Path(records[2]["answers"][0]["path"]).name == "mill.pdf"


def test_hyphens_at_line_ends_are_not_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "The old station of Torvald above the lake was led by Annika Hed-\nlund until 1904.\n"
    index = build_small(tmp_path, {"a.txt": text})
    word = "Annika Hed-\nlund"
    monkeypatch.setattr(Predictor, "load", lambda *_, **__: Pointing(**{word: 0.9}))
    out, _ = run(capsys, "ask", "Who led the station?", "--index", index.folder)
    assert out.startswith("Annika Hedlund\ta.txt, line 1\t")


def test_a_row_of_a_sheet_is_said_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_xlsx(tmp_path / "a.xlsx", row("Project", "Lead") + row("Harbour wall", "Lise Brandt"))
    index = Index.build([tmp_path / "a.xlsx"], tmp_path / "index")
    monkeypatch.setattr(Predictor, "load", lambda *_, **__: Pointing(Brandt=0.9))
    out, _ = run(capsys, "ask", "Who leads the harbour wall?", "--index", index.folder)
    assert out.split("\t")[:2] == ["Brandt", "a.xlsx, sheet Sheet1, row 2"]


def build_small(folder: Path, texts: dict[str, str], size: int = 1000) -> Index:
    (folder / "files").mkdir()
    for name, text in texts.items():
        (folder / "files" / name).write_text(text, "utf-8")
    return Index.build([folder / "files"], folder / "index", size=size)


def test_a_number_that_a_word_processor_gives_is_read(predictor: Predictor, tmp_path: Path) -> None:
    level = '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:lvlText w:val="4.%1"/></w:lvl>'
    numbering = f'<w:abstractNum w:abstractNumId="0">{level}</w:abstractNum>'
    numbering += '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    changes = ["Added a dark mode.", "Fixed the crash when printing.", "Removed the old importer."]
    item = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    runs = (f"<w:r><w:t>{change}</w:t></w:r>" for change in changes)
    body = "".join(paragraph(run, properties=item) for run in runs)
    write_docx(tmp_path / "a.docx", body, numbering=numbering)
    index = Index.build([tmp_path / "a.docx"], tmp_path / "index")
    found = Asker(index, predictor).ask("Which version fixed the crash?")[0]
    assert found.text == "4.2"
    assert found.sentence == "4.2 Fixed the crash when printing."
    assert found.passage[found.passage_start : found.passage_end] == "4.2"
