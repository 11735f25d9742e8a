"""Programs and models that paraphrase, real ones: a program of the shell, a tiny model."""

from pathlib import Path

import pytest

from fabir.data.paraphrase import BackTranslation, Command
from fabir.errors import InputError

TEXTS = ["The olm is a river.", "Two\nlines.", "Olms live\there."]


def test_a_program_gets_a_sentence_a_line() -> None:
    found = list(Command("tr a-z A-Z").paraphrase(TEXTS))
    assert found == [["THE OLM IS A RIVER."], ["TWO LINES."], ["OLMS LIVE HERE."]]


def test_many_sentences_go_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabir.data.paraphrase._LINES", 2)
    assert list(Command("cat").paraphrase(["a", "b", "c"])) == [["a"], ["b"], ["c"]]


def test_an_empty_line_keeps_the_sentence() -> None:
    assert list(Command("sed 's/b//'").paraphrase(["a", "b"])) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("head -n 1", "wrote 1 lines for 3 sentences"),
        ("no-such-program-olm", "failed"),
        ("sh -c 'echo broken >&2; exit 3'", r"failed \(3\): broken"),
        (r"tr a '\351'", "wrote text that is not UTF-8"),
    ],
)
def test_a_program_that_does_not_do_its_work_is_refused(command: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(Command(command).paraphrase(TEXTS))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A translation model of random weights, in a folder as transformers keeps them."""
    pytest.importorskip("transformers")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    words = ["</s>", "<unk>", "<pad>", "The", "olm", "is", "a", "river", "Two", "lines", "."]
    plain = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain,
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        model_input_names=["input_ids", "attention_mask"],  # Marian's
    )
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=len(words),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=64,
        pad_token_id=2,
        eos_token_id=0,
        forced_eos_token_id=0,
        decoder_start_token_id=2,
    )
    folder = tmp_path_factory.mktemp("model")
    MarianMTModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("candidates", [1, 2])
def test_models_translate_there_and_back(model: Path, candidates: int) -> None:
    translator = BackTranslation(str(model), str(model), candidates)
    found = list(translator.paraphrase(TEXTS))
    assert found == list(translator.paraphrase(TEXTS))
    assert len(found) == len(TEXTS)
    for group in found:
        assert 1 <= len(group) <= candidates**2
        assert len(set(group)) == len(group)
        assert all(group)


def test_a_model_that_is_not_there_is_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot load the translation model"):
        BackTranslation(str(tmp_path), str(model))
    with pytest.raises(InputError, match="1 candidate or more"):
        BackTranslation(str(model), str(model), 0)
