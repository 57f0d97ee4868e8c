"""The encoding of releases: golden files, damage of every kind, and inconsistent headers.

The checksum detects every damaged byte. To test the checks after it, the hostile headers here have
a valid checksum, computed by BLAKE3 in plain Python.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
import pytest
from tests.golden.releases.regenerate import FOLDER, GOLDEN, expected
from tests.unit.releases.plain_blake3 import blake3

import lazysketch as ls
from lazysketch.errors import MergeError, ReleaseFormatError
from lazysketch.estimation.estimators import Estimator


def sealed(body: bytes) -> bytes:
    return body + blake3(body)


def test_the_checksum_is_blake3() -> None:
    known = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    assert blake3(b"").hex() == known
    for name in GOLDEN:
        data = (FOLDER / f"{name}.lzs").read_bytes()
        assert sealed(data[:-32]) == data


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_releases_have_the_recorded_content(name: str) -> None:
    data = (FOLDER / f"{name}.lzs").read_bytes()
    release = ls.Release.from_bytes(data)
    assert expected(release) == json.loads((FOLDER / f"{name}.json").read_text())
    assert release.to_bytes() == data


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_releases_are_made_again_bit_for_bit(name: str) -> None:
    data, made = (FOLDER / f"{name}.lzs").read_bytes(), GOLDEN[name]().to_bytes()
    if name.startswith("exact"):  # their ids are fresh
        assert made[:33] + made[49:-32] == data[:33] + data[49:-32]
    else:
        assert made == data


def test_no_golden_file_is_left_over() -> None:
    files = {path.name for path in FOLDER.iterdir() if path.suffix in (".lzs", ".json")}
    assert files == {f"{name}{end}" for name in GOLDEN for end in (".lzs", ".json")}


def small(make: Any = ls.LazyCountMin, **more: Any) -> bytes:
    noise = {"epsilon": 1.0, "delta": 1e-6, "horizon": 64, "hash_seed": 5}
    sketch = make(**{"depth": 2, "width": 4, **noise, **more})
    sketch.update_many([1, 2, 3] * 3)
    data: bytes = sketch.release().to_bytes()
    return data


def small_exact() -> bytes:
    sketch = ls.CountSketch(depth=2, width=4, hash_seed=5)
    sketch.update_many([1, 2, 3] * 3)
    return sketch.release().to_bytes()


def small_merged() -> bytes:
    first, second = ls.Release.from_bytes(small()), ls.Release.from_bytes(small())
    return first.merge(second).to_bytes()


def small_finished() -> bytes:
    sketch = ls.LazyCountMin(depth=2, width=4, epsilon=1.0, delta=1e-6, horizon=64, hash_seed=5)
    sketch.update_many([1, 2, 3] * 3)
    sketch.finish()
    return sketch.release().to_bytes()


samples = pytest.mark.parametrize("make", [small, small_exact, small_merged, small_finished])


def assert_refused(data: bytes) -> None:
    with pytest.raises(ReleaseFormatError, match="^release: ") as raised:
        ls.Release.from_bytes(data)
    assert isinstance(raised.value, ValueError)


@samples
def test_every_truncation_is_refused(make: Any) -> None:
    data = make()
    for length in range(len(data)):
        assert_refused(data[:length])
        assert_refused(data[length + 1 :])


@samples
def test_every_truncation_with_a_valid_checksum_is_refused(make: Any) -> None:
    body = make()[:-32]
    for length in range(len(body)):
        assert_refused(sealed(body[:length]))


@samples
def test_every_flipped_byte_is_refused(make: Any) -> None:
    data = make()
    for position in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(data)
            changed[position] ^= flip
            assert_refused(bytes(changed))


@samples
def test_trailing_bytes_are_refused(make: Any) -> None:
    data = make()
    for more in (b"\0", b"\n", bytes(8), data):
        assert_refused(data + more)
        assert_refused(sealed(data[:-32] + more[:600]))


@samples
def test_every_flipped_byte_with_a_valid_checksum_is_refused_or_read_as_itself(
    make: Any,
) -> None:
    """Some fields may hold anything (ids, seeds, values); no reader may crash on them."""
    body = make()[:-32]
    for position in range(len(body)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(body)
            changed[position] ^= flip
            data = sealed(bytes(changed))
            try:
                release = ls.Release.from_bytes(data)
            except ReleaseFormatError:
                continue
            assert release.to_bytes() == data
            assert isinstance(release.estimate(1), float)
            assert release.table.shape == (release.depth, release.width)
            repr(release)
            assert release.noise_deviation.shape == (release.width,)


# Offset of each field of the first part, as docs/release-format.md lists them.
FIELDS: dict[str, tuple[int, str]] = {
    "version": (8, "<H"),
    "kind": (10, "<B"),
    "hash version": (11, "<B"),
    "depth": (12, "<I"),
    "width": (16, "<I"),
    "count": (28, "<I"),
    "marks": (32, "<B"),
    "step": (49, "<Q"),
    "exact or noisy": (57, "<B"),
    "schedule": (58, "<B"),
    "horizon": (59, "<Q"),
    "period": (67, "<Q"),
    "growth": (75, "<Q"),
    "rounds": (83, "<Q"),
    "mechanism": (91, "<B"),
    "parameter": (92, "<Q"),
    "digest": (100, "<Q"),
    "sigma": (116, "<d"),
    "relation": (124, "<B"),
    "calibration": (125, "<B"),
    "epsilon": (126, "<d"),
    "delta": (134, "<d"),
    "max_weight": (142, "<Q"),
    "max_events_per_user": (150, "<Q"),
    "max_changes": (158, "<I"),
}
REALS = [0.0, -0.0, -1.0, math.nan, math.inf, -math.inf, 5e-324, 1e308]
INVALID: dict[str, list[Any]] = {
    "version": [0, 2, 3, 4, 0xFFFF],
    "kind": [0, 3, 4, 255],
    "hash version": [0, 2, 255],
    "depth": [0, 1, 3, 65, 2**31, 2**32 - 1],
    "width": [0, 3, 5, 2**24, 2**24 + 1, 2**32 - 1],
    "count": [0, 2, 2**16, 2**16 + 1, 2**32 - 1],
    "marks": [1 << bit for bit in range(6, 8)] + [255],
    "step": [65, 2**62, 2**63, 2**64 - 1],
    "exact or noisy": [0, 2, 255],
    "schedule": [0, 2, 3, 4, 255],
    "horizon": [0, 8, 2**48 + 1, 2**63, 2**64 - 1],
    "period": [0, 2**63, 2**64 - 1],
    "growth": [1, 2**32, 2**64 - 1],
    "rounds": [1, 4096, 2**64 - 1],
    "mechanism": [0, 1, 2, 4, 5, 6, 255],
    "parameter": [1, 2**63],
    "digest": [1, 2**63],
    "sigma": [*REALS, 2.0**49, 1.0],  # 1 is far too little noise for the guarantee
    "relation": [0, 3, 255],
    "calibration": [0, 3, 255],
    "epsilon": [*REALS, 1e-3, 100.5, 500.0],  # 1e-3: more privacy than the noise gives
    "delta": [*REALS, 1.0, 1.5, 1e-290, 1e-12],
    "max_weight": [0, 2**32 + 1, 2**63, 2**64 - 1, 100],
    "max_events_per_user": [0, 2**32 + 1, 2**63, 2**64 - 1, 100],
    "max_changes": [0, 2, 5, 2**32 - 1],
}


def with_field(body: bytes, field: str, value: Any) -> bytes:
    offset, form = FIELDS[field]
    changed = bytearray(body)
    struct.pack_into(form, changed, offset, value)
    return bytes(changed)


def test_the_offsets_are_right() -> None:
    body = small()[:-32]
    values = {name: struct.unpack_from(form, body, at)[0] for name, (at, form) in FIELDS.items()}
    found = (values["depth"], values["width"], values["step"], values["horizon"], values["epsilon"])
    assert found == (2, 4, 9, 64, 1.0)
    assert len(body) == 162 + 8 * 8
    ls.Release.from_bytes(sealed(body))


@pytest.mark.parametrize("field", INVALID)
def test_inconsistent_headers_with_a_valid_checksum(field: str) -> None:
    body = small()[:-32]
    accepted = {}
    for value in INVALID[field]:
        try:
            accepted[value] = repr(ls.Release.from_bytes(sealed(with_field(body, field, value))))
        except ReleaseFormatError as error:
            if not str(error).startswith("release: "):
                accepted[value] = str(error)
        except BaseException as error:
            accepted[value] = f"{type(error).__name__}: {str(error)[:60]}"
    assert not accepted


FINISHED_FIELDS = {"version": (8, "<H"), "finished": (57, "<B"), "first": (58, "<Q")}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("version", [1, 2, 4]),
        ("finished", [0, 2, 255]),
        ("first", [0, 2, 18, 2**32, 2**64 - 1]),  # two pushes before, 16 leaves and an extra one
    ],
)
def test_inconsistent_ends_with_a_valid_checksum(field: str, values: list[int]) -> None:
    body = small_finished()[:-32]
    assert sealed(body) == ls.Release.from_bytes(sealed(body)).to_bytes()
    offset, form = FINISHED_FIELDS[field]
    for value in values:
        changed = bytearray(body)
        struct.pack_into(form, changed, offset, value)
        assert_refused(sealed(bytes(changed)))


def with_period(period: int) -> bytes:
    return sealed(with_field(small()[:-32], "period", period))


@pytest.mark.parametrize("period", [2, 3, 63, 64, 2**20, 2**40])
def test_a_longer_period_is_refused_or_counted(period: int) -> None:
    """One column every `period` steps: 9 steps are 9 // period pushes in all."""
    try:
        release = ls.Release.from_bytes(with_period(period))
    except ReleaseFormatError:
        return
    assert release.pushes.sum() == 9 // period
    mechanism = release.parts[0].mechanism
    assert mechanism is not None
    assert mechanism.leaves == math.ceil(64 / (period * release.width))
    variances = mechanism.variances(release.pushes)
    np.testing.assert_allclose(release.noise_deviation, release.privacy.sigma * variances**0.5)


