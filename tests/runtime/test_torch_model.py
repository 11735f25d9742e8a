"""A model's folder: a saved model loads again, and a damaged one is refused in one line."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.readers import registered
from fabir.readers.fabir import FabirConfig
from fabir.runtime.torch_model import TorchModel
from factories import EXAMPLES, WORD_DIM, batch_of, small_config, small_reader, small_vocabulary
from model_folders import edit_json, seal

FILES = {"config.json", "vocabulary.json", "words.safetensors", "network.safetensors"}
PAIRS = [(question, passage) for question, passage, _, _ in EXAMPLES]


def logits(model: TorchModel) -> Tensor:
    with torch.no_grad():
        return torch.stack(model.network.eval()(batch_of(model.vocabulary, *PAIRS))[:2])


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    small_reader().save(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(saved, tmp_path / "reader"))


def test_answering_leaves_torch_its_threads() -> None:
    before = torch.get_num_threads()
    during: list[int] = []
    model = small_reader()
    for name in ("embedding", "reduction.reduction", "selectors.0"):
        module = model.network.get_submodule(name)
        module.register_forward_hook(lambda *_: during.append(torch.get_num_threads()))
    torch.set_num_threads(2)
    try:
        Predictor(model).answer(EXAMPLES[0][0], EXAMPLES[0][1])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(during) == {1}
    assert len(during) > 3


def test_what_is_saved_is_loaded(saved: Path) -> None:
    model, loaded = small_reader(), TorchModel.load(str(saved))
    assert (loaded.name, loaded.config) == ("fabir", model.config)
    assert loaded.vocabulary == model.vocabulary
    assert not loaded.network.training
    assert torch.equal(loaded.fixed_rows, model.fixed_rows)
    assert torch.equal(logits(loaded), logits(model))


@pytest.mark.parametrize("reader", ["bidaf", "rnet", "a3"])
@pytest.mark.parametrize(("old", "new"), [("alike", "matching"), ("random", "random")])
def test_a_model_saved_with_an_option_of_an_old_name_is_loaded(
    tmp_path: Path, reader: str, old: str, new: str
) -> None:
    model = small_reader(reader, registered(reader).config(init=new))
    model.save(tmp_path)
    network = json.loads((tmp_path / "config.json").read_text())["network"]
    assert network.pop("init") == new
    edit_json(tmp_path / "config.json", network={**network, "cross_start": old})
    seal(tmp_path)
    loaded = TorchModel.load(tmp_path)
    assert loaded.config == model.config
    assert torch.equal(logits(loaded), logits(model))


def test_the_folder_holds_four_files_and_no_other(saved: Path) -> None:
    assert {path.name for path in saved.iterdir()} == FILES
    assert json.loads((saved / "config.json").read_text())["format"] == 2
    weights = load_file(saved / "network.safetensors")
    assert not any(name.endswith("fixed") for name in weights)  # stored once, with the words


def test_saving_again_replaces_the_files(folder: Path) -> None:
    other = small_reader("fabir", FabirConfig(layers=1))
    other.save(folder)
    assert {path.name for path in folder.iterdir()} == FILES
    assert torch.equal(logits(TorchModel.load(folder)), logits(other))


def test_word_rows_are_stored_as_float16(tmp_path: Path) -> None:
    vocabulary, rows = small_vocabulary(), torch.rand(20, WORD_DIM) * 2 - 1
    model = TorchModel.build("fabir", small_config(FabirConfig()), vocabulary, rows)
    assert torch.equal(model.fixed_rows, rows)
    model.save(tmp_path)
    assert load_file(tmp_path / "words.safetensors")["rows"].dtype == torch.float16
    loaded = TorchModel.load(tmp_path).fixed_rows
    assert loaded.dtype == torch.float32
    torch.testing.assert_close(loaded, rows, atol=1e-3, rtol=0)


def test_a_small_model_has_eight_bits_a_word_feature(tmp_path: Path) -> None:
    model = small_reader()
    model.fixed_rows[3] = 0  # a row without a scale
    model.save(tmp_path, small=True)
    words = load_file(tmp_path / "words.safetensors")
    assert (words["rows"].dtype, words["scales"].dtype) == (torch.int8, torch.float16)
    weights = load_file(tmp_path / "network.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    loaded = TorchModel.load(tmp_path)
    error = (loaded.fixed_rows - model.fixed_rows).abs().amax(dim=1)
    assert (error <= model.fixed_rows.abs().amax(dim=1) / 127).all()
    torch.testing.assert_close(logits(loaded), logits(model), atol=0.05, rtol=0)


@pytest.mark.parametrize("only_weights", [False, True])
def test_word_rows_that_were_trained_are_saved(folder: Path, only_weights: bool) -> None:
    model = TorchModel.load(folder)
    model.unfreeze_words(3)
    with torch.no_grad():
        for parameter in model.network.parameters():
            parameter.add_(0.5)
        tuned = model.network.get_parameter("embedding.words.tuned")
        tuned.copy_(tuned.half())
    before = TorchModel.load(folder)
    if only_weights:
        model.save_weights(folder)
    else:
        model.save(folder)
    loaded = TorchModel.load(folder)
    assert not torch.equal(loaded.fixed_rows, before.fixed_rows)
    assert torch.equal(loaded.fixed_rows, model.fixed_rows)
    assert torch.equal(logits(loaded), logits(model))


def test_rows_and_words_must_be_as_many() -> None:
    config = small_config(FabirConfig())
    with pytest.raises(InputError, match="1 rows for 20 fixed words"):
        TorchModel.build("fabir", config, small_vocabulary(), torch.zeros(1, WORD_DIM))


def test_a_network_that_cannot_be_built() -> None:
    config = replace(small_config(FabirConfig()), heads=8)
    with pytest.raises(InputError, match=r"reader fabir: heads must divide .* 8 do not divide 20"):
        TorchModel.build("fabir", config, small_vocabulary(), torch.zeros(20, WORD_DIM))


def refusal(folder: Path) -> str:
    """The message, which is one line and names the folder."""
    with pytest.raises(InputError) as caught:
        TorchModel.load(folder)
    message = str(caught.value)
    assert str(folder) in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("file", sorted(FILES))
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    assert str(folder / file) in refusal(folder)


@pytest.mark.parametrize("file", sorted(FILES))
@pytest.mark.parametrize("kept", [0, 0.5])
def test_a_truncated_file_is_named(folder: Path, file: str, kept: float) -> None:
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[: int(len(content) * kept)])
    assert str(folder / file) in refusal(folder)


@pytest.mark.parametrize("file", sorted(FILES))
def test_a_file_of_something_else_is_named(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"\xff\xfe nothing of the kind")
    assert str(folder / file) in refusal(folder)
    (folder / file).unlink()
    (folder / file).mkdir()
    assert str(folder / file) in refusal(folder)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert "there is no folder" in refusal(tmp_path / "nowhere")


def test_a_folder_of_models_names_them(folder: Path) -> None:
    above = folder.parent / "models"
    for number in range(7):
        (above / str(number)).mkdir(parents=True)
        (above / str(number) / "config.json").write_bytes((folder / "config.json").read_bytes())
    named = ", ".join(str(above / str(number)) for number in range(5))
    assert refusal(above).endswith(f"config.json; it holds {named} and 2 more")


@pytest.mark.parametrize("text", ["5", "[]", "[{}]", "null", '"text"', "{}"])
def test_json_of_another_shape(folder: Path, text: str) -> None:
    for file, key in (("vocabulary.json", "max_characters"), ("config.json", "format")):
        (folder / file).write_text(text)
        if file != "config.json":
            seal(folder)
        message = refusal(folder)
        assert file in message
        assert key in message


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("format", 3, "format 3 is neither 1 nor 2"),
        ("format", "1", "format '1' is neither 1 nor 2"),
        ("reader", "bert", "'bert'"),
        ("reader", ["fabir"], "`reader` is the name of one"),
        ("reader", None, "reader"),
        ("network", {"head": 2}, "head"),
        ("network", {"heads": 3}, "heads"),
        ("network", {"heads": "two"}, "do not fit together"),
        ("network", {"layers": 2.5}, "do not fit together"),
        ("network", {"layers": 10**9}, "layers must be from 0 to 100"),
        ("network", {"model_dim": 10**9}, "model_dim must be from 1 to 8192"),
        ("network", {"model_dim": 60_000}, "do not fit together"),
        ("no_answer_threshold", "half", "`no_answer_threshold` is a number"),
        ("no_answer_threshold", 1.5, "from 0 to 1"),
        ("no_answer_threshold", float("nan"), "NaN is not a number"),
        ("calibration", {"bias": True}, "`calibration.bias` is a number"),
        ("calibration", {"base": 1.0}, "`calibration` has the numbers bias"),
        ("confidence", {"score": [1, 2]}, "`confidence.score` has 10 numbers or none"),
        ("confidence", {"no_answer": [*range(9), "x"]}, "`confidence.no_answer` is a number"),
        ("confidence", {"answer": []}, "`confidence` has the weights score and no_answer"),
        ("network", 7, "`network` is an object"),
    ],
)
def test_settings_that_do_not_fit(folder: Path, key: str, value: Any, named: str) -> None:
    edit_json(folder / "config.json", **{key: value})
    seal(folder)
    assert named in refusal(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("trained", ["a"]),
        ("trained", 3),
        ("trained", "abc"),
        ("fixed", ["a"]),
        ("fixed", None),
        ("characters", 5),
        ("characters", "a"),
        ("tokeniser", "spacy"),
        ("tokeniser", ["nltk"]),
        ("max_characters", "8"),
        ("max_characters", True),
        ("max_characters", -1),
        ("max_characters", 10**9),
        ("trained", [["a"]]),
        ("fixed", [None] * 20),
    ],
)
def test_a_vocabulary_that_does_not_fit(folder: Path, key: str, value: Any) -> None:
    edit_json(folder / "vocabulary.json", **{key: value})
    seal(folder)
    assert "beside it" not in refusal(folder)


@pytest.mark.parametrize(
    "tensors",
    [
        {"words": torch.zeros(20, WORD_DIM)},
        {"rows": torch.zeros(20)},
        {"rows": torch.zeros(20, WORD_DIM, dtype=torch.int8), "scales": torch.ones(19)},
        {"rows": torch.zeros(1, WORD_DIM)},
        {"rows": torch.zeros(20, WORD_DIM + 2)},
        {"rows": torch.full((20, WORD_DIM), torch.inf)},
        {"rows": torch.zeros(20, WORD_DIM, dtype=torch.int8)},
        {
            "rows": torch.zeros(20, WORD_DIM, dtype=torch.int8),
            "scales": torch.full((20,), -torch.nan),
        },
    ],
)
def test_word_rows_that_do_not_fit(folder: Path, tensors: dict[str, Tensor]) -> None:
    save_file(tensors, folder / "words.safetensors")
    seal(folder)
    assert "beside it" not in refusal(folder)  # not only the checksum detects it


@pytest.mark.parametrize("kind", ["missing", "cut", "no number", "in 8 bits"])
def test_weights_that_do_not_fit(folder: Path, kind: str) -> None:
    weights, name = load_file(folder / "network.safetensors"), "selectors.0.outer.bias"
    bias = weights.pop(name)
    if kind != "missing":
        changed = {"cut": bias[:1], "no number": bias * torch.nan, "in 8 bits": bias.to(torch.int8)}
        weights[name] = changed[kind].clone()
    save_file(weights, folder / "network.safetensors")
    seal(folder)
    assert name in refusal(folder)
