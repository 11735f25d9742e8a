"""Downloading, from a server on this machine: checksums, no second fetch, nothing left over."""

import hashlib
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from fabir.data.download import COLLECTIONS, Collection, download
from fabir.errors import InputError

pytest.importorskip("pooch")

CONTENT = b'{"data": []}' * 10_000


class Handler(SimpleHTTPRequestHandler):
    requested: list[str] = []  # noqa: RUF012  (shared on purpose: the server makes a handler a request)

    def do_GET(self) -> None:
        self.requested.append(self.path)
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    served = tmp_path / "served"
    served.mkdir()
    (served / "a.json").write_bytes(CONTENT)
    Handler.requested.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(served)))
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def collections(url: str, name: str = "a.json", content: bytes = CONTENT) -> dict[str, Collection]:
    return {"toy": Collection(url, "Toy licence", {name: hashlib.sha256(content).hexdigest()})}


def test_fetches_once_and_names_the_licence(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "new" / "folder"
    for _ in range(2):
        paths = download("toy", to, collections(url))
        assert paths == [to / "a.json"]
        assert paths[0].read_bytes() == CONTENT
    assert Handler.requested == ["/a.json"]
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Toy licence" in printed.err


def test_replaces_a_file_that_is_not_the_recorded_one(url: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(CONTENT[:-5])
    assert download("toy", tmp_path, collections(url))[0].read_bytes() == CONTENT


def test_wrong_checksum_leaves_nothing_behind(url: str, tmp_path: Path) -> None:
    to = tmp_path / "to"
    with pytest.raises(InputError, match="another checksum") as caught:
        download("toy", to, collections(url, content=b"something else"))
    assert f"{url}a.json" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(to.iterdir()) == []


def test_a_failing_server_is_a_clear_error(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot fetch .*none\.json.* 404"):
        download("toy", tmp_path / "to", collections(url, name="none.json"))
    with pytest.raises(InputError, match=r"cannot fetch .*there is no connection to 127.0.0.1:1$"):
        download("toy", tmp_path / "to", collections("http://127.0.0.1:1/"))
    assert list((tmp_path / "to").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_a_clear_error(url: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot fetch"):
        download("toy", tmp_path / "file", collections(url))


def test_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="squad, glove"):
        download("trivia", tmp_path)


def test_without_pooch_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(InputError, match=r"fabir\[download\]"):
        download("squad", tmp_path)


def test_the_official_files_are_listed() -> None:
    names = {name: list(collection.files) for name, collection in COLLECTIONS.items()}
    versions = ("1.1", "2.0")
    squad = [f"{part}-v{version}.json" for version in versions for part in ("train", "dev")]
    assert names == {"squad": squad, "glove": ["glove.6B.zip"]}
    for collection in COLLECTIONS.values():
        assert collection.url.startswith("https://")
        assert all(len(bytes.fromhex(digest)) == 32 for digest in collection.files.values())
