"""Items that are keys of ranges: what counts, what does not, and in which row."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lazysketch as ls
from lazysketch.releases.key_questions import is_question, range_of_question
from lazysketch.sources import open_source
from lazysketch.sources.batch import RowBatch
from lazysketch.sources.formats.keys import key_bits, key_type, with_keys


@pytest.mark.parametrize(
    ("bits", "text", "key"),
    [
        (16, "0", 0),
        (16, "65535", 65_535),
        (16, "65536", None),
        (16, "10.0.0.1", None),
        (32, "10.0.0.1", 0x0A000001),
        (32, "::ffff:10.0.0.1", 0x0A000001),
        (32, "::1", None),
        (32, "10.0.0", None),
        (32, "10.0.0.1:80", None),
        (32, "10.0.0.256", None),
        (32, "10.0.0.1\0", None),
        (32, "-1", None),
        (32, "1.5", None),
        (32, "1e3", None),
        (32, " 1", None),
        (32, "", None),
        (32, "٣", None),
        (64, "18446744073709551615", 2**64 - 1),
        (64, "18446744073709551616", None),
        (64, "9" * 5_000, None),
        (64, "2001:db8:1:2::7", 0x20010DB800010002),
        (64, "10.0.0.1", None),
        (64, "fe80::1%eth0", None),
    ],
)
def test_keys_of_text(bits: int, text: str, key: int | None) -> None:
    for item in (text, text.encode()):
        batch = with_keys(RowBatch([item]), bits)
        assert batch.items.tolist() == ([] if key is None else [key])  # type: ignore[union-attr]
        assert list(batch.malformed) == ([0] if key is None else [])


def test_addresses_are_those_of_the_standard_library() -> None:
    chance = np.random.default_rng(3)
    for key in chance.integers(0, 2**32, 300).tolist():
        batch = with_keys(RowBatch([str(ipaddress.IPv4Address(key))]), 32)
        assert batch.items.tolist() == [key]  # type: ignore[union-attr]
        whole = key << 96 | key << 50 | key
        batch = with_keys(RowBatch([str(ipaddress.IPv6Address(whole))]), 64)
        assert batch.items.tolist() == [whole >> 64]  # type: ignore[union-attr]


def test_rows_without_a_key_keep_their_places() -> None:
    batch = with_keys(RowBatch(["a", 3, True, -1, 70_000, b"9"], malformed=[1]), 16)
    assert batch.items.tolist() == [3, 9]  # type: ignore[union-attr]
    assert batch.malformed == [0, 1, 3, 4, 5]
    numbers = RowBatch(np.array([5, -5, 300]))
    assert with_keys(numbers, 8).items.tolist() == [5]  # type: ignore[union-attr]
    assert with_keys(numbers, 64).items.tolist() == [5, 300]  # type: ignore[union-attr]
    assert with_keys(RowBatch(np.array([0.5, 7.0])), 8).rows == 2


def test_every_format_gives_the_same_keys(tmp_path: Path) -> None:
    texts, keys = ["10.0.0.1", "7", "x", "10.0.0.2"], [167_772_161, 7, 167_772_162]
    (tmp_path / "a.csv").write_text("ip\n" + "\n".join(texts) + "\n")
    (tmp_path / "a.jsonl").write_text("".join(f'{{"ip": "{text}"}}\n' for text in texts))
    pq.write_table(pa.table({"ip": texts}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"ip": pa.array([1, -1, 2**40, 9])}), tmp_path / "b.parquet")
    expected = {"a.csv": keys, "a.jsonl": keys, "a.parquet": keys, "b.parquet": [1, 9]}
    for name, found in expected.items():
        counted: list[int] = []
        rows = 0
        for batch in open_source(tmp_path / name, field="ip", item_type="key32"):
            counted += batch.items.tolist()  # type: ignore[union-attr]
            rows += batch.rows
        assert (counted, rows) == (found, 4), name
    with pytest.raises(ls.LazySketchError, match="item_type: expected one of str, int, float"):
        open_source(tmp_path / "a.csv", field="ip", item_type="key65")


def test_types_of_keys() -> None:
    assert [key_bits(key_type(bits)) for bits in range(1, 65)] == list(range(1, 65))
    for other in (
        None,
        "",
        "key",
        "key0",
        "key65",
        "key-1",
        "int",
        "key3.",
        "32",
        "keykey3",
        "key٣",
    ):
        assert key_bits(other) is None


def test_questions() -> None:
    assert [
        text
        for text in (
            *(
                "0-9",
                "10.0.0.1",
                "10.0.0.0/8",
                "::/0",
                "10.0.0.1/8",
                "10.0.0.0/33",
                "1.2.3.4-1.2.4.0",
            ),
            *("a", "7", "0-", "a/b", "1.2.3/8", "cafe", "ab/12", "10.0.0.log", "1.0-2.0", "./::"),
        )
        if is_question(text)
    ] == ["0-9", "10.0.0.1", "10.0.0.0/8", "::/0", "10.0.0.1/8", "10.0.0.0/33", "1.2.3.4-1.2.4.0"]
    assert range_of_question("5-9", 4) == (5, 9)
    assert range_of_question("::/0", 64) == (0, 2**64)
    assert range_of_question("10.0.0.1", 32) == (167_772_161, 167_772_162)
    with pytest.raises(ls.LazySketchError, match="network: expected one such as"):
        range_of_question("7", 32)


def test_a_question_of_two_addresses_ends_before_the_second() -> None:
    assert range_of_question("10.0.0.1-10.0.1.0", 32) == (167_772_161, 167_772_416)
    assert range_of_question("2001:db8::-2001:db8:0:5::", 64) == (
        0x2001_0DB8_0000_0000,
        0x2001_0DB8_0000_0005,
    )


@pytest.mark.parametrize(
    ("network", "bits", "expected"),
    [
        ("10.0.0.1/8", 32, "an address that ends where its prefix does, as in '10.0.0.0/8'"),
        ("2001:db8::1/32", 64, "an address that ends where its prefix does"),
        ("10.0.0.0/33", 32, "one such as '10.0.0.0/8'"),
        ("300.0.0.0/8", 32, "one such as '10.0.0.0/8'"),
        ("10.0.0.0-10.0.0.256", 32, "one such as '10.0.0.0/8'"),
        ("::-10.0.0.1", 64, "one such as '2001:db8::/32'"),
        ("2001:db8::/65", 64, "a prefix of at most 64 bits"),
        ("2001:db8::-2001:db8::1", 64, "an address that ends where its prefix does"),
    ],
)
def test_a_network_that_there_is_not_is_refused(network: str, bits: int, expected: str) -> None:
    with pytest.raises(ls.LazySketchError, match=f"network: expected {expected}"):
        range_of_question(network, bits)
