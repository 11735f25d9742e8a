"""The encoding of a text in Latin letters, by how usual its letters beyond ASCII are."""

import re
import string
from collections import Counter
from math import log

# The most usual one first, and the wider one: cp1252 has all letters of ISO 8859-1.
# With the logarithms of how likely they are.
_CHARSETS = {
    "cp1252": 0.0,
    **dict.fromkeys(
        ["iso8859_15", "cp1250", "iso8859_2", "cp1254", "cp1257", "iso8859_13", "cp1258"], log(0.1)
    ),
    **dict.fromkeys(["mac_roman", "cp850"], log(0.001)),
}
_WESTERN = "éöüáíóñçèäåøàëïêôâîûúãõßæœšž"
# How many of 1,000 letters are beyond ASCII, and which ones, the most usual one first.
_LANGUAGES = (
    (0.1, _WESTERN),  # names in English and Indonesian
    (5, _WESTERN),  # Dutch
    (43, "éàèêôîçâëïûùœ"),  # French
    (25, "üäößé"),  # German
    (31, "óáíúéñü"),  # Spanish, Galician
    (17, "èàùòéì"),  # Italian
    (52, "ãçáíéóõúêâàô"),  # Portuguese
    (34, "óàéíèúòçïü"),  # Catalan
    (51, "äöåé"),  # Swedish, Finnish
    (33, "æøåéó"),  # Danish, Norwegian
    (117, "ðáíóþæúöýé"),  # Icelandic
    (70, "áíéúó"),  # Irish
    (67, "łżąęśćóńź"),  # Polish
    (120, "íáčéýřžúěšůťľňóďôäĺŕ"),  # Czech, Slovak
    (116, "áéíóöőüúű"),  # Hungarian
    (58, "ăîţşâ"),  # Romanian
    (36, "čšžćđ"),  # Croatian, Serbian, Slovene
    (85, "ëç"),  # Albanian
    (117, "ışçüğöâîû"),  # Turkish
    (70, "šėųįąžčūę"),  # Lithuanian
    (98, "āēīšūļņķžģč"),  # Latvian
    (47, "äõüöšž"),  # Estonian
    (250, "ô\u0301\u0300ê\u0323đ\u0309ư\u0303àáâơăóúíé"),  # Vietnamese
)
_SIGNS = "‘’‚“”„«»‹›–—…•·§°€£©®™¡¿½¼¾×±²µ¶†‡ªº\xad"
_ODD_SIGN = re.compile(r"(?<=[^\W\d_])(?:[‚„¿¡±£§]|[“”«»‹›•°€©®™½¼¾×²³µ¶†‡](?=[^\W\d_]))")
_OTHER_SCRIPT = re.compile(rb"[\x80-\x9f\xa1-\xff]{3,}")
_BEYOND = re.compile(rb"[\x80-\x9f\xa1-\xff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SIGN, _ODD = log(1e-2), log(1e-6)  # chances of a sign, and of a letter that a language lacks
_SURE = 1.0  # least difference between the likelihoods of the best text and the next one


def _chances(per_mille: float, letters: str) -> dict[str, float]:
    """The logarithms of the chances of characters. A letter's chance falls with its rank."""
    total = sum(1 / rank for rank in range(1, len(letters) + 1))
    ranked = enumerate(letters, 1)
    known: dict[str, float] = {
        letter: log(per_mille / 1000 / total / rank) for rank, letter in ranked
    }
    return dict.fromkeys(_SIGNS, _SIGN) | known | {"\xa0": 0.0}


_CHANCES = [(log(1 - count / 1000), _chances(count, letters)) for count, letters in _LANGUAGES]


def is_latin(data: bytes) -> bool:
    """Whether bytes beyond ASCII stand apart: other scripts have several in a row."""
    in_rows = sum(map(len, _OTHER_SCRIPT.findall(data)))
    return 2 * in_rows < max(1, len(_BEYOND.findall(data)))


def latin_charset(data: bytes) -> str:
    """The encoding in which a text's letters are likeliest; empty if it is not certain.

    It is not if no language has at least half of the characters beyond ASCII.
    """
    found: dict[str, tuple[float, str, bool]] = {}
    for charset, chance in _CHARSETS.items():
        try:
            text = data.decode(charset)
        except UnicodeDecodeError:
            continue
        if text not in found:
            likelihood, is_known = _likelihood(text)
            found[text] = likelihood + chance, charset, is_known
    if not found:
        return ""
    best, *others = sorted(found.values(), reverse=True)
    sure = best[2] and all(best[0] - other[0] > _SURE for other in others[:1])
    return best[1] if sure else ""


def _likelihood(text: str) -> tuple[float, bool]:
    """The logarithm of the chance of a text's letters in the language where it is highest, and
    whether that language has most of those beyond ASCII."""
    plain = sum(map(text.count, string.ascii_letters))
    text = _ODD_SIGN.sub("\N{REPLACEMENT CHARACTER}", text.replace("İ", "ı").replace("m³", "m²"))
    counts = Counter(_NOT_ASCII.findall(text.lower()))
    half = sum(counts.values()) / 2
    return max(
        (
            plain * chance + sum(n * chances.get(letter, _ODD) for letter, n in counts.items()),
            sum(n for letter, n in counts.items() if letter in chances) >= half,
        )
        for chance, chances in _CHANCES
    )
