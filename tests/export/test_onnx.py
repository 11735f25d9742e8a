"""Export to ONNX. Tests share one exported model, because the export takes a while."""

import json
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.compose
import pytest

from exporting import exported_once
from fabir.answer.predictor import Predictor, Reading
from fabir.cli import main
from fabir.data.batches import Steps, collate
from fabir.data.dataset import Dataset
from fabir.data.features import build_features
from fabir.data.squad import write_squad
from fabir.errors import InputError
from fabir.export import onnx as onnx_export
from fabir.export.onnx import export
from fabir.readers.a3 import A3Config
from fabir.readers.bidaf import BidafConfig
from fabir.readers.fabir import FabirConfig
from fabir.readers.qanet import QanetConfig
from fabir.runtime import onnx_model
from fabir.runtime.base import logits
from fabir.runtime.onnx_model import OnnxModel
from fabir.runtime.torch_model import TorchModel
from fabir.text.vocabulary import WordTable
from fabir.training.distillation import teacher_probabilities
from fabir.training.settings import TrainingConfig
from factories import EXAMPLES, small_reader
from tiny import dataset

pytestmark = pytest.mark.slow

PAIRS = [(question, passage) for question, passage, *_ in EXAMPLES]
GRAPHS = "words.onnx", "encode.onnx", "answer.onnx"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return exported_once(tmp_path_factory)


