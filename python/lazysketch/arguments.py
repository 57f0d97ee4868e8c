"""Checks of plain arguments, and the keyword options that several public constructors share.

A ``checked_*`` function returns the value as a plain Python or NumPy value, or raises an error that
names the argument. Options that several classes take are listed once, in a TypedDict: it has their
types and their descriptions, and :func:`with_options` copies both to each class that takes them.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Final, Protocol, TypeGuard, TypeVar

from lazysketch.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "check_bools",
    "check_keywords",
    "check_texts",
    "checked_integer",
    "checked_integers",
    "checked_number",
    "checked_real",
    "checked_share",
    "shown",
    "with_options",
]

# Names from the literature and from other libraries.
_SYNONYMS: Final = {"k": "share", "phi": "share", "num_hashes": "depth", "num_buckets": "width"}
_SHOWN_BITS: Final = 128
_SHOWN_CHARACTERS: Final = 80


class Options(Protocol):
    """The part of a TypedDict class that this module reads."""

    __annotations__: dict[str, object]
    __required_keys__: frozenset[str]
    __optional_keys__: frozenset[str]


Owner = TypeVar("Owner", bound=type)


def check_keywords(
    owner: type,
    positional: Collection[object],
    given: Collection[str],
    options: Options,
    *,
    example: str,
) -> None:
    """Raise unless a constructor got only known keywords, and every required one.

    Args:
        owner: the public class, which the message names.
        positional: positional arguments of the call.
        given: names of the keyword arguments of the call.
        options: the TypedDict of the options.
        example: a valid call, for the message.

    Raises:
        ArgumentTypeError: positional arguments, an unknown name, or a missing one.
    """
    name = owner.__name__
    if positional:
        raise ArgumentTypeError(
            f"{name}: expected keyword arguments, as in {example}, got {len(positional)} positional"
        )
    known = options.__required_keys__ | options.__optional_keys__
    for unknown in given:
        if unknown not in known:
            raise ArgumentTypeError(f"{unknown}: {_suggestion(owner, unknown)}")
    for missing in sorted(options.__required_keys__ - set(given)):
        raise ArgumentTypeError(f"{missing}: expected a value, as in {example}, got none")


def _suggestion(owner: type, unknown: str) -> str:
    names = [known for known in inspect.signature(owner).parameters if known != unknown]
    if unknown in _SYNONYMS:
        alike = [known for known in names if known == _SYNONYMS[unknown]]
    else:
        from difflib import get_close_matches  # late: few names are misspelt

        alike = get_close_matches(unknown.lower(), names, n=1, cutoff=0.5)
    meant = f" ({alike[0]}?)" if alike else ""
    return f"expected an argument of {owner.__name__}{meant}, got an unknown name"


def with_options(
    *options: Options, defaults: Collection[Callable[..., object]]
) -> Callable[[Owner], Owner]:
    """Return a class decorator that shows the options in the signature and in the docstring.

    Args:
        options: the TypedDicts of the options; the ``Args:`` of their docstrings describe them.
        defaults: callables whose parameters of the same names have the default values.

    Returns:
        A decorator for classes whose constructor takes ``**options``.

    Example:
        >>> import inspect
        >>> from lazysketch import LazyCountMin
        >>> inspect.signature(LazyCountMin).parameters["relation"].default
        'substitution'
    """
    values = {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for function in defaults
        for name, parameter in inspect.signature(function).parameters.items()
    }

    def complete(owner: Owner) -> Owner:
        shown = {parameter.name: parameter for parameter in _explicit(owner)}
        for group in options:
            for name in group.__annotations__:
                shown.setdefault(name, values[name])
        ordered = sorted(shown.values(), key=_position)
        owner.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        text = inspect.getdoc(owner) or ""
        for group in options:
            text = _documented(text, inspect.getdoc(group) or "")
        owner.__doc__ = text
        return owner

    return complete


def _position(parameter: inspect.Parameter) -> tuple[int, bool]:
    """Return the place in a signature: positional arguments first, then required keywords."""
    return parameter.kind, parameter.default is not inspect.Parameter.empty


def _explicit(owner: type) -> Iterator[inspect.Parameter]:
    """Yield the named parameters of a constructor."""
    own = owner.__init__ is not object.__init__  # type: ignore[misc]
    constructor = owner.__init__ if own else owner.__new__  # type: ignore[misc]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for parameter in list(inspect.signature(constructor).parameters.values())[1:]:
        if parameter.kind not in variadic:
            yield parameter


def _documented(text: str, described: str) -> str:
    """Return a docstring whose ``Args:`` section ends with that of another docstring."""
    head, mark, rest = text.partition("\nArgs:\n")
    shared = described.partition("\nArgs:\n")[2].partition("\n\n")[0]
    if not mark or not shared:
        return text
    own, gap, tail = rest.partition("\n\n")
    return f"{head}{mark}{own}\n{shared}{gap}{tail}"


def shown(text: str | None) -> str:
    """Return a text of the caller for a message, in quotes and cut to a readable length.

    Args:
        text: any text, or None.

    Returns:
        One line of limited length.

    Example:
        >>> shown("csv"), len(shown("x" * 10_000))
        ("'csv'", 85)
    """
    if text is None:
        return "None"
    # As the base class does: a subclass could override the methods.
    plain = str.__str__(text)
    return repr(plain if len(plain) <= _SHOWN_CHARACTERS else plain[:_SHOWN_CHARACTERS] + "...")


def checked_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return a text argument that is one of some choices, or raise.

    Args:
        name: name of the argument, for the message.
        value: value of the argument.
        choices: what is accepted.

    Returns:
        The choice, as a plain str.

    Raises:
        ArgumentTypeError: not a str.
        ArgumentValueError: another str.

    Example:
        >>> checked_choice("kind", "count-min", ("count-min", "count-sketch"))
        'count-min'
    """
    wanted = " or ".join(f'"{choice}"' for choice in choices)
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name}: expected {wanted}, got {type(value).__name__}")
    # As the base class does: a subclass could override comparisons.
    plain = str.__str__(value)
    if plain not in choices:
        raise ArgumentValueError(f"{name}: expected {wanted}, got {shown(plain)}")
    return plain


