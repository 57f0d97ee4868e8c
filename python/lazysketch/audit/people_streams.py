"""Streams of small tables in which one person does everything that a bound has to stop.

A *family* is a stream without the person, and streams that have the person's events in addition. In
terms of docs/theory.md each is a neighbour of the first under zero-out, and any two of them are
neighbours under substitution.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lazysketch.audit.case import Case, places
from lazysketch.audit.people_rule import Event, Stream
from lazysketch.audit.sensitivity import patterns
from lazysketch.specification.schedules import Batch

__all__ = ["Family", "families"]

_PEOPLE = (7, 8)  # of whom one replaces the other
_PERSON, _OTHER, _LET_IN, _LAST = 7, 1, 2, 3
_ITEM_LISTS = 8


@dataclass(frozen=True)
class Family:
    """Neighbouring streams.

    Args:
        without: the stream in which all steps of the person are empty.
        variants: streams with events of the person.
    """

    without: Stream
    variants: Sequence[Stream]


def families(case: Case, hash_seed: int) -> Iterator[Family]:
    """Yield neighbouring streams of a small table with a bound.

    Args:
        case: a Count-Min or Count Sketch of a few cells, with a schedule of a few steps.
        hash_seed: public seed of the hash.

    Yields:
        Without a limit of people one family, of persons who fill different cells, at every step.
        With a limit many, in which another person is let in if the person is missing.
    """
    lists = _item_lists(case, hash_seed)
    steps = case.spec.schedule.horizon
    if steps is None or case.spec.person_bound is None:
        raise AssertionError("case: expected a horizon and a person_bound")
    if case.spec.person_bound.most_people is None:
        background = _background(case, steps, len(lists))
        yield Family(
            background,
            [
                _with(case, background, _events(person, case, items), start)
                for pair in lists
                for person, items in zip(_PEOPLE, pair, strict=True)
                for start in range(steps)
            ],
        )
        return
    for (items, flipped), start in itertools.product(lists, range(steps)):
        first: list[list[Event]] = [[] for _ in range(steps)]
        first[0] = [(_OTHER, items[0])]
        let_in = _events(_LET_IN, case, flipped)
        later = _events(_OTHER, case, flipped) + _events(_LAST, case, items)
        if isinstance(case.spec.schedule, Batch):
            # The person's events come before those of who is let in, in one step.
            at = max(start, 1)
            without = [[*step] for step in first]
            without[at] += let_in
            variant = [[*step] for step in first]
            variant[at] += _events(_PERSON, case, items) + let_in
            for stream in (without, variant):
                stream[min(at + 1, steps - 1)] += later
            yield Family(without, [variant])
        elif start < steps // 2:  # before all others
            without = _with(case, first, let_in + later, steps // 2)
            yield Family(without, [_with(case, without, _events(_PERSON, case, items), start)])


def _item_lists(case: Case, hash_seed: int) -> list[tuple[list[int], list[int]]]:
    """Return lists of items, each with another list of the same cells and, if signed, flipped.

    In every other list the first items have no cell in common, and the rest collides with them in
    some row; the other lists have items of one cell of the first row.
    """
    bound = case.bound
    if bound is None:
        raise AssertionError("case: expected a person_bound, got none")
    of_pattern = {places(case, hash_seed, item): item for item in patterns(case, hash_seed)}
    random = np.random.default_rng(7)
    found: list[tuple[list[int], list[int]]] = []
    everything = sorted(of_pattern.values())
    sign = -1 if case.spec.kind == "count-sketch" else 1
    while len(found) < _ITEM_LISTS:
        order = random.permutation(everything).tolist()
        chosen: list[int] = []
        for item in order:
            taken = {cell[:2] for other in chosen for cell in places(case, hash_seed, other)}
            if len(chosen) < bound.cells and not taken & {
                cell[:2] for cell in places(case, hash_seed, item)
            }:
                chosen.append(item)
        flipped = [
            of_pattern.get(tuple((r, c, sign * s) for r, c, s in places(case, hash_seed, item)))
            for item in chosen
        ]
        if len(chosen) == bound.cells and None not in flipped:
            others = [item for item in order if item not in chosen]
            opposite = [item for item in flipped if item is not None]
            found.append((chosen + others[:3], opposite + others[:3]))
            cell = places(case, hash_seed, chosen[0])[0]
            one_cell = [item for item in order if places(case, hash_seed, item)[0] == cell]
            found.append((one_cell[:4], opposite + one_cell[:2]))
    return found


def _events(person: int, case: Case, items: Sequence[int]) -> list[Event]:
    """Each item once more than a cell may hold events."""
    bound = case.spec.person_bound
    return [(person, item) for item in items for _ in range(bound.events + 1 if bound else 1)]


def _background(case: Case, steps: int, people: int) -> list[list[Event]]:
    """Events of other people: some at each step of batches, one at each fourth step otherwise."""
    random = np.random.default_rng(8)
    batches = isinstance(case.spec.schedule, Batch)
    return [
        [
            (int(random.integers(10, 10 + people)), int(random.integers(0, 40)))
            for _ in range(3 if batches else int(step % 4 == 1))
        ]
        for step in range(steps)
    ]


def _with(case: Case, stream: Stream, events: Sequence[Event], start: int) -> list[list[Event]]:
    """Return a stream with further events: all at one step of batches, else at empty steps."""
    taken = [[*step] for step in stream]
    if isinstance(case.spec.schedule, Batch):
        taken[start] = [*events, *taken[start]]
        return taken
    empty = [step for step in range(start, len(taken)) if not taken[step]]
    for step, event in zip(empty, events, strict=False):
        taken[step] = [event]
    return taken