@pytest.fixture(scope="module")
def in_8_bits(folders: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model, whose graphs are made by now, in 8 bits by the command, with ranges of real
    texts."""

    def copy_graphs(model: TorchModel, made: Path) -> None:
        for name in GRAPHS:
            shutil.copy(folders[1] / name, made)

    output, data = tmp_path_factory.mktemp("int8"), tmp_path_factory.mktemp("asked") / "asked.json"
    write_squad(dataset(), data)
    licence = folders[0] / "LICENSE"
    licence.write_text("of the weights")
    arguments = folders[0], "--output", output, "--quantise", "int8", "--calibrate", data
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as written:
        patch.setattr(onnx_export, "_write_graphs", copy_graphs)
        main(["export", "--reader", *map(str, arguments)])
    report = json.loads(written.getvalue())
    assert 1e-5 < report["largest_logit_difference"] < 1
    copied = output / licence.name
    assert copied.read_text() == licence.read_text()
    licence.unlink()
    copied.unlink()
    assert report["bytes"] == sum(path.stat().st_size for path in output.iterdir())
    return output


def test_answers_are_those_of_the_model_it_came_from(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TorchModel, "bfloat16", False)
    before, after = (Predictor.load(folder) for folder in folders)
    assert isinstance(before.model, TorchModel)
    assert isinstance(after.model, OnnxModel)
    long = (PAIRS[0][0], " ".join(passage for _, passage in PAIRS * 20))
    for pair in [*PAIRS, long]:
        expected = before.answer(*pair, top_k=3)
        found = after.answer(*pair, top_k=3)
        assert [(a.start, a.end) for a in found] == [(a.start, a.end) for a in expected]
        assert [a.score for a in found] == pytest.approx([a.score for a in expected], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "config"),  # with the fewest heads and layers that have every part
    [
        ("bidaf", BidafConfig(modelling_layers=1)),
        (
            "a3",
            A3Config(
                key_dim=3,
                value_dim=5,
                character_windows="valid",
                word_activation="sigmoid",
                highway="characters",
                highway_layers=1,
                modelling_layers=0,
            ),
        ),
        ("qanet", QanetConfig(heads=2, convolutions=1, model_convolutions=1, model_blocks=1)),
        (
            "fabir",
            FabirConfig(
                heads=2,
                layers=1,
                character_windows="valid",
                attention_height=3,
                attention_scaled=False,
                attention_bias=False,
                layer_type="bidirectional",
                learned_positions=20,
                selector_convolutions=3,
            ),
        ),
    ],
)
def test_every_other_kind_of_reader_is_exported_too(name: str, config: Any, tmp_path: Path) -> None:
    small_reader(name, config, no_answer=name == "fabir").save(tmp_path / "model")
    quantise = name == "fabir"  # with ranges of random words
    report = export(tmp_path / "model", tmp_path / "exported", quantise=quantise)
    assert report["largest_logit_difference"] < (1 if quantise else 1e-4)
    assert_known_passages_are_answered_alike(tmp_path / "exported")
    with pytest.raises(InputError, match="exported is only exported: this needs a model's torch"):
        TorchModel.load(tmp_path / "exported")


def test_what_reads_word_by_word_is_refused(tmp_path: Path) -> None:
    small_reader("rnet").save(tmp_path / "reader")
    with pytest.raises(InputError, match="kind rnet cannot be exported: it attends word by word"):
        export(tmp_path / "reader", tmp_path / "exported")
    assert not list((tmp_path / "exported").glob("*"))


def test_batches_in_threads_answer_like_one_question_alone(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_model, "processors", lambda: 2)
    monkeypatch.setattr(OnnxModel, "batch_words", 64)
    predictor = Predictor.load(folders[1])
    for pair, found in zip(PAIRS * 5, predictor.answer_all(PAIRS * 5), strict=True):
        (alone,) = predictor.answer(*pair)
        assert (found[0].start, found[0].end) == (alone.start, alone.end)
        assert found[0].score == pytest.approx(alone.score, rel=1e-3)


def test_vectors_of_words_are_those_of_the_network_whatever_was_read_before(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TorchModel, "bfloat16", False)
    before, after = TorchModel.load(folders[0]), OnnxModel.load(folders[1])
    words = WordTable(after.vocabulary)
    passages = [words.number([*passage.split(), "a" * 100, "a" * 99]) for _, passage in PAIRS]

    def vectors(model: Any, texts: list[np.ndarray]) -> list[np.ndarray]:
        batch = collate(words, texts, texts, range(len(texts)), Steps(1, 1, 1, 1))
        return list(np.asarray(model.embed(batch))[batch.passage])

    together = vectors(before, passages)
    for _ in range(2):
        for text, expected in zip(passages, together, strict=True):
            (alone,) = vectors(after, [text])
            np.testing.assert_allclose(alone, expected[: len(text)], atol=1e-5)
            (again,) = vectors(after, [text])
            np.testing.assert_array_equal(alone, again)
        after.clear()


def assert_known_passages_are_answered_alike(folder: Path) -> None:
    """Cached passages, alone, in batches of several lengths, and in windows."""
    for options in ({}, {"window": 8, "stride": 6, "max_words": 3}):
        predictor = Predictor.load(folder, **options)
        expected = []
        for pair in PAIRS:
            predictor.forget()
            expected += predictor.read_all([pair], 3)
        for found in (
            [next(predictor.read_all([pair], 3)) for pair in PAIRS],
            list(predictor.read_all(PAIRS, 3)),
        ):
            assert [_spans(reading) for reading in found] == [_spans(each) for each in expected]
            chances = [reading.no_answer for reading in expected]
            assert [reading.no_answer for reading in found] == pytest.approx(chances, rel=1e-3)


def _spans(reading: Reading) -> list[tuple[int, int]]:
    return [(answer.start, answer.end) for answer in reading.answers]


def test_a_known_passage_is_not_encoded_again(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_known_passages_are_answered_alike(folders[1])
    encoded = []
    encode = OnnxModel.encode
    monkeypatch.setattr(
        OnnxModel, "encode", lambda *given: encoded.append(len(given[1].passage)) or encode(*given)
    )
    predictor = Predictor.load(folders[1])
    for pair in PAIRS:
        predictor.answer(*pair)
    assert encoded == [1] * len({passage for _, passage in PAIRS})


def test_a_model_in_use_does_not_notice_that_its_folder_is_gone(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(folders[1], folder)
    predictor = Predictor.load(folder)
    shutil.rmtree(folder)
    (first,) = predictor.answer(*PAIRS[0])
    (again,) = predictor.answer(*PAIRS[0])
    assert (again.start, again.end) == (first.start, first.end)


def test_graphs_say_nothing_of_who_made_them(folders: tuple[Path, Path]) -> None:
    for path in folders[1].glob("*.onnx"):
        assert b".py" not in path.read_bytes()


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
    assert run.stdout.strip()
    assert run.stdout.strip() in PAIRS[0][1]


def test_8_bits_do_not_make_an_answer_depend_on_others(in_8_bits: Path) -> None:
    model = OnnxModel.load(in_8_bits)
    words = WordTable(model.vocabulary)
    questions, passages = (
        [words.number(text.split()) for text in texts] for texts in zip(*PAIRS, strict=True)
    )

    def starts(chosen: slice) -> np.ndarray:
        some = questions[chosen]
        batch = collate(words, passages[chosen], some, range(len(some)), Steps(1, 1, 1, 1))
        return logits(model, batch)[0]

    together = starts(slice(None))
    for i, passage in enumerate(passages):
        alone = starts(slice(i, i + 1))[0]
        np.testing.assert_allclose(alone, together[i, : len(passage)], atol=1e-4)
    assert_known_passages_are_answered_alike(in_8_bits)


def test_linear_maps_are_in_8_bits_and_add_their_biases(
    folders: tuple[Path, Path], in_8_bits: Path
) -> None:
    joined = 0
    for name in ("encode.onnx", "answer.onnx"):
        before, after = (onnx.load(folder / name).graph for folder in (folders[1], in_8_bits))
        sizes = [
            sum(int(np.prod(w.dims)) for w in graph.initializer if w.data_type == kind)
            for graph, kind in ((before, onnx.TensorProto.FLOAT), (after, onnx.TensorProto.INT8))
        ]
        assert sizes[1] > 0.4 * sizes[0]
        products = [node for node in after.node if node.op_type == "MatMulIntegerToFloat"]
        joined += len(products)
        assert all(product.input[6] for product in products)  # the bias
    assert joined > 10


def test_an_exported_model_may_teach(folders: tuple[Path, Path]) -> None:
    features, config = build_features(dataset()), TrainingConfig()
    first, second = (teacher_probabilities([each], [features], config, 0) for each in folders)
    assert len(first.values)
    np.testing.assert_allclose(first.values, second.values, atol=0.02)


@pytest.mark.parametrize("package", ["onnx", "onnxscript"])
def test_a_missing_package_is_named_before_a_model_is_read(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=f"exporting needs {package}: pip install"):
        export(tmp_path / "nobody", tmp_path / "graphs")


def test_nothing_to_calibrate_with_is_refused(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_squad(Dataset((), "1.1"), tmp_path / "empty.json")
    options = "--quantise", "int8", "--calibrate", tmp_path / "empty.json", "--output", tmp_path
    with pytest.raises(SystemExit) as caught:
        main(["export", "--reader", *map(str, (folders[0], *options))])
    assert caught.value.code == 2
    assert "no question" in capsys.readouterr().err


def test_damaged_files_are_named(folders: tuple[Path, Path], tmp_path: Path) -> None:
    for name in (*GRAPHS, "words.safetensors", "vocabulary.json", "config.json"):
        folder = tmp_path / name
        shutil.copytree(folders[1], folder)
        (folder / name).write_bytes(b"damaged")
        with pytest.raises(InputError, match=name):
            Predictor.load(folder)
    folder = tmp_path / "words"
    shutil.copytree(folders[1], folder)
    shutil.copy(folders[0] / "words.safetensors", folder)
    with pytest.raises(InputError, match=r"words\.safetensors"):
        Predictor.load(folder)


def test_a_model_that_is_saved_again_is_no_longer_exported(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copytree(folders[1], tmp_path, dirs_exist_ok=True)
    model = TorchModel.load(folders[0])
    model.save(tmp_path)
    assert isinstance(Predictor.load(tmp_path).model, TorchModel)


def test_an_exported_model_cannot_be_trained_on(folders: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match=r"network\.safetensors"):
        TorchModel.load(folders[1])
