"""Values that call the object that reads them, raise, or change the list that they are in.

``python -m tests.hostile.calling_back CLASS`` prints one line of JSON per case: it is a process of
its own because a mistake here is a deadlock.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from tests.faults.subjects import (
    KEY,
    SMALL,
    known_descriptions,
    seen,
    seen_hitters,
    seen_levels,
    seen_windows,
)
from tests.hostile.calling_values import CARRIERS, N

import lazysketch as ls
from lazysketch.errors import LazySketchError

__all__ = ["LIVE", "results"]

_MOST_MOMENTS: Final = 400
_DAY: Final = datetime(2026, 1, 1, tzinfo=timezone.utc)
_TIMES: Final = [_DAY + timedelta(minutes=7 * number) for number in range(N)]
_ASKED: Final[dict[str, Any]] = {**SMALL, "key": KEY, "depth": 2, "width": 16, "max_weight": 3}


class InsideError(Exception):
    """What a value raises."""


@dataclass(frozen=True)
class Kind:
    """A live class, how its objects are made, read, fed and finished."""

    made: Callable[[Callable[[], None]], Any]
    seen: Callable[[Any], object]
    takes_times: bool = False

    def feed(self, live: Any, items: object, weights: object = None) -> None:
        more = {"times": _TIMES} if self.takes_times else {}
        live.update_many(items, weights, **more)

    def feed_one(self, live: Any) -> None:
        more = {"time": _TIMES[3]} if self.takes_times else {}
        live.update("b", 2, **more)

    def state(self, live: Any) -> list[str]:
        """Everything public, before and after the end."""
        found = []
        for step in (lambda: None, getattr(live, "finish", lambda: None)):
            try:
                step()
                found.append(repr(self.seen(live)))
            except LazySketchError as failure:
                found.append(repr(failure))
        return found


def _windows(**options: Any) -> Callable[[Callable[[], None]], Any]:
    return lambda _: ls.Windows(**{**_ASKED, "share": 0.2, "keep": 3, **options})


def _by_clock(called: Callable[[], None]) -> Any:
    def clock() -> float:
        called()
        return 70.0

    return ls.Windows(every="60s", slices=4, clock=clock, share=0.2, keep=3, **_ASKED)


def _levels(called: Callable[[], None]) -> Any:
    def level(item: object) -> tuple[str, str]:
        called()
        return str(item)[:1], str(item)

    levels = ls.Levels(("first", "all"), level)
    return ls.HierarchicalHeavyHitters(levels, share=0.2, discovery_epoch=40, **_ASKED)


LIVE: Final[dict[str, Kind]] = {
    "exact": Kind(lambda _: ls.CountMin(depth=2, width=16, hash_seed=3), lambda live: live.table),
    "private": Kind(lambda _: ls.LazyCountMin(**_ASKED), seen),
    "heavy hitters": Kind(
        lambda _: ls.HeavyHitters(share=0.2, discovery_epoch=40, **_ASKED), seen_hitters
    ),
    "hierarchy": Kind(_levels, seen_levels),
    "windows within one": Kind(_windows(every=60), seen_windows),
    "windows crossed": Kind(_windows(every=10), seen_windows),
    "windows by clock": Kind(_by_clock, seen_windows),
    "windows by time": Kind(
        _windows(every="1h", begin=_DAY, end=_DAY + timedelta(hours=3)),
        seen_windows,
        takes_times=True,
    ),
}


@dataclass
class Case:
    """One call during which a value acts once.

    Args:
        kind: of object.
        act: what the value does; True if it changed the object.
        at: how many times the value is called before it acts.
    """

    kind: Kind
    act: Callable[[Case], None]
    at: int = 0
    live: Any = None
    items: list[Any] = field(default_factory=lambda: [f"i{number % 5}" for number in range(N)])
    acted: bool = False
    nested: bool = False

    def called(self) -> None:
        """Act, once."""
        if self.live is None or self.acted:
            return
        if self.at:
            self.at -= 1
            return
        self.acted = True
        self.act(self)


def _changes(change: Callable[[Kind, Any], object]) -> Callable[[Case], None]:
    def act(case: Case) -> None:
        with suppress(LazySketchError):
            change(case.kind, case.live)
            case.nested = True

    return act


def _reads(case: Case) -> None:
    with suppress(LazySketchError):
        case.kind.seen(case.live)


def _raises(error: type[BaseException]) -> Callable[[Case], None]:
    def act(_: Case) -> None:
        raise error("inside")

    return act


_CHANGES: Final[dict[str, Callable[[Kind, Any], object]]] = {
    "update": lambda kind, live: kind.feed_one(live),
    "update_many": lambda kind, live: kind.feed(live, ["c", "d"] * (N // 2) + ["e"]),
    "tick": lambda _, live: live.tick(12),
    "finish": lambda _, live: live.finish(),
    "close": lambda _, live: live.close(),
}

ACTIONS: Final[dict[str, Callable[[Case], None]]] = {
    **{name: _changes(change) for name, change in _CHANGES.items()},
    "reads": _reads,
    "clears": lambda case: case.items.clear(),
    "appends": lambda case: case.items.extend(["new"] * 100),
    "raises": _raises(InsideError),
    "interrupts": _raises(KeyboardInterrupt),
    "lacks memory": _raises(MemoryError),
}


class _Garbage:
    """A cycle that calls when the collector finds it, and leaves another."""

    def __init__(self, case: Case) -> None:
        self.case, self.itself = case, self

    def __del__(self) -> None:
        case = self.case
        if not case.acted:
            _Garbage(case)
            with suppress(InsideError, KeyboardInterrupt, MemoryError):
                case.called()


def _collecting(case: Case, call: Callable[[], None]) -> None:
    """Call with garbage, and the youngest generation collected at every allocation."""
    threshold = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(1, 1 << 20, 1 << 20)
    _Garbage(case)
    try:
        call()
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()


def run(kind: Kind, carrier: str, action: str, *, at: int = 0) -> dict[str, object]:
    """Run one case, and compare the object with twins that were fed plainly."""
    case = Case(kind, ACTIONS[action], at=at)
    live = kind.made(case.called if carrier == "level or clock" else lambda: None)
    items, weights = CARRIERS[carrier](case)
    plain = [_DAY if isinstance(item, datetime) else str(item) for item in case.items]
    case.live = live

    def feed() -> None:
        kind.feed(live, items, weights)

    failed = ""
    try:
        if carrier == "__del__":
            _collecting(case, feed)
        else:
            feed()
    except LazySketchError as failure:
        failed = "an error with an item" if "i4" in str(failure) else "an error of ours"
    except MemoryError:
        failed = "MemoryError"
    except (InsideError, KeyboardInterrupt) as failure:
        failed = type(failure).__name__
    except BaseException as failure:
        failed = repr(failure)
    acted, case.acted = case.acted, True
    batches: list[list[Any] | None] = [None if failed else plain]
    if acted and not failed and action in {"clears", "appends"}:
        # Of a list that is cleared or grows meanwhile, what it had at the beginning or at the end.
        grown = [*plain, *["new"] * 100]
        batches = [grown[:length] for length in (*range(N + 1), N + 100)]
    found = kind.state(live)
    nested = action if case.nested else None
    whole = any(
        found == _twin(kind, steps)
        for batch in reversed(batches)
        for steps in _orders(batch, nested, either=carrier == "__del__")
    )
    return {
        "case": f"{carrier}: {action}, {at}",
        "acted": acted,
        "result": failed or "counted",
        "whole": whole,
    }


def _orders(batch: list[Any] | None, nested: str | None, *, either: bool) -> Iterator[list[Any]]:
    outer: list[Any] = [] if batch is None else [batch]
    inner: list[Any] = [] if nested is None else [nested]
    yield [*inner, *outer]
    if either:
        yield [*outer, *inner]


def _twin(kind: Kind, steps: list[Any]) -> list[str]:
    live = kind.made(lambda: None)
    for step in steps:
        try:
            if isinstance(step, str):
                _CHANGES[step](kind, live)
            else:
                kind.feed(live, step)
        except LazySketchError as failure:
            return [repr(failure)]
    return kind.state(live)


def results(name: str, *, every: int) -> Iterator[dict[str, object]]:
    """Run all cases of a class.

    Args:
        name: of the class in :data:`LIVE`.
        every: of the moments at which the collector can call, the distance of those that are tried.
    """
    kind = LIVE[name]
    distance = {"__del__": every, "__next__": 12}
    with known_descriptions():
        for carrier in CARRIERS:
            for action in ACTIONS:
                if name == "exact" and action in {"tick", "finish", "close"}:
                    continue  # it has none of these
                result = run(kind, carrier, action)
                yield result
                at = distance.get(carrier, 0)
                while result["acted"] and 0 < at <= _MOST_MOMENTS:
                    result = run(kind, carrier, action, at=at)
                    yield result
                    at += distance[carrier]


if __name__ == "__main__":
    for one in results(sys.argv[1], every=int(sys.argv[2])):
        sys.stdout.write(json.dumps(one) + "\n")
        sys.stdout.flush()
