"""What can be composed: everything that has a guarantee, and pairs (epsilon, delta)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias, cast, runtime_checkable

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.foreign_values import plain_tuple
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.charges import PlainPart, sum_up
from lazysketch.privacy.person_bound import protects_people

__all__ = [
    "Composable",
    "Composed",
    "Described",
    "Published",
    "check_together",
    "described_pair",
    "mechanisms_of",
]


@runtime_checkable
class Composed(Protocol):
    """A guarantee of several mechanisms, such as that of counts and names."""

    @property
    def epsilon(self) -> float:
        """An epsilon of all of them together, at :attr:`delta`."""

    @property
    def delta(self) -> float:
        """A delta of all of them together."""

    @property
    def parts_to_compose(self) -> tuple[Privacy | PlainPart, ...]:
        """The mechanisms."""


@runtime_checkable
class Described(Protocol):
    """A sketch, windows or a specification: what has a guarantee."""

    @property
    def privacy(self) -> Privacy | Composed:
        """The guarantee."""


@runtime_checkable
class Published(Protocol):
    """A release, whose parts are from runs that may have published other releases too."""

    @property
    def promises(self) -> Mapping[bytes, tuple[Privacy | PlainPart, ...]]:
        """The mechanisms of each run, by its id."""


Composable: TypeAlias = Privacy | PlainPart | Composed | Described | Published | tuple[float, float]


def mechanisms_of(part: Composable, runs: set[bytes]) -> Iterator[Privacy | PlainPart]:
    """Yield the mechanisms of a description.

    Args:
        part: a guarantee, what has one, or a pair.
        runs: ids of the runs whose mechanisms were yielded before; those of releases are added.

    Raises:
        ArgumentTypeError: anything else.
        ArgumentValueError: a pair outside its range.
    """
    if isinstance(part, Privacy | PlainPart):
        yield part
    elif isinstance(part, type):  # a class has the names of the protocols below
        raise ArgumentTypeError(f"parts: expected a {part.__name__}, got the class itself")
    elif isinstance(part, Composed):
        yield from _mechanisms(part.parts_to_compose, of=part)
    elif isinstance(part, tuple) and len(part) == 2:
        yield PlainPart(*part)
    elif isinstance(part, Published):
        if not isinstance(part.promises, Mapping):
            raise _no_description(part)
        for run, mechanisms in part.promises.items():
            if run not in runs:
                runs.add(run)
                yield from _mechanisms(mechanisms, of=part)
    elif isinstance(part, Described):
        yield from mechanisms_of(part.privacy, runs)
    else:
        raise _no_description(part)


def _mechanisms(found: object, *, of: object) -> tuple[Privacy | PlainPart, ...]:
    """Return the mechanisms of a description, which may be an object with the same names."""
    plain = plain_tuple(found)
    if plain is None or not all(isinstance(one, Privacy | PlainPart) for one in plain):
        raise _no_description(of)
    return cast("tuple[Privacy | PlainPart, ...]", plain)


def _no_description(part: object) -> ArgumentTypeError:
    return ArgumentTypeError(
        "parts: expected descriptions such as sketch.privacy, or pairs (epsilon, delta), got "
        f"{type(part).__name__}"
    )


def described_pair(part: Composable) -> tuple[float, float]:
    """Return an (epsilon, delta) that a description states of all its mechanisms together.

    Args:
        part: as for :func:`mechanisms_of`.

    Raises:
        ArgumentTypeError: anything else.
    """
    if isinstance(part, tuple):
        return part
    if isinstance(part, Published):  # also a release, whose own privacy is that of one table
        each = [mechanism for run in part.promises.values() for mechanism in run]
        return sum_up(it.epsilon for it in each), sum_up(it.delta for it in each)
    if isinstance(part, Described):
        return described_pair(part.privacy)
    return part.epsilon, part.delta


def check_together(parts: Sequence[Privacy], plain: Sequence[PlainPart]) -> None:
    """Raise unless mechanisms have one guarantee together.

    Args:
        parts: counts.
        plain: pairs.

    Raises:
        ArgumentTypeError: ``parts`` are not counts.
        ArgumentValueError: no part, one that is NOT PRIVATE, or parts with other neighbours.
    """
    for part in parts:
        if not isinstance(part, Privacy):
            raise ArgumentTypeError(
                "parts: expected Privacy descriptions such as sketch.privacy, got "
                f"{type(part).__name__}"
            )
    if not parts and not plain:
        raise ArgumentValueError("parts: expected at least one description, got none")
    for index, part in enumerate(parts):
        if not part.private:
            reasons = "; ".join(part.not_private_because)
            raise ArgumentValueError(
                f"parts: expected private ones only, got number {index + 1}, NOT PRIVATE: "
                f"{reasons}; a composition with it has no guarantee"
            )
    relations = sorted({part.relation for part in parts})
    if len(relations) > 1:
        raise ArgumentValueError(
            f"parts: expected one relation, got {' and '.join(map(repr, relations))}; "
            "they define different neighbouring streams: state each part separately"
        )
    # All events of an item contain each of them, so such a part protects events as well.
    if len({protects_people(part.person_bound) for part in parts}) > 1:
        raise ArgumentValueError(
            "parts: expected one unit, got some that protect people and some that protect events; "
            "they define different neighbouring streams: state each part separately"
        )
