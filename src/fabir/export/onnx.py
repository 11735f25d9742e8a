"""A trained reader as a folder that answers without torch, and what it loses by that."""

import copy
import logging
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fabir.answer.predictor import Predictor
from fabir.data.batches import Batch, Steps, collate
from fabir.data.squad import Dataset
from fabir.errors import InputError
from fabir.evaluation.reader import evaluate_reader
from fabir.files import replacing
from fabir.folder import FORMS, NETWORK, SETTINGS, VOCABULARY, WEIGHTS, WORDS
from fabir.layers.pointer import PADDING_LOGIT
from fabir.onnx_reader import OnnxReader
from fabir.reader import Reader, read_tensors, write_tensors
from fabir.text.vocabulary import Forms, Vocabulary

_OPSET = 20
_FEWEST_ROWS = 16  # of a matrix in 8 bits; for less, converting what it meets takes longer
_CALIBRATION = 300  # questions, at most, whose texts give the ranges
# Numbers of a constant that is computed from others, and of these, at most: only what is constant
# can be in 8 bits.
_FOLDED = 1 << 24
_FILES = SETTINGS, VOCABULARY, WORDS, FORMS, NETWORK
# The inputs of both graphs, and which of their sizes differ from batch to batch.
_FORMS_INPUTS = {"rows": ("forms",), "characters": ("forms", "letters")}
_NETWORK_INPUTS = {
    "words": ("forms",),
    "vectors": ("forms",),
    "passage": ("passages", "length"),
    "question": ("questions", "asked"),
    "passage_of": ("questions",),
}


def export(
    source: Path,
    output: Path,
    *,
    quantise: bool = False,
    calibrate: Dataset | None = None,
    data: Dataset | None = None,
) -> dict[str, Any]:
    """Write the reader in `source` to the folder `output` for ONNX Runtime.

    Args:
        quantise: linear maps in 8 bits, their weights and what they meet
        calibrate: questions whose texts give the ranges of what the maps meet; random words if
            there are none
        data: questions to measure both readers on

    Returns:
        `largest_logit_difference` on random texts, against the reader in float32; `bytes` of the
        folder; with `data` the metrics of the reader as it was (`torch`) and as it is (`onnx`)

    Raises:
        InputError: `source` is not a reader, its network cannot be exported, `calibrate` has no
            question, or a package is missing.
    """
    reader = Reader.load(source)
    print("writing the graph: about half a minute", file=sys.stderr)
    words = read_tensors(source / WORDS)[0] | {"trained": reader.trained_rows}
    # A folder with NETWORK is read without torch, so that takes its name last.
    with replacing(output / NETWORK) as network, replacing(output / FORMS) as forms:
        _write_graphs(reader, forms, network)
        arrays = {name: tensor.numpy() for name, tensor in words.items()}
        exported = OnnxReader(reader.vocabulary, arrays, forms, network)
        if quantise:
            _quantise(network, _met(exported, calibrate))
            exported = OnnxReader(reader.vocabulary, arrays, forms, network)
        difference = _largest_difference(reader, exported)
        write_tensors(output / WORDS, words)
        if output.resolve() != source.resolve():
            (output / WEIGHTS).unlink(missing_ok=True)  # of another reader
            for name in (SETTINGS, VOCABULARY):
                with replacing(output / name) as temporary:
                    shutil.copyfile(source / name, temporary)
    report: dict[str, Any] = {
        "largest_logit_difference": difference,
        "bytes": sum((output / name).stat().st_size for name in _FILES),
    }
    if data:
        for name, each in (("torch", reader), ("onnx", OnnxReader.load(output))):
            report[name] = evaluate_reader(Predictor(each), data)
    return report


def _write_graphs(reader: Reader, forms: Path, network: Path) -> None:
    whole: Any = copy.deepcopy(reader.network).float().eval().requires_grad_(False)
    batch = _probe(reader.vocabulary, 3, 2, 47, 23).tensors()
    rows, embedding = whole.embedding.words(batch.words), whole.embedding
    embedding.words = _Given()
    inputs = rows, batch.characters
    vectors = _Forms(embedding)(*inputs)
    _write_graph(reader, forms, _Forms(embedding), inputs, _FORMS_INPUTS, ["vectors"])
    whole.embedding = _Given()
    inputs = batch.words, vectors, batch.passage, batch.question, batch.passage_of
    _write_graph(reader, network, _Spans(whole), inputs, _NETWORK_INPUTS, ["start", "end"])


