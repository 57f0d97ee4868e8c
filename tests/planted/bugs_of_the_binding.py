"""Planted bugs of the binding: each is a ``planted!`` in ``rust/binding/src``."""

from __future__ import annotations

from typing import Final

from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_THE_BINDING"]

_OF_LEVELS: Final = "tests/unit/heavy_hitters/test_single_events.py::"
_OF_WINDOWS: Final = "tests/unit/windows/test_single_events.py::"

BUGS_OF_THE_BINDING: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="levels-count-while-their-lock-is-held",
        subject="schedule",
        claim="A single event of a hierarchy comes between two calls of one change.",
        caught_by=_OF_LEVELS + "test_an_event_waits_for_the_thread_that_holds_the_levels",
    ),
    PlantedBug(
        name="windows-count-while-their-lock-is-held",
        subject="schedule",
        claim="A single event of windows comes before the thread that opened their table is done.",
        caught_by=_OF_WINDOWS + "test_an_event_waits_for_the_thread_that_holds_the_windows",
    ),
    PlantedBug(
        name="windows-stay-open-when-their-lock-is-taken",
        subject="schedule",
        claim="Single events are counted in the window that was open before another change.",
        caught_by=_OF_WINDOWS + "test_every_other_call_makes_a_single_event_take_the_lock[tick]",
    ),
    PlantedBug(
        name="windows-convert-any-item-before-they-look-at-their-lock",
        subject="schedule",
        claim="An item whose methods are Python code may change the windows that count it.",
        caught_by=_OF_WINDOWS + "test_an_item_that_calls_its_windows_is_refused",
    ),
)
