"""A student's targets from a teacher that has learnt the same questions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fabir.data.batches import SpanLogits
from fabir.data.dataset import Answer, Dataset
from fabir.data.features import build_features
from fabir.data.squad import write_squad
from fabir.errors import InputError
from fabir.readers.fabir import FabirConfig
from fabir.runtime.base import logits
from fabir.runtime.locate import BUNDLED
from fabir.runtime.torch_model import TorchModel
from fabir.text.vocabulary import VocabularyConfig, build_vocabulary
from fabir.training import distillation
from fabir.training.distillation import teacher_digest, teacher_probabilities
from fabir.training.examples import Examples, usable_examples
from fabir.training.loss import span_loss
from fabir.training.settings import TrainingConfig
from factories import small_reader
from tiny import NO_DROPOUT, Files, dataset, run_config, train_tiny, write_files

CONFIG = TrainingConfig(batch_size=6, length_groups=1, max_question=7)
BY_HEART: dict[str, Any] = {  # all questions are a batch
    "epochs": 60,
    "batch_size": 19,
    "evaluations": 0,
    "schedule": "linear",
    "learning_rate": 0.01,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return write_files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def teacher(files: Files) -> Path:
    """It knows the training questions by heart."""
    folder = files.train.parent / "teacher"
    size = {"model_dim": 32, "feed_forward": 32}
    assert train_tiny(files, folder, run_config(NO_DROPOUT | size, **BY_HEART)) > 90
    return folder


def student_examples(*, no_answer: bool = False) -> Examples:
    """With another vocabulary than the teacher's."""
    features = build_features(dataset())
    config = VocabularyConfig(word_count=1)
    vocabulary, _ = build_vocabulary(features.counts(), [], config, no_answer=no_answer)
    return usable_examples(features, vocabulary, CONFIG)


def distilled_from(*teachers: Path, examples: Examples | None = None) -> Examples:
    examples = examples or student_examples()
    places = len(examples.table.before)
    said = teacher_probabilities(teachers, [build_features(dataset())], CONFIG, places)
    return replace(examples, teacher_probabilities=said)


def test_each_place_has_the_probability_that_the_teacher_gives_it(teacher: Path) -> None:
    reader, features = TorchModel.load(teacher), build_features(dataset())
    distilled = distilled_from(teacher)
    own = usable_examples(features, reader.vocabulary, CONFIG)
    assert 0 < len(distilled.rows) < len(features.questions)  # a question is too long
    learnt = []
    for row in distilled.rows:
        batch, spans = distilled.batch(np.array([row]))
        probabilities = distilled.teacher_batch(np.array([row]), batch.passage.shape[1])
        assert probabilities is not None
        sides = logits(reader, own.batch(np.array([row]))[0])
        expected = torch.stack([torch.from_numpy(side).softmax(1) for side in sides[:2]], dim=2)
        torch.testing.assert_close(probabilities, expected, atol=0.01, rtol=0.01)
        learnt.append(bool((probabilities.argmax(dim=1) == spans).all()))
    assert np.mean(learnt) > 0.8
    unused = set(range(len(features.questions))) - set(distilled.rows)
    assert distilled.teacher_probabilities is not None
    assert all(len(distilled.teacher_probabilities[row]) == 0 for row in unused)


def test_probabilities_are_padded_and_in_the_order_of_their_questions(teacher: Path) -> None:
    distilled = distilled_from(teacher)
    rows = distilled.rows[[5, 0]]
    probabilities = distilled.teacher_batch(rows, 99)
    assert probabilities is not None
    for each, row in zip(probabilities, rows, strict=True):
        alone = distilled.teacher_batch(np.array([row]), 99)
        assert alone is not None
        assert torch.equal(each, alone[0])
    assert probabilities.shape == (2, 99, 2)
    assert student_examples().teacher_batch(rows, 99) is None


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_targets_are_mixed_with_the_teachers_probabilities(share: float) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = SpanLogits(*torch.randn(2, 3, 7, generator=generator))
    probabilities = torch.rand(3, 7, 2, generator=generator).softmax(1)
    spans = torch.tensor([[0, 1], [3, 3], [2, 6]])
    cross = -sum(
        (probabilities[:, :, side] * scores.log_softmax(1)).sum(1)
        for side, scores in enumerate(logits[:2])
    )
    expected = (1 - share) * span_loss(logits, spans, 0.1) + share * cross
    torch.testing.assert_close(span_loss(logits, spans, 0.1, probabilities, share), expected)


