"""Models of transformers are told from fabir's, and the bundled model answers in their place."""

import json
import shutil
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabir import pipeline
from fabir.answer.transformers_models import is_transformers
from fabir.errors import InputError, InputWarning
from fabir.runtime.locate import BUNDLED
from fabir.runtime.store import copy_model
from factories import RAIN, small_reader

ASKED = ("What pulls the drops?", RAIN)
ROBERTA = "deepset/roberta-base-squad2"


class BertForQuestionAnswering:
    """The attribute by which a model of transformers, or of optimum, is known."""

    config = SimpleNamespace(model_type="bert")


class Hub:
    """In place of huggingface_hub: a hub in a folder, or one that cannot be reached."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, []

    def snapshot_download(self, name: str, **options: Any) -> str:
        self.asked.append((name, options["revision"]))
        if not (self.folder / name).is_dir():
            raise OSError("Cannot reach https://huggingface.co:\noffline mode is enabled")
        return str(self.folder / name)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub(tmp_path / "hub")
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.chdir(tmp_path)
    return hub


def checkpoint(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"architectures": ["BertForQuestionAnswering"]}))
    return folder


@pytest.mark.parametrize(
    "name",
    [
        ROBERTA,
        "distilbert-base-cased-distilled-squad",
        "distilbert/distilbert-base-uncased-distilled-squad",
        "bert-large-uncased-whole-word-masking-finetuned-squad",
        "deepset/minilm-uncased-squad2",
        "deepset/gelectra-large-germanquad",
        "deepset/xlm-roberta-large-squad2",
        "timpal0l/mdeberta-v3-base-squad2",
        "etalab-ia/camembert-base-squadFR-fquad-piaf",
        "allenai/longformer-large-4096-finetuned-triviaqa",
        "google/bigbird-base-trivia-itc",
        "a-ware/xlmroberta-squadv2",
        "phiyodr/bart-large-finetuned-squad2",
        "sjrhuschlee/flan-t5-base-squad2",
        "tli8hf/unqover-mpnet-newsqa",
        "tau/splinter-base-qass",
        "bert",
        "uw-madison/nystromformer-512",
        "uw-madison/yoso-4096",
        "uw-madison/mra-base-512-4",
        "tiiuae/falcon-7b",
        "bigscience/bloom-560m",
        "SCUT-DLVCLab/lilt-infoxlm-base",
        "nielsr/lilt-en-base",
        "facebook/data2vec-text-base",
        "mosaicml/mpt-7b",
        "unc-nlp/lxmert-base-uncased",
        "google/pegasus-xsum",
        "sijunhe/nezha-cn-base",
        "facebook/xmod-base",
        "google/gemma-2b",
        "mistralai/Mixtral-8x7B-v0.1",
        "mnaylor/mega-base-wikitext",
        "RUCAIBox/mvp",
        "funnel-transformer/small",
    ],
)
def test_names_of_transformers_are_known_without_the_network(name: str, hub: Hub) -> None:
    assert is_transformers(name)
    assert is_transformers(Path(name))
    assert hub.asked == []


@pytest.mark.parametrize(
    "name",
    [
        "fast",
        "accurate",
        "me/law-qa",
        "albert/handbook-qa",
        "me/fabir-as-good-as-bert",
        "me/barton-optics",
        "me/bloomsbury-megastore-qa",
        "my_awesome_qa_model",
        "/models/bert",
        "./bert",
        "a/b/bert",
    ],
)
def test_other_names_and_paths_are_not(name: str, hub: Hub) -> None:
    assert not is_transformers(name)


def test_objects(tmp_path: Path) -> None:
    assert is_transformers(BertForQuestionAnswering())
    for other in (small_reader(), None, 3, SimpleNamespace(config={"model_type": "bert"})):
        assert not is_transformers(other)


def test_folders(tmp_path: Path) -> None:
    assert is_transformers(checkpoint(tmp_path / "checkpoint"))
    (tmp_path / "bert").mkdir()
    small_reader().save(tmp_path / "roberta")
    for name in ("bert", "roberta"):
        assert not is_transformers(tmp_path / name)
    (tmp_path / "bert" / "config.json").write_text('{"model_type"')
    assert not is_transformers(tmp_path / "bert")
    with pytest.raises(InputError, match="not valid JSON"):
        pipeline(model=tmp_path / "bert")


def test_the_bundled_model_answers_in_place_of_another(hub: Hub, tmp_path: Path) -> None:
    own = pipeline()(*ASKED)
    checkpoint(tmp_path / "results" / "checkpoint-500")
    for model, what in (
        (ROBERTA, "deepset/roberta-base-squad2 is by its name a model of transformers, which"),
        ("results/checkpoint-500", "results/checkpoint-500 is a model of transformers, which"),
        (BertForQuestionAnswering(), "BertForQuestionAnswering is a model of transformers, which"),
    ):
        with pytest.warns(InputWarning) as warned:
            found = pipeline("question-answering", model)(*ASKED)
        (one,) = warned
        assert str(one.message).startswith(what)
        assert 'its bundled model "fast" answers instead; see docs/' in str(one.message)
        assert one.filename == __file__
        assert found == own
        with pytest.raises(InputError, match="fabir cannot run: leave model= out; see docs/"):
            pipeline("question-answering", model, strict=True)
    assert hub.asked == []


def test_other_arguments_get_a_warning_of_their_own() -> None:
    with pytest.warns(InputWarning) as warned:
        pipeline("question-answering", ROBERTA, tokenizer=ROBERTA, revision="main", device=0)
    assert [str(each.message).split(",")[0] for each in warned] == [
        "deepset/roberta-base-squad2 is by its name a model of transformers",
        "arguments without effect in fabir: tokenizer",
    ]
    assert "tokenizer, device, revision; see" in str(warned[1].message)


def test_a_model_of_fabir_on_the_hub_is_loaded(hub: Hub) -> None:
    copy_model(BUNDLED, hub.folder / "me/law-qa")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("me/law-qa", Path("me/law-qa")):
            assert pipeline(model=name, revision="v2")(*ASKED) == pipeline()(*ASKED)
    assert hub.asked == [("me/law-qa", "v2")] * 2
    shutil.move(hub.folder / "me/law-qa", hub.folder / "me/fabir-bert")
    pipeline(model="me/fabir-bert")


def test_the_hub_says_that_a_model_is_one_of_transformers(hub: Hub) -> None:
    checkpoint(hub.folder / "me/law-qa")
    with pytest.warns(InputWarning, match="me/law-qa is a model of transformers"):
        assert pipeline(model="me/law-qa")(*ASKED) == pipeline()(*ASKED)


def test_a_model_that_cannot_be_looked_up_is_not_replaced(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = "^if {} is a model of transformers, leave model= out .docs/.*: there is no folder {}"
    own = hint.format("me/law-qa", "me/law-qa")
    with pytest.raises(InputError, match=own + ", nor .* offline mode is enabled"):
        pipeline(model="me/law-qa")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=own + r"; .* pip install 'fabir\[hub\]'"):
        pipeline(model="me/law-qa")
    for path in ("my_awesome_qa_model", "./bert"):
        with pytest.raises(InputError, match=hint.format(path, path)):
            pipeline(model=path)


def test_settings_that_are_no_object_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(InputError, match="not a model's file"):
        pipeline(model=tmp_path)
