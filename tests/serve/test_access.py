"""Hosts and origins: only forms that a request can match are taken."""

import httpx
import pytest

from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.serve.access import host_names, page_origins
from fabir.serve.app import create_app
from serving import talk


@pytest.mark.parametrize(
    ("origin", "sent"),
    [
        ("*", "*"),
        ("https://Shop.example", "https://shop.example"),
        ("HTTPS://a.example:443", "https://a.example"),
        ("http://a.example:80", "http://a.example"),
        ("http://a.example:443", "http://a.example:443"),
        ("https://a.example:08080", "https://a.example:8080"),
        ("http://[0:0::A]:3000", "http://[::a]:3000"),
    ],
)
def test_an_origin_is_taken_as_browsers_send_it(origin: str, sent: str) -> None:
    assert page_origins([origin]) == [sent]


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ("https://*.c.example", "name every origin, or give * alone"),
        ("https://a.example:*", "name every origin, or give * alone"),
        ("https://b\xfccher.example", "xn--"),
        *(
            (origin, "is no origin: give it as https://a.example")
            for origin in (
                "",
                "null",
                "a.example",
                "ftp://a.example",
                "https://a.example/",
                "https://a.example?",
                "https://ida@a.example",
                "https://a.example:",
                "https://a.example:0",
                "https://a.example:65536",
                "https://a.example:" + "9" * 5000,
                "https://[::g]",
                "https://a.example\n",
            )
        ),
    ],
)
def test_an_origin_that_no_browser_sends_is_refused(origin: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        page_origins(["https://a.example", origin])
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_names_of_hosts_have_no_scheme_and_no_port() -> None:
    assert host_names(["Library.example", "intra_net", "10.0.0.1"]) == [
        "library.example",
        "intra_net",
        "10.0.0.1",
    ]
    for name in "https://a.example", "a.example:80", "*.a.example", "*", "a..b", "", "a\n":
        with pytest.raises(InputError, match="is no name of a host"):
            host_names([name])
    with pytest.raises(InputError, match="xn--"):
        host_names(["b\xfccher.example"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cors": "https://a.example"}, r"give \['https://a.example'\]"),
        ({"cors": "*"}, r"give \['\*'\]"),
        ({"allowed_hosts": "a.example"}, r"give \['a.example'\]"),
        ({"cors": ["a.example"]}, "is no origin"),
        ({"cors": ["*", "https://a.example"]}, r"give \* alone"),
        ({"allowed_hosts": ["https://a.example"]}, "is no name of a host"),
    ],
)
def test_an_application_refuses_what_the_command_refuses(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        create_app(Predictor.load(), **options)


def test_an_origin_in_another_form_lets_its_pages_ask() -> None:
    async def call(client: httpx.AsyncClient) -> str | None:
        sent = {"origin": "https://shop.example"}
        found = await client.get("/health", headers=sent)
        return found.headers.get("access-control-allow-origin")

    for origin in "https://Shop.example", "https://shop.example:443":
        assert talk(Predictor.load(), call, cors=(origin,)) == "https://shop.example"