def _write_graph(
    reader: Reader,
    path: Path,
    module: nn.Module,
    inputs: tuple[Tensor, ...],
    names: dict[str, tuple[str, ...]],
    outputs: list[str],
) -> None:
    sizes = {name: torch.export.Dim(name, min=2) for dims in names.values() for name in dims}
    dynamic = [{place: sizes[name] for place, name in enumerate(dims)} for dims in names.values()]
    try:
        from onnxscript.optimizer import optimize_ir

        with torch.no_grad(), warnings.catch_warnings(), _quiet("torch", "onnxscript"):
            warnings.simplefilter("ignore")
            program: Any = torch.onnx.export(
                module,
                inputs,
                dynamo=True,
                dynamic_shapes=dynamic,
                input_names=list(names),
                output_names=outputs,
                opset_version=_OPSET,
                verbose=False,
                optimize=False,
            )
            optimize_ir(program.model, input_size_limit=_FOLDED, output_size_limit=_FOLDED)
    except ImportError as error:
        raise InputError(f"exporting needs {error.name}: pip install 'fabir[export]'") from error
    except Exception as error:  # whatever torch has to say about a network, the cause at its end
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        reason = " ".join(str(cause).split())[:300]
        raise InputError(f"a reader of kind {reader.name} cannot be exported: {reason}") from error
    model = program.model_proto
    fixed = [
        f"{value.name}[{place}]"
        for value in model.graph.input
        for place in range(len(names[value.name]))
        if not value.type.tensor_type.shape.dim[place].dim_param
    ]
    if fixed:
        raise InputError(
            f"a reader of kind {reader.name} cannot be exported: its graph would only take one "
            f"size of {', '.join(fixed)}"
        )
    del model.graph.value_info[:]  # some say what quantisation then contradicts
    path.write_bytes(model.SerializeToString())


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Loggers that have much to say, and nothing for users, say nothing."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _quantise(path: Path, met: list[dict[str, np.ndarray]]) -> None:
    """Put the linear maps of a graph in 8 bits, with the ranges that the inputs `met` lead to.

    The ranges are constants, so that an answer does not depend on what it is read together with.
    """
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

    graph = onnx.load(path).graph
    names = [each.name for each in graph.input]
    left = iter(met)

    class Inputs(CalibrationDataReader):
        def get_next(self) -> Any:
            arrays = next(left, None)
            return arrays and {name: arrays[name] for name in names}

    matrices = {
        weight.name
        for weight in graph.initializer
        if len(weight.dims) == 2 and weight.dims[0] >= _FEWEST_ROWS
    }
    linear = [n.name for n in graph.node if n.op_type == "MatMul" and n.input[1] in matrices]
    with tempfile.TemporaryDirectory() as folder, _quiet("root"):
        smaller = Path(folder) / NETWORK
        quantize_static(
            path,
            smaller,
            Inputs(),
            activation_type=QuantType.QUInt8,  # processors multiply unsigned by signed ones
            weight_type=QuantType.QInt8,
            per_channel=True,
            nodes_to_quantize=linear,
            extra_options={
                "OpTypesToExcludeOutputQuantization": ["MatMul"],
                "DedicatedQDQPair": True,  # nothing but the maps reads rounded numbers
            },
        )
        model = onnx.load(smaller)
    _join_biases(model.graph)
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, path)


def _join_biases(graph: Any) -> None:
    """Let each product in 8 bits add the bias that follows it: ONNX Runtime joins the product with
    the scaling around it, but leaves the addition."""
    made = {name: node for node in graph.node for name in node.output}
    biases = {weight.name for weight in graph.initializer if len(weight.dims) == 1}
    read = Counter(name for node in graph.node for name in node.input)
    for node in list(graph.node):
        if node.op_type != "Add":
            continue
        given, bias = node.input if node.input[1] in biases else reversed(node.input)
        product = made.get(given)
        if bias not in biases or product is None or product.op_type != "MatMul" or read[given] > 1:
            continue
        factors = [made[name] for name in product.input if name in made]
        if [factor.op_type for factor in factors] != ["DequantizeLinear"] * 2:
            continue
        # In the operator's order: both factors, both scales, both zeros, the bias.
        inputs = [factor.input[place] for place in range(3) for factor in factors]
        node.op_type, node.domain = "MatMulIntegerToFloat", "com.microsoft"
        del node.input[:]
        node.input.extend([*inputs, bias])
        graph.node.remove(product)
        for factor in factors:
            if not any(factor.output[0] in other.input for other in graph.node):
                graph.node.remove(factor)


