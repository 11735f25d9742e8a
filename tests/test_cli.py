"""The command line as a whole: help, mistakes, what is installed and what is written."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from calling import refused, run
from fabir.cli import build_parser, main
from fabir.data.dataset import Dataset
from fabir.data.squad import read_squad, write_squad
from fabir.files import writing
from fabir.terminal import printable
from factories import CONFIGS
from tiny import Files, dataset


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serve", "--token", "abc"], "--token abc; did you mean --token-file?"),
        (["serve", "--tokenfile=abc"], "--tokenfile=abc; did you mean --token-file?"),
        (
            ["compact", "--reader", "fast", "--output", "x"],
            "--reader; the model is named without it",
        ),
        (["export", "fast", "--output", "x"], "fast; did you mean --reader fast?"),
        (["ask", "Who", "rowed?", "--index", "x"], "rowed?; put the question in quotes"),
        (["readers", "--zzz"], "--zzz"),
        (["readers", "more", "words"], "more words"),
    ],
)
def test_what_a_command_does_not_take_is_said_with_its_name(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    command = f"fabir {arguments[0]}"
    line = f"{command}: unrecognised arguments: {said} (see {command} --help)\n"
    assert refused(capsys, *arguments) == line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["answer", "Who?", "--pasage", "x"],
            "the following arguments are required: --passage; did you mean --passage?",
        ),
        (
            ["answer", "Who?", "--reader=fast", "--pasage=x"],
            "the following arguments are required: --passage; did you mean --passage?",
        ),
        (["answer", "Who?", "--reader=x"], "the following arguments are required: --passage"),
        (
            ["answer", "Who?", "--passage", "x", "--top-k", "two"],
            "argument --top-k: 'two' is not a whole number",
        ),
    ],
)
def test_what_a_command_needs_is_said(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    command = f"fabir {arguments[0]}"
    assert refused(capsys, *arguments) == f"{command}: {said} (see {command} --help)\n"


@pytest.mark.parametrize(
    "command", [("make-negatives",), ("vary",), ("augment", "--command", "cat")]
)
def test_what_a_refusal_proposes_is_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: tuple[str, ...]
) -> None:
    data = Dataset(tuple(replace(p, title="one") for p in dataset().passages), "1.1")
    write_squad(data, tmp_path / "in.json")
    document = json.loads((tmp_path / "in.json").read_text())
    document["data"][0]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] += 1
    (tmp_path / "in.json").write_text(json.dumps(document))
    arguments = (*command, tmp_path / "in.json", "--output", tmp_path / "out.json")
    assert "--on-bad-answer skip or repair" in refused(capsys, *arguments)
    run(capsys, *arguments, "--on-bad-answer", "repair")
    assert len(read_squad(tmp_path / "out.json")) >= len(data)


def test_an_option_for_several_values_may_be_repeated() -> None:
    repeated = set()
    for name, parser in build_parser().commands.items():
        for each in parser._actions + parser._mutually_exclusive_groups:
            each.required = False
        for option in (each for each in parser._actions if each.option_strings):
            if option.nargs in ("+", "*"):
                flag = option.option_strings[-1]
                options, _ = parser.parse_known_args([flag, "a", "b", flag, "c"])
                assert [*map(str, getattr(options, option.dest))] == ["a", "b", "c"], flag
                repeated.add(f"{name} {flag}")
    assert repeated >= {"serve --cors", "train --train", "predict --keep", "vary --kinds"}


def test_names_with_control_characters_leave_a_message_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = tmp_path / "rows.csv"
    table.write_text('"que\nstion",context\nWho?,Ada.\n')
    error = refused(capsys, "predict", table, "--output", tmp_path / "answers.csv")
    assert "only que\ufffdstion, context" in error
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "Who?", "context": "Ada."}\n')
    main(["predict", str(rows), "--output", str(tmp_path / "answers.csv"), "--keep", "\x1b\n"])
    assert 'has no "\ufffd\ufffd"; rows without it get none' in capsys.readouterr().err
    assert printable("\ud83d\x1b\udce9") == "\ufffd" * 3


def test_unknown_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--detial" in refused(capsys, "readers", "--detial", "fabir")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("answr", "; did you mean answer?"), ("Train", "; did you mean train?"), ("quux", "")],
)
def test_an_unknown_command_is_refused_with_the_nearest(
    capsys: pytest.CaptureFixture[str], name: str, hint: str
) -> None:
    line = f"fabir: there is no command {name!r}{hint} (see fabir --help)\n"
    assert refused(capsys, name, "--passage", "p.txt") == line
    assert refused(capsys, "help", name) == line


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(*arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(list(arguments))
        out, err = capsys.readouterr()
        return stopped.value.code, out, err

    _, commands, _ = shown("--help")
    assert "Finds the answer" in commands
    assert shown("help") == (0, commands, "")
    assert shown() == (2, "", commands)
    assert shown("help", "answer") == shown("answer", "--help")
    assert shown("answer", "--help")[1].startswith("usage: fabir answer ")


def test_help_does_not_wait_for_torch() -> None:
    code = (
        "import sys\nfrom fabir.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def required_by(package: str) -> set[str]:
    """The packages that an installation of this one brings, without extras."""
    found, waiting = set[str](), [package]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        try:
            needed = map(Requirement, metadata.requires(name) or ())
        except metadata.PackageNotFoundError:  # another system's
            continue
        found.add(name)
        waiting += [it.name for it in needed if not it.marker or it.marker.evaluate({"extra": ""})]
    return found


def test_without_extras_the_bundled_reader_answers_and_others_say_what_is_missing(
    reader: Path, passage: Path, tmp_path: Path
) -> None:
    installed = required_by("fabir")
    lacking = {
        module
        for module, packages in metadata.packages_distributions().items()
        if installed.isdisjoint(map(canonicalize_name, packages))
    }
    assert {"torch", "fastapi"} <= lacking

    def run(*arguments: object) -> tuple[int, str]:
        hidden = f"import sys; sys.modules |= dict.fromkeys({sorted(lacking)})"
        command = [sys.executable, "-c", f"{hidden}; from fabir.cli import main; main()"]
        command += map(str, arguments)
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stderr

    answer = "answer", "What pulls?", "--passage", passage
    assert run(*answer) == (0, "")
    train = (
        "train",
        CONFIGS[0],
        "--train",
        "t",
        "--dev",
        "d",
        "--vectors",
        "v",
        "--output",
        tmp_path,
    )
    for command in (["readers"], train, [*answer, "--reader", reader]):
        code, err = run(*command)
        assert code == 2
        assert err.count("\n") == 1
        assert "torch" in err
        assert "pip install 'fabir[train]'" in err
    assert "there is no folder" in run(*answer, "--reader", tmp_path / "none")[1]


@pytest.mark.parametrize(
    "command", ["predict", "train", "compact", "export", "calibrate", "analyse"]
)
def test_what_another_process_is_writing_is_refused(
    command: str, tmp_path: Path, reader: Path, files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / ("out.jsonl" if command == "predict" else "out")
    data = "--train", files.train, "--dev", files.dev, "--vectors", files.vectors
    options = {
        "predict": [files.dev, "--output", output, "--resume"],
        "train": ["crossconv", *data, "--output", output],
        "compact": [reader, "--output", output],
        "export": ["--reader", reader, "--output", output],
        "calibrate": [reader, "--data", files.dev],
        "analyse": [files.dev, "--reader", reader, "--output", output],
    }
    written = reader if command == "calibrate" else output
    with writing(written):
        said = refused(capsys, command, *options[command])
    assert f"another process is writing {written}" in said
    assert not output.exists()
