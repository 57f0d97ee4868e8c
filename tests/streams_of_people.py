"""All tiny streams of two people, whose events count of them, and who is a neighbour of whom.

By definition, for tables whose cells are parts of sums: a person has so many events, anywhere.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

import lazysketch as ls
from lazysketch.privacy.relations import Relation

__all__ = ["Event", "counted", "pairs"]

Event = tuple[int, int] | None  # a person and a bin, or a key


def counted(stream: Iterable[Event], bound: ls.PersonBound) -> tuple[int | None, ...]:
    """The rule: the bin or key of each step at which an event is counted."""
    of: Counter[int] = Counter()
    known: set[int] = set()
    found: list[int | None] = []
    for event in stream:
        is_counted = False
        if event is not None:
            person, _ = event
            if bound.most_people is None or len(known | {person}) <= bound.most_people:
                known.add(person)
            is_counted = person in known and of[person] < bound.events
            of[person] += is_counted
        found.append(event[1] if event is not None and is_counted else None)
    return tuple(found)


def pairs(
    relation: Relation, choices: Sequence[int], steps: int
) -> Iterable[tuple[tuple[Event, ...], tuple[Event, ...]]]:
    """All streams of two persons that differ in all events of one; the others' are as they were."""
    for rest in itertools.product([None, *((1, choice) for choice in choices)], repeat=steps):
        free = [step for step in range(steps) if rest[step] is None]
        streams = []
        for chosen in itertools.product([None, *choices], repeat=len(free)):
            stream: list[Event] = list(rest)
            for step, value in zip(free, chosen, strict=True):
                stream[step] = None if value is None else (0, value)
            streams.append(tuple(stream))
        for one in streams:
            for other in streams if relation == "substitution" else streams[:1]:
                yield one, other
