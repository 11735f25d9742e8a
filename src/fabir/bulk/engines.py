"""Engines that answer chunks in order: this process, or the workers of a Ray cluster."""

import logging
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fabir.answer.predictor import Predictor
from fabir.bulk.columns import Columns
from fabir.bulk.inputs import InputFile
from fabir.bulk.readers import as_predictor
from fabir.bulk.rows import Chunk, QuestionRow, answers_of, read_chunks
from fabir.data.addresses import is_address
from fabir.data.tables import Row, json_line
from fabir.errors import InputError
from fabir.process_settings import temporary_defaults, tune_process

# By default Ray sends usage statistics, and logs its internals.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}


class Job(NamedTuple):
    """What a run does.

    readers: folders of models, of which several answer as an ensemble; or a predictor
    threshold: see `Predictor`; by default that of the predictor
    strict: whether to stop at a bad row
    exact: see `fabir.data.tables.json_line`
    """

    files: Sequence[InputFile]
    columns: Columns
    readers: list[str] | Predictor
    threshold: float | None = None
    strict: bool = True
    exact: bool = False


class AnsweredChunk(NamedTuple):
    """A chunk's answers as lines of JSON, its bad rows, and the share of the input so far."""

    lines: bytes
    rows: int
    bad: list[str]
    share: float


class ChunkAnswerer:
    """Answers chunks with a predictor that is loaded once. Every engine uses it."""

    def __init__(self, job: Job) -> None:
        self.predictor = as_predictor(job.readers)
        self.threshold = job.threshold
        self.prefix = job.columns.prefix
        self.exact = job.exact

    def __call__(self, chunk: Chunk) -> AnsweredChunk:
        answers = answer_questions(self.predictor, chunk.questions, self.threshold)
        lines = [
            json_line(asked.kept | self._named(answer), exact=self.exact)
            for asked, answer in zip(chunk.questions, answers, strict=True)
        ]
        return AnsweredChunk("".join(lines).encode(), len(lines), chunk.bad, chunk.share)

    def _named(self, answer: Row) -> Row:
        """An answer under the names of the output."""
        return {self.prefix + name: value for name, value in answer.items()}


def answer_questions(
    predictor: Predictor, questions: Iterable[QuestionRow], threshold: float | None = None
) -> Iterator[Row]:
    """The columns of the answers for each question; `threshold` as in `Predictor.given`."""
    predictor.forget()  # no chunk depends on others, and memory does not grow
    readings = predictor.read_all([(asked.question, asked.context) for asked in questions])
    return (answers_of(reading, predictor.given(reading, threshold)) for reading in readings)


# Arguments: the job, and the number of chunks to skip.
Engine = Callable[[Job, int], Iterator[AnsweredChunk]]


def answer_locally(job: Job, skip: int) -> Iterator[AnsweredChunk]:
    """Answer chunks one by one, on all processors of this machine."""
    chunks = read_chunks(job.files, job.columns, skip, strict=job.strict)
    yield from map(ChunkAnswerer(job), chunks)


def answer_on_ray(job: Job, skip: int) -> Iterator[AnsweredChunk]:
    """Answer chunks on a Ray cluster, with one worker and model per processor.

    `RAY_ADDRESS` names the cluster; without it, a cluster is started on this machine. Every machine
    of the cluster must see the files and the models under the same paths.

    Raises:
        InputError: Ray is missing, or a worker cannot read a file or load a model.
    """
    ray = start_ray()
    readers = job.readers
    job = job._replace(
        files=[file._replace(name=_absolute(file.name)) for file in job.files],
        readers=readers if isinstance(readers, Predictor) else list(map(_absolute, readers)),
    )

    def read(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for chunk in read_chunks(job.files, job.columns, skip, strict=job.strict):
            yield {"chunk": pickle.dumps(chunk)}

    # A row of the Ray data set is a whole chunk, so every engine has the same chunks. Reading
    # reserves no processor: the workers reserve them all, and would wait for the reading task for
    # ever.
    chunks = ray.data.from_items([0]).flat_map(read, num_cpus=0)
    workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    answered = chunks.map_batches(
        _RayWorker,
        fn_constructor_args=(job,),
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

    def __init__(self, job: Job) -> None:
        tune_process()
        self.answer = ChunkAnswerer(job)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        chunks = map(pickle.loads, batch["chunk"])
        return {"answered": [pickle.dumps(self.answer(chunk)) for chunk in chunks]}


def _absolute(name: str) -> str:
    return name if is_address(name) else os.path.abspath(name)


def start_ray() -> Any:
    """Ray, connected and set to keep the order of rows.

    Raises:
        InputError: Ray is not installed, does not start or does not answer
    """
    with temporary_defaults(_QUIET):
        ray = _connect_ray()
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    context.target_max_block_size = 1  # one chunk per block: a worker gets one block at a time
    return ray


def _connect_ray() -> Any:
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
    return ray


ENGINES: dict[str, Engine] = {"local": answer_locally, "ray": answer_on_ray}
