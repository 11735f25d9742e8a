"""From files to a folder: what `fabir train` refuses, reports and passes on."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from fabir.answer.predictor import Predictor
from fabir.data.dataset import Answer, Dataset, Passage, Question
from fabir.data.squad import write_squad
from fabir.errors import InputError
from fabir.explain.page import explain
from fabir.readers.crossconv import CrossConvConfig
from fabir.runtime.locate import BUNDLED
from fabir.runtime.store import VOCABULARY, WORDS
from fabir.runtime.torch_model import TorchModel
from fabir.text.vectors import read_vectors
from fabir.text.vocabulary import VocabularyConfig
from fabir.training.checkpoint import load_checkpoint, save_checkpoint
from fabir.training.inputs import RunFiles
from fabir.training.loop import Trainer
from fabir.training.run import prepare
from fabir.training.settings import VectorsConfig
from factories import small_reader
from tiny import Files, dataset, run_config, train_tiny

CONFIG = run_config(epochs=1)


def spoiled(files: Files, folder: Path) -> Files:
    """Files in which the answers "1871" and "sugar" are said to be where they are not."""
    text = files.train.read_text()
    for answer in ("1871", "sugar"):
        begin = text.index('"answer_start": ', text.index(f'"text": "{answer}"'))
        end = text.index("}", begin)
        text = text[:begin] + '"answer_start": 2' + text[end:]
    train = folder / "spoiled.json"
    train.write_text(text)
    return replace(files, train=train)


def test_a_run_reports_what_it_cannot_use(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    best = train_tiny(files, tmp_path / "run", CONFIG)
    assert 0 <= best <= 100
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("19 questions; 0 answers do not fall on word borders")


def test_a_run_ends_with_its_best_evaluation(
    files: Files,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = iter([{"exact": 20.0, "f1": 30.04}, {"exact": 60.0, "f1": 20.0}])
    monkeypatch.setattr("fabir.training.loop.dev_scores", lambda *_: next(scores))
    config = run_config(epochs=2)
    train_tiny(files, tmp_path, config)
    errors = capsys.readouterr().err
    assert re.search(r" questions/s  0:00:\d\d left\n", errors)
    assert errors.endswith(f"{tmp_path}: F1 30.0, EM 20.0 after epoch 1 of 2\n")


def test_a_finished_run_says_so_before_anything_is_read(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    best = train_tiny(files, tmp_path, CONFIG)
    capsys.readouterr()
    gone = replace(files, train=Path("gone"), dev=Path("gone"))
    assert train_tiny(gone, tmp_path, CONFIG, resume=True) == best
    assert capsys.readouterr().err == f"{tmp_path} is trained to its end (1 epoch)\n"


def test_a_run_that_was_never_evaluated_is_not_finished_by_fewer_epochs(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Trainer.step

    def dying(self: Trainer, *rows: Any) -> Any:
        if self.progress.epoch == 1:
            raise KeyboardInterrupt
        return step(self, *rows)

    monkeypatch.setattr(Trainer, "step", dying)
    settings: dict[str, Any] = {"evaluations": 0, "checkpoint_minutes": 0}
    with pytest.raises(KeyboardInterrupt):
        train_tiny(files, tmp_path, run_config(epochs=3, **settings))
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"nothing was evaluated yet.*training\.epochs 2 or more"):
        train_tiny(files, tmp_path, run_config(epochs=1, **settings), resume=True)
    assert train_tiny(files, tmp_path, run_config(epochs=2, **settings), resume=True) > 0


def test_processes_are_not_counted_twice(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(InputError, match="counted twice: by the launcher and by --processes"):
        train_tiny(files, tmp_path, CONFIG, processes=2)


def test_vectors_that_do_not_fit_are_found_before_questions_are_read(
    files: Files, tmp_path: Path
) -> None:
    gone = replace(files, train=Path("gone"))
    config = run_config({"heads": 3, "model_dim": 18}, epochs=1)
    with pytest.raises(InputError, match=r"3 do not divide 16; take vectors of 100 dimensions, or"):
        train_tiny(gone, tmp_path / "run", config)
    assert not (tmp_path / "run").exists()


def test_a_model_answers_with_the_tokeniser_it_was_trained_with(
    files: Files, tmp_path: Path
) -> None:
    """NLTK leaves "well-known" one word; our own tokeniser divides it."""
    words = replace(CONFIG.vocabulary, tokeniser="nltk")
    train_tiny(files, tmp_path / "run", replace(CONFIG, vocabulary=words))
    predictor = Predictor.load(tmp_path / "run")
    assert predictor.model.vocabulary.tokeniser == "nltk"
    passage = 'The "well-known" bees.'
    places = []
    for model in (predictor.model, small_reader()):
        found = next(Predictor(model, max_words=1).read_all([("Who?", passage)], top_k=20)).answers
        places.append({end for answer in found for end in (answer.start, answer.end)})
        assert all(answer.text == passage[answer.start : answer.end] for answer in found)
    dash = passage.index("-")
    assert dash in places[1]
    assert dash not in places[0]
    model = TorchModel.load(tmp_path / "run")
    assert explain(model, "Who?", passage).words[1:3] == ['"', "well-known"]
    refused = "has the tokeniser nltk: train with --vocabulary"
    with pytest.raises(InputError, match=refused):
        train_tiny(files, tmp_path / "start", CONFIG, start=tmp_path / "run")
    with pytest.raises(InputError, match=refused):
        train_tiny(files, tmp_path / "taught", CONFIG, teachers=(tmp_path / "run",))


@pytest.mark.parametrize("teachers", [(), (BUNDLED,)])
def test_a_file_is_read_by_no_more_teachers_than_there_are(
    files: Files, tmp_path: Path, teachers: tuple[Path, ...]
) -> None:
    wanted = rf"taught is \[2\], with {len(teachers)} teachers: name as many with --teacher"
    with pytest.raises(InputError, match=wanted):
        train_tiny(files, tmp_path / "run", run_config(taught=(2,)), teachers=teachers)
    assert not (tmp_path / "run").exists()


def test_bad_answers_are_treated_as_asked(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = spoiled(files, tmp_path)
    with pytest.raises(InputError, match="--on-bad-answer skip or repair"):
        train_tiny(bad, tmp_path / "error", CONFIG)
    assert not (tmp_path / "error").exists()
    capsys.readouterr()
    train_tiny(bad, tmp_path / "skip", CONFIG, on_bad_answer="skip")
    errors = capsys.readouterr().err
    assert "17 questions;" in errors
    assert "bad answer: 0-0: answer 1 '1871' is not at offset 2; dropped" in errors
    train_tiny(bad, tmp_path / "repair", CONFIG, on_bad_answer="repair")
    errors = capsys.readouterr().err
    assert "19 questions;" in errors
    assert errors.count("bad answer: ") == 2


def test_answers_inside_words_are_treated_as_asked(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "김민지가 서울에서 등대를 켰다."
    asked = [("누가 등대를 켰나?", "김민지"), ("어디에서 켰나?", "서울")]
    questions = tuple(
        Question(str(number), question, (Answer(answer, text.index(answer)),))
        for number, (question, answer) in enumerate(asked)
    )
    korean = replace(files, train=tmp_path / "korean.json")
    write_squad(Dataset((Passage(text, "", questions),), "1.1"), korean.train)
    with pytest.raises(InputError, match="--on-unaligned widen"):
        train_tiny(korean, tmp_path / "skip", CONFIG)
    count = "2 questions; 2 answers do not fall on word borders"
    assert f"{count}, which leaves 2 questions without" in capsys.readouterr().err
    train_tiny(korean, tmp_path / "widen", CONFIG, on_unaligned="widen")
    errors = capsys.readouterr().err
    assert f"{count} and are widened to whole words, which leaves 0 questions without" in errors
    assert "--on-unaligned" not in errors


def test_a_dev_file_may_have_bad_answers(files: Files, tmp_path: Path) -> None:
    dev = spoiled(files, tmp_path).train
    train_tiny(replace(files, dev=dev), tmp_path / "run", CONFIG)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert any("f1" in json.loads(line) for line in lines)


def test_the_vocabulary_comes_from_the_training_file_and_the_vectors(
    files: Files, tmp_path: Path
) -> None:
    train_tiny(files, tmp_path / "run", CONFIG)
    reader = TorchModel.load(tmp_path / "run")
    vectors = read_vectors(files.vectors)
    assert reader.vocabulary.fixed == tuple(vectors.words)
    assert set(reader.vocabulary.trained).isdisjoint(vectors.words)
    expected = torch.from_numpy(vectors.matrix.copy()).half().float()
    torch.testing.assert_close(reader.fixed_rows, expected, rtol=0, atol=0)


@pytest.mark.parametrize(("dim", "said"), [(0, False), (8, False), (300, True)])
def test_vectors_of_another_dimension_are_reported(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str], dim: int, said: bool
) -> None:
    config = replace(CONFIG, vectors=VectorsConfig(dim=dim))
    train_tiny(files, tmp_path / "run", config)
    line = f"the vectors in {files.vectors} have 8 dimensions, the configuration is meant for 300"
    assert (line in capsys.readouterr().err) is said


def test_vectors_that_no_file_of_a_model_holds_are_refused(files: Files, tmp_path: Path) -> None:
    word, _, numbers = Path(files.vectors).read_text().splitlines()[3].partition(" ")
    large = tmp_path / "large.txt"
    large.write_text(
        Path(files.vectors).read_text().replace(f"{word} {numbers}", f"{word} 7e4{' 0' * 7}")
    )
    said = f"{large}: the vector of {word!r} has a number beyond 65504"
    with pytest.raises(InputError, match=re.escape(said)):
        train_tiny(replace(files, vectors=large), tmp_path / "run", CONFIG)


def test_a_folder_in_use_is_not_written_over(files: Files, tmp_path: Path) -> None:
    train_tiny(files, tmp_path, CONFIG)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match="add --resume to go on, or name another"):
        train_tiny(files, tmp_path, CONFIG)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_nothing_cannot_be_resumed(files: Files, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no checkpoint to resume: start without --resume"):
        train_tiny(files, tmp_path / "run", CONFIG, resume=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("changed", ["network", "vocabulary", "characters", "train", "vectors"])
def test_other_settings_or_files_cannot_be_resumed(
    files: Files, tmp_path: Path, changed: str
) -> None:
    train_tiny(files, tmp_path / "run", CONFIG)
    config, other = run_config(epochs=2), files
    if changed == "network":
        config = run_config({"dropout_input": 0.2}, epochs=2)
    elif changed == "vocabulary":
        config = replace(config, vocabulary=VocabularyConfig(word_count=0, character_count=2))
    elif changed == "characters":
        config = replace(config, vocabulary=replace(config.vocabulary, max_characters=3))
    elif changed == "train":
        train = tmp_path / "train.json"
        train.write_text(files.train.read_text().replace("flowers", "clovers"))
        other = replace(files, train=train)
    else:
        vectors = tmp_path / "vectors.txt"
        vectors.write_text(files.vectors.read_text().replace("0.1", "0.2", 1))
        other = replace(files, vectors=vectors)
    with pytest.raises(InputError, match="resume with the same ones"):
        train_tiny(other, tmp_path / "run", config, resume=True)


def test_other_characters_cannot_be_resumed_without_a_written_vocabulary(
    files: Files, tmp_path: Path
) -> None:
    """A run that was stopped at its start may have none."""
    run, reader = tmp_path / "run", small_reader()
    words = [tmp_path / "first", tmp_path / "second"]
    for folder in words:
        reader.save(folder)
        characters = reader.vocabulary.characters[::-1]
        reader.vocabulary = replace(reader.vocabulary, characters=characters)
    train_tiny(files, run, CONFIG, vectors=None, words=words[0])
    (run / VOCABULARY).unlink()
    options: dict[str, Any] = {"resume": True, "vectors": None}
    with pytest.raises(InputError, match="another network, vocabulary"):
        train_tiny(files, run, run_config(epochs=2), words=words[1], **options)
    train_tiny(files, run, run_config(epochs=2), words=words[0], **options)


@pytest.mark.parametrize("changed", ["train", "dev"])
def test_other_answers_cannot_be_resumed_unless_the_checkpoint_is_too_old_to_tell(
    files: Files, tmp_path: Path, changed: str
) -> None:
    run, config = tmp_path / "run", run_config(epochs=2)
    train_tiny(files, run, CONFIG)
    first, *others = dataset().passages
    asked = replace(first.questions[0], answers=(Answer("Ada", first.text.index("Ada")),))
    passages = (replace(first, questions=(asked, *first.questions[1:])), *others)
    path = tmp_path / "other.json"
    write_squad(Dataset(passages, "1.1"), path)
    other = replace(files, **{changed: path})
    with pytest.raises(InputError, match=r"with other answers, .* or another dev set"):
        train_tiny(other, run, config, resume=True)
    progress, groups = load_checkpoint(run)
    progress.settings = progress.settings.split(" answers ")[0]  # as older versions wrote it
    save_checkpoint(run, progress, groups)
    train_tiny(files, run, config, resume=True)
    with pytest.raises(InputError, match=r"with other answers, .* or another dev set"):
        train_tiny(other, run, run_config(epochs=3), resume=True)


def test_unlabelled_questions_are_left_out_and_counted(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_answers(chosen: slice) -> Path:
        records = json.loads(files.train.read_text())
        paragraphs = [each for article in records["data"] for each in article["paragraphs"]]
        for asked in [asked for each in paragraphs for asked in each["qas"]][chosen]:
            del asked["answers"]
        path = tmp_path / f"{chosen.stop}.json"
        path.write_text(json.dumps(records))
        return path

    some = without_answers(slice(0, 3))
    head = replace(CONFIG, reader="crossconv", network=CrossConvConfig(no_answer_hidden=4))
    ready = prepare(head, RunFiles(train=(some,), dev=files.dev, vectors=files.vectors))
    assert len(ready.examples.rows) == 16
    assert not ready.examples.has_unanswerable
    errors = capsys.readouterr().err
    assert errors.startswith(f"{some}: 3 of 19 questions have no `answers` and are left out\n16 q")
    none = RunFiles(train=(without_answers(slice(0, 99)),), vectors=files.vectors)
    with pytest.raises(InputError, match=r"its questions have no `answers` to train on$"):
        prepare(head, none)
    table = tmp_path / "asked.csv"
    table.write_text("question,context,answer\nWho rowed?,Lena rowed.,Lena\n")
    with pytest.raises(InputError, match=r"train on; `fabir convert` finds those of a column"):
        prepare(head, RunFiles(train=(table,), vectors=files.vectors))


@pytest.mark.parametrize(
    ("name", "was", "now", "line"),
    [
        ("average", 0.9, 0.0, "was trained with average: resume with it"),
        ("average", 0.0, 0.9, "was trained without average: resume without it"),
        ("word_rows", 2, 0, "was trained with word_rows 2: resume with as many"),
        ("word_rows", 0, 2, "was trained with word_rows 0: resume with as many"),
        ("word_rows", 2, 3, "was trained with word_rows 2: resume with as many"),
    ],
)
def test_what_a_checkpoint_lacks_or_has_cannot_change(
    files: Files, tmp_path: Path, name: str, was: float, now: float, line: str
) -> None:
    train_tiny(files, tmp_path, run_config(**{"epochs": 1, name: was}))
    after = run_config(**{"epochs": 2, name: now})
    with pytest.raises(InputError, match=line):
        train_tiny(files, tmp_path, after, resume=True)


@pytest.mark.parametrize("changed", [{"batch_size": 9}, {"length_groups": 3}, {"seed": 1}])
def test_an_epoch_goes_on_with_its_own_batches(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    """The first one too. Between epochs the number of batches alone is fixed."""
    other, step = run_config(epochs=2, **changed), Trainer.step

    def stopping(self: Trainer) -> float:
        if self.progress.step == 2:
            raise KeyboardInterrupt
        return step(self)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "step", stopping)
        with pytest.raises(KeyboardInterrupt):
            train_tiny(files, tmp_path / "run", run_config(epochs=1, checkpoint_minutes=0))
    with pytest.raises(InputError, match=r"with other batches: .* batch_size, mix, length_groups"):
        train_tiny(files, tmp_path / "run", other, resume=True)
    train_tiny(files, tmp_path / "run", CONFIG, resume=True)
    if "batch_size" in changed:
        with pytest.raises(InputError, match="with other batches"):
            train_tiny(files, tmp_path / "run", other, resume=True)
    else:
        train_tiny(files, tmp_path / "run", other, resume=True)


def test_as_many_rows_as_there_are_can_be_resumed(files: Files, tmp_path: Path) -> None:
    for epochs in (1, 2):
        config = run_config(epochs=epochs, word_rows=100_000)
        train_tiny(files, tmp_path, config, resume=epochs > 1)
    assert load_checkpoint(tmp_path)[0].epoch == 2


def test_a_checkpoint_of_other_weights_is_refused(files: Files, tmp_path: Path) -> None:
    train_tiny(files, tmp_path, CONFIG)
    progress, groups = load_checkpoint(tmp_path)
    groups["network"].popitem()
    save_checkpoint(tmp_path, progress, groups)
    with pytest.raises(InputError, match="was trained with other weights, perhaps by an older"):
        train_tiny(files, tmp_path, run_config(epochs=2), resume=True)


def test_a_dev_file_that_cannot_be_scored_is_refused_before_training(
    files: Files, tmp_path: Path
) -> None:
    passages = [replace(p, questions=()) for p in dataset().passages]
    write_squad(Dataset(tuple(passages), "1.1"), tmp_path / "dev.json")
    with pytest.raises(InputError, match="no questions to evaluate"):
        train_tiny(replace(files, dev=tmp_path / "dev.json"), tmp_path / "run", CONFIG)
    assert not (tmp_path / "run").exists()


def test_a_new_reader_needs_vectors(files: Files, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name them with --vectors"):
        train_tiny(files, tmp_path / "run", CONFIG, vectors=None)


def passages_twice(end: str) -> list[Passage]:
    """Those of the data, and once more with `end` behind their texts."""
    return [
        replace(
            each,
            text=each.text + end * copy,
            questions=tuple(replace(q, id=f"{copy}-{q.id}") for q in each.questions),
        )
        for copy in range(2)
        for each in dataset().passages
    ]


def test_a_passage_that_stands_twice_is_held_back_twice_or_not_at_all(tmp_path: Path) -> None:
    passages = passages_twice(" Again.")
    train = tmp_path / "rows.json"
    rows = [replace(each, questions=(q,)) for each in passages for q in each.questions]
    write_squad(Dataset(tuple(rows[::2] + rows[1::2]), "1.1"), train)
    files = RunFiles(train=(train,), hold_back=True)
    (trained,) = files.read_train()
    held = files.read_dev()
    assert len(held)
    assert len(trained) + len(held) == len(rows)
    assert not {each.text for each in held.passages} & {each.text for each in trained.passages}


def test_without_a_dev_file_a_tenth_of_the_passages_is_held_back(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passages = passages_twice(" Again.")
    train = tmp_path / "twice.json"
    write_squad(Dataset(tuple(passages), "1.1"), train)
    named = {"dev": None, "train": (train, files.train)}
    train_tiny(files, tmp_path / "run", CONFIG, **named)
    held = len(passages[9].questions)
    errors = capsys.readouterr().err
    assert f"without --dev {held} questions of {train} are held back to evaluate with" in errors
    assert f"{3 * 19 - held} questions; " in errors  # the second file is whole
    metrics = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(metrics[-1])["total"] == held
    train_tiny(files, tmp_path / "run", run_config(epochs=2), resume=True, **named)


def test_what_is_said_of_the_training_file_is_said_once(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = tmp_path / "twice.json"
    write_squad(Dataset(tuple(passages_twice(" Again.")), "2.0"), train)
    first, *others = train.read_text().split('"is_impossible": false')
    second, *others = others
    text = '"is_impossible": false'.join([second, *others])
    train.write_text(first + '"is_impossible": true' + text)
    records = json.loads(train.read_text())
    del records["data"][0]["paragraphs"][0]["qas"][1]["answers"]
    train.write_text(json.dumps(records))
    train_tiny(files, tmp_path / "run", CONFIG, train=(train,), dev=None)
    errors = capsys.readouterr().err
    assert errors.count("1 questions whose is_impossible contradicts") == 1
    assert errors.count("1 of 38 questions have no `answers`") == 1


def test_of_few_passages_none_is_held_back(files: Files, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has too few passages to hold back: name --dev"):
        train_tiny(files, tmp_path / "run", CONFIG, dev=None)
    assert not (tmp_path / "run").exists()


def weights(folder: Path) -> dict[str, Any]:
    return load_file(folder / "network.safetensors")


def test_a_reader_can_be_trained_on(files: Files, tmp_path: Path) -> None:
    train_tiny(files, tmp_path / "first", CONFIG)
    options = {"vectors": None, "start": tmp_path / "first"}
    # Other dropout is allowed; with no learning rate to speak of it stays the same reader.
    config = run_config({"dropout_input": 0.0}, epochs=1, learning_rate=1e-12, word_rows=5)
    train_tiny(files, tmp_path / "second", config, **options)
    first, second = weights(tmp_path / "first"), weights(tmp_path / "second")
    assert first.keys() == second.keys()
    for name in first:
        torch.testing.assert_close(first[name], second[name])
    moved = run_config(epochs=1, learning_rate=0.1, word_rows=5)
    train_tiny(files, tmp_path / "third", moved, **options)
    old, new = (TorchModel.load(tmp_path / name) for name in ("first", "third"))
    assert old.vocabulary == new.vocabulary
    assert not torch.equal(old.fixed_rows, new.fixed_rows)


def test_a_reader_of_another_size_cannot_be_trained_on(files: Files, tmp_path: Path) -> None:
    train_tiny(files, tmp_path / "first", CONFIG)
    with pytest.raises(InputError, match="has another network than the configuration"):
        train_tiny(
            files, tmp_path / "second", run_config({"model_dim": 8}), start=tmp_path / "first"
        )


def test_words_that_do_not_fit_a_reader_are_told(files: Files, tmp_path: Path) -> None:
    train_tiny(files, tmp_path / "first", CONFIG)
    model = TorchModel.load(tmp_path / "first")
    vocabulary, rows = model.vocabulary, model.fixed_rows
    others = {
        "know other characters": (replace(vocabulary, characters="x"), rows),
        f"have {rows.shape[1]} dimensions, and those of .* 2$": (vocabulary, rows[:, :2]),
    }
    for number, (message, (known, fixed)) in enumerate(others.items()):
        words = tmp_path / f"words {number}"
        TorchModel.build("fabir", CONFIG.network, known, fixed).save(words)
        with pytest.raises(InputError, match=message):
            train_tiny(files, tmp_path / "second", CONFIG, start=tmp_path / "first", words=words)


def test_readers_share_words(files: Files, tmp_path: Path) -> None:
    train_tiny(files, tmp_path / "first", run_config(epochs=1, learning_rate=0.1, word_rows=5))
    options = {"vectors": None, "words": tmp_path / "first"}
    config = run_config({"model_dim": 8}, epochs=2, learning_rate=0.1)
    with pytest.raises(InputError, match=r"set training\.word_rows to 0"):
        train_tiny(files, tmp_path / "second", run_config(word_rows=5), **options)
    train_tiny(files, tmp_path / "second", config, **options)
    longer = run_config({"model_dim": 8}, epochs=3, learning_rate=0.1)
    train_tiny(files, tmp_path / "second", longer, resume=True, **options)
    for folder in ("first", "second"):
        TorchModel.load(tmp_path / folder).save(tmp_path / f"small {folder}", small=True)
    for name in (VOCABULARY, WORDS):
        first, second = (tmp_path / f"small {folder}" / name for folder in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
    old, new = (TorchModel.load(tmp_path / name) for name in ("first", "second"))
    assert torch.equal(old.trained_rows, new.trained_rows)


def test_a_reader_goes_on_with_the_words_of_another(files: Files, tmp_path: Path) -> None:
    train_tiny(files, tmp_path / "first", run_config(epochs=1, learning_rate=0.1, word_rows=5))
    train_tiny(files, tmp_path / "second", run_config({"model_dim": 8}, epochs=1))
    options = {"vectors": None, "start": tmp_path / "second", "words": tmp_path / "first"}
    config = run_config({"model_dim": 8}, epochs=1, learning_rate=1e-9)
    train_tiny(files, tmp_path / "third", config, **options)
    first, second, third = (
        TorchModel.load(tmp_path / name) for name in ("first", "second", "third")
    )
    assert torch.equal(third.fixed_rows, first.fixed_rows)
    assert torch.equal(third.trained_rows, first.trained_rows)
    assert not torch.equal(third.trained_rows, second.trained_rows)
    weights = second.network.state_dict()
    for name, weight in third.network.state_dict().items():
        if not name.startswith("embedding.words."):
            torch.testing.assert_close(weight, weights[name], atol=1e-6, rtol=0)
    with pytest.raises(InputError, match="with --words or --from"):
        train_tiny(files, tmp_path / "fourth", config, vectors=None)
