import random
import re
import resource
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from fabir.answer.batching import BatchedModel, Window
from fabir.answer.passages import PassageCache
from fabir.answer.predictor import Answer, Predictor, Reading
from fabir.data.batches import Batch, SpanLogits
from fabir.errors import InputError, InputWarning
from fabir.runtime.base import logits
from fabir.runtime.torch_model import TorchModel
from fabir.text.tokens import tokenise
from fabir.text.units import is_blank, place_words
from factories import EXAMPLES, batch_of, small_reader

PAIRS = [(question, passage) for question, passage, _, _ in EXAMPLES]
WORDS = " ".join(passage for _, passage in PAIRS).split()


@pytest.fixture(autouse=True)
def _full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use float32, so that the rest of a batch changes only the last digits of a score."""
    monkeypatch.setattr(TorchModel, "bfloat16", False)


def lively_model() -> TorchModel:
    """An untrained model with logits that are far from each other."""
    model = small_reader()
    with torch.no_grad():
        for name, weight in model.network.named_parameters():
            if "selectors" in name:
                weight.mul_(3)
    return model


def lively_predictor(**options: int) -> Predictor:
    return Predictor(lively_model(), **options)


class Encoder:
    """A model that encodes a passage as its words' rows, and answers from no other encoding."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.read: list[int] = []  # words of each passage that was encoded
        self.batch_words = model.batch_words

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def encode(self, batch: Batch[np.ndarray], vectors: Any) -> np.ndarray:
        self.read += (batch.passage > 0).sum(axis=1).tolist()
        return batch.words[batch.passage][..., None].astype(np.float32)

    def answer(
        self, batch: Batch[np.ndarray], vectors: Any, encoded: np.ndarray
    ) -> SpanLogits[np.ndarray]:
        np.testing.assert_array_equal(encoded[..., 0], batch.words[batch.passage])
        return logits(self.model, batch)


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return lively_predictor()


def text_of(words: int, seed: int = 0) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def plain_text_of(words: int, seed: int = 0) -> str:
    return text_of(words, seed).replace(",", "").replace(".", "")


def assert_alike(found: list[Answer], expected: list[Answer]) -> None:
    """The same answers; scores may differ by rounding."""
    assert [(a.text, a.start, a.end) for a in found] == [(a.text, a.start, a.end) for a in expected]
    assert [a.score for a in found] == pytest.approx([a.score for a in expected], rel=1e-3)


def assert_sound(answers: list[Answer], passage: str) -> None:
    for answer in answers:
        assert answer.text == passage[answer.start : answer.end]
        assert answer.text.strip() == answer.text != ""
        assert 0 < answer.score <= 1
        # The first and the last of 15 words may each have become a unit of several.
        starts = place_words(answer.text)[1]
        assert sum(start not in (starts[0], starts[-1]) for start in starts) <= 13
    scores = [answer.score for answer in answers]
    assert scores == sorted(scores, reverse=True)
    taken = sorted((answer.start, answer.end) for answer in answers)
    assert all(end <= start for (_, end), (start, _) in pairwise(taken))


texts = st.text() | st.text(alphabet="rain falls 👩🏽‍🚒❤️\u0301नमस्ते東京\t\n\u3000.,'\x00\ud800")


@pytest.mark.filterwarnings("ignore:a question is longer than 64 words")
@given(texts, texts, st.integers(1, 4))
@example("0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0::0:", "a", 1)
@example("", "0/0:0:0:0:0:0::0:", 1)
def test_an_answer_is_a_piece_of_the_passage(
    predictor: Predictor, question: str, passage: str, top_k: int
) -> None:
    answers = predictor.answer("Which? " + question, passage, top_k)
    assert_sound(answers, passage)
    assert bool(answers) != is_blank(passage)
    assert len(answers) <= top_k


@pytest.mark.parametrize("passage", ["1\u200d\n0", "1\n\u200d👩", "1\n🏽", "1\n\ufe0f🏽"])
def test_the_end_of_a_line_is_no_part_of_an_emoji(predictor: Predictor, passage: str) -> None:
    assert_sound(predictor.answer("Which?", passage, 9), passage)


