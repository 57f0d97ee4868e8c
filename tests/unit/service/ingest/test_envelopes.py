"""Headers, compression and sizes of a batch."""

from __future__ import annotations

import gzip
import random

import pyarrow as pa
import pytest

from lazysketch.service.ingest.envelopes import MOST_BODY, Envelope, envelope_of
from lazysketch.service.ingest.refusals import RefusedRequestError

JSON = (b"content-type", b"application/x-ndjson; charset=utf-8")


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


COMPRESS = {"gzip": gzip.compress, "zstd": zstd}


def test_headers_are_read() -> None:
    headers = [JSON, (b"content-encoding", b"gzip"), (b"content-length", b"12")]
    found = envelope_of([*headers, (b"idempotency-key", b"host 1:0042")])
    assert found == Envelope("application/x-ndjson", "gzip", "host 1", 42, 12)
    assert envelope_of([JSON]) == Envelope("application/x-ndjson")


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        (b"content-type", b"text/html", 415),
        (b"content-encoding", b"br", 415),
        (b"content-encoding", b"gzip, gzip", 415),
        (b"content-length", str(MOST_BODY + 1).encode(), 413),
        (b"content-length", b"-1", 413),
        *[
            (b"idempotency-key", key, 400)
            for key in (
                b"", b"a", b":1", b"a:", b"a:0", b"a:-1", b"a:x", b"a:b:1", b"\xff:1", b"\x01:1",
                b"a:9223372036854775808", b"a" * 101 + b":1", "a:٣".encode(),
            )
        ],
    ],
)  # fmt: skip
def test_other_headers_are_refused(header: bytes, value: bytes, status: int) -> None:
    headers = dict([JSON]) | {header: value}
    with pytest.raises(RefusedRequestError) as refused:
        envelope_of(headers.items())
    assert refused.value.status == status
    assert (b"connection", b"close") in refused.value.headers


def test_a_header_that_comes_twice_is_refused() -> None:
    for header in (JSON, (b"idempotency-key", b"a:1"), (b"content-encoding", b"gzip")):
        with pytest.raises(RefusedRequestError, match="several"):
            envelope_of([header, header])


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
def test_compressed_bodies_are_expanded(coding: str, size: int) -> None:
    data = b"x" * size
    assert Envelope("", coding).expanded(COMPRESS[coding](data)) == data


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_bombs_are_refused(coding: str) -> None:
    for data in (b"x" * (1 << 22), b"x" * (1 << 27)):
        with pytest.raises(RefusedRequestError, match="64 MiB and 100 times") as refused:
            Envelope("", coding).expanded(COMPRESS[coding](data))
        assert refused.value.status == 413


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_damaged_bodies_are_refused(coding: str) -> None:
    whole = COMPRESS[coding](b"some events\n" * 50)
    other = COMPRESS["zstd" if coding == "gzip" else "gzip"](b"a")
    for body in (b"", b"a\n", whole[:-4], other, whole[:6] + b"\xff" * 20):
        with pytest.raises(RefusedRequestError, match=f"whole {coding} data") as refused:
            Envelope("", coding).expanded(body)
        assert refused.value.status == 400


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_beyond_a_mebibyte_the_ratio_is_exact(coding: str) -> None:
    """Equal events compress better than 100 times: less than 1 MiB passes at any ratio."""
    free = 1 << 20
    assert len(Envelope("", coding).expanded(COMPRESS[coding](bytes(free)))) == free
    with pytest.raises(RefusedRequestError, match="100 times"):
        Envelope("", coding).expanded(COMPRESS[coding](bytes(free + 1)))
    noise, size = random.Random(coding).randbytes(40_000), 2_000_000
    outcomes = set()
    for part in range(17_500, 20_500, 100):
        packed = COMPRESS[coding](noise[:part] + bytes(size - part))
        outcomes.add(size <= 100 * len(packed))
        if size <= 100 * len(packed):
            assert len(Envelope("", coding).expanded(packed)) == size
        else:
            with pytest.raises(RefusedRequestError, match="100 times"):
                Envelope("", coding).expanded(packed)
    assert outcomes == {True, False}
