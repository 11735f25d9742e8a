"""Reads mails: who wrote them to whom and when, and their text. Attachments are not read."""

from collections.abc import Iterator
from email import message_from_binary_file
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from pathlib import Path

from fabir.documents.base import Document, Report, check_size, printable, text_of, title_of
from fabir.documents.encodings import decode
from fabir.documents.html import decode_html, read_page

_HEADERS = "Subject", "From", "To", "Cc", "Date"
_MAX_HEADER = 10_000  # characters
_MAX_TITLE = 1000


def read_eml(path: Path, report: Report) -> Iterator[Document]:
    """The subject is the title. Of a text in several forms the plain one is read."""
    check_size(path)
    with open(path, "rb") as file:
        # The newer policies parse each header, which takes the square of its length.
        mail = message_from_binary_file(file)
    title = _header(mail, "Subject")[:_MAX_TITLE]
    texts = (text_of(text).strip() for text in _texts(mail, report))
    yield Document("\n\n".join(filter(None, texts)), title_of(path, title))


def _texts(mail: Message, report: Report) -> Iterator[str]:
    yield _headers(mail, _HEADERS)
    parts = [mail]
    while parts:
        part = parts.pop()
        kind, name = part.get_content_type(), part.get_filename()
        inner = _inner(part)
        if kind == "message/rfc822" and inner:
            yield _headers(inner[0], _HEADERS)
            parts += inner[:1]
        elif kind == "multipart/alternative" and inner:
            plain = (each for each in inner if _is_plain(each) and _data(each).strip())
            parts.append(next(plain, inner[-1]))  # the last one is the sender's choice
        elif kind == "multipart/related":
            parts += inner[:1]  # the others are its pictures
        elif part.is_multipart():
            parts += reversed(inner)
        elif part.get_content_maintype() == "text" and _is_shown(part):
            yield _text(part, report)
        else:
            report.lost(f"attachment {name or kind} is not read")
        report.alive()


def _headers(mail: Message, names: tuple[str, ...]) -> str:
    return "\n".join(f"{name}: {text}" for name in names if (text := _header(mail, name)))


def _header(mail: Message, name: str) -> str:
    raw = next((value for key, value in mail.raw_items() if key.lower() == name.lower()), "")
    line = printable(" ".join(str(raw).split())[:_MAX_HEADER])
    try:
        return str(make_header(decode_header(line)))
    except (HeaderParseError, LookupError, ValueError):
        return line


def _inner(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [each for each in payload if isinstance(each, Message)] if part.is_multipart() else []


def _is_shown(part: Message) -> bool:
    """Whether mail programs show a part as text, and not as an attachment."""
    return not part.get_filename() or part.get_content_disposition() == "inline"


def _is_plain(part: Message) -> bool:
    return part.get_content_type() == "text/plain"


def _data(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(part: Message, report: Report) -> str:
    data, charset = _data(part), part.get_content_charset("")
    if part.get_content_subtype() != "html":
        return decode(data, charset, report.lost).replace("\r\n", "\n").replace("\u00ad", "")
    markup = decode(data, charset, report.lost) if charset else decode_html(data, report.lost)
    return "\n\n".join(each.text for each in read_page(markup, report.alive).paragraphs)
