"""Lists of the heaviest known names: the first after a change, and again while nothing changes."""

from __future__ import annotations

from functools import partial

import numpy as np

import lazysketch as ls

from .measuring import Contender, Results, Row, integers, medians

EVENTS, SHOWN, AGAIN = 1_000_000, 20, 10
NAMES, WIDTHS = (10_000, 100_000), (1 << 13, 1 << 16)
FIRST, REPEATED, EXACT = "top after a change", "top again", "top of exact counts, NumPy"


def known_names(*, rounds: int) -> Results:
    """Measure lists of a public domain, and the same from a vector of exact counts."""
    results: Results = []
    for names in NAMES:
        items = integers(EVENTS, skew=1.1).view(np.uint64) % np.uint64(names)
        exact = np.bincount(items.view(np.int64), minlength=names)
        for width in WIDTHS:
            heavy = of_domain(names, width)
            heavy.update_many(items)
            facts: Row = {"items": f"{names:,} names", "width": width}
            contenders = [
                # A tick is a change: the list is decoded anew.
                Contender(name=FIRST, events=1, run=partial(changed, heavy), facts=facts),
                Contender(name=REPEATED, events=AGAIN, run=partial(again, heavy), facts=facts),
                Contender(name=EXACT, events=1, run=partial(of_counts, exact), facts=facts),
            ]
            results += medians("known names", contenders, rounds=rounds)
    return results


def of_domain(names: int, width: int) -> ls.HeavyHitters:
    return ls.HeavyHitters(
        domain=range(names), share=0.001, depth=3, width=width, epsilon=1.0, delta=1e-8
    )


def changed(heavy: ls.HeavyHitters) -> None:
    heavy.tick(1)
    heavy.top(SHOWN)


def again(heavy: ls.HeavyHitters) -> None:
    for _ in range(AGAIN):
        heavy.top(SHOWN)


def of_counts(counts: np.ndarray) -> None:
    np.argsort(-counts, kind="stable")[:SHOWN].tolist()
