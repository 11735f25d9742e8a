"""The commands that write files, run where they are killed or the disk is full. No tests here.

Each is run in a folder of its own, by a fork of a process that has imported all that they need.
"""

import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import filelock  # noqa: F401, for all forks, as all imports below that are not used
import jsonargparse  # noqa: F401
import pytest
import rich.progress  # noqa: F401
import torch
import torch._dynamo  # which models import when they are loaded, for seconds
from safetensors import safe_open

import fabir.bulk.run
import fabir.training.run  # noqa: F401
from bulk_rows import write_rows
from collection import KITES, RAIN, write_collection
from damage import THOROUGH
from fabir.bulk import rows
from fabir.cli import main
from fabir.runtime.torch_model import TorchModel
from factories import small_reader
from tiny import NETWORK, TRAINING, write_files

ROUNDS = 20 if THOROUGH else 0  # of each command; 0: few commands, and as many as are quick
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.chmod"}


@dataclass(frozen=True)
class Writer:
    """A command, and how it finds its folder.

    `{data}` in a command is the folder of `write_inputs`, `{here}` the command's own.

    Attributes:
        before: a command that wrote what is there; or none, and nothing is
        copy: an input that is copied to the folder, since the command changes it
        resume: an option with which it goes on, and the file whose existence allows that
        refused: what it says where its output is complete, if it replaces none
    """

    command: str
    before: str = ""
    copy: str = ""
    resume: tuple[str, str] = "", ""
    refused: str = ""

    def arguments(self, data: Path, here: Path) -> list[str]:
        option, needed = self.resume
        goes_on = [option] if option and list(here.glob(needed)) else []
        return [*self.command.format(data=data, here=here).split(), *goes_on]

    def prepare(self, data: Path, here: Path) -> None:
        here.mkdir(exist_ok=True)
        if self.copy:
            shutil.copytree(data / self.copy, here / self.copy)
        if self.before:
            done = run(self.before.format(data=data, here=here).split(), here)
            assert done.code == 0, done.said


_TRAIN = (
    "train {data}/config.json --train {data}/train.json --dev {data}/dev.json.gz --vectors "
    "{data}/vectors.txt --processes 1 --output {here}/run"
)
_INDEX = "index {data}/documents --output {here}/index"
_OTHER_ROWS = "convert {data}/table.csv --output {here}/"
WRITERS: Mapping[str, Writer] = {
    "index": Writer(_INDEX),
    "index again": Writer(_INDEX, before="index {data}/more --output {here}/index"),
    "index --update": Writer(
        "index {data}/documents {data}/more --update --output {here}/index", before=_INDEX
    ),
    **{
        f"predict {name}": Writer(
            f"predict {{data}}/rows.jsonl --reader {{data}}/reader --output {{here}}/{name}",
            resume=("--resume", "*.journal"),
        )
        for name in ("a.jsonl", "a.csv.gz", "a.parquet")
    },
    "predict a.json": Writer(
        "predict {data}/dev.json.gz --reader {data}/reader --output {here}/a.json "
        "--nbest {here}/nbest.json --na-prob {here}/na.json",
        before="predict {data}/train.json --reader {data}/reader --output {here}/a.json",
    ),
    "train": Writer(_TRAIN, resume=("--resume", "run/training.safetensors")),
    "compact": Writer("compact {data}/reader --output {here}/small", refused="another model"),
    "export": Writer("export --reader {data}/reader --output {here}/exported"),
    "export again": Writer(
        "export --reader {data}/reader --output {here}/exported",
        before="export --reader {data}/other --output {here}/exported",
    ),
    "calibrate": Writer("calibrate {here}/reader --data {data}/dev.json.gz", copy="reader"),
    "analyse": Writer("analyse {data}/dev.json.gz --reader {data}/reader --output {here}/report"),
    "analyse again": Writer(
        "analyse {data}/dev.json.gz --reader {data}/reader --output {here}/report",
        before="analyse {data}/dev.json.gz --reader {data}/other --output {here}/report",
    ),
    "convert": Writer(_OTHER_ROWS + "made.json"),
    "make-negatives": Writer(
        "make-negatives {data}/long.json --output {here}/made.json",
        before=_OTHER_ROWS + "made.json",
    ),
    "augment": Writer(
        "augment {data}/train.json --command cat --output {here}/made.json.gz",
        before=_OTHER_ROWS + "made.json.gz",
    ),
    "vary": Writer(
        "vary {data}/long.json --vectors {data}/vectors.txt --output {here}/made.json",
        before=_OTHER_ROWS + "made.json",
    ),
    "explain": Writer(
        "explain Who? --passage {data}/more/rain.txt --reader {data}/reader --output {here}/a.html"
    ),
    "plot": Writer("plot --positions --output {here}/a.png"),
}


