"""Export of a trained model to ONNX graphs, and the measured differences."""

import copy
import math
import shutil
import sys
import tempfile
import warnings
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fabir.answer.predictor import Predictor
from fabir.data.batches import Batch, SpanLogits, Steps, collate
from fabir.data.checks import check_labelled
from fabir.data.dataset import Dataset
from fabir.errors import InputError
from fabir.evaluation.model import evaluate_model
from fabir.export import graphs
from fabir.files import check_output, writing
from fabir.layers.pointer import PADDING_LOGIT
from fabir.runtime.base import logits
from fabir.runtime.onnx_model import OnnxModel
from fabir.runtime.settings import SETTINGS
from fabir.runtime.store import (
    ANSWER,
    EMBED,
    ENCODE,
    VOCABULARY,
    WEIGHTS,
    WORDS,
    check_vacant,
    copy_licence,
    model_files,
    path_of,
    write_model,
    write_vocabulary,
)
from fabir.runtime.tensors import read_tensors, save_tensors
from fabir.runtime.torch_model import TorchModel
from fabir.text.vocabulary import Vocabulary, WordTable

_OPSET = 20
_CALIBRATION = 300  # questions in calibration batches, at most
# The most elements of a constant, and of its inputs, for constant folding. Only constants can be
# quantised.
_FOLDED = 1 << 24
_FILES = SETTINGS, VOCABULARY, WORDS, EMBED, ENCODE, ANSWER
# The inputs of each graph, with the names of their dynamic dimensions.
_INPUTS = {
    EMBED: {"rows": ("types",), "characters": ("types", "letters")},
    ENCODE: {"vectors": ("types",), "passage": ("passages", "length")},
    ANSWER: {
        "words": ("types",),
        "vectors": ("types",),
        "passage": ("passages", "length"),
        "question": ("questions", "asked"),
        "passage_of": ("questions",),
        "encoded": ("passages", "length"),
    },
}
_OUTPUTS = {EMBED: ["vectors"], ENCODE: ["encoded"], ANSWER: ["start", "end", "no_answer"]}


def export(
    source: Path,
    output: Path,
    *,
    quantise: bool = False,
    calibrate: Dataset | None = None,
    data: Dataset | None = None,
) -> dict[str, Any]:
    """Write the model in `source` to the folder `output` for ONNX Runtime.

    Args:
        quantise: put weights and activations of linear maps in 8 bits (static quantisation)
        calibrate: questions for the calibration batches; random words if it is None
        data: questions on which both models are measured

    Returns:
        `largest_logit_difference` on random texts, against the model in float32; `bytes` of the
        folder; with `data` the metrics of the source (`torch`) and of the export (`onnx`)

    Raises:
        InputError: `source` holds no model, its network cannot be exported, `calibrate` or `data`
            has no question, a question of `data` is not labelled, another process is writing
            `output`, it holds another model, or a package is missing.
    """
    check_output(output / ANSWER)
    _check_questions(calibrate, data)
    for package in ("onnx", "onnxscript"):  # torch looks for them after half a minute
        if not find_spec(package):
            raise InputError(f"exporting needs {package}: pip install 'fabir[export]'")
    inplace = output.resolve() == source.resolve()
    with writing(output), tempfile.TemporaryDirectory() as made:
        if not inplace:
            check_vacant(output, over_graphs=True, source=source)
        model = TorchModel.load(source)
        print("writing the graph: about half a minute", file=sys.stderr)
        words = read_tensors(path_of(source, WORDS))[0] | {"trained": model.trained_rows}
        _write_graphs(model, Path(made))
        arrays = {name: tensor.numpy() for name, tensor in words.items()}
        exported = OnnxModel(model.vocabulary, arrays, Path(made))
        if quantise:
            for name, batches in _activations(exported, calibrate).items():
                graphs.quantise(exported.folder / name, batches)
            exported = replace(exported)  # the copy opens the quantised files
        difference = _largest_difference(model, exported)
        write_model(
            output,
            model.settings,
            {
                VOCABULARY: partial(write_vocabulary, model.vocabulary),
                WORDS: partial(save_tensors, words),
                **{name: partial(shutil.copyfile, exported.folder / name) for name in _INPUTS},
            },
            keep=[WEIGHTS] if inplace else [],
        )
        if not inplace:
            copy_licence(source, output)
    files = model_files(output)
    report: dict[str, Any] = {
        "largest_logit_difference": difference,
        "bytes": sum(files[name].stat().st_size for name in _FILES if name in files),
    }
    if data is not None:
        for name, each in (("torch", model), ("onnx", OnnxModel.load(output))):
            report[name] = evaluate_model(Predictor(each), data)
    return report


