"""Words of a page become pieces of lines."""

from fabir.documents.page_layout import Word, pieces_of


def test_dots_of_another_height_leave_a_row_whole() -> None:
    label = Word("Fur", 50, 100, 60, 107)
    dots = [Word(".", 62 + 3 * n, 105.5, 63 + 3 * n, 106.2) for n in range(12)]
    [piece] = pieces_of([label, *dots])
    assert (piece.top, piece.bottom, piece.right) == (100, 107, dots[-1].right)
