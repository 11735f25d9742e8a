"""One's own documents: small files of every kind are read, found and answered from by `fast`."""

import shutil
from pathlib import Path

import pytest

from collection import write_pdf_pages
from fabir.answer.predictor import Predictor
from fabir.cli import main
from fabir.search.asker import Asker
from fabir.search.index import Index
from fabir.search.show import place
from office_files import paragraph, run, table, write_docx

pytest.importorskip("pypdfium2")
AES = Path(__file__).parents[1] / "data_files" / "aes.pdf"  # encrypted, without a password
SURE = 0.3  # right answers have a higher score, wrong ones a lower one

TEXTS = {
    "quote.html": '<div class="a""><p>The Orla bridge was built in 1822 by Nils Ekdahl.</p></div>',
    "apostrophe.html": "<img src=x.png alt=Nils's><p>The Garve gate was closed in 1790.</p>",
    "belmar.md": "# Belmar\n\nThe town of Belmar lies on the river Ems. It has a church, a market, "
    "and a mill that still grinds rye for the three bakers of the town; in summer its square is "
    "full of people who come for the glass fair of the region.\n\n## Opening hours of the library"
    "\n\nFrom 9:30 to 17:45 on weekdays. On Sundays it is closed.\n",
    "obs.txt": "The old weather station of Torvald above the lake was founded in 1874 by Anders "
    "Hallin-\ngren and his two brothers, who had come from Varn to watch the sky above the wide "
    "wa-\nter and its hills.\n",
    "shy.html": "<p>The met&shy;eo&shy;ro&shy;log&shy;ical office is led by Ann&shy;ika "
    "Hed&shy;lund.</p>",
    "cups.csv": "Stanley Cups,,\nTeam,Location,Stanley Cups\nBlues,STL,1\nFlyers,PHI,2\n",
    "stations.csv": "Station,Opened,Opened\nWick,1934,1951\nMarl,1911,1920\n",
    "films.csv": 'Title,Director,Year\nKansas Saloon Smashers,Unknown,1901\n"Terrible Teddy, the '
    'Grizzly King",Edwin S. Porter,1901\nJack and the Beanstalk,George S. Fleming,1902\n',
    "towns.jsonl": '{"city": "Lund", "population": 51234, "mayor": {"name": "Lise Brandt"}}\n'
    '{"paragraphs": ["The Ulm tower was built in 1377.", "It is 161 metres high."]}\n',
    "towns.json": '{"name": "Tarnby", "harbour master": "Bo Hald"}',
    "pumps.tsv": "pump\tkeeper\nRusk\tIda Strand\nVelm\tNils Berg\n",
    "spire.rst": "Spires\n======\n\nThe spire of Carrow was built in 1499.\n",
    "chapel.markdown": "# Chapels\n\nThe chapel of Anholt was built in 1702.\n",
    "watch.log": "09:12 <ida> The pump of Vestre was mended by Olaf Grue.\n09:15 <bo> Thanks!\n",
    "prices.html": "<p>The red kite costs 9 pounds.</p><p hidden>The hidden price of the blue kite "
    "is 12 pounds.</p><p style='display: none'>The secret price is 13 pounds.</p>",
    "fees.html": "<nav><a>Home</a> <a>Fees of Graustein</a></nav><main><p>The fee of Graustein is "
    "7 crowns.</p></main><footer>Graustein council: fees and forms</footer>",
    "power.html": "<p>The region of Brenn is large. About 10<sup>6</sup> people live in Brenn.</p>",
    "band.txt": "The Who are a band that formed in 1964 in London.\n",
    "lodz.txt": "A plate of smørrebrød costs 40 crowns in the Ægir café on Straße 9 in Łódź.\n",
    "roll.txt": "Cashier: Emily Rodriguez\nRegister: 3\nTotal: 45.20 crowns\nPaid by: card\n",
}
ENCODED = {
    "page.html": "<meta charset=windows-1252><p>The café of Cape Orrin was opened by Zoë Müller – "
    "it is closed.".encode("cp1252"),
    "utf-16.txt": "The mill of Jæren was bought by Jürgen Hölm.\n".encode("utf-16"),
    "utf-32.txt": "The boat of Jæren was bought by Sören Kjær.\n".encode("utf-32"),
}


def at(left: int, up: int, *lines: str) -> str:
    """Lines below each other, as a content stream of PDF; the place is in points."""
    return "".join(
        f"BT /F1 10 Tf {left} {up - 12 * row} Td ({line}) Tj ET\n" for row, line in enumerate(lines)
    )


LEFT = "The Ems bridge was built in 1722 by", "the smith Olaf Dahl of the town of", "Kessel."
RIGHT = "The Hals tower was paid for by the", "rich merchant Ada Quist, who lived", "there."