def _check_questions(calibrate: Dataset | None, data: Dataset | None) -> None:
    for given, purpose in ((calibrate, "calibrate with"), (data, "measure both models with")):
        if given is not None and not len(given):
            raise InputError(f"there is no question to {purpose}")
    if data is not None:
        check_labelled(data)


def _write_graphs(model: TorchModel, folder: Path) -> None:
    """Write each of the network's three steps as a graph."""
    network: Any = copy.deepcopy(model.network).float().eval().requires_grad_(False)
    # Short texts: recurrent layers are traced word by word.
    batch = _probe(model.vocabulary, 3, 2, 15, 12).tensors()
    rows = network.embedding.words(batch.words)
    vectors = network.embed(batch.words, batch.characters)
    encoded = network.encode(vectors[batch.passage], batch.passage_mask)
    given = {
        EMBED: (rows, batch.characters),
        ENCODE: (vectors, batch.passage),
        ANSWER: (batch.words, vectors, *batch[2:], encoded),
    }
    # The last step comes first: if a network cannot be exported, that is why, and is found soon.
    for name, step in ((ANSWER, _Answer), (ENCODE, _Encode), (EMBED, _Embed)):
        # torch 2.13 caches a recurrent layer's kernel, which fixes the length of its first input.
        for recurrent in (torch.ops.aten.lstm.input, torch.ops.aten.gru.input):
            recurrent._dispatch_cache.clear()
        _write_graph(model, folder / name, step(copy.deepcopy(network)), given[name])


def _write_graph(
    model: TorchModel,
    path: Path,
    module: nn.Module,
    inputs: tuple[Tensor, ...],
) -> None:
    names = _INPUTS[path.name]
    outputs = _OUTPUTS[path.name]
    if not model.network.tells_no_answer:
        outputs = [name for name in outputs if name != "no_answer"]
    sizes = {name: torch.export.Dim(name, min=2) for dims in names.values() for name in dims}
    dynamic = [{place: sizes[name] for place, name in enumerate(dims)} for dims in names.values()]
    try:
        from onnxscript.optimizer import optimize_ir

        with torch.no_grad(), warnings.catch_warnings(), graphs.quiet("torch", "onnxscript"):
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
    except Exception as error:  # torch may raise anything; the first cause says why
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        reason = " ".join(str(cause).split())[:300]
        raise InputError(f"a reader of kind {model.name} cannot be exported: {reason}") from error
    made = program.model_proto
    fixed = [
        f"{value.name}[{place}]"
        for value in made.graph.input
        for place in range(len(names[value.name]))
        if not value.type.tensor_type.shape.dim[place].dim_param
    ]
    if fixed:
        raise InputError(
            f"a reader of kind {model.name} cannot be exported: its graph has a fixed size "
            f"of {', '.join(fixed)}"
        )
    del made.graph.value_info[:]  # some types are wrong after quantisation
    for each in (
        made,
        made.graph,
        *made.graph.node,
        *made.graph.input,
        *made.graph.initializer,
    ):
        del each.metadata_props[:]  # paths and lines of the exporting machine's source code
    path.write_bytes(made.SerializeToString())


