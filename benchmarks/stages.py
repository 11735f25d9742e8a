"""Where the time of one answer goes, and how far each stage is from what the processor can do.

    python benchmarks/stages.py --data dev-v1.1.json [--reader DIR] [--questions N] [--output FILE]

One thread, batches as they are when a file is answered, the reader's ONNX graph. Around the graph
the times are those of the calls; within it ONNX Runtime's own, added up by kind of operation. A
product's share of the peak is its floating-point operations a second against those of a product of
384 x 384 matrices of the same type; every other operation's is the bytes it reads and writes a
second against those of an addition of two arrays that fit in the cache. Below the table: the work
of a question, and how long it would take at these peaks.
"""

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # as fabir says, which is imported after it here

import numpy as np
import onnx
import onnxruntime
from answering import load_pairs
from onnxruntime.quantization import QuantType, quantize_dynamic

from fabir import Predictor, __version__
from fabir.answer import batching, passages
from fabir.answer import predictor as predicting
from fabir.cpu_info import cpu_name
from fabir.runtime import onnx_model
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


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--questions", type=int, default=1000, help="the first N of the file")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    pairs = load_pairs(options.data)[: options.questions]
    predictor = Predictor.load(options.reader)
    reader = predictor.model
    if not isinstance(reader, OnnxModel):
        parser.error(f"{options.reader} has no ONNX graph: write one with fabir export")
    seconds: dict[str, float] = defaultdict(float)

    def watch(owner: Any, name: str, stage: str) -> None:
        called = getattr(owner, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            result = called(*arguments, **named)
            seconds[stage] += time.perf_counter() - began
            return result

        setattr(owner, name, timed)

    with tempfile.TemporaryDirectory() as folder:
        peaks = measure_peaks(Path(folder))
        session = open_profiled(reader.network, Path(folder))
        reader.__dict__["_session"] = session  # in place of the cached one
        list(predictor.answer_all(pairs))  # warm
        predictor.forget()
        watch(predicting, "tokenise", "words of texts")
        watch(passages, "tokenise", "words of texts")
        watch(batching, "collate", "batches")
        watch(batching, "top_spans", "spans")
        watch(reader, "_vectors", "vectors of words")
        watch(reader, "logits", "network")
        began = time.perf_counter()
        list(predictor.answer_all(pairs))
        total = time.perf_counter() - began
        nodes = second_half(Path(session.end_profiling()))
    graph = seconds.pop("network") - seconds["vectors of words"]
    stages = {name: {"microseconds": spent * 1e6} for name, spent in seconds.items()}
    stages |= by_kind(nodes, graph * 1e6, peaks)
    stages["all else"] = {
        "microseconds": total * 1e6 - sum(x["microseconds"] for x in stages.values())
    }
    for row in stages.values():
        row["microseconds"] /= len(pairs)
        row["share"] = row["microseconds"] * len(pairs) / total / 1e6
        if "work" in row:
            row["work"] /= len(pairs)
    report = {
        "fabir": __version__,
        "machine": f"{cpu_name()}, {multiprocessing.cpu_count()} processors",
        "questions": len(pairs),
        "questions/s": len(pairs) / total,
        "peaks, billions a second": peaks,
        "stages": stages,
    }
    print(render(report))
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def open_profiled(path: Path, folder: Path) -> onnxruntime.InferenceSession:
    """A session of one thread like a reader's, that writes down how long each operation took."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    return onnxruntime.InferenceSession(
        path,
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=onnx_model.DISABLED_OPTIMIZERS,
    )


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
    nodes: list[dict[str, Any]], graph: float, peaks: dict[str, float]
) -> dict[str, dict[str, float]]:
    """Microseconds, and billions of operations or bytes a second with their share of the peak."""
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
    stages: dict[str, dict[str, float]] = {}
    for kind in sorted(spent, key=spent.__getitem__, reverse=True):
        rate = work[kind] / spent[kind] / 1e3
        peak = peaks[kind if kind in peaks else "bytes"]
        stages[f"network: {kind}"] = {
            "microseconds": spent[kind],
            "work": work[kind],
            "peak": peak,
            "rate": rate,
            "of peak": rate / peak,
        }
    stages["network: between operations"] = {"microseconds": graph - sum(spent.values())}
    return stages


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
    """A Markdown table."""
    peaks = ", ".join(
        f"{name} {rate:.0f}" for name, rate in report["peaks, billions a second"].items()
    )
    lines = [
        f"{report['machine']}, one thread, fabir {report['fabir']}; {report['questions']} "
        f"questions, {report['questions/s']:.0f} a second; peaks in billions a second: {peaks}",
        "",
        "| stage | microseconds a question | share | millions of operations or bytes a question |"
        " billions a second | of the peak |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in report["stages"].items():
        rate = " |  | "
        if "rate" in row:
            rate = f"{row['work'] / 1e6:.1f} | {row['rate']:.0f} | {row['of peak']:.0%}"
        lines.append(f"| {name} | {row['microseconds']:.0f} | {row['share']:.0%} | {rate} |")
    worked = [row for row in report["stages"].values() if "work" in row]
    products = [row for name, row in report["stages"].items() if "products" in name]
    operations = sum(row["work"] for row in products)
    moved = sum(row["work"] for row in worked) - operations
    least = sum(row["work"] / row["peak"] for row in worked) / 1e3
    alone = sum(row["work"] / row["peak"] for row in products) / 1e3
    lines += [
        "",
        f"A question: {operations / 1e6:.0f} million operations of products, {moved / 1e6:.0f} MB "
        f"read and written by all else; at the peaks {alone:.0f} microseconds for the products, "
        f"{least:.0f} for everything in the graph.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