def write_pdfs(folder: Path) -> None:
    shutil.copy(AES, folder)
    pages = [
        "The new pumping station of Harle stands beside the canal. It was designed by the engineer",
        "Josephine Bell, and completed in 1873. It moved nine million litres of water a day.",
    ]
    streams = [at(50, 700, page) + at(50, 40, f"Page {n} of 2") for n, page in enumerate(pages, 1)]
    write_pdf_pages(folder / "break.pdf", streams)
    rows = [
        at(50, 700 - 12 * row, left) + at(300, 700 - 12 * row, right)
        for row, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True))
    ]
    write_pdf_pages(folder / "columns.pdf", ["".join(rows)])
    lines = "The observatory of Hven was led for thirty", "years by the astronomer Mar-", "git Sol-"
    write_pdf_pages(folder / "hyphen.pdf", [at(50, 700, *lines, "berg, who was born in Drobak.")])
    field = "/Type /Annot /Subtype /Widget /Rect [0 0 9 9] /FT /Tx /T (Treasurer) /V (Alice Holm)"
    write_pdf_pages(
        folder / "form.pdf",
        [at(50, 700, "Application to the Black Knights chess club")],
        page=f"/Annots [<< {field} >>]",
        catalog=f"/AcroForm << /Fields [<< {field} >>] >>",
    )


def write_word_files(folder: Path) -> None:
    rent = f"<w:ins>{run('650 crowns')}</w:ins>"
    old_rent = "<w:del><w:r><w:delText>600 crowns</w:delText></w:r></w:del>"
    owner = f"<w:sdt><w:sdtContent>{run('Agneta Lindqvist')}</w:sdtContent></w:sdt>"
    end = f'<w:fldSimple w:instr="DATE">{run("31 May 2027")}</w:fldSimple>'
    town = f"<w:smartTag>{run('Tonsberg')}</w:smartTag>"
    lease = [
        (run("The monthly rent of the Harwick house is "), old_rent, rent, run(".")),
        (run("The landlord of the Harwick house is "), owner, run(".")),
        (run("The Harwick lease ends on "), end, run(".")),
        (run("The Harwick deposit was paid in "), town, run(".")),
    ]
    write_docx(folder / "lease.docx", "".join(paragraph(*each) for each in lease))
    note = paragraph(run("The bell of Lowen was cast by Hedda Wirth in 1712."))
    text = paragraph(
        run("The church of Lowen has a bell."), '<w:r><w:footnoteReference w:id="1"/></w:r>'
    )
    write_docx(
        folder / "strict.docx", text, True, footnotes=f'<w:footnote w:id="1">{note}</w:footnote>'
    )
    rows = ["Engine", "Built", "Capacity"], ["Skagen", "1936", "410 litres"]
    write_docx(folder / "engines.docx", table(*rows, ["Lister", "1913", "320 litres"]))


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Asker:
    folder = tmp_path_factory.mktemp("own")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")
    for name, data in ENCODED.items():
        (folder / name).write_bytes(data)
    write_pdfs(folder)
    write_word_files(folder)
    index = Index.build([folder], tmp_path_factory.mktemp("index"))
    return Asker(index, Predictor.load("fast"))


