"""Zip archives with XML in them: office documents and the like. Archives are not trusted.

No part is read that is larger than a limit. XML is never in memory as a whole, unless one wanted
element is all of it. Entities are refused, so that none can grow or name another file.
"""

import re
import zipfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import IO, Self
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from zlib import error as CompressionError

from fabir.documents.base import MAX_BYTES
from fabir.errors import InputError

DAMAGE = zipfile.BadZipFile, CompressionError, EOFError, ParseError
MAX_ELEMENTS = 2_000_000  # in one wanted element: some 500 MB
MAX_DEPTH = 256
MAX_NAMES = 10_000  # of elements and attributes
_CHUNK = 1 << 20
_TIMES = 4  # a part may be read again, but not for ever
_COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1")  # old Office files and encrypted new ones begin so

# The namespaces of "strict" Office files differ, so names get these prefixes.
_NAMESPACE = re.compile(
    r"http://(?:schemas\.openxmlformats\.org|purl\.oclc\.org/ooxml)/([\w-]+)/(?:2006/)?(\w+)"
    r"|urn:oasis:names:tc:opendocument:xmlns:(\w+):[\d.]+"
    r"|http://purl\.org/(dc)/elements/1\.1/"
)
_PREFIXES = {
    "wordprocessingml/main": "w",
    "spreadsheetml/main": "s",
    "presentationml/main": "p",
    "drawingml/main": "a",
    "drawingml/chart": "c",
    "drawingml/diagram": "dgm",
    "officeDocument/math": "m",
    "officeDocument/relationships": "r",
    "markup-compatibility/2006": "mc",
    "drawing": "draw",
}


