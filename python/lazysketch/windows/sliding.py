"""Sliding windows of a stream: the last hour, at every minute."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from lazysketch.arguments import check_keywords, checked_integer, with_options
from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec, HittersOptions, ShareOptions
from lazysketch.releases.items import Item
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.specification.table_spec import NoiseOptions, TableOptions, TableSpec
from lazysketch.windows.cuts import Cut
from lazysketch.windows.live_windows import LiveWindows
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.published_slides import PublishedSlides
from lazysketch.windows.running_windows import MOST_KEPT
from lazysketch.windows.sliding_cuts import slices_cut
from lazysketch.windows.window_tables import WindowMaker, WindowTables

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

__all__ = ["BLOCK", "Sliding"]

BLOCK: Final = "one block of slices"
_EXAMPLE: Final = 'Sliding(every="1min", span="1h", share=0.01, epsilon=1.0, delta=1e-8)'


@with_options(NoiseOptions, TableOptions, ShareOptions, defaults=(TableSpec, HeavyHittersSpec.of))
class Sliding(LiveWindows, PublishedSlides):
    """Sliding windows of a stream: the last ``span``, at the end of every slice.

    The stream is cut into slices, and the slices into blocks, each of which is one private sketch.
    At the end of every slice a block publishes its counts so far. A window is the sum, over the
    blocks that it touches, of differences of two of these public tables, whose noise is known.

    Guarantee: everything ever published, of all windows together, satisfies (``epsilon``,
    ``delta``)-DP for one event (or ``max_events_per_user`` of them, in any slices), as
    :class:`Windows` state it: each event is counted in one block, and windows are post-processing.
    Under substitution the event may have any other item and, with slices of time, any other time:
    it changes two slices then, of one block or of two. With ``person_bound`` it holds for all
    events of one person *within one block*. The times at which slices begin and end never depend on
    an event, and the number of events in a slice of time is not published.

    Args:
        every: length of a slice: a duration such as ``"1min"`` or a timedelta, or a number of
            steps. An event counts when the slice in which it arrives has ended.
        span: length of a window: a duration, or a number of steps, that is a multiple of ``every``.
        keep: number of ended slices that are kept, at least those of a window; by default those of
            two windows, for :meth:`changes`; with ``begin`` and ``end`` all. Each keeps a table of
            8 bytes per cell.
        block: slices of a block, 1 to 480; by default the number with the least noise in the
            noisiest window. With 1 a window is a sum of slices.
        discovery_epoch: slices after which names are published; by default a sixth of a window, or
            a block if that is shorter. A name is found if it is heavy within that time.
        begin: with ``end``, a public range, as ISO text or a datetime. Slices are then cut by the
            time of each event, all are open until :meth:`finish`, and events outside the range are
            not counted. Until then each slice with events has exact counts of its own, of 8 bytes
            per cell, which ``memory`` bounds together with all else that is open.
        end: the instant at which the range ends.
        clock: returns seconds since 1970, by default those of the machine's clock; it must not
            depend on events.
        domain: a public list of items, instead of ``share``; nothing is discovered then.
        key: master key; fresh when None. All blocks have the same hash seed.

    Raises:
        ArgumentTypeError: a wrong type, a wrong name of an argument, or arguments that exclude each
            other.
        ArgumentValueError: a value outside its range.
        ItemError: an invalid item in the domain.

    Source: docs/windows.md; docs/theory.md, Theorem 12b.

    Example:
        >>> seconds = [0.0]
        >>> hour = Sliding(
        ...     every="1min", span="1h", domain=["a", "b"], epsilon=1.0, delta=1e-6,
        ...     clock=lambda: seconds[0],
        ... )
        >>> for minute in range(90):
        ...     seconds[0] = 60.0 * minute
        ...     hour.update_many(["a"] * 100 + ["b"] * (50 if minute < 45 else 500))
        >>> seconds[0] = 60.0 * 90
        >>> [round(hitter.estimate, -3) for hitter in hour.top(2)]  # of 'b' and of 'a'
        [23000.0, 6000.0]
        >>> hour.window().begin.isoformat(), hour.slices, hour.block
        ('1970-01-01T00:30:00+00:00', 90, 60)
    """

    def __init__(
        self,
        *positional: Never,
        every: str | timedelta | int | None = None,
        span: str | timedelta | int | None = None,
        keep: int | None = None,
        block: int | None = None,
        discovery_epoch: int | None = None,
        begin: str | datetime | None = None,
        end: str | datetime | None = None,
        clock: Callable[[], float] | None = None,
        domain: Iterable[Item] | None = None,
        key: Key | None = None,
        **options: Unpack[HittersOptions],
    ) -> None:
        """Choose the blocks, and open the first slice."""
        check_keywords(type(self), positional, options, HittersOptions, example=_EXAMPLE)
        one = key_or_fresh(key)
        self._make_slices(
            lambda spec, _cut, _kept: (WindowTables(spec, key=one, place=BLOCK), None),
            every=every,
            span=span,
            keep=keep,
            block=block,
            discovery_epoch=discovery_epoch,
            begin=begin,
            end=end,
            clock=clock,
            domain=domain,
            **options,
        )

    def _make_slices(
        self,
        origin: Callable[[HeavyHittersSpec, Cut, int], tuple[WindowMaker[Any], Progress | None]],
        *,
        every: str | timedelta | int | None = None,
        span: str | timedelta | int | None = None,
        keep: int | None = None,
        block: int | None = None,
        discovery_epoch: int | None = None,
        begin: str | datetime | None = None,
        end: str | datetime | None = None,
        clock: Callable[[], float] | None = None,
        domain: Iterable[Item] | None = None,
        **options: Unpack[HittersOptions],
    ) -> None:
        """Open slices with the tables and the progress of ``origin``."""
        for name, given in (("every", every), ("span", span)):
            if given is None:
                raise ArgumentTypeError(f"{name}: expected a length, as in {_EXAMPLE}, got none")
        chosen = slices_cut(
            every,  # type: ignore[arg-type]  # not None
            span,  # type: ignore[arg-type]
            block=block,
            discovery_epoch=discovery_epoch,
            begin=begin,
            end=end,
            clock=clock,
            listed=domain is not None,
        )
        self._every, self._span, self._block = chosen.every, chosen.span, chosen.block
        kept = min(2 * self._span, MOST_KEPT) if keep is None else keep
        least = checked_integer("keep", kept, least=self._span, most=MOST_KEPT)
        self._make_cut(chosen.cut, origin, self._spec_of, keep=least, domain=domain, **options)

    def __repr__(self) -> str:
        state = "finished" if self._live.over else "open"
        total = f"epsilon={self.privacy.epsilon:g}, delta={self.privacy.delta:g} in total"
        reasons = "; ".join(self.not_private_because)
        mark = f", NOT PRIVATE: {reasons}" if reasons else ""
        kept = max(len(self._kept()) - 1, 0)
        return f"<Sliding {state}, {kept} slices ended, {self._span} in a window, {total}{mark}>"
