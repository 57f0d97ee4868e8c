"""Public operations of windows of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from tests.faults.campaign import Operation
from tests.faults.subjects import (
    ITEMS,
    KEY,
    SMALL,
    WEIGHTS,
    Family,
    Subject,
    seen_windows,
)

import lazysketch as ls
from lazysketch.testing import seeded_key

__all__ = ["queries_of_windows", "windows_by_clock", "windows_by_time", "windows_of_steps"]

_DAY: Final = datetime(2026, 1, 1, tzinfo=timezone.utc)


def windows_of_steps(name: str, **options: Any) -> list[Operation]:
    asked = {**SMALL, "key": KEY, "depth": 2, "width": 16, "max_weight": 3, "keep": 3}

    def go_on(one: Subject) -> object:
        one.live.update_many(ITEMS)
        one.live.tick(9)
        return one.live.candidates

    family = Family(
        name=name,
        made=lambda _: ls.Windows(every=40, **{**asked, **options}),
        begin=lambda one: one.live.update_many(ITEMS[:39]),
        observe=seen_windows,
        proceed=go_on,
    )
    of = family.operation
    return [
        of("update that ends a window", lambda one: one.live.update("b", 2)),
        of(
            "update_many within a window",
            lambda one: (one.live.tick(3), one.live.update_many(ITEMS[:9])),
            partial=(lambda one: one.live.tick(3),),
            repeatable=False,
        ),
        of("update_many that ends a window", lambda one: one.live.update_many(["b"])),
        of("update_many across windows", lambda one: one.live.update_many(ITEMS * 2, WEIGHTS * 2)),
        of(
            "update_many across more windows than are kept",
            lambda one: one.live.update_many(ITEMS * 5),
        ),
        of("tick that ends a window", lambda one: one.live.tick(1)),
        of("tick across windows", lambda one: one.live.tick(1000)),
        of("finish", lambda one: one.live.finish()),
        of("close", lambda one: one.live.close()),
        of("windows", lambda one: one.live.windows, reads=True),
        family.block(),
        family.construction(),
    ]


def windows_by_clock(name: str, **options: Any) -> list[Operation]:
    asked = {**SMALL, "key": KEY, "depth": 2, "width": 16, "max_weight": 3, "keep": 3}

    def begin(one: Subject) -> None:
        one.live.update_many(ITEMS)
        one.clock.now = 70.0
        one.live.update_many(ITEMS[::-1])

    def moved(one: Subject) -> None:
        one.clock.now = 80.0

    def at(seconds: float, call: Callable[[Any], object]) -> Callable[[Subject], object]:
        def later(one: Subject) -> object:
            one.clock.now = seconds
            return call(one.live)

        return later

    def go_on(one: Subject) -> object:
        """The open slice is not public: let it end."""
        one.clock.now = max(one.clock.now, 79.0)
        seen = seen_windows(one.live)
        one.clock.now += 60.0
        one.live.update_many(ITEMS[:7])
        one.clock.now += 600.0
        return seen, one.live.candidates

    family = Family(
        name=name,
        made=lambda clock: ls.Windows(every="60s", slices=4, clock=clock, **{**asked, **options}),
        begin=begin,
        observe=seen_windows,
        proceed=go_on,
    )
    of = family.operation
    return [
        of(
            "update_many within a slice",
            at(72.0, lambda live: live.update_many(ITEMS[:9])),
            repeatable=False,
        ),
        of(
            "update_many in the next slice",
            at(80.0, lambda live: live.update_many(ITEMS[:9])),
            repeatable=False,
        ),
        of("update in the next window", at(130.0, lambda live: live.update("b")), repeatable=False),
        of("advance over many windows", at(1000.0, lambda live: live.advance())),
        of("windows after the next begins", at(130.0, lambda live: live.windows)),
        of("finish", at(80.0, lambda live: live.finish()), partial=(moved,)),
        of("close", at(80.0, lambda live: live.close()), partial=(moved,)),
        family.construction(),
    ]


def windows_by_time(name: str, **options: Any) -> list[Operation]:
    asked = {**SMALL, "key": KEY, "depth": 2, "width": 16, "max_weight": 3}
    times = [_DAY + timedelta(minutes=11 * number) for number in range(60)]

    def go_on(one: Subject) -> object:
        """Nothing is public before the end."""
        one.live.update_many(ITEMS[:9], times=times[:9])
        one.live.finish()
        return one.live.candidates

    family = Family(
        name=name,
        made=lambda _: ls.Windows(
            every="3h", begin=_DAY, end=_DAY + timedelta(hours=11), **{**asked, **options}
        ),
        begin=lambda one: one.live.update_many(ITEMS, times=times),
        observe=seen_windows,
        proceed=go_on,
    )
    of = family.operation
    return [
        of("update", lambda one: one.live.update("b", 2, time=times[30]), repeatable=False),
        of(
            "update_many",
            lambda one: one.live.update_many(ITEMS, WEIGHTS, times=times),
            repeatable=False,
        ),
        of("finish", lambda one: one.live.finish()),
        of("close", lambda one: one.live.close()),
        family.construction(),
    ]


def queries_of_windows() -> list[Operation]:
    """Queries that merge windows, which need ids of their own: one object serves all points."""
    asked = {**SMALL, "key": seeded_key(5, sketch_id=None), "depth": 2, "width": 16}
    family = Family(
        name="Windows (queries)",
        made=lambda _: ls.Windows(every=40, share=0.2, **asked),
        begin=lambda one: one.live.update_many(ITEMS * 3),
        observe=seen_windows,
        proceed=lambda one: None,
    )
    of = family.operation
    return [
        of("top of several", lambda one: one.live.top(2, last=3, include_open=True), reads=True),
        of("changes", lambda one: one.live.changes(against="earlier"), reads=True),
        of("release", lambda one: one.live.release(last=2), reads=True),
        of("interval", lambda one: one.live.interval("a", last=2), reads=True),
        of("candidates", lambda one: one.live.candidates, reads=True),
    ]
