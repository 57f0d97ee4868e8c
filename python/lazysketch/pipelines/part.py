"""One statistic of a pipeline: its class, the column that it counts, and its options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final, TypeAlias

from lazysketch.arguments import checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError
from lazysketch.heavy_hitters import HeavyHitters, HierarchicalHeavyHitters
from lazysketch.privacy.person_bound import PersonBound, checked_person_bound
from lazysketch.privacy.relations import Relation
from lazysketch.sketches.distinct_count import DistinctCount
from lazysketch.sketches.distribution import Distribution
from lazysketch.sketches.keys import Key
from lazysketch.sketches.private_sketches import (
    LazyCountMin,
    LazyCountSketch,
    PunctualCountMin,
    PunctualCountSketch,
)
from lazysketch.sketches.ranges import Ranges
from lazysketch.sums.sums import Sums

__all__ = ["Live", "Part", "checked_parts", "in_part", "of_people"]

Live: TypeAlias = (
    LazyCountMin
    | LazyCountSketch
    | PunctualCountMin
    | PunctualCountSketch
    | HeavyHitters
    | HierarchicalHeavyHitters
    | DistinctCount
    | Distribution
    | Ranges
    | Sums
)

_KINDS: Final = (
    LazyCountMin,
    LazyCountSketch,
    PunctualCountMin,
    PunctualCountSketch,
    HeavyHitters,
    HierarchicalHeavyHitters,
    DistinctCount,
    Distribution,
    Ranges,
    Sums,
)
# What all parts have in common, and what has no meaning for one of them.
_OF_THE_PIPELINE: Final = ("epsilon", "delta", "relation", "key")
_WITHOUT_WEIGHTS: Final = (DistinctCount, Distribution, Sums)


class Part:
    """One statistic of a :class:`Pipeline`: its class, the column that it counts, its options.

    Guarantee: none of its own; a description of what to make.

    Args:
        kind: class of the statistic: a private sketch, ``HeavyHitters``,
            ``HierarchicalHeavyHitters``, ``DistinctCount``, ``Distribution``, ``Ranges`` or
            ``Sums``.
        column: name of the column that it counts.
        value: of ``Sums``, name of the column whose numbers are added up by item.
        weight: of sketches, ``HeavyHitters``, ``HierarchicalHeavyHitters`` and ``Ranges``, name of
            the column of the weights, with ``max_weight`` among the options; None for weight 1.
        importance: weight of its predicted error when the privacy is shared out, above 0.
        options: keyword arguments of the class, without those that the pipeline has: ``epsilon``,
            ``delta``, ``relation`` and ``key``. A ``person_bound`` goes before that of the
            pipeline.

    Raises:
        ArgumentTypeError: another class, a wrong type, or an option that a part cannot have.
        ArgumentValueError: an importance outside its range.

    Example:
        >>> import lazysketch as ls
        >>> ls.Part(ls.HeavyHitters, "path", share=0.01)
        <Part HeavyHitters of 'path', share=0.01>
    """

    def __init__(
        self,
        kind: type[Live],
        column: str,
        *,
        value: str | None = None,
        weight: str | None = None,
        importance: float = 1.0,
        **options: object,
    ) -> None:
        """Check the description."""
        if kind not in _KINDS:
            names = ", ".join(one.__name__ for one in _KINDS)
            got = kind.__name__ if isinstance(kind, type) else type(kind).__name__
            raise ArgumentTypeError(f"kind: expected one of {names}, got {got}")
        if not isinstance(column, str):
            raise ArgumentTypeError(f"column: expected a text, got {type(column).__name__}")
        if kind is Sums and not isinstance(value, str):
            got = "none" if value is None else type(value).__name__
            raise ArgumentTypeError(f"value: expected the name of the column of numbers, got {got}")
        if kind is not Sums and value is not None:
            raise ArgumentTypeError("value: expected none for a part that is no Sums, got one")
        _check_weight(kind, weight, options)
        for name in options:
            if name in _OF_THE_PIPELINE:
                raise ArgumentTypeError(
                    f"{name}: expected none for a part, as the pipeline has it for all, got one"
                )
        self._kind = kind
        self._column = column
        self._value = value
        self._weight = weight
        self._importance = checked_real("importance", importance)
        self._options = dict(options)

    @property
    def kind(self) -> type[Live]:
        """Class of the statistic."""
        return self._kind

    @property
    def column(self) -> str:
        """Name of the column that it counts."""
        return self._column

    @property
    def value(self) -> str | None:
        """Name of the column whose numbers are added up; None for a part that is no ``Sums``."""
        return self._value

    @property
    def weight(self) -> str | None:
        """Name of the column of the weights; None if each row has weight 1."""
        return self._weight

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that it reads, without that of the people of a pipeline."""
        further = (self._value, self._weight)
        return (self._column, *(name for name in further if name is not None))

    @property
    def importance(self) -> float:
        """Weight of its predicted error."""
        return self._importance

    @property
    def options(self) -> Mapping[str, object]:
        """Keyword arguments of the class."""
        return MappingProxyType(self._options)

    def options_with(self, horizon: int | None) -> dict[str, object]:
        """Return the options, with a horizon unless they have one or a schedule.

        Args:
            horizon: number of steps of the pipeline, or None.
        """
        options = dict(self._options)
        if horizon is not None and not {"horizon", "schedule"} & options.keys():
            options["horizon"] = horizon
        return options

    def made(
        self,
        epsilon: float,
        delta: float,
        *,
        relation: Relation,
        horizon: int | None,
        key: Key | None = None,
    ) -> Live:
        """Return the live object.

        Args:
            epsilon: its part of the privacy, above 0 and at most 100.
            delta: its part of the privacy, above 0 and below 1.
            relation: neighbouring streams.
            horizon: number of steps of the pipeline; a horizon or a schedule of the part goes
                before it.
            key: master key; a fresh one when None.

        Returns:
            An empty live object.

        Raises:
            ArgumentTypeError: an unknown option, or one of a wrong type.
            ArgumentValueError: an option outside its range.
        """
        options = self.options_with(horizon)
        make: type = self._kind
        live: Live = make(epsilon=epsilon, delta=delta, relation=relation, key=key, **options)
        return live

    def changed(self, **options: object) -> Part:
        """Return the same part with other options.

        Args:
            options: keyword arguments of the class that are added or replaced.
        """
        return Part(
            self._kind,
            self._column,
            value=self._value,
            weight=self._weight,
            importance=self._importance,
            **{**self._options, **options},
        )

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        value = "" if self._value is None else f", value={self._value!r}"
        weight = "" if self._weight is None else f", weight={self._weight!r}"
        return f"<Part {self._kind.__name__} of {self._column!r}{value}{weight}{options}>"


