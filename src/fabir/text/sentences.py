"""Where the sentences of a text stand. Rules for punctuation, no model; offsets are exact."""

import re

# A sentence ends at a line's end, or after . ! ? and what closes it, before a space and what may
# begin another; in scripts without capitals and spaces after their own full stops.
_END = re.compile(
    r"\s*\n\s*"
    r"|(?<=[.!?])[\"'”’»)\]]*\s+(?=[\"'“‘«(\[]*[^\Wa-z_])"
    r"|(?<=[。！？।])[」』”’]*\s*"
)
# What a full stop after does not end a sentence: titles, initials, what stands before names.
_SHORT = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sts|Mt|Ft|Gen|Col|Lt|Sgt|Capt|Gov|Sen|Rep|Rev"
    r"|Hon|Jr|Sr|No|Nos|Vol|vol|pp|p|Fig|fig|cf|vs|v|e\.g|i\.e|ca|approx|[A-Z](?:\.[A-Z])+)\.$"
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Half-open character offsets of the sentences of `text`, ascending.

    Nothing but white space lies between them, and none begins or ends with white space.
    """
    found = []
    start = 0
    for match in _END.finditer(text):
        head = text[start : match.start()]
        if "\n" not in match[0] and _SHORT.search(head):
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