def test_an_answer_is_not_punctuation_alone(predictor: Predictor) -> None:
    passage = "“Rain” … falls (at -5 °C): 5 % of it, say R & D. !? «東京、» —\n- #1 / $2 _."
    texts = {answer.text for answer in predictor.answer("What falls?", passage, 50)}
    assert len(texts) > 5
    assert all(re.search(r"[^\W_]|[%&#/$°]", text) for text in texts)


def test_a_passage_of_punctuation_alone_has_an_answer(predictor: Predictor) -> None:
    assert predictor.answer("Which?", "...")[0].text in ("...", "..", ".")
    answers = predictor.answer("Which?", "( % )", 9)
    assert answers
    assert all("%" in answer.text for answer in answers)


@pytest.mark.parametrize("passage", ["", " ", "\n\t\u3000", "\u2800", "\u3164", "\u0301", "\x01"])
def test_a_blank_passage_has_no_answers(predictor: Predictor, passage: str) -> None:
    assert predictor.answer("Who?", passage) == []
    assert list(predictor.answer_all([("Who?", passage)] * 3, 2)) == [[], [], []]
    mixed = [("Who?", passage), PAIRS[0], ("Who?", passage), PAIRS[1], ("Who?", passage)]
    assert [len(answers) for answers in predictor.answer_all(mixed)] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("question", ["", " ", "\n\t\u3000", "\u200b\u00ad", "\u200d\ufe0f"])
def test_a_blank_question_is_refused_by_its_number(predictor: Predictor, question: str) -> None:
    with pytest.raises(InputError, match="question 1 is empty"):
        predictor.answer(question, "Rain falls.")
    with pytest.raises(InputError, match="question 3 is empty"):
        list(predictor.answer_all([*PAIRS[:2], (question, ""), PAIRS[2]]))


@pytest.mark.parametrize("top_k", [0, -1, 1.5, True, None])
def test_fewer_than_one_answer_cannot_be_asked_for(predictor: Predictor, top_k: Any) -> None:
    with pytest.raises(InputError, match="top_k must be a whole number, at least 1"):
        predictor.answer(*PAIRS[0], top_k)


def test_numbers_of_numpy_are_numbers(predictor: Predictor) -> None:
    two: Any = np.int64(2)
    assert predictor.answer(*PAIRS[0], two) == predictor.answer(*PAIRS[0], 2)
    model, half = small_reader(), np.float32(0.5)
    assert Predictor(model, max_words=two).max_words == 2
    assert Predictor(model, threshold=half).threshold == 0.5  # pyright: ignore[reportArgumentType]


def test_settings_that_make_no_sense_are_refused() -> None:
    model = small_reader()
    wrong: Any
    for wrong in ({"max_words": 0}, {"max_words": "3"}, {"window": "400"}, {"memory": 1.5}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} must be a whole number"):
            Predictor(model, **wrong)
    for wrong in ("0.5", 2, -0.1, float("nan"), [0.5]):
        with pytest.raises(InputError, match="a threshold is a probability from 0 to 1, not"):
            Predictor(model, threshold=wrong)
    for wrong in (3, [3], Predictor(model)):
        with pytest.raises(InputError, match="a model is named by a folder or a name"):
            Predictor.load(wrong)
    wrong = "fast"
    with pytest.raises(InputError, match=r"a Predictor has a model, not str: Predictor\.load"):
        Predictor(wrong)
    with pytest.raises(InputError, match="stride 50 does not fit window size 40"):
        Predictor(model, window=40, stride=50)


def test_no_pairs_have_no_answers(predictor: Predictor) -> None:
    assert list(predictor.answer_all([])) == []


