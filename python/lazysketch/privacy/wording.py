"""Wording of a guarantee: one line with its parameters, and a text without formulas.

Source: docs/guarantees.md, which states the same with formulas.
"""

from __future__ import annotations

import math

from lazysketch.privacy.person_bound import CountedOnce, PersonBound
from lazysketch.privacy.relations import Relation

__all__ = ["guarantee", "promise", "unit"]


def guarantee(
    *,
    epsilon: float,
    delta: float,
    relation: Relation,
    max_events_per_user: int,
    max_weight: int = 1,
    person_bound: PersonBound | str | None = None,
    within: str | None = None,
) -> str:
    """Return the guarantee as one line.

    Args:
        epsilon: privacy parameter.
        delta: privacy parameter.
        relation: ``"substitution"`` or ``"zero-out"``.
        max_events_per_user: events protected together.
        max_weight: largest weight of one event, in counts.
        person_bound: what is counted of a person, as a bound or in words, if people are protected.
        within: where the events of a person are protected together, such as ``"one window"``; None
            for everywhere.

    Returns:
        English text in one line.

    Example:
        >>> guarantee(epsilon=1.0, delta=1e-8, relation="zero-out", max_events_per_user=1)
        '(1, 1e-08)-DP per event (zero-out)'
        >>> guarantee(epsilon=1.0, delta=1e-8, relation="substitution", max_events_per_user=3)
        '(1, 1e-08)-DP per person with at most 3 events (substitution)'
    """
    unit = "event"
    if person_bound is not None:
        unit = f"{_one(person_bound)}{_scope(within)}, {person_bound}"
    if max_events_per_user > 1:
        unit = f"person with at most {max_events_per_user} events"
    weights = f", weights up to {max_weight}" if max_weight != 1 else ""
    return f"({epsilon:g}, {delta:g})-DP per {unit} ({relation}){weights}"


def promise(
    *,
    epsilon: float,
    delta: float,
    relation: Relation,
    max_events_per_user: int,
    max_weight: int,
    person_bound: PersonBound | str | None = None,
    within: str | None = None,
) -> str:
    """Return the guarantee and its limits for a reader without formulas.

    Args:
        epsilon: privacy parameter.
        delta: privacy parameter.
        relation: ``"substitution"`` or ``"zero-out"``.
        max_events_per_user: events protected together.
        max_weight: largest weight of one event, in counts.
        person_bound: what is counted of a person, as a bound or in words, if people are protected.
        within: where the events of a person are protected together, such as ``"one window"``; None
            for everywhere.

    Returns:
        English text in one line.

    Example:
        >>> print(promise(
        ...     epsilon=1.0, delta=1e-8, relation="zero-out", max_events_per_user=1, max_weight=1
        ... ).split(" NOT promised")[0])
        An observer who reads everything ever published, at any number of steps, can hardly tell \
        whether any one event took place or its step was empty. The event may be chosen by what \
        was published before. The probability of any conclusion differs between the two by a \
        factor of at most 2.72 (e^epsilon, epsilon = 1) and, beyond that, by at most 1e-08 (delta).
    """
    one = max_events_per_user == 1
    events = "any one event" if one else f"any {max_events_per_user} events of one person"
    weights = f" (of weight up to {max_weight})" if max_weight != 1 else ""
    if relation == "substitution":
        verb = "was" if one else "were"
        others = "another one, or none, in the same step" if one else "others in the same steps"
        secret = f"{events}{weights} {verb} there or {others}"
    else:
        steps = "its step was" if one else "their steps were"
        secret = f"{events}{weights} took place or {steps} empty"
    most = "1 event" if one else f"{max_events_per_user} events"
    later = "" if one else ", or whose later events are chosen by what was published in between"
    chosen = "The event" if one else "The events, all together,"
    beyond = f"for a person with more than {most}, whose events add up{later}; "
    place = "" if within is None else f" in {within}"
    if person_bound is not None:
        whose = f"any one person{weights}, {person_bound},"
        secret = f"{whose} sent events{place} or none"
        if relation == "substitution":
            others = "others" if within is None else "others there or elsewhere"
            secret = f"{whose} sent these events{place}, {others}, or none"
        beyond = "for a person whose later events are chosen by what was published in between; "
        if within is not None:
            beyond = f"for a person with events beyond {within}, which add up; {beyond}"
        chosen = "The person's events, all together,"
    if isinstance(person_bound, CountedOnce):
        there = "was there, another one in its place, or none"
        there = there if relation == "substitution" else "was there or its steps were empty"
        secret = f"any one item, with {person_bound}{place}, {there}"
        beyond = "for a person with events of several items, which add up; "
        if within is not None:
            beyond = f"for an item with events beyond {within}, which add up; {beyond}"
        chosen = "The item and its events"
    return (
        "An observer who reads everything ever published, at any number of steps, can hardly tell "
        f"whether {secret}. {chosen} may be chosen by what was published before. "
        "The probability of any conclusion differs between the two by a "
        f"factor of at most {math.exp(epsilon):.3g} (e^epsilon, epsilon = {epsilon:.4g}) and, "
        f"beyond that, by at most {delta:g} (delta). "
        f"NOT promised: the same bound {beyond}"
        "that the number of steps, the parameters or the time of a publication stay secret; "
        "that an event may be deleted so that later ones move up; anything about figures that "
        "only the operator sees (rejected input, numbers of rows, throughput, log files)."
    )


def unit(
    *, person_bound: PersonBound | str | None, within: str | None, max_events_per_user: int = 1
) -> str:
    """Return who or what is protected.

    Args:
        person_bound: what is counted of a person, if people are protected.
        within: where the events of a person are protected together; None for everywhere.
        max_events_per_user: events protected together.

    Returns:
        English words.

    Example:
        >>> unit(person_bound=None, within=None)
        'one event'
        >>> unit(person_bound="10 cells of 1 event", within="one window")
        'one person within one window, 10 cells of 1 event'
    """
    if person_bound is not None:
        scope = f" within {within}" if within else ""
        return f"one {_one(person_bound)}{scope}, {person_bound}"
    return "one event" if max_events_per_user == 1 else f"{max_events_per_user} events together"


def _one(bound: PersonBound | str) -> str:
    return "item" if isinstance(bound, CountedOnce) else "person"


def _scope(within: str | None) -> str:
    return "" if within is None else f" within {within}"
