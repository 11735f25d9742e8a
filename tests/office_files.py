"""Small office files for tests, from the XML of their parts, and what is read. No tests here."""

import zipfile
from pathlib import Path

import pytest

from fabir.documents.base import Document
from fabir.documents.reading import read_documents
from fabir.errors import InputError

_TRANSITIONAL = "http://schemas.openxmlformats.org/"
_OFFICE = f"{_TRANSITIONAL}officeDocument/2006/relationships"
_PACKAGE = f"{_TRANSITIONAL}package/2006/"
NAMESPACES = " ".join(
    f'xmlns:{prefix}="{_TRANSITIONAL}{name}"'
    for prefix, name in {
        "w": "wordprocessingml/2006/main",
        "s": "spreadsheetml/2006/main",
        "p": "presentationml/2006/main",
        "a": "drawingml/2006/main",
        "c": "drawingml/2006/chart",
        "dgm": "drawingml/2006/diagram",
        "m": "officeDocument/2006/math",
        "r": "officeDocument/2006/relationships",
        "mc": "markup-compatibility/2006",
    }.items()
)
_ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "draw", "style")
)


def write_zip(path: Path, parts: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def xml(name: str, content: str, attributes: str = NAMESPACES) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><{name} {attributes}>{content}</{name}>'


def links(*targets: tuple[str, str, str]) -> str:
    """A part of relations: the id, the kind and the part of each."""
    each = (
        f'<Relationship Id="{id}" Type="{_OFFICE}/{kind}" Target="{part}"/>'
        for id, kind, part in targets
    )
    return xml("Relationships", "".join(each), f'xmlns="{_PACKAGE}relationships"')


def write_docx(path: Path, body: str, strict: bool = False, title: str = "", **parts: str) -> Path:
    """A Word file; `parts` are the contents of further parts, such as `footnotes`."""
    related = [(f"id_{name}", name.rstrip("0123456789"), f"{name}.xml") for name in parts]
    core = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    files = {
        "_rels/.rels": links(
            ("a", "officeDocument", "word/document.xml"), ("b", "core-properties", "core.xml")
        ),
        "core.xml": xml("coreProperties", f"<dc:title>{title}</dc:title>", core),
        "word/document.xml": xml("w:document", f"<w:body>{body}</w:body>"),
        "word/_rels/document.xml.rels": links(*related),
    }
    files |= {f"word/{name}.xml": xml("w:part", content) for name, content in parts.items()}
    if strict:
        files = {name: _strict(text) for name, text in files.items()}
    return write_zip(path, files)


def _strict(text: str) -> str:
    for family in ("officeDocument", "wordprocessingml"):
        text = text.replace(
            f"{_TRANSITIONAL}{family}/2006/", f"http://purl.oclc.org/ooxml/{family}/"
        )
    return text


def run(text: str, properties: str = "") -> str:
    """A run of Word's text."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*content: str, properties: str = "") -> str:
    """A paragraph of Word's."""
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(content)}</w:p>"


def cell(text: str, properties: str = "") -> str:
    """A cell of Word's."""
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(run(text))}</w:tc>"


def table(*rows: list[str], header: bool = False) -> str:
    """A table of Word's, from texts, or cells' XML."""
    marks = ["<w:trPr><w:tblHeader/></w:trPr>" if header else "", *[""] * len(rows)]
    lines = (
        f"<w:tr>{mark}{''.join(each if '<' in each else cell(each) for each in row)}</w:tr>"
        for mark, row in zip(marks, rows, strict=False)
    )
    return f"<w:tbl><w:tblPr/>{''.join(lines)}</w:tbl>"


