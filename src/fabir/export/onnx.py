"""A trained reader as a folder that answers without torch, and what it loses by that."""

import copy
import shutil
import sys
import tempfile
import warnings
from dataclasses import replace
from functools import partial
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
from fabir.export import graphs
from fabir.files import check_output
from fabir.layers.pointer import PADDING_LOGIT
from fabir.runtime.onnx_model import OnnxModel
from fabir.runtime.settings import SETTINGS
from fabir.runtime.store import (
    FORMS,
    FURTHER,
    NETWORK,
    VOCABULARY,
    WEIGHTS,
    WORDS,
    write_model,
    write_vocabulary,
)
from fabir.runtime.tensors import read_tensors, save_tensors
from fabir.runtime.torch_model import TorchModel
from fabir.text.vocabulary import Forms, Vocabulary

_OPSET = 20
_CALIBRATION = 300  # questions, at most, whose texts give the ranges
# Numbers of a constant that is computed from others, and of these, at most: only what is constant
# can be in 8 bits.
_FOLDED = 1 << 24
_ALIKE = 0.01  # how far logits of a further question may be from those of a first one
_FILES = SETTINGS, VOCABULARY, WORDS, FORMS, FURTHER, NETWORK
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
    reader = TorchModel.load(source)
    check_output(output / NETWORK)
    print("writing the graph: about half a minute", file=sys.stderr)
    words = read_tensors(source / WORDS)[0] | {"trained": reader.trained_rows}
    with tempfile.TemporaryDirectory() as made:
        forms, network = Path(made, FORMS), Path(made, NETWORK)
        _write_graphs(reader, forms, network)
        arrays = {name: tensor.numpy() for name, tensor in words.items()}
        exported = OnnxModel(reader.vocabulary, arrays, forms, network)
        if quantise:
            graphs.quantise(network, _met(exported, calibrate))
            exported = replace(exported)  # which opens the file anew
        difference = _largest_difference(reader, exported)
        files = forms, *_with_further(exported)
        same = output.resolve() == source.resolve()
        write_model(
            output,
            reader.settings,
            {
                VOCABULARY: partial(write_vocabulary, reader.vocabulary),
                WORDS: partial(save_tensors, words),
                **{path.name: partial(shutil.copyfile, path) for path in files},
            },
            keep=[WEIGHTS] if same else [],
        )
    report: dict[str, Any] = {
        "largest_logit_difference": difference,
        "bytes": sum(path.stat().st_size for path in map(output.joinpath, _FILES) if path.exists()),
    }
    if data:
        for name, each in (("torch", reader), ("onnx", OnnxModel.load(output))):
            report[name] = evaluate_reader(Predictor(each), data)
    return report


def _with_further(exported: OnnxModel) -> list[Path]:
    """The files of its network, the last one `NETWORK`: with a graph for further questions about a
    passage, if there is something that is made of passages alone, as a row for each word, and if
    the rest does well with that."""
    folder = exported.network.parent / "both"
    folder.mkdir()
    network, further = folder / NETWORK, folder / FURTHER
    if not graphs.split(exported.network, network, further):
        return [exported.network]
    both = replace(exported, network=network, further=further.read_bytes())
    dims = set()
    for passages, length in ((2, 47), (3, 31)):
        batch = _probe(exported.vocabulary, 4, passages, length, 23)
        memo: dict[str, np.ndarray] = {}
        other = batch._replace(question=batch.question[::-1])
        try:
            both.logits(batch, memo)
            for rows in memo.values():
                rows[batch.passage == 0] = 0
            change = np.subtract(both.logits(other, memo), both.logits(other))
        except Exception:  # rows of another shape; ONNX Runtime's own errors have no common class
            return [exported.network]
        dims.add(tuple(rows.shape[2:] for rows in memo.values()))
        change = change[:, batch.passage[batch.passage_of] > 0]
        if len(dims) > 1 or not (np.abs(change) < _ALIKE).all():  # nor if it is no number
            return [exported.network]
    return [further, network]


def _write_graphs(reader: TorchModel, forms: Path, network: Path) -> None:
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
    reader: TorchModel,
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
    for each in (
        model,
        model.graph,
        *model.graph.node,
        *model.graph.input,
        *model.graph.initializer,
    ):
        del each.metadata_props[:]  # files and lines of whoever exports
    path.write_bytes(model.SerializeToString())


def _met(exported: OnnxModel, data: Dataset | None) -> list[dict[str, np.ndarray]]:
    """What the graph is given for some questions of `data`, or for random words."""
    if data is None:
        shapes = ((3, 2, 150, 15), (4, 1, 80, 8), (1, 1, 400, 40))
        batches = [
            _probe(exported.vocabulary, *shape, seed) for seed in range(12) for shape in shapes
        ]
        return [exported.inputs(batch) for batch in batches]
    found: list[dict[str, np.ndarray]] = []

    class Recorder(OnnxModel):
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


def _largest_difference(reader: TorchModel, exported: OnnxModel) -> float:
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
