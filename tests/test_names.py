"""The public names."""

import pytest

import fabir


def test_every_public_name_is_there() -> None:
    for name in fabir.__all__:
        assert getattr(fabir, name).__module__.startswith("fabir.")


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Writer'"):
        _ = fabir.Writer  # pyright: ignore[reportAttributeAccessIssue]
