"""Fonts of symbols, which have encodings of their own."""

_GREEK = {
    **dict(zip(range(0x41, 0x5B), "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", strict=True)),
    **dict(zip(range(0x61, 0x7B), "αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True)),
}
_SIGNS = {
    **dict(zip(b"\"$'*-@\\^~", "∀∃∋∗−≅∴⊥∼", strict=True)),
    **dict(zip(range(0xA0, 0xBD), "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…", strict=True)),
    **dict(zip(range(0xBF, 0xE6), "↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑", strict=True)),
    **dict(zip(b"\xf1\xf2", "〉∫", strict=True)),
}
_FONTS = {
    "symbol": {**{code: chr(code) for code in range(0x20, 0x7F)}, **_GREEK, **_SIGNS},
    "wingdings": dict(zip(b"ox\xa8\xfb\xfc\xfd\xfe", "☐☒☐✗✓☒☑", strict=True)),  # check marks
}


def in_font(text: str, font: str) -> str:
    """A text as its font shows it; the same for other fonts, and for signs that are not known.

    Codes of such fonts may also stand in an area of Unicode for private use, from U+F000 on.
    """
    signs = _FONTS.get(font.lower())
    if not signs:
        return text
    return "".join(signs.get(ord(each) - 0xF000 * _is_private(each), each) for each in text)


def _is_private(character: str) -> bool:
    return "\uf000" <= character <= "\uf0ff"
