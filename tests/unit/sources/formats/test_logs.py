"""Logs of servers and services: each field of documented samples, detection, people, weights."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from tests.unit.sources.formats.log_samples import SAMPLES, Sample

from lazysketch._native import log_fields
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, SourceError
from lazysketch.sources import (
    FORMATS,
    RowBatch,
    checked_request,
    open_source,
    parts_of,
    read_part,
)

ids = [f"{sample.format}-{number}" for number, sample in enumerate(SAMPLES)]
samples = pytest.mark.parametrize("sample", SAMPLES, ids=ids)
NGINX = SAMPLES[1]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "input"


def rows_of(sample: Sample) -> int:
    return sum(not row.startswith("#") for row in sample.rows.splitlines())


def batch_of(path: Path, **options: object) -> RowBatch:
    (batch,) = open_source(path, **options)  # type: ignore[arg-type]
    return batch


@samples
def test_each_field_of_a_sample(sample: Sample, log: Path) -> None:
    log.write_text(sample.rows)
    for field, value in sample.fields.items():
        batch = batch_of(log, format=sample.format, field=field)
        assert batch.rows == rows_of(sample)
        assert batch.item_list[0] == value, field
        assert 0 not in batch.malformed


def test_every_field_of_every_log_has_a_sample() -> None:
    shown: dict[str, set[str]] = {}
    for sample in SAMPLES:
        shown.setdefault(sample.format, set()).update(sample.fields)
    for name, form in FORMATS.items():
        if name in shown and form.fields is not None:
            assert shown[name] == set(form.fields) == set(log_fields(name))
            assert form.fields[0] in shown[name]


@samples
def test_a_sample_is_detected_and_what_was_guessed_is_said(sample: Sample, log: Path) -> None:
    log.write_bytes(gzip.compress(sample.rows.encode()))
    field = "path" if sample.format == "logfmt" else None
    source = open_source(log, field=field)
    (batch,) = source
    assert batch.rows == rows_of(sample)
    counted = source.tally.fields[0]
    assert source.tally.formats == [f"{sample.format}, field {counted}"]
    (guess,) = source.tally.guesses
    assert f"read as {sample.format}, counting {counted}" in guess
    assert "--format NAME" in guess
    assert source.tally.hints == []


@samples
def test_the_times_of_a_sample(sample: Sample, log: Path) -> None:
    log.write_text(sample.rows)
    options = {"time": "time", "field": "path"} if sample.format == "logfmt" else {"times": True}
    batch = batch_of(log, format=sample.format, **options)
    assert batch.times is not None
    expected = np.array(sample.times, dtype="datetime64[ns]")
    assert batch.times.tolist() == expected.astype(np.int64).tolist()


@samples
def test_rows_of_another_format_are_malformed(sample: Sample, log: Path) -> None:
    """Damaged rows are empty steps; those around them are read as before."""
    header = [row for row in sample.rows.splitlines(keepends=True) if row.startswith("#")]
    last = sample.rows.splitlines(keepends=True)[-1]
    damaged = ["\n", "x\n", last[: len(last) // 3] + "\n", '{"a": \n', '"\n']
    log.write_text("".join([*header, last, *damaged, last]))
    field = next(iter(sample.fields)) if FORMATS[sample.format].fields is None else None
    batch = batch_of(log, format=sample.format, field=field)
    assert batch.rows == 7
    whole = {0, 6}.difference(batch.malformed)
    assert len(whole) in (0, 2)  # the last row may lack the default field
    # A third of a row of syslog or of pairs is a shorter one; all else is malformed.
    shorter = {3} if sample.format in ("syslog", "logfmt") else set()
    assert set(range(1, 6)).difference(batch.malformed) <= shorter


@pytest.mark.parametrize(
    ("hops", "client"),
    [
        (None, "203.0.113.9"),
        (0, "10.0.0.7"),
        (1, "198.51.100.4"),
        (2, "203.0.113.9"),
        (9, "203.0.113.9"),
    ],
)
def test_the_client_stands_before_the_trusted_proxies(
    hops: int | None, client: str, log: Path
) -> None:
    log.write_text(NGINX.rows)
    batch = batch_of(log, format="nginx", trusted_hops=hops)
    assert batch.item_list == [client, "10.0.0.7"]  # without the header, who connected


def test_trusted_hops_need_a_format_with_clients(log: Path) -> None:
    log.write_text(NGINX.rows)
    with pytest.raises(ArgumentValueError, match="trusted_hops: expected none for format 'common'"):
        open_source(log, format="common", trusted_hops=1)
    with pytest.raises(ArgumentValueError, match="trusted_hops: expected"):
        open_source(log, format="nginx", trusted_hops=-1)
    with pytest.raises(ArgumentTypeError, match="trusted_hops: expected"):
        open_source(log, format="nginx", trusted_hops=1.5)  # type: ignore[arg-type]


def test_people_and_weights_of_a_log(log: Path) -> None:
    log.write_text(NGINX.rows + NGINX.rows.replace(" 512 ", " - "))
    batch = batch_of(log, format="nginx", field="path", user="user", weight="size", max_weight=100)
    assert (batch.item_list, batch.user_list) == (["/a", "/a"], ["ann", "ann"])
    assert batch.weights is not None
    assert (list(batch.weights), list(batch.clipped)) == ([100, 0], [0])
    assert (list(batch.malformed), list(batch.without_user)) == ([1, 3], [1, 3])  # "-" is no one
    with pytest.raises(ArgumentValueError, match="user: expected one of host, client, user"):
        open_source(log, format="nginx", user="path")
    with pytest.raises(ArgumentValueError, match="weight: expected size for format 'nginx'"):
        open_source(log, format="nginx", weight="status", max_weight=9)


def test_a_combined_log_stays_one(log: Path) -> None:
    """Appended fields make another format only if they are what it appends."""
    row = '192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5 "-" "curl"'
    for appended in ("", ' "site"', ' "-"', " 0.003", ' 12 "-" "-" 5'):
        log.write_text(f"{row}{appended}\n" * 3)
        source = open_source(log)
        assert [batch.rows for batch in source] == [3]
        assert source.tally.formats == ["combined, field host"], appended
    log.write_text(f"2001:db8::1 {row.partition(' ')[2]}\n" * 3)
    source = open_source(log)
    assert [batch.item_list for batch in source] == [["2001:db8::1"] * 3]
    assert source.tally.formats == ["combined, field host"]


def test_objects_are_also_read_by_their_keys(log: Path) -> None:
    caddy = next(sample for sample in SAMPLES if sample.format == "caddy")
    log.write_text(caddy.rows)
    source = open_source(log, field="request.proto")
    assert [batch.item_list for batch in source] == [["HTTP/2.0"]]
    assert source.tally.formats == ["jsonl, field request.proto"]


def test_a_w3c_log_follows_its_header(log: Path) -> None:
    log.write_text("#Fields: a b\n1 2\n1 2 3\n- 2\n#Fields: b a\n1 2\n#Date: x\n")
    assert batch_of(log, field="a").item_list == ["1", "2"]
    batch = batch_of(log, field="b")
    assert (batch.rows, list(batch.malformed), batch.item_list) == (4, [1], ["2", "2", "1"])
    for header, message in [
        ("#Fields: a b\n", "expected one column 'c-ip' for field in #Fields:, got 'a', 'b'"),
        ("#Fields: c-ip c-ip\n", "got 'c-ip', 'c-ip'"),
        ("#Fields: ann@example.org c-ip c-ip\n", "got 3 others"),
        ("#Version: 1.0\n", "expected a line #Fields: before the first row, got none"),
    ]:
        log.write_text(header + "1 2\n")
        with pytest.raises(SourceError) as caught:
            list(open_source(log, format="w3c"))
        assert message in str(caught.value)
    log.write_text("#Fields: c-ip\n1\n")
    with pytest.raises(SourceError, match="one column 'date\\+time' for time"):
        list(open_source(log, format="w3c", times=True))


@samples
def test_parts_have_each_row_once(sample: Sample, log: Path) -> None:
    log.write_text(sample.rows * 40)
    request = checked_request(field=next(iter(sample.fields)))
    whole = batch_of(log, format=sample.format, field=request.field).item_list
    parts = parts_of(log, request, format=sample.format, most_bytes=700)
    assert (len(parts) > 3) == FORMATS[sample.format].skips
    found = [
        item for part in parts for batch in read_part(part, request) for item in batch.item_list
    ]
    assert found == whole
