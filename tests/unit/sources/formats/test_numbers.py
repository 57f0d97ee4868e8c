"""Items that are numbers: each format gives the same ones, and a row without one is malformed."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lazysketch.errors import ArgumentValueError, SourceError
from lazysketch.sources import open_source
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.formats.numbers import with_numbers

# As written, and the number; None for a row without one.
WRITTEN = {
    "1.5": 1.5,
    "-2e3": -2000.0,
    " 7 ": 7.0,
    "0": 0.0,
    "inf": math.inf,
    "1e999": math.inf,
    "nan": None,
    "n/a": None,
    "1_000": None,
    "0x1": None,
}


def read(path: Path, field: str | None, **options: str) -> tuple[list[float], list[int]]:
    """Return the numbers of a file, and the positions of the rows without one."""
    numbers: list[float] = []
    malformed: list[int] = []
    rows = 0
    for batch in open_source(path, field=field, item_type="float", **options):
        assert isinstance(batch.items, np.ndarray)
        assert batch.items.dtype == np.float64
        numbers += batch.items.tolist()
        malformed += [rows + position for position in batch.malformed]
        rows += batch.rows
    return numbers, malformed


def wanted(values: dict[str, float | None]) -> tuple[list[float], list[int]]:
    known = [number for number in values.values() if number is not None]
    return known, [place for place, number in enumerate(values.values()) if number is None]


def test_text_is_read_as_numbers(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("name,size\n" + "".join(f"x,{text}\n" for text in WRITTEN) + "x,\n")
    numbers, malformed = wanted(WRITTEN)
    assert read(table, "size") == (numbers, [*malformed, len(WRITTEN)])
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{text}\n" for text in WRITTEN))
    assert read(lines, None, format="lines") == (numbers, malformed)


def test_json_has_numbers_and_text_that_is_one(tmp_path: Path) -> None:
    values = {
        "1.5": 1.5,
        "-3": -3.0,
        "1e2": 100.0,
        '"2.5"': 2.5,
        '"ms"': None,
        "true": None,
        "null": None,
        "[1]": None,
        "NaN": None,
        "Infinity": math.inf,
        "-Infinity": -math.inf,
        str(10**30): 1e30,
        "1" * 700: None,  # beyond the digits that the decoder may take
        '"\\ud800"': None,
    }
    values["1" * 700] = float("inf") if _decodes("1" * 700) else None
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"a": {{"b": {text}}}}}\n' for text in values) + "{broken\n")
    numbers, malformed = wanted(values)
    assert read(path, "a.b") == (numbers, [*malformed, len(values)])


def _decodes(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.5, None, math.nan, -math.inf, 3.0]),
        pa.array([1.5, None, math.nan, -math.inf, 3.0], pa.float32()),
        pa.array([1.5, None, math.nan, -math.inf, 3.0]).dictionary_encode(),
    ],
)
def test_columns_of_floats_are_numbers(tmp_path: Path, column: pa.Array) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": column}), path)
    assert read(path, "x") == ([1.5, -math.inf, 3.0], [1, 2])


def test_columns_of_integers_and_decimals_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    integers = pa.array([1, None, 2**63], pa.uint64())
    decimals = pa.array(["1.25", None, "-7.00"]).cast(pa.decimal128(9, 2))
    pq.write_table(pa.table({"x": integers, "y": decimals, "z": pa.array(["1"] * 3)}), path)
    assert read(path, "x") == ([1.0, 2.0**63], [1])
    assert read(path, "y") == ([1.25, -7.0], [1])
    with pytest.raises(SourceError, match="expected numbers in field 'z', got string"):
        read(path, "z")


def test_a_type_of_items_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a\n1\n")
    with pytest.raises(ArgumentValueError, match="item_type: expected one of str, int, float"):
        open_source(path, field="a", item_type="double")


def test_what_belongs_to_an_item_that_is_no_number_is_left_out() -> None:
    batch = RowBatch(
        items=["1", "x", "3", "4"],
        malformed=[1],
        weights=[5, 6, 7, 8],
        clipped=[1, 2],
        absent=[4],
        users=["a", "b", "c", "d"],
        times=np.arange(6),
    )
    found = with_numbers(batch)
    assert np.asarray(found.items).tolist() == [1.0, 3.0, 4.0]
    assert list(found.malformed) == [1, 2]  # rows: 1, -, x, 3, -, 4
    assert np.asarray(found.weights).tolist() == [5, 7, 8]
    assert list(found.clipped) == [1]
    assert found.user_list == ["a", "c", "d"]
    assert list(found.absent) == [4]
    assert found.rows == batch.rows == 6
    assert found.times is batch.times
