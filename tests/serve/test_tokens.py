"""Which tokens there are, and which requests need one."""

from pathlib import Path

import httpx
import pytest

from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.serve.app import create_app
from fabir.serve.service import Parts
from fabir.serve.tokens import read_tokens
from factories import ABBEY, small_reader
from serving import post, talk

ASKED = {"question": "When was the abbey founded?", "passage": ABBEY}
TOKENS = {"tokens": ["first-token", "second/token=="]}


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor(small_reader())


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (None, 401),
        ("", 401),
        ("Bearer", 401),
        ("Bearer first-toke", 401),
        ("Bearer first-token2", 401),
        ("Basic first-token", 401),
        ("first-token", 401),
        (b"Bearer \xff", 401),
        ("Bearer first-token", 200),
        ("bearer second/token==", 200),
    ],
)
def test_a_request_needs_one_of_the_tokens(
    predictor: Predictor, given: str | bytes | None, status: int
) -> None:
    headers = {} if given is None else {"authorization": given}
    found = post(predictor, "/answer", json=ASKED, headers=headers, options=TOKENS)
    assert found.status_code == status
    if status == 401:
        assert found.headers["www-authenticate"] == "Bearer"
        assert "Authorization: Bearer TOKEN" in found.json()["detail"]


def test_only_the_page_and_the_state_are_open(predictor: Predictor) -> None:
    async def call(client: httpx.AsyncClient) -> dict[str, int]:
        paths = "/", "/health", "/metrics", "/openapi.json", "/nowhere", "/%2Fhealth", "/health/"
        return {path: (await client.get(path)).status_code for path in paths}

    found = talk(predictor, call, **TOKENS)
    assert {path for path, status in found.items() if status != 401} == {"/", "/health"}


def test_without_a_token_no_body_is_read(predictor: Predictor) -> None:
    headers = {"content-type": "application/json"}
    found = post(predictor, "/answer", content=b"{", headers=headers, options=TOKENS)
    assert found.status_code == 401


def test_the_schema_says_that_a_token_is_needed(predictor: Predictor) -> None:
    async def call(client: httpx.AsyncClient) -> dict:
        headers = {"authorization": "Bearer first-token"}
        return (await client.get("/openapi.json", headers=headers)).json()

    paths = talk(predictor, call, **TOKENS)["paths"]
    assert paths["/answer"]["post"]["security"] == [{"HTTPBearer": []}]
    assert "security" not in paths["/health"]["get"]
    open_schema = talk(predictor, lambda client: client.get("/openapi.json")).json()
    assert "security" not in open_schema["paths"]["/answer"]["post"]


def test_tokens_come_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FABIR_TOKEN", raising=False)
    assert read_tokens(None) == []
    monkeypatch.setenv("FABIR_TOKEN", "of-the-environment")
    assert read_tokens(None) == ["of-the-environment"]
    file = tmp_path / "tokens"
    file.write_text("one\n\n  two==\n")
    assert read_tokens(file) == ["one", "two=="]


@pytest.mark.parametrize("tokens", ["a-token", [""], ["a b"], ["good", "b\xe4d"]])
def test_an_application_takes_a_list_of_tokens(predictor: Predictor, tokens: list[str]) -> None:
    with pytest.raises(InputError, match="tokens are a list of strings"):
        create_app(predictor, tokens=tokens)


def test_tokens_are_replaced_but_not_begun_with(predictor: Predictor) -> None:
    service = create_app(predictor, tokens=["old"]).state.service
    service.replace(Parts(predictor, tokens=["new"]))
    assert service.tokens == [b"new"]
    with pytest.raises(InputError, match="from its start"):
        service.replace(Parts(predictor))
    with pytest.raises(InputError, match="from its start"):
        create_app(predictor).state.service.replace(Parts(predictor, tokens=["new"]))


def test_what_cannot_be_tokens_is_refused_without_showing_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tokens"
    with pytest.raises(InputError, match=r"cannot read the tokens in .*: No such file"):
        read_tokens(file)
    file.write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_tokens(file)
    file.write_text(" \n")
    with pytest.raises(InputError, match="has no token"):
        read_tokens(file)
    monkeypatch.setenv("FABIR_TOKEN", " \n")
    with pytest.raises(InputError, match="FABIR_TOKEN is blank"):
        read_tokens(None)
    file.write_text("four secret words\n")
    with pytest.raises(InputError, match="has other characters"):
        read_tokens(file)
    file.write_text("sécret")
    monkeypatch.setenv("FABIR_TOKEN", 'sec"ret')
    for place in file, None:
        with pytest.raises(InputError, match="has other characters") as refused:
            read_tokens(place)
        assert "ret" not in str(refused.value).replace(str(tmp_path), "")