def _met(exported: OnnxReader, data: Dataset | None) -> list[dict[str, np.ndarray]]:
    """What the graph is given for some questions of `data`, or for random words."""
    if data is None:
        shapes = ((3, 2, 150, 15), (4, 1, 80, 8), (1, 1, 400, 40))
        batches = [
            _probe(exported.vocabulary, *shape, seed) for seed in range(12) for shape in shapes
        ]
        return [exported.inputs(batch) for batch in batches]
    found: list[dict[str, np.ndarray]] = []

    class Recorder(OnnxReader):
        def inputs(self, batch: Batch[np.ndarray]) -> dict[str, np.ndarray]:
            found.append(super().inputs(batch))
            return found[-1]

    recorder = Recorder(exported.vocabulary, exported.words, exported.forms, exported.network)
    questions = list(data.questions)
    if not questions:
        raise InputError("there is no question to calibrate with")
    chosen = questions[:: -(-len(questions) // _CALIBRATION)]
    for _ in Predictor(recorder).answer_all([(q.text, p.text) for p, q in chosen]):
        pass
    return found


def _largest_difference(reader: Reader, exported: OnnxReader) -> float:
    """Between the logits of both on random texts of several shapes."""
    largest = 0.0
    for questions, passages, length, asked in ((1, 1, 30, 5), (5, 2, 150, 17), (3, 3, 64, 9)):
        batch = _probe(reader.vocabulary, questions, passages, length, asked)
        with torch.inference_mode():
            expected = reader.network(batch.tensors())
        try:
            found = exported.logits(batch)
        except Exception as error:  # ONNX Runtime's own errors have no common class
            reason = " ".join(str(error).split())[:300]
            raise InputError(f"the graph does not run on every size: {reason}") from error
        for ours, theirs in zip(found, expected, strict=True):
            real = theirs.numpy() > PADDING_LOGIT
            largest = max(largest, float(np.abs(ours - theirs.numpy())[real].max()))
    return largest


def _probe(
    vocabulary: Vocabulary, questions: int, passages: int, length: int, asked: int, seed: int = 0
) -> Batch[np.ndarray]:
    """A batch of random words, about a tenth of them unknown."""
    random = np.random.default_rng(seed)
    words = [*vocabulary.fixed, *vocabulary.trained] or ["word"]
    forms = Forms(vocabulary)

    def text(size: int) -> np.ndarray:
        chosen = random.integers(0, len(words), size)
        return forms.number([words[i] if i % 10 else f"{words[i]}-{i}" for i in chosen])

    lengths = random.integers(max(1, length // 2), length, passages)
    return collate(
        forms,
        [text(size) for size in lengths],
        [text(size) for size in random.integers(max(1, asked // 2), asked, questions)],
        np.arange(questions) % passages,
        Steps(1, 1, 1, 1),  # a size that happens to be one of the network's would be taken for it
    )


class _Given(nn.Module):
    """In the place of a network's word rows or of all its embedding: what is handed in."""

    given: Tensor

    def forward(self, words: Tensor, characters: Tensor | None = None) -> Tensor:
        return self.given


class _Forms(nn.Module):
    """The embedding alone: a form's vector does not depend on context and can be remembered."""

    def __init__(self, embedding: Any) -> None:
        super().__init__()
        self.embedding = embedding

    def forward(self, rows: Tensor, characters: Tensor) -> Tensor:
        self.embedding.words.given = rows
        return self.embedding(rows, characters)


class _Spans(nn.Module):
    """A network after its embedding."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        words: Tensor,
        vectors: Tensor,
        passage: Tensor,
        question: Tensor,
        passage_of: Tensor,
    ) -> tuple[Tensor, Tensor]:
        self.network.embedding.given = vectors
        logits = self.network(Batch(words, words, passage, question, passage_of))
        return logits.start, logits.end
