"""Which questions an epoch has when several files are mixed."""

import numpy as np
import pytest

from fabir.data.dataset import joined
from fabir.data.features import build_features
from fabir.errors import InputError
from fabir.text.vocabulary import VocabularyConfig, build_vocabulary
from fabir.training.examples import Examples, usable_examples
from fabir.training.settings import TrainingConfig
from tiny import dataset

FILES = 3
EACH = len(dataset())


def examples(config: TrainingConfig) -> Examples:
    """Of a file, and twice the same again."""
    features = build_features(joined([dataset()] * FILES))
    vocabulary, _ = build_vocabulary(features.counts(), [], VocabularyConfig())
    file_of = np.repeat(np.arange(FILES), EACH)
    return usable_examples(features, vocabulary, config, file_of)


def epoch(number: int, *mix: float, batch_size: int = 4) -> list[np.ndarray]:
    config = TrainingConfig(batch_size=batch_size, length_groups=2, mix=mix)
    return examples(config).epoch(number, config)


def test_without_a_mix_every_question_of_every_file_is_read_once() -> None:
    assert sorted(np.concatenate(epoch(0))) == list(range(FILES * EACH))


def test_a_mix_is_all_of_the_first_file_and_a_share_of_the_others() -> None:
    for number in range(3):
        rows = np.concatenate(epoch(number, 3, 1, 0.5))
        assert len(set(rows)) == len(rows)
        counts = np.bincount(rows // EACH, minlength=FILES)
        assert counts.tolist() == [EACH, round(EACH / 3), round(EACH / 6)]


def test_a_mix_draws_anew_each_epoch_and_a_seed_decides_it() -> None:
    def second(number: int) -> set[int]:
        rows = np.concatenate(epoch(number, 3, 1, 1))
        return {int(row) for row in rows if EACH <= row < 2 * EACH}

    assert second(0) == second(0)
    assert len({frozenset(second(number)) for number in range(5)}) > 1
    assert len({len(epoch(number, 3, 1, 1)) for number in range(5)}) == 1  # epochs of equal length


def test_of_a_share_larger_than_its_file_questions_come_again() -> None:
    rows = np.concatenate(epoch(0, 1, 2.5, 0))
    counts = np.bincount(rows, minlength=FILES * EACH).reshape(FILES, EACH)
    assert counts.sum(1).tolist() == [EACH, round(2.5 * EACH), 0]
    assert set(counts[1].tolist()) == {2, 3}  # none is drawn a third time before all are twice


def test_a_mix_has_a_share_for_each_file() -> None:
    with pytest.raises(InputError, match="mix has 2 values for 3 training files"):
        epoch(0, 3, 1)


@pytest.mark.parametrize("unusable", [0, 1])
def test_a_share_of_a_file_needs_a_question_that_can_be_used(unusable: int) -> None:
    features = build_features(dataset())
    vocabulary, _ = build_vocabulary(features.counts(), [], VocabularyConfig())
    most = features.passages.lengths.max() - 1
    too_long = features.passages.lengths[features.passage_of] > most
    file_of = np.where(too_long, unusable, 1 - unusable)
    with pytest.raises(InputError, match=rf"a share for training file {unusable + 1}, of which no"):
        usable_examples(features, vocabulary, TrainingConfig(max_passage=most, mix=(1, 1)), file_of)
    if unusable:
        config = TrainingConfig(max_passage=most, mix=(1, 0))
        assert len(usable_examples(features, vocabulary, config, file_of).rows)


@pytest.mark.parametrize("together", [1, 2, 99])
def test_questions_about_a_passage_are_read_together(together: int) -> None:
    config = TrainingConfig(batch_size=6, length_groups=1, questions_per_passage=together)
    read = examples(config)
    batches = read.epoch(0, config)
    assert sorted(np.concatenate(batches)) == list(range(FILES * EACH))
    shared = [len(rows) - len(set(read.passage_of[rows])) for rows in batches]
    assert sum(shared) >= {1: 0, 2: len(batches), 99: 2 * len(batches)}[together]
    for rows in batches:
        batch, spans = read.batch(rows)
        assert len(set(read.passage_of[rows])) <= len(batch.passage) <= len(rows)
        laid_out = batch.passage[batch.passage_of]
        for row, types in zip(rows, laid_out, strict=True):
            length = read.passages.lengths[read.passage_of[row]]
            assert int((types > 0).sum()) == length
        assert spans.shape == (len(rows), 2)


@pytest.mark.parametrize("mix", [(0.0, 1.0), (1.0, -1.0), (1.0, np.inf), (np.inf,), (1.0, np.nan)])
def test_shares_are_finite_and_not_negative_and_the_first_is_not_none(
    mix: tuple[float, ...],
) -> None:
    with pytest.raises(ValueError, match="mix has finite shares, one above 0 for the first file"):
        TrainingConfig(mix=mix)


def test_a_batch_of_few_shapes_has_the_same_texts() -> None:
    read = examples(TrainingConfig())
    rows = np.array([0, 1, 2, EACH, 5])  # some about one passage
    plain, spans = read.batch(rows)
    padded, same = read.batch(rows, few_shapes=True)
    assert (spans == same).all()
    assert padded.passage_of.tolist() == [0, 1, 2, 3, 4]
    assert padded.passage.shape[1] % 32 == padded.question.shape[1] % 16 == 0
    assert padded.words.shape[0] % 1024 == 0
    assert padded.characters.shape[1] == read.table.vocabulary.max_characters
    for ours, theirs in (
        (padded.passage, plain.passage[plain.passage_of]),
        (padded.question, plain.question),
    ):
        width = theirs.shape[1]
        assert not ours[:, width:].any()
        spelt = [batch.characters[text] for batch, text in ((padded, ours), (plain, theirs))]
        letters = min(each.shape[2] for each in spelt)
        assert (spelt[0][:, :width, :letters] == spelt[1][:, :, :letters]).all()
