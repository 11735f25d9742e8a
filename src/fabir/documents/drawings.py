"""Texts of DrawingML, which slides and Word's drawings share: text bodies, charts, diagrams."""

from collections import defaultdict
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from fabir.documents.archives import Archive, child, text_in, value
from fabir.documents.number_formats import shown
from fabir.documents.office import FALLBACK, Relation
from fabir.documents.paragraphs import Paragraph, Run, joined_runs, small_number
from fabir.documents.tables import row_text


def body_paragraphs(body: Element | None, heading: bool = False) -> Iterator[Paragraph]:
    """A paragraph for each `a:p` of a text body."""
    for paragraph in () if body is None else body.iter("a:p"):
        yield joined_runs(_runs(paragraph, Run("")), heading)


def _runs(element: Element, look: Run) -> Iterator[Run]:
    for each in element:
        if each.tag in ("a:t", "m:t"):
            yield look._replace(text=each.text or "")
        elif each.tag == "a:br":
            yield Run("\n")
        elif each.tag == "m:sup":
            yield from _runs(each, look._replace(raised=True))
        elif each.tag == "m:den":
            yield Run("/")
            yield from _runs(each, look)
        else:
            properties = child(each, "a:rPr")
            bold = value(properties, "b") in ("1", "true")
            baseline = small_number(value(properties, "baseline").rstrip("%"), 0, 1)
            raised = look.raised or baseline > 0
            yield from _runs(each, Run("", bold, raised))


def linked_paragraphs(
    archive: Archive, related: dict[str, Relation], element: Element
) -> Iterator[Paragraph]:
    """The text of the charts and diagrams that an element names; they have parts of their own."""
    for each in element.iter():
        name = each.get("r:id" if each.tag == "c:chart" else "r:dm", "")
        if each.tag in ("c:chart", "dgm:relIds") and name in related:
            part = related[name].part
            if part in archive:
                read = _chart if each.tag == "c:chart" else _diagram
                yield from read(archive, part)


def _diagram(archive: Archive, part: str) -> Iterator[Paragraph]:
    for body in archive.elements(part, {"dgm:t"}, {FALLBACK}):
        yield from body_paragraphs(body)


def _chart(archive: Archive, part: str) -> Iterator[Paragraph]:
    """Its titles, and a row for each category with the values that the series have there."""
    points: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for element in archive.elements(part, {"c:title", "c:ser"}, {FALLBACK}):
        if element.tag == "c:title":
            yield from body_paragraphs(element)
            continue
        name = text_in(child(element, "c:tx", "c:strRef", "c:strCache", "c:pt", "c:v"))
        categories = dict(_points(element, "c:cat", "c:xVal"))
        for index, number in _points(element, "c:val", "c:yVal"):
            points[categories.get(index, "")].append((name, number))
    for category, row in points.items():
        names, numbers = zip(*row, strict=True)
        yield Paragraph(row_text(["", *names], [category, *numbers]))


def _points(series: Element, *names: str) -> Iterator[tuple[str, str]]:
    """The index and the text of each point of a series' values or categories."""
    for element in series:
        if element.tag in names:
            code = "".join(each.text or "" for each in element.iter("c:formatCode"))
            for point in element.iter("c:pt"):
                text = text_in(child(point, "c:v"))
                yield point.get("idx", ""), shown(text, code) if code else text
