"""Windows of a state: what the first run defines of them, and the objects that go on.

A window is one table under an id of its own, whose noise follows from the key of the state. What
the clock said is in the log, so that no run ends a window that another has ended: a window is
published once, and read again it has the same noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazysketch.cli.run.state_definition import (
    DISCOVERED,
    LISTED,
    OF_DISCOVERY,
    OF_WINDOWS,
    OPTIONS_OF,
    restored_option,
)
from lazysketch.cli.run.state_objects import OBJECT, counted_by, pinned_options, values_of
from lazysketch.cli.run.windowed_statistic import WindowedSettings
from lazysketch.cli.run.windows import WindowSettings
from lazysketch.errors import ArgumentTypeError
from lazysketch.store.stored_sliding import StoredSliding
from lazysketch.store.stored_windows import StoredWindows
from lazysketch.windows.cuts import cut_of
from lazysketch.windows.sliding_cuts import slices_cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lazysketch.cli.run.state_counting import StoredStatisticWindows, StoredWindowed
    from lazysketch.cli.run.state_objects import ObjectsOfState
    from lazysketch.cli.settings import DiscoverySettings, InputSettings, SketchSettings
    from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec, HittersOptions
    from lazysketch.releases.items import Item
    from lazysketch.windows.cuts import Cut
    from lazysketch.windows.statistic_windows import CutOptions

__all__ = ["kept_windows", "sliding_of_items", "windows_of_items", "windows_of_statistic"]


def windows_of_items(
    state: ObjectsOfState,
    windows: WindowSettings,
    sketch: SketchSettings,
    discovery: DiscoverySettings,
    reading: InputSettings,
    *,
    domain: Sequence[str] | Sequence[int] | None,
    options: HittersOptions,
) -> StoredWindows:
    """Return windows of items, new or as they were left.

    Args:
        state: Keeps them.
        windows: How the stream is cut.
        sketch: The options of a sketch.
        discovery: Those of discovery.
        reading: How the inputs are read.
        domain: The public list; None to discover items.
        options: The arguments of the library that follow from these options.

    Raises:
        ArgumentTypeError: Options that exclude each other.
        ArgumentValueError: A value outside its range.
        StoreError: Windows that were made with other parameters.
    """
    cut = windows.cut(at_end=sketch.at_end)
    if state.definition is None:
        spec = StoredWindows._spec_of(_cut(cut), domain, {**options})
        _define(state, spec, windows, sketch, discovery, reading)
    return _items(state, cut, domain, options)


def sliding_of_items(
    state: ObjectsOfState,
    windows: WindowSettings,
    sketch: SketchSettings,
    discovery: DiscoverySettings,
    reading: InputSettings,
    *,
    domain: Sequence[Item] | None,
    options: HittersOptions,
) -> StoredSliding:
    """Return sliding windows of items, new or as they were left.

    Args:
        state: Keeps them.
        windows: How the stream is cut.
        sketch: The options of a sketch.
        discovery: Those of discovery.
        reading: How the inputs are read.
        domain: The public list; None to discover items.
        options: The arguments of the library that follow from these options.

    Raises:
        ArgumentTypeError: Options that exclude each other.
        ArgumentValueError: A value outside its range.
        StoreError: Windows that were made with other parameters.
    """
    if windows.by_time:  # the slices of a range are exact counts, which no state has
        raise ArgumentTypeError("--span: expected no --from and --to with --state, got a range")
    if state.definition is None:
        assert windows.length is not None, "callers have both"  # noqa: S101
        assert windows.span is not None, "callers have both"  # noqa: S101
        cut = slices_cut(
            windows.length,
            windows.span,
            block=None,
            discovery_epoch=None,
            begin=None,
            end=None,
            clock=None,
            listed=domain is not None,
        ).cut
        spec = StoredSliding._spec_of(cut, domain, {**options})
        _define(state, spec, windows, sketch, discovery, reading)
    return _slides(state, windows, domain, options)


def windows_of_statistic(
    state: ObjectsOfState,
    windows: WindowSettings,
    settings: WindowedSettings,
    reading: InputSettings,
) -> StoredStatisticWindows:
    """Return windows of a statistic, new or as they were left.

    Args:
        state: Keeps them.
        windows: How the stream is cut.
        settings: What is counted.
        reading: How the inputs are read.

    Raises:
        ArgumentTypeError: Options that exclude each other.
        ArgumentValueError: A value outside its range.
        StoreError: Windows that were made with other parameters.
    """
    cut, counted = windows.cut(at_end=settings.at_end), counted_by(settings)
    options = values_of(settings, OPTIONS_OF[counted]) | values_of(windows, OF_WINDOWS)
    state.define(_cut(cut).every_step, counted, options, reading)
    return _statistic(state, cut, settings)


def kept_windows(state: ObjectsOfState) -> StoredWindowed:
    """Return the windows of a state as they were left.

    Args:
        state: Keeps them.
    """
    definition = state.definition
    assert definition is not None, "asked for only after the first run"  # noqa: S101
    names: dict[str, Any] = {name: definition.options[name] for name in ("keep", "begin", "end")}
    names["span"] = restored_option(definition.options["span"], "span")
    windows = WindowSettings(length=definition.length, changes=False, **names)
    if definition.counted not in (LISTED, DISCOVERED):
        statistic = state.settings_of_statistic()
        assert isinstance(statistic, WindowedSettings), "no others have"  # noqa: S101
        return _statistic(state, windows.cut(at_end=statistic.at_end), statistic)
    sketch, discovery = state.settings_of_items()
    options = sketch.hitters_options(discovery, max_weight=state.max_weight)
    domain = None
    if definition.counted == LISTED:  # the list is in no state, and no name of it is asked for
        options["share"], domain = None, [""]
    if windows.span is not None:
        return _slides(state, windows, domain, options)
    return _items(state, windows.cut(at_end=sketch.at_end), domain, options)


def _define(
    state: ObjectsOfState,
    spec: HeavyHittersSpec,
    windows: WindowSettings,
    sketch: SketchSettings,
    discovery: DiscoverySettings,
    reading: InputSettings,
) -> None:
    """Keep what the first run defines of windows of items."""
    pinned = pinned_options(sketch, spec.table) | values_of(windows, OF_WINDOWS)
    counted = DISCOVERED if spec.discovery is not None else LISTED
    if counted == DISCOVERED:
        pinned |= values_of(discovery, OF_DISCOVERY)
    state.define(spec.table.schedule, counted, pinned, reading)


def _slides(
    state: ObjectsOfState,
    windows: WindowSettings,
    domain: Sequence[Item] | None,
    options: HittersOptions,
) -> StoredSliding:
    every, span = windows.length, windows.span
    return state.made(
        lambda: state.store.sliding(OBJECT, every=every, span=span, domain=domain, **options)
    )


def _items(
    state: ObjectsOfState,
    cut: CutOptions,
    domain: Sequence[str] | Sequence[int] | None,
    options: HittersOptions,
) -> StoredWindows:
    return state.made(lambda: state.store.windows(OBJECT, **cut, domain=domain, **options))


def _statistic(
    state: ObjectsOfState, cut: CutOptions, settings: WindowedSettings
) -> StoredStatisticWindows:
    return state.made(lambda: settings.kept_windows(state.store, OBJECT, **cut))


def _cut(options: CutOptions) -> Cut:
    """Return the cut that these options give."""
    every = options["every"]
    assert every is not None, "callers have windows"  # noqa: S101
    return cut_of(
        every,
        begin=options["begin"],
        end=options["end"],
        slices=options["slices"],
        clock=None,
    )
