"""What is answered over HTTP, and what is refused how; in this process, without a network."""

import asyncio
import gzip
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from collection import KITES, write_collection
from fabir.answer.predictor import Predictor
from fabir.runtime.locate import BUNDLED
from fabir.runtime.store import WEIGHTS, change_settings, copy_model
from fabir.search.asker import Asker
from fabir.search.index import Index
from fabir.serve import guard
from fabir.serve.app import create_app
from fabir.serve.attention import Explainer
from factories import ABBEY, RAIN
from serving import post, talk

QUESTION = "When was the abbey founded?"
ASKED = {"question": QUESTION, "passage": ABBEY}
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor.load()


def test_answers_are_the_predictors(predictor: Predictor) -> None:
    found = post(predictor, "/answer", json={**ASKED, "top_k": 3})
    assert found.status_code == 200
    answers = found.json()["answers"]
    assert answers[0]["text"] == "1082"
    expected = predictor.answer(QUESTION, ABBEY, top_k=3)
    assert [(a["text"], a["start"], a["end"]) for a in answers] == [
        (a.text, a.start, a.end) for a in expected
    ]
    [reading] = predictor.read_all([(QUESTION, ABBEY)])
    assert found.json()["no_answer"] == pytest.approx(reading.no_answer)
    assert found.json()["best_guess"] is None


def test_below_the_threshold_there_is_a_guess_in_place_of_answers(predictor: Predictor) -> None:
    every = post(predictor, "/answer", json={**ASKED, "top_k": 3, "threshold": 0}).json()
    second = every["answers"][1]["score"]
    between = post(predictor, "/answer", json={**ASKED, "top_k": 3, "threshold": second * 1.01})
    assert between.json() == {**every, "answers": every["answers"][:1]}
    above = post(predictor, "/answer", json={**ASKED, "threshold": 1}).json()
    assert above["answers"] == []
    assert above["best_guess"] == pytest.approx(every["answers"][0])
    assert above["no_answer"] == pytest.approx(every["no_answer"])
    null = post(predictor, "/answer", json={**ASKED, "threshold": None}).json()
    assert null["answers"] == every["answers"][:1]


def test_a_request_without_a_threshold_has_the_services(predictor: Predictor) -> None:
    strict = Predictor(predictor.model, threshold=1.0)
    assert post(strict, "/answer", json=ASKED).json()["best_guess"]["text"] == "1082"
    assert post(strict, "/answer", json={**ASKED, "threshold": 0}).json()["best_guess"] is None
    assert '"answers": []' in post(strict, "/explain", json=ASKED).text
    page = post(strict, "/explain", json={**ASKED, "threshold": 0}).text
    assert '"answers": [{"text": "1082"' in page


def test_many_at_a_time_get_the_same_answers(predictor: Predictor) -> None:
    asked = [{"question": q, "passage": p} for q in (QUESTION, "Who?") for p in (ABBEY, RAIN)] * 8

    async def call(client: httpx.AsyncClient) -> tuple[list[httpx.Response], str]:
        found = await asyncio.gather(*(client.post("/answer", json=each) for each in asked))
        return found, (await client.get("/metrics")).text

    found, metrics = talk(predictor, call)
    for each, response in zip(asked, found, strict=True):
        expected = predictor.answer(each["question"], each["passage"])
        assert [a["start"] for a in response.json()["answers"]] == [a.start for a in expected]
    assert 'fabir_requests_total{path="/answer",status="200"} 32.0' in metrics
    assert 'fabir_requests_in_progress{path="/answer"} 0.0' in metrics
    batches = re.search(r"fabir_batch_questions_count (\d+)", metrics)
    assert batches
    assert int(batches[1]) < 32


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1:8000", 200),
        ("192.168.1.5", 200),
        ("[::1]:8000", 200),
        ("Library.example", 200),
        ("evil.example:8000", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("[::1", 421),
        ("", 421),
        (b"\xff", 421),
    ],
)
def test_only_requests_for_known_hosts_are_answered(
    predictor: Predictor, host: str | bytes, status: int
) -> None:
    options = {"allowed_hosts": ["library.example"]}
    for path, sent in ("/answer", {"json": ASKED}), ("/nowhere", {}):
        found = post(predictor, path, headers={"host": host}, options=options, **sent)
        assert (found.status_code == 421) == (status == 421)
        assert "x-content-type-options" in found.headers
    assert post(predictor, "/answer", headers={"host": host}, json=ASKED).status_code == 200


