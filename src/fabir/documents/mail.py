"""Reads mails: who wrote them to whom and when, their text, and the names of attachments."""

import re
from collections.abc import Callable, Iterable, Iterator
from email import message_from_binary_file
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from pathlib import Path

from fabir.documents.base import Document, Report, check_size, text_of, title_of
from fabir.documents.encodings import decode
from fabir.documents.html import decode_html, read_page
from fabir.errors import InputError
from fabir.terminal import printable

_HEADERS = "Subject", "From", "To", "Cc", "Date"
_MAX_HEADER = 10_000  # characters
_MAX_NAME = 100
# They say nothing.
_SIGNATURES = tuple(f"application/{kind}-signature" for kind in ("pgp", "pkcs7", "x-pkcs7"))
_WORD = re.compile(r"\w+")


def read_eml(path: Path, report: Report) -> Iterator[Document]:
    """The subject is the title.

    Of a text in several forms the plain one is read, unless it only points to the one in HTML.
    """
    check_size(path)
    with open(path, "rb") as file:
        # The newer policies parse each header, which takes the square of its length.
        mail = message_from_binary_file(file)
    title = _header(_raw(mail, "Subject"), mail)
    texts = (text_of(text).strip() for text in _texts(mail, report))
    yield Document("\n\n".join(filter(None, texts)), title_of(path, title))


def _texts(mail: Message, report: Report) -> Iterator[str]:
    yield _main_headers(mail)
    letter = Message()  # the text's header alone: there may be many names, and a long text
    letter["Content-Type"] = _first(mail).get("Content-Type", "")
    parts = [mail]
    while parts:
        part = parts.pop()
        kind = part.get_content_type()
        inner = _inner(part)
        if kind == "message/rfc822" and inner:
            yield _main_headers(inner[0])
            parts += inner[:1]
        elif kind == "message/delivery-status" and inner:
            yield "\n\n".join(_headers(each.raw_items(), each) for each in inner)
        elif kind == "multipart/alternative" and inner:
            best = _best(inner)
            parts += reversed(_attachments(each for each in inner if each is not best))
            parts.append(best)
        elif kind == "multipart/related":
            parts += reversed(_attachments(inner[1:]))  # the others are its pictures
            parts += inner[:1]
        elif part.is_multipart():
            parts += reversed(inner)
        elif part.get_content_maintype() == "text" and _is_shown(part):
            yield _readable(part, report)
        elif part.get_content_maintype() == "multipart":
            report.lost("its parts are not divided as its header says: they are not read")
        elif kind not in _SIGNATURES:
            yield _attachment(_file_name(part, letter), kind, report)
        report.alive()


def _readable(part: Message, report: Report) -> str:
    """The text of a part, if it can be read: others of the mail may be sound."""
    try:
        return _text(part, report.lost, report.alive)
    except InputError as error:
        report.lost(f"a part of the text is not read: {error}")
        return ""


def _attachments(forms: Iterable[Message]) -> list[Message]:
    """The attachments in parts that are not read."""
    found: list[Message] = []
    parts = list(forms)[::-1]
    while parts:
        part = parts.pop()
        if part.get_content_disposition() == "attachment":
            found.append(part)
        else:
            parts += reversed(_inner(part))
    return found


def _attachment(name: str, kind: str, report: Report) -> str:
    """What a mail says of a part that is not read."""
    report.lost(f"attachment {name or kind} is not read")
    return name and f"Attachment: {name}"


def _main_headers(mail: Message) -> str:
    return _headers(((name, _raw(mail, name)) for name in _HEADERS), mail)


def _headers(items: Iterable[tuple[str, str]], mail: Message) -> str:
    return "\n".join(f"{name}: {text}" for name, raw in items if (text := _header(raw, mail)))


def _header(raw: str, mail: Message) -> str:
    return _without_codes(_line(raw, mail))


def _file_name(part: Message, letter: Message) -> str:
    """The name of an attachment on one line, cut if it is long."""
    named = Message()
    for header in ("Content-Disposition", "Content-Type"):
        named[header] = _line(_raw(part, header), letter)
    name = " ".join(_without_codes(named.get_filename("")).split())
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"


def _raw(part: Message, name: str) -> str:
    """A header as it stands in the file; the first one, if there are several."""
    return next((value for key, value in part.raw_items() if key.lower() == name.lower()), "")


def _line(raw: str, mail: Message) -> str:
    """A header of a part of a mail, on one line."""
    return printable(_decoded(" ".join(str(raw).split()), mail)[:_MAX_HEADER])


def _without_codes(line: str) -> str:
    """Words such as "=?utf-8?q?Caf=C3=A9?=" as they are read."""
    try:
        return str(make_header(decode_header(line)))
    except (HeaderParseError, LookupError, ValueError):
        return line


def _decoded(line: str, mail: Message) -> str:
    """A header with bytes that are not UTF-8 has the charset of the mail's text, if it has one."""
    data = line.encode("utf-8", "surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = _first(mail)
    try:
        found = decode(data + b"\n" + _data(text), text.get_content_charset(""))
    except InputError:
        return line
    return found.partition("\n")[0]


def _inner(part: Message) -> list[Message]:
    if not part.is_multipart():  # get_payload might decode the text, and fail
        return []
    return [each for each in part.get_payload() if isinstance(each, Message)]


def _is_shown(part: Message) -> bool:
    """Whether mail programs show a part as text, and not as an attachment."""
    return not part.get_filename() or part.get_content_disposition() == "inline"


def _best(forms: list[Message]) -> Message:
    """The form of a text to be read; the last one is the sender's choice.

    HTML is, if it has more words than the plain text, and most of them are not there.
    """
    plain = next((each for each in forms if _is_kind(each, "plain") and _data(each).strip()), None)
    pages = [each for each in forms if _is_kind(_first(each), "html")]
    if plain is None:
        return (pages or forms)[-1]
    if not pages:
        return plain
    words, shown = _words(plain), _words(_first(pages[-1]))
    return pages[-1] if len(shown) > len(words) and len(shown - words) > len(shown) / 2 else plain


def _first(part: Message) -> Message:
    """The part itself, or the first one in it: others are its pictures."""
    while inner := _inner(part):
        part = inner[0]
    return part


def _words(part: Message) -> set[str]:
    try:
        return set(_WORD.findall(_text(part, _ignore, _ignore).lower()))
    except InputError:
        return set()


def _ignore(*_: object) -> None:
    pass


def _is_kind(part: Message, kind: str) -> bool:
    return part.get_content_type() == f"text/{kind}"


def _data(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(part: Message, lost: Callable[[str], None], alive: Callable[[], None]) -> str:
    data, charset = _data(part), part.get_content_charset("")
    if part.get_content_subtype() != "html":
        return decode(data, charset, lost).replace("\r\n", "\n").replace("\u00ad", "")
    markup = decode(data, charset, lost) if charset else decode_html(data, lost)
    return "\n\n".join(each.text for each in read_page(markup, alive).paragraphs)
