"""Questions and passages in, answers out: the one way from text through a reader back to text."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice, pairwise
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np

from fabir.allocation import prepare_to_answer
from fabir.answer.passages import KEPT, Part, Passages, count_words, recall, remember
from fabir.answer.spans import top_spans
from fabir.answer.windows import Candidates, select_distinct
from fabir.data.batches import Batch, Steps, collate, round_up
from fabir.errors import InputError
from fabir.folder import NETWORK, find_reader, read_settings
from fabir.text.tokens import tokenise
from fabir.text.vocabulary import Forms, Vocabulary

MOST_FORMS = 500_000  # spellings remembered between calls
CHUNK = 2048  # windows that are sorted by length together: a length has its own kernels


@dataclass(frozen=True, slots=True)
class Answer:
    """A piece of the passage: `text == passage[start:end]`.

    `score` is the probability of its first word times that of its last, over the whole passage.
    """

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader makes of one question and passage.

    answers: the best pieces of the passage that do not overlap, whether it has an answer or not
    no_answer: probability that it has none, against its best piece; from a reader that never saw
        unanswerable questions, one minus the score of that piece; 1 if there is none
    """

    answers: list[Answer]
    no_answer: float

    def given(self, threshold: float) -> list[Answer]:
        """The answers, or none of them if `no_answer` is above `threshold`."""
        return self.answers if self.no_answer <= threshold else []


class _Window(NamedTuple):
    """A part of a passage, asked one question."""

    pair: int
    question: list[str]
    part: Part


class _Found(NamedTuple):
    """What a window's logits say: candidates, the mass of all starts and of all ends, and the
    start and end logit of no answer."""

    candidates: Candidates
    start_mass: float
    end_mass: float
    no_start: float = -np.inf
    no_end: float = -np.inf


class Trained(Protocol):
    """What answers are made of: a `Reader`, or one exported to ONNX, an `OnnxReader`."""

    vocabulary: Vocabulary
    no_answer_threshold: float

    @property
    def steps(self) -> Steps: ...

    @property
    def batch_words(self) -> int: ...

    @property
    def parallel(self) -> int: ...

    def logits(
        self, batch: Batch[np.ndarray], memo: dict[str, np.ndarray] | None = None
    ) -> tuple[np.ndarray, ...]: ...


def load_trained(folder: Path) -> Trained:
    """The reader in `folder`, from its graph if it was exported; else torch is needed."""
    if (folder / NETWORK).exists():
        from fabir.onnx_reader import OnnxReader

        return OnnxReader.load(folder)
    read_settings(folder)  # of anything else there is more to say than that torch is missing
    try:
        from fabir.reader import Reader
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise InputError(
            f"{folder} was not exported, so it takes torch to read it: "
            "pip install 'fabir[train]', or `fabir export` it where that is installed"
        ) from error
    return Reader.load(folder)