def test_an_answer_has_at_most_the_words_it_may_have() -> None:
    predictor = lively_predictor(max_words=2)
    passage = text_of(60)
    answers = predictor.answer("What falls?", passage, 20)
    assert max(len(tokenise(answer.text).words) for answer in answers) == 2
    most = lively_predictor(max_words=1_000_000).answer("What falls?", passage, 3)
    assert most == lively_predictor(max_words=len(passage)).answer("What falls?", passage, 3)
    single = lively_predictor(max_words=1).answer("What falls?", passage, 1000)
    words = {word.lower() for word in tokenise(passage).words if any(map(str.isalnum, word))}
    assert sorted(answer.text.lower() for answer in single) == sorted(words)


@pytest.mark.parametrize("passage", [PAIRS[0][1], text_of(150), text_of(900), "rain " * 50])
def test_more_answers_begin_with_the_fewer(predictor: Predictor, passage: str) -> None:
    many = predictor.answer("Who founded it?", passage, 12)
    assert_sound(many, passage)
    for top_k in range(1, 12):
        assert_alike(predictor.answer("Who founded it?", passage, top_k), many[:top_k])


def test_all_answers_that_are_asked_for_are_found() -> None:
    # The best spans of a passage crowd around one place, and there are hundreds of them.
    answers = lively_predictor().answer("Who founded the abbey?", text_of(300), 5)
    assert len(answers) == 5


def test_the_answers_do_not_depend_on_the_batch(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(question, text_of(length)) for length in (5, 700, 90, 16) for question, _ in PAIRS]
    alone = [predictor.answer(*pair, 3) for pair in pairs]
    for chunk, tokens in ((2048, 8192), (3, 8192), (2048, 1), (1, 64)):
        monkeypatch.setattr(BatchedModel, "chunk", chunk)
        monkeypatch.setattr(TorchModel, "batch_words", tokens)
        for found, expected in zip(predictor.answer_all(pairs, 3), alone, strict=True):
            assert_alike(found, expected)


def test_several_threads_give_the_answers_of_one(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TorchModel, "batch_words", 200)
    pairs = [(question, text_of(length)) for length in (5, 300, 90) for question, _ in PAIRS]
    expected = list(predictor.answer_all(pairs, 3))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    threaded = lively_predictor(memory=5_000)  # the cache of spellings is emptied meanwhile
    for found, answers in zip(threaded.answer_all(pairs, 3), expected, strict=True):
        assert_alike(found, answers)
    with pytest.raises(InputError, match="question 13 is empty"):
        list(threaded.answer_all([*pairs, (" ", "Rain falls.")]))


@pytest.mark.parametrize("caches", [False, True])
def test_several_threads_may_ask_at_a_time(predictor: Predictor, caches: bool) -> None:
    asked = [(question, text_of(length)) for length in (5, 300, 90) for question, _ in PAIRS]
    expected = [predictor.answer(*pair, 3) for pair in asked]
    model = cast(Any, Encoder(predictor.model)) if caches else lively_model()
    shared = Predictor(model, memory=30_000)  # the caches are emptied meanwhile

    def ask(pair: tuple[str, str]) -> list[Answer]:
        return shared.answer(*pair, 3)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(ask, asked * 5))
    finally:
        sys.setswitchinterval(before)
    for answers, wanted in zip(found, expected * 5, strict=True):
        assert_alike(answers, wanted)


def test_answers_come_in_the_order_of_the_questions(predictor: Predictor) -> None:
    lengths = random.Random(1).choices([0, 1, 7, 60, 500, 1200], k=40)
    passages = [text_of(length, seed=n) for n, length in enumerate(lengths)]
    found = list(predictor.answer_all(("Where does rain fall?", passage) for passage in passages))
    assert len(found) == 40
    for answers, passage in zip(found, passages, strict=True):
        assert_sound(answers, passage)
        assert bool(answers) == bool(passage)


def test_pairs_are_taken_from_a_stream_as_they_are_needed(predictor: Predictor) -> None:
    taken = 0

    def endless() -> Iterator[tuple[str, str]]:
        nonlocal taken
        while True:
            taken += 1
            yield PAIRS[taken % len(PAIRS)]

    answers = predictor.answer_all(endless())
    assert taken == 0
    for answered in range(1, 300):
        assert next(answers)
        assert taken <= answered + max(64, answered)