def test_offsets_count_characters_whatever_they_are(predictor: Predictor) -> None:
    passage = f"\U0001f30a\x00\x1b é {ABBEY}"
    (answer,) = post(predictor, "/answer", json={**ASKED, "passage": passage}).json()["answers"]
    assert answer["text"] == passage[answer["start"] : answer["end"]] == "1082"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ('{"question": "Who?", "passage"', 400, "not valid JSON"),
        ("", 422, "object"),
        ("[]", 422, "object"),
        ("[" * 100_000, 400, "the body cannot be read: its JSON is nested too deeply"),
        (
            '{"question": "Was macht der B\xe4r?", "passage": "a"}'.encode("latin-1"),
            400,
            "the body is not UTF-8, from byte 29 on: encode it as UTF-8",
        ),
        ('{"question": "Who?", "passage": "\x01"}', 400, "not valid JSON"),
        (
            '{"question": "Who?", "passage": "\\ud800 a"}',
            422,
            "passage: it has characters that are not valid Unicode",
        ),
        ('{"question": "Who?", "passage": "a", "top_k": "\\udfff"}', 422, "top_k"),
        (
            '{"question": "Who?", "passage": "a", "\\ud800": 1}',
            422,
            r"there is no field '\ud800'; the fields are question, passage, top_k, threshold",
        ),
        ('{"question": "Who?", "pasage": "a"}', 422, "there is no field 'pasage'; the fields are"),
        ('{"a\\nb": 1}', 422, r"there is no field 'a\nb'"),
        ('{"question": "Who?"}', 422, "passage: it is missing"),
        ('{"question": 3, "passage": "a"}', 422, "question: it must be a string"),
        ('{"question": " ", "passage": "a"}', 422, "question: it is empty"),
        ('{"question": "\\u200b", "passage": "a"}', 422, "question: it is empty"),
        ('{"question": "Who?", "passage": "\\n\\t"}', 422, "passage: it is empty"),
        ('{"question": "Who?", "passage": "a", "top_k": 0}', 422, "top_k: it must be at least 1"),
        ('{"question": "Who?", "passage": "a", "top_k": 21}', 422, "top_k: it must be at most 20"),
        ('{"question": "Who?", "passage": "a", "top_k": NaN}', 422, "top_k"),
        (
            '{"question": "Who?", "passage": "a", "top_k": true}',
            422,
            "top_k: it must be a whole number",
        ),
        (
            '{"question": "Who?", "passage": "a", "top_k": "3"}',
            422,
            "top_k: it must be a whole number",
        ),
        (
            '{"question": "Who?", "passage": "a", "threshold": 1.5}',
            422,
            "threshold: it must be at most 1",
        ),
        (
            '{"question": "Who?", "passage": "a", "threshold": -1}',
            422,
            "threshold: it must be at least 0",
        ),
        (
            '{"question": "Who?", "passage": "a", "threshold": NaN}',
            422,
            "threshold: it must be a number",
        ),
        (
            '{"question": "Who?", "passage": "a", "threshold": "much"}',
            422,
            "threshold: it must be a number",
        ),
        (
            '{"question": "Who?", "passage": "a", "threshold": "0"}',
            422,
            "threshold: it must be a number",
        ),
        (
            '{"question": "Who?", "passage": "a", "threshold": true}',
            422,
            "threshold: it must be a number",
        ),
        (
            '{"question": "Who?", "passage": "a", "top_k": ' + "9" * 5000 + "}",
            400,
            "the body cannot be read: a number in its JSON has too many digits",
        ),
        (
            json.dumps({"question": "w" * 1001, "passage": "a"}),
            422,
            "question: it has more than 1,000 characters",
        ),
        (
            json.dumps({"question": "Who?", "passage": "a" * 100_001}),
            422,
            "passage: it has more than 100,000 characters",
        ),
        ("a" * 10_000_000, 413, "larger than 1,048,576 bytes"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_line(
    predictor: Predictor, body: str | bytes, status: int, message: str
) -> None:
    found = post(predictor, "/answer", content=body, headers=JSON)
    assert (found.status_code, list(found.json())) == (status, ["detail"])
    assert message in found.json()["detail"]
    assert "\n" not in found.json()["detail"]


def test_a_compressed_body_is_refused(predictor: Predictor) -> None:
    body, headers = gzip.compress(json.dumps(ASKED).encode()), {"content-encoding": "gzip"}
    found = post(predictor, "/answer", content=body, headers=JSON | headers)
    assert found.status_code == 415
    assert "Content-Encoding" in found.json()["detail"]
    assert found.headers["accept-encoding"] == "identity"
    plain = {"content-encoding": "Identity"}
    assert post(predictor, "/answer", json=ASKED, headers=plain).status_code == 200
    got = talk(predictor, lambda client: client.get("/health", headers=headers))
    assert got.status_code == 200  # there is no body


def test_a_body_in_pieces_is_limited_too(predictor: Predictor) -> None:
    async def pieces() -> Any:
        for _ in range(200):
            yield b" " * 10_000

    assert post(predictor, "/answer", content=pieces(), headers=JSON).status_code == 413


@pytest.mark.parametrize("timeout", ["_PART_TIMEOUT", "_BODY_TIMEOUT"])
def test_a_body_that_does_not_come_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, timeout: str
) -> None:
    monkeypatch.setattr(guard, timeout, 0.01)

    async def run() -> dict[str, Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": "POST", "path": "/answer", "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }  # fmt: skip
        await create_app(Predictor.load())(scope, lambda: asyncio.sleep(60, {}), send)
        return sent[0]

    assert asyncio.run(run())["status"] == 408


