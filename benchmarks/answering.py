"""Speed and memory of models that answer, from text to answers.

    python benchmarks/answering.py --data dev-v1.1.json [--readers DIR ...] [--variants] \
        [--transformers] [--questions N] [--rounds 3] [--output FILE]

The models are the bundled one and those in the folders. `--variants` adds the bundled model in
torch, compiled by torch, and in ONNX Runtime without 8 bits. `--transformers` adds networks of
DistilBERT's and MiniLM's shape in ONNX Runtime, in 8 and in 32 bits. Their weights are random,
which does not change their speed, and their tokeniser is trained on the data.

All models answer the same questions in turn, round by round. The result is a Markdown table;
`--output` writes it as JSON. Whole file: the median over the rounds, and the first model's rate
over each model's. One question: in every round a new process of each model makes one call after
another, after a warm-up, each about 150 words that it has not seen. Memory: the peak of a new
process that answers all questions once.
"""

import argparse
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabir import Answer, Predictor, __version__, read_squad, tune_process
from fabir.cpu_info import cpu_name

WORDS, CALLS = 150, 150  # words of the passage of one question; such calls in a round
Pairs = list[tuple[str, str]]
SHAPES = {  # layers, size of a word's vector, heads, hidden size of the feed-forward
    "DistilBERT": (6, 768, 12, 3072),
    "MiniLM": (12, 384, 12, 1536),
}


class Contestant(NamedTuple):
    """A model that answers many pairs in batches of its best size, or one pair at a time."""

    many: Callable[[Pairs], Any]
    one: Callable[[str, str], Any]


