"""Where the time of one answer goes, and how far each stage is from what the processor can do.

    python benchmarks/stages.py --data dev-v1.1.json [--reader DIR] [--questions N] [--output FILE]

One thread answers a file with an exported model, in batches as they are for any file. Embedding,
encoding and answering are timed around the model's three methods. Tokenising and the best spans are
measured again on their own, from the same texts and logits. The last row is the rest: batches,
the merging of windows, and answers.

The second table has the operations inside the three graphs by kind, from ONNX Runtime's profile. A
product's share of the peak is its rate of floating-point operations against that of a product of
384 x 384 matrices of the same type. Every other operation's share is its rate of bytes read and
written against that of an addition of two arrays that fit in the cache. The last line has the work
of a question, and its time at these peaks.
"""

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported

import numpy as np
import onnx
import onnxruntime
from answering import Pairs, load_pairs, seconds
from onnxruntime.quantization import QuantType, quantize_dynamic

from fabir import Predictor, __version__, tokenise, tune_process
from fabir.answer.spans import top_spans
from fabir.cpu_info import cpu_name
from fabir.data.batches import Batch, SpanLogits
from fabir.runtime.base import Model, load_model
from fabir.runtime.locate import find_model
from fabir.runtime.onnx_model import OnnxModel

KINDS = {
    "products in float32": {"MatMul", "FusedMatMul", "Gemm"},
    "products in 8 bits": {"DynamicQuantizeMatMul", "MatMulIntegerToFloat", "MatMulInteger"},
    "convolutions and their layout": {"Conv", "ReorderInput", "ReorderOutput"},
    "softmax": {"Softmax"},
    "layer norms": {"LayerNormalization"},
    "to and from 8 bits": {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"},
    "additions and other arithmetic": {
        *("Add", "Sub", "Mul", "Div", "Relu", "Tanh", "Sigmoid", "Where", "Sin", "Cos"),
        *("ReduceSum", "ReduceMax", "Equal", "Not", "And", "Greater", "Cast"),
    },
}
OTHER = "moving and reshaping"
FLOAT, EIGHT = "products in float32", "products in 8 bits"
SIZE = 384  # of the matrices that peaks are measured on
WIDTHS = {"float": 4, "int64": 8, "int32": 4, "int8": 1, "uint8": 1, "bool": 1}


class TimedModel:
    """A model whose three steps are timed; it keeps the logits of all batches.

    Attributes:
        seconds: spent in `embed`, `encode` and `answer`
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.vocabulary, self.steps = model.vocabulary, model.steps
        self.no_answer_threshold, self.calibration = model.no_answer_threshold, model.calibration
        self.confidence = model.confidence
        self.batch_words, self.parallel = model.batch_words, model.parallel
        self.reset()

    def reset(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.logits: list[SpanLogits[np.ndarray]] = []

    def embed(self, batch: Batch[np.ndarray], questions_only: bool = False) -> Any:
        return self._timed("embed", batch, questions_only)

    def encode(self, batch: Batch[np.ndarray], vectors: Any) -> np.ndarray:
        return self._timed("encode", batch, vectors)

    def answer(
        self, batch: Batch[np.ndarray], vectors: Any, encoded: np.ndarray
    ) -> SpanLogits[np.ndarray]:
        self.logits.append(self._timed("answer", batch, vectors, encoded))
        return self.logits[-1]

    def clear(self) -> None:
        self.model.clear()

    def _timed(self, step: str, *arguments: Any) -> Any:
        began = time.perf_counter()
        result = getattr(self.model, step)(*arguments)
        self.seconds[step] += time.perf_counter() - began
        return result


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--questions", type=int, default=1000, help="the first N of the file")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    tune_process()
    pairs = load_pairs(options.data)[: options.questions]
    with tempfile.TemporaryDirectory() as folder:
        peaks = measure_peaks(Path(folder))
        sessions = profile_sessions(Path(folder))
        loaded = load_model(find_model(options.reader))
        if not isinstance(loaded, OnnxModel):
            parser.error(f"{options.reader} has no ONNX graph: write one with fabir export")
        model = TimedModel(loaded)
        predictor = Predictor(model)
        list(predictor.answer_all(pairs))  # warm
        predictor.forget()
        model.reset()
        total = seconds(lambda: list(predictor.answer_all(pairs)))
        profiles = [Path(session.end_profiling()) for session in sessions]
        nodes = [node for profile in profiles for node in second_half(profile)]
    report = {
        "fabir": __version__,
        "machine": f"{cpu_name()}, {multiprocessing.cpu_count()} processors",
        "questions": len(pairs),
        "questions/s": len(pairs) / total,
        "peaks, billions a second": peaks,
        "stages": stages(pairs, model, total),
        "graphs": by_kind(nodes, sum(model.seconds.values()) * 1e6, peaks),
    }
    for row in (*report["stages"].values(), *report["graphs"].values()):
        row["microseconds"] /= len(pairs)
        row["share"] = row["microseconds"] * len(pairs) / total / 1e6
        if "work" in row:
            row["work"] /= len(pairs)
    print(render(report))
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def stages(pairs: Pairs, model: TimedModel, total: float) -> dict[str, dict[str, float]]:
    """Microseconds of each stage of all questions, which take `total` seconds."""

    def tokenise_all(texts: Iterable[str]) -> None:
        for text in texts:
            tokenise(text)

    def decode() -> None:
        first = int(model.vocabulary.no_answer)  # the place that stands for no answer
        for start, end, _ in model.logits:
            top_spans(start[:, first:], end[:, first:])

    spent = {
        "tokenising questions": seconds(tokenise_all, [question for question, _ in pairs]),
        "tokenising passages": seconds(tokenise_all, dict.fromkeys(text for _, text in pairs)),
        "embedding": model.seconds["embed"],
        "encoding": model.seconds["encode"],
        "answering": model.seconds["answer"],
        "decoding: best spans": seconds(decode),
    }
    spent["batching, merging and the rest"] = total - sum(spent.values())
    return {stage: {"microseconds": each * 1e6} for stage, each in spent.items()}


def profile_sessions(folder: Path) -> list[onnxruntime.InferenceSession]:
    """A list that fills with the sessions opened from now on, each of which writes a profile."""
    sessions: list[onnxruntime.InferenceSession] = []

    class Profiled(onnxruntime.InferenceSession):
        def __init__(self, path: Path, options: Any, **named: Any) -> None:
            options.enable_profiling = True
            options.profile_file_prefix = str(folder / path.stem)
            super().__init__(path, options, **named)
            sessions.append(self)

    onnxruntime.InferenceSession = Profiled
    return sessions


def second_half(profile: Path) -> list[dict[str, Any]]:
    """The operations of the second half of a session's runs."""
    events = json.loads(profile.read_text())
    runs = [event["ts"] for event in events if event.get("name") == "model_run"]
    return [
        event
        for event in events
        if event["name"].endswith("_kernel_time") and event["ts"] >= runs[len(runs) // 2]
    ]


def by_kind(
    nodes: list[dict[str, Any]], total: float, peaks: dict[str, float]
) -> dict[str, dict[str, float]]:
    """Microseconds, and billions of operations or bytes a second with their share of the peak.

    Args:
        total: microseconds of all steps of the model
    """
    kinds = {operation: kind for kind, operations in KINDS.items() for operation in operations}
    spent: dict[str, float] = defaultdict(float)
    work: dict[str, float] = defaultdict(float)
    for node in nodes:
        about = node["args"]
        kind = kinds.get(about["op_name"], OTHER)
        spent[kind] += node["dur"]
        shapes = [next(iter(x.items())) for x in about["input_type_shape"]]
        (result,) = (next(iter(x.values())) for x in about["output_type_shape"][:1])
        if kind in (FLOAT, EIGHT):
            # The terms of each sum, also where the first factor is read transposed.
            terms = np.prod(shapes[0][1]) / np.prod(result[:-1])
            work[kind] += 2 * np.prod(result) * terms
        else:
            outputs = [next(iter(x.items())) for x in about["output_type_shape"]]
            work[kind] += sum(WIDTHS.get(t, 4) * np.prod(size) for t, size in shapes + outputs)
    rows: dict[str, dict[str, float]] = {}
    for kind in sorted(spent, key=spent.__getitem__, reverse=True):
        rate = work[kind] / spent[kind] / 1e3
        peak = peaks[kind if kind in peaks else "bytes"]
        rows[kind] = {
            "microseconds": spent[kind],
            "work": work[kind],
            "peak": peak,
            "rate": rate,
            "of peak": rate / peak,
        }
    rows["around and between operations"] = {"microseconds": total - sum(spent.values())}
    return rows


def measure_peaks(folder: Path) -> dict[str, float]:
    """Billions of floating-point operations (8-bit: integer ones), and of bytes, a second."""
    random = np.random.default_rng(0)
    a, b = (random.random((SIZE, SIZE), np.float32) for _ in range(2))
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["a", "b"], ["c"])],
        "product",
        [onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [SIZE, SIZE])],
        [onnx.helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, [SIZE, SIZE])],
        [onnx.numpy_helper.from_array(b, "b")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])
    model.ir_version = 10
    path, smaller = folder / "product.onnx", folder / "smaller.onnx"
    onnx.save(model, path)
    quantize_dynamic(path, smaller, weight_type=QuantType.QInt8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    peaks = {}
    for name, file in ((FLOAT, path), (EIGHT, smaller)):
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        peaks[name] = 2e-9 * SIZE**3 / fastest(lambda s=session: s.run(None, {"a": a}))
    x, y = np.ones((2, 1 << 15), np.float32)
    peaks["bytes"] = 1e-9 * 3 * x.nbytes / fastest(lambda: np.add(x, y, out=x))
    return peaks


def fastest(call: Callable[[], Any]) -> float:
    """Seconds of the fastest of many calls."""
    times = []
    for _ in range(50):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def render(report: dict[str, Any]) -> str:
    """Two Markdown tables, and a line on the work of a question."""
    peaks = ", ".join(
        f"{name} {rate:.0f}" for name, rate in report["peaks, billions a second"].items()
    )
    lines = [
        f"{report['machine']}, one thread, fabir {report['fabir']}; {report['questions']} "
        f"questions, {report['questions/s']:.0f} a second; peaks in billions a second: {peaks}",
        "",
        "| stage | microseconds a question | share |",
        "|---|---|---|",
    ]
    for name, row in report["stages"].items():
        lines.append(f"| {name} | {row['microseconds']:.0f} | {row['share']:.0%} |")
    lines += [
        "",
        "| within embedding, encoding and answering | microseconds a question | share |"
        " millions of operations or bytes a question | billions a second | of the peak |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in report["graphs"].items():
        rate = " |  | "
        if "rate" in row:
            rate = f"{row['work'] / 1e6:.1f} | {row['rate']:.0f} | {row['of peak']:.0%}"
        lines.append(f"| {name} | {row['microseconds']:.0f} | {row['share']:.0%} | {rate} |")
    return "\n".join([*lines, "", summary(report["graphs"])])


def summary(graphs: dict[str, dict[str, float]]) -> str:
    worked = [row for row in graphs.values() if "work" in row]
    products = [row for name, row in graphs.items() if "products" in name]
    operations = sum(row["work"] for row in products)
    moved = sum(row["work"] for row in worked) - operations
    least = sum(row["work"] / row["peak"] for row in worked) / 1e3
    alone = sum(row["work"] / row["peak"] for row in products) / 1e3
    return (
        f"A question: {operations / 1e6:.0f} million operations of products, {moved / 1e6:.0f} MB "
        f"read and written by all else; at the peaks {alone:.0f} microseconds for the products, "
        f"{least:.0f} for everything in the graphs."
    )


if __name__ == "__main__":
    main()
