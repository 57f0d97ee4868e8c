"""Eras of a store: in each of them every object has a fresh id, and so fresh noise.

An era has one history. In doubt, which an anchor or its absence gives, another era begins: its id
is random, so that no older copy ever begins the same one. What the objects of earlier eras had
published last is public, and is kept.
"""

from __future__ import annotations

import secrets
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lazysketch.releases.any_release import AnyRelease, any_release, merged
from lazysketch.store.calls import Call
from lazysketch.store.spent import Spent, SpentPart, part_of

__all__ = ["BEGUN", "ENDED", "Eras", "begin_record", "end_record"]

BEGUN: Final = "era"
ENDED: Final = "ended"


@dataclass
class Eras:
    """What a store knows of its eras.

    Attributes:
        number: number of the current era: 0 for the first.
        id: its id, from which the ids of all its objects follow.
        anchored: whether it may go on in another life: it was begun under an anchor.
        copied: whether one was begun because the store may be an older copy.
        parts: what each object of each era spends: its name, the era and a description.
        earlier: what an object published last in earlier eras, one release per table.
    """

    number: int = 0
    id: int = 0
    anchored: bool = True
    copied: bool = False
    parts: list[tuple[str, int, Mapping[str, Any]]] = field(default_factory=list)
    earlier: dict[str, list[AnyRelease]] = field(default_factory=dict)

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Begin an era.

        Args:
            facts: of the record of :func:`begin_record`.
        """
        self.number += 1
        self.id, self.anchored = facts["id"], facts["anchored"]
        self.copied = self.copied or facts["copied"]

    def add(self, name: str, privacy: Mapping[str, Any]) -> None:
        """Account for an object that is made.

        Args:
            name: its name.
            privacy: result of :func:`~lazysketch.store.spent.plain_privacy`.
        """
        self.parts.append((name, self.number, privacy))

    def end(self, name: str, releases: Sequence[AnyRelease]) -> None:
        """Keep what an object of an earlier era had published, with what is kept of it already.

        Args:
            name: its name.
            releases: one per table; none if nothing was published.
        """
        before = self.earlier.get(name)
        if releases:
            pairs = zip(before or releases, releases, strict=True)
            self.earlier[name] = [_together(one, last) for one, last in pairs]

    def spent(self, of_people: Container[str]) -> Spent:
        """Return what all objects of all eras spend together.

        Args:
            of_people: names of the objects whose distinct items, if they have any, are people.
        """
        parts: list[SpentPart] = [
            part_of(name, era, privacy, items_are_people=name in of_people)
            for name, era, privacy in self.parts
        ]
        return Spent(tuple(parts), complete=not self.copied)

    def described(self) -> tuple[dict[str, Any], list[bytes]]:
        """Return a description for a checkpoint, and the releases that it has."""
        contents = {name: [it.to_bytes() for it in kept] for name, kept in self.earlier.items()}
        described = {
            "number": self.number,
            "id": self.id,
            "anchored": self.anchored,
            "copied": self.copied,
            "spent": [list(part) for part in self.parts],
            "earlier": {name: [*map(len, kept)] for name, kept in contents.items()},
        }
        return described, [one for kept in contents.values() for one in kept]

    def restore(self, described: Mapping[str, Any], contents: Iterator[bytes]) -> None:
        """Go on from a checkpoint.

        Args:
            described: the first result of :meth:`described`.
            contents: the second one.
        """
        self.number, self.id = described["number"], described["id"]
        self.anchored, self.copied = described["anchored"], described["copied"]
        self.parts = [(name, era, privacy) for name, era, privacy in described["spent"]]
        for name, sizes in described["earlier"].items():
            self.earlier[name] = [any_release(next(contents)) for _ in sizes]


def _together(before: AnyRelease, last: AnyRelease) -> AnyRelease:
    """Return what eras published as one table; if it does not add up, what the last one did."""
    if before is last or last._words.not_added:
        return last
    return merged((before, last))


def begin_record(*, anchored: bool, copied: bool) -> Call:
    """Return the record that begins an era.

    Args:
        anchored: whether it may go on in another life.
        copied: whether the store may be an older copy.
    """
    # Random: an older copy that counted would begin an era that was there already.
    facts = {"id": secrets.randbits(64), "anchored": anchored, "copied": copied}
    return Call(object="", method=BEGUN, facts=facts)


def end_record(name: str, stored: Any) -> Call:
    """Return the record that ends an object of an earlier era.

    It publishes nothing that the object did not publish before: no step is taken, and ``finish()``
    is not called, whose noise the newest state may have published with other counts.

    Args:
        name: its name.
        stored: the object, in its last known state.
    """
    return Call(object=name, method=ENDED, contents=tuple(stored._last_published()))
