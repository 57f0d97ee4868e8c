"""Every patch of the package changes something, can be planted twice, and can be taken out."""

from __future__ import annotations

import os
import sys
from functools import cache
from types import FunctionType

import pytest
from tests.planted.bugs_of_the_package import BUGS_OF_THE_PACKAGE
from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug


def functions(modules: frozenset[str]) -> list[FunctionType]:
    """Every function of some modules, below its decorators."""
    values = [value for name in sorted(modules) for value in vars(sys.modules[name]).values()]
    members = [one for value in values if isinstance(value, type) for one in vars(value).values()]
    found: list[FunctionType] = []
    for value in (*values, *members):
        found += functions_in(value)
    return found


def functions_in(value: object) -> list[FunctionType]:
    """The functions that a value holds: itself, a property's, a command's, a decorated one."""
    found = [value] if isinstance(value, FunctionType) else []
    for name in ("fget", "func", "__func__", "callback", "__wrapped__"):
        inner = getattr(value, name, None)
        if isinstance(inner, FunctionType):
            found += functions_in(inner)
    return found


@cache
def known_functions(modules: frozenset[str]) -> frozenset[FunctionType]:
    return frozenset(functions(modules))


def planted() -> dict[object, object]:
    """The code of every function of the package that is loaded, and the hook of forks."""
    loaded = frozenset(name for name in sys.modules if name.partition(".")[0] == "lazysketch")
    codes: dict[object, object] = {one: one.__code__ for one in known_functions(loaded)}
    return {**codes, "fork": os.register_at_fork}


def test_names_differ_and_tests_are_named() -> None:
    assert len({bug.name for bug in BUGS_OF_THE_PACKAGE}) == len(BUGS_OF_THE_PACKAGE)
    for bug in BUGS_OF_THE_PACKAGE:
        assert not bug.in_core
        assert not bug.is_caught_by_core


@pytest.mark.parametrize("bug", BUGS_OF_THE_PACKAGE, ids=lambda bug: bug.name)
def test_a_patch_changes_something_and_is_taken_out(bug: PlantedBug) -> None:
    assert bug.patch is not None
    with pytest.MonkeyPatch.context() as loading:
        bug.patch(loading)  # loads the modules that it changes
    right = planted()
    with pytest.MonkeyPatch.context() as monkeypatch:
        bug.patch(monkeypatch)
        wrong = planted()
        assert right.keys() <= wrong.keys()
        assert 1 <= sum(wrong[key] is not value for key, value in right.items()) <= 2
        bug.patch(monkeypatch)
        assert planted().keys() == wrong.keys()
    after = planted()
    assert all(after[key] is value for key, value in right.items())


def test_an_edit_of_a_text_that_is_gone_is_refused() -> None:
    where = "lazysketch.windows.cuts:leaves_of"
    with pytest.MonkeyPatch.context() as monkeypatch:
        for text in ("no such text", "table"):  # absent, and more than once
            with pytest.raises(ValueError, match="^leaves_of: expected once, got"):
                edited(where, (text, "slices"))(monkeypatch)
        with pytest.raises(AttributeError):
            edited("lazysketch.windows.cuts:gone", ("a", "b"))(monkeypatch)
        with pytest.raises(TypeError, match="expected a function, got int"):
            edited("lazysketch.windows.cuts:LARGEST_WINDOW", ("a", "b"))(monkeypatch)