class Predictor:
    """Answers questions with a reader. Several threads may ask it at a time.

    Args:
        reader: a trained reader
        window: words of a passage read at once; longer ones are read in overlapping windows
        stride: words from one window's beginning to the next
        max_words: words of the longest answer (FABIR eq. 19)
    """

    def __init__(
        self, reader: Trained, *, window: int = 400, stride: int = 300, max_words: int = 15
    ) -> None:
        if max_words < 1:
            raise InputError(f"an answer has at least 1 word, not {max_words}")
        self._passages = Passages(window, stride)
        prepare_to_answer()
        self.reader = reader
        self.window, self.stride, self.max_words = window, stride, max_words
        self._forms = Forms(reader.vocabulary)
        self._forming = Lock()
        self._parallel = reader.parallel
        self._pool = ThreadPoolExecutor(self._parallel) if self._parallel > 1 else None

    @classmethod
    def load(cls, folder: str | Path | None = None, **options: int) -> "Predictor":
        """The reader in `folder`, or the one that comes with fabir.

        In place of a folder may stand "bundled", or "owner/name" on the Hugging Face hub. One that
        was exported is answered from without torch.
        """
        return cls(load_trained(find_reader(folder)), **options)

    @classmethod
    def from_pretrained(
        cls, name: str | Path, *, revision: str | None = None, **options: int
    ) -> "Predictor":
        """As `load`, under the name that others use; `revision` is one of the hub's."""
        return cls(load_trained(find_reader(name, revision)), **options)

    def answer(self, question: str, passage: str, top_k: int = 1) -> list[Answer]:
        """At most `top_k` answers that do not overlap, best first.

        None in a blank passage, or if the reader says that the passage does not answer.

        Raises:
            ValueError: a blank question, or `top_k` below 1.
        """
        return next(self.answer_all([(question, passage)], top_k))

    def answer_all(
        self, pairs: Iterable[tuple[str, str]], top_k: int = 1
    ) -> Iterator[list[Answer]]:
        """Answer (question, passage) pairs, in their order, a few thousand windows at a time.

        Questions about one passage that follow each other share what can be shared of reading it.
        An exported reader shares it with later calls too, as long as passages of 65,536 words in
        all were not asked about since.
        """
        threshold = self.reader.no_answer_threshold
        for reading in self.read_all(pairs, top_k):
            yield reading.given(threshold)

    def read_all(self, pairs: Iterable[tuple[str, str]], top_k: int = 1) -> Iterator[Reading]:
        """As `answer_all`, with the probability that there is no answer beside what would be it."""
        if top_k < 1:
            raise InputError(f"top_k must be at least 1, not {top_k}")
        passages: list[str] = []
        found: list[list[_Found]] = []
        first = 0  # the number of passages[0] among all pairs

        def all_windows() -> Iterator[_Window]:
            for number, (question, passage) in enumerate(pairs):
                passages.append(passage)
                found.append([])
                yield from self._windows(number, question, passage)

        stream = all_windows()
        chunks = iter(lambda: list(islice(stream, CHUNK)), [])
        started = ((chunk, self._read(chunk, top_k)) for chunk in chunks)
        end: tuple[list[_Window], Iterator[_Found]] = [], iter(())
        # While a chunk is read the next one is made, and then the answers of this one.
        for (chunk, results), _ in pairwise(chain(started, [end])):
            for window, result in zip(chunk, results, strict=True):
                found[window.pair - first].append(result)
            done = chunk[-1].pair - first  # this one may have more windows to come
            for _ in range(done):
                yield _merge(passages.pop(0), found.pop(0), top_k)
            first += done
        for passage, results in zip(passages, found, strict=True):
            yield _merge(passage, results, top_k)

    def forget(self) -> None:
        """Give back the memory of texts seen so far; nothing but last digits changes by that."""
        with self._forming:
            self._forms = Forms(self.reader.vocabulary)
        self._passages.clear()

    def _windows(self, number: int, question: str, passage: str) -> Iterator[_Window]:
        asked = tokenise(question).words
        if not asked:
            raise InputError(f"question {number + 1} is empty: ask something")
        for part in self._passages(passage):
            yield _Window(number, asked, part)

    def _read(self, chunk: list[_Window], top_k: int) -> Iterator[_Found]:
        """Batches of similar length, within a budget of padded words; results in order.

        Several batches are read at a time from now on, a thread each, which beats several threads
        on each batch. Passages that are known have batches of their own, which need not read them.
        """
        longest: dict[Part, int] = {}  # question about each part: it pads those read with it
        for window in chunk:
            longest[window.part] = max(longest.get(window.part, 0), len(window.question))
        keep = len(chunk) < CHUNK and count_words(longest) <= KEPT
        known = {part for part in longest if keep and part.encoded}

        step = self.reader.steps.passage
        lengths = {part: round_up(len(part.words), step) for part in longest}
        keys = {part: (part in known, -lengths[part], longest[part]) for part in longest}
        # Questions about a part stay together.
        order = sorted(range(len(chunk)), key=lambda i: keys[chunk[i].part])
        words = sum(lengths[window.part] for window in chunk)
        most = min(self.reader.batch_words, -(-words // self._parallel))  # a batch for each thread
        rows: list[list[int]] = []
        for _, group in groupby(order, key=lambda i: chunk[i].part in known):
            left = list(group)
            while left:
                size = max(1, most // lengths[chunk[left[0]].part])
                rows.append(left[:size])
                left = left[size:]
        batches = [[chunk[i] for i in chosen] for chosen in rows]
        read = partial(self._read_batch, top_k=top_k, keep=keep, known=known)
        run = self._pool.map if self._pool and len(batches) > 1 else map
        return _in_order(rows, run(read, batches))

    def _collate(self, batch: list[_Window], parts: list[Part]) -> Batch[np.ndarray]:
        rows = {part: row for row, part in enumerate(parts)}
        passage_of = [rows[window.part] for window in batch]
        with self._forming:
            if len(self._forms) > MOST_FORMS:
                self._forms = Forms(self.reader.vocabulary)
            number = self._forms.number
            passages = [number(part.words) for part in parts]
            questions = [number(window.question) for window in batch]
            return collate(self._forms, passages, questions, passage_of, self.reader.steps)

    def _read_batch(
        self,
        batch: list[_Window],
        *,
        top_k: int,
        keep: bool,
        known: set[Part],
    ) -> list[_Found]:
        """`known` are parts that were read before this chunk: all of the batch, or none. What is
        made of others is kept for the next, if they are few (`keep`)."""
        parts = list(dict.fromkeys(window.part for window in batch))
        arrays = self._collate(batch, parts)
        again = parts[0] in known
        memo = recall(parts, arrays) if again else {} if keep else None
        logits = self.reader.logits(arrays, memo)
        if memo and not again:
            remember(parts, arrays, memo)
        first = len(self._forms.before)  # before it is the place that stands for no answer
        start, end = (side[:, first:] for side in logits)
        wanted = min(self._spans_for(top_k), start.shape[1] * self.max_words)
        spans = top_spans(start, end, max_words=self.max_words, k=wanted)
        masses = [_log_sum(start), _log_sum(end)]
        if first:
            masses += [side[:, 0] for side in logits]
        found = []
        rows = np.stack(masses, axis=1).tolist()
        for window, mass, start, end, score in zip(batch, rows, *spans, strict=True):
            real = score > -np.inf
            starts, ends = window.part.starts[start[real]], window.part.ends[end[real]]
            scores = score[real].astype(np.float64)
            found.append(_Found(Candidates(starts, ends, scores), *mass))
        return found

    def _spans_for(self, top_k: int) -> int:
        """How many of a window's spans surely hold its share of the answers.

        A chosen span of `n` words, the most there may be, overlaps at most `n * n` spans that start
        within it and `n * (n - 1) / 2` that start before.
        """
        n = self.max_words
        return 1 + (top_k - 1) * (n * n + n * (n - 1) // 2)


def _in_order(rows: list[list[int]], found: Iterable[list[_Found]]) -> Iterator[_Found]:
    """What batches found, by the numbers of their rows."""
    results = dict(zip(chain(*rows), chain.from_iterable(found), strict=True))
    yield from map(results.__getitem__, range(len(results)))


def _merge(passage: str, windows_found: list[_Found], top_k: int) -> Reading:
    """The best answers of a passage's windows; logits compare, so their masses add up.

    Of no answer the window counts that believes in it least.
    """
    if not windows_found:
        return Reading([], 1.0)
    no_start, no_end = min(((f.no_start, f.no_end) for f in windows_found), key=sum)
    masses = [(no_start, no_end), *((f.start_mass, f.end_mass) for f in windows_found)]
    start_mass, end_mass = np.logaddexp.reduce(masses)
    columns = zip(*(found.candidates for found in windows_found), strict=True)
    best = select_distinct(Candidates(*map(np.concatenate, columns)), top_k)
    scores = np.exp(best.scores - start_mass - end_mass).clip(max=1)  # rounding may exceed it
    rows = zip(best.starts.tolist(), best.ends.tolist(), scores.tolist(), strict=True)
    answers = [Answer(passage[start:end], start, end, score) for start, end, score in rows]
    if no_start == -np.inf:
        return Reading(answers, 1 - answers[0].score)
    margin = best.scores[0] - no_start - no_end
    return Reading(answers, float(np.exp(-np.logaddexp(0, margin))))


def _log_sum(logits: np.ndarray) -> np.ndarray:
    """The logarithm of each row's sum of exponentials. Shape: [batch, passage] -> [batch]"""
    highest = logits.max(axis=1, keepdims=True)
    return np.log(np.exp(logits - highest).sum(axis=1)) + highest[:, 0]
