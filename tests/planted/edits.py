"""Bugs as edits of one function: the text that is right, and the text that is wrong.

An edit compiles the changed source and gives the function object its code, so every module that
imported the function by name, every subclass and every reference to it is changed too.
"""

from __future__ import annotations
import __future__

import ast
import importlib
import inspect
import textwrap
from functools import cached_property
from types import CodeType, FunctionType

import pytest
from tests.planted.planted_bug import Patch

__all__ = ["edited", "together"]


def edited(where: str, *changes: tuple[str, str]) -> Patch:
    """Return a patch that changes the text of one function.

    Args:
        where: module and qualified name, such as ``lazysketch.windows.cuts:leaves_of``.
        changes: pairs of a text that occurs once in the source of the function, and its
            replacement.

    Returns:
        A patch, which raises ValueError if a text does not occur exactly once.
    """

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        function = _function_at(where)
        monkeypatch.setattr(function, "__code__", _edited_code(function, changes))

    return patch


def together(*patches: Patch) -> Patch:
    """Return a patch that plants several parts of one wrong idea.

    Args:
        patches: its parts.

    Returns:
        One patch.
    """

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        for part in patches:
            part(monkeypatch)

    return patch


def _function_at(where: str) -> FunctionType:
    """Return the function of a name, below its decorators."""
    module, _, path = where.partition(":")
    found: object = importlib.import_module(module)
    for name in path.split("."):
        found = inspect.getattr_static(found, name)
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, cached_property):
        found = found.func
    elif isinstance(found, classmethod | staticmethod):
        found = found.__func__
    function = getattr(found, "callback", found)  # of a command of click
    if callable(function):
        function = inspect.unwrap(function)
    if not isinstance(function, FunctionType):
        raise TypeError(f"{where}: expected a function, got {type(function).__name__}")
    return function


def _edited_code(function: FunctionType, changes: tuple[tuple[str, str], ...]) -> CodeType:
    """Return the code of the function after the changes of its source."""
    source = textwrap.dedent(inspect.getsource(function))
    for old, new in changes:
        if source.count(old) != 1:
            raise ValueError(
                f"{function.__qualname__}: expected once, got {source.count(old)} times: {old}"
            )
        source = source.replace(old, new)
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
    definition.decorator_list = []
    # Another name: a function of this name that the code calls is that of the module.
    definition.name = "planted"
    # A method that calls super() has __class__ as a free variable, which an outer function gives.
    known = function.__code__
    free = "".join(f"    {name} = None\n" for name in known.co_freevars)
    outer = ast.parse(f"def outer():\n{free}    pass\n")
    (enclosing,) = outer.body
    assert isinstance(enclosing, ast.FunctionDef)
    enclosing.body.append(definition)
    flags = __future__.annotations.compiler_flag
    whole = compile(outer, known.co_filename, "exec", flags=flags, dont_inherit=True)
    (inner,) = _codes_in(whole)
    (code,) = _codes_in(inner)
    # The line is kept, so that the source of a function that was edited is still the right one.
    return code.replace(co_name=known.co_name, co_firstlineno=known.co_firstlineno)


def _codes_in(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]
