"""The pages of docs, and the README: their commands and their Python run, and print what is shown.

A fenced block `sh` or `python` is run, all of a page in one folder, which begins with `examples/`
and the page's FILES. A block `output` directly after it is what it prints, errors included; there
`...` stands for anything. A block may fail if its output is shown. Commands of NOT_RUN are not run,
but those of fabir must fit its parser. A block `console` has commands after `$ `, each with what it
prints; these are run always. In a block `shell-session` a command stands after `$ `, or after `# `
for root, and is run like one of a block `sh`. A service runs until the page starts another one.
"""

import contextlib
import doctest
import gzip
import io
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from collection import write_pdf_pages
from fabir.cli import build_parser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
LANGUAGES_WITH_PROMPTS = {"console": "console", "shell-session": "sh"}
LANGUAGES = {"sh", "python", *LANGUAGES_WITH_PROMPTS}
PORT = "8000"  # in the pages; the tests take a free one

SLOW = {"adapters.md", "training.md"}  # import large packages

# What a command has that is not run, and why.
NOT_RUN = {
    r"^pip |^git |^npm |^fabir download": "fetches from the network",
    r"data/|train-v1\.1|dev-v1\.1|glove\.6B|hotpot_|newsqa|wikipedia-train": "needs a data set",
    r"runs/|held-back\.json|fine-tune\.yaml": "needs a model that was trained",
    r"^(OMP_NUM_THREADS=1 )?fabir (train|find-lr|reproduce)": "trains; tests/training does that",
    r"^(torchrun|accelerate)": "starts processes on several machines",
    r"s3://": "needs a store",
    r"--engine ray": "starts a cluster; tests/bulk does that",
    r"^pytest": "would run these tests",
    r"\.\.\.$": "is shortened",
    r"^fabir export .*--web": "fetches from the network; tests/web does that",
    r"^python -m http\.server": "serves until it is stopped",
    r"^fabir (explain|plot)": "draws for seconds; tests/explain and tests/test_plots.py do that",
    r"^docker |^export SITE": "needs docker; tests/serve/test_deployment.py does that",
    r"^curl https://": "needs a site",
    r"/opt/|/etc/|^systemctl": "needs root",
    r"^kill -HUP PID": "has no number; tests/serve/test_run.py does that",
    r"wheelhouse|^python3 -m venv fabir": "needs packages from the network",
}
# Blocks of Python that are not run: the page and a word of the block, and why.
NOT_RUN_PYTHON = {
    ("add-a-reader.md", ""): "followed by tests/test_add_a_reader.py",
    ("bulk.md", "pyspark"): "starts Spark, which needs Java",
    ("your-own-data.md", "held-back.json"): "needs a data set",
    ("your-own-data.md", "push_to_hub"): "needs the hub; tests/runtime/test_hub.py does that",
}
ROWS = '{"id": 1, "question": "When did it open?", "context": "The bridge opened in 1887."}\n'
ORDERS = """order,q,text,price
7,Who built the mill?,The mill was built in 1843 by Ada Lovelace.,1.5
8,When was the mill built?,The mill was built in 1843 by Ada Lovelace.,2
"""
LABELLED = """question,context,answer
Who built the mill?,The mill was built in 1843 by Ada Lovelace.,Ada Lovelace
"""
COLUMNS = "question,context\nWhen did it open?,The bridge opened in 1887.\n"
MILL = "The mill was built in 1834 by Ida Strand.\n"
# Files that a page speaks of as the reader's own.
FILES = {
    "bulk.md": {
        "rows.jsonl": ROWS,
        "orders.csv": ORDERS,
        "labelled.csv": LABELLED,
        "january.csv": COLUMNS,
        "february.csv": COLUMNS,
    },
    "search.md": {"notes/mill.txt": MILL, "questions.txt": "When was the mill built?\n"},
}


@dataclass(frozen=True)
class Block:
    """A fenced block: its code, the output that is shown, if any, and the line it begins at."""

    language: str
    code: str
    output: str | None
    line: int


@dataclass
class Run:
    """What a page's blocks share."""

    folder: Path
    namespace: dict[str, Any] = field(default_factory=dict)
    service: subprocess.Popen[bytes] | None = None
    port: str = ""


def blocks(page: Path) -> Iterator[Block]:
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        assert token.info not in ("bash", "shell"), f"{page}: write ```sh"
        if token.type != "fence" or token.info not in LANGUAGES:
            continue
        assert token.map
        line = token.map[0] + 1
        if token.info in LANGUAGES_WITH_PROMPTS:
            for asked, shown in divide(token.content):
                yield Block(LANGUAGES_WITH_PROMPTS[token.info], asked, shown, line)
        else:
            shown = after.content if after and after.info == "output" else None
            yield Block(token.info, token.content, shown, line)


def divide(console: str) -> list[tuple[str, str]]:
    """The commands of a block with prompts, each with what it prints."""
    return re.findall(r"^[$#] ((?:.*\\\n)*.*\n)((?:(?![$#] ).*\n)*)", console, re.MULTILINE)


def commands(code: str) -> list[str]:
    """The commands of a block, each whole: with its continued lines or its here-document."""
    whole = re.compile(r"[^\n]*<<'?(\w+)'?\n.*?\n\1\n|(?:[^\n]*\\\n)*[^\n]*\n", re.DOTALL)
    lines = code.replace(" && ", "\n")  # bash -e stops at the first that fails too
    return [match[0] for match in whole.finditer(lines) if match[0].strip()]


