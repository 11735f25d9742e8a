import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fabir.data.batches import COARSE, Batch, collate, length_groups
from fabir.text.vocabulary import Vocabulary, WordTable

VOCABULARY = Vocabulary(("olm", "kite"), ("the", "a"), "abcdefghijklmnopqrstuvwxyz", 10)

texts = st.lists(st.text(alphabet="abTé", min_size=1, max_size=12), max_size=40)
pairs = st.lists(st.tuples(texts, texts), min_size=1, max_size=8)


def batch_of(pairs: list[tuple[list[str], list[str]]]) -> Batch[np.ndarray]:
    table = WordTable(VOCABULARY)
    passages = [table.number(passage) for passage, _ in pairs]
    questions = [table.number(question) for _, question in pairs]
    return collate(table, passages, questions, range(len(pairs)))


@given(pairs)
def test_a_batch_holds_the_words_and_characters_of_its_texts(
    pairs: list[tuple[list[str], list[str]]],
) -> None:
    batch = batch_of(pairs)
    for side, tokens in enumerate((batch.passage, batch.question)):
        for row, pair in enumerate(pairs):
            words = pair[side]
            used, padding = np.split(tokens[row], [len(words)])
            assert (used > 0).all()
            assert not padding.any()
            assert batch.words[used].tolist() == [VOCABULARY.word_row(word) for word in words]
            for word, number in zip(words, used.tolist(), strict=True):
                spelt = batch.characters[number]
                rows = VOCABULARY.character_rows([word])[0]
                assert spelt[spelt > 0].tolist() == rows[rows > 0].tolist()
                assert (spelt > 0).sum() == (spelt[: len(word)] > 0).sum()  # padding comes last


@given(pairs)
def test_a_word_has_one_type_a_batch_and_type_0_is_padding(
    pairs: list[tuple[list[str], list[str]]],
) -> None:
    batch = batch_of(pairs)
    distinct = {word for pair in pairs for text in pair for word in text}
    assert int((batch.words > 0).sum()) == len(distinct)
    assert batch.words[0] == 0
    assert not batch.characters[0].any()
    assert not batch.characters[1 + len(distinct) :].any()


@given(pairs)
def test_lengths_are_padded_to_few_steps(pairs: list[tuple[list[str], list[str]]]) -> None:
    batch = batch_of(pairs)
    for tokens, side, step in (
        (batch.passage, 0, COARSE.passage),
        (batch.question, 1, COARSE.question),
    ):
        longest = max(len(pair[side]) for pair in pairs)
        assert tokens.shape[1] % step == 0
        assert max(longest, 1) <= tokens.shape[1] < max(longest, 1) + step
    assert len(batch.words) % COARSE.types == 0
    assert batch.characters.shape[0] == len(batch.words)
    assert batch.characters.shape[1] % COARSE.characters == 0
    assert all(array.dtype == np.int64 for array in batch)


@pytest.mark.parametrize(("words", "width"), [(0, 16), (1, 16), (16, 16), (17, 32)])
def test_a_passage_without_words_is_padding_alone(words: int, width: int) -> None:
    batch = batch_of([(["kite"] * words, ["what"]), ([], [])])
    assert batch.passage.shape == (2, width)
    assert int((batch.passage > 0).sum()) == words
    assert not batch.passage[1].any()
    assert batch.question.shape == (2, 8)


def test_questions_may_share_a_passage() -> None:
    table = WordTable(VOCABULARY)
    passages = [table.number(["a", "kite"]), table.number(["the", "olm"])]
    questions = [table.number(["what"])] * 3
    batch = collate(table, passages, questions, [1, 0, 1]).tensors()
    assert batch.passage.shape == (2, 16)
    assert batch.question.shape == (3, 8)
    laid_out = batch.for_questions(batch.passage)
    assert torch.equal(laid_out, batch.passage[torch.tensor([1, 0, 1])])
    assert batch.passage_mask.shape == (2, 16, 1)
    assert torch.equal(batch.question_mask[..., 0], batch.question > 0)


def test_a_batch_moves_as_a_whole() -> None:
    batch = batch_of([(["a", "kite"], ["what"])])
    moved = batch.tensors("meta")
    assert {tensor.device.type for tensor in moved} == {"meta"}
    assert [tensor.shape for tensor in moved] == [tensor.shape for tensor in batch]


lengths = st.lists(st.integers(1, 60), max_size=200).map(np.array)


@given(lengths, st.integers(1, 20), st.integers(1, 40), st.integers(0, 99))
def test_an_epoch_has_every_example_once(
    lengths: np.ndarray, batch_size: int, groups: int, seed: int
) -> None:
    questions = lengths[::-1] % 7
    bundles = np.arange(len(lengths))
    generator = np.random.default_rng(seed)
    batches = length_groups(lengths, questions, batch_size, groups, generator, bundles)
    everything = [int(row) for batch in batches for row in batch]
    assert sorted(everything) == list(range(len(lengths)))
    # No more batches than needed, so an epoch has the same number of steps each time.
    assert len(batches) == -(-len(lengths) // batch_size)
    assert sum(len(batch) != batch_size for batch in batches) <= 1
    assert all(0 < len(batch) <= batch_size for batch in batches)


def test_batches_depend_on_the_generator_alone() -> None:
    lengths = np.random.default_rng(5).integers(20, 300, 500)

    def epoch(seed: int) -> list[list[int]]:
        generator = np.random.default_rng(seed)
        batches = length_groups(lengths, lengths % 20, 16, 5, generator, np.arange(500))
        return [batch.tolist() for batch in batches]

    assert epoch(1) == epoch(1)
    assert epoch(1) != epoch(2)
    # Other examples meet each other too, not only in another order.
    assert {frozenset(batch) for batch in epoch(1)} != {frozenset(batch) for batch in epoch(2)}


def test_lengths_within_a_batch_are_similar() -> None:
    generator = np.random.default_rng(5)
    passages, questions = generator.integers(20, 320, 3000), generator.integers(4, 30, 3000)

    def spread(groups: int, lengths: np.ndarray) -> float:
        generator = np.random.default_rng(0)
        batches = length_groups(passages, questions, 25, groups, generator, np.arange(3000))
        return float(np.median([np.ptp(lengths[batch]) for batch in batches]))

    assert spread(30, passages) < 20 < 200 < spread(1, passages)
    assert spread(30, questions) < 12
    assert spread(1, questions) <= 5


def test_short_and_long_batches_alternate() -> None:
    lengths = np.sort(np.random.default_rng(5).integers(20, 320, 3000))
    generator = np.random.default_rng(0)
    batches = length_groups(lengths, lengths % 20, 25, 30, generator, np.arange(3000))
    means = [lengths[batch].mean() for batch in batches]
    assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.3
