"""Which texts count as the same answer."""

from fabir.text.normalise import normalise_answer


def test_normalisation_by_hand() -> None:
    assert normalise_answer("The  Cat's\tan—apple, a!") == "cats —apple"  # — ends a word, too
    assert normalise_answer("theatre an other") == "theatre other"
    assert normalise_answer("A. The, an") == ""