def test_a_student_follows_its_teacher_where_the_answers_say_otherwise(
    files: Files, teacher: Path, tmp_path: Path
) -> None:
    """With a share of one the answers count for nothing: those of the file may be wrong."""
    wrong = []
    for passage in dataset().passages:
        word = passage.text.split()[0]
        questions = tuple(replace(q, answers=(Answer(word, 0),)) for q in passage.questions)
        wrong.append(replace(passage, questions=questions))
    misled = replace(files, train=tmp_path / "wrong.json")
    write_squad(Dataset(tuple(wrong), "1.1"), misled.train)
    size = {"model_dim": 32, "feed_forward": 32}
    config = run_config(NO_DROPOUT | size, label_smoothing=0.0, distillation_weight=1.0, **BY_HEART)
    assert train_tiny(misled, tmp_path / "distilled", config, teachers=(teacher,)) > 90
    assert train_tiny(misled, tmp_path / "alone", config) < 50


def test_of_a_file_that_is_not_taught_the_answers_are_learnt(teacher: Path) -> None:
    part = build_features(dataset())
    config = replace(CONFIG, taught=(0, 1))
    said = teacher_probabilities([teacher], [part, part], config, 0)
    number = len(part.questions)
    assert len(said) == 2 * number
    assert said.lengths[:number].sum() == 0 < said.lengths[number:].sum()
    examples = replace(student_examples(), teacher_probabilities=said)
    rows = np.arange(2 * number)
    assert examples.taught(rows).tolist() == [bool(length) for length in said.lengths]


def test_a_file_is_read_by_as_many_of_the_first_teachers_as_it_says(teacher: Path) -> None:
    part = build_features(dataset())
    number = len(part.questions)
    both = [BUNDLED, teacher]
    said = teacher_probabilities(both, [part, part], replace(CONFIG, taught=(2, 1)), 0)
    for rows, teachers in ((range(number), both), (range(number, 2 * number), both[:1])):
        expected = teacher_probabilities(teachers, [part], CONFIG, 0)
        for row, question in zip(rows, range(number), strict=True):
            np.testing.assert_array_equal(said[row], expected[question])


def test_a_file_of_which_no_question_can_be_read_has_no_probabilities(teacher: Path) -> None:
    part = build_features(dataset())
    said = teacher_probabilities([teacher], [part], replace(CONFIG, max_passage=1), 0)
    assert len(said) == len(part.questions)
    assert not len(said.values)


def test_a_question_of_which_no_teacher_says_anything_has_the_loss_of_its_answer() -> None:
    logits = SpanLogits(*torch.randn(2, 2, 7, generator=torch.Generator().manual_seed(0)))
    spans = torch.tensor([[0, 1], [3, 3]])
    said = torch.zeros(2, 7, 2)
    weights = torch.tensor([0.0, 0.0])
    found = span_loss(logits, spans, 0.1, said, weights, torch.tensor([True, False]))
    first = SpanLogits(logits.start[:1], logits.end[:1])
    torch.testing.assert_close(found[:1], span_loss(first, spans[:1], 0.1))
    assert found[1] == 0


def test_a_run_with_a_teacher_goes_on_with_one(files: Files, teacher: Path, tmp_path: Path) -> None:
    config = run_config(epochs=1)
    train_tiny(files, tmp_path, config, teachers=(teacher,))
    longer = replace(config, training=replace(config.training, epochs=2))
    with pytest.raises(InputError, match="or teacher"):
        train_tiny(files, tmp_path, longer, resume=True)
    with pytest.raises(InputError, match="or teacher"):
        train_tiny(files, tmp_path, longer, resume=True, teachers=(BUNDLED,))
    train_tiny(files, tmp_path, longer, resume=True, teachers=(teacher,))


