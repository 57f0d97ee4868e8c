from pathlib import Path

import pytest
from tools.accuracy.decoded_lists import DecodedLists, measure, table


def _means(row: DecodedLists, size: str) -> tuple[float, float]:
    joint, decoded = zip(*row.errors[size], strict=True)
    return sum(joint) / len(joint), sum(decoded) / len(decoded)


@pytest.mark.parametrize(("stream", "most"), [("zipf-1.3", 0.8), ("equal shares", 1.1)])
def test_long_lists_of_a_skewed_stream_gain_and_those_of_equal_shares_lose_nothing(
    stream: str, most: float
) -> None:
    # Over 8 seeds: 0.4 to 0.6, and 0.9 to 1.0.
    rows = list(measure(stream, data=Path(), seeds=2))
    assert [row.sketch for row in rows] == ["Count-Min", "Count Sketch"]
    for row in rows:
        for size in ("1000", "4096"):
            joint, decoded = _means(row, size)
            assert 0 < decoded < most * joint, (row.sketch, size, joint, decoded)


def test_a_row_for_each_sketch_and_a_column_for_each_list() -> None:
    lists = DecodedLists("s", "Count-Min", {"100": [(3.0, 1.0), (5.0, 2.4)], "300": [(9.0, 9.0)]})
    assert table([lists]).splitlines() == [
        "| stream | sketch | 100 | 300 |",
        "| --- | --- | --- | --- |",
        "| s | Count-Min | 4 to 2 | 9 to 9 |",
    ]
