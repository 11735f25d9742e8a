"""Small PDF files with lines at places, and what is read of them. No tests here."""

from pathlib import Path

from collection import write_pdf_pages
from fabir.documents.base import Document
from fabir.documents.reading import read_documents

BOLD = (
    "/F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> "
    "/F2 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>"
)


def at(left: float, down: float, text: str, size: int = 10, font: str = "F1") -> str:
    """A content stream that writes a line at a place in points from the left and the top."""
    return f"BT /{font} {size} Tf {left} {792 - down} Td ({text}) Tj ET\n"


def lines(left: float, down: float, *texts: str, step: float = 12) -> str:
    """Lines below each other."""
    return "".join(at(left, down + step * row, text) for row, text in enumerate(texts))


def read(path: Path, lost: tuple[str, ...] = ()) -> Document:
    """The document of a file, of which just `lost` is lost."""
    said: list[str] = []
    [found] = read_documents(path, said.append)
    assert len(said) == len(lost)
    assert all(part in line for part, line in zip(lost, said, strict=True))
    return found


def text_of(folder: Path, *contents: str, **more: str) -> str:
    write_pdf_pages(folder / "a.pdf", list(contents), **more)
    return read(folder / "a.pdf").text


def pages_of(found: Document) -> list[str]:
    ends = [*found.pages[1:], len(found.text)]
    return [found.text[begin:end] for begin, end in zip(found.pages, ends, strict=True)]
