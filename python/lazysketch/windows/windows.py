"""Windows of a stream: each has its own private table, and all can be queried together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lazysketch.arguments import check_keywords, with_options
from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec, HittersOptions, ShareOptions
from lazysketch.releases.items import Item
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.specification.table_spec import NoiseOptions, TableOptions, TableSpec
from lazysketch.windows.cuts import Cut, cut_of
from lazysketch.windows.live_windows import LiveWindows
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.published_windows import PublishedWindows
from lazysketch.windows.window_tables import WindowMaker, WindowTables

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

__all__ = ["Windows"]

Spec = TypeVar("Spec")

_KEEP: Final = 24
_EXAMPLE: Final = 'Windows(every="1h", share=0.01, epsilon=1.0, delta=1e-8)'


@with_options(NoiseOptions, TableOptions, ShareOptions, defaults=(TableSpec, HeavyHittersSpec.of))
class Windows(LiveWindows, PublishedWindows):
    """Tumbling windows of a stream, one private sketch each, with tops, counts and changes.

    Guarantee: everything ever published, of all windows together, satisfies (``epsilon``,
    ``delta``)-DP for one event (or ``max_events_per_user`` of them, in any windows). Under
    substitution the event may have any other item and, with windows of time, any other time; under
    zero-out the event may be missing. With ``person_bound`` it holds for all events of one person
    *within one window*: under substitution they may be those of another person, there or in another
    window, under zero-out they may be missing. The times at which windows begin and end never
    depend on an event, and the number of events in a slice of time is not published.

    Args:
        every: length of a window: a duration such as ``"1h"`` or a timedelta, or a number of steps.
        keep: number of ended windows that are kept, 24 by default; with ``begin`` and ``end`` all.
        begin: with ``end``, a public range, as ISO text or a datetime. Windows are then cut by the
            time of each event, all are open until :meth:`finish`, and events outside the range are
            not counted.
        end: the instant at which the range ends.
        slices: parts of a window by the clock, 1 to 960, 60 by default; the events of a slice are
            published when it ends. With 1 nothing of an open window is published, which has the
            least noise; windows of steps take 1 or None.
        clock: returns seconds since 1970, by default those of the machine's clock; it must not
            depend on events.
        domain: a public list of items, instead of ``share``; nothing is discovered then.
        key: master key; fresh when None. All windows have the same hash seed.

    Raises:
        ArgumentTypeError: a wrong type, a wrong name of an argument, or arguments that exclude each
            other.
        ArgumentValueError: a value outside its range.
        ItemError: an invalid item in the domain.

    Source: docs/windows.md; docs/theory.md, Theorem 12.

    Example:
        >>> windows = Windows(every=10_000, share=0.1, epsilon=1.0, delta=1e-6)
        >>> windows.update_many(["a"] * 6_000 + ["b"] * 4_000)
        >>> windows.update_many(["a"] * 7_000 + ["c"] * 3_000)
        >>> len(windows.windows), [hitter.item for hitter in windows.top(2, last=2)]
        (2, ['a', 'b'])
        >>> [change.item for change in windows.changes()]
        ['b', 'c', 'a']
    """

    def __init__(
        self,
        *positional: Never,
        every: str | timedelta | int | None = None,
        keep: int = _KEEP,
        begin: str | datetime | None = None,
        end: str | datetime | None = None,
        slices: int | None = None,
        clock: Callable[[], float] | None = None,
        domain: Iterable[Item] | None = None,
        key: Key | None = None,
        **options: Unpack[HittersOptions],
    ) -> None:
        """Choose the cut, and open the first window, or all windows of a range."""
        check_keywords(type(self), positional, options, HittersOptions, example=_EXAMPLE)
        one = key_or_fresh(key)
        self._make(
            lambda spec, _cut, _kept: (WindowTables(spec, key=one), None),
            self._spec_of,
            every=every,
            keep=keep,
            begin=begin,
            end=end,
            slices=slices,
            clock=clock,
            domain=domain,
            **options,
        )

    def _make(
        self,
        origin: Callable[[Spec, Cut, int], tuple[WindowMaker[Any], Progress | None]],
        described: Callable[..., Spec],
        *,
        every: str | timedelta | int | None = None,
        keep: int = _KEEP,
        begin: str | datetime | None = None,
        end: str | datetime | None = None,
        slices: int | None = None,
        clock: Callable[[], float] | None = None,
        domain: Iterable[Item] | None = None,
        **options: Unpack[HittersOptions],
    ) -> None:
        """Choose the cut, and open windows with the tables and the progress of ``origin``.

        ``described`` returns their description, which ``origin`` takes.
        """
        if every is None:
            raise ArgumentTypeError(f"every: expected a length, as in {_EXAMPLE}, got none")
        cut = cut_of(every, begin=begin, end=end, slices=slices, clock=clock)
        self._make_cut(cut, origin, described, keep=keep, domain=domain, **options)

    def __repr__(self) -> str:
        state = "finished" if self._live.over else "open"
        total = f"epsilon={self.privacy.epsilon:g}, delta={self.privacy.delta:g} in total"
        reasons = "; ".join(self.not_private_because)
        mark = f", NOT PRIVATE: {reasons}" if reasons else ""
        return f"<Windows {state}, {len(self._kept())} ended, {total}{mark}>"