def is_run(command: str) -> bool:
    return not any(re.search(pattern, command, re.MULTILINE) for pattern in NOT_RUN)


def check_arguments(command: str) -> None:
    """A command of fabir that is not run has arguments that its parser takes."""
    words = shlex.split(command.replace("\\\n", ""), comments=True)
    if words[:1] != ["fabir"] or set(words) & {"|", "&&", "&", ">", "<", "..."}:
        return
    options, rest = build_parser().parse_known_args(words[1:])
    assert options.command_name in ("train", "find-lr") or not rest, command


def free_port() -> str:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return str(listening.getsockname()[1])


def serve(command: str, run: Run) -> str:
    """Start a service beside the page, and wait until it listens; what it says on stderr."""
    stop(run)
    with tempfile.TemporaryFile("a+") as said:
        run.service = subprocess.Popen(
            ["bash", "-c", f"exec env {command.strip().removesuffix('&')}"],
            cwd=run.folder,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        for _ in range(600):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", int(run.port))).close()
                said.seek(0)
                if text := said.read():
                    return text.replace(f":{run.port}", f":{PORT}")
            assert run.service.poll() is None, f"{command} has ended"
            time.sleep(0.1)
    raise AssertionError(f"{command} does not listen")


def stop(run: Run) -> None:
    if run.service:
        run.service.send_signal(signal.SIGTERM)
        run.service.wait(30)
        run.service = None


def run_shell(block: Block, run: Run) -> str | None:
    """What the commands print; None if none of them is run to its end."""
    script, printed = "", None
    for command in commands(block.code):
        if block.language == "sh" and not is_run(command):
            check_arguments(command)
        elif re.match(r"(\w+=\S+ )*fabir serve\b", command):
            printed = finish(script, block, run)
            script = ""
            printed += serve(command.replace(PORT, run.port), run)
        else:
            script += command
    return finish(script, block, run) if script else printed


def finish(script: str, block: Block, run: Run) -> str:
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script.replace(f":{PORT}", f":{run.port}")],
        cwd=run.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 or block.output is not None, done.stdout
    return done.stdout.replace(f":{run.port}", f":{PORT}")


def run_python(block: Block, run: Run, page: Path) -> str:
    printed = io.StringIO()
    source = "\n" * block.line + block.code.replace(f":{PORT}", f":{run.port}")
    code = compile(source, str(page), "exec")
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("default")
        try:
            exec(code, run.namespace)
        except ModuleNotFoundError as error:
            pytest.skip(f"{page.name}, line {block.line} needs {error.name}")
    return printed.getvalue()


def same(shown: str, printed: str) -> bool:
    """Whether it is what is shown, but for progress, of which a quick machine prints nothing."""
    progress = r"^(.* left|[\d,]+ of [\d,]+ files, .*)\n"
    printed = re.sub(progress, "", printed, flags=re.MULTILINE)
    return doctest.OutputChecker().check_output(
        shown.strip() + "\n", printed.strip() + "\n", doctest.ELLIPSIS
    )


def python_is_run(block: Block, page: Path) -> bool:
    return not any(page.name == name and word in block.code for name, word in NOT_RUN_PYTHON)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    ignored = shutil.ignore_patterns("__pycache__")  # the tests of examples leave it
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=ignored)
    (tmp_path / "trained").symlink_to(ROOT / "trained")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    started = Run(tmp_path, port=free_port())
    yield started
    stop(started)


def write_files(page: Path, folder: Path) -> None:
    for name, text in FILES.get(page.name, {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if page.name == "search.md":
        write_pdf_pages(folder / "manual.pdf", ["BT /F1 12 Tf 72 720 Td (Oil the mill.) Tj ET"])
    if page.name == "bulk.md":
        write_tables(folder)


def write_tables(folder: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow.json").read_json(folder / "rows.jsonl")
    (folder / "parts").mkdir()
    for name in ("rows.parquet", "parts/2024-01.parquet", "parts/2024-02.parquet"):
        parquet.write_table(table, folder / name)
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(ROWS.encode()))


def case(page: Path) -> Any:
    marks = [pytest.mark.slow] if page.name in SLOW else []
    return pytest.param(page, marks=marks, id=page.relative_to(ROOT).as_posix())


@pytest.mark.parametrize("page", [case(page) for page in PAGES])
def test_blocks_run_and_print_what_is_shown(page: Path, run: Run) -> None:
    write_files(page, run.folder)
    for block in blocks(page):
        python = block.language == "python"
        if python and not python_is_run(block, page):
            continue
        printed = run_python(block, run, page) if python else run_shell(block, run)
        assert printed is None or block.output is None or same(block.output, printed), (
            f"{page.name}, line {block.line} prints:\n{printed}\nnot:\n{block.output}"
        )


def test_what_is_not_run_is_needed() -> None:
    shell = [block.code for page in PAGES for block in blocks(page) if block.language == "sh"]
    lines = [line for code in shell for line in commands(code)]
    for pattern in NOT_RUN:
        assert any(re.search(pattern, line, re.MULTILINE) for line in lines), pattern


def test_a_continued_line_is_no_argument() -> None:
    check_arguments("fabir evaluate data.json \\\n    --reader runs/fabir\n")
