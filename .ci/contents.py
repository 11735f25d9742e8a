"""Stops unless a wheel has all that it should: the sources' files, configs, licences, whole links;
and unless an sdist has the files of the repository's folder that it should.

python .ci/contents.py WHEEL SDIST, in the repository
"""

import re
import sys
import tarfile
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

PLACES = {"src/fabir/": "fabir/", "configs/": "fabir/configs/"}  # in the repository, in the wheel

TOP = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}


def expected() -> set[str]:
    """Names in the wheel of the repository's files."""
    return {
        place + path.relative_to(folder).as_posix()
        for folder, place in PLACES.items()
        for path in Path(folder).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def main(wheel: Path, sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        top = {name.partition("/")[2] for name in archive.getnames()}
    if lacking := TOP - top:
        sys.exit(f"the sdist lacks {sorted(lacking)}")
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        (about,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(about).decode())
    if held != (wanted := expected()):
        sys.exit(f"lacks {sorted(wanted - held)}, has also {sorted(held - wanted)}")
    if not any(name.startswith("fabir/configs/studies/") for name in held):
        sys.exit("has no studies")
    if len(metadata.get_all("License-File", [])) != 2:
        sys.exit("lacks a licence: of the code, or of the weights")
    links = re.findall(r"\]\(([^)]+)\)", metadata.get_payload())
    relative = [link for link in links if not link.startswith("https://")]
    if relative or not links:
        sys.exit(f"README's links that lead nowhere elsewhere: {relative or 'there are none'}")
    print(f"{len(held)} files, {len(links)} links")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
