"""Small live objects with fixed keys, and what can be read of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final

import pytest
from tests.faults.callbacks import Clock
from tests.faults.campaign import Operation

import lazysketch as ls
from lazysketch.heavy_hitters import hierarchical, level_tables
from lazysketch.testing import seeded_key

__all__ = [
    "ITEMS",
    "KEY",
    "SMALL",
    "WEIGHTS",
    "Family",
    "Subject",
    "known_descriptions",
    "seen",
    "seen_hitters",
    "seen_levels",
    "seen_windows",
]

KEY: Final = seeded_key(5)
ITEMS: Final = ["a"] * 30 + ["b"] * 20 + list(range(10))
WEIGHTS: Final = [1, 2, 3] * 20
SMALL: Final[dict[str, Any]] = {"epsilon": 8.0, "delta": 1e-6, "hash_seed": 3}
_CALLBACKS: Final = (Clock.__module__,)


@contextmanager
def known_descriptions() -> Iterator[None]:
    """Compute the description of equal arguments once; the calibration takes most of the time."""
    known: dict[str, Any] = {}

    def remembering(compute: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(compute)  # classes that are loaded later read its signature
        def compute_once(*args: Any, **kwargs: Any) -> Any:
            name = repr((compute, args, kwargs))
            if name not in known:
                known[name] = compute(*args, **kwargs)
            return known[name]

        return compute_once

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ls.HeavyHittersSpec, "of", remembering(ls.HeavyHittersSpec.of))
        specs = remembering(level_tables.specs_of_levels)
        patch.setattr(hierarchical, "specs_of_levels", specs)
        yield


@dataclass
class Subject:
    """An object under test, its clock, and what a call made."""

    live: Any = None
    clock: Clock = field(default_factory=Clock)


@dataclass(frozen=True)
class Family:
    """A class, how its objects are made, read and used.

    Args:
        name: of the class and its variant.
        made: returns a new object; it takes a clock.
        begin: first events, before the operation.
        observe: everything public.
        proceed: updates after the operation.
        instead: as in :class:`Operation`.
    """

    name: str
    made: Callable[[Clock], Any]
    begin: Callable[[Subject], object]
    observe: Callable[[Any], object]
    proceed: Callable[[Subject], object]
    instead: type[Exception] | None = None

    def operation(self, name: str, call: Callable[[Subject], object], **options: Any) -> Operation:
        return Operation(
            family=self.name,
            name=name,
            make=self.make,
            call=call,
            observe=lambda subject: None if subject.live is None else self.observe(subject.live),
            proceed=self.go_on,
            callbacks=_CALLBACKS,
            instead=self.instead,
            **options,
        )

    def make(self) -> Subject:
        subject = Subject()
        subject.live = self.made(subject.clock)
        self.begin(subject)
        return subject

    def go_on(self, subject: Subject) -> object:
        return None if subject.live is None else self.proceed(subject)

    def construction(self) -> Operation:
        def construct(subject: Subject) -> None:
            subject.live = self.made(subject.clock)

        return Operation(
            family=self.name,
            name="construction",
            make=Subject,
            call=construct,
            observe=lambda subject: None if subject.live is None else self.observe(subject.live),
            proceed=self.go_on,
            callbacks=_CALLBACKS,
        )

    def block(self) -> Operation:
        """A ``with`` block; after an interrupt within it, only its ``close`` may have run."""

        def within(subject: Subject) -> None:
            with subject.live as live:
                live.update_many(ITEMS[:9])

        def counted(subject: Subject) -> None:
            subject.live.update_many(ITEMS[:9])

        def closed(subject: Subject) -> None:
            subject.live.close()

        return self.operation("with block", within, partial=(counted, closed), repeatable=False)


def seen(live: Any) -> object:
    """Return the public state of a sketch or of counters."""
    steps = live.steps if isinstance(live, ls.ContinualCounters) else live.step
    release = live.release()  # that of an exact sketch has a fresh id
    exact = isinstance(live, ls.CountMin | ls.CountSketch)
    return steps, release.table.tobytes() if exact else release.to_bytes()


def seen_hitters(live: Any) -> object:
    return live.step, live.candidates, live.release().to_bytes()


def seen_levels(live: Any) -> object:
    return live.step, [seen_hitters(live.level(at)) for at in range(len(live.levels.names))]


def seen_windows(live: Any) -> object:
    windows = [*live.windows, live.open]
    return live_step(live), [
        window
        and (
            window.number,
            window.begin,
            window.end,
            window.ended,
            window.whole,
            window.names,
            window.release.to_bytes(),
        )
        for window in windows
    ]


def live_step(windows: Any) -> object:
    """Return the steps of windows; None for versions that do not tell."""
    return getattr(windows, "step", None)
