"""How fast readers answer, from text to answers, side by side, and with how much memory.

    python benchmarks/answering.py --data dev-v1.1.json [--readers DIR ...] [--variants] \
        [--transformers] [--questions N] [--rounds 3] [--output FILE]

The bundled reader, the readers in the folders, with `--variants` the bundled one in torch, compiled
by torch and in ONNX Runtime without 8 bits, and with `--transformers` networks of DistilBERT's
and MiniLM's shape in ONNX Runtime, 8 and 32 bits, with random weights, on which speed does not
depend, and a tokeniser made of the data. All answer the same questions in turn, round by round.
Prints a Markdown table; `--output` writes the same as JSON. Whole file: medians over the rounds,
and how many times as fast as each the first reader is. One question: one call each on its own
passage, 20 a round, after a warm-up. Memory: the peak of a process of its own that answers them all
once.
"""

import argparse
import json
import multiprocessing
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabir import Predictor, __version__, read_squad

Pairs = list[tuple[str, str]]
SHAPES = {  # layers, size of a word's vector, heads, hidden size of the feed-forward
    "DistilBERT": (6, 768, 12, 3072),
    "MiniLM": (12, 384, 12, 1536),
}


class Contestant(NamedTuple):
    """Something that answers: many pairs at its own best batch, or one at a time."""

    name: str
    many: Callable[[Pairs], Any]
    one: Callable[[str, str], Any]


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--readers", type=Path, nargs="*", default=[], metavar="DIR")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--transformers", action="store_true")
    parser.add_argument("--questions", type=int, default=0, help="the first N of the file (all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    pairs = load_pairs(options.data)[: options.questions or None]
    with tempfile.TemporaryDirectory() as folder:
        contestants = [load_reader(path) for path in (None, *options.readers)]
        if options.variants:
            contestants += variants(Path(folder))
        if options.transformers:
            contestants += transformers(Path(folder), pairs)
        measured = measure(contestants, pairs, options.rounds)
    peaks = [
        in_new_process(peak, path, options.data, len(pairs)) for path in (None, *options.readers)
    ]
    report = {
        "fabir": __version__,
        "machine": f"{platform.machine()}, {multiprocessing.cpu_count()} processors",
        "questions": len(pairs),
        "rounds": options.rounds,
        "readers": [
            row | {"memory, MB": memory}
            for row, memory in zip(measured, peaks + [None] * len(measured), strict=False)
        ],
    }
    print(render(report))
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def load_pairs(path: Path) -> Pairs:
    data = read_squad(path, "keep")
    return [(question.text, passage.text) for passage, question in data.questions]


def load_reader(folder: Path | None) -> Contestant:
    return contestant(folder.name if folder else "fabir, bundled", Predictor.load(folder))


def contestant(name: str, predictor: Predictor) -> Contestant:
    return Contestant(name, lambda pairs: list(predictor.answer_all(pairs)), predictor.answer)


def variants(folder: Path) -> Iterator[Contestant]:
    """The bundled reader in other ways than its own."""
    from fabir.export.onnx import export
    from fabir.folder import find_reader
    from fabir.reader import Reader

    bundled = find_reader(None)
    yield contestant("the same, torch", Predictor(Reader.load(bundled)))
    compiled = Reader.load(bundled)
    compiled.network.compile(dynamic=True)
    yield contestant("the same, torch.compile", Predictor(compiled))
    export(bundled, folder / "whole")
    yield contestant("the same, ONNX, 32 bits", Predictor.load(folder / "whole"))


def measure(contestants: list[Contestant], pairs: Pairs, rounds: int) -> list[dict[str, Any]]:
    """Each contestant's speeds; all take part in every round."""
    whole: dict[str, list[float]] = {each.name: [] for each in contestants}
    single: dict[str, list[float]] = {each.name: [] for each in contestants}
    spread = pairs[:: max(1, len(pairs) // (20 * rounds))]
    for each in contestants:
        each.many(pairs[:50])
        for pair in spread[:5]:
            each.one(*pair)
    for number in range(rounds):
        for each in contestants:
            whole[each.name].append(seconds(each.many, pairs))
            for pair in spread[number::rounds]:
                single[each.name].append(seconds(each.one, *pair))
    medians = {name: statistics.median(times) for name, times in whole.items()}
    first = medians[contestants[0].name]
    return [
        {
            "name": name,
            "questions/s": len(pairs) / medians[name],
            "the first is faster by": medians[name] / first,
            "one, ms, median": 1e3 * statistics.median(single[name]),
            "one, ms, 95th percentile": 1e3 * float(np.quantile(single[name], 0.95)),
        }
        for name in whole
    ]


def seconds(call: Callable[..., Any], *arguments: Any) -> float:
    began = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - began


def in_new_process(function: Callable[..., float], *arguments: Any) -> float:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def peak(folder: Path | None, data: Path, questions: int) -> float:
    """Megabytes of a process that reads the file and answers it."""
    load_reader(folder).many(load_pairs(data)[:questions])
    status = Path("/proc/self/status").read_text()  # getrusage remembers the parent's peak too
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def transformers(folder: Path, pairs: Pairs) -> Iterator[Contestant]:
    """Networks of well-known shapes, without their weights."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    tokeniser = word_pieces(pairs)
    for name, (layers, dim, heads, hidden) in SHAPES.items():
        whole, small = folder / f"{name}.onnx", folder / f"{name}-8.onnx"
        write_transformer(whole, layers, dim, heads, hidden)
        quantize_dynamic(whole, small, weight_type=QuantType.QInt8, op_types_to_quantize=["MatMul"])
        yield transformer(f"{name}'s shape, int8", small, tokeniser)
        yield transformer(f"{name}'s shape, fp32", whole, tokeniser)


def word_pieces(pairs: Pairs) -> Any:
    """A WordPiece tokeniser of BERT's size and kind, learnt from the texts themselves."""
    from tokenizers import BertWordPieceTokenizer

    tokeniser = BertWordPieceTokenizer()
    texts = {passage for _, passage in pairs} | {question for question, _ in pairs}
    tokeniser.train_from_iterator(sorted(texts), vocab_size=30522, show_progress=False)
    tokeniser.enable_truncation(384)
    return tokeniser


def write_transformer(path: Path, layers: int, dim: int, heads: int, hidden: int) -> None:
    import torch
    from transformers import BertConfig, BertForQuestionAnswering

    config = BertConfig(
        num_hidden_layers=layers,
        hidden_size=dim,
        num_attention_heads=heads,
        intermediate_size=hidden,
    )
    network = BertForQuestionAnswering(config).eval()
    names = ["input_ids", "attention_mask", "token_type_ids"]
    batch, length = torch.export.Dim("batch", min=2), torch.export.Dim("length", min=2)
    program = torch.onnx.export(
        network,
        kwargs={name: torch.ones(3, 20, dtype=torch.int64) for name in names},
        dynamo=True,
        dynamic_shapes={name: {0: batch, 1: length} for name in names},
        input_names=names,
        verbose=False,
    )
    assert program is not None
    model: Any = program.model_proto
    del model.graph.value_info[:]
    path.write_bytes(model.SerializeToString())


def transformer(name: str, path: Path, tokeniser: Any, batch: int = 8) -> Contestant:
    """Batches of pairs of similar length; spans as in fabir."""
    import onnxruntime

    from fabir.answer.spans import top_spans

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def many(pairs: Pairs) -> None:
        encoded = tokeniser.encode_batch([(question, passage) for question, passage in pairs])
        encoded.sort(key=len)
        for i in range(0, len(encoded), batch):
            part = encoded[i : i + batch]
            longest = len(part[-1])
            columns = {
                "input_ids": [each.ids for each in part],
                "attention_mask": [each.attention_mask for each in part],
                "token_type_ids": [each.type_ids for each in part],
            }
            start, end = session.run(
                None,
                {
                    column: np.array([row + [0] * (longest - len(row)) for row in rows], np.int64)
                    for column, rows in columns.items()
                },
            )
            top_spans(np.asarray(start), np.asarray(end))

    return Contestant(name, many, lambda question, passage: many([(question, passage)]))


def render(report: dict[str, Any]) -> str:
    """A Markdown table."""
    rows = report["readers"]
    names = list(rows[0])
    lines = [
        f"{report['machine']}, fabir {report['fabir']}; {report['questions']} questions, "
        f"{report['rounds']} rounds",
        "",
        f"| {' | '.join(names)} |",
        "|---" * len(names) + "|",
    ]
    for row in rows:
        cells = (f"{x:,.1f}" if isinstance(x, float) else x or "" for x in row.values())
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
