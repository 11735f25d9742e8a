"""The parameters of the papers' readers."""

from itertools import takewhile

import pytest

from fabir.errors import InputError
from fabir.training.rows import describe, describe_all, rows


@pytest.mark.parametrize(("name", "published"), [("fabir", 1_385_198), ("bidaf", 2_695_851)])
def test_parameters_are_the_published_ones(name: str, published: int) -> None:
    assert describe(name)[0].parameters == pytest.approx(published, rel=0.003)


def test_the_baseline_without_characters_has_the_papers_300_features_a_word() -> None:
    def lstm(inputs: int) -> int:
        return 2 * 4 * (inputs * 100 + 100 * 100 + 200)

    words = 17 * 300 + 300 * 100 + 2 * (100 * 200 + 200)
    layers = lstm(100) + 3 * 200 + lstm(800) + lstm(200) + lstm(200)
    assert describe("bidaf-cs224n")[0].parameters == words + layers + 2 * (1000 + 1)


@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("rnet-0-baseline", 300),
        ("a3-coatt", 300),
        ("qanet", 300),
        ("bidaf", 100),
        ("crossconv", 50),
    ],
)
def test_rows_have_the_word_vectors_they_are_meant_for(name: str, features: int) -> None:
    rows_of_words = next(part for part in describe(name) if part.name.endswith("words"))
    assert rows_of_words.parameters == features * (1217 if name == "bidaf" else 17)


def test_every_row_is_described() -> None:
    assert [part.name for part in describe_all()] == list(rows())
    for prefix, count in {
        "rnet-": 6,
        "a3-": 9,
        "qanet": 15,
        "bidaf": 2,
        "fabir": 13,
        "crossconv": 1,
    }.items():
        assert sum(name.startswith(prefix) for name in rows()) == count


@pytest.mark.parametrize("name", ["rnet-5-output", "qanet", "a3-coatt-sentinels", "crossconv"])
def test_parts_add_up(name: str) -> None:
    parts = describe(name)
    for number, whole in enumerate(parts):
        below = list(takewhile(lambda part: part.depth > whole.depth, parts[number + 1 :]))  # noqa: B023
        inside = [part.parameters for part in below if part.depth == whole.depth + 1]
        assert not inside or sum(inside) == whole.parameters, whole


def test_a_row_that_is_not_there() -> None:
    with pytest.raises(InputError, match="'bidaff': `fabir readers` lists them"):
        describe("bidaff")
