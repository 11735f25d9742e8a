"""Engines that answer chunks in order: this process, or the workers of a Ray cluster."""

import logging
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fabir.answer.predictor import Predictor
from fabir.bulk.rows import Chunk, answer_row, read_chunks
from fabir.data.tables import json_line
from fabir.errors import InputError

# By default Ray sends usage statistics, and logs its internals.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}


class AnsweredChunk(NamedTuple):
    """A chunk's answers as lines of JSON, its bad rows, and the share of the file so far."""

    lines: bytes
    rows: int
    bad: list[str]
    share: float


class ChunkAnswerer:
    """Answers chunks with a reader that is loaded once. Every engine uses it."""

    def __init__(self, reader: str | Path | None = None, threshold: float | None = None) -> None:
        self.predictor = Predictor.load(reader, threshold=threshold)

    def __call__(self, chunk: Chunk) -> AnsweredChunk:
        self.predictor.forget()  # no chunk depends on others, and memory does not grow
        pairs = [(asked.question, asked.context) for asked in chunk.questions]
        readings = self.predictor.read_all(pairs)
        lines = [
            json_line(answer_row(asked, reading, self.predictor.given(reading)))
            for asked, reading in zip(chunk.questions, readings, strict=True)
        ]
        return AnsweredChunk("".join(lines).encode(), len(lines), chunk.bad, chunk.share)


# Arguments: the file, the reader, the threshold, the number of chunks to skip, whether to stop at a
# bad row.
Engine = Callable[[Path, str | Path | None, float | None, int, bool], Iterator[AnsweredChunk]]


def answer_locally(
    source: Path, reader: str | Path | None, threshold: float | None, skip: int, strict: bool
) -> Iterator[AnsweredChunk]:
    """Answer chunks one by one, on all processors of this machine."""
    yield from map(ChunkAnswerer(reader, threshold), read_chunks(source, skip, strict=strict))


def answer_on_ray(
    source: Path, reader: str | Path | None, threshold: float | None, skip: int, strict: bool
) -> Iterator[AnsweredChunk]:
    """Answer chunks on a Ray cluster, with one worker and reader per processor.

    `RAY_ADDRESS` names the cluster; without it, a cluster is started on this machine. Every machine
    of the cluster must see the file and the reader under the same paths.

    Raises:
        InputError: Ray is missing, or a worker cannot read the file or load the reader.
    """
    ray = _start_ray()
    source = source.resolve()
    if reader is not None and Path(reader).exists():
        reader = str(Path(reader).resolve())

    def read(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for chunk in read_chunks(source, skip, strict=strict):
            yield {"chunk": pickle.dumps(chunk)}

    # A row of the Ray data set is a whole chunk, so every engine has the same chunks. Reading
    # reserves no processor: the workers reserve them all, and would wait for the reading task for
    # ever.
    chunks = ray.data.from_items([0]).flat_map(read, num_cpus=0)
    workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    answered = chunks.map_batches(
        _RayWorker,
        fn_constructor_args=(reader, threshold),
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=1,
    )
    try:
        for row in answered.iter_rows():
            yield pickle.loads(row["answered"])
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, InputError):  # Ray adds lines to the message
            raise InputError(str(cause).splitlines()[0]) from None
        raise


class _RayWorker:
    """Answers Ray's batches of pickled chunks."""

    def __init__(self, reader: str | Path | None, threshold: float | None) -> None:
        self.answer = ChunkAnswerer(reader, threshold)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        chunks = map(pickle.loads, batch["chunk"])
        return {"answered": [pickle.dumps(self.answer(chunk)) for chunk in chunks]}


def _start_ray() -> Any:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray  # pyright: ignore[reportMissingImports]
        import ray.data  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InputError("--engine ray needs Ray: pip install 'fabir[cluster]'") from error
    if not ray.is_initialized():
        own: dict[str, Any] = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **own)
        except Exception as error:  # Ray's own errors here have no common class
            reason = " ".join(str(error).split())
            raise InputError(f"Ray does not start, nor answer: {reason}") from error
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    context.target_max_block_size = 1  # one chunk per block: a worker gets one block at a time
    return ray


ENGINES: dict[str, Engine] = {"local": answer_locally, "ray": answer_on_ray}
