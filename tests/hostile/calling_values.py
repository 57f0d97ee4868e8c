"""Values that call something once, where they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, tzinfo
from typing import Any, Final, Protocol

import pyarrow as pa

__all__ = ["CARRIERS", "Called", "N"]

N: Final = 25


class Called(Protocol):
    """What is called, and the items of the batch."""

    items: list[Any]

    def called(self) -> None: ...


class _Weight:
    def __init__(self, case: Called) -> None:
        self.case = case

    def __index__(self) -> int:
        self.case.called()
        return 1


class _Iterable:
    """Calls in ``__iter__``, ``__next__``, ``__len__``, ``__hash__`` or ``__eq__``."""

    def __init__(self, case: Called, method: str) -> None:
        self.case, self.method = case, method
        self.inner = iter(case.items)

    def _at(self, method: str) -> None:
        if method == self.method:
            self.case.called()

    def __iter__(self) -> _Iterable:
        self._at("iter")
        return self

    def __next__(self) -> object:
        self._at("next")
        return next(self.inner)

    def __len__(self) -> int:
        self._at("len")
        return N

    def __hash__(self) -> int:
        self._at("hash")
        return 0

    def __eq__(self, other: object) -> bool:
        self._at("hash")
        return self is other


class _Zone(tzinfo):
    """The zone of an item."""

    def __init__(self, case: Called) -> None:
        self.case = case

    def utcoffset(self, _: datetime | None) -> timedelta:
        self.case.called()
        return timedelta(0)

    def dst(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, _: datetime | None) -> str:
        return "UTC"


class _Text(str):
    """A text that calls where it is hashed or compared."""

    __slots__ = ("case",)
    case: Called

    def __hash__(self) -> int:
        self.case.called()
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        self.case.called()
        return super().__eq__(other)


class _ArrowArray:
    def __init__(self, case: Called) -> None:
        self.case = case

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        self.case.called()
        return pa.array(self.case.items, pa.string()).__arrow_c_array__(requested_schema)


class _ArrowStream:
    def __init__(self, case: Called) -> None:
        self.case = case

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        case = self.case

        def batches() -> Iterator[pa.RecordBatch]:
            case.called()
            yield pa.record_batch({"item": pa.array(case.items, pa.string())})

        schema = pa.schema({"item": pa.string()})
        reader = pa.RecordBatchReader.from_batches(schema, batches())
        return reader.__arrow_c_stream__(requested_schema)


class _Buffer(_Iterable):
    """Gives its values by the buffer protocol, where Python has it for classes."""

    def __buffer__(self, flags: int) -> memoryview:
        del flags
        self.case.called()
        return memoryview(b"abc")


def _weights(case: Called) -> tuple[object, object]:
    return case.items, [*[1] * (N // 2), _Weight(case), *[1] * (N - N // 2 - 1)]


def _zone(case: Called) -> tuple[object, object]:
    case.items[4] = datetime(2026, 1, 1, tzinfo=_Zone(case))
    return case.items, None


def _text(case: Called) -> tuple[object, object]:
    text = _Text("i4")
    text.case = case
    case.items[4] = text
    return case.items, None


CARRIERS: Final[dict[str, Callable[[Called], tuple[object, object]]]] = {
    "__index__": _weights,
    "__iter__": lambda case: (_Iterable(case, "iter"), None),
    "__next__": lambda case: (_Iterable(case, "next"), None),
    "__len__": lambda case: (_Iterable(case, "len"), None),
    "__hash__": lambda case: (_Iterable(case, "hash"), None),
    "__hash__ of a text": _text,
    "weights' __next__": lambda case: (case.items, _weights_of(case)),
    "utcoffset": _zone,
    "__arrow_c_array__": lambda case: (_ArrowArray(case), None),
    "__arrow_c_stream__": lambda case: (_ArrowStream(case), None),
    "__buffer__": lambda case: (_Buffer(case, "buffer"), None),
    "__del__": lambda case: (case.items, [1] * N),
    "level or clock": lambda case: (case.items, None),
}


def _weights_of(case: Called) -> Iterator[int]:
    for number in range(N):
        if number == N // 2:
            case.called()
        yield 1