def test_bodies_of_all_requests_are_limited_together(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.dumps(ASKED).encode()
    blanks = b" " * len(body)
    monkeypatch.setattr(guard, "MAX_BODIES", 5 * len(body) // 2)

    async def call(client: httpx.AsyncClient) -> list[httpx.Response]:
        begun, enough = asyncio.Event(), asyncio.Event()

        async def slow() -> AsyncIterator[bytes]:
            yield blanks
            begun.set()
            await enough.wait()
            yield body

        held = asyncio.create_task(client.post("/answer", content=slow(), headers=JSON))
        await begun.wait()
        refused = await client.post("/answer", content=blanks + body, headers=JSON)
        enough.set()
        answered = await held
        later = await client.post("/answer", content=blanks + body, headers=JSON)
        return [refused, later, answered]

    refused, later, held = talk(predictor, call)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json() == {
        "detail": "the service reads too many bodies at once: ask again in a moment"
    }
    assert (later.status_code, held.status_code) == (200, 200)


def test_a_request_that_the_end_of_the_service_breaks_off_is_told(predictor: Predictor) -> None:
    async def call(client: httpx.AsyncClient) -> httpx.Response:
        return await client.post("/answer", json=ASKED)

    class Cancelled(Predictor):
        def work(self, pairs: Any) -> int:
            raise asyncio.CancelledError

    found = talk(Cancelled(predictor.model), call)
    assert found.status_code == 503
    assert "the service stops" in found.json()["detail"]


def test_a_form_of_another_site_is_not_answered(predictor: Predictor) -> None:
    """Browsers send such without asking; JSON they do not."""
    found = post(
        predictor, "/answer", content=json.dumps(ASKED), headers={"content-type": "text/plain"}
    )
    assert found.status_code == 422
    assert "application/json" in found.json()["detail"]


def test_names_of_documents_may_be_no_text(predictor: Predictor, tmp_path: Path) -> None:
    (tmp_path / "caf\udce9.txt").write_text(ABBEY)
    options = {"asker": Asker(Index.build([tmp_path], tmp_path / "index"), predictor)}
    asked = {"question": "Who founded the abbey?", "top_k": 1}
    (found,) = post(predictor, "/ask", json=asked, options=options).json()["answers"]
    assert found["document"] == "caf\ufffd.txt"
    assert found["passage"][found["passage_start"] : found["passage_end"]] == found["text"]
    assert post(predictor, "/ask", json={"question": ""}, options=options).status_code == 422
    assert post(predictor, "/ask", json={"question": " "}, options=options).status_code == 422


def test_a_document_is_shown_from_the_index_alone(predictor: Predictor, tmp_path: Path) -> None:
    write_collection(tmp_path / "documents")
    index = Index.build([tmp_path / "documents"], tmp_path / "index")
    options: Any = {"asker": Asker(index, predictor)}
    (tmp_path / "documents" / "kites.md").write_text("Changed since.")

    def show(**asked: Any) -> httpx.Response:
        return post(predictor, "/document", json=asked, options=options)

    whole = {"document": "kites.md", "text": KITES.strip(), "start": 0, "whole": True}
    assert show(document="kites.md").json() == show(document="kites.md", start=64).json() == whole
    for name in (str(tmp_path / "documents" / "kites.md"), "../kites.md", "/etc/passwd", "", "\0"):
        absent = show(document=name)
        assert absent.status_code == 404
        assert absent.json()["detail"] == "the index has no document of this name"
    for wrong in ({}, {"document": "a", "start": -1}, {"document": "a", "start": "1"}):
        assert show(**wrong).status_code == 422
    asked = {"document": "kites.md"}
    without = post(predictor, "/document", json=asked)
    assert without.status_code == 404
    assert "--index" in without.json()["detail"]
    protected = post(predictor, "/document", json=asked, options={**options, "tokens": ["secret"]})
    assert protected.status_code == 401


def test_an_index_gives_what_its_asker_gives(predictor: Predictor, tmp_path: Path) -> None:
    write_collection(tmp_path / "documents")
    asker = Asker(Index.build([tmp_path / "documents"], tmp_path / "index"), predictor)
    asked = {"question": "Who flew the first kite of the valley?", "top_k": 2}
    found = post(predictor, "/ask", json=asked, options={"asker": asker}).json()["answers"]
    assert found[0]["text"] == "Anna Mill"
    assert [each["text"] for each in found] == [a.text for a in asker.ask(*asked.values())]
    strict = post(predictor, "/ask", json={**asked, "threshold": 1}, options={"asker": asker})
    assert strict.json()["answers"] == []
    guess = strict.json()["best_guess"]
    assert guess["score"] == pytest.approx(found[0]["score"])
    assert guess | {"score": 0} == found[0] | {"score": 0}
    assert str(tmp_path) not in strict.text  # where the files are is nobody's business
    assert strict.json()["no_answer"] == pytest.approx(1 - found[0]["score"])


def test_an_updated_index_is_asked_without_a_new_start(
    predictor: Predictor, tmp_path: Path
) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "abbey.txt").write_text(ABBEY)
    Index.build([tmp_path / "texts"], tmp_path / "index")
    asker = Asker(Index.open(tmp_path / "index"), predictor, threshold=0)
    asked = {"question": "Who built the mill of Olm?"}

    async def call(client: httpx.AsyncClient) -> list[dict[str, Any]]:
        before = (await client.post("/ask", json=asked)).json()
        (tmp_path / "texts" / "mill.txt").write_text("The mill of Olm was built by Ada Quist.")
        Index.open(tmp_path / "index").update()
        return [before, (await client.post("/ask", json=asked)).json()]

    before, after = talk(predictor, call, asker=asker)
    assert not any("Ada Quist" in each["text"] for each in before["answers"])
    assert after["answers"][0]["text"] == "Ada Quist"


def test_without_an_index_there_is_nothing_to_ask(predictor: Predictor) -> None:
    found = post(predictor, "/ask", json={"question": "What?"})
    assert found.status_code == 404
    assert "--index" in found.json()["detail"]


def test_when_too_much_waits_it_says_when_to_come_again(predictor: Predictor) -> None:
    async def call(client: httpx.AsyncClient) -> list[httpx.Response]:
        return await asyncio.gather(*(client.post("/answer", json=ASKED) for _ in range(9)))

    found = talk(predictor, call, max_waiting=100)
    statuses = [each.status_code for each in found]
    assert set(statuses) == {200, 503}
    for each in found:
        if each.status_code == 503:
            assert each.headers["retry-after"] == "1"
            assert "try again" in each.json()["detail"]


def test_the_attention_view_is_a_page_with_a_policy(predictor: Predictor) -> None:
    found = post(predictor, "/explain", json=ASKED)
    assert found.status_code == 200
    assert found.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in found.headers["content-security-policy"]
    assert "layers.0.cross" in found.text


def test_without_weights_or_torch_it_says_so(
    predictor: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_model(BUNDLED, tmp_path)
    (tmp_path / WEIGHTS).unlink()
    exported = {"explainer": Explainer(tmp_path)}
    found = post(predictor, "/explain", json=ASKED, options=exported)
    assert found.status_code == 501
    assert "only exported" in found.json()["detail"]
    monkeypatch.setattr("fabir.serve.attention.find_spec", lambda name: None)
    assert "needs torch" in post(predictor, "/explain", json=ASKED).json()["detail"]
    health = talk(predictor, lambda client: client.get("/health")).json()
    assert (health["status"], health["index"]) == ("ok", False)
    assert "needs torch" in health["explain"]


def test_the_page_and_the_schema_need_nothing_from_elsewhere(predictor: Predictor) -> None:
    page = talk(predictor, lambda client: client.get("/"))
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "http" not in page.text.replace("http://www.w3.org/2000/svg", "")
    assert "innerHTML" not in page.text
    schema = talk(predictor, lambda client: client.get("/openapi.json")).json()
    assert set(schema["paths"]) == {
        "/answer",
        "/answers",
        "/ask",
        "/document",
        "/explain",
        "/health",
        "/metrics",
    }
    found = schema["components"]["schemas"]["Found"]
    assert "path" not in {*found["properties"], *found["required"]}
    assert "document" in found["required"]
    for path in ("/docs", "/redoc", "/nothing"):
        assert talk(predictor, lambda client, path=path: client.get(path)).status_code == 404


def test_other_paths_are_counted_together(predictor: Predictor) -> None:
    async def call(client: httpx.AsyncClient) -> str:
        for path in ("/a", "/b", "/%00"):
            await client.get(path)
        await client.get("/answer")
        return (await client.get("/metrics")).text

    metrics = talk(predictor, call)
    assert 'fabir_requests_total{path="other",status="404"} 3.0' in metrics
    assert 'fabir_requests_total{path="/answer",status="405"} 1.0' in metrics


def test_the_attention_view_finds_a_reader_by_name() -> None:
    for name in (None, Path("fast")):
        explainer = Explainer(name)
        assert explainer.obstacle is None
        explainer.close()


def test_the_attention_view_is_that_of_the_model_that_answers(tmp_path: Path) -> None:
    copy_model(BUNDLED, tmp_path)
    options: dict[str, Any] = {"explainer": Explainer(tmp_path)}
    model = Predictor.load(tmp_path)
    change_settings(tmp_path, no_answer_threshold=0.25)
    found = post(model, "/explain", json=ASKED, options=options)
    assert (found.status_code, found.headers["retry-after"]) == (503, "1")
    assert "the model's files have changed" in found.json()["detail"]
    options = {"explainer": Explainer(tmp_path)}
    assert post(model, "/explain", json=ASKED, options=options).status_code == 200


@pytest.mark.parametrize("path", ["/", "/health", "/metrics", "/openapi.json"])
def test_what_can_be_got_has_a_head(predictor: Predictor, path: str) -> None:
    async def call(client: httpx.AsyncClient) -> list[httpx.Response]:
        return [await client.get(path), await client.head(path)]

    got, head = talk(predictor, call)
    assert head.status_code == 200
    assert head.headers["content-type"] == got.headers["content-type"]
    assert '"head":' not in got.text


def test_pages_of_named_origins_may_ask(predictor: Predictor) -> None:
    wanted = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-request-id",
    }

    async def call(client: httpx.AsyncClient) -> list[httpx.Response]:
        found = []
        for origin in "https://a.example", "https://evil.example":
            sent = {"origin": origin}
            found.append(await client.options("/answer", headers=sent | wanted))
            found.append(await client.post("/answer", json=ASKED, headers=sent))
        return found

    options = {"cors": ["https://a.example"], "tokens": ["a-token"]}
    allowed, refused, foreign, hidden = talk(predictor, call, **options)
    assert allowed.status_code == 200
    for each in allowed, refused:  # a page can read why it is refused
        assert each.headers["access-control-allow-origin"] == "https://a.example"
    assert refused.status_code == 401
    assert "x-request-id" in refused.headers["access-control-expose-headers"]
    assert foreign.status_code == 400
    for each in foreign, hidden:
        assert "access-control-allow-origin" not in each.headers
    assert talk(predictor, call)[0].status_code == 405  # by default there are no others


def test_behind_a_proxy_it_may_have_a_path(predictor: Predictor) -> None:
    async def run(**options: Any) -> list[httpx.Response]:
        app = create_app(predictor, **options)
        transport = httpx.ASGITransport(app, root_path="/qa")
        async with httpx.AsyncClient(transport=transport, base_url="http://test/qa") as client:
            paths = "/health", "/", "/openapi.json", "/metrics"
            return [await client.get(path) for path in paths]

    found = asyncio.run(run(tokens=["a-token"]))
    assert [each.status_code for each in found] == [200, 200, 401, 401]
    *_, schema, metrics = asyncio.run(run())
    assert schema.json()["servers"] == [{"url": "/qa"}]
    assert 'fabir_requests_total{path="/health",status="200"} 1.0' in metrics.text


def test_a_path_with_a_slash_too_many_is_not_redirected(predictor: Predictor) -> None:
    """A client would send its text and its token again, to an address that the proxy made up."""

    async def call(client: httpx.AsyncClient) -> list[httpx.Response]:
        return [await client.post(path, json=ASKED) for path in ("/answer/", "/answer//", "/no/")]

    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(predictor), root_path="/qa")
        async with httpx.AsyncClient(transport=transport, base_url="http://test/qa") as client:
            return await call(client)

    for root, found in ("", talk(predictor, call)), ("/qa", asyncio.run(run())):
        assert [each.status_code for each in found] == [404] * 3
        assert not any("location" in each.headers for each in found)
        *near, other = (each.json()["detail"] for each in found)
        assert near == [f"there is no such path: it is {root}/answer"] * 2
        assert other == "Not Found"


