"""Base of live windows of items: how events come in.

What is public of them is queried through the class of windows: tumbling ones, or sliding ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lazysketch import _native
from lazysketch.arguments import checked_integer
from lazysketch.heavy_hitters.hitters_spec import (
    DEPTH,
    HeavyHittersSpec,
    HittersOptions,
    checked_memory,
)
from lazysketch.releases.items import Item
from lazysketch.sketches.live_state import exclusive
from lazysketch.windows.cuts import Cut
from lazysketch.windows.durations import instant_of
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.running_windows import MOST_KEPT, RunningWindows
from lazysketch.windows.window import Window
from lazysketch.windows.window_tables import WindowMaker

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["LiveWindows"]

Spec = TypeVar("Spec")

_MEMORY: Final = 256 << 20


class LiveWindows(_native.EventsOfWindows, RunningWindows[Window]):
    """Windows that take events."""

    def _make_cut(
        self,
        cut: Cut,
        origin: Callable[[Spec, Cut, int], tuple[WindowMaker[Any], Progress | None]],
        described: Callable[..., Spec],
        *,
        keep: int,
        domain: Iterable[Item] | None,
        **options: Unpack[HittersOptions],
    ) -> None:
        """Open windows of a cut with the tables and the progress of ``origin``.

        ``described`` returns their description, which ``origin`` takes.
        """
        kept = checked_integer("keep", keep, most=MOST_KEPT)
        options["memory"] = checked_memory(options.get("memory"), default=_MEMORY)
        tables, since = origin(described(cut, domain, options), cut, kept)
        self._run(cut, tables, since, kept)

    def _made_lock(self) -> _native.NestingLock:
        """Return the lock, by which the core counts single events."""
        lock = super()._made_lock()
        self._count_by(lock)
        return lock

    @staticmethod
    def _spec_of(
        cut: Cut, domain: Iterable[Item] | None, options: HittersOptions
    ) -> HeavyHittersSpec:
        """Return the description of the table of a window."""
        options["memory"] = cut.memory_of_window(
            options["memory"] or 0, depth=options.get("depth", DEPTH), width=options.get("width")
        )
        if options.get("width") is None:
            options["width"] = cut.width
        cut.check_moves(options.get("mechanism"))
        return HeavyHittersSpec.of(
            schedule=cut.schedule,
            domain=domain,
            discovery_epoch=None if domain is not None else cut.discovery_epoch,
            **options,
        )

    def _update(self, item: Item, weight: int, time: datetime | None, user: Item | None) -> None:
        """Count one event that the core leaves to Python, or say what is wrong with it."""
        if time is None and self._add_one(item, weight, user):
            return
        times = None if time is None else [instant_of("time", time)]
        self.update_many(
            [item],
            None if type(weight) is int and weight == 1 else [weight],
            times=times,
            user=None if user is None else [user],
        )

    @exclusive
    def update_many(
        self,
        items: object,
        weights: object = None,
        *,
        times: object = None,
        user: object = None,
    ) -> None:
        """Count many events, each in one window.

        Guarantee: the whole batch is checked before the first event is applied. After an exception
        the batch is counted completely or not at all. With windows of steps, :attr:`step` tells
        which. With windows of time nothing tells: an error means that nothing was counted, and a
        KeyboardInterrupt may also come afterwards, so do not repeat that call: an event that is
        counted twice is two events.

        Args:
            items: a column of Arrow or of a data frame, a numpy array or an iterable of items.
            weights: one integer per item, or None for weight 1.
            times: for windows of a range, as many timestamps, or integers in nanoseconds since
                1970 UTC. Events whose time is null, NaT or the smallest int64 are in no window.
            user: the person of each event, one item per item; required if people are bounded. Each
                window bounds what it counts of a person, whatever the others have counted.

        Raises:
            ItemError: an invalid item or a null; the message gives its position.
            ArgumentTypeError: a wrong type, missing times, or times or people that these windows do
                not take.
            ArgumentValueError: weights outside their range; a wrong number of weights, times or
                people; no people where they are bounded.
            ClosedError: after ``finish()`` or ``close()``.
            LiveStateError: called in a forked child process.
        """
        self._opened().add(self._counted(items), weights, times, user)

    def _counted(self, items: object) -> object:
        """Return what the tables count of items."""
        return items