def write_inputs(data: Path) -> None:
    """All that the commands read."""
    data.mkdir(exist_ok=True)
    write_collection(data / "documents")
    (data / "more").mkdir()
    (data / "more" / "rain.txt").write_text(RAIN * 50, "utf-8")
    (data / "more" / "kites.txt").write_text(KITES, "utf-8")
    write_rows(data / "rows.jsonl", 80)
    files = write_files(data)
    articles = json.loads(files.train.read_text("utf-8"))["data"]
    paragraphs = [paragraph for each in articles for paragraph in each["paragraphs"]]
    long = {"version": "1.1", "data": [{"title": "all", "paragraphs": paragraphs}]}
    (data / "long.json").write_text(json.dumps(long), "utf-8")
    (data / "table.csv").write_text("question,passage,answer\nWhat falls?,Rain falls.,Rain\n")
    config = {"reader": "fabir", "network": NETWORK}
    config["training"] = TRAINING | {"epochs": 2, "checkpoint_minutes": 0}
    (data / "config.json").write_text(json.dumps(config))
    for name in ("reader", "other"):
        model = small_reader()
        with torch.no_grad():
            for parameter in model.network.parameters():
                parameter.mul_(1 if name == "reader" else 1.5)
        model.save(data / name)
    for path in data.rglob("*"):  # an index knows files of the last seconds by content only
        os.utime(path, (1e9, 1e9))


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code, or minus a signal's number; and what it said."""

    code: int
    said: str
    seconds: float  # from its first write to its end
    writes: int


def run(
    arguments: list[str],
    here: Path,
    *,
    kill_write: int | None = None,
    kill_after: float | None = None,
    most_bytes: int | None = None,
) -> Done:
    """Run fabir.

    Args:
        here: the folder whose changes are counted as writes
        kill_write: the write before which it is killed
        kill_after: seconds after its first write when it is killed
        most_bytes: that any file may have
    """
    context = _server()
    (ours, its), (said, saying) = (context.Pipe(duplex=False) for _ in range(2))
    process = context.Process(
        target=_run, args=(arguments, str(here), saying, its, kill_write, most_bytes)
    )
    process.start()
    its.close()
    saying.close()
    began = _wait(ours)
    if kill_after is not None and began is not None:
        process.join(kill_after)
        process.kill()
    writes = _count(ours)
    process.join(120)
    assert process.exitcode is not None, "it hangs"
    seconds = time.monotonic() - began if began else 0.0
    with open(said.fileno(), encoding="utf-8", errors="replace", closefd=False) as text:
        return Done(process.exitcode, text.read(), seconds, writes)


@cache
def _server() -> ForkServerContext:
    """Starts the process that is forked. It does not know this process's `sys.path`."""
    # Another test's has not imported what is needed here.
    forkserver._forkserver._stop()  # pyright: ignore[reportAttributeAccessIssue]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()
    return context


def _wait(told: Connection) -> float | None:
    """The time of the first write, or None if the command ended without one."""
    try:
        told.recv()
    except EOFError:
        return None
    return time.monotonic()


def _count(told: Connection) -> int:
    writes = 1
    while True:
        try:
            told.recv()
        except EOFError:
            return writes
        writes += 1


def _run(
    arguments: list[str],
    here: str,
    saying: Connection,
    told: Connection,
    kill_write: int | None,
    most_bytes: int | None,
) -> None:
    """In a process of its own: run the command."""
    for number in (1, 2):
        os.dup2(saying.fileno(), number)
    saying.close()
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
    os.environ["XDG_CACHE_HOME"] = f"{here}/cache"
    os.environ["MPLCONFIGDIR"] = str(Path(here).with_name("matplotlib"))  # its cache is its own
    rows.CHUNK = 16
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if most_bytes is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    writes = 0

    def watch(event: str, given: tuple[Any, ...]) -> None:
        nonlocal writes
        if not (event in _CHANGES or (event == "open" and (given[2] or 0) & _WRITES)):
            return
        if not (isinstance(given[0], str | os.PathLike) and os.fspath(given[0]).startswith(here)):
            return
        if writes == kill_write:
            os.kill(os.getpid(), signal.SIGKILL)
        writes += 1
        told.send(None)

    if arguments[0] == "export":
        _keep_graphs(Path(arguments[2]))
    sys.addaudithook(watch)
    main(arguments)


def _keep_graphs(model: Path) -> None:
    """Let the graphs of a model be made once: it takes most of the time of an export."""
    from fabir.export import onnx

    kept, make = model.with_name(f"graphs-{model.name}"), onnx._write_graphs

    def copy_or_make(model: TorchModel, folder: Path) -> None:
        if not kept.exists():
            make(model, folder)
            shutil.copytree(folder, kept)
        shutil.copytree(kept, folder, dirs_exist_ok=True)

    onnx._write_graphs = copy_or_make


def contents(folder: Path) -> dict[str, object]:
    """All files of a folder, without what differs from run to run: numbers of generations, times
    of training, and locks (empty files) of cache entries, which go when the entry is made again."""
    return {
        re.sub(r"generation-\d+", "generation", str(path.relative_to(folder))): _content(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.match("cache/fabir/*/.*.lock")
    }


def _content(path: Path) -> object:
    if path.name == "current":
        return path.read_text("utf-8").split()[1:]
    if path.name == "metrics.jsonl":
        return [json.loads(line) | {"seconds": 0} for line in path.read_text("utf-8").splitlines()]
    if path.name == "training.safetensors":
        with safe_open(path, framework="np") as file:
            tensors = {name: file.get_tensor(name).tobytes() for name in file.keys()}  # noqa: SIM118
            return tensors, json.loads(file.metadata()["progress"]) | {"seconds": 0}
    return path.read_bytes()
