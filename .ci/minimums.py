"""Answers, indexes, asks and serves with the oldest packages that pyproject.toml allows.

    python .ci/minimums.py WHEEL, in the repository and an environment with the extra `dev`

What fabir itself requires is as old as it may be; what that brings, as new as it may be. The extra
`train` and those made of it are left out: the oldest torch is gigabytes of CUDA on PyPI.
"""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from urllib.parse import urlsplit

import onnx
from onnx.external_data_helper import set_external_data
from packaging.requirements import Requirement

from fabir.runtime.locate import BUNDLED
from fabir.runtime.settings import read_states
from fabir.runtime.store import EMBED, FILES, copy_model, write_model

sys.path.append("tests")
from collection import PAGES, write_collection, write_pdf
from office_files import write_docx

EXTRAS = "documents", "parquet", "pdf", "serve"
ASKED = {"question": "When did it open?", "passage": "The bridge opened in 1887."}
QUESTIONS = {  # the file that each is answered from
    "Who flew the first kite of the valley?": "kites.md",
    "Who built the mill?": "mill.pdf",
    "Who founded the abbey of Lund?": "abbey.docx",
    "Who tamed the bear of Oslo?": "bears.parquet",
}
ABBEY = "<w:p><w:r><w:t>The abbey of Lund was founded by Olaf Strand.</w:t></w:r></w:p>"
WRITE = """
import pyarrow, pyarrow.parquet
table = pyarrow.table({"text": ["The bear of Oslo was tamed by Ida Holm."]})
pyarrow.parquet.write_table(table, "bears.parquet")
"""


def main(wheel: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = install(wheel, folder / "environment")
        passage = folder / "passage.txt"
        passage.write_text(ASKED["passage"], "utf-8")
        command = [python, "-m", "fabir", "answer", ASKED["question"], "--passage", passage]
        check(said(*command) == "1887\n", "answer")
        check_weights_elsewhere(command, folder / "reader")
        index = index_documents(python, folder)
        for question, file in QUESTIONS.items():
            found = said(python, "-m", "fabir", "ask", question, "--index", index)
            check(file in found, f"{question} {found}")
        check_service(python, index)


def install(wheel: Path, folder: Path) -> Path:
    """An environment's Python."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    brought = [each for extra in EXTRAS for each in extras[extra] if not each.startswith("fabir[")]
    required = project["dependencies"] + brought
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = python, "-m", "pip", "install", "--only-binary", ":all:"
    subprocess.run([*pip, wheel, *map(oldest, required)], check=True)
    return python


def oldest(requirement: str) -> str:
    """The same, at its lower bound: every requirement has one."""
    parsed = Requirement(requirement)
    (bound,) = (each for each in parsed.specifier if each.operator == ">=")
    marker = f"; {parsed.marker}" if parsed.marker else ""
    return f"{parsed.name}=={bound.version}{marker}"


def check_weights_elsewhere(command: list[str | Path], reader: Path) -> None:
    """A reader that has its weights from outside its folder is refused."""
    copy_model(BUNDLED, reader)
    model = onnx.load(reader / EMBED)
    weights = model.graph.initializer[0]
    (reader.parent / "elsewhere").write_bytes(weights.raw_data)
    set_external_data(weights, "../elsewhere")
    weights.ClearField("raw_data")
    content = model.SerializeToString()  # its checksum is right: the graph itself is refused
    written = {EMBED: lambda path: path.write_bytes(content)}
    write_model(reader, read_states(reader)[0], written, keep=FILES)
    done = subprocess.run([*command, "--reader", reader], capture_output=True, text=True)
    check(done.returncode == 2 and "cannot read" in done.stderr, f"elsewhere: {done}")


def index_documents(python: Path, folder: Path) -> Path:
    (documents := folder / "documents").mkdir()
    write_collection(documents)
    write_pdf(documents / "mill.pdf", PAGES)
    write_docx(documents / "abbey.docx", ABBEY)
    subprocess.run([python, "-c", WRITE], cwd=documents, check=True)
    said(python, "-m", "fabir", "index", documents, "--output", folder / "index")
    return folder / "index"


def check_service(python: Path, index: Path) -> None:
    command = [python, "-m", "fabir", "serve", "--index", index, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=alone()) as process:
        try:
            assert process.stderr is not None
            found = re.search(r"http://\S+(?=;)", line := process.stderr.readline())
            check(found is not None, line)
            url = found[0] if found else ""
            of_json = {"Content-Type": "application/json"}
            check("1887" in posted(url, "/answer", of_json, 200), "/answer")
            check("kites.md" in posted(url, "/ask", of_json, 200), "/ask")
            posted(url, "/answer", {}, 422)  # a page of another site can send that
        finally:
            process.terminate()
    check(process.returncode == 0, "the end of serve")


def posted(url: str, path: str, headers: dict[str, str], status: int) -> str:
    """The answer to a question, which has the status."""
    body = ASKED if path == "/answer" else {"question": next(iter(QUESTIONS))}
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request("POST", path, json.dumps(body), headers)
    response = connection.getresponse()
    content = response.read().decode()
    check(response.status == status, f"{path}, {headers}: {response.status} {content}")
    return content


def said(*command: str | Path) -> str:
    """What a command prints, which has to succeed."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=alone())
    return done.stdout


def alone() -> dict[str, str]:
    """This environment, without other places of packages."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def check(held: bool, what: str) -> None:
    if not held:
        sys.exit(f"with the oldest packages: {what}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