def checked_integer(name: str, value: object, *, least: int = 1, most: int = 2**63 - 1) -> int:
    """Return an integer argument as a Python int, or raise.

    Guarantee: nothing is rounded. All floats and booleans are refused; NumPy integers are accepted.

    Args:
        name: name of the argument, for the message.
        value: value of the argument.
        least: smallest value accepted.
        most: largest value accepted.

    Returns:
        The value, ``least <= value <= most``.

    Raises:
        ArgumentTypeError: not an integer.
        ArgumentValueError: outside the range.

    Example:
        >>> checked_integer("depth", 3)
        3
    """
    wanted = f"an integer from {least} to {most}"
    if type(value) is not int and not _is_integer(value):
        raise ArgumentTypeError(f"{name}: expected {wanted}, got {type(value).__name__}")
    try:
        # Convert to a plain int: a subclass could override comparisons.
        number = int.__index__(operator.index(value))
    except TypeError:  # timedelta64 is a subclass of np.integer
        found = type(value).__name__
        raise ArgumentTypeError(f"{name}: expected {wanted}, got {found}") from None
    if not least <= number <= most:
        # Python refuses to print integers of more than some thousand digits.
        bits = number.bit_length()
        shown = str(number) if bits <= _SHOWN_BITS else f"an integer of {bits} bits"
        raise ArgumentValueError(f"{name}: expected {wanted}, got {shown}")
    return number


def checked_integers(
    name: str, values: object, *, least: int = 0, most: int = 2**63 - 1
) -> npt.NDArray[np.int64]:
    """Return several integers as an int64 array, or raise.

    Guarantee: nothing is rounded or wrapped.

    Args:
        name: name of the argument, for the message.
        values: a sequence or an array of one dimension.
        least: smallest value accepted.
        most: largest value accepted.

    Returns:
        The values.

    Raises:
        ArgumentTypeError: not integers.
        ArgumentValueError: an integer outside the range.

    Example:
        >>> checked_integers("cells", [0, 2])
        array([0, 2])
    """
    import numpy as np  # late: the help of a command needs none

    from lazysketch.foreign_values import converted

    wanted = f"integers from {least} to {most}"
    array = converted(name, values)
    if array is None or array.ndim != 1:
        nested = array is not None and array.ndim > 1
        found = "several dimensions" if nested else type(values).__name__
        raise ArgumentTypeError(f"{name}: expected a sequence of {wanted}, got {found}")
    if array.size == 0 and isinstance(values, (list, tuple, np.ndarray)):
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind == "O" and all(type(value) is int for value in array.flat):
        raise ArgumentValueError(f"{name}: expected {wanted}, got larger ones")
    if array.dtype.kind not in "iu":
        found = type(values).__name__ if array.dtype.kind == "O" else f"dtype {array.dtype}"
        raise ArgumentTypeError(f"{name}: expected {wanted}, got {found}")
    if array.size and (array.min() < least or array.max() > most):
        raise ArgumentValueError(f"{name}: expected {wanted}, got one outside that range")
    return array.astype(np.int64)


