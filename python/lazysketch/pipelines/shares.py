"""Shares of the privacy: of each part, what makes the predicted errors least together.

A share is of mu^2, which adds up where mechanisms see one stream: a part with the share w has
1 / sqrt(w) times the noise that it would have alone. The shares minimise the sum of importance
times :class:`Growth` over the parts, each at least a quarter of an equal share. Then a scale of
all mu is found at which the composition of the parts, with their integer noise and their names,
stays within the whole guarantee.

Source: docs/pipelines.md, "Shares of the privacy"; docs/theory.md, Theorems 8 and 18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lazysketch.arguments import checked_integer, checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.pipelines.part import Live, Part, in_part
from lazysketch.pipelines.predictions import Growth, growth_of
from lazysketch.privacy.composition import Composition, compose
from lazysketch.privacy.gaussian import gaussian_delta, noise_multiplier
from lazysketch.privacy.person_bound import CountedPerson
from lazysketch.privacy.relations import LARGEST_EPSILON, Relation
from lazysketch.sketches.distinct_count import DistinctCount
from lazysketch.sketches.keys import Key

__all__ = [
    "PrivacyShare",
    "Split",
    "best_shares",
    "checked_shares",
    "made_parts",
    "shared_out",
    "split_privacy",
    "together",
]

_ROWS: Final = 1_000_000
_LARGEST_ROWS: Final = 2**48
_LEAST: Final = 0.25  # of an equal share
_HALVINGS: Final = 60
_ATTEMPTS: Final = 40
_REFINEMENTS: Final = 4
_LESS: Final = 0.999  # of the scale, at least, from one attempt to the next
_MOST_PRICE: Final = 1e30
_LABELS: Final = 0.01  # an epsilon of a part is stated at a delta below this multiple of its mu


@dataclass(frozen=True)
class PrivacyShare:
    """The privacy of a part of a pipeline, and what it costs in accuracy.

    Attributes:
        share: of the whole, by mu^2; the shares of all parts add up to 1.
        error_growth: predicted error relative to that of the part with the whole privacy for
            itself, 1 or more.
    """

    share: float
    error_growth: float


@dataclass(frozen=True)
class Split:
    """How the privacy of a pipeline is divided.

    Attributes:
        pairs: (epsilon, delta) of each part.
        shares: of each part.
    """

    pairs: tuple[tuple[float, float], ...]
    shares: tuple[PrivacyShare, ...]


def shared_out(
    parts: Mapping[str, Part],
    whole: tuple[float, float],
    *,
    relation: Relation,
    horizon: int | None,
    rows: int | None,
    shares: Mapping[str, float] | None,
    of_people: bool = False,
) -> Split:
    """Return the privacy of each part of a pipeline.

    Guarantee: the parts, made with their pairs, satisfy the whole pair together.

    Args:
        parts: by name.
        whole: (epsilon, delta) of all together.
        relation: neighbouring streams.
        horizon: of the pipeline.
        rows: expected number of rows; by default the horizon, else a million.
        shares: given ones, or None for the best.
        of_people: whether people are protected, whom distinct items then are.

    Raises:
        ArgumentTypeError: an unknown option of a part, or shares of a wrong type.
        ArgumentValueError: a value outside its range, or too little privacy.
    """

    def made(pairs: Sequence[tuple[float, float]]) -> list[Live]:
        return made_parts(parts, pairs, relation=relation, horizon=horizon)

    default = _ROWS if horizon is None else horizon
    expected = checked_integer("rows", default if rows is None else rows, most=_LARGEST_ROWS)
    growths = [growth_of(live, expected) for live in made([whole] * len(parts))]
    if shares is None:
        split = best_shares(growths, [part.importance for part in parts.values()])
    else:
        split = checked_shares(shares, [*parts])
    pairs = split_privacy(
        split, *whole, together=lambda asked: together(made(asked), of_people=of_people)
    )
    told = [PrivacyShare(one, growth.at(one)) for one, growth in zip(split, growths, strict=True)]
    return Split(tuple(pairs), tuple(told))


def made_parts(
    parts: Mapping[str, Part],
    pairs: Sequence[tuple[float, float]],
    *,
    relation: Relation,
    horizon: int | None,
    key: Key | None = None,
) -> list[Live]:
    """Return the live objects of parts, each with its part of the privacy.

    Args:
        parts: by name.
        pairs: (epsilon, delta) of each.
        relation: neighbouring streams.
        horizon: of the pipeline.
        key: master key of all; a fresh one for each when None.

    Raises:
        ArgumentTypeError: an unknown option of a part, or one of a wrong type; it names the part.
        ArgumentValueError: an option outside its range; it names the part.
    """
    made = []
    for (name, part), pair in zip(parts.items(), pairs, strict=True):
        with in_part(name):
            made.append(part.made(*pair, relation=relation, horizon=horizon, key=key))
    return made


def together(parts: Iterable[Live], *, of_people: bool = False) -> Composition:
    """Return the guarantee of parts together.

    Args:
        parts: live ones.
        of_people: whether people are protected, whom distinct items then are.
    """
    return compose(
        *(
            replace(live.privacy, person_bound=CountedPerson())
            if of_people and isinstance(live, DistinctCount)
            else live.privacy
            for live in parts
        )
    )


def best_shares(growths: Sequence[Growth], importances: Sequence[float]) -> list[float]:
    """Return the shares with the least sum of importance times growth.

    Args:
        growths: one per part.
        importances: one per part, above 0.

    Returns:
        Shares that add up to 1, each at least a quarter of an equal one.

    Example:
        >>> best_shares([Growth(0.0)] * 2, [1.0, 1.0])
        [0.5, 0.5]
        >>> [round(share, 2) for share in best_shares([Growth(0.0), Growth(0.9)], [1.0, 1.0])]
        [0.76, 0.24]
    """
    least = _LEAST / len(growths)
    parts = list(zip(growths, importances, strict=True))

    def shares(price: float) -> list[float]:
        return [_share_at(price, growth, weight, least=least) for growth, weight in parts]

    cheap, dear = 0.0, 1.0
    while sum(shares(dear)) > 1.0:
        cheap, dear = dear, 2.0 * dear
        if dear > _MOST_PRICE:
            break
    for _ in range(_HALVINGS):
        middle = 0.5 * (cheap + dear)
        cheap, dear = (middle, dear) if sum(shares(middle)) > 1.0 else (cheap, middle)
    found = shares(dear)
    return [share / sum(found) for share in found]


def _share_at(price: float, growth: Growth, weight: float, *, least: float) -> float:
    """Return the share beyond which a part gains less than the price of more privacy."""

    def gains(share: float) -> bool:
        return weight * (1.0 - growth.own) > price * 2.0 * share**2 * growth.at(share)

    if not gains(least):
        return least
    low, high = least, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gains(middle) else (low, middle)
    return low


def checked_shares(shares: object, names: Sequence[str]) -> list[float]:
    """Return shares that a caller gives, scaled to a sum of 1.

    Args:
        shares: a mapping from the names of all parts to numbers above 0.
        names: of the parts.

    Raises:
        ArgumentTypeError: not a mapping, or not numbers.
        ArgumentValueError: other names, or numbers outside their range.
    """
    if not isinstance(shares, Mapping):
        raise ArgumentTypeError(f"shares: expected a mapping, got {type(shares).__name__}")
    if set(shares) != set(names):
        raise ArgumentValueError("shares: expected one for each part, got other names")
    numbers = []
    for name in names:
        with in_part(name):
            numbers.append(checked_real("shares", shares[name]))
    return [number / sum(numbers) for number in numbers]


def split_privacy(
    shares: Sequence[float],
    epsilon: float,
    delta: float,
    *,
    together: Callable[[Sequence[tuple[float, float]]], Composition],
) -> list[tuple[float, float]]:
    """Return (epsilon, delta) of each part, such that all together satisfy the whole guarantee.

    Guarantee: ``together(result).delta_at(epsilon) <= delta``.

    Args:
        shares: of mu^2, one per part; they add up to 1.
        epsilon: of all parts together.
        delta: of all parts together.
        together: the guarantee of parts that have these pairs.

    Returns:
        One pair per part.

    Raises:
        ArgumentValueError: no part of the privacy is enough for a part.
    """
    whole = 1.0 / noise_multiplier(epsilon, delta)

    def pairs(scale: float) -> list[tuple[float, float]]:
        mus = [scale * whole * share**0.5 for share in shares]
        return [_pair(mu, delta / len(shares)) for mu in mus]

    exceeds, fits = 1.0, 0.0
    for _ in range(_ATTEMPTS):
        reached = together(pairs(exceeds)).delta_at(epsilon)
        # The delta is that of a Gaussian mechanism whose mu is nearly in proportion to the scale.
        ratio = 0.5 if reached >= 1.0 else whole * noise_multiplier(epsilon, reached)
        fits = exceeds * min(ratio, _LESS)
        if together(pairs(fits)).delta_at(epsilon) <= delta:
            break
        exceeds = fits
    else:
        raise ArgumentValueError(
            f"parts: expected fewer, or a larger epsilon: {len(shares)} parts have no guarantee of "
            f"({epsilon:g}, {delta:g}) together"
        )
    for _ in range(_REFINEMENTS):
        middle = 0.5 * (fits + exceeds)
        holds = together(pairs(middle)).delta_at(epsilon) <= delta
        fits, exceeds = (middle, exceeds) if holds else (fits, middle)
    return pairs(fits)


def _pair(mu: float, delta: float) -> tuple[float, float]:
    """Return a pair that a Gaussian mechanism with this mu satisfies."""
    stated = min(delta, _LABELS * mu)
    low, high = 0.0, LARGEST_EPSILON
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if gaussian_delta(middle, 1.0 / mu) <= stated else (middle, high)
    return high, stated
