"""Names of hosts and origins of pages that may ask: the forms that a request can match."""

import re
from collections.abc import Collection
from contextlib import suppress
from ipaddress import IPv6Address

from fabir.errors import InputError

_HOST = r"[\w-]+(?:\.[\w-]+)*"
_NAME = re.compile(_HOST, re.ASCII)
_ORIGIN = re.compile(rf"(https?)://({_HOST}|\[[\da-f:.]+\])(?::(\d{{1,5}}))?", re.ASCII)
_DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_PORT = 65_535


def host_names(names: Collection[str]) -> list[str]:
    """Names of hosts, in lower case.

    Raises:
        InputError: one of them can be no name, or they are one string.
    """
    for name in _texts("host names", names):
        if not _NAME.fullmatch(name):
            message = "is no name of a host: give all of it, without scheme, port and *"
            raise InputError(f"{name!r} {message}")
    return [name.lower() for name in names]


def page_origins(origins: Collection[str]) -> list[str]:
    """Origins as browsers send them: in lower case, without the scheme's own port. "*" stays.

    Raises:
        InputError: one of them can be no origin, "*" is not the only one, or they are one string.
    """
    if "*" in origins and len(set(origins)) > 1:
        raise InputError("* is for pages of any origin: give * alone, or name every origin")
    return [each if each == "*" else _page_origin(each) for each in _texts("origins", origins)]


def _texts(kind: str, texts: Collection[str]) -> Collection[str]:
    if isinstance(texts, str):
        raise InputError(f"{kind} are a list of strings: give [{texts!r}]")
    for text in texts:
        if not text.isascii():
            raise InputError(f"{text!r} is not ASCII: give its name as browsers do, as xn--...")
    return texts


def _page_origin(origin: str) -> str:
    if "*" in origin:
        raise InputError(f"{origin!r} has a *: name every origin, or give * alone for any")
    if found := _ORIGIN.fullmatch(origin.lower()):
        scheme, host, written = found.groups()
        port = int(written or _DEFAULT_PORTS[scheme])
        with suppress(ValueError):
            host = f"[{IPv6Address(host[1:-1])}]" if host[0] == "[" else host
            if 0 < port <= MAX_PORT:
                end = "" if port == _DEFAULT_PORTS[scheme] else f":{port}"
                return f"{scheme}://{host}{end}"
    raise InputError(f"{origin!r} is no origin: give it as https://a.example, or * for any")
