"""Splits a text into sentences by rules for punctuation, without a model. Offsets are exact."""

import re

# A sentence ends at the end of a line. It also ends after . ! ? and closing quotes or brackets, if
# a space and a possible first word follow. Scripts without capitals have their own full stops.
_END = re.compile(
    r"(?<!\s)\s*\n\s*"
    r"|(?<=[.!?])[\"'”’»)\]]*\s+(?=[\"'“‘«(\[]*[^\Wa-z_])"
    r"|(?<=[。！？।])[」』”’]*\s*"
)
# A full stop after these does not end a sentence: titles, initials and other abbreviations.
_SHORT = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sts|Mt|Ft|Gen|Col|Lt|Sgt|Capt|Gov|Sen|Rep|Rev"
    r"|Hon|Jr|Sr|No|Nos|Vol|vol|pp|p|Fig|fig|cf|vs|v|e\.g|i\.e|ca|approx|[A-Z](?:\.[A-Z])+)\.$"
)
_LONGEST = 40  # characters of such an abbreviation, with what stands in front of it


def sentences(text: str) -> list[tuple[int, int]]:
    """Half-open character offsets of the sentences of `text`, ascending.

    Only white space lies between sentences. No sentence starts or ends with white space.
    """
    found = []
    start = 0
    for match in _END.finditer(text):
        near = max(0, start - 1, match.start() - _LONGEST)
        if "\n" not in match[0] and _SHORT.search(text, near, match.start()):
            continue
        # Closing quotes and brackets belong to the sentence that they end.
        end = match.start() + len(match[0].rstrip())
        found.append((start, end))
        start = match.end()
    found.append((start, len(text)))
    return [span for span in (_stripped(text, *span) for span in found) if span[0] < span[1]]


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))
