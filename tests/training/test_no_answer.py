"""Unanswerable questions from training to the command line."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fabir.answer.merging import Found, merge
from fabir.answer.passages import PassageCache
from fabir.answer.predictor import Predictor
from fabir.answer.spans import Spans
from fabir.cli import main
from fabir.data.batches import collate
from fabir.data.dataset import Dataset, Passage
from fabir.data.features import build_features
from fabir.data.squad import read_squad, write_squad
from fabir.errors import InputError
from fabir.evaluation.squad import f1
from fabir.export.compact import keep_words
from fabir.readers.crossconv import CrossConvConfig
from fabir.runtime.torch_model import TorchModel
from fabir.text.tokens import tokenise
from fabir.text.vocabulary import NO_ANSWER, VocabularyConfig, WordTable, build_vocabulary
from fabir.training.checkpoint import load_checkpoint
from fabir.training.examples import usable_examples
from fabir.training.inputs import RunFiles
from fabir.training.loop import Trainer
from fabir.training.run import prepare
from fabir.training.settings import RunConfig, TrainingConfig
from factories import small_config
from tiny import NO_DROPOUT, Files, dataset, run_config, train_tiny, write_files

READS_ALL = TrainingConfig(batch_size=99, length_groups=1)


def with_impossible() -> Dataset:
    """Each passage is also asked the first question of the next one, in vain."""
    passages = dataset().passages
    changed: list[Passage] = []
    for passage, other in zip(passages, (*passages[1:], passages[0]), strict=True):
        vain = replace(other.questions[0], id=f"{passage.title} vain", answers=(), impossible=True)
        changed.append(replace(passage, questions=(*passage.questions, vain)))
    return Dataset(tuple(changed), "v2.0")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Files]:
    """A reader that has learnt the questions by heart, and the files."""
    folder = tmp_path_factory.mktemp("no-answer")
    files = write_files(folder)
    data = with_impossible()
    write_squad(data, files.train)
    write_squad(data, files.dev)
    size = {"model_dim": 32, "feed_forward": 32}
    config = run_config(
        NO_DROPOUT | size, epochs=60, batch_size=25, evaluations=0, schedule="linear",
        learning_rate=0.01,
    )  # fmt: skip
    train_tiny(files, folder / "run", config)
    return folder / "run", files


@pytest.mark.parametrize("no_answer", [False, True])
def test_questions_without_an_answer_point_before_the_passage(no_answer: bool) -> None:
    data = with_impossible()
    features = build_features(data)
    config = VocabularyConfig(word_count=1, character_count=2)
    vocabulary = build_vocabulary(features.counts(), ["the"], config, no_answer=no_answer)[0]
    assert vocabulary.no_answer == no_answer == (NO_ANSWER in vocabulary.trained)
    examples = usable_examples(features, vocabulary, READS_ALL)
    questions = [question for _, question in data.questions]
    used = [question for question in questions if no_answer or not question.impossible]
    (rows,) = examples.epoch(0, READS_ALL)
    assert sorted(rows) == [questions.index(question) for question in used]
    batch, spans = examples.batch(rows)
    for row, (first, last) in zip(rows, spans.tolist(), strict=True):
        aligned = features.spans[row].tolist()
        assert [first, last] == ([0, 0] if not aligned else [a + no_answer for a in aligned[:2]])
    before = batch.words[batch.passage[:, 0]]
    assert (before == vocabulary.word_row(NO_ANSWER)).all() == no_answer


@pytest.mark.parametrize("head", [False, True])
def test_questions_without_an_answer_have_their_share_of_the_loss(
    head: bool, tmp_path: Path
) -> None:
    features = build_features(with_impossible())
    network = replace(small_config(CrossConvConfig()), no_answer_hidden=6 * head)
    config = VocabularyConfig(word_count=1)
    vocabulary, _ = build_vocabulary(features.counts(), [], config, no_answer=not head)

    def loss(share: float) -> float:
        training = replace(READS_ALL, dropout_after=1, unanswerable_share=share)
        examples = usable_examples(features, vocabulary, training, unanswerable=head)
        assert (~examples.answerable(examples.rows)).float().mean().item() == pytest.approx(0.24)
        torch.manual_seed(0)
        reader = TorchModel.build("crossconv", network, vocabulary, torch.zeros(0, 8))
        return Trainer(reader, training, examples, Dataset((), ""), tmp_path).step()

    few, many = loss(0.1), loss(0.9)
    assert abs(few - many) > 0.1
    assert loss(0) == pytest.approx(loss(0.24)) == pytest.approx(few + 0.175 * (many - few))


def test_the_loss_of_the_head_has_its_weight(tmp_path: Path) -> None:
    features = build_features(with_impossible())
    network = replace(small_config(CrossConvConfig()), no_answer_hidden=6)
    vocabulary, _ = build_vocabulary(features.counts(), [], VocabularyConfig(word_count=1))

    def step(weight: float) -> tuple[float, torch.Tensor]:
        """The loss of a step of SGD at rate 1, and what it adds to the head's last bias."""
        training = replace(
            READS_ALL, dropout_after=1, optimiser="sgd", learning_rate=1.0, schedule="constant",
            warmup_steps=0, precision="fp32", no_answer_weight=weight,
        )  # fmt: skip
        examples = usable_examples(features, vocabulary, training, unanswerable=True)
        torch.manual_seed(0)
        reader = TorchModel.build("crossconv", network, vocabulary, torch.zeros(0, 8))
        bias = reader.network.get_parameter("no_answer.output.bias")
        before = bias.detach().clone()
        loss = Trainer(reader, training, examples, Dataset((), ""), tmp_path).step()
        return loss, bias.detach() - before

    none, once, thrice = map(step, (0.0, 1.0, 3.0))
    assert thrice[0] - none[0] == pytest.approx(3 * (once[0] - none[0]), rel=1e-4)
    assert once[0] > none[0] + 0.1
    torch.testing.assert_close(thrice[1], 3 * once[1])
    assert not none[1].any()