def _check_weight(kind: type[Live], weight: object, options: Mapping[str, object]) -> None:
    if weight is None:
        if "max_weight" in options:
            raise ArgumentTypeError(
                "max_weight: expected none without weight, the column of the weights, got one"
            )
        return
    if kind in _WITHOUT_WEIGHTS:
        raise ArgumentTypeError(f"weight: expected none for a part of {kind.__name__}, got one")
    if not isinstance(weight, str):
        raise ArgumentTypeError(f"weight: expected a text, got {type(weight).__name__}")


@contextmanager
def in_part(name: str) -> Iterator[None]:
    """Let the errors of a block name the part of a pipeline in which they are.

    Args:
        name: of the part, which is public.

    Raises:
        LazySketchError: one of the block, with the name before its message.

    Example:
        >>> with in_part("pages"):
        ...     raise ArgumentValueError("share: expected a number above 0, got -1")
        Traceback (most recent call last):
        lazysketch.errors.ArgumentValueError: part 'pages': share: expected a number above 0, got -1
    """
    try:
        yield
    except LazySketchError as error:
        error.args = (f"part {name!r}: {error}",)
        raise


def checked_parts(parts: object) -> dict[str, Part]:
    """Return the parts of a pipeline.

    Args:
        parts: a mapping from names to descriptions.

    Raises:
        ArgumentTypeError: something else.
        ArgumentValueError: no part.
    """
    if not isinstance(parts, Mapping):
        raise ArgumentTypeError(f"parts: expected a mapping, got {type(parts).__name__}")
    for name, part in parts.items():
        if not isinstance(name, str):
            raise ArgumentTypeError(f"parts: expected names, got {type(name).__name__}")
        if not isinstance(part, Part):
            raise ArgumentTypeError(f"parts: expected Part, got {type(part).__name__}")
    if not parts:
        raise ArgumentValueError("parts: expected at least one, got none")
    return dict(parts)


def of_people(parts: Mapping[str, Part], user: object, person_bound: object) -> dict[str, Part]:
    """Return the parts of a pipeline, each with what it counts of a person.

    Guarantee: with people, every part protects everything that a person does: by a bound of its
    own or that of the pipeline, or, of ``DistinctCount``, because its items are the people.

    Args:
        parts: by name.
        user: name of the column of people; None if rows are protected.
        person_bound: of all parts that have none of their own, or None.

    Raises:
        ArgumentTypeError: a wrong type; a bound without people; a part without a bound.
        ArgumentValueError: distinct items that are not the people.
    """
    bound = checked_person_bound(person_bound)
    if user is None:
        for found in (bound, *(part.options.get("person_bound") for part in parts.values())):
            if found is not None:
                raise ArgumentTypeError(
                    "user: expected the column of the people whom person_bound bounds, got none"
                )
        return dict(parts)
    if not isinstance(user, str):
        raise ArgumentTypeError(f"user: expected a text, got {type(user).__name__}")
    return {name: _of_people(name, part, user, bound) for name, part in parts.items()}


def _of_people(name: str, part: Part, user: str, bound: PersonBound | None) -> Part:
    if part.kind is DistinctCount:
        if part.column != user:
            raise ArgumentValueError(
                f"parts: expected distinct items of the column of people, {user!r}, got those of "
                f"{part.column!r} in {name!r}, of which a person may have any number"
            )
        return part
    if part.options.get("person_bound") is not None:
        return part
    if bound is None:
        raise ArgumentTypeError(
            f"person_bound: expected one for the part {name!r}, or for all parts, got none"
        )
    return part.changed(person_bound=bound)