def _activations(
    exported: OnnxModel, data: Dataset | None
) -> dict[str, list[dict[str, np.ndarray]]]:
    """Calibration batches: inputs of each graph, from questions of `data` or from random words."""
    found: dict[str, list[dict[str, np.ndarray]]] = {ENCODE: [], ANSWER: []}

    class Recorder(OnnxModel):
        def encode(self, batch: Batch[np.ndarray], vectors: np.ndarray) -> np.ndarray:
            found[ENCODE].append({"vectors": vectors, "passage": batch.passage})
            return super().encode(batch, vectors)

        def answer(
            self, batch: Batch[np.ndarray], vectors: np.ndarray, encoded: np.ndarray
        ) -> SpanLogits[np.ndarray]:
            inputs = {**batch._asdict(), "vectors": vectors, "encoded": encoded}
            found[ANSWER].append({name: inputs[name] for name in _INPUTS[ANSWER]})
            return super().answer(batch, vectors, encoded)

    recorder = Recorder(exported.vocabulary, exported.words, exported.folder)
    if data is None:
        for seed in range(12):
            for shape in ((3, 2, 150, 15), (4, 1, 80, 8), (1, 1, 400, 40)):
                logits(recorder, _probe(exported.vocabulary, *shape, seed))
        return found
    questions = list(data.questions)
    chosen = questions[:: -(-len(questions) // _CALIBRATION)]
    for _ in Predictor(recorder).answer_all([(q.text, p.text) for p, q in chosen]):
        pass
    return found


def _largest_difference(model: TorchModel, exported: OnnxModel) -> float:
    """The largest difference between the logits of both on random texts of several shapes."""
    largest = 0.0
    for questions, passages, length, asked in ((1, 1, 30, 5), (5, 2, 150, 17), (3, 3, 64, 9)):
        batch = _probe(model.vocabulary, questions, passages, length, asked)
        with torch.inference_mode():
            expected = model.network(batch.tensors())
        try:
            found = logits(exported, batch)
        except Exception as error:  # ONNX Runtime's own errors have no common class
            reason = " ".join(str(error).split())[:300]
            raise InputError(f"the graph does not run on every size: {reason}") from error
        for ours, theirs in zip(found, expected, strict=True):
            if ours is None or theirs is None:
                continue
            real = theirs.numpy() > PADDING_LOGIT
            largest = float(np.maximum(largest, np.abs(ours - theirs.numpy())[real].max()))
    if not math.isfinite(largest):
        raise InputError("the graph or the model gives logits that are not finite numbers")
    return largest


def _probe(
    vocabulary: Vocabulary, questions: int, passages: int, length: int, asked: int, seed: int = 0
) -> Batch[np.ndarray]:
    """A batch of random words, about a tenth of them unknown."""
    random = np.random.default_rng(seed)
    words = [*vocabulary.fixed, *vocabulary.trained] or ["word"]
    table = WordTable(vocabulary)

    def text(size: int) -> np.ndarray:
        chosen = random.integers(0, len(words), size)
        return table.number([words[i] if i % 10 else f"{words[i]}-{i}" for i in chosen])

    lengths = random.integers(max(1, length // 2), length, passages)
    return collate(
        table,
        [text(size) for size in lengths],
        [text(size) for size in random.integers(max(1, asked // 2), asked, questions)],
        np.arange(questions) % passages,
        Steps(1, 1, 1, 1),  # no padding: a size equal to one of the network's would become fixed
    )


class _Given(nn.Module):
    """A stand-in for a network's word rows: it returns rows that are given."""

    given: Tensor

    def forward(self, words: Tensor) -> Tensor:
        return self.given


class _Embed(nn.Module):
    """`Network.embed` from the rows of word types."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        network.embedding.words = _Given()
        self.network = network

    def forward(self, rows: Tensor, characters: Tensor) -> Tensor:
        self.network.embedding.words.given = rows
        return self.network.embed(rows, characters)


class _Encode(nn.Module):
    """`Network.encode` from a table of vectors."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, vectors: Tensor, passage: Tensor) -> Tensor:
        return self.network.encode(F.embedding(passage, vectors), (passage > 0)[..., None])


class _Answer(nn.Module):
    """`Network.answer` from a table of vectors."""

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
        encoded: Tensor,
    ) -> tuple[Tensor, ...]:
        batch = Batch(words, words, passage, question, passage_of)
        found = self.network.answer(encoded, F.embedding(question, vectors), batch)
        return tuple(each for each in found if each is not None)