@pytest.mark.parametrize("burst", [1, 5])
def test_a_stream_that_waits_has_the_answers_to_all_that_it_gave(
    predictor: Predictor, burst: int
) -> None:
    answered = threading.Semaphore(0)

    def conversation() -> Iterator[tuple[str, str]]:
        for number in range(3 * burst):
            if number and number % burst == 0:
                for _ in range(burst):
                    assert answered.acquire(timeout=20)
            yield PAIRS[number % len(PAIRS)]

    count = 0
    for answers in predictor.answer_all(conversation()):
        assert answers
        count += 1
        answered.release()
    assert count == 3 * burst


def test_a_stream_has_the_answers_of_a_list(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchedModel, "chunk", 8)
    pairs = [(question, text_of(length)) for length in (5, 0, 1000, 90) for question, _ in PAIRS]
    for found, expected in zip(
        predictor.answer_all(iter(pairs * 5)), predictor.answer_all(pairs * 5), strict=True
    ):
        assert_alike(found, expected)


def test_a_stream_that_fails_gives_the_answers_before_its_error(predictor: Predictor) -> None:
    def failing() -> Iterator[tuple[str, str]]:
        yield from PAIRS
        raise OSError("the connection was lost")

    answers = predictor.answer_all(failing())
    assert all(next(answers) for _ in PAIRS)
    with pytest.raises(OSError, match="connection"):
        next(answers)


def test_a_stream_that_is_left_stops_its_thread(predictor: Predictor) -> None:
    threads = threading.active_count()
    answers: Any = predictor.answer_all(pair for _ in range(10**9) for pair in PAIRS)
    assert next(answers)
    answers.close()
    deadline = time.monotonic() + 10
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= threads


def test_what_is_not_begun_can_be_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    encoder = Encoder(small_reader())
    encoder.batch_words = 1
    passages = PassageCache(400, 300)
    batched = BatchedModel(cast(Any, encoder), passages, 15)
    chunk = [
        Window(number, ["Who"], part)
        for number in range(200)
        for part in passages.parts(f"{number} is a number.")
    ]
    started = batched.read(chunk, 1)
    started.drop()
    time.sleep(0.1)  # for the batches under way
    read = len(encoder.read)
    time.sleep(0.2)
    assert len(encoder.read) == read < 200
    assert len(list(batched.read(chunk, 1).found)) == 200


BAD: list[tuple[Any, str]] = [
    ((" ", "Rain falls."), "question 3 is empty"),
    (None, "question 3 is not a pair"),
    (("Who?", "Rain falls.", 1), "question 3 is not a pair"),
    (("Who?", b"Rain falls."), "passage of question 3 is bytes, not str"),
    ((None, "Rain falls."), "the question of question 3 is NoneType"),
]


@pytest.mark.parametrize(("bad", "message"), BAD)
@pytest.mark.parametrize("form", [list, iter])
def test_a_bad_pair_is_named_and_costs_no_other_its_answer(
    predictor: Predictor, bad: Any, message: str, form: Any
) -> None:
    pairs = [*PAIRS[:2], bad, PAIRS[2]]
    answers = predictor.answer_all(form(pairs))
    assert next(answers)
    assert next(answers)
    with pytest.raises(InputError, match=message):
        next(answers)
    found = list(predictor.answer_all(form(pairs), on_error="return"))
    assert isinstance(found[2], InputError)
    assert re.search(message, str(found[2]))
    for number, pair in ((0, PAIRS[0]), (1, PAIRS[1]), (3, PAIRS[2])):
        assert_alike(cast(Any, found[number]), predictor.answer(*pair))


def test_a_long_question_is_cut_with_a_warning(predictor: Predictor) -> None:
    question, passage = "What falls from " + "the clouds " * 50, PAIRS[0][1]
    with pytest.warns(InputWarning, match="longer than 64 words"):
        found = predictor.answer(question, passage)
    assert_alike(found, predictor.answer(" ".join(question.split()[:64]), passage))
    patient = Predictor(predictor.model, max_question=103)
    assert patient.answer(question, passage)


