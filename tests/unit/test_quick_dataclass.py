"""Frozen dataclasses of the package, beside those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections import Counter
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lazysketch import quick_dataclass
from lazysketch.quick_dataclass import dataclass

Decorator = Any
Pair = tuple[Any, Any]
OPTIONS = [
    {"slots": slots, "kw_only": kw_only, "eq": eq, "repr": shown}
    for slots in (False, True)
    for kw_only in (False, True)
    for eq in (False, True)
    for shown in (False, True)
]


@dataclass(frozen=True, slots=True)
class Slotted:
    row: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plain:
    row: int
    names: tuple[str, ...] = ()


def fields_of_all_kinds(decorator: Decorator, **options: bool) -> type[Any]:
    @decorator(frozen=True, **options)
    class Owner:
        """Has every kind of field that the package uses."""

        limit: ClassVar[int] = 7
        first: int
        second: float = 2.0
        made: list[int] = field(default_factory=list, compare=False)
        later: int = field(init=False, default=5)
        counted: Counter[str] = field(init=False, default_factory=Counter, hash=False)
        hidden: str = field(default="x", repr=False, compare=False)
        named: str = field(default="k", kw_only=True)
        derived: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "derived", self.first + 1)

    return Owner


def base_and_derived(decorator: Decorator, **options: bool) -> type[Any]:
    @decorator(frozen=True, **options)
    class Base:
        first: int
        second: int = 2

    @decorator(frozen=True, **options)
    class Derived(Base):
        second: int = 3
        third: int = 4

    return Derived


def own_methods(decorator: Decorator, **options: bool) -> type[Any]:
    @decorator(frozen=True, **options)
    class Owner:
        first: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and self.first % 2 == other.first % 2

        def __repr__(self) -> str:
            return "own"

    return Owner


def own_hash(decorator: Decorator, **options: bool) -> type[Any]:
    @decorator(frozen=True, **options)
    class Owner:
        first: int

        def __hash__(self) -> int:
            return 11

    return Owner


def no_fields(decorator: Decorator, **options: bool) -> type[Any]:
    @decorator(frozen=True, **options)
    class Owner:
        """Is empty."""

        def __len__(self) -> int:
            return 3

    return Owner


KINDS = [fields_of_all_kinds, base_and_derived, own_methods, own_hash, no_fields]
CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((2,), {}),
    ((1, 2.0), {}),
    ((), {"first": 1}),
    ((), {"first": 1, "second": 9, "third": 0}),
    ((1,), {"named": "other"}),
    ((1,), {"made": [3], "hidden": "y"}),
    ((1,), {"later": 6}),
    ((1,), {"unknown": 6}),
]


def outcome(action: Any) -> object:
    """Return what an action returns, or the class of what it raises."""
    try:
        return action()
    except (TypeError, AttributeError) as error:
        return type(error)


def same_hashes(one: object, others: list[object]) -> list[bool]:
    return [hash(one) == hash(other) for other in others]


def seen(owner: type[Any]) -> list[object]:
    """Return what can be seen of a class and of objects of it."""
    made = [outcome(lambda call=call: owner(*call[0], **call[1])) for call in CALLS]
    objects = [one for one in made if isinstance(one, owner)]
    names = [one.name for one in dataclasses.fields(owner)]
    return [
        str(inspect.signature(owner)),
        owner.__match_args__,
        [(one.name, one.type, one.init, one.kw_only) for one in dataclasses.fields(owner)],
        [one if isinstance(one, type) else type(one).__name__ for one in made],
        [repr(one) if "__repr__" in vars(owner) else "" for one in objects],
        [dataclasses.asdict(one) for one in objects],
        [[one == other for other in objects] for one in objects],
        [outcome(partial(same_hashes, one, objects)) for one in objects],
        [outcome(partial(setattr, one, name, 1)) for one in objects for name in names],
        [outcome(partial(delattr, one, name)) for one in objects for name in names],
        # Python 3.11 raises a TypeError where a class has slots, newer ones what is meant.
        [isinstance(outcome(partial(setattr, one, "more", 1)), type) for one in objects],
        [dataclasses.asdict(copy.copy(one)) for one in objects],
        [dataclasses.asdict(copy.deepcopy(one)) for one in objects],
        [hasattr(one, "__dict__") for one in objects],
        [
            outcome(lambda one=one: dataclasses.asdict(dataclasses.replace(one, first=4)))
            for one in objects
        ],
    ]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_is_that_of_the_standard_library(kind: Any, options: dict[str, bool]) -> None:
    assert seen(kind(dataclass, **options)) == seen(kind(dataclasses.dataclass, **options))


def test_a_class_that_may_change_is_made_by_the_standard_library() -> None:
    @dataclass
    class Changing:
        first: int

    one = Changing(1)
    one.first = 2
    assert one == Changing(2)
    assert Changing.__hash__ is None


@pytest.mark.parametrize("options", [{"order": True}, {"unsafe_hash": True}], ids=str)
def test_other_options_are_those_of_the_standard_library(options: dict[str, bool]) -> None:
    made = no_fields(dataclass, **options)
    other = no_fields(dataclasses.dataclass, **options)
    assert outcome(lambda: made() <= made()) == outcome(lambda: other() <= other())
    assert hash(made()) == hash(other())


@pytest.mark.parametrize("one", [Slotted(1, ("a",)), Plain(1, ("a",))], ids=repr)
def test_objects_are_pickled(one: object) -> None:
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert again is not one


def test_a_repr_that_contains_itself_ends() -> None:
    @dataclass(frozen=True)
    class Holder:
        held: list[object]

    one = Holder([])
    one.held.append(one)
    assert repr(one).endswith("Holder(held=[...])")


def test_classes_match_patterns() -> None:
    match Plain(3, ("a",)):
        case Plain(row, names):
            assert (row, names) == (3, ("a",))


def test_methods_are_named_after_their_class() -> None:
    for name in ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__getstate__"):
        assert getattr(Slotted, name).__qualname__ == f"Slotted.{name}"


def test_a_class_compiles_one_method(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def counting(text: str, *scopes: dict[str, Any]) -> None:
        compiled.append(text)
        exec(text, *scopes)

    monkeypatch.setattr(quick_dataclass, "exec", counting, raising=False)
    monkeypatch.setattr(dataclasses, "exec", counting, raising=False)
    fields_of_all_kinds(dataclass, slots=True)
    assert len(compiled) == 1


def test_the_frozen_classes_of_the_package_are_made_here() -> None:
    package = Path(quick_dataclass.__file__).parent
    modules = {path: path.read_text("utf-8") for path in package.rglob("*.py")}
    frozen = [path for path, text in modules.items() if "\n@dataclass(frozen=True" in text]
    assert len(frozen) > 100
    for path in frozen:
        assert "\nfrom lazysketch.quick_dataclass import dataclass\n" in modules[path], path
