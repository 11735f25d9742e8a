import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabir.data.published.records import Options, cut
from fabir.errors import InputError
from fabir.text.lines import divide
from fabir.text.tokens import tokenise

LAYOUT = st.text(alphabet="ab .,\n\t-", max_size=200)


@given(LAYOUT | st.text(), st.integers(1, 12))
@example("a\n\nb\n\nc d", 3)
def test_a_cut_text_has_no_more_words_than_it_may(text: str, words: int) -> None:
    beginning = cut(text, words)
    assert text.startswith(beginning)
    count = len(tokenise(divide(beginning).text).words)
    assert count <= words
    if len(tokenise(divide(text).text).words) <= words:
        assert beginning == text


def test_a_cut_text_ends_with_a_whole_word() -> None:
    assert cut("Rain falls in Spain.", 3) == "Rain falls in"
    assert cut("Rain falls in Spain.", 0) == "Rain falls in Spain."
    with pytest.raises(InputError, match="--max-words must be at least 0, not -1"):
        Options(max_words=-1)