def test_it_can_be_part_of_another_application(predictor: Predictor) -> None:
    answers = create_app(predictor, tokens=["a-token"])
    ended: list[bool] = []
    close = answers.state.service.close
    answers.state.service.close = lambda: (close(), ended.append(True))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with answers.router.lifespan_context(answers):
            yield

    app = FastAPI(lifespan=lifespan)
    app.mount("/qa", answers)

    async def run() -> None:
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")
        async with app.router.lifespan_context(app), client:
            sent = {"authorization": "Bearer a-token"}
            found = await client.post("/qa/answer", json=ASKED, headers=sent)
            assert found.json()["answers"][0]["text"] == "1082"
            assert (await client.post("/qa/answer", json=ASKED)).status_code == 401
            assert (await client.get("/qa/health")).status_code == 200
            assert (await client.get("/qa")).headers["location"] == "http://test/qa/"
            metrics = (await client.get("/qa/metrics", headers=sent)).text
            assert 'fabir_requests_total{path="/answer",status="200"} 1.0' in metrics
            assert (await client.get("/answer")).status_code == 404

    asyncio.run(run())
    assert ended == [True]


def test_a_bug_is_reported_without_its_details(predictor: Predictor) -> None:
    class Broken(Predictor):
        def work(self, pairs: Any) -> int:
            raise RuntimeError("a secret")

    async def run() -> httpx.Response:
        app = create_app(Broken(predictor.model))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.post("/answer", json=ASKED, headers={"x-request-id": "its-id"})

    found = asyncio.run(run())
    assert found.status_code == 500
    assert "secret" not in found.text
    assert "its log has the error" in found.json()["detail"]
    assert found.headers["x-request-id"] == "its-id"