class Archive:
    """A zip file, open for reading.

    Args:
        most: how many bytes may be unpacked in all

    Raises:
        InputError: the file is no zip file, but perhaps one with a password.
    """

    def __init__(self, path: Path, most: int = MAX_BYTES) -> None:
        with open(path, "rb") as file:
            if file.read(len(_COMPOUND)) == _COMPOUND:
                kind = path.suffix.lower()
                raise InputError(f"has a password, or is an older format: save it as plain {kind}")
        self._zip = zipfile.ZipFile(path)
        self._most, self._size, self._read = most, 0, 0
        self._opened: set[str] = set()
        self._folder = ""  # from which names are
        # Names differ by more than their case, but programs do not always write one alike.
        self._names = {name.lower(): name for name in self._zip.namelist()}
        self._names |= {name: name for name in self._zip.namelist()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return self._member(name) is not None

    def _member(self, name: str) -> str | None:
        whole = self._folder + name
        return self._names.get(whole) or self._names.get(whole.lower())

    def enter(self, name: str) -> None:
        """Take the one folder that has all files as the top, if a file `name` is there only."""
        tops = {each.partition("/")[0] for each in self._zip.namelist()}
        if name not in self and len(tops) == 1:
            self._folder = f"{tops.pop()}/"

    def open(self, name: str) -> IO[bytes]:
        """
        Raises:
            InputError: there is no such member, or too much would be unpacked.
            BadZipFile: the member is damaged.
        """
        if (member := self._member(name)) is None:
            raise InputError(f"has no part {name[:100]}")
        info = self._zip.getinfo(member)
        if info.header_offset < 0:  # a byte is missing further on
            raise zipfile.BadZipFile("a part begins before the file")
        size = info.file_size  # the directory's word: its stream ends there
        new = 0 if member in self._opened else size
        if self._size + new > self._most:
            raise InputError(f"larger than {self._most >> 20} MiB when unpacked")
        if self._read + size > _TIMES * self._most:
            raise InputError("refused: it repeats its parts too often")
        self._size += new
        self._read += size
        self._opened.add(member)
        return self._zip.open(info)

    def mentions(self, name: str, word: bytes) -> bool:
        """Whether a member has some bytes: quicker than to parse it in vain."""
        end = b""
        with self.open(name) as file:
            while chunk := file.read(_CHUNK):
                if word in end + chunk:
                    return True
                end = chunk[-len(word) :]
        return False

    def elements(
        self,
        name: str,
        wanted: Collection[str],
        emptied: Collection[str] = (),
        opened: Collection[str] = (),
    ) -> Iterator[Element]:
        """The outermost elements with `wanted` names of an XML member, each as soon as it is read.

        Names of elements and attributes have the usual prefixes, such as "w:p" or "table:table".
        Those of other namespaces have none. What is in `emptied` elements is left out. An `opened`
        element comes without content, before the wanted ones that are in it.

        Raises:
            InputError: see `open`; or the XML has a document type declaration, is too deep, or one
                wanted element is too large.
        """
        collector = _Collector(wanted, emptied, opened)
        parser = XMLParser(target=collector)
        with self.open(name) as file:
            while chunk := file.read(_CHUNK):
                parser.feed(chunk)
                yield from collector.taken()
        parser.close()
        yield from collector.taken()


class _Collector:
    """Target of an XML parser. It builds the outermost elements with wanted names."""

    def __init__(self, *names: Collection[str]) -> None:
        self._wanted, self._emptied, self._opened = map(frozenset, names)
        self._names = _Names()
        self._done: list[Element] = []
        self._builder: TreeBuilder | None = None
        self._depth = 0
        self._began = 0  # depth of the element that is being built
        self._silent = 0  # depth of an element whose content is left out
        self._count = 0  # elements in the one that is being built

    def taken(self) -> list[Element]:
        done, self._done = self._done, []
        return done

    def doctype(self, *_: object) -> None:
        raise InputError("refused: its XML declares a document type, which could define entities")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InputError(f"refused: its XML is nested more than {MAX_DEPTH} deep")
        if self._silent:
            return
        tag = self._names[name]
        builder = self._builder
        if builder is None and tag in self._wanted:
            builder = self._builder = TreeBuilder()
            self._began, self._count = self._depth, 0
        if attributes and (builder is not None or tag in self._opened):
            names = self._names
            attributes = {names[key]: text for key, text in attributes.items()}
        if builder is not None:
            self._count += 1
            if self._count > MAX_ELEMENTS:
                raise InputError(f"refused: a part has more than {MAX_ELEMENTS:,} XML elements")
            builder.start(tag, attributes)
        elif tag in self._opened:
            self._done.append(Element(tag, attributes))
        if tag in self._emptied:
            self._silent = self._depth

    def data(self, text: str) -> None:
        if self._builder is not None and not self._silent:
            self._builder.data(text)

    def end(self, name: str) -> None:
        if not self._silent or self._silent == self._depth:
            self._silent = 0
            builder = self._builder
            if builder is not None:
                element = builder.end(self._names[name])
                if self._depth == self._began:
                    self._done.append(element)
                    self._builder = None
        self._depth -= 1

    def close(self) -> None:
        pass


def child(element: Element | None, *names: str) -> Element | None:
    """The first child with the first name, its first child with the second one, and so on."""
    for name in names:  # Element.find would take the prefixes for those of namespaces
        if element is None:
            return None
        for each in element:
            if each.tag == name:
                element = each
                break
        else:
            return None
    return element


def descend(element: Element, name: str, enters: Callable[[str], bool]) -> Iterator[Element]:
    """Elements of a name in another one, also those in children whose names say so."""
    for each in element:
        if each.tag == name:
            yield each
        elif enters(each.tag):
            yield from descend(each, name, enters)


def value(element: Element | None, attribute: str, default: str = "") -> str:
    return default if element is None else element.get(attribute, default)


def text_in(element: Element | None) -> str:
    """The text before an element's first child."""
    return "" if element is None else element.text or ""


class _Names(dict[str, str]):
    """The names with prefixes instead of namespaces: "w:p" for "{http://...main}p"."""

    def __missing__(self, name: str) -> str:
        if len(self) == MAX_NAMES:
            raise InputError(f"refused: its XML has more than {MAX_NAMES:,} different names")
        self[name] = prefixed = _prefixed(name)
        return prefixed


def _prefixed(name: str) -> str:
    uri, _, local = name.removeprefix("{").rpartition("}")
    known = _NAMESPACE.fullmatch(uri)
    if not known:
        return local
    family, kind, *others = known.groups()
    other = others[0] or others[1]
    prefix = _PREFIXES.get(f"{family}/{kind}") if family else _PREFIXES.get(other, other)
    return f"{prefix}:{local}" if prefix else local