def write_xlsx(
    path: Path,
    *sheets: str,
    shared: str = "",
    formats: tuple[str, ...] = (),
    settings: str = "",
    names: tuple[str, ...] = ("Sheet1", "Pumps"),
) -> Path:
    """An Excel file from the rows (or more) of its sheets.

    Args:
        shared: the `s:si` elements
        formats: codes of the formats of styles 1, 2 and so on, each with a font of its own
    """
    named = zip(names, sheets, strict=False)
    entries = (f'<s:sheet name="{name}" r:id="s{n}"/>' for n, (name, _) in enumerate(named))
    codes = (f'<s:numFmt numFmtId="{200 + n}" formatCode="{x}"/>' for n, x in enumerate(formats))
    styles = (f'<s:xf numFmtId="{200 + n}" fontId="{1 + n}"/>' for n in range(len(formats)))
    return write_zip(
        path,
        {
            "_rels/.rels": links(("a", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": xml(
                "s:workbook", f"<s:workbookPr {settings}/><s:sheets>{''.join(entries)}</s:sheets>"
            ),
            "xl/_rels/workbook.xml.rels": links(
                *((f"s{n}", "worksheet", f"sheet{n}.xml") for n in range(len(sheets))),
                ("t", "sharedStrings", "texts.xml"),
                ("f", "styles", "styles.xml"),
            ),
            "xl/texts.xml": xml("s:sst", shared),
            "xl/styles.xml": xml(
                "s:styleSheet",
                f"<s:numFmts>{''.join(codes)}</s:numFmts>"
                f'<s:cellXfs><s:xf numFmtId="0"/>{"".join(styles)}</s:cellXfs>',
            ),
            **{
                f"xl/sheet{n}.xml": xml("s:worksheet", f"<s:sheetData>{rows}</s:sheetData>")
                for n, rows in enumerate(sheets)
            },
        },
    )


def row(*cells: str | int | float, number: int = 0) -> str:
    """A row of Excel's, from texts, numbers, or cells' XML."""
    place = f' r="{number}"' if number else ""
    return f"<s:row{place}>{''.join(map(_sheet_cell, cells))}</s:row>"


def _sheet_cell(value: str | int | float) -> str:
    if isinstance(value, str):
        return value if "<" in value else f'<s:c t="str"><s:v>{value}</s:v></s:c>'
    return f"<s:c><s:v>{value}</s:v></s:c>"


def write_pptx(path: Path, *slides: str, slide_parts: dict[str, str] | None = None) -> Path:
    """A PowerPoint file from the shapes of its slides.

    Args:
        slide_parts: the contents of further parts that all slides have, by their kind
    """
    parts = slide_parts or {}
    related = links(*((f"id_{kind}", kind, f"{kind}.xml") for kind in parts))
    ids = (f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in range(len(slides)))
    files = {
        "_rels/.rels": links(("a", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": xml("p:presentation", f"<p:sldIdLst>{''.join(ids)}</p:sldIdLst>"),
        "ppt/_rels/presentation.xml.rels": links(
            *((f"s{n}", "slide", f"slide{n}.xml") for n in range(len(slides)))
        ),
    }
    files |= {f"ppt/{kind}.xml": xml("p:part", content) for kind, content in parts.items()}
    for number, shapes in enumerate(slides):
        files[f"ppt/slide{number}.xml"] = xml("p:sld", f"<p:spTree>{shapes}</p:spTree>")
        files[f"ppt/_rels/slide{number}.xml.rels"] = related
    return write_zip(path, files)


def shape(*lines: str, kind: str = "") -> str:
    """A shape of a slide; `kind` is that of its placeholder."""
    place = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>' if kind else ""
    return f"<p:sp>{place}<p:txBody>{''.join(map(line, lines))}</p:txBody></p:sp>"


def line(text: str) -> str:
    """A paragraph of DrawingML."""
    return f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"


def write_odt(
    path: Path, body: str, styles: str = "", margins: str = "", title: str = "", extra: str = ""
) -> Path:
    """An OpenDocument text.

    Args:
        styles: its own styles
        margins: headers and footers
        extra: content of the manifest
    """
    names = f'{_ODF} xmlns:dc="http://purl.org/dc/elements/1.1/"'
    own = f"<office:automatic-styles>{styles}</office:automatic-styles>"
    text = f"<office:body><office:text>{body}</office:text></office:body>"
    return write_zip(
        path,
        {
            "content.xml": xml("office:document-content", own + text, names),
            "styles.xml": xml("office:document-styles", margins, names),
            "meta.xml": xml("office:document-meta", f"<dc:title>{title}</dc:title>", names),
            "META-INF/manifest.xml": xml("manifest", extra, ""),
        },
    )


def read(path: Path, lost: list[str] | None = None) -> list[Document]:
    """The documents of a file; nothing is lost or left out unless `lost` collects it."""
    reasons: list[str] = []
    found = list(read_documents(path, reasons.append, notice=reasons.append))
    assert lost is not None or not reasons, reasons
    if lost is not None:
        lost += reasons
    return found


def texts(path: Path) -> list[str]:
    return [document.text for document in read(path)]


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_documents(path, print))
    assert "\n" not in str(caught.value)
    return str(caught.value)
