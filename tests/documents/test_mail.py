"""Mails: who wrote them, their text in any form, and attachments that are named."""

from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from fabir.errors import InputError


def read(folder: Path, mail: EmailMessage | bytes) -> tuple[Document, list[str]]:
    data = mail if isinstance(mail, bytes) else mail.as_bytes()
    (folder / "mail.eml").write_bytes(data)
    losses: list[str] = []
    [found] = read_documents(folder / "mail.eml", losses.append)
    return found, losses


def make(text: str = "The fee is 85 crowns.", charset: str = "utf-8") -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = "Jörg Müller <joerg@example.org>"
    mail["To"] = "Ann <ann@example.org>, bo@example.org"
    mail["Date"] = "Mon, 01 Jan 2024 10:00:00 +0000"
    mail["Subject"] = "Über die Brücke"
    mail.set_content(text, charset=charset)
    return mail


HEADERS = (
    "Subject: Über die Brücke\nFrom: Jörg Müller <joerg@example.org>\n"
    "To: Ann <ann@example.org>, bo@example.org\nDate: Mon, 01 Jan 2024 10:00:00 +0000"
)


def test_attachments_in_a_form_that_is_not_read_are_named(tmp_path: Path) -> None:
    mail = make()
    mail.add_alternative("<p>The fee is 85 crowns.", subtype="html")
    [_, page] = mail.iter_parts()
    assert isinstance(page, EmailMessage)
    page.add_related(b"x", "image", "png", cid="<x>")
    page.add_attachment(b"x", "application", "pdf", filename="report.pdf")
    found, losses = read(tmp_path, mail)
    assert found.text == f"{HEADERS}\n\nThe fee is 85 crowns.\n\nAttachment: report.pdf"
    assert losses == [f"{tmp_path / 'mail.eml'}: attachment report.pdf is not read"]


def test_a_part_that_cannot_be_read_costs_no_other(tmp_path: Path) -> None:
    mail = make()
    mail.make_mixed()
    for data in (b"\0", b"Bring coins."):
        part = EmailMessage()
        part["Content-Type"] = "text/plain"
        part.set_payload(data)
        mail.attach(part)
    found, [loss] = read(tmp_path, mail)
    assert found.text == f"{HEADERS}\n\nThe fee is 85 crowns.\n\nBring coins."
    assert "a part of the text is not read: " in loss


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "cp1252"])
def test_a_mail_has_headers_a_title_and_a_text(tmp_path: Path, charset: str) -> None:
    found, losses = read(tmp_path, make("Zoë wohnt\nin Köln.\n", charset))
    assert found.title == "Über die Brücke"
    assert found.text == f"{HEADERS}\n\nZoë wohnt\nin Köln."
    assert losses == []


def test_of_two_forms_the_plain_one_is_read(tmp_path: Path) -> None:
    mail = make()
    mail.add_alternative("<p>The fee is <b>85</b> crowns, in HTML.", subtype="html")
    assert read(tmp_path, mail)[0].text == f"{HEADERS}\n\nThe fee is 85 crowns."


def test_html_is_read_if_the_plain_text_is_empty(tmp_path: Path) -> None:
    mail = make("\n")
    mail.add_alternative("<h1>Fees</h1><p>85 cro&shy;wns <img src=cid:x>", subtype="html")
    [_, page] = mail.iter_parts()
    assert isinstance(page, EmailMessage)
    page.add_related(b"x", "image", "png", cid="<x>")
    found, losses = read(tmp_path, mail)
    assert (found.text, losses) == (f"{HEADERS}\n\nFees\n\n85 crowns", [])


def test_html_is_read_if_the_plain_text_only_points_to_it(tmp_path: Path) -> None:
    mail = make("Please view this mail in HTML.")
    mail.add_alternative("<p>The gate of the mill closes at <b>ten</b>.", subtype="html")
    [_, page] = mail.iter_parts()
    assert isinstance(page, EmailMessage)
    page.add_related(b"x", "image", "png", cid="<x>")
    assert read(tmp_path, mail)[0].text == f"{HEADERS}\n\nThe gate of the mill closes at ten."


