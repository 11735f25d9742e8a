"""Tokens: a service that has some answers only requests that bring one of them."""

import os
import re
from collections.abc import Callable, Collection
from hmac import compare_digest
from pathlib import Path

from fastapi.responses import JSONResponse
from starlette.authentication import AuthenticationBackend, AuthenticationError
from starlette.requests import HTTPConnection

from fabir.errors import InputError
from fabir.serve.guard import path_in_app

OPEN_PATHS = "/", "/health"  # answered without a token: nothing there is a secret
_TOKEN = re.compile(r"[\w.~+/-]+=*", re.ASCII)  # RFC 6750
_REFUSED = "the request needs a token of this service: Authorization: Bearer TOKEN"


def read_tokens(file: Path | None) -> list[str]:
    """The tokens in a file, one a line; or that of FABIR_TOKEN in the environment; or none.

    Raises:
        InputError: the file cannot be read or has no token, FABIR_TOKEN is blank, or a token cannot
            be sent. It is not quoted, as it is a secret.
    """
    try:
        text = file.read_text(encoding="utf-8") if file else os.environ.get("FABIR_TOKEN", "")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"cannot read the tokens in {file}: {reason}") from error
    tokens = [line.strip() for line in text.splitlines() if line.strip()]
    if file and not tokens:
        raise InputError(f"{file} has no token: write one into it, or leave out --token-file")
    if text and not tokens:
        raise InputError("FABIR_TOKEN is blank: give it a token, or do not set it")
    if not all(map(_TOKEN.fullmatch, tokens)):
        place = file or "FABIR_TOKEN"
        raise InputError(f"a token of {place} has other characters than A-Z a-z 0-9 - . _ ~ + / =")
    return tokens


def encode_tokens(tokens: Collection[str]) -> list[bytes]:
    """The tokens as they are compared.

    Raises:
        InputError: one of them cannot be a token, or they are one string, whose letters would be.
    """
    if isinstance(tokens, str) or not all(map(_TOKEN.fullmatch, tokens)):
        raise InputError("tokens are a list of strings of A-Z a-z 0-9 - . _ ~ + / =")
    return [token.encode() for token in tokens]


class BearerToken(AuthenticationBackend):
    """Checks a request's token, for Starlette's AuthenticationMiddleware.

    Args:
        tokens: gives the tokens that are known at this moment, as `encode_tokens` makes them
    """

    def __init__(self, tokens: Callable[[], Collection[bytes]]) -> None:
        self._tokens = tokens

    async def authenticate(self, conn: HTTPConnection) -> None:
        if path_in_app(conn.scope) in OPEN_PATHS:
            return
        scheme, _, given = conn.headers.get("authorization", "").partition(" ")
        token = given.strip().encode()
        known = [compare_digest(token, each) for each in self._tokens()]  # all, in constant time
        if scheme.lower() != "bearer" or not any(known):
            raise AuthenticationError(_REFUSED)


def refuse(connection: HTTPConnection, error: Exception) -> JSONResponse:
    """The response to a request without a token."""
    return JSONResponse({"detail": str(error)}, 401, {"www-authenticate": "Bearer"})
