"""Many questions of a request, and parts that are replaced while requests are answered."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterable
from typing import Any

import httpx
import pytest

from fabir.answer.predictor import Answer, Predictor, Reading
from fabir.serve.app import create_app
from fabir.serve.messages import MAX_PASSAGE, MAX_QUESTIONS
from fabir.serve.service import Parts
from factories import ABBEY, EXAMPLES, small_reader
from serving import post, talk

ASKED = {"question": "When was the abbey founded?", "passage": ABBEY}
FIELDS = "question", "passage", "top_k", "threshold"
QUESTIONS = [{"question": question, "passage": passage} for question, passage, *_ in EXAMPLES]


class Quick(Predictor):
    """Gives the same answer to everything, and keeps what it is asked together."""

    def __init__(self, text: str = "here") -> None:
        super().__init__(small_reader())
        self.text = text
        self.asked: list[list[tuple[str, str]]] = []
        self.go = threading.Event()
        self.go.set()

    def read_all(self, pairs: Iterable[tuple[str, str]], top_k: int = 1, **options: Any) -> Any:
        self.asked.append(list(pairs))
        self.go.wait(60)
        answers = [Answer(self.text, 0, 1, 1 - number / 10) for number in range(top_k)]
        return iter([Reading(answers, 0.0) for _ in self.asked[-1]])


def test_many_questions_are_answered_in_order() -> None:
    predictor = Predictor.load()
    asked = [{**each, "top_k": number % 3 + 1} for number, each in enumerate(QUESTIONS * 3)]
    found = post(predictor, "/answers", json={"questions": asked}).json()["results"]
    alone = [post(predictor, "/answer", json=each).json() for each in asked]
    assert [[a["text"] for a in each["answers"]] for each in found] == [
        [a["text"] for a in each["answers"]] for each in alone
    ]
    for each, expected in zip(found, alone, strict=True):
        assert each["no_answer"] == pytest.approx(expected["no_answer"], abs=0.02)


def test_a_question_that_cannot_be_answered_has_its_problem_instead() -> None:
    asked = [
        ASKED,
        {**ASKED, "question": " "},
        "a text",
        {**ASKED, "topk": 3},
        {"passage": ABBEY},
        {**ASKED, "threshold": 2},
        {**ASKED, "top_k": 2},
    ]
    found = post(Quick(), "/answers", json={"questions": asked})
    assert found.status_code == 200
    first, *problems, last = found.json()["results"]
    assert [len(each["answers"]) for each in (first, last)] == [1, 2]
    assert problems == [
        {"detail": "question: it is empty"},
        {"detail": "it must be an object"},
        {"detail": f"there is no field 'topk'; the fields are {', '.join(FIELDS)}"},
        {"detail": "question: it is missing"},
        {"detail": "threshold: it must be at most 1"},
    ]


def test_a_question_that_the_model_refuses_is_a_problem_too() -> None:
    class Refusing(Quick):
        def work(self, pairs: Iterable[tuple[str, str]]) -> int:
            return Predictor.work(self, [(q.replace("Who", ""), p) for q, p in pairs])

    asked = [ASKED, {"question": "Who", "passage": ABBEY}, ASKED]
    first, second, third = post(Refusing(), "/answers", json={"questions": asked}).json()["results"]
    assert first["answers"] == third["answers"] != []
    assert "is empty" in second["detail"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "questions: it is missing"),
        ({"questions": []}, "questions: it is empty"),
        ({"questions": "Who?"}, "questions: it must be a list"),
        ({"questions": [ASKED] * (MAX_QUESTIONS + 1)}, "questions: it has more than 256 items"),
        ({"questions": [ASKED], "top_k": 3}, "there is no field 'top_k'; the fields are questions"),
        ([ASKED], "the body must be a JSON object, with the header Content-Type: application/json"),
    ],
)
def test_other_requests_for_many_are_refused(body: Any, message: str) -> None:
    found = post(Quick(), "/answers", json=body)
    assert (found.status_code, found.json()) == (422, {"detail": message})


def test_many_long_passages_are_read_as_so_many_requests_would_be() -> None:
    predictor = Quick()
    asked = [{"question": "Who?", "passage": "a " * length} for length in (30_000, 25_000, 10, 5)]
    found = post(predictor, "/answers", json={"questions": asked})
    assert len(found.json()["results"]) == 4
    assert [len(together) for together in predictor.asked] == [1, 3]
    assert all(sum(len(p) for _, p in pairs) <= MAX_PASSAGE for pairs in predictor.asked)


def test_questions_are_counted_by_whether_they_are_answered() -> None:
    async def call(client: httpx.AsyncClient) -> str:
        await client.post("/answer", json=ASKED)
        await client.post("/answers", json={"questions": [ASKED, {**ASKED, "top_k": 0}, ASKED]})
        return (await client.get("/metrics")).text

    counted = talk(Quick(), call)
    assert 'fabir_questions_total{path="/answer",result="answer"} 1.0' in counted
    assert 'fabir_questions_total{path="/answers",result="answer"} 2.0' in counted
    none = talk(Predictor(small_reader(), threshold=1.0), call)
    assert 'fabir_questions_total{path="/answers",result="no answer"} 2.0' in none
    assert "fabir_build_info{" in none


def test_reloads_are_counted_from_zero() -> None:
    counted = talk(Quick(), lambda client: client.get("/metrics")).text
    for result in "done", "failed":
        assert f'fabir_reloads_total{{result="{result}"}} 0.0' in counted


def test_a_request_that_has_begun_is_answered_by_what_was_replaced() -> None:
    old, new = Quick("old"), Quick("new")
    kept = weakref.ref(old)

    async def run(old: Quick) -> list[str]:
        app = create_app(old)
        old.go.clear()
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://test"
        ) as client:
            first = asyncio.create_task(client.post("/answer", json=ASKED))
            while not old.asked:
                await asyncio.sleep(0.01)
            app.state.service.replace(Parts(new))
            second = await client.post("/answer", json=ASKED)
            old.go.set()
            return [each.json()["answers"][0]["text"] for each in (await first, second)]

    assert asyncio.run(run(old)) == ["old", "new"]
    del old
    gc.collect()
    assert kept() is None  # and nothing keeps it