def test_a_long_question_is_read_apart_from_short_ones() -> None:
    encoder = Encoder(small_reader())
    shapes: list[tuple[int, ...]] = []

    def answer(batch: Batch[np.ndarray], vectors: Any, encoded: Any) -> SpanLogits[np.ndarray]:
        shapes.append(batch.question.shape)
        return logits(encoder.model, batch)

    cast(Any, encoder).answer, encoder.batch_words = answer, 640
    long = ("Who " * 300, text_of(10))
    list(Predictor(cast(Any, encoder), max_question=400).answer_all([*PAIRS * 5, long]))
    assert [rows for rows, words in shapes if words >= 300] == [1]
    assert max(rows for rows, _ in shapes) > 5


def test_forgetting_spellings_between_batches_changes_no_answer(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(predictor.answer_all(PAIRS * 3, 2))
    monkeypatch.setattr(TorchModel, "batch_words", 40)
    small = lively_predictor(memory=2_000)
    for found, answers in zip(small.answer_all(PAIRS * 3, 2), expected, strict=True):
        assert_alike(found, answers)


@pytest.mark.parametrize("no_answer", [False, True])
def test_what_was_made_of_a_passage_serves_all_its_questions(no_answer: bool) -> None:
    encoder = Encoder(small_reader(no_answer=no_answer))
    predictor = Predictor(cast(Any, encoder), window=40, stride=30)
    texts = [plain_text_of(length, seed=length) for length in (5, 100, 33, 16)]
    asked = [(question, passage) for passage in texts for question, _ in PAIRS]
    expected = list(Predictor(encoder.model, window=40, stride=30).read_all(asked, 2))

    def assert_read(chosen: range, *words: int) -> None:
        """Answers equal those without a cache; exactly windows of these lengths are encoded."""
        encoder.read.clear()
        readings = predictor.read_all([asked[i] for i in chosen], 2)
        for found, reading in zip(readings, [expected[i] for i in chosen], strict=True):
            assert_alike(found.answers, reading.answers)
            assert found.no_answer == pytest.approx(reading.no_answer, rel=1e-3)
        assert sorted(encoder.read) == sorted(length + no_answer for length in words)

    every = range(len(asked))
    assert_read(every[:1], 5)
    assert_read(every[:5], 40, 40, 40)  # the second passage has three windows
    assert_read(every[:9], 33)
    assert_read(every[:13], 16)
    assert_read(every)
    predictor.forget()
    assert_read(every[:: len(PAIRS)], 5, 40, 40, 40, 33, 16)


def test_what_is_known_does_not_depend_on_who_is_first_in_a_call() -> None:
    encoder = Encoder(small_reader())
    encoder.batch_words = 8
    predictor = Predictor(cast(Any, encoder))
    asked = [(question, "Rain falls.") for question, _ in PAIRS]
    list(predictor.read_all(asked))
    assert encoder.read == [3] * len(asked)  # each in a batch of its own
    list(predictor.read_all(asked))
    assert len(encoder.read) == len(asked)


def test_no_more_passages_are_kept_than_there_is_room_for() -> None:
    encoder = Encoder(small_reader())
    predictor = Predictor(cast(Any, encoder), memory=9_000)  # for two of 40 words, not for three
    short = [plain_text_of(40, seed) for seed in range(3)]

    def read(*asked: str) -> list[int]:
        encoder.read.clear()
        list(predictor.answer_all([("Who?", passage) for passage in asked]))
        return encoder.read

    assert read(short[0]) == [40]
    assert read(short[1]) == [40]
    assert read(*short[:2]) == []
    assert read(short[2]) == [40]  # the cache was emptied for the next one
    assert read(short[2]) == []
    assert read(short[0]) == [40]
    predictor.forget()
    assert read(short[0]) == [40]


def test_a_call_about_more_than_is_kept_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchedModel, "most_cached", 100)
    encoder = Encoder(small_reader())
    predictor = Predictor(cast(Any, encoder))
    for _ in range(2):
        list(predictor.answer_all([("Who?", plain_text_of(101))]))
    assert encoder.read == [101, 101]


