"""What can be composed: everything that has a guarantee, and pairs (epsilon, delta)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeAlias, runtime_checkable

from lazysketch.errors import ArgumentTypeError
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.charges import PlainPart

__all__ = ["Composable", "Composed", "Described", "mechanisms_of"]


@runtime_checkable
class Composed(Protocol):
    """A guarantee of several mechanisms, such as that of counts and names."""

    @property
    def parts_to_compose(self) -> tuple[Privacy | PlainPart, ...]:
        """The mechanisms."""


@runtime_checkable
class Described(Protocol):
    """A sketch, windows or a specification: what has a guarantee."""

    @property
    def privacy(self) -> Privacy | Composed:
        """The guarantee."""


Composable: TypeAlias = Privacy | PlainPart | Composed | Described | tuple[float, float]


def mechanisms_of(part: Composable) -> Iterator[Privacy | PlainPart]:
    """Yield the mechanisms of a description.

    Args:
        part: a guarantee, what has one, or a pair.

    Raises:
        ArgumentTypeError: anything else.
        ArgumentValueError: a pair outside its range.
    """
    if isinstance(part, Privacy | PlainPart):
        yield part
    elif isinstance(part, Composed):
        yield from part.parts_to_compose
    elif isinstance(part, tuple) and len(part) == 2:
        yield PlainPart(*part)
    elif isinstance(part, Described) and not hasattr(part, "parts"):
        yield from mechanisms_of(part.privacy)
    else:
        raise ArgumentTypeError(
            "parts: expected descriptions such as sketch.privacy, or pairs (epsilon, delta), got "
            f"{type(part).__name__}"
        )
