"""Arrow data by hand, through the C data interface, so that every field can be wrong.

Source: https://arrow.apache.org/docs/format/CDataInterface.html.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeVar

__all__ = ["Array", "Producer", "Stream"]

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

_Release: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_ENOMEM: Final = 12


class _Schema(ctypes.Structure):
    _fields_: ClassVar = [
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


class _Array(ctypes.Structure):
    _fields_: ClassVar = [
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


_GetNext: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_GetError: Final = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)


class _Stream(ctypes.Structure):
    _fields_: ClassVar = [
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


def _released(kind: type[ctypes.Structure]) -> Callable[[int], None]:
    def release(address: int) -> None:
        kind.from_address(address).release = None  # type: ignore[attr-defined]

    return release


_RELEASE_SCHEMA: Final = _Release(_released(_Schema))
_RELEASE_ARRAY: Final = _Release(_released(_Array))
_RELEASE_STREAM: Final = _Release(_released(_Stream))
_Struct = TypeVar("_Struct", bound=ctypes.Structure)
_KEPT: Final[list[object]] = []  # what a capsule points to lives as long as the tests


def _address(function: object) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]


@dataclass
class Array:
    """An array and its schema; every field can be set to something wrong.

    Args:
        format: format string, or None for a null pointer.
        length: number of values.
        buffers: contents; None for a null pointer.
        children: arrays below this one.
        schema_children: children of the schema; those of the array when None.
        name: name of the field.
        has_buffers, has_children: False for a null pointer instead of the list.
        is_released: True for a struct without a release callback.
    """

    format: bytes | None
    length: int
    buffers: Sequence[bytes | None] = ()
    children: Sequence[Array | None] = ()
    schema_children: Sequence[Array | None] | None = None
    null_count: int = 0
    offset: int = 0
    n_buffers: int | None = None
    n_children: int | None = None
    dictionary: Array | None = None
    schema_dictionary: Array | None = None
    name: bytes = b""
    has_buffers: bool = True
    has_children: bool = True
    is_released: bool = False
    _alive: list[object] = field(default_factory=list, repr=False)

    def schema(self) -> _Schema:
        """Return the C struct of the type."""
        below = self.children if self.schema_children is None else self.schema_children
        children = [None if child is None else child.schema() for child in below]
        dictionary = self.schema_dictionary or self.dictionary
        return self._keep(
            _Schema(
                format=self.format,
                name=self.name,
                n_children=len(children) if self.n_children is None else self.n_children,
                children=self._pointers(children) if self.has_children else None,
                dictionary=None if dictionary is None else self._pointer(dictionary.schema()),
                release=None if self.is_released else _address(_RELEASE_SCHEMA),
            )
        )

    def array(self) -> _Array:
        """Return the C struct of the values."""
        buffers = [None if content is None else self._buffer(content) for content in self.buffers]
        pointers = (ctypes.c_void_p * max(len(buffers), 1))(*buffers)
        self._alive.append(pointers)
        children = [None if child is None else child.array() for child in self.children]
        dictionary = None if self.dictionary is None else self._pointer(self.dictionary.array())
        return self._keep(
            _Array(
                length=self.length,
                null_count=self.null_count,
                offset=self.offset,
                n_buffers=len(buffers) if self.n_buffers is None else self.n_buffers,
                n_children=len(children) if self.n_children is None else self.n_children,
                buffers=ctypes.addressof(pointers) if self.has_buffers else None,
                children=self._pointers(children) if self.has_children else None,
                dictionary=dictionary,
                release=None if self.is_released else _address(_RELEASE_ARRAY),
            )
        )

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Return the two capsules."""
        del requested_schema
        _KEPT.append(self)
        return (
            _new_capsule(ctypes.addressof(self.schema()), b"arrow_schema", None),
            _new_capsule(ctypes.addressof(self.array()), b"arrow_array", None),
        )

    def _buffer(self, content: bytes) -> int:
        # 16 bytes more than the content, so that an aligned address is in it; zeros follow.
        memory = ctypes.create_string_buffer(len(content) + 80)
        start = -ctypes.addressof(memory) % 64
        ctypes.memmove(ctypes.addressof(memory) + start, content, len(content))
        self._alive.append(memory)
        return ctypes.addressof(memory) + start

    def _keep(self, struct: _Struct) -> _Struct:
        self._alive.append(struct)
        return struct

    def _pointer(self, struct: ctypes.Structure) -> int:
        self._alive.append(struct)
        return ctypes.addressof(struct)

    def _pointers(self, structs: Sequence[ctypes.Structure | None]) -> int:
        addresses = [None if struct is None else self._pointer(struct) for struct in structs]
        pointers = (ctypes.c_void_p * max(len(structs), 1))(*addresses)
        self._alive.append(pointers)
        return ctypes.addressof(pointers)


@dataclass
class Stream:
    """A stream of arrays of the type of the first one.

    Args:
        arrays: what it returns, in order; the type is that of the first.
        fails_at: number of the call of ``get_next`` that returns ``error``.
        error: the status of that call; of ``get_schema`` if ``fails_at`` is -1.
        repeats: True to return the last array for ever.
        is_released: True for a stream without a release callback.
        releases_early: True to release itself when asked for its schema.
        without: names of callbacks that are null.
    """

    arrays: Sequence[Array]
    fails_at: int | None = None
    error: int = _ENOMEM
    repeats: bool = False
    is_released: bool = False
    releases_early: bool = False
    without: Sequence[str] = ()
    _alive: list[object] = field(default_factory=list, repr=False)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the capsule."""
        del requested_schema
        calls = iter(range(2**62))
        structs = [array.array() for array in self.arrays]

        def get_schema(stream: int, out: int) -> int:
            if self.fails_at == -1:
                return self.error
            schema = self.arrays[0].schema()
            ctypes.memmove(out, ctypes.addressof(schema), ctypes.sizeof(schema))
            if self.releases_early:
                _Stream.from_address(stream).release = None
            return 0

        def get_next(_stream: int, out: int) -> int:
            number = next(calls)
            if number == self.fails_at:
                return self.error
            if number >= len(self.arrays) and not self.repeats:
                ctypes.memset(out, 0, ctypes.sizeof(_Array))
                return 0
            array = structs[min(number, len(structs) - 1)]
            ctypes.memmove(out, ctypes.addressof(array), ctypes.sizeof(array))
            return 0

        functions = {
            "get_schema": _GetNext(get_schema),
            "get_next": _GetNext(get_next),
            "get_last_error": _GetError(lambda _stream: b"alice@example.com"),
        }
        struct = _Stream(
            release=None if self.is_released else _address(_RELEASE_STREAM),
            **{
                name: None if name in self.without else _address(function)
                for name, function in functions.items()
            },
        )
        self._alive += [functions, struct, structs]
        _KEPT.append(self)
        return _new_capsule(ctypes.addressof(struct), b"arrow_array_stream", None)


@dataclass(frozen=True)
class Producer:
    """An object whose export methods return anything.

    Args:
        array: what ``__arrow_c_array__`` returns.
    """

    array: object

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        """Return it."""
        del requested_schema
        return self.array
