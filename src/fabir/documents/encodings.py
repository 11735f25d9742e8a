"""Decodes the bytes of a text: by its byte order mark, by what it declares, or by a sure guess."""

import codecs
import re
from collections.abc import Callable
from itertools import pairwise

import charset_normalizer

from fabir.documents.latin import is_latin, latin_charset
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
# charset-normalizer tells these apart; the first one of those that it leaves is the most usual.
_MULTI_BYTE = ["cp932", "euc_jp", "gb18030", "big5", "cp949"]
_OTHERS = [
    *("cp1251", "koi8_r", "koi8_u", "mac_cyrillic", "cp866"),
    *("cp1253", "iso8859_7", "cp1255", "cp1256"),
    *_MULTI_BYTE,
]
_USUAL = frozenset("‘’“”„«»–—…·،؛؟")  # signs that stand after letters
# No charsets of texts, but for ASCII: a text that declares it in vain has any other.
_NO_CHARSETS = frozenset(
    ["ascii", "idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7"]
)
# Differences that tell nothing. Chaos is what looks like no text, coherence what like a language.
_SAME_CHAOS, _SAME_COHERENCE = 0.01, 0.1
_JAPANESE = re.compile(rb"\x1b\$[@B](?:[!-~]{2})+\x1b\([BJ]")  # escapes around its letters
_OTHER_FILES = (  # what files begin with that are no texts
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive, such as an Office document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office or Outlook document of the old kind"),
    (b"\x1f\x8b", "a gzip file"),
    (b"PAR1", "a Parquet file"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
)
_SAMPLE = 1 << 20  # bytes


def decode(data: bytes, declared: str = "", lost: Callable[[str], None] | None = None) -> str:
    """A text without its byte order mark.

    A mark decides, then the charset that is `declared`, then UTF-8, then a guess. Bytes that
    contradict a mark, the declared charset or the UTF-8 of most others become U+FFFD, as in a
    browser; `lost` hears of them.

    Raises:
        InputError: the encoding is not certain, or the data is no text.
    """
    if found := next((kind for start, kind in _OTHER_FILES if data.startswith(start)), ""):
        raise InputError(f"not text, but {found}: give it that ending")
    if charset := marked(data):
        return _text(_declared(data, charset, lost))
    charset = _codec(declared) or ("iso2022_jp_2" if _JAPANESE.search(data) else "")
    try:
        return _text(data.decode(charset or "utf-8"))
    except UnicodeDecodeError as error:
        if not charset and _is_damaged_utf8(data):
            charset = "utf-8"
        return _text(_declared(data, charset, lost) if charset else _guessed(data, error.start))


def _is_damaged_utf8(data: bytes) -> bool:
    """Whether most characters beyond ASCII are UTF-8, which is no chance."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\N{REPLACEMENT CHARACTER}")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return beyond >= 2 * broken


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
    """The text by an encoding that fits the lines from the first one that is not UTF-8."""
    begin = data.rfind(b"\n", 0, start) + 1 if len(data) > _SAMPLE else 0
    sample = data[begin : begin + _SAMPLE]
    try:
        return data.decode(latin_charset(sample) if is_latin(sample) else _other_charset(sample))
    except (LookupError, UnicodeDecodeError):
        raise InputError(
            f"not UTF-8 text: byte {start}, and no other encoding is certain; "
            "convert it, for example with iconv -f cp1252 -t utf-8"
        ) from None


def _other_charset(data: bytes) -> str:
    """The encoding of a text that is not in Latin letters; empty if it is not certain."""
    matches = charset_normalizer.from_bytes(data, cp_isolation=_OTHERS)
    least = min((match.chaos for match in matches), default=0)
    likely = [match for match in matches if match.chaos < least + _SAME_CHAOS]
    most = max((match.coherence for match in likely), default=0)
    best = [match for match in likely if match.coherence > most - _SAME_COHERENCE]
    if not most or any(match.encoding in _MULTI_BYTE for match in best):
        sure = len({str(match) for match in best}) == 1
        return best[0].encoding if sure and best[0].encoding in _MULTI_BYTE else ""
    texts = {match.encoding: str(match) for match in best}
    return min(texts, key=lambda name: (_odd_pairs(texts[name]), _OTHERS.index(name)))


def _odd_pairs(text: str) -> int:
    """How often a capital stands after a small letter, or a sign that texts lack after a letter."""
    return sum(
        (first.islower() and second.isupper())
        or (first.isalpha() and not (second.isascii() or second.isalnum() or second in _USUAL))
        for first, second in pairwise(text)
    )


def _text(text: str) -> str:
    if "\0" in text:
        raise InputError("not text: it has zero bytes")
    return text
