"""Windows of a stream at every level of a hierarchy, such as heavy networks in each hour."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from lazysketch.arguments import check_keywords, checked_integer, with_options
from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters import HierarchyNode, Levels, LevelsPrivacy
from lazysketch.heavy_hitters.hitters_spec import (
    DEPTH,
    HeavyHittersSpec,
    LevelsOptions,
    ShareOptions,
)
from lazysketch.heavy_hitters.level_tables import specs_of_levels
from lazysketch.privacy.person_bound import PersonBound
from lazysketch.releases.items import Item
from lazysketch.sketches.keys import Key, key_or_fresh
from lazysketch.specification.table_spec import NoiseOptions, TableSpec
from lazysketch.windows.cuts import ClockCut, Cut
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.published_hierarchy import WindowsOfLevel, hierarchy_of
from lazysketch.windows.window_levels import LevelsSpec, WindowLevels
from lazysketch.windows.window_tables import WindowMaker
from lazysketch.windows.windows import Windows

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

__all__ = ["HierarchicalWindows"]

_KEEP: Final = 24
_EXAMPLE: Final = (
    'HierarchicalWindows(ipv4_prefixes(), every="1h", share=0.01, epsilon=1.0, delta=1e-8)'
)


@with_options(NoiseOptions, ShareOptions, defaults=(TableSpec, HeavyHittersSpec.of))
class HierarchicalWindows(Windows):
    """Tumbling windows of a public clock, each with a private sketch per level of a hierarchy.

    Every event is counted in one window, at all of its levels. Queries that :class:`Windows` have
    are those of the finest level; :meth:`level` has them for any, and :meth:`hierarchy` returns the
    tree.

    Guarantee: everything ever published, of all levels and windows together, satisfies
    (``epsilon``, ``delta``)-DP for one event (or ``max_events_per_user`` of them, in any windows),
    as :class:`Windows` state it. With ``person_bound`` it holds for all events of one person
    *within one window*. The sketches of all levels compose as one Gaussian mechanism; the privacy
    parameters of their discoveries add up.

    Args:
        levels: the hierarchy, for example the result of :func:`ipv4_prefixes`.
        every: length of a window: a duration such as ``"1h"`` or a timedelta.
        keep: number of ended windows that are kept, 24 by default.
        slices: parts of a window, 1 to 960, 60 by default, as for :class:`Windows`.
        clock: returns seconds since 1970, by default those of the machine's clock; it must not
            depend on events.
        level_weights: one number above 0 per level; equal when None. A level of weight w gets
            noise proportional to 1/sqrt(w), and a threshold of about 1/w.
        person_bound: what is counted of each person in a window: a :class:`PersonBound` for all
            levels, or a list of one per level. An event counts at all levels or at none.
        key: master key; fresh when None. A level has the same hash seed in all windows, which is
            ``hash_seed`` plus its number modulo 2^64.

    Raises:
        ArgumentTypeError: a wrong type, a wrong name of an argument, or windows of steps.
        ArgumentValueError: a value outside its range.

    Source: docs/windows.md; docs/theory.md, Theorem 12 (f).

    Example:
        >>> from lazysketch.heavy_hitters import ipv4_prefixes
        >>> seconds = [0.0]
        >>> networks = HierarchicalWindows(
        ...     ipv4_prefixes((8, 32)), every="1h", share=0.1, epsilon=4.0, delta=1e-6,
        ...     clock=lambda: seconds[0],
        ... )
        >>> networks.update_many([f"10.0.{i % 200}.{i % 50}" for i in range(8_000)])
        >>> seconds[0] = 3_600.0
        >>> [root.item for root in networks.hierarchy()]
        ['10.0.0.0/8']
    """

    def __init__(
        self,
        levels: Levels | None = None,
        *positional: Never,
        every: str | timedelta | None = None,
        keep: int = _KEEP,
        slices: int | None = None,
        clock: Callable[[], float] | None = None,
        level_weights: Sequence[float] | None = None,
        person_bound: PersonBound | Sequence[PersonBound] | None = None,
        key: Key | None = None,
        **options: Unpack[LevelsOptions],
    ) -> None:
        """Split privacy and memory among the levels, and open the first window."""
        check_keywords(type(self), positional, options, LevelsOptions, example=_EXAMPLE)
        one = key_or_fresh(key)
        self._make_levels(
            levels,
            lambda spec, _cut, _kept: (WindowLevels(spec, key=one), None),
            every=every,
            keep=keep,
            slices=slices,
            clock=clock,
            level_weights=level_weights,
            person_bound=person_bound,
            **options,
        )

    def _make_levels(
        self,
        levels: object,
        origin: Callable[[LevelsSpec, Cut, int], tuple[WindowMaker[Any], Progress | None]],
        *,
        level_weights: Sequence[float] | None = None,
        person_bound: PersonBound | Sequence[PersonBound] | None = None,
        **options: Any,
    ) -> None:
        """Open windows whose tables and progress are those of ``origin``."""
        if not isinstance(levels, Levels):
            got = "none" if levels is None else type(levels).__name__
            raise ArgumentTypeError(f"levels: expected Levels, as in {_EXAMPLE}, got {got}")
        self._hierarchy = levels

        def described(cut: Cut, _: Iterable[Item] | None, chosen: Any) -> LevelsSpec:
            if not isinstance(cut, ClockCut):
                raise ArgumentTypeError(
                    f"every: expected a duration, as in {_EXAMPLE}, got windows of steps or a range"
                )
            spec = _described(
                levels, cut, level_weights=level_weights, person_bound=person_bound, **chosen
            )
            self._share = spec.tables[0].share
            return spec

        self._make(origin, described, **options)

    @property
    def levels(self) -> Levels:
        """The hierarchy, as given."""
        return self._hierarchy

    def level(self, level: int) -> WindowsOfLevel:
        """Return the published windows of one level, as they stand now, with their queries.

        Args:
            level: its number, from 0, the coarsest; -1 is the finest.

        Returns:
            Windows that do not change any more.

        Raises:
            ArgumentTypeError: not an integer.
            ArgumentValueError: no such level.
        """
        number = len(self._hierarchy.names)
        place = checked_integer("level", level, least=-number, most=number - 1)
        return WindowsOfLevel(
            self.windows,
            self.open,
            place,
            privacy=self.privacy.levels[place],
            not_private_because=self.not_private_because,
        )

    def hierarchy(
        self,
        share: float | None = None,
        last: int = 1,
        *,
        confidence: float = 0.95,
        include_open: bool = False,
    ) -> tuple[HierarchyNode, ...]:
        """Return the tree of what is heavy in the last windows, at any level, and above it.

        Guarantee: post-processing of published names and counts. A name that was not published
        appears only where a published one implies it.

        Args:
            share: above 0 and at most 1; by default that of the construction.
            last: number of windows; fewer if fewer are kept.
            confidence: for all intervals of a level together, above 0 and below 1.
            include_open: True to include the published part of the open window.

        Returns:
            The roots, by falling estimate; none while no window has ended.

        Raises:
            ArgumentTypeError: a wrong type.
            ArgumentValueError: a value outside its range, or levels that do not take the names
                they make.
        """
        return hierarchy_of(
            self._hierarchy,
            self.windows,
            self.open,
            share=self._share if share is None else share,
            last=last,
            confidence=confidence,
            include_open=include_open,
        )

    @property
    def privacy(self) -> LevelsPrivacy:  # type: ignore[override]
        """The guarantee of all levels of all windows together: that of one window."""
        return cast("LevelsPrivacy", self._privacy)

    def __repr__(self) -> str:
        names = ", ".join(self._hierarchy.names)
        return super().__repr__().replace("<Windows ", f"<HierarchicalWindows levels={names}, ", 1)

    def _counted(self, items: object) -> object:
        return self._hierarchy._columns(items)


def _described(
    levels: Levels,
    cut: Cut,
    *,
    memory: int,
    depth: int = DEPTH,
    width: int | None = None,
    **options: Any,
) -> LevelsSpec:
    """Return the description of the tables of a window."""
    number = len(levels.names)
    cut.check_moves(options.get("mechanism"))
    whole, tables = specs_of_levels(
        number,
        cut.schedule,
        kind="count-min",
        discovery_epoch=cut.steps,
        memory=cut.memory_of_window(memory, depth=depth, width=width, levels=number),
        depth=depth,
        width=cut.width if width is None else width,
        **options,
    )
    return LevelsSpec(levels, whole, tuple(tables))
