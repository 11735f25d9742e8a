"""Parts of Office files and the relations between them."""

import posixpath
from collections.abc import Callable
from typing import NamedTuple

from fabir.documents.archives import Archive, text_in
from fabir.documents.base import telling_title
from fabir.errors import InputError

FALLBACK = "mc:Fallback"  # repeats, for older programs, what stands before it


class Relation(NamedTuple):
    """From a part of an Office file to another one: what it is, such as "footnotes", and where."""

    kind: str
    part: str


def relations(archive: Archive, part: str = "") -> dict[str, Relation]:
    """The parts that `part`, or the file itself, names, by the ids that it uses for them."""
    folder, name = posixpath.split(part)
    source = posixpath.join(folder, "_rels", f"{name}.rels")
    if source not in archive:
        return {}
    found = {}
    for element in archive.elements(source, {"Relationship"}):
        target, kind = element.get("Target", ""), element.get("Type", "")
        if element.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            found[element.get("Id", "")] = Relation(kind.rpartition("/")[2], target)
    return found


def parts_of_kind(
    related: dict[str, Relation],
    archive: Archive,
    *kinds: str,
    lost: Callable[[str], None] | None = None,
) -> list[str]:
    """The parts of some kinds that exist, once each, in the order of `kinds`.

    Args:
        lost: gets a line about each part that is named, and is not there
    """
    found = [each.part for kind in kinds for each in related.values() if each.kind == kind]
    there = [part for part in dict.fromkeys(found) if part in archive]
    if lost:
        for part in set(found).difference(there):
            lost(f"has no part {part[:100]}, which it names")
    return there


def main_part(archive: Archive, related: dict[str, Relation]) -> str:
    """
    Raises:
        InputError: the archive is no Office file.
    """
    found = parts_of_kind(related, archive, "officeDocument")
    if not found:
        raise InputError("not an Office file: it names no main part")
    return found[0]


def stated_title(archive: Archive, related: dict[str, Relation]) -> str:
    """The title in the file's properties; empty if it has none, or one that says nothing."""
    for part in parts_of_kind(related, archive, "core-properties"):
        for element in archive.elements(part, {"dc:title"}):
            return telling_title(text_in(element))
    return ""
