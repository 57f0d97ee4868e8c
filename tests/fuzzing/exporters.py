"""Objects with the Arrow PyCapsule methods that lie, raise, re-enter or fail in the middle."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import pyarrow as pa
from tests.fuzzing.arrow_data import broken_array, whole_array
from tests.fuzzing.scalars import Disturbance, raised
from tests.fuzzing.verdicts import CANARY

__all__ = ["exporter"]

_NAMES: Final = [b"arrow_array", b"arrow_schema", b"arrow_array_stream", b"other"]
_ROOM: Final = ctypes.create_string_buffer(512)  # zeros: a released structure of any kind


def _capsule(name: bytes | None) -> object:
    """Return a capsule that holds zeros, which is how a released structure looks."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    return new(ctypes.addressof(_ROOM), name, None)


def _made(of: Callable[[], object], *, array: bool) -> object:
    def call(self: object, requested_schema: object = None) -> object:
        return of()

    return type("Exporter", (), {f"__arrow_c_{'array' if array else 'stream'}__": call})()


def _pairs(chance: Random, disturbance: Disturbance) -> object:
    array, other = whole_array(chance), whole_array(chance)
    error = raised(chance)
    used = array.__arrow_c_array__()

    def swapped() -> object:
        return array.__arrow_c_array__()[::-1]

    def mixed() -> object:  # a column of nulls has no buffers, so a consumer reads none
        return (pa.null().__arrow_c_schema__(), other.__arrow_c_array__()[1])

    def raises() -> object:
        raise error

    def disturbs() -> object:
        disturbance()
        return array.__arrow_c_array__()

    answers: list[Callable[[], object]] = [
        *(swapped, raises, disturbs, disturbs, lambda: used, lambda: used),
        *(lambda: None, list, tuple, lambda: (1, 2), lambda: (None, None), lambda: "ab"),
        *(lambda: list(array.__arrow_c_array__()), lambda: array.__arrow_c_array__()[:1]),
        *(lambda: (*array.__arrow_c_array__(), 1), lambda: array.__arrow_c_array__()[0]),
        lambda: (_capsule(b"arrow_schema"), array.__arrow_c_array__()[1]),
        lambda: (array.__arrow_c_array__()[0], _capsule(b"arrow_array")),
        lambda: (_capsule(chance.choice(_NAMES)), _capsule(chance.choice([*_NAMES, None]))),
        lambda: broken_array(chance).__arrow_c_array__(),
        lambda: pa.schema([(CANARY, pa.int64())]).__arrow_c_schema__(),
        mixed,
    ]
    return _made(chance.choice(answers), array=True)


def _streams(chance: Random, disturbance: Disturbance) -> object:
    array, error, does = whole_array(chance), raised(chance), chance.randrange(4)
    batch = pa.record_batch({CANARY: array})

    def batches() -> Iterator[Any]:
        yield batch
        if does == 0:
            raise error
        if does == 1:
            disturbance()
        if does == 2:
            raise ValueError(f"{CANARY} in the error of a stream")
        yield pa.record_batch({"other": pa.array([1, 2])}) if does == 3 else batch

    def stream() -> object:
        return pa.RecordBatchReader.from_batches(batch.schema, batches()).__arrow_c_stream__()

    reader = pa.table({CANARY: array}).to_reader()
    used = pa.table({CANARY: array}).__arrow_c_stream__()
    answers: list[Callable[[], object]] = [
        *(stream, stream, stream, lambda: used, lambda: reader.__arrow_c_stream__()),
        *(lambda: None, list, lambda: (1, 2), lambda: _capsule(chance.choice([*_NAMES, None]))),
        lambda: array.__arrow_c_array__()[1],
        lambda: pa.chunked_array([array]).__arrow_c_stream__(),
    ]
    return _made(chance.choice(answers), array=False)


def exporter(chance: Random, disturbance: Disturbance) -> Any:
    """Return an object with one of the PyCapsule methods."""
    return (_pairs if chance.random() < 0.6 else _streams)(chance, disturbance)
