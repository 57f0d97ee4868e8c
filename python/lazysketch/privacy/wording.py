"""A guarantee in words, for readers without formulas: what is promised, and what is not.

Source: docs/guarantees.md, which says the same with formulas.
"""

from __future__ import annotations

import math

from lazysketch.privacy.relations import Relation

__all__ = ["promise"]


def promise(
    *,
    epsilon: float,
    delta: float,
    relation: Relation,
    max_events_per_user: int,
    max_weight: int,
) -> str:
    """Return the promise and its limits as two sentences.

    Args:
        epsilon: as promised.
        delta: as promised.
        relation: ``"substitution"`` or ``"zero-out"``.
        max_events_per_user: events protected together.
        max_weight: largest weight of one event, in counts.

    Returns:
        English text in one line.

    Example:
        >>> print(promise(
        ...     epsilon=1.0, delta=1e-8, relation="zero-out", max_events_per_user=1, max_weight=1
        ... ).split(". ")[0])
        Whoever reads everything ever published, at any number of steps, can hardly tell whether \
        any one event took place or its step was empty: the probability of any conclusion differs \
        between the two by a factor of at most 2.72 (e^epsilon, epsilon = 1) and, beyond that, by \
        at most 1e-08 (delta)
    """
    one = max_events_per_user == 1
    whose = "any one event" if one else f"any {max_events_per_user} events of one person"
    weighing = f" (of weight up to {max_weight})" if max_weight != 1 else ""
    if relation == "substitution":
        instead = "was" if one else "were"
        others = "another one, or none, in the same step" if one else "others in the same steps"
        secret = f"{whose}{weighing} {instead} there or {others}"
    else:
        secret = f"{whose}{weighing} took place or {'its step was' if one else 'their steps were'}"
        secret += " empty"
    more = "1 event" if one else f"{max_events_per_user} events"
    return (
        "Whoever reads everything ever published, at any number of steps, can hardly tell "
        f"whether {secret}: the probability of any conclusion differs between the two by a "
        f"factor of at most {math.exp(epsilon):.3g} (e^epsilon, epsilon = {epsilon:.4g}) and, "
        f"beyond that, by at most {delta:g} (delta). "
        f"NOT promised: the same bound for a person with more than {more}, whose events add up; "
        "that the number of steps, the parameters or the time of a publication stay secret; "
        "that an event may be deleted so that later ones move up; anything about figures that "
        "only the operator sees (rejected input, numbers of rows, throughput, log files)."
    )
