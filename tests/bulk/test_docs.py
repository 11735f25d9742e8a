"""The Python of docs/bulk.md runs: DataFrames, and Spark where it is installed."""

import re
import shutil
from pathlib import Path

import pytest

from fabir.bulk.columns import ANSWERS
from fabir.data.tables import read_table, write_table

PAGE = (Path(__file__).parents[2] / "docs" / "bulk.md").read_text(encoding="utf-8")
FRAME, SPARK = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
SQL = {str: "string", int: "bigint", float: "double"}


def test_the_frame_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas", minversion="3")  # earlier ones print missing text otherwise
    exec(compile(FRAME, "docs/bulk.md", "exec"), {})
    assert f"```\n{capsys.readouterr().out}```" in PAGE


def test_spark_is_told_the_columns_of_the_answers() -> None:
    named = ", ".join(f"{name} {SQL[kind]}" for name, kind in ANSWERS.items())
    assert named in re.sub(r'"\n\s*"', "", SPARK)


@pytest.mark.slow
def test_spark_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    monkeypatch.chdir(tmp_path)
    columns = {"id": int, "question": str, "context": str}
    row = {"question": "Who built the mill?", "context": "Ada Lovelace built the mill."}
    rows = [row | {"id": number} for number in range(3)]
    write_table("rows.parquet", [*rows, {"id": 3}], columns)
    names: dict[str, object] = {}
    exec(compile(SPARK, "docs/bulk.md", "exec"), names)
    names["spark"].stop()  # pyright: ignore[reportAttributeAccessIssue]
    written = [each.row for path in Path("answers").glob("*.parquet") for each in read_table(path)]
    written.sort(key=lambda each: each["id"])
    assert [each["answer"] for each in written] == ["Ada Lovelace"] * 3 + [None]
    assert list(written[0]) == [*columns, *ANSWERS]
