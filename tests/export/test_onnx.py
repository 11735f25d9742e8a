"""One small reader is exported, which takes a while; everything is asked of that."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from fabir.answer.predictor import Predictor, Reading
from fabir.cli import main
from fabir.data.batches import Batch, Steps, collate
from fabir.data.features import build_features
from fabir.data.squad import Dataset, read_squad
from fabir.errors import InputError
from fabir.export.graphs import quantise
from fabir.export.onnx import _largest_difference, _met, _with_further, export
from fabir.readers.a3 import A3Config
from fabir.readers.bidaf import BidafConfig
from fabir.readers.fabir import FabirConfig
from fabir.readers.qanet import QanetConfig
from fabir.runtime import onnx_model
from fabir.runtime.base import load_model
from fabir.runtime.onnx_model import OnnxModel
from fabir.runtime.torch_model import TorchModel
from fabir.text.vocabulary import Forms
from fabir.training.config import TrainingConfig
from fabir.training.examples import usable_examples
from fabir.training.teacher import taught_by
from factories import EXAMPLES, small_reader
from model_folders import seal
from tiny import dataset, write_files

pytestmark = pytest.mark.slow

PAIRS = [(question, passage) for question, passage, *_ in EXAMPLES]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A reader's folder, and the folder it was exported to."""
    source, output = tmp_path_factory.mktemp("reader"), tmp_path_factory.mktemp("exported")
    config = FabirConfig(layers=1, word_match=True, cross_capped=True)
    reader = small_reader(config=config)
    torch.manual_seed(0)
    with torch.no_grad():
        for name, weights in reader.network.named_parameters():
            if name.endswith("bias"):
                weights.normal_(std=0.1)  # what was left out would be seen
    reader.save(source, small=True)
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
    monkeypatch.setattr(TorchModel, "bf16", False)
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
    ("name", "config"),  # with as few layers as have all there is, since each takes its time
    [
        ("bidaf", BidafConfig(modelling_layers=1)),
        ("a3", A3Config(modelling_layers=0, highway_layers=0)),
        ("qanet", QanetConfig(convolutions=1, model_convolutions=1)),
        (
            "fabir",  # like fabir-fast, with one head
            FabirConfig(
                layers=1,
                heads=1,
                separate_layers=1,
                local_width=3,
                convolved_layers=1,
                norm="before",
            ),
        ),
    ],
)
def test_every_other_kind_of_reader_is_exported_too(name: str, config: Any, tmp_path: Path) -> None:
    small_reader(name, config, no_answer=name == "fabir").save(tmp_path / "reader")
    report = export(tmp_path / "reader", tmp_path / "exported")
    assert report["largest_logit_difference"] < 1e-4
    assert (tmp_path / "exported" / "further.onnx").exists()
    assert_further_questions_are_answered_alike(tmp_path / "exported")


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


def test_word_rows_are_those_of_the_network(folders: tuple[Path, Path]) -> None:
    reader = TorchModel.load(folders[0])
    rows = np.arange(2 + len(reader.vocabulary.trained) + len(reader.vocabulary.fixed))
    expected = reader._words(torch.from_numpy(rows))
    np.testing.assert_allclose(OnnxModel.load(folders[1])._rows(rows), expected.detach(), 1e-6)


