"""The public names, and those that they had before."""

import pytest

import fabir
from factories import EXAMPLES, small_reader


def test_every_public_name_is_there() -> None:
    for name in fabir.__all__:
        assert getattr(fabir, name).__module__.startswith("fabir.")


def test_a_former_name_says_what_it_is_called_now() -> None:
    with pytest.warns(DeprecationWarning, match=r"called fabir\.TorchModel"):
        assert fabir.Reader is fabir.TorchModel
    predictor = fabir.Predictor(small_reader())
    with pytest.warns(DeprecationWarning, match="called model"):
        assert predictor.reader is predictor.model
    assert predictor.answer(*EXAMPLES[0][:2])


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Writer'"):
        _ = fabir.Writer  # pyright: ignore[reportAttributeAccessIssue]