def test_long_passages_have_the_best_answers_of_all_windows() -> None:
    model = lively_model()
    predictor = Predictor(model, window=16, stride=10, max_words=4)
    question, passage = "Where does rain fall from?", text_of(61)
    tokens = tokenise(passage)
    words = [word.lower() for word in tokens.words]
    spans: list[tuple[float, int, int]] = []
    places: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    masses = []
    last = len(words) - 16
    for begin in (*range(0, last, 10), last):
        start, end = tokens.starts[begin], tokens.ends[begin + 15]
        batch = batch_of(predictor.model.vocabulary, (question, passage[start:end]))
        with torch.inference_mode():
            heads, tails = (side[0, :16].double().numpy() for side in model.network(batch)[:2])
        masses.append((np.logaddexp.reduce(heads), np.logaddexp.reduce(tails)))
        for i in range(16):
            for j in range(i, min(i + 4, 16)):
                spans.append((heads[i] + tails[j], begin + i, begin + j + 1))
                said = tuple(words[begin + i : begin + j + 1])
                places.setdefault(said, []).append((heads[i], tails[j]))
    mass = sum(np.logaddexp.reduce(side) for side in zip(*masses, strict=True))
    expected: list[Answer] = []
    for _, first, end in sorted(spans, reverse=True):
        start, stop = tokens.starts[first], tokens.ends[end - 1]
        if all(stop <= other.start or other.end <= start for other in expected):
            both = zip(*places[tuple(words[first:end])], strict=True)
            score = float(np.exp(sum(np.logaddexp.reduce(side) for side in both) - mass))
            score = min([score, *(each.score for each in expected)])
            expected.append(Answer(passage[start:stop], start, stop, score))
    different = {answer.text.lower(): answer for answer in reversed(expected)}.values()
    best = sorted(different, key=expected.index)
    assert len(best) < len(expected)
    assert_alike(predictor.answer(question, passage, 6), best[:6])


def test_one_window_of_one_word_is_certain(predictor: Predictor) -> None:
    (answer,) = predictor.answer("What falls?", " rain ", 3)
    assert (answer.text, answer.start, answer.end) == ("rain", 1, 5)
    assert answer.score == pytest.approx(1, rel=1e-5)


def test_a_folder_is_loaded_with_its_options(tmp_path: Path) -> None:
    lively_model().save(tmp_path)
    loaded = Predictor.load(tmp_path, max_words=3, threshold=0.0)
    assert (loaded.max_words, loaded.threshold) == (3, 0.0)
    assert Predictor.from_pretrained(tmp_path, threshold=0.5).threshold == 0.5
    same = lively_predictor(max_words=3)
    assert_alike(loaded.answer(*PAIRS[0], 2), same.answer(*PAIRS[0], 2))


def test_with_a_threshold_answers_of_a_lower_score_are_withheld(predictor: Predictor) -> None:
    reading = next(predictor.read_all(PAIRS[:1], 3))
    scores = [answer.score for answer in reading.answers]
    assert scores[0] > scores[1] > scores[2]
    for threshold, count in ((0.0, 3), (scores[1], 2), ((scores[0] + scores[1]) / 2, 1), (1.0, 0)):
        strict = Predictor(predictor.model, threshold=threshold)
        assert_alike(strict.answer(*PAIRS[0], 3), reading.answers[:count])
        assert_alike(next(strict.read_all(PAIRS[:1], 3)).answers, reading.answers)
        assert strict.given(reading) == reading.answers[:count]
        assert strict.given(reading, 0.0) == reading.answers
        assert predictor.given(reading, threshold) == reading.answers[:count]


def test_with_a_threshold_a_passage_must_be_likely_to_have_an_answer(predictor: Predictor) -> None:
    reading = Reading([Answer("rain", 0, 4, 0.9)], 0.25)
    assert predictor.given(reading, 0.75) == reading.answers
    assert predictor.given(reading, 0.76) == []


