"""Frozen dataclasses that are made in a fraction of the time.

``dataclasses`` writes the source of up to seven methods of each class and compiles them, which took
a fourth of a start of the command. Here the constructor is compiled, as its calls have to be fast;
the other methods are closures. Everything else is that of ``dataclasses``: ``fields``, ``replace``,
``asdict`` and patterns work as ever, and type checkers see its own decorator. One thing differs: a
frozen class that derives from one needs this decorator too.
"""

from __future__ import annotations

import dataclasses
import reprlib
import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
    from typing import TypeAlias

    _Method: TypeAlias = Callable[..., Any]

__all__ = ["dataclass"]

if not TYPE_CHECKING:

    def dataclass(cls: type[Any] | None = None, /, **options: bool) -> Any:
        """Return a class as ``dataclasses.dataclass`` does, which says what the options are.

        Guarantee: a frozen class behaves as that of ``dataclasses``, and instances are made and
        compared as fast.

        Args:
            cls: the class; None to return a decorator.
            options: those of ``dataclasses.dataclass``.

        Returns:
            The class, or a decorator.

        Raises:
            TypeError: as ``dataclasses``.

        Example:
            >>> @dataclass(frozen=True)
            ... class Place:
            ...     row: int
            ...     column: int = 0
            >>> Place(3), Place(3) == Place(3, 0)
            (Place(row=3, column=0), True)
        """
        if cls is None:
            return lambda owner: dataclass(owner, **options)
        given = {"init", "repr", "eq", "slots", "kw_only", "match_args"}
        if not options.get("frozen") or not options.keys() <= {*given, "frozen"}:
            return dataclasses.dataclass(cls, **options)
        return _frozen(cls, **{name: options[name] for name in options if name != "frozen"})


class _Made:
    """Stands for a value that the factory of the field makes."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE: Final = _Made()


def _frozen(cls: type[Any], **options: bool) -> type[Any]:
    """Return a frozen dataclass."""
    own, slots = dict(vars(cls)), options.get("slots", False)
    wanted = {name: options.pop(name, True) for name in ("init", "repr", "eq")}
    made: type[Any] = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    names = tuple(field.name for field in dataclasses.fields(made))
    methods = _refusing(made, names)
    if wanted["init"]:
        methods["__init__"] = _constructor(made, slots=slots)
    if wanted["repr"]:
        methods["__repr__"] = _shown(made)
    if wanted["eq"]:
        methods |= _compared(made)
    if slots:
        methods |= _state_of(names)
    for name, method in methods.items():
        # An __eq__ alone sets __hash__ to None, which is not meant to be the hash of the class.
        if own.get(name) is None:
            method.__name__, method.__qualname__ = name, f"{made.__qualname__}.{name}"
            setattr(made, name, method)
    return made


def _refusing(cls: type[Any], names: tuple[str, ...]) -> dict[str, _Method]:
    """Return what refuses to change a field, and to add an attribute to the class itself."""

    def set_field(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete_field(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": set_field, "__delattr__": delete_field}


def _constructor(cls: type[Any], *, slots: bool) -> _Method:
    """Return the constructor, compiled as that of ``dataclasses``."""
    known: dict[str, object] = {"_store": object.__setattr__, "_made": _MADE}
    plain: list[str] = []
    keywords: list[str] = []
    stored: list[str] = []
    types: dict[str, object] = {}
    for field in dataclasses.fields(cls):
        name = value = field.name
        default = "" if field.default is dataclasses.MISSING else f"_default_{name}"
        if default:
            known[default] = field.default
        if field.default_factory is not dataclasses.MISSING:
            known[f"_factory_{name}"] = field.default_factory
            made = f"_factory_{name}()"
            default, value = "_made", f"{made} if {name} is _made else {name}"
            value = value if field.init else made
        elif not field.init:
            if not (slots and default):
                continue  # the class has the default, or __post_init__ stores the value
            value = default
        if field.init:
            types[name] = field.type
            parameter = f"{name}={default}" if default else name
            (keywords if field.kw_only else plain).append(parameter)
        stored.append(f"_store(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        stored.append("self.__post_init__()")
    parameters = ", ".join(["self", *plain, *(["*", *keywords] if keywords else [])])
    body = "\n  ".join(stored or ["pass"])
    text = (
        f"def make({', '.join(known)}):\n def __init__({parameters}):\n  {body}\n return __init__"
    )
    found: dict[str, Any] = {}
    scope = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    exec(text, scope, found)  # noqa: S102 -- names of fields only
    constructor: _Method = found["make"](**known)
    constructor.__annotations__ = {**types, "return": None}
    return constructor


def _shown(cls: type[Any]) -> _Method:
    names = [field.name for field in dataclasses.fields(cls) if field.repr]

    @reprlib.recursive_repr()
    def shown(self: Any) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({fields})"

    return shown


def _compared(cls: type[Any]) -> dict[str, _Method]:
    """Return the comparison and the hash, of the tuple of fields."""
    fields = dataclasses.fields(cls)
    values = _values_of([field.name for field in fields if field.compare])
    own = [field.compare if field.hash is None else field.hash for field in fields]
    hashed = _values_of([field.name for field, used in zip(fields, own, strict=True) if used])

    def is_equal(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    def hash_of(self: Any) -> int:
        return hash(hashed(self))

    return {"__eq__": is_equal, "__hash__": hash_of}


def _values_of(names: list[str]) -> Callable[[Any], tuple[object, ...]]:
    """Return what reads these attributes of an object as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda owner: tuple(getattr(owner, name) for name in names)


def _state_of(names: tuple[str, ...]) -> dict[str, _Method]:
    """Return what copies and pickles need of a class that has slots and refuses assignments."""

    def state_of(self: Any) -> list[object]:
        return [getattr(self, name) for name in names]

    def restore(self: Any, state: list[object]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": state_of, "__setstate__": restore}
