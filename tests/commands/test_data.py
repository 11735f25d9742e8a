"""Commands that make data: what they write, and what they refuse before that."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from calling import refused, run
from fabir.cli import main
from fabir.data.dataset import Dataset
from fabir.data.squad import read_squad, write_squad
from tiny import Files, dataset, write_config

AUGMENT = ("augment", "--command", "cat")


@pytest.mark.parametrize("command", [("convert",), ("make-negatives",), AUGMENT, ("vary",)])
def test_what_is_read_is_not_written_over(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, link = tmp_path / "data.json", tmp_path / "link.json"
    if command == ("convert",):
        data = tmp_path / "data.csv"
        data.write_text("question,passage,answer\nWho?,Ada did.,Ada\n")
    else:
        write_squad(dataset(), data)
    link.symlink_to(data)
    before = data.read_bytes()
    for output in (data, link):
        error = refused(capsys, *command, data, "--output", output)
        assert f"{output} is read, and would be written over: name another file" in error
        assert data.read_bytes() == before


@pytest.mark.parametrize("command", [("make-negatives",), AUGMENT, ("vary",)])
def test_a_seed_below_0_is_refused(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output = tmp_path / "data.json", tmp_path / "output.json"
    write_squad(dataset(), data)
    error = refused(capsys, *command, data, "--output", output, "--seed", "-1")
    assert "the seed must be at least 0, not -1" in error
    assert not output.exists()


@pytest.mark.parametrize("ratio", ["inf", "nan", "0"])
def test_a_ratio_must_be_a_number_above_0(
    ratio: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output = tmp_path / "data.json", tmp_path / "output.json"
    write_squad(dataset(), data)
    error = refused(capsys, "make-negatives", data, "--output", output, "--ratio", ratio)
    assert "the ratio of negatives must be above 0" in error


def test_convert_then_evaluate(
    capsys: pytest.CaptureFixture[str], reader: Path, tmp_path: Path
) -> None:
    table, output = tmp_path / "table.csv", tmp_path / "squad.json"
    table.write_text('question,passage,answer\nWhat falls?,"Rain, rain.",RAIN\nWho?,Rain.,\n')
    main(["convert", str(table), "--output", str(output)])
    out, err = capsys.readouterr()
    assert out == ""
    assert "row 1: 'RAIN' is 'Rain' in the passage" in err
    assert "2 questions about 2 passages, 1 of them unanswerable" in err
    assert json.loads(run(capsys, "evaluate", output, "--reader", reader))["total"] == 2
    table.write_text("question,passage\nWhat?,Rain.\n")
    said = refused(capsys, "convert", table, "--output", output)
    assert 'has no column "answer", only question, passage' in said
    line = refused(capsys, "convert", table, "--output", output, "--supporting")
    assert "only --separator and --on-bad-row go with a table" in line
    line = refused(capsys, "convert", table, "--output", tmp_path / "squad.parquet")
    assert "squad.parquet: SQuAD data is written: name a .json or .json.gz file" in line


def test_convert_a_published_file_then_evaluate(
    capsys: pytest.CaptureFixture[str], reader: Path, tmp_path: Path
) -> None:
    published, output = tmp_path / "hotpot.json", tmp_path / "squad.json.gz"
    paragraphs = [["Rain", ["Rain falls from clouds.", " It is wet."]], ["Snow", ["It is white."]]]
    known = {"question": "Where from?", "supporting_facts": [["Rain", 0]], "context": paragraphs}
    answers = "clouds", "yes", "hail"
    records = [{"_id": each, "answer": each, **known} for each in answers]
    published.write_text(json.dumps(records))
    convert = ("convert", published, "--output", output)
    main([str(word) for word in (*convert, "--supporting", "--max-words", 100)])
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "1 questions of HotpotQA, 0 of them unanswerable; left out: 1 with the answer yes or no, "
        "1 with no answer in the text; 0 bad records\n"
    )
    assert json.loads(run(capsys, "evaluate", output, "--reader", reader))["total"] == 1
    assert "--split is for NewsQA" in refused(capsys, *convert, "--split", "dev")
    assert "--separator goes with a table" in refused(capsys, *convert, "--separator", ";")
    assert "--max-words must be at least 0" in refused(capsys, *convert, "--max-words", -1)


def test_augment_then_train_on_a_mix(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    more = tmp_path / "more.json"
    program = ("--command", "sed 's/kite/drone/; s/wind/air/; s/1871/then/'")
    run(capsys, "augment", files.train, "--output", more, *program)
    made = read_squad(more)
    assert "A drone needs air, a tail and a string." in [p.text for p in made.passages]
    assert 0 < len(made) < len(dataset())  # "1871", an answer, is not there any more
    config = write_config(tmp_path / "config.yaml", epochs=1, mix=[2, 1])
    start = ("--train", files.train, more, "--dev", files.dev, "--vectors", files.vectors)
    run(capsys, "train", config, *start, "--output", tmp_path / "run")
    line = refused(capsys, "augment", files.train, "--output", tmp_path / "x", "--command", "false")
    assert "'false' failed (1)" in line
    assert not (tmp_path / "x").exists()
    assert "one of the arguments" in refused(capsys, "augment", files.train, "--output", more)
    line = refused(capsys, *AUGMENT, files.train, "--output", more, "--candidates", 5)
    assert "--candidates goes with --models" in line


def test_make_negatives_writes_squad_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = Dataset(tuple(replace(p, title="one") for p in dataset().passages), "1.1")
    write_squad(data, tmp_path / "in.json")
    output = tmp_path / "out.json.gz"
    run(capsys, "make-negatives", tmp_path / "in.json", "--output", output, "--ratio", 1)
    made = read_squad(output)
    assert made.has_unanswerable
    assert sum(q.impossible for _, q in made.questions) == len(data)
    line = refused(capsys, "make-negatives", tmp_path / "in.json", "--output", output, "--ratio", 0)
    assert "above 0" in line


def test_vary_writes_variants_and_says_how_many(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    output = tmp_path / "out.json.gz"
    options = ("--copies", 2, "--vectors", files.vectors, "--seed", 1, "--output")
    main([str(option) for option in ("vary", files.train, *options, output)])
    out, err = capsys.readouterr()
    assert out == ""
    made = read_squad(output)
    assert made.version == "v2.0"
    total, *_ = err.splitlines()[-2].split(" variants: ")
    assert int(total) == len(made)
    counts = [int(word) for word in err.splitlines()[-2].split(": ")[1].split() if word.isdigit()]
    assert sum(counts) == len(made)
    varied = {q.id.rsplit("-", 2)[0] for _, q in made.questions}
    without = len(dataset()) - len(varied)
    assert f"{without} of {len(dataset())} questions have none" in err
    again = tmp_path / "again.json.gz"
    main([str(option) for option in ("vary", files.train, *options, again)])
    assert again.read_bytes() == output.read_bytes()


def test_vary_refuses_in_a_line(
    capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path
) -> None:
    vary = ("vary", files.train, "--output", tmp_path / "out.json")
    assert "unknown kind 'turned'" in refused(capsys, *vary, "--kinds", "moved", "turned")
    assert "at least 1" in refused(capsys, *vary, "--copies", 0)
    assert "--vectors: the name is empty" in refused(capsys, *vary, "--vectors", "")
    augment = ("augment", files.train, "--output", tmp_path / "out.json")
    assert "--command: it is empty" in refused(capsys, *augment, "--command", "")
    assert "no vector file" in refused(capsys, *vary, "--vectors", tmp_path / "none.txt")
    assert "cannot write" in refused(capsys, "vary", files.train, "--output", tmp_path)
    assert not (tmp_path / "out.json").exists()
