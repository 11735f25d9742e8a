"""Several models that answer as one: an ensemble."""

from collections.abc import Iterable, Sequence
from itertools import chain
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np

from fabir.data.batches import Batch, SpanLogits, Steps
from fabir.errors import InputError
from fabir.runtime.base import Model, load_model
from fabir.runtime.locate import find_model
from fabir.runtime.settings import NEUTRAL, Confidence
from fabir.text.vocabulary import NO_ANSWER, PADDING, UNKNOWN, Vocabulary


class Ensemble:
    """The mean of several models' logits, as a `Model`.

    The softmax of this mean is the normalised geometric mean of the models' probabilities of start
    and end, as teachers are averaged (`fabir.training.distillation`). This holds over all windows
    of a passage too, because they share one softmax. The logit of no answer is the mean over those
    models that have a head for it.

    The weights of `confidence` are the mean over those models that are calibrated. They are not
    fitted to the ensemble; `fabir.evaluation.calibration.calibrate` fits some that are.
    `no_answer_threshold` is the mean over those models that do not always answer.

    Raises:
        InputError: no model, models of several tokenisers, or some models tell by a place before
            the passage that there is no answer, and others do not.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        if not models:
            raise InputError("an ensemble has no model: name one or more")
        placed = [model.vocabulary.no_answer for model in models]
        if len(set(placed)) > 1:
            numbers = ", ".join(str(number) for number, has in enumerate(placed, 1) if has)
            raise InputError(
                f"models cannot be averaged: number {numbers} of {len(models)} can point to a "
                "place that means no answer, and the others cannot; use models of one kind"
            )
        if len({model.vocabulary.tokeniser for model in models}) > 1:
            raise InputError("models cannot be averaged: they split texts by other tokenisers")
        self.models = tuple(models)
        self.vocabulary = _union([model.vocabulary for model in models])
        self._rows = [_Rows(self.vocabulary, model.vocabulary) for model in models]
        self._splits: list[int] = []  # of encodings, which `encode` sets before any is kept
        thresholds = [model.no_answer_threshold for model in models]
        self.no_answer_threshold = float(np.mean([each for each in thresholds if each < 1] or 1.0))
        self.calibration = NEUTRAL
        self.confidence = Confidence(
            _mean([model.confidence.score for model in models]),
            _mean([model.confidence.no_answer for model in models]),
        )

    def __repr__(self) -> str:
        return f"<Ensemble of {', '.join(map(repr, self.models))}>"

    @property
    def steps(self) -> Steps:
        return Steps(*map(lcm, *(model.steps for model in self.models)))

    @property
    def batch_words(self) -> int:
        return min(model.batch_words for model in self.models)

    @property
    def parallel(self) -> int:
        return min(model.parallel for model in self.models)

    def embed(self, batch: Batch[np.ndarray], questions_only: bool = False) -> list[Any]:
        """The vectors of each model; see `Model`."""
        return [model.embed(own, questions_only) for model, own in self._batches(batch)]

    def encode(self, batch: Batch[np.ndarray], vectors: list[Any]) -> np.ndarray:
        """The encodings of all models, side by side; see `Model`."""
        pairs = zip(self._batches(batch), vectors, strict=True)
        encoded = [model.encode(own, each) for (model, own), each in pairs]
        self._splits = np.cumsum([each.shape[2] for each in encoded])[:-1].tolist()
        return np.concatenate(encoded, axis=2)

    def answer(
        self, batch: Batch[np.ndarray], vectors: list[Any], encoded: np.ndarray
    ) -> SpanLogits[np.ndarray]:
        parts = np.split(encoded, self._splits, axis=2)
        each = zip(self._batches(batch), vectors, parts, strict=True)
        said = [model.answer(own, vector, part) for (model, own), vector, part in each]
        heads = [logits.no_answer for logits in said if logits.no_answer is not None]
        return SpanLogits(
            np.mean([logits.start for logits in said], axis=0),
            np.mean([logits.end for logits in said], axis=0),
            np.mean(heads, axis=0) if heads else None,
        )

    def clear(self) -> None:
        for model in self.models:
            model.clear()

    def _batches(self, batch: Batch[np.ndarray]) -> Iterable[tuple[Model, Batch[np.ndarray]]]:
        """Each model, with the batch in the numbers of its own vocabulary."""
        for model, rows in zip(self.models, self._rows, strict=True):
            yield model, batch._replace(**rows.renumbered(batch))


def load_ensemble(folders: Sequence[str | Path | None]) -> Model:
    """Load several models as one; a single one is loaded as it is.

    Args:
        folders: see `fabir.runtime.locate.find_model`

    Raises:
        InputError: see `load_model` and `Ensemble`.
    """
    models = [load_model(find_model(folder)) for folder in folders]
    return models[0] if len(models) == 1 else Ensemble(models)


class _Rows:
    """A model's rows for the words and characters of the ensemble's vocabulary."""

    def __init__(self, shared: Vocabulary, own: Vocabulary) -> None:
        words = (*shared.trained, *shared.fixed)
        self.words = np.array([PADDING, UNKNOWN, *map(own.word_row, words)])
        places = {character: row for row, character in enumerate(own.characters, 2)}
        rows = [places.get(character, UNKNOWN) for character in shared.characters]
        self.characters = np.array([PADDING, UNKNOWN, *rows])
        self.longest = own.max_characters

    def renumbered(self, batch: Batch[np.ndarray]) -> dict[str, np.ndarray]:
        characters = batch.characters[:, : self.longest]
        return {"words": self.words[batch.words], "characters": self.characters[characters]}


def _mean(weights: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """The mean of the weights of those models that have any."""
    known = [each for each in weights if each]
    return tuple(np.mean(known, axis=0).tolist()) if known else ()


def _union(vocabularies: Sequence[Vocabulary]) -> Vocabulary:
    """A vocabulary with the words and characters of all. Which words are trained has no meaning."""
    words = dict.fromkeys(chain(*((*each.trained, *each.fixed) for each in vocabularies)))
    no_answer = vocabularies[0].no_answer
    return Vocabulary(
        trained=(NO_ANSWER,) * no_answer,
        fixed=tuple(word for word in words if word != NO_ANSWER),
        characters="".join(dict.fromkeys(chain(*(each.characters for each in vocabularies)))),
        max_characters=max(each.max_characters for each in vocabularies),
        tokeniser=vocabularies[0].tokeniser,
    )