class Entry(NamedTuple):
    """A contestant's name, and the function that loads it in any process."""

    name: str
    make: Callable[..., Contestant]
    arguments: tuple[Any, ...] = ()

    def open(self) -> Contestant:
        return self.make(*self.arguments)


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
    tune_process()
    every = load_pairs(options.data)
    pairs, stretches = every[: options.questions or None], new_stretches(every, options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        entries = [Entry("fabir, bundled", load_predictor, (None,))]
        entries += [Entry(path.name, load_predictor, (path,)) for path in options.readers]
        if options.variants:
            entries += variants(Path(folder))
        if options.transformers:
            entries += transformers(Path(folder), pairs)
        measured = measure(entries, pairs, stretches)
    report = {
        "fabir": __version__,
        "machine": f"{cpu_name()}, {multiprocessing.cpu_count()} processors",
        "questions": len(pairs),
        "rounds": options.rounds,
        "readers": measured,
    }
    print(render(report))
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def load_pairs(path: Path) -> Pairs:
    data = read_squad(path, "keep")
    return [(question.text, passage.text) for passage, question in data.questions]


def load_predictor(folder: Path | None) -> Contestant:
    return contestant(Predictor.load(folder))


def contestant(predictor: Predictor) -> Contestant:
    def many(pairs: Pairs) -> list[list[Answer]]:
        # A new cache of passages: those of the last round are known. The model keeps its vectors of
        # words, as in a service that runs for a while.
        return list(Predictor(predictor.model).answer_all(pairs))

    return Contestant(many, predictor.answer)


def variants(folder: Path) -> Iterator[Entry]:
    """The bundled model in torch, compiled, and in ONNX Runtime without 8 bits."""
    from fabir.export.onnx import export
    from fabir.runtime.locate import find_model

    yield Entry("the same, torch", load_torch, (False,))
    yield Entry("the same, torch.compile", load_torch, (True,))
    export(find_model(None), folder / "whole")
    yield Entry("the same, ONNX, 32 bits", load_predictor, (folder / "whole",))


def load_torch(compiled: bool) -> Contestant:
    from fabir.runtime.locate import find_model
    from fabir.runtime.torch_model import TorchModel

    class Alone(TorchModel):
        """A model for one thread: two that compile at the same time deadlock (torch 2.13)."""

        @property
        def parallel(self) -> int:
            return 1

    if not compiled:
        return contestant(Predictor(TorchModel.load(find_model(None))))
    model = Alone.load(find_model(None))
    model.network.compile(dynamic=True)
    return contestant(Predictor(model))


def measure(entries: list[Entry], pairs: Pairs, stretches: list[Pairs]) -> list[dict[str, Any]]:
    """Each entry's speeds and memory. Each of the `stretches` is a round of single questions."""
    opened = {entry.name: entry.open() for entry in entries}
    whole: dict[str, list[float]] = {name: [] for name in opened}
    single: dict[str, list[float]] = {name: [] for name in opened}
    for each in opened.values():
        each.many(pairs[:50])
    for alone in stretches:
        for entry in entries:
            whole[entry.name].append(seconds(opened[entry.name].many, pairs))
            single[entry.name] += in_new_process(calls, entry, alone)
    peaks = {entry.name: in_new_process(peak, entry, pairs) for entry in entries}
    medians = {name: statistics.median(times) for name, times in whole.items()}
    first = medians[entries[0].name]
    return [
        {
            "name": name,
            "questions/s": len(pairs) / medians[name],
            "the first is faster by": medians[name] / first,
            "one, ms, median": 1e3 * statistics.median(single[name]),
            "one, ms, 95th percentile": 1e3 * float(np.quantile(single[name], 0.95)),
            "memory, MB": peaks[name],
        }
        for name in whole
    ]


def seconds(call: Callable[..., Any], *arguments: Any) -> float:
    began = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - began


def new_stretches(pairs: Pairs, rounds: int) -> list[Pairs]:
    """For each round `CALLS` questions, each about its own stretch of `WORDS` words."""
    words = " ".join(dict.fromkeys(passage for _, passage in pairs)).split(" ")
    stretches = [" ".join(words[at : at + WORDS]) for at in range(0, len(words) - WORDS, WORDS)]
    if len(stretches) < CALLS * rounds:
        raise SystemExit(f"{rounds} rounds need {CALLS * rounds * WORDS} words of passages")
    asked = [(pairs[i][0], stretches[i]) for i in range(CALLS * rounds)]
    return [asked[number::rounds] for number in range(rounds)]


def calls(entry: Entry, pairs: Pairs) -> list[float]:
    """Seconds of a call for each question, after the first twenty as a warm-up."""
    each = entry.open()
    for pair in pairs[:20]:
        each.one(*pair)
    return [seconds(each.one, *pair) for pair in pairs[20:]]


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    with multiprocessing.get_context("spawn").Pool(1, tune_process) as pool:
        return pool.apply(function, arguments)


def peak(entry: Entry, pairs: Pairs) -> float:
    """Megabytes of a process that answers all questions."""
    entry.open().many(pairs)
    status = Path("/proc/self/status").read_text()  # getrusage includes the parent's peak
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def transformers(folder: Path, pairs: Pairs) -> Iterator[Entry]:
    """Networks of well-known shapes, with random weights."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    tokeniser = word_pieces(pairs)
    for name, (layers, dim, heads, hidden) in SHAPES.items():
        whole, small = folder / f"{name}.onnx", folder / f"{name}-8.onnx"
        write_transformer(whole, layers, dim, heads, hidden)
        quantize_dynamic(whole, small, weight_type=QuantType.QInt8, op_types_to_quantize=["MatMul"])
        yield Entry(f"{name}'s shape, int8", transformer, (small, tokeniser))
        yield Entry(f"{name}'s shape, fp32", transformer, (whole, tokeniser))


def word_pieces(pairs: Pairs) -> str:
    """A WordPiece tokeniser of BERT's kind and size, trained on the texts, as JSON."""
    from tokenizers import BertWordPieceTokenizer

    tokeniser = BertWordPieceTokenizer()
    texts = {passage for _, passage in pairs} | {question for question, _ in pairs}
    tokeniser.train_from_iterator(sorted(texts), vocab_size=30522, show_progress=False)
    tokeniser.enable_truncation(384)
    return tokeniser.to_str()


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


def transformer(path: Path, described: str, batch: int = 8) -> Contestant:
    """Answer batches of pairs of similar length, with fabir's search for spans."""
    import onnxruntime
    from tokenizers import Tokenizer

    from fabir.answer.spans import top_spans

    tokeniser = Tokenizer.from_str(described)
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

    return Contestant(many, lambda question, passage: many([(question, passage)]))


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
