"""Small documents of every kind for tests. No tests here."""

import json
from pathlib import Path

KITES = """# Kites

The first kite of the valley was flown by Anna Mill in 1871.

Kites need wind, a tail and a string. They fly best over the open sea.
"""
RAIN = "Gravity pulls the drops down, so rain falls from the clouds.\n\nSnow falls in winter.\n"
PAGES = ["The mill was built in 1902 by Otto Berg.", "Its wheel was made of oak in Bergen."]
ROWS = [
    {"id": "a1", "title": "Bridges", "text": "The old bridge was opened by Queen Ida in 1820."},
    {"id": 7, "title": "Towers", "text": "The tower of Lund has 99 steps."},
]


def write_collection(folder: Path) -> None:
    """A file of every kind that needs no other library."""
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "kites.md").write_text(KITES, "utf-8")
    (folder / "deep" / "rain.txt").write_text(RAIN, "utf-8")
    (folder / "deep" / "er" / "page.html").write_text(
        "<title>Lighthouses</title><script>var secret = 1</script>"
        "<p>The lighthouse of Skagen is <b>46</b> m high.</p>",
        "utf-8",
    )
    lines = [json.dumps(row) for row in ROWS]
    (folder / "rows.jsonl").write_text("\n".join([lines[0], "", lines[1]]) + "\n", "utf-8")
    (folder / "table.csv").write_text(
        'question;answer\nWho painted the door?;"Ole,\nin blue"\nWhy?;It faded\n', "utf-8"
    )


def write_pdf(path: Path, pages: list[str]) -> None:
    """A PDF of one line a page, by hand."""
    write_pdf_pages(path, [f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET" for text in pages])


def write_pdf_pages(
    path: Path,
    contents: list[str],
    *,
    fonts: str = "/F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    page: str = "",
    catalog: str = "",
    title: str = "",
) -> None:
    """A PDF of pages with these content streams, by hand. Fonts and the rest are PDF too."""
    kids = " ".join(f"{3 + 2 * number} 0 R" for number in range(len(contents)))
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents)} >>",
    ]
    for number, stream in enumerate(contents):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * number} 0 R "
            f"/Resources << /Font << {fonts} >> >> {page} >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< /Title ({title}) >>")
    write_pdf_objects(path, objects, f"/Info {len(objects)} 0 R")


def write_pdf_objects(path: Path, objects: list[str], trailer: str = "") -> None:
    """A PDF of these objects, numbered from 1; the first is its catalog."""
    content, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    content += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    content += f"trailer << /Root 1 0 R /Size {len(objects) + 1} {trailer} >>\n"
    path.write_text(f"{content}startxref\n{content.index('xref')}\n%%EOF\n", "latin-1")
