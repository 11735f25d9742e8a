"""Encodings of texts that do not say theirs: the right letters, or a refusal; what is damaged."""

import tracemalloc

import pytest

from fabir.documents.encodings import decode
from fabir.errors import InputError

POLISH = "Młyn został zbudowany w 1834 roku przez rodzinę Bergów i stoi nad rzeką."
CZECH = "Mlýn byl postaven roku 1834 a stojí u řeky; majitelé ho později prodali městu."
HUNGARIAN = "A malom 1834-ben épült a folyó mellett, és a híd fölött nőtt erdő zöld."
CROATIAN = (
    "Mlin je sagrađen 1834. godine uz rijeku, a cesta vodi kroz šumu do kuće na vrhu brežuljka."
)
ROMANIAN = (
    "Moara a fost construită în 1834 lângă râu şi aparţine familiei Berg, care trăieşte în oraş."
)
TURKISH = "Değirmen 1834 yılında inşa edildi ve ırmağın yanında durur."
LITHUANIAN = "Malūnas buvo pastatytas 1834 metais prie upės ir yra labai gražus, sako žmonės."
LATVIAN = "Dzirnavas tika uzceltas 1834. gadā pie upes, un tās ir ļoti skaistas."
GERMAN = "Die Größe der Mühle ist schön, über die Straße gehen täglich viele Gäste."
FRENCH = "Le château fut bâti en 1822 par un évêque, et l’été il est fermé."
RUSSIAN = "Мельница была построена в 1834 году Йоханом Бергом, семья которого жила у реки."
UKRAINIAN = "Млин збудували 1834 року біля річки, і їхня родина живе там досі."
GREEK = "Ο μύλος χτίστηκε το 1834 από την οικογένεια κοντά στο ποτάμι."
HEBREW = "הטחנה נבנתה בשנת 1834 על ידי משפחת ברג ליד הנהר."
ARABIC = "بنيت الطاحونة في عام 1834 بالقرب من النهر، وهي جميلة جدا."
JAPANESE = "水車は1834年にベルク家によって建てられました。"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((text, "cp1250") for text in (POLISH, CZECH, HUNGARIAN, CROATIAN, ROMANIAN)),
        *((text, "iso8859_2") for text in (POLISH, CZECH, HUNGARIAN, CROATIAN, ROMANIAN)),
        *((TURKISH, encoding) for encoding in ("cp1254", "iso8859_9")),
        *((text, "cp1257") for text in (LITHUANIAN, LATVIAN)),
        *((GERMAN, encoding) for encoding in ("cp1252", "mac_roman", "cp850", "cp437")),
        *((FRENCH, encoding) for encoding in ("cp1252", "mac_roman")),
        *((RUSSIAN, encoding) for encoding in ("cp1251", "koi8_r", "mac_cyrillic", "cp866")),
        *((UKRAINIAN, encoding) for encoding in ("cp1251", "koi8_u")),
        *((GREEK, encoding) for encoding in ("cp1253", "iso8859_7")),
        *((HEBREW, "cp1255"), (ARABIC, "cp1256")),
        *((JAPANESE, encoding) for encoding in ("iso2022_jp", "euc_jp")),
        ("zażółć gęślą jaźń", "cp1250"),
        ("The ticket costs 5 €, and the café is free.", "iso8859_15"),
    ],
)
def test_a_language_tells_the_encoding(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "text",
    [
        "The “Orla” bridge – built in 1822 – cost £12,000; it’s the mayor’s.",
        "The tank of the mill holds 300 m³ of water, and the hall has 40 m².",
        "Bergs Mühle, 1834.",
        "The mill’s owner is Zoë. It’s old, isn’t it? They don’t say. We’re sure he’s right.",
        "Section 1.\xa0 See ¶ 3 and § 4, or © 1999.",
    ],
)
def test_english_with_a_few_other_signs_is_western(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"%PDF-1.7\n", "a PDF"),
        (b"PK\x03\x04\x14\0", "a ZIP archive, such as an Office document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "an Office or Outlook document of the old kind"),
        (b"\x1f\x8b\x08", "a gzip file"),
    ],
)
def test_a_file_of_another_kind_is_named(start: bytes, kind: str) -> None:
    with pytest.raises(InputError, match=f"not text, but {kind}: give it that ending"):
        decode(start)


def test_a_bad_byte_in_utf8_costs_one_character_and_is_named() -> None:
    losses: list[str] = []
    data = "Łódź and the café opened ".encode() + b"caf\xe9 in 1934."
    assert decode(data, lost=losses.append) == "Łódź and the café opened caf\ufffd in 1934."
    assert losses == ["1 characters are not utf-8: byte 32 is the first"]


def test_a_bad_byte_takes_no_memory_for_each_character() -> None:
    data = JAPANESE.encode() * 3000 + b"\xe9"
    tracemalloc.start()
    try:
        assert decode(data).endswith("。\ufffd")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(data)


def test_a_text_that_may_be_in_several_encodings_is_refused() -> None:
    with pytest.raises(InputError, match="no other encoding is certain"):
        decode(b"\xd2\xd3\xd4\xd5")