def test_a_share_of_what_is_not_there_is_refused() -> None:
    features = build_features(dataset())
    vocabulary, _ = build_vocabulary(features.counts(), [], VocabularyConfig(), no_answer=True)
    examples = usable_examples(features, vocabulary, READS_ALL)
    with pytest.raises(InputError, match="unanswerable_share needs questions with and without"):
        examples.weights(examples.rows, 0.3)


def test_it_learns_which_questions_have_no_answer(trained: tuple[Path, Files]) -> None:
    folder, files = trained
    predictor = Predictor.load(folder)
    assert predictor.model.vocabulary.no_answer
    threshold = predictor.model.no_answer_threshold
    assert json.loads((folder / "config.json").read_text())["no_answer_threshold"] == threshold
    right = 0
    for passage, question in read_squad(files.dev).questions:
        (reading,) = predictor.read_all([(question.text, passage.text)])
        assert 0 <= reading.no_answer <= 1
        (answer,) = reading.answers
        assert answer.text == passage.text[answer.start : answer.end] != ""
        given = predictor.answer(question.text, passage.text)
        assert given == (reading.answers if reading.no_answer <= threshold else [])
        right += bool(given) != question.impossible
    assert right >= 22  # of 25


def test_the_chance_of_no_answer_is_that_of_the_logits(trained: tuple[Path, Files]) -> None:
    reader = TorchModel.load(trained[0])
    predictor = Predictor(reader)
    passage, question = next(iter(with_impossible().questions))
    (reading,) = predictor.read_all([(question.text, passage.text)], top_k=3)
    table = WordTable(reader.vocabulary)
    asked, read = (table.number(tokenise(text).words) for text in (question.text, passage.text))
    with torch.no_grad():
        start, end, _ = reader.network(collate(table, [read], [asked], [0]).tensors())
    best = float((start[0, 1:, None] + end[0, None, 1:]).triu().max())
    none = float(start[0, 0] + end[0, 0])
    chance = torch.tensor([none, best]).softmax(0)[0]
    assert reading.no_answer == pytest.approx(float(chance), abs=0.02)  # bfloat16
    score = torch.tensor(best) - start.logsumexp(1) - end.logsumexp(1)
    assert reading.answers[0].score == pytest.approx(float(score.exp()), abs=0.05)