@pytest.mark.parametrize(
    ("question", "answer", "where"),
    [
        ("When was the Orla bridge built?", "1822", "quote.html"),
        ("When was the Garve gate closed?", "1790", "apostrophe.html"),
        (
            "How much is the monthly rent of the Harwick house?",
            "650 crowns",
            "lease.docx, paragraph 1",
        ),
        (
            "Who is the landlord of the Harwick house?",
            "Agneta Lindqvist",
            "lease.docx, paragraph 2",
        ),
        ("When does the Harwick lease end?", "31 May 2027", "lease.docx, paragraph 3"),
        ("Where was the Harwick deposit paid?", "Tonsberg", "lease.docx, paragraph 4"),
        ("When does the library open on weekdays?", "9:30 to 17:45", "belmar.md, line 7"),
        ("Who founded the station of Torvald?", "Anders Hallin-\ngren", "obs.txt, line 1"),
        ("Who led the observatory of Hven?", "Margit Solberg", "hyphen.pdf, page 1"),
        ("Who leads the meteorological office?", "Annika Hedlund", "shy.html"),
        ("What is the location of the Flyers?", "PHI", "cups.csv#2, line 4"),
        ("When was Wick opened?", "1934", "stations.csv#1, line 2"),
        (
            "Who directed Terrible Teddy, the Grizzly King?",
            "Edwin S. Porter",
            "films.csv#2, line 3",
        ),
        ("What is the population of Lund?", "51234", "towns.jsonl#1, line 1"),
        ("Who is the mayor of Lund?", "Lise Brandt", "towns.jsonl#1, line 1"),
        ("When was the Ulm tower built?", "1377", "towns.jsonl#2, line 2"),
        ("Who is the harbour master of Tarnby?", "Bo Hald", "towns.json"),
        ("Who is the keeper of the Velm pump?", "Nils Berg", "pumps.tsv#2, line 3"),
        ("When was the spire of Carrow built?", "1499", "spire.rst, line 4"),
        ("When was the chapel of Anholt built?", "1702", "chapel.markdown, line 3"),
        ("Who mended the pump of Vestre?", "Olaf Grue", "watch.log, line 1"),
        ("When was the mill of Corm built?", "1902", "aes.pdf, page 1"),
        ("Who opened the café of Cape Orrin?", "Zoë Müller", "page.html"),
        ("Who bought the mill of Jæren?", "Jürgen Hölm", "utf-16.txt, line 1"),
        ("Who bought the boat of Jæren?", "Sören Kjær", "utf-32.txt, line 1"),
        ("What is the fee of Graustein?", "7 crowns", "fees.html, paragraph 1"),
        ("How many people live in Brenn?", "10^6", "power.html"),
        ("Who cast the bell of Lowen?", "Hedda Wirth", "strict.docx, paragraph 2"),
        ("When was the Skagen engine built?", "1936", "engines.docx, paragraph 1"),
        ("What is the capacity of the Lister engine?", "320 litres", "engines.docx, paragraph 2"),
        ("Who designed the pumping station of Harle?", "Josephine Bell", "break.pdf, page 2"),
        ("When was the Ems bridge built?", "1722", "columns.pdf, page 1"),
        ("Who paid for the Hals tower?", "Ada Quist", "columns.pdf, page 1"),
        ("Who is the treasurer of the chess club?", "Alice Holm", "form.pdf, page 1"),
        ("When did The Who form?", "1964", "band.txt, line 1"),
        ("How much does smorrebrod cost?", "40 crowns", "lodz.txt, line 1"),
        ("Who is the cashier?", "Emily Rodriguez", "roll.txt, line 1"),
    ],
)
def test_the_first_answer_is_right(asker: Asker, question: str, answer: str, where: str) -> None:
    found = asker.ask(question)[0]
    assert (found.text, place(found)) == (answer, where)
    assert found.score > SURE


@pytest.mark.parametrize(
    "question",
    [
        "What is the hidden price of the blue kite?",
        "What is the secret price?",
        "Who is the mayor of Reykjavik?",
        "When was the Fana bridge built?",
        "Who directed Jaws?",
    ],
)
def test_what_is_nowhere_scores_low(asker: Asker, question: str) -> None:
    assert 1 - asker.read(question).no_answer < SURE


def run_command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[str, str]:
    main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_files_without_text_are_named_and_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (folder := tmp_path / "notes").mkdir()
    image = "q 400 0 0 400 50 200 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \x80 EI Q"
    write_pdf_pages(folder / "scan.pdf", [image])
    write_pdf_pages(folder / "mixed.pdf", [at(50, 700, "The mill is red."), image])
    write_docx(folder / "pictures.docx", paragraph("<w:r><w:drawing/></w:r>"))
    (folder / "empty.txt").touch()
    (folder / "some.txt").write_text("The mill was built in 1902.")
    _, err = run_command(capsys, "index", folder, "--output", tmp_path / "index")
    assert err.splitlines() == [
        f"skipped: {folder}/empty.txt: no text in it",
        f"incomplete: {folder}/mixed.pdf: page 2 has no text: scanned?",
        f"skipped: {folder}/pictures.docx: no text: only pictures?",
        f"skipped: {folder}/scan.pdf: no text: scanned?",
        "2 documents, 2 passages; 3 skipped, 1 incomplete",
    ]
    for name in ("empty.txt", "mixed.pdf", "pictures.docx", "scan.pdf"):
        with pytest.raises(SystemExit):
            main(["index", str(folder / name), "--output", str(tmp_path / "no"), "--strict"])
        assert f"{name}: " in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


def test_an_index_whose_last_file_is_deleted_answers_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (path := tmp_path / "notes" / "mill.txt").write_text("The mill was built in 1902.")
    index = tmp_path / "index"
    run_command(capsys, "index", tmp_path / "notes", "--output", index)
    question = "ask", "When was the mill built?", "--index", index
    out, err = run_command(capsys, *question)
    assert (out.split("\t")[:2], err) == (["1902", "mill.txt, line 1"], "")
    path.unlink()
    assert run_command(capsys, "index", "--output", index, "--update")[1].startswith("0 documents")
    assert run_command(capsys, *question) == ("", "the model finds no answer in the documents\n")


def test_copies_give_one_answer_and_soft_hyphens_are_not_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for number in range(1, 7):
        text = "The treasurer of the Marnix rowing club is Ann\u00adika Hed\u00adlund."
        (tmp_path / f"copy-{number}.txt").write_text(text, "utf-8")
    index = tmp_path / "index"
    run_command(capsys, "index", tmp_path, "--output", index)
    out, _ = run_command(capsys, "ask", "Who is the treasurer of the club?", "--index", index)
    assert out.splitlines()[0].startswith("Annika Hedlund\tcopy-1.txt, line 1 (and 5 more)\t")
