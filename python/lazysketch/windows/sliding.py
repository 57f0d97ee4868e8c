"""Sliding windows of a stream: the last hour, at every minute."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from lazysketch.arguments import check_keywords, checked_integer, with_options
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec, HittersOptions, ShareOptions
from lazysketch.releases.items import Item
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.specification.table_spec import NoiseOptions, TableOptions, TableSpec
from lazysketch.windows.boundaries import checked_clock
from lazysketch.windows.by_slices import SlidingCut
from lazysketch.windows.cuts import Cut
from lazysketch.windows.durations import duration_of
from lazysketch.windows.live_windows import LiveWindows
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.published_slides import PublishedSlides
from lazysketch.windows.running_windows import MOST_KEPT
from lazysketch.windows.sliding_noise import LARGEST_BLOCK, best_block
from lazysketch.windows.window_tables import WindowMaker, WindowTables

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

__all__ = ["BLOCK", "Sliding"]

BLOCK: Final = "one block of slices"
_EXAMPLE: Final = 'Sliding(every="1min", span="1h", share=0.01, epsilon=1.0, delta=1e-8)'


@with_options(NoiseOptions, TableOptions, ShareOptions, defaults=(TableSpec, HeavyHittersSpec.of))
class Sliding(LiveWindows, PublishedSlides):
    """Sliding windows by a public clock: the last ``span``, at the end of every slice.

    The stream is cut into slices, and the slices into blocks, each of which is one private sketch.
    At the end of every slice a block publishes its counts so far. A window is the sum, over the
    blocks that it touches, of differences of two of these public tables, whose noise is known.

    Guarantee: everything ever published, of all windows together, satisfies (``epsilon``,
    ``delta``)-DP for one event (or ``max_events_per_user`` of them, in any slices), as
    :class:`Windows` state it: each event is counted in one block, and windows are post-processing.
    With ``person_bound`` it holds for all events of one person *within one block*. The times at
    which slices begin and end never depend on an event, and the number of events in a slice is not
    published.

    Args:
        every: length of a slice: a duration such as ``"1min"`` or a timedelta. An event counts when
            the slice in which it arrives has ended.
        span: length of a window: a duration that is a multiple of ``every``.
        keep: number of ended slices that are kept, at least those of a window; by default those of
            two windows, for :meth:`changes`. Each keeps a table of 8 bytes per cell.
        block: slices of a block, 1 to 480; by default the number with the least noise in the
            noisiest window. With 1 a window is a sum of slices.
        discovery_epoch: slices after which names are published; by default a sixth of a window, or
            a block if that is shorter. A name is found if it is heavy within that time.
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
        every: str | timedelta | None = None,
        span: str | timedelta | None = None,
        keep: int | None = None,
        block: int | None = None,
        discovery_epoch: int | None = None,
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
            clock=clock,
            domain=domain,
            **options,
        )

    def _make_slices(
        self,
        origin: Callable[[HeavyHittersSpec, Cut, int], tuple[WindowMaker[Any], Progress | None]],
        *,
        every: str | timedelta | None = None,
        span: str | timedelta | None = None,
        keep: int | None = None,
        block: int | None = None,
        discovery_epoch: int | None = None,
        clock: Callable[[], float] | None = None,
        domain: Iterable[Item] | None = None,
        **options: Unpack[HittersOptions],
    ) -> None:
        """Open slices with the tables and the progress of ``origin``."""
        for name, given in (("every", every), ("span", span)):
            if given is None:
                raise ArgumentTypeError(f"{name}: expected a length, as in {_EXAMPLE}, got none")
        self._every = duration_of("every", every)
        self._span = _slices_of(duration_of("span", span), every=self._every)
        self._block = (
            best_block(self._span)
            if block is None
            else checked_integer("block", block, most=LARGEST_BLOCK)
        )
        # Of a list of items nothing is discovered.
        epoch = min(self._block, max(self._span // 6, 1))
        if discovery_epoch is not None:
            if domain is not None:
                raise ArgumentTypeError("discovery_epoch: expected none with a domain, got one")
            epoch = checked_integer("discovery_epoch", discovery_epoch, most=self._block)
        chosen = time.time if clock is None else clock
        if not callable(chosen):
            raise ArgumentTypeError(f"clock: expected a function, got {type(chosen).__name__}")
        checked_clock(chosen())
        cut = SlidingCut(
            self._every, span=self._span, block=self._block, discovery_epoch=epoch, clock=chosen
        )
        kept = min(2 * self._span, MOST_KEPT) if keep is None else keep
        least = checked_integer("keep", kept, least=self._span, most=MOST_KEPT)
        self._make_cut(cut, origin, self._spec_of, keep=least, domain=domain, **options)

    def __repr__(self) -> str:
        state = "finished" if self._live.over else "open"
        total = f"epsilon={self.privacy.epsilon:g}, delta={self.privacy.delta:g} in total"
        reasons = "; ".join(self.not_private_because)
        mark = f", NOT PRIVATE: {reasons}" if reasons else ""
        kept = max(len(self._kept()) - 1, 0)
        return f"<Sliding {state}, {kept} slices ended, {self._span} in a window, {total}{mark}>"


def _slices_of(span: int, *, every: int) -> int:
    """Return the slices of a window."""
    number, rest = divmod(span, every)
    if rest or not 1 <= number <= MOST_KEPT:
        raise ArgumentValueError(
            f"span: expected 1 to {MOST_KEPT:,} times every, got {span / every:g} times"
        )
    return number
