"""Every command that writes, killed at any moment: what was there stays, or is what comes. The next
run ends as one undisturbed, and leaves nothing else."""

import random
import shutil
from pathlib import Path

import pytest

from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.search.index import Index
from fabir.training.checkpoint import FILE
from factories import EXAMPLES
from writers import ROUNDS, WRITERS, Done, contents, run, write_inputs

PAIRS = [(question, passage) for question, passage, *_ in EXAMPLES]
QUICK = "index --update", "predict a.jsonl", "train"
QUICK_ROUNDS = 2


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writers") / "data"
    write_inputs(folder)
    return folder


def found(here: Path) -> dict[str, object]:
    """What a folder holds: answers of models, passages of indexes, files. A model that is refused
    is None."""
    holds: dict[str, object] = {}
    for path in here.iterdir():
        if (path / "config.json").exists():
            holds[path.name] = answers(path)
        elif (path / "current").exists():
            holds[path.name] = Index.open(path).search("kites rain mill", 20)
        elif path.is_dir():
            holds |= {f"{path.name}/{name}": content for name, content in contents(path).items()}
        else:
            holds[path.name] = path.read_bytes()
    return holds


def answers(model: Path) -> object:
    try:
        return list(Predictor.load(model).read_all(PAIRS))
    except InputError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS if ROUNDS else QUICK)
def test_a_killed_command(name: str, data: Path, tmp_path: Path) -> None:
    writer, chance = WRITERS[name], random.Random(0)
    before, whole = tmp_path / "before", tmp_path / "whole"
    writer.prepare(data, before)
    shutil.copytree(before, whole)
    undisturbed = run(writer.arguments(data, whole), whole)
    assert undisturbed.code == 0, undisturbed.said
    old, new = found(before), found(whole)
    killed = 0
    for number in range(ROUNDS or QUICK_ROUNDS):
        here = tmp_path / f"killed-{number}"
        shutil.copytree(before, here)
        for _ in range(1 + number % 2):  # what goes on is killed again
            done = kill(writer.arguments(data, here), here, undisturbed, chance)
            killed += done.code < 0
            holds = found(here)
            for each in old:
                assert holds[each] in (old[each], new[each], None)
            assert not (here / "run" / FILE).exists() or holds["run"]
        complete = found(here) == new
        last = run(writer.arguments(data, here), here)
        if complete and writer.refused:
            assert writer.refused in last.said
        else:
            assert last.code == 0, last.said
        assert contents(here) == contents(whole)
        shutil.rmtree(here)
    assert killed


def kill(arguments: list[str], here: Path, undisturbed: Done, chance: random.Random) -> Done:
    """Kill a run before one of its writes, or any time after the first."""
    if chance.random() < 0.5:
        return run(arguments, here, kill_after=chance.uniform(0, undisturbed.seconds))
    return run(arguments, here, kill_write=chance.randrange(undisturbed.writes))
