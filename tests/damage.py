"""Damage to files and messages: bytes that are changed, lost, doubled or put in, and values of JSON
that are others. No tests here."""

import copy
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import strategies as st

SECONDS = 10  # of a processor, that anything damaged may take
MEBIBYTES = 1024
THOROUGH = bool(os.environ.get("FABIR_THOROUGH"))  # as often as a release should be tested
PIECES = [
    *(
        b"\0",
        b"\xff",
        b"\n",
        b"\r\n",
        b"\r\n\r\n",
        b" ",
        b"\t",
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b",",
    ),
    *(b"-1", b"0", b"1e999", b"NaN", b"9" * 5000, b"\xef\xbb\xbf", b"\xf0\x9f", b"\\ud800"),
    *(b"null", b"true", b"[" * 100_000, b"a" * 100_000, "\u2028\u200b\u0301".encode()),
]
VALUES = [
    *(None, True, False, 0, -1, 39.0, 1.5, 1e308, 10**30, float("nan")),
    *("", " ", "0", "\ud800", "\0", "x" * 100_000, "e\u0301\u200b"),
    *([], {}, [[]], [None], {"": {}}, ["x"]),
]


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """The content after one to four changes."""
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 4]))):
        place = draw(st.integers(0, len(content)))
        end = min(len(content), place + draw(st.sampled_from([1, 1, 2, 8, 100, 10_000])))
        kind = draw(st.sampled_from(["other", "lost", "more", "twice", "short"]))
        if kind == "other":
            new = draw(st.binary(min_size=end - place, max_size=end - place))
        else:
            new = draw(st.sampled_from(PIECES)) if kind == "more" else content[place:end] * 2
        if kind in ("lost", "short"):
            new = b""
        content = content[:place] + new + content[place if kind == "more" else end :]
        content = content[:place] if kind == "short" else content
    return content


@st.composite
def altered(draw: st.DrawFn, document: Any) -> Any:
    """A JSON document after one to four values are others, missing, doubled or moved."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 4]))):
        places = list(_places(document))
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        kind = draw(st.sampled_from(["other", "lost", "twice", "moved"]))
        if kind == "lost":
            del holder[key]
        elif kind == "twice" and type(holder) is list:
            holder.insert(key, copy.deepcopy(holder[key]))
        elif kind == "moved":
            source, name = draw(st.sampled_from(places))
            holder[key] = copy.deepcopy(source[name])
        else:
            holder[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
    return document


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Each list or object with each index or key."""
    keys = document if type(document) is dict else range(len(document))
    for key in keys:
        yield document, key
        if type(document[key]) in (list, dict):
            yield from _places(document[key])


@contextmanager
def bounded() -> Iterator[None]:
    """Within it no more than `SECONDS` and `MEBIBYTES` are used."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS} seconds")

    before, most = signal.signal(signal.SIGPROF, stop), _peak()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert _peak() - most < MEBIBYTES


def _peak() -> int:
    """The most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