def check_texts(**values: object) -> None:
    """Raise unless every argument is a text or None.

    Args:
        values: the arguments by name.

    Raises:
        ArgumentTypeError: something else.

    Example:
        >>> check_texts(field="host", time=None)
    """
    for name, value in values.items():
        if not isinstance(value, str | None):
            raise ArgumentTypeError(f"{name}: expected a text or None, got {type(value).__name__}")


def check_bools(**values: object) -> None:
    """Raise unless every argument is True or False.

    Args:
        values: the arguments, by name.

    Raises:
        ArgumentTypeError: another value, such as 1 or a bool of NumPy.

    Example:
        >>> check_bools(overwrite=True)
    """
    for name, value in values.items():
        if not isinstance(value, bool):
            raise ArgumentTypeError(f"{name}: expected a bool, got {type(value).__name__}")


def checked_real(name: str, value: object, *, wanted: str = "a finite number above 0") -> float:
    """Return a real argument as a finite float above zero, or raise.

    Guarantee: booleans, strings, complex numbers, NaN and infinities are refused.

    Args:
        name: name of the argument, for the message.
        value: int, float or a real scalar of NumPy.
        wanted: description of the valid values, for the message.

    Returns:
        The value as a float, finite and positive.

    Raises:
        ArgumentTypeError: not a real number.
        ArgumentValueError: NaN, infinite, zero, negative or too large for a float.

    Example:
        >>> checked_real("epsilon", 1)
        1.0
    """
    number = checked_number(name, value, wanted=wanted)
    if not (math.isfinite(number) and number > 0.0):
        raise ArgumentValueError(f"{name}: expected {wanted}, got {number}")
    return number


def checked_share(name: str, value: object) -> float:
    """Return a real argument as a float above 0 and below 1, or raise as :func:`checked_real`.

    Example:
        >>> checked_share("share", 0.5)
        0.5
    """
    wanted = "a number above 0 and below 1"
    share = checked_real(name, value, wanted=wanted)
    if share >= 1.0:
        raise ArgumentValueError(f"{name}: expected {wanted}, got {share:g}")
    return share


def checked_number(name: str, value: object, *, wanted: str) -> float:
    """Return a real argument as a float, or raise.

    Args:
        name: name of the argument, for the message.
        value: int, float or a real scalar of NumPy.
        wanted: description of the valid values, for the message.

    Returns:
        The value as a float, which may be NaN or infinite.

    Raises:
        ArgumentTypeError: not a real number.
        ArgumentValueError: an integer too large for a float.

    Example:
        >>> checked_number("edge", -3, wanted="a number")
        -3.0
    """
    if type(value) is not int and type(value) is not float and not _is_real(value):
        raise ArgumentTypeError(f"{name}: expected {wanted}, got {type(value).__name__}")
    try:
        # Convert as the base class does: a subclass could override the conversion.
        if isinstance(value, int):
            return float(int.__index__(value))
        return float.__float__(value) if isinstance(value, float) else float(value)
    except OverflowError:
        raise ArgumentValueError(f"{name}: expected {wanted}, got a larger integer") from None


def _is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or NumPy, and no bool."""
    import numpy as np  # late: the help of a command needs none

    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def _is_real(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number of Python or NumPy, and no bool."""
    import numpy as np  # late: the help of a command needs none

    # timedelta64 is a subclass of np.integer.
    no_number = isinstance(value, (bool, np.bool_, np.timedelta64))
    return not no_number and isinstance(value, (int, float, np.integer, np.floating))