def test_vectors_of_words_do_not_depend_on_what_was_read_before(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, forgetful = OnnxModel.load(folders[1]), OnnxModel.load(folders[1])
    forms = Forms(reader.vocabulary)
    texts = [forms.number([*passage.split(), "a" * 100, "a" * 99]) for _, passage in PAIRS]

    def vectors(reader: OnnxModel, texts: list[np.ndarray]) -> list[np.ndarray]:
        batch = collate(forms, texts, texts, range(len(texts)), Steps(1, 1, 1, 1))
        return list(reader.inputs(batch)["vectors"][batch.passage])

    together = vectors(reader, texts)
    monkeypatch.setattr(onnx_model, "_MOST", 20)  # fewer than the words of a passage
    for text, expected in zip(texts, together, strict=True):
        for each in reader, forgetful:
            assert (vectors(each, [text])[0] == expected[: len(text)]).all()


def assert_further_questions_are_answered_alike(folder: Path) -> None:
    """Alone and together, in windows too; passages of different lengths share batches."""
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


def test_a_further_question_does_not_read_its_passage(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_further_questions_are_answered_alike(folders[1])
    reads = []
    inputs = OnnxModel.inputs
    monkeypatch.setattr(OnnxModel, "inputs", lambda *given: reads.append(1) or inputs(*given))
    predictor = Predictor.load(folders[1])
    for pair in PAIRS:
        predictor.answer(*pair)
    assert len(reads) == len({passage for _, passage in PAIRS}) < len(PAIRS)


def test_without_its_graph_for_further_questions_a_reader_answers_too(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copytree(folders[1], tmp_path, dirs_exist_ok=True)
    (tmp_path / "further.onnx").unlink()
    assert_further_questions_are_answered_alike(tmp_path)


def test_a_reader_in_use_does_not_notice_that_its_folder_is_gone(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(folders[1], folder)
    predictor = Predictor.load(folder)
    shutil.rmtree(folder)
    (first,) = predictor.answer(*PAIRS[0])
    (again,) = predictor.answer(*PAIRS[0])
    assert (again.start, again.end) == (first.start, first.end)


@pytest.mark.parametrize("kind", ["by words", "none", "between words", "words of passages again"])
def test_a_graph_for_further_questions_is_made_where_it_can_be(
    folders: tuple[Path, Path], tmp_path: Path, kind: str
) -> None:
    """A passage's words plus what was asked, in several orders."""

    def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
        return onnx.helper.make_node(kind, inputs.split(), [output], **attributes)

    def values(names: dict[str, str], of: int) -> list[Any]:
        return [
            onnx.helper.make_tensor_value_info(name, of, sizes.split())
            for name, sizes in names.items()
        ]

    summed = "between" if kind == "between words" else "words_of"
    nodes = [
        node("Gather", "vectors passage", "words_of"),
        node("Transpose", "words_of", "turned", perm=[0, 2, 1]),
        node("MatMul", "words_of turned", "between"),
        node("Gather", f"{summed} passage_of", "theirs"),
        node("Gather", "vectors question", "asked"),
        node("ReduceSum", "asked one", "sum_asked", keepdims=1),
        node("ReduceSum", "theirs two", "sum_theirs", keepdims=0),
        node("ReduceSum", "sum_asked two", "all_asked", keepdims=0),
        node("Add", "sum_theirs all_asked", "start"),
        node("Gather", "passage passage_of", "again"),
        node("Gather", "vectors again", "vectors_again"),
        node("ReduceSum", "vectors_again two", "end", keepdims=0),
    ]
    if kind == "none":
        nodes[3] = node("Gather", "vectors again", "theirs")
        nodes.insert(0, nodes.pop(9))
    if kind in ("by words", "between words"):
        nodes[9:] = [node("Neg", "start", "end")]
    whole, long = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    graph = onnx.helper.make_graph(
        nodes,
        "network",
        values({"vectors": "forms dim"}, whole)
        + values({"passage": "passages length", "question": "questions asked"}, long)
        + values({"passage_of": "questions"}, long),
        values({"start": "questions length", "end": "questions length"}, whole),
        [onnx.helper.make_tensor(n, long, [1], [i]) for i, n in enumerate(("one", "two"), 1)],
    )
    opset = [onnx.helper.make_opsetid("", 20)]
    (tmp_path / "network.onnx").write_bytes(
        onnx.helper.make_model(graph, opset_imports=opset, ir_version=10).SerializeToString()
    )
    reader = replace(OnnxModel.load(folders[1]), network=tmp_path / "network.onnx", further=None)
    made = [path.name for path in _with_further(reader)]
    assert made == ["further.onnx"] * (kind == "by words") + ["network.onnx"]


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


@pytest.mark.parametrize("real", [True, False])
def test_8_bits_are_nearly_as_good(folders: tuple[Path, Path], tmp_path: Path, real: bool) -> None:
    reader = _in_8_bits(
        folders[1], tmp_path, read_squad(write_files(tmp_path).dev) if real else None
    )
    assert 1e-5 < _largest_difference(TorchModel.load(folders[0]), reader) < 1


def test_8_bits_do_not_make_an_answer_depend_on_others(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    reader = _in_8_bits(folders[1], tmp_path, None)
    forms = Forms(reader.vocabulary)
    questions, passages = (
        [forms.number(text.split()) for text in texts] for texts in zip(*PAIRS, strict=True)
    )

    def logits(chosen: slice) -> np.ndarray:
        some = questions[chosen]
        batch = collate(forms, passages[chosen], some, range(len(some)), Steps(1, 1, 1, 1))
        return reader.logits(batch)[0]

    together = logits(slice(None))
    for i, passage in enumerate(passages):
        alone = logits(slice(i, i + 1))[0]
        np.testing.assert_allclose(alone, together[i, : len(passage)], atol=1e-4)


def test_the_command_writes_8_bits_with_ranges_of_real_texts(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_files(tmp_path / "data").train
    output = tmp_path / "int8"
    arguments = "--output", output, "--quantise", "int8", "--calibrate", data
    main(["export", "--reader", *map(str, (folders[0], *arguments))])
    report = json.loads(capsys.readouterr().out)
    assert report["bytes"] == sum(path.stat().st_size for path in output.iterdir())
    names = "QuantizeLinear", "MatMulIntegerToFloat"
    kinds = [node.op_type for node in onnx.load(output / "network.onnx").graph.node]
    assert all(name in kinds for name in names)
    linear, integers = (
        sum(
            np.prod(weight.dims)
            for weight in onnx.load(folder / "network.onnx").graph.initializer
            if weight.data_type == kind
        )
        for folder, kind in ((folders[1], onnx.TensorProto.FLOAT), (output, onnx.TensorProto.INT8))
    )
    assert integers > 0.5 * linear
    assert_further_questions_are_answered_alike(output)


def test_an_exported_reader_may_teach(folders: tuple[Path, Path]) -> None:
    features, config = build_features(dataset()), TrainingConfig()
    lessons = []
    for folder in folders:
        reader = load_model(folder)
        examples = usable_examples(features, reader.vocabulary, config)
        taught = taught_by(reader, examples, features, config).taught
        assert taught is not None
        lessons.append(taught.values.astype(float))
    np.testing.assert_allclose(*lessons, atol=0.02)


def test_products_in_8_bits_add_their_biases_themselves(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = _in_8_bits(folders[1], tmp_path / "joined", None)
    with monkeypatch.context() as patch:
        patch.setattr("fabir.export.graphs._join_biases", lambda graph: None)
        apart = _in_8_bits(folders[1], tmp_path / "apart", None)
    nodes = [onnx.load(reader.network).graph.node for reader in (joined, apart)]
    kinds = [Counter(node.op_type for node in each) for each in nodes]
    number = kinds[0]["MatMulIntegerToFloat"]
    assert number > 10
    assert kinds[1]["Add"] - kinds[0]["Add"] == number
    assert kinds[1]["MatMul"] - kinds[0]["MatMul"] == number
    assert kinds[0]["DequantizeLinear"] < kinds[1]["DequantizeLinear"]
    batches = [_met(reader, None) for reader in (joined, apart)]
    for inputs in zip(*batches, strict=True):
        ours, theirs = (
            reader.logits(Batch(*(given[name] for name in Batch._fields)))
            for reader, given in zip((joined, apart), inputs, strict=True)
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_nothing_to_calibrate_with_is_refused(folders: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="no question"):
        _met(OnnxModel.load(folders[1]), Dataset((), "1.1"))


def _in_8_bits(exported: Path, folder: Path, data: Dataset | None) -> OnnxModel:
    shutil.copytree(exported, folder / "int8")
    (folder / "int8" / "further.onnx").unlink()
    quantise(folder / "int8" / "network.onnx", _met(OnnxModel.load(exported), data))
    seal(folder / "int8")
    return OnnxModel.load(folder / "int8")


def test_damaged_files_are_named(folders: tuple[Path, Path], tmp_path: Path) -> None:
    for name, content, message in (
        ("network.onnx", b"no graph", "cannot read .*network.onnx"),
        ("forms.onnx", b"no graph", "cannot read .*forms.onnx"),
        ("further.onnx", b"no graph", "further.onnx is damaged"),
        ("further.onnx", b"", "further.onnx is damaged"),
        ("words.safetensors", b"no rows", "cannot read .*words.safetensors"),
        ("config.json", b"{}", "config.json: not a model's file"),
    ):
        folder = tmp_path / f"{name}-{len(content)}"
        shutil.copytree(folders[1], folder)
        (folder / name).write_bytes(content)
        with pytest.raises(InputError, match=name):
            Predictor.load(folder)
        if name != "config.json":
            seal(folder)
        with pytest.raises(InputError, match=message):
            Predictor.load(folder)
    folder = tmp_path / "words"
    shutil.copytree(folders[1], folder)
    shutil.copy(folders[0] / "words.safetensors", folder)
    seal(folder)
    with pytest.raises(InputError, match="not an exported model's file, it lacks trained"):
        Predictor.load(folder)


def test_a_graph_that_fails_leaves_nothing(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_others(reader: TorchModel, forms: Path, network: Path) -> None:
        shutil.copy(folders[1] / "forms.onnx", forms)
        network.write_bytes(forms.read_bytes())

    monkeypatch.setattr("fabir.export.onnx._write_graphs", write_others)
    with pytest.raises(InputError, match="the graph does not run on every size"):
        export(folders[0], tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_reader_that_is_saved_again_is_no_longer_exported(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copytree(folders[1], tmp_path, dirs_exist_ok=True)
    reader = TorchModel.load(folders[0])
    reader.save(tmp_path)
    assert isinstance(Predictor.load(tmp_path).model, TorchModel)


def test_an_exported_reader_cannot_be_trained_on(folders: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match=r"cannot read .*network\.safetensors"):
        TorchModel.load(folders[1])