@pytest.mark.parametrize(
    "page", ["<p>View online. Unsubscribe.", "\0 The mill closes at ten, or so."]
)
def test_plain_text_is_read_if_html_has_less_or_is_broken(tmp_path: Path, page: str) -> None:
    mail = make("The fee for the boats is 85 crowns.")
    mail.add_alternative(page, subtype="html")
    assert read(tmp_path, mail)[0].text == f"{HEADERS}\n\nThe fee for the boats is 85 crowns."


def test_html_is_read_rather_than_an_invitation(tmp_path: Path) -> None:
    mail = make(" ")
    mail.add_alternative("<p>We meet in May.", subtype="html")
    mail.add_alternative("BEGIN:VCALENDAR", subtype="calendar")
    assert read(tmp_path, mail)[0].text == f"{HEADERS}\n\nWe meet in May."


def test_attachments_are_named(tmp_path: Path) -> None:
    mail = make()
    mail.add_attachment(b"%PDF", "application", "pdf", filename="plan.pdf")
    mail.add_attachment("a,b", "csv", filename="t.csv")
    found, [losses] = read(tmp_path, mail)
    named = "Attachment: plan.pdf\n\nAttachment: t.csv"
    assert found.text == f"{HEADERS}\n\nThe fee is 85 crowns.\n\n{named}"
    assert losses.endswith("attachment plan.pdf is not read (and 1 more)")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (b'"=?UTF-8?Q?Stra=C3=9Fe_?=\n\t=?UTF-8?Q?=C3=BCber_Wick.zip?="', "Straße über Wick.zip"),
        ('"Straße.zip"'.encode(), "Straße.zip"),
        ('"Straße.zip"'.encode("latin-1"), "Straße.zip"),
        (b'"the\n plan.zip"', "the plan.zip"),
        (b"plan%0A.zip", "plan%0A.zip"),
        (b"x" * 101, "x" * 99 + "…"),
    ],
)
def test_the_name_of_an_attachment_is_one_line(tmp_path: Path, name: bytes, expected: str) -> None:
    mail = b"""Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/plain; charset=iso-8859-1

The plan.
--x
Content-Type: application/zip
Content-Disposition: attachment; filename=%s

x
--x--
"""
    _, [losses] = read(tmp_path, mail % name)
    assert losses.endswith(f": attachment {expected} is not read")


def test_a_text_with_a_name_is_read_if_it_is_shown_inline(tmp_path: Path) -> None:
    mail = make()
    mail.add_attachment("Bring boots.", filename="note.txt", disposition="inline")
    found, losses = read(tmp_path, mail)
    assert (found.text.split("\n\n")[-1], losses) == ("Bring boots.", [])


def test_the_status_of_a_delivery_is_read(tmp_path: Path) -> None:
    bounced = b"""Content-Type: multipart/report; report-type=delivery-status; boundary=x

--x
Content-Type: text/plain

It failed.
--x
Content-Type: message/delivery-status

Reporting-MTA: dns; mill.example

Final-Recipient: rfc822; ada@mill.example
Status: 4.2.2 (mailbox full)
Remark: first try
Remark: second try
--x--
"""
    found, losses = read(tmp_path, bounced)
    assert found.text == (
        "It failed.\n\nReporting-MTA: dns; mill.example\n\n"
        "Final-Recipient: rfc822; ada@mill.example\nStatus: 4.2.2 (mailbox full)\n"
        "Remark: first try\nRemark: second try"
    )
    assert losses == []


def test_parts_that_are_not_divided_as_the_header_says_are_named(tmp_path: Path) -> None:
    mail = (
        b"Subject: Mills\nContent-Type: multipart/mixed; boundary=x\n\n--y\n\nOpen daily.\n--y--\n"
    )
    found, [losses] = read(tmp_path, mail)
    assert found.text == "Subject: Mills"
    assert losses.endswith("its parts are not divided as its header says: they are not read")