def test_a_teacher_that_knows_no_answer_teaches_the_other_places(tmp_path: Path) -> None:
    reader = small_reader("crossconv", no_answer=True)
    reader.save(tmp_path)
    distilled = distilled_from(tmp_path)
    own = usable_examples(build_features(dataset()), reader.vocabulary, CONFIG)
    for row in distilled.rows:
        batch, _ = own.batch(np.array([row]))
        sides = logits(reader, batch)
        expected = np.stack([side[0, 1:] for side in sides[:2]], axis=1)
        expected = np.exp(expected) / np.exp(expected).sum(axis=0)
        assert distilled.teacher_probabilities is not None
        found = distilled.teacher_probabilities[row]
        np.testing.assert_allclose(found, expected[: len(found)], atol=0.01)


def test_a_student_that_knows_no_answer_needs_such_a_teacher(teacher: Path) -> None:
    with pytest.raises(InputError, match="has no place for no answer before the passage"):
        distilled_from(teacher, examples=student_examples(no_answer=True))


def test_teachers_are_averaged_in_logarithms(tmp_path: Path) -> None:
    """Untrained ones, which hold many places to be possible."""
    folders = tmp_path / "first", tmp_path / "second"
    for folder, kind in zip(folders, ("fabir", "crossconv"), strict=True):
        small_reader(kind).save(folder)
    alone = [distilled_from(folder).teacher_probabilities for folder in folders]
    both = distilled_from(*folders).teacher_probabilities
    assert both is not None
    compared = 0
    for row in range(len(both)):
        parts = [each[row].astype(float) for each in alone if each is not None]
        assert len(both[row]) == len(parts[0]) == len(parts[1])
        if not len(both[row]):
            continue
        expected = np.sqrt(parts[0] * parts[1])
        expected /= expected.sum(axis=0)
        sure = (np.minimum(*parts) > 1e-3).all(axis=1)  # float16 has no smaller ones
        np.testing.assert_allclose(both[row][sure], expected[sure], atol=0.01)
        np.testing.assert_allclose(both[row].astype(float).sum(axis=0), 1, atol=0.01)
        compared += sure.sum()
    assert compared > 200


def test_teachers_that_are_sure_of_different_words_teach_both(tmp_path: Path) -> None:
    reader = small_reader("crossconv")
    weights = reader.network.get_parameter("selector.outer.weight")
    folders = tmp_path / "first", tmp_path / "second"
    for folder, factor in zip(folders, (1e6, -1), strict=True):  # the worst word becomes the best
        weights.data *= factor
        reader.save(folder)
    part = [build_features(dataset())]
    first, second, both = (
        teacher_probabilities(teachers, part, CONFIG, 0).values
        for teachers in (folders[:1], folders[1:], folders)
    )
    sure = np.maximum(first, second) > 0.9
    assert sure.sum() > 20
    assert (both[sure] > 0.3).all()


def test_a_teacher_with_another_network_is_another_one(tmp_path: Path) -> None:
    """Even with the same files beside `config.json`."""
    folders = tmp_path / "first", tmp_path / "same", tmp_path / "other"
    for folder, place, threshold in zip(folders, (0, 0, 9), (1.0, 0.5, 1.0), strict=True):
        reader = small_reader("fabir", FabirConfig(first_position=place))
        reader.no_answer_threshold = threshold  # no part of the network
        reader.save(folder)
    first, same, other = map(teacher_digest, folders)
    assert first == same != other


def test_what_a_teacher_said_is_read_from_the_cache(
    teacher: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    features = build_features(dataset())
    said = [teacher_probabilities([teacher], [features], CONFIG, 0, tmp_path)]
    (kept,) = tmp_path.iterdir()

    def refuse(folder: Path) -> None:
        raise AssertionError(f"{folder} is loaded again")

    with monkeypatch.context() as patched:
        patched.setattr(distillation, "load_model", refuse)
        said.append(teacher_probabilities([teacher], [features], CONFIG, 0, tmp_path))
        other = replace(CONFIG, max_question=6)
        with pytest.raises(AssertionError, match="loaded again"):
            teacher_probabilities([teacher], [features], other, 0, tmp_path)
    kept.write_bytes(kept.read_bytes()[:1000])  # a damaged file is made again
    (tmp_path / f".{kept.name}.abcdefg_.partial").touch()  # a killed process left it
    said.append(teacher_probabilities([teacher], [features], CONFIG, 0, tmp_path))
    assert list(tmp_path.iterdir()) == [kept]
    for each in said:
        assert np.array_equal(each.values, said[0].values)
        assert np.array_equal(each.offsets, said[0].offsets)
