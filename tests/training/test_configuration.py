"""Every shipped configuration is one network; every mistake in one is a line that names it."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from fabir.errors import InputError
from fabir.layers.embedding import VocabularySizes
from fabir.readers import registered
from fabir.readers.fabir import Fabir, FabirConfig
from fabir.text.vocabulary import VocabularyConfig
from fabir.training.config import TrainingConfig
from fabir.training.configuration import RunConfig, load_config
from factories import CONFIGS

# What each row of Table I (thesis: Table 6) changes.
ROWS: dict[str, dict[str, Any]] = {
    "fabir-base-18-epochs": {},
    "fabir-no-characters": {"characters": False},
    "fabir-no-convolution": {"attention_width": 0},
    "fabir-matrix-reduction": {"reduction": "matrix"},
    "fabir-row-wise": {"cross_attention": "row-wise"},
    "fabir-2-heads": {"heads": 2},
    "fabir-2-layers": {"layers": 2},
    "fabir-4-layers": {"layers": 4},
    "fabir-linear-selector": {"selector": "linear"},
    "fabir-selector-width-1": {"selector_width": 1},
    "fabir-switching": {"layer_type": "switching"},
    "fabir-selectors-in-different-layers": {"selector_layers": "different"},
}


FABIR_CONFIGS = [path for path in CONFIGS if load_config(path).reader == "fabir"]


def sizes(word_dim: int) -> VocabularySizes:
    return VocabularySizes(word_dim=word_dim, trained_words=5, fixed_words=9, characters=80)


def config_named(name: str) -> Path:
    return next(path for path in CONFIGS if path.stem == name)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_file_makes_a_network(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# ")
    run = load_config(path)
    made = []
    for word_dim in (50, 100):  # a file is meant for one of them
        with torch.device("meta"), suppress(ValueError):  # shapes alone
            made.append(registered(run.reader).network(run.network, sizes(word_dim)))
    assert made


@pytest.mark.parametrize("path", FABIR_CONFIGS, ids=lambda path: path.stem)
def test_what_50_dimensional_vectors_need(path: Path) -> None:
    network = load_config(path, ["--network.character_filters", "150"]).network
    if not network.characters:
        with pytest.raises(ValueError, match="4 heads do not divide the 50 features"):
            Fabir(network, sizes(50))
        network = load_config(path, ["--network.heads", "2"]).network
    with torch.device("meta"):
        assert any(True for _ in Fabir(network, sizes(50)).parameters())


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_table_changes_one_thing(name: str) -> None:
    assert load_config(config_named(name)) == RunConfig(
        "fabir", FabirConfig(**ROWS[name]), VocabularyConfig(), TrainingConfig(epochs=18)
    )
    first_line = config_named(name).read_text(encoding="utf-8").splitlines()[0]
    assert re.fullmatch(r"# (Table I|Thesis Table 6), \".+\": F1 7\d\.\d, EM 6\d\.\d", first_line)


def test_the_published_configuration_is_the_default() -> None:
    run = load_config(config_named("fabir"))
    assert run == RunConfig("fabir", FabirConfig(), VocabularyConfig(), TrainingConfig())
    assert (run.training.epochs, run.training.warmup_steps) == (54, 4000)


def test_overrides_come_last() -> None:
    arguments = ["--training.epochs", "3", "--network.heads=2", "--network.characters", "false"]
    run = load_config(config_named("fabir-no-convolution"), arguments)
    assert run.training == TrainingConfig(epochs=3)
    assert run.network == FabirConfig(heads=2, characters=False, attention_width=0)


def test_an_empty_section_is_one_of_defaults(tmp_path: Path) -> None:
    path = write(tmp_path, "reader: fabir\nnetwork:\nvocabulary: {}\n")
    assert load_config(path) == load_config(config_named("fabir"))


def test_a_number_may_be_written_in_any_way(tmp_path: Path) -> None:
    path = write(tmp_path, "reader: fabir\ntraining: {learning_rate: 1e-3, clip: 5}\n")
    assert load_config(path).training == TrainingConfig(learning_rate=0.001, clip=5.0)


def write(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def complaint(path: Path, overrides: list[str] | None = None) -> str:
    """The message, which is one line and names the file."""
    with pytest.raises(InputError) as caught:
        load_config(path, overrides)
    message = str(caught.value)
    assert str(path) in message
    assert message.count(str(path)) == 1
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("network: {head: 2}", "head"),
        ("netwrk: {heads: 2}", "netwrk"),
        ("network: {heads: two}", "network.heads"),
        ("network: {heads: 2.5}", "network.heads"),
        ("network: {heads: }", "network.heads"),
        ("network: {heads: [1, 2]}", "network.heads"),
        ("network: {characters: 3}", "network.characters"),
        ("network: {reduction: tensor}", "network.reduction"),
        ("network: 3", "network"),
        ("network: [heads, 2]", "network"),
        ("training: {schedule: cosine}", "training.schedule"),
        ("training: {learning_rate: fast}", "training.learning_rate"),
        ("training: {epochs: 0}", "epochs must be at least 1, got 0"),
        ("training: {label_smoothing: 1.0}", "label_smoothing"),
        ("vocabulary: {words: 3}", "words"),
        ("config: other.yaml", "config"),
        ("3: {}", "3"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, named: str) -> None:
    assert named in complaint(write(tmp_path, f"reader: fabir\n{text}\n"))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("network: {}", "`reader` is missing"),
        ("reader: [fabir]", "`reader` is missing"),
        ("- reader", "`reader` is missing"),
        ("", "`reader` is missing"),
        ("reader: bert", "no reader is called 'bert': there are fabir"),
        ("reader: fabir\nnetwork: {heads: 2\n", "not valid YAML"),
        ("reader: fabir\n\tnetwork: {}\n", "not valid YAML"),
    ],
)
def test_a_file_that_is_no_configuration(tmp_path: Path, text: str, named: str) -> None:
    assert named in complaint(write(tmp_path, text))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert "No such file" in complaint(tmp_path / "missing.yaml")
    assert "directory" in complaint(tmp_path).lower()
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    assert "not valid YAML" in complaint(binary)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--training.epoch", "3"], "--training.epoch"),  # not even as an abbreviation
        (["--training.epochs", "three"], "training.epochs"),
        (["--training.epochs", "0"], "epochs must be at least 1, got 0"),
        (["--training.epochs"], "training.epochs"),
        (["--network.heads", "null"], "network.heads"),
        (["--reader", "fabir"], "--reader"),
        (["--reader=bert"], "--reader"),
        (["--config", "other.yaml"], "--config"),
        (["--help"], "--help"),
        (["3"], "3"),
    ],
)
def test_a_mistake_on_the_command_line(tmp_path: Path, arguments: list[str], named: str) -> None:
    assert named in complaint(write(tmp_path, "reader: fabir\n"), arguments)