def test_with_a_threshold_the_models_own_rule_does_not_apply() -> None:
    model = small_reader(no_answer=True)
    model.no_answer_threshold = 0.0
    assert Predictor(model).answer(*PAIRS[0]) == []
    assert len(Predictor(model, threshold=0).answer(*PAIRS[0])) == 1


@pytest.mark.parametrize("threshold", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_threshold_is_a_probability(predictor: Predictor, threshold: float) -> None:
    with pytest.raises(InputError, match="from 0 to 1, not"):
        Predictor(predictor.model, threshold=threshold)
    with pytest.raises(InputError, match="from 0 to 1, not"):
        predictor.given(Reading([], 1.0), threshold)


@pytest.mark.slow
def test_a_passage_of_50_000_words_is_answered_in_the_memory_of_a_tenth_of_it(
    predictor: Predictor,
) -> None:
    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MiB

    predictor.answer("Who founded the abbey?", text_of(5_000), 5)
    before = peak()
    passage = text_of(50_000)
    answers = predictor.answer("Who founded the abbey?", passage, 5)
    assert len(answers) == 5
    assert_sound(answers, passage)
    assert peak() - before < 120  # some 10 to 60; all windows at once take 580


def test_no_address_or_number_takes_in_the_next_line_or_cell(predictor: Predictor) -> None:
    lines = (
        "Acme Ltd\nWebsite: www.example.com\nPhone: +3%\nhttps://a.example/b\tc@d.example\t-5.5°C"
    )
    (part,) = predictor.parts(lines)
    places = set(zip(part.starts.tolist(), part.ends.tolist(), strict=True))
    units = {lines[start:end] for start, end in places if end - start > 2}
    assert {"www.example.com", "+3%", "https://a.example/b", "c@d.example", "-5.5°C"} <= units
    assert not any("\n" in unit or "\t" in unit for unit in units)


def test_a_long_unit_is_read_in_linear_time(predictor: Predictor) -> None:
    """A second each; in quadratic time these would be minutes."""
    for unit in (f"x{'_' * 1_000_000}x", f"http://{'a/' * 500_000}", f"{'.' * 1_000_000}@a.b"):
        assert len(predictor.parts(f"see {unit}")) > 3000


ROWS = "Pump\nWick\n\nBuilt\n1934\n\nOwner: the town of Wick\nLitres: 410"


def test_no_answer_stands_on_two_lines() -> None:
    predictor = Predictor.load()
    for question in ("Who owns it?", "When was it built?", "What is Wick?"):
        for answer in predictor.answer(question, ROWS, top_k=20):
            assert ROWS[answer.start : answer.end] == answer.text
            assert "\n" not in answer.text
            assert answer.text.strip()


def test_lines_are_told_apart_by_the_model_as_if_semicolons_divided_them() -> None:
    predictor = Predictor.load(threshold=0)
    lines = "Owner: the town of Wick\nArchitect: Ann Moe\nBuilt: 1934"
    for question in ("Who designed it?", "In which year was it finished?", "Which town has it?"):
        (one,) = predictor.answer(question, lines)
        (other,) = predictor.answer(question, lines.replace("\n", ";"))
        assert (one.start, one.end) == (other.start, other.end)
        assert one.score == pytest.approx(other.score, abs=0.01)


def test_a_cell_whose_row_and_column_are_named_is_the_answer() -> None:
    table = """Fabrics

Quality   composition   g/m2   Width   per metre   Origin
Alpaca twill   -   348   133 cm   EUR 122   Azerbaijan
Jersey   viscose   97   194 cm   EUR 87   Djibouti
Irish linen   linen   432   275 cm   EUR 41   Cameroon
Taffeta   cotton   121   76 cm   EUR 112   Azerbaijan
"""
    predictor = Predictor.load(threshold=0)
    for row, width in (("Irish linen", "275 cm"), ("Taffeta", "76 cm"), ("Jersey", "194 cm")):
        (answer,) = predictor.answer(f"What is the width of {row}?", table)
        assert answer.text == width
