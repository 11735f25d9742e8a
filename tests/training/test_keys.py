"""Every key is explained, in the help and on a page that is made of the code."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fabir.readers import READERS
from fabir.training.keys import all_keys, help_text, keys_of, reference, suggestion

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
KEYS = {key.name: key for key in all_keys()}


@pytest.mark.parametrize("reader", READERS)
def test_every_key_has_a_meaning_and_values(reader: str) -> None:
    for key in all_keys(READERS[reader].config):
        assert len(key.meaning) > 5, key.name
        assert key.values
        assert "<class" not in key.values + key.place


def test_keys_that_a_dataclass_inherits_have_the_meaning_and_its_own_default() -> None:
    keys = {key.name: key for key in keys_of("network", READERS["rnet"].config)}
    assert keys["network.hidden"].meaning.startswith("features of each direction")
    assert keys["network.cell"].default == "gru"


def test_what_a_value_may_be() -> None:
    assert KEYS["training.epochs"].values == "a whole number"
    assert KEYS["training.clip"].values == "a number"
    assert KEYS["training.precision"].values == "one of bf16, fp32"
    assert KEYS["training.taught"].values == "a list of whole numbers, such as [3, 1]"


def shown(network: type[Any]) -> str:
    defaults = {key.name: key.default for key in all_keys(network)}
    return help_text("keys", "of a configuration", network, defaults)


def test_the_help_has_each_key_with_its_default() -> None:
    text = " ".join(shown(READERS["fabir"].config).split())
    assert "--training.epochs N passes over the training questions (default: 54)" in text
    assert "(default: 0.0007906)" in text
    for name in KEYS:
        assert f"--{name} " in text


def test_a_percent_sign_is_no_format() -> None:
    @dataclass(frozen=True)
    class Config:
        """Nothing.

        Args:
            share: in %, 50 % say
        """

        share: int = 50

    assert "in %, 50 % say (default: 50)" in shown(Config)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("training.epoch", "training.epochs"),
        ("training.learning-rate", "training.learning_rate"),
        ("trainig.epochs", "training.epochs"),
        ("network.batch_size", "training.batch_size"),
        ("seed", "training.seed"),
        ("training.zzz", ""),
    ],
)
def test_what_was_probably_meant(written: str, meant: str) -> None:
    assert suggestion(written, KEYS) == meant


def test_the_page_of_all_keys_is_that_of_the_code() -> None:
    remedy = "python -m fabir.training.keys > docs/configuration.md"
    assert PAGE.read_text(encoding="utf-8") == reference(), remedy
