"""What a store has spent: the guarantees of all objects of all eras together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lazysketch.heavy_hitters.joint_privacy import JointPrivacy
from lazysketch.heavy_hitters.levels_privacy import LevelsPrivacy
from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.composition import Composition, compose
from lazysketch.privacy.person_bound import (
    CountedEvents,
    CountedOnce,
    CountedPerson,
    PersonBound,
    protects_people,
)
from lazysketch.privacy.sums_privacy import SumsPrivacy

__all__ = ["Spent", "SpentPart", "part_of", "plain_privacy"]

_NOT_PRIVATE: Final = "NOT PRIVATE"


@dataclass(frozen=True)
class SpentPart:
    """What one object of one era spends, whatever it publishes in it.

    Attributes:
        name: name of the object.
        era: number of the era: 0 for the first.
        epsilon: epsilon of everything that it publishes.
        delta: delta of everything that it publishes.
        counts: guarantee of the counts of each of its tables.
        discovery_epsilon: epsilon of its names; 0 without discovery.
        discovery_delta: delta of its names.
        within: where the events of a person are protected together, such as ``"one window"``; None
            for everywhere.
    """

    name: str
    era: int
    epsilon: float
    delta: float
    counts: tuple[Privacy, ...]
    discovery_epsilon: float = 0.0
    discovery_delta: float = 0.0
    within: str | None = None


@dataclass(frozen=True)
class Spent:
    """The guarantee of everything that a store ever publishes, over all eras.

    Guarantee: every event, whichever objects and eras count it, is protected by (``epsilon``,
    ``delta``), or every person where people are bounded. An object spends its guarantee once in
    each era, when it is made there, and the account is durable before anything of it is read.
    Windows with a bound protect a person within one of them: more of them are as many parts.
    Objects that protect different units, or have different relations, have no sum: ``epsilon`` and
    ``counts`` are refused then, and ``str()`` states each unit by itself.

    Attributes:
        parts: one for each object of each era, in order.
        complete: False if an older copy of the store went on, which does not know what was made
            after it was copied.

    Source: docs/theory.md, "Eras of a store".
    """

    parts: tuple[SpentPart, ...]
    complete: bool

    def of(self, name: str) -> Spent:
        """Return what one object has spent.

        Args:
            name: its name.
        """
        return Spent(tuple(part for part in self.parts if part.name == name), self.complete)

    @property
    def epsilon(self) -> float:
        """Epsilon of all parts together, at :attr:`delta`.

        Raises:
            ArgumentValueError: as for :attr:`counts`, if there are several parts.
        """
        basic = math.fsum(part.epsilon for part in self.parts)
        if len(self.parts) > 1:
            names = math.fsum(part.discovery_epsilon for part in self.parts)
            delta = math.fsum(part.delta - part.discovery_delta for part in self.parts)
            basic = min(basic, self.counts.epsilon_at(delta * (1.0 - 1e-12)) + names)
        return basic * (1.0 + 1e-15 * len(self.parts))

    @property
    def delta(self) -> float:
        """Delta of all parts together: the sum of theirs."""
        total = math.fsum(part.delta for part in self.parts)
        return total * (1.0 + 1e-15 * len(self.parts))

    @property
    def mu(self) -> float:
        """The mu of all counts together, without names; 0 if nothing is spent.

        Raises:
            ArgumentValueError: as for :attr:`counts`.
        """
        return self.counts.mu if self.parts else 0.0

    @property
    def counts(self) -> Composition:
        """The counts of all parts together.

        Raises:
            ArgumentValueError: nothing is spent, a part that is NOT PRIVATE, or mixed relations.
        """
        return compose(*(counts for part in self.parts for counts in part.counts))

    def __str__(self) -> str:
        """Return the guarantee in one line."""
        if not self.parts:
            return "nothing is spent"
        more = "" if self.complete else ", and what is not known of"
        eras = len({part.era for part in self.parts})
        places = sorted({part.within for part in self.parts if part.within is not None})
        where = f", for a person within {places[0]}" if places else ""
        what = self._by_unit()
        stated = what[0] if len(what) == 1 else f"{' and '.join(what)}, which have no sum,"
        lives = "1 era" if eras == 1 else f"{eras} eras"
        return f"{stated} in {lives}{more}{where}"

    def _by_unit(self) -> list[str]:
        """Return a guarantee for each group of parts that can be composed, in words."""
        groups: dict[str, list[SpentPart]] = {}
        for part in self.parts:
            groups.setdefault(_unit_of(part), []).append(part)
        stated = []
        for unit, parts in groups.items():
            if unit.startswith(_NOT_PRIVATE):
                stated.append(unit)
                continue
            together = Spent(tuple(parts), self.complete)
            pair = f"({together.epsilon:.4g}, {together.delta:.4g})-DP"
            stated.append(pair if len(groups) == 1 else f"{pair} {unit}")
        return stated


def _unit_of(part: SpentPart) -> str:
    """Return whom an object protects, or why it protects nobody."""
    for counts in part.counts:
        if not counts.private:
            return f"{_NOT_PRIVATE}: {'; '.join(counts.not_private_because)}"
    counts = part.counts[0]
    whom = "person" if protects_people(counts.person_bound) else "event"
    return f"per {whom} ({counts.relation})"


def plain_privacy(stored: Any) -> dict[str, Any]:
    """Return the guarantee of an object, as values of JSON.

    Args:
        stored: an object of a store.
    """
    privacy: Privacy | SumsPrivacy | JointPrivacy | LevelsPrivacy = stored.privacy
    plain: dict[str, Any] = {"epsilon": privacy.epsilon, "delta": privacy.delta}
    if isinstance(privacy, Privacy):
        return plain | {"counts": [dataclasses.asdict(privacy)]}
    if isinstance(privacy, SumsPrivacy):
        tables = (privacy.counts, privacy.values)
        return plain | {"counts": [dataclasses.asdict(table) for table in tables]}
    levels = privacy.levels if isinstance(privacy, LevelsPrivacy) else (privacy,)
    if privacy.within is not None:
        plain["within"] = privacy.within
    return plain | {
        "counts": [dataclasses.asdict(level.sketch) for level in levels],
        "discovery epsilon": privacy.discovery_epsilon,
        "discovery delta": privacy.discovery_delta,
    }


def part_of(
    name: str, era: int, plain: Mapping[str, Any], *, items_are_people: bool = False
) -> SpentPart:
    """Return the part that :func:`plain_privacy` described.

    Args:
        name: name of the object.
        era: number of its era.
        plain: the description.
        items_are_people: whether distinct items are the people of a pipeline, which their count
            does not know: it is charged for the same, and protects all that a person does.
    """
    counts = tuple(map(_privacy_of, plain["counts"]))
    if items_are_people and any(isinstance(it.person_bound, CountedOnce) for it in counts):
        counts = tuple(replace(it, person_bound=CountedPerson()) for it in counts)
    names = (plain.get("discovery epsilon", 0.0), plain.get("discovery delta", 0.0))
    within = plain.get("within")
    return SpentPart(name, era, plain["epsilon"], plain["delta"], counts, *names, within)


def _bound_of(plain: Mapping[str, Any]) -> PersonBound:
    if plain.get("once"):
        return CountedOnce()
    return (CountedEvents if plain.get("anywhere") else PersonBound)(**plain)


def _privacy_of(plain: Mapping[str, Any]) -> Privacy:
    """Return the guarantee of the counts of one table."""
    bound = plain.get("person_bound")
    objects = {
        "not_private_because": tuple(plain["not_private_because"]),
        "person_bound": bound and _bound_of(bound),
    }
    return Privacy(**{**plain, **objects})