def test_of_windows_the_one_that_believes_least_in_no_answer_counts() -> None:
    parts = PassageCache(1, 1).parts("Snow rain")
    one = np.array([0], np.int64)

    def window(part: int, score: float, none: tuple[float, float]) -> Found:
        side = np.array([score / 2], np.float32)
        best = Spans(one, one, np.array([score], np.float32))
        return Found(parts[part], side, side, best, None, score / 2, score / 2, None, *none)

    reading = merge("Snow rain", [window(0, 1.0, (4.0, 5.0)), window(1, 6.0, (2.0, 1.0))], 1)
    assert [(answer.text, answer.start) for answer in reading.answers] == [("rain", 5)]
    assert reading.no_answer == pytest.approx(1 / (1 + math.exp(6.0 - 3.0)))
    masses = [math.exp(none) + math.exp(0.5) + math.exp(3.0) for none in (2.0, 1.0)]
    assert reading.answers[0].score == pytest.approx(math.exp(6.0) / math.prod(masses))


def test_nothing_answers_from_a_blank_passage(trained: tuple[Path, Files]) -> None:
    predictor = Predictor.load(trained[0])
    assert predictor.answer("Who?", " ") == []
    assert next(predictor.read_all([("Who?", " ")])).no_answer == 1


def test_the_command_line_says_that_there_is_no_answer(
    trained: tuple[Path, Files], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, files = trained
    text = tmp_path / "text.txt"
    reader = TorchModel.load(folder)
    reader.no_answer_threshold = 0.0  # nothing is sure enough
    reader.save(tmp_path / "strict")
    text.write_text("A kite needs wind.")
    asked = ["answer", "What does a kite need?", "--passage", str(text), "--format", "json"]
    assert main([*asked, "--reader", str(tmp_path / "strict")]) in (0, None)
    output, errors = capsys.readouterr()
    record = json.loads(output)
    assert record["answers"] == []
    assert record["best_guess"]["text"] in text.read_text()
    assert record["best_guess"]["text"] in errors
    main([*asked, "--reader", str(tmp_path / "strict"), "--threshold", "0"])
    output, errors = capsys.readouterr()
    assert json.loads(output)["answers"] == [record["best_guess"]]
    assert errors == ""

    predictions, chances = tmp_path / "predictions.json", tmp_path / "na.json"
    options = ["--reader", str(folder)]
    files_out = ["--output", str(predictions), "--na-prob", str(chances)]
    main(["predict", str(files.dev), *options, *files_out])
    capsys.readouterr()
    main(["evaluate", str(files.dev), *options])
    scores = json.loads(capsys.readouterr().out)
    main(["evaluate", str(files.dev), "--predictions", str(predictions)])
    from_file = json.loads(capsys.readouterr().out)
    for name in ("exact", "f1", "HasAns_f1", "NoAns_f1"):
        assert scores[name] == from_file[name]
    assert scores["f1"] == pytest.approx(scores["best_f1"])


def test_a_compact_reader_keeps_its_threshold(trained: tuple[Path, Files]) -> None:
    reader = TorchModel.load(trained[0])
    reader.no_answer_threshold = 0.125
    assert keep_words(reader, 3).no_answer_threshold == 0.125


@pytest.fixture(scope="module")
def with_head(
    trained: tuple[Path, Files], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Files]:
    """A reader with a head for no answer, trained on from a reader without one."""
    folder, files = tmp_path_factory.mktemp("head"), trained[1]
    answerable = write_files(folder)
    spans, both = (
        RunConfig(
            "crossconv",
            CrossConvConfig(
                character_dim=4, character_filters=8, model_dim=32, feed_forward=32, layers=2,
                selector_hidden=8, no_answer_hidden=hidden,
            ),
            VocabularyConfig(word_count=1, character_count=2),
            TrainingConfig(
                epochs=40, batch_size=25, length_groups=1, learning_rate=0.01, schedule="linear",
                warmup_steps=4, precision="fp32", dropout_after=40, evaluations=0,
            ),
        )
        for hidden in (0, 8)
    )  # fmt: skip
    assert train_tiny(answerable, folder / "spans", spans) > 90
    assert not TorchModel.load(folder / "spans").tells_no_answer
    train_tiny(files, folder / "both", both, vectors=None, start=folder / "spans")
    return folder / "both", files


def test_a_head_is_learnt_beside_the_spans(with_head: tuple[Path, Files]) -> None:
    model = TorchModel.load(with_head[0])
    assert model.tells_no_answer
    assert not model.vocabulary.no_answer
    data = read_squad(with_head[1].train)
    pairs = [(question.text, passage.text) for passage, question in data.questions]
    readings = list(Predictor(model).read_all(pairs))
    told = [
        (reading.no_answer > 0.5) == question.impossible
        for reading, (_, question) in zip(readings, data.questions, strict=True)
    ]
    assert np.mean(told) > 0.85
    right = [
        f1(reading.answers[0].text, [answer.text for answer in question.answers]) > 0.5
        for reading, (_, question) in zip(readings, data.questions, strict=True)
        if question.answers
    ]
    assert np.mean(right) > 0.85


def test_without_unanswerable_questions_a_head_stays_as_it_is(
    with_head: tuple[Path, Files], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else it would learn from the others that all questions have an answer."""
    folder, files = with_head[0], write_files(tmp_path)
    old = TorchModel.load(folder)
    spoiling = run_config(epochs=3, optimiser="muon", weight_decay=0.1, l2=0.1)
    config = replace(spoiling, reader="crossconv", network=old.config)
    train_tiny(files, tmp_path / "run", config, vectors=None, start=folder)
    assert "the head that tells that there is none stays as it is" in capsys.readouterr().err
    given = RunFiles(train=(files.train,), start=folder)
    parameters = prepare(config, given).reader.network.named_parameters()
    for name, parameter in parameters:  # several processes wait for the gradients of all others
        assert parameter.requires_grad != name.startswith("no_answer.")
    trained = TorchModel.load(tmp_path / "run")
    assert old.no_answer_threshold < trained.no_answer_threshold == 1
    new = trained.network.state_dict()
    was = old.network.state_dict()
    changed = {name for name in was if not torch.equal(was[name], new[name])}
    assert changed
    assert not any(name.startswith("no_answer.") for name in changed)


def test_a_head_can_be_trained_alone(
    with_head: tuple[Path, Files], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, files = with_head
    old = TorchModel.load(folder)
    alone = run_config(epochs=3, evaluations=1, average=0.5, no_answer_alone=True)
    config = replace(alone, reader="crossconv", network=old.config)
    train_tiny(files, tmp_path / "run", config, vectors=None, start=folder)
    assert capsys.readouterr().err.endswith(" after epoch 3 of 3\n")
    new, was = TorchModel.load(tmp_path / "run").network.state_dict(), old.network.state_dict()
    changed = {name for name in was if not torch.equal(was[name], new[name])}
    assert changed
    assert all(name.startswith("no_answer.") for name in changed)
    _, groups = load_checkpoint(tmp_path / "run")
    assert all(torch.equal(new[name], groups["average"][name]) for name in groups["average"])
    with pytest.raises(InputError, match=r"no_answer_alone needs .* questions without an answer"):
        train_tiny(write_files(tmp_path), tmp_path / "no", config, vectors=None, start=folder)