def test_all_texts_and_forwarded_mails_are_read(tmp_path: Path) -> None:
    mail = make("See below.")
    mail.make_mixed()
    mail.attach(_part("-- the list's footer"))
    forwarded = make("The old text.")
    mail.add_attachment(forwarded)
    found, losses = read(tmp_path, mail)
    assert found.text == (
        f"{HEADERS}\n\nSee below.\n\n-- the list's footer\n\n{HEADERS}\n\nThe old text."
    )
    assert losses == []


def _part(text: str) -> EmailMessage:
    part = EmailMessage()
    part.set_content(text)
    return part


def test_headers_and_texts_without_a_stated_encoding(tmp_path: Path) -> None:
    found, _ = read(tmp_path, "Subject: café\nFrom: ((((\n\nZoë".encode())
    assert (found.title, found.text) == ("café", "Subject: café\nFrom: ((((\n\nZoë")
    stated = "Subject: Größe\nContent-Type: text/plain; charset=cp1252\n\nEs regnet."
    found, _ = read(tmp_path, stated.encode("cp1252"))
    assert (found.title, found.text) == ("Größe", "Subject: Größe\n\nEs regnet.")
    text = "Über die Straße gehen jeden Tag viele Menschen, und die Mühle ist schön."
    found, _ = read(tmp_path, f"Subject: Größe\n\n{text}".encode("cp1252"))
    assert (found.title, found.text) == ("Größe", f"Subject: Größe\n\n{text}")
    data = b"Subject: Gr\xf6\xdfe\nContent-Type: text/plain; charset=utf-8\n\nrain"
    found, _ = read(tmp_path, data)
    assert found.title == "Gr\ufffd\ufffde"
    found, _ = read(tmp_path, b"Content-Type: text/plain; charset=nonsense\n\nrain")
    assert (found.title, found.text) == ("mail", "rain")


def test_a_charset_in_the_form_for_other_languages_is_read(tmp_path: Path) -> None:
    header = "Content-Type: text/plain; charset*=us-ascii''utf-8"
    found, losses = read(tmp_path, f"{header}\n\nThe café opens at nine.".encode())
    assert (found.text, losses) == ("The café opens at nine.", [])


@given(
    st.lists(
        st.sampled_from(
            [
                b"Content-Type: multipart/mixed; boundary=b",
                b"Content-Type: multipart/alternative; boundary=b",
                b"Content-Type: message/rfc822",
                *(b"Content-Type: text/html; charset=utf-16", b"Subject: =?utf-8?b?////?="),
                *(b"Content-Transfer-Encoding: base64", b"--b", b"--b--", b"", b"\xff<p>x", b"=?="),
            ]
        )
    ).map(b"\n".join)
)
def test_any_mail_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.eml"
    path.write_bytes(data)
    refusal = ""
    try:
        list(read_documents(path, lambda reason: None))
    except InputError as error:
        refusal = str(error)
    assert "cannot be read" not in refusal


@pytest.mark.parametrize(
    "data",
    [
        b"Subject: " + b"=?utf-8?q?a?= " * 50_000,
        b"From: " + b"(" * 500_000,
        b"Content-Type: " + b"(" * 500_000,
        b"Content-Type: multipart/mixed; boundary=" + b"a " * 50_000,
        b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 5_000,
        b"a: b\n" * 50_000,
        b"Content-Type: message/delivery-status\n\n"
        + b"".join(b"a%d: b\n" % n for n in range(9_000)),
    ],
)
def test_hostile_mails_take_linear_time(tmp_path: Path, data: bytes) -> None:
    found, _ = read(tmp_path, data + b"\nTo: x\n\nbody")
    assert len(found.text) < 100_000


def test_a_signature_is_nothing_lost(tmp_path: Path) -> None:
    mail = make()
    mail.add_attachment(b"-----BEGIN", "application", "pgp-signature", filename="signature.asc")
    found, losses = read(tmp_path, mail)
    assert found.text == f"{HEADERS}\n\nThe fee is 85 crowns."
    assert losses == []
