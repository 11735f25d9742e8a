"""One small reader is exported, which takes a while; everything is asked of that."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from fabir import onnx_reader
from fabir.answer.predictor import Predictor
from fabir.data.batches import Steps, collate
from fabir.data.squad import read_squad
from fabir.errors import InputError
from fabir.export.onnx import _largest_difference, _quantise, export
from fabir.onnx_reader import OnnxReader
from fabir.reader import Reader
from fabir.readers.fabir import FabirConfig
from fabir.text.vocabulary import Forms
from factories import EXAMPLES, small_reader
from tiny import write_files

pytestmark = pytest.mark.slow

PAIRS = [(question, passage) for question, passage, *_ in EXAMPLES]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A reader's folder, and the folder it was exported to."""
    source, output = tmp_path_factory.mktemp("reader"), tmp_path_factory.mktemp("exported")
    config = FabirConfig(layers=1, word_match=True, cross_capped=True)
    small_reader(config=config).save(source, small=True)
    data = write_files(tmp_path_factory.mktemp("data")).dev
    report = export(source, output, data=read_squad(data))
    assert report["largest_logit_difference"] < 1e-4
    assert report["bytes"] == sum(path.stat().st_size for path in output.iterdir())
    assert report["torch"] == report["onnx"]
    assert report["onnx"]["total"] == len(read_squad(data))
    return source, output


def test_answers_are_those_of_the_reader_it_came_from(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabir.reader._has_bf16", lambda device: False)
    before, after = (Predictor.load(folder) for folder in folders)
    assert isinstance(before.reader, Reader)
    assert isinstance(after.reader, OnnxReader)
    long = (PAIRS[0][0], " ".join(passage for _, passage in PAIRS * 20))
    for pair in [*PAIRS, long]:
        expected = before.answer(*pair, top_k=3)
        found = after.answer(*pair, top_k=3)
        assert [(a.start, a.end) for a in found] == [(a.start, a.end) for a in expected]
        assert [a.score for a in found] == pytest.approx([a.score for a in expected], rel=1e-3)


def test_what_reads_word_by_word_is_refused(tmp_path: Path) -> None:
    small_reader("rnet").save(tmp_path / "reader")
    with pytest.raises(InputError, match="kind rnet cannot be exported: it attends word by word"):
        export(tmp_path / "reader", tmp_path / "exported")
    assert not list((tmp_path / "exported").glob("*"))


def test_batches_in_threads_answer_like_one_question_alone(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_reader, "_processors", lambda: 2)
    monkeypatch.setattr(OnnxReader, "batch_words", 64)
    predictor = Predictor.load(folders[1])
    for pair, found in zip(PAIRS * 5, predictor.answer_all(PAIRS * 5), strict=True):
        (alone,) = predictor.answer(*pair)
        assert (found[0].start, found[0].end) == (alone.start, alone.end)
        assert found[0].score == pytest.approx(alone.score, rel=1e-3)


def test_word_rows_are_those_of_the_network(folders: tuple[Path, Path]) -> None:
    reader = Reader.load(folders[0])
    rows = np.arange(2 + len(reader.vocabulary.trained) + len(reader.vocabulary.fixed))
    expected = reader._words(torch.from_numpy(rows))
    np.testing.assert_allclose(OnnxReader.load(folders[1])._rows(rows), expected.detach(), 1e-6)


def test_vectors_of_words_do_not_depend_on_what_was_read_before(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, forgetful = OnnxReader.load(folders[1]), OnnxReader.load(folders[1])
    forms = Forms(reader.vocabulary)
    texts = [forms.number([*passage.split(), "a" * 100, "a" * 99]) for _, passage in PAIRS]

    def vectors(reader: OnnxReader, texts: list[np.ndarray]) -> list[np.ndarray]:
        batch = collate(forms, texts, texts, range(len(texts)), Steps(1, 1, 1, 1))
        return list(reader._vectors(batch)[batch.passage])

    together = vectors(reader, texts)
    monkeypatch.setattr(onnx_reader, "_MOST", 20)  # fewer than the words of a passage
    for text, expected in zip(texts, together, strict=True):
        for each in reader, forgetful:
            assert (vectors(each, [text])[0] == expected[: len(text)]).all()


def test_it_answers_without_torch(folders: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "rain.txt").write_text(PAIRS[0][1])
    program = (
        "import sys; from fabir.cli import main; main(); assert 'torch' not in sys.modules, 'torch'"
    )
    arguments = ["answer", PAIRS[0][0], "--passage", tmp_path / "rain.txt", "--reader", folders[1]]
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() in PAIRS[0][1]


def test_8_bits_are_smaller_and_nearly_as_good(folders: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "int8"
    shutil.copytree(folders[1], folder)
    _quantise(folder / "network.onnx")
    size = (folder / "network.onnx").stat().st_size
    assert size < (folders[1] / "network.onnx").stat().st_size
    difference = _largest_difference(Reader.load(folders[0]), OnnxReader.load(folder))
    assert 1e-5 < difference < 1


def test_damaged_files_are_named(folders: tuple[Path, Path], tmp_path: Path) -> None:
    for name, content, message in (
        ("network.onnx", b"no graph", "cannot read .*network.onnx"),
        ("forms.onnx", b"no graph", "cannot read .*forms.onnx"),
        ("words.safetensors", b"no rows", "cannot read .*words.safetensors"),
        ("config.json", b"{}", "config.json: not a reader's file"),
    ):
        folder = tmp_path / name
        shutil.copytree(folders[1], folder)
        (folder / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            Predictor.load(folder)
    folder = tmp_path / "words"
    shutil.copytree(folders[1], folder)
    shutil.copy(folders[0] / "words.safetensors", folder)
    with pytest.raises(InputError, match="not an exported reader's file, it lacks trained"):
        Predictor.load(folder)


def test_a_graph_that_fails_leaves_nothing(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_nothing(reader: Reader, forms: Path, network: Path, quantise: bool) -> None:
        network.write_bytes(b"no graph")

    monkeypatch.setattr("fabir.export.onnx._write_graphs", write_nothing)
    with pytest.raises(InputError, match="cannot read"):
        export(folders[0], tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_reader_that_is_saved_again_is_no_longer_exported(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copytree(folders[1], tmp_path, dirs_exist_ok=True)
    reader = Reader.load(folders[0])
    reader.save(tmp_path)
    assert isinstance(Predictor.load(tmp_path).reader, Reader)


def test_an_exported_reader_cannot_be_trained_on(folders: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match=r"cannot read .*network\.safetensors"):
        Reader.load(folders[1])