def test_an_exact_part_must_say_not_private() -> None:
    body = bytearray(small_exact()[:-32])
    body[32] = 0
    assert_refused(sealed(bytes(body)))


def test_parts_are_in_order_and_distinct() -> None:
    body = small_merged()[:-32]
    start, size = 32, 162 - 32
    first, second = body[start : start + size], body[start + size : start + 2 * size]
    rest = body[start + 2 * size :]
    assert sealed(body[:start] + first + second + rest) == sealed(body)
    for parts in (second + first, first + first):
        assert_refused(sealed(body[:start] + parts + rest))


@pytest.mark.parametrize("make", [ls.LazyCountMin, ls.LazyCountSketch])
@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_extreme_tables_are_read_without_overflow(make: Any, value: int) -> None:
    """No sketch publishes such a table, but a file may hold one: refuse or answer, never crash."""
    bodies = [small(make)[:-32] for _ in range(2)]
    table = struct.pack("<q", value) * 8
    try:
        first, second = (ls.Release.from_bytes(sealed(body[:162] + table)) for body in bodies)
    except ReleaseFormatError:
        return
    assert np.unique(first.table).tolist() == [value]
    paper: Estimator = "median" if first.kind == "count-sketch" else "minimum"
    estimates = first.estimate_many(list(range(100)), estimator=paper)
    assert np.isin(estimates, [float(value), -float(value), 0.0]).all()
    joint = first.estimate_many(list(range(100)))
    assert np.all(np.abs(joint) <= 2.0**66)
    assert first.estimate(1) == joint[1]
    with pytest.raises(MergeError):
        first.merge(second)
