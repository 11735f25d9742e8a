"""Decodes the bytes of a text: by its byte order mark, by what it declares, or by a sure guess."""

import codecs
from collections.abc import Callable

import charset_normalizer

from fabir.errors import InputError

_MARKS = (  # UTF-32's begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What browsers take for a name: the WHATWG Encoding Standard, where Python's codec is narrower.
_WIDER = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "utf-16": "utf-8",  # a name that can be read in single bytes is not in UTF-16
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
# charset-normalizer tells these apart well; with the 90 others it takes French for Polish.
_MULTI_BYTE = ["cp932", "euc_jp", "gb18030", "big5", "cp949"]
_GUESSED = ["cp1252", "cp1250", "cp1251", "cp1253", "koi8_r", "iso8859_2", *_MULTI_BYTE]
# No charsets of texts, but for ASCII: a text that declares it in vain has any other.
_NO_CHARSETS = frozenset(
    ["ascii", "idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7"]
)
# Differences that tell nothing. Chaos is what looks like no text, coherence what like a language.
_SAME_CHAOS, _SAME_COHERENCE = 0.01, 0.1
_SAMPLE = 1 << 20  # bytes; what is guessed for them is checked against the rest


def decode(data: bytes, declared: str = "", lost: Callable[[str], None] | None = None) -> str:
    """A text without its byte order mark.

    A mark decides, then the charset that is `declared`, then UTF-8, then a guess. Bytes that
    contradict a mark or the declared charset become U+FFFD, as in a browser; `lost` hears of them.

    Raises:
        InputError: the encoding is not certain, or the data is no text.
    """
    if charset := marked(data):
        return _text(_declared(data, charset, lost))
    charset = _codec(declared)
    try:
        return _text(data.decode(charset or "utf-8"))
    except UnicodeDecodeError as error:
        return _text(_declared(data, charset, lost) if charset else _guessed(data, error.start))


def marked(data: bytes) -> str:
    """The encoding that a byte order mark names, which decodes without it; empty if there is none.

    The first four bytes of a text are enough.
    """
    return next((charset for mark, charset in _MARKS if data.startswith(mark)), "")


def _codec(name: str) -> str:
    """Python's name of a charset that a file declares; empty if there is none."""
    try:
        bytes(4).decode(name)  # fails for codecs that are not for text, such as "zip"
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
    return "" if found in _NO_CHARSETS else _WIDER.get(found, found)


def _declared(data: bytes, charset: str, lost: Callable[[str], None] | None) -> str:
    text = data.decode(charset, "replace")
    try:
        data.decode(charset)
    except UnicodeDecodeError as error:
        if lost:
            count = text.count("\N{REPLACEMENT CHARACTER}")
            lost(f"{count:,} characters are not {charset}: byte {error.start:,} is the first")
    return text


def _guessed(data: bytes, start: int) -> str:
    refusal = InputError(
        f"not UTF-8 text: byte {start}, and no other encoding is certain; "
        "convert it, for example with iconv -f cp1252 -t utf-8"
    )
    matches = charset_normalizer.from_bytes(data[:_SAMPLE], cp_isolation=_GUESSED)
    least = min((match.chaos for match in matches), default=0)
    likely = [match for match in matches if match.chaos < least + _SAME_CHAOS]
    most = max((match.coherence for match in likely), default=0)
    best = [match for match in likely if match.coherence > most - _SAME_COHERENCE]
    western = most and any("cp1252" in _names(match) for match in best)
    if not western and len({str(match) for match in best}) != 1:
        raise refusal
    charset = "cp1252" if western else best[0].encoding
    if not most and charset not in _MULTI_BYTE:
        raise refusal
    try:
        return data.decode(charset)
    except UnicodeDecodeError:
        raise refusal from None


def _names(match: charset_normalizer.CharsetMatch) -> list[str]:
    return [match.encoding, *match.could_be_from_charset]


def _text(text: str) -> str:
    if "\0" in text:
        raise InputError("not text: it has zero bytes")
    return text
