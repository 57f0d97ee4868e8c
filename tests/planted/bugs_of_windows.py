"""Wrong windows of time, and noise that two streams share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import pytest
from tests.planted.edits import edited, together
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_KEYS", "BUGS_OF_WINDOWS"]

_BY_CLOCK: Final = "lazysketch.windows.by_clock:ByClock"
_BY_STEPS: Final = "lazysketch.windows.by_steps:BySteps"
_BY_TIME: Final = "lazysketch.windows.by_time:ByTime"
_TABLES: Final = "lazysketch.windows.window_tables"
_BOUNDARIES: Final = "lazysketch.windows.boundaries"
_KEYS: Final = "lazysketch.sketches.keys"
_FIXED_ID: Final = '__import__("lazysketch.testing").testing.fixed_id'


def _without_fork_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop the hook of the package; the package must not be imported yet."""
    register = os.register_at_fork

    def registered(**hooks: Callable[[], object]) -> None:
        names = {getattr(hook, "__name__", "") for hook in hooks.values()}
        if "_after_fork_in_child" not in names:
            register(**hooks)

    monkeypatch.setattr(os, "register_at_fork", registered)


_LEVELS: Final = "lazysketch.windows.window_levels"
_HIERARCHIES: Final = "tests/unit/windows/test_hierarchical_windows.py::"


BUGS_OF_WINDOWS: Final = (
    PlantedBug(
        name="levels-of-a-window-share-an-id",
        subject="reuse of draws",
        claim="All levels of a window of a store have one id.",
        caught_by="tests/unit/store/test_levels_of_windows.py::"
        "test_levels_of_windows_have_ids_of_their_own",
        patch=edited(
            "lazysketch.store.stored_objects:number_of_table",
            ("window * MOST_LEVELS + level", "window * MOST_LEVELS"),
        ),
    ),
    PlantedBug(
        name="windows-of-a-hierarchy-share-ids",
        subject="reuse of draws",
        claim="A level has the id that it has in the next window, plus one level.",
        caught_by="tests/unit/store/test_levels_of_windows.py::"
        "test_levels_of_windows_have_ids_of_their_own",
        patch=edited(
            "lazysketch.store.stored_objects:number_of_table",
            ("window * MOST_LEVELS + level", "window + level"),
        ),
    ),
    PlantedBug(
        name="levels-of-windows-calibrated-alone",
        subject="accounting",
        claim="Each level of windows of a hierarchy has the noise that it needs alone.",
        caught_by=_HIERARCHIES
        + "test_all_levels_of_a_window_together_keep_the_promise[substitution-None]",
        patch=edited(
            "lazysketch.windows.hierarchical_windows:_described",
            (
                "return LevelsSpec(levels, whole, tuple(tables))",
                (
                    "from dataclasses import replace\n"
                    "    return LevelsSpec(levels, whole, tuple(\n"
                    "        replace(one, table=one.table.with_privacy(\n"
                    "            whole.sketch_epsilon, whole.sketch_delta)) for one in tables))"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="levels-of-windows-share-draws",
        subject="reuse of draws",
        claim="The levels of a window are one table, counted under one id and one hash seed.",
        caught_by=_HIERARCHIES + "test_every_level_of_every_window_has_an_id_of_its_own",
        patch=edited(
            f"{_LEVELS}:WindowLevels._origin",
            (
                "return self._key, None",
                f"return {_FIXED_ID}(self._key, bytes(16)), None",
            ),
        ),
    ),
    PlantedBug(
        name="coarser-levels-outlive-their-window",
        subject="durable state",
        claim="At the end of a window the counts and the key of its finest level alone are erased.",
        caught_by=_HIERARCHIES
        + "test_the_end_of_a_window_destroys_the_counts_of_every_level[None]",
        patch=edited(
            f"{_LEVELS}:LevelsOfWindow.close",
            ("_native.close_all(self.tables)", "_native.close_all(self.tables[-1:])"),
        ),
    ),
    PlantedBug(
        name="people-of-levels-kept-from-window-to-window",
        subject="sensitivity",
        claim="A window of a hierarchy counts nothing of a person of whom an earlier one did.",
        caught_by=_HIERARCHIES + "test_a_window_knows_no_one_of_the_window_before",
        patch=together(
            edited(
                f"{_LEVELS}:WindowLevels.make",
                (
                    "people = _native.People(tables, key=self._origin(number, 0)[0])",
                    (
                        "people = self.__dict__.setdefault('kept', None) or _native.People(\n"
                        "            tables, key=self._origin(number, 0)[0])\n"
                        "        self.kept = people"
                    ),
                ),
            ),
            edited(f"{_LEVELS}:LevelsOfWindow.close", ("self.people.forget()", "pass")),
        ),
    ),
    PlantedBug(
        name="event-in-two-windows",
        subject="schedule",
        claim="An event is counted in its window and in the next one.",
        caught_by="tests/unit/windows/test_questions.py::"
        "test_shares_of_batches_are_of_a_noisy_total",
        patch=edited(
            f"{_BY_TIME}.add",
            (
                "_native.add_to_batch_of_all(",
                (
                    "for tables, split, weights_of in ((tables, split, weights_of),"
                    " tuple(zip(*[(self._live[at + 1]._table, *batch[1:])"
                    " for at, one in enumerate(self._live[:-1])"
                    " for batch in whole if batch[0] is one._table])) or ((), (), ())):"
                    " _native.add_to_batch_of_all("
                ),
            ),
        ),
    ),
    PlantedBug(
        name="window-begins-after-its-begin",
        subject="schedule",
        claim="An event at the first instant of a window by the clock is in the window before.",
        caught_by="tests/unit/windows/test_windows.py::"
        "test_a_slice_is_public_when_it_is_over_and_not_before",
        patch=edited(
            f"{_BOUNDARIES}:ClockBoundaries.place",
            ("divmod(now, self.every)", "divmod(now - 1, self.every)"),
        ),
    ),
    PlantedBug(
        name="range-includes-its-end",
        subject="schedule",
        claim="An event at the end of a public range is counted.",
        caught_by="tests/unit/windows/test_windows.py::test_a_range_is_cut_like_a_ruler",
        patch=edited(f"{_BOUNDARIES}:TimeRange.places", ("times < self.end", "times <= self.end")),
    ),
    PlantedBug(
        name="events-outside-of-the-range",
        subject="schedule",
        claim="Events outside of the public range are counted in its first and last window.",
        caught_by="tests/unit/windows/test_windows.py::"
        "test_an_event_from_the_far_future_moves_nothing",
        patch=edited(
            f"{_BOUNDARIES}:TimeRange.places",
            ("np.where(inside, times, self.first)", "np.clip(times, self.first, self.end - 1)"),
            ("np.where(inside, since // self.every, -1)", "since // self.every"),
        ),
    ),
    PlantedBug(
        name="empty-windows-left-out",
        subject="schedule",
        claim="A window of a range is published only if it has an event.",
        caught_by="tests/unit/windows/test_windows.py::test_by_the_time_of_events",
        patch=together(
            edited(
                f"{_BY_TIME}.add",
                (
                    "parts = [",
                    (
                        'self.counted = {*getattr(self, "counted", ()), *numbers.tolist()}\n'
                        "    parts = ["
                    ),
                ),
            ),
            edited(
                f"{_BY_TIME}._publish",
                (
                    "table.tick(1 - table.step)",
                    (
                        'if number not in getattr(self, "counted", ()):\n'
                        "            continue\n"
                        "        table.tick(1 - table.step)"
                    ),
                ),
            ),
        ),
    ),
    PlantedBug(
        name="silent-windows-left-out",
        subject="schedule",
        claim="Windows by the clock during which no call was made are not published.",
        caught_by="tests/unit/windows/test_windows.py::"
        "test_windows_without_an_event_are_windows_and_old_ones_are_forgotten",
        patch=edited(
            f"{_BY_CLOCK}.advance",
            ("max(self._state.number + 1, number - self._most)", "number"),
        ),
    ),
    PlantedBug(
        name="clock-that-goes-back-reopens",
        subject="schedule",
        claim="A clock that goes back ends the open window and opens the earlier one again.",
        caught_by="tests/unit/windows/test_windows.py::"
        "test_windows_without_an_event_are_windows_and_old_ones_are_forgotten",
        patch=edited(
            f"{_BY_CLOCK}.advance",
            ("while self._state.number < number:", "while self._state.number != number:"),
            (
                "max(self._state.number + 1, number - self._most)",
                "max(min(self._state.number + 1, number), number - self._most)",
            ),
        ),
    ),
    PlantedBug(
        name="open-slice-published",
        subject="schedule",
        claim="A look at the open window publishes the events of its open slice.",
        caught_by="tests/unit/windows/test_windows.py::"
        "test_a_slice_is_public_when_it_is_over_and_not_before",
        patch=edited(
            f"{_BY_CLOCK}.open_window",
            ("state = self._state", "self._opened.tick(1)\n    state = self._state"),
        ),
    ),
    PlantedBug(
        name="window-not-flushed",
        subject="schedule",
        claim="A window of steps ends without its last push, so it reads as fewer events.",
        caught_by="tests/unit/windows/test_questions.py::test_times_within_a_window_do_not_matter",
        patch=together(
            edited(f"{_BY_STEPS}._ended_window", ("table.finish()", "pass")),
            edited(f"{_BY_STEPS}._counted_ahead", ("table.finish()", "pass")),
        ),
    ),
    PlantedBug(
        name="windows-share-one-id",
        subject="reuse of draws",
        claim="All windows have one key and one sketch id, hence the same noise.",
        caught_by="tests/unit/windows/test_windows.py::"
        "test_windows_have_ids_and_noise_of_their_own_and_one_hash_seed",
        patch=edited(
            f"{_TABLES}:WindowTables._table",
            ("key=self._key", f"key={_FIXED_ID}(self._key, bytes(16))"),
        ),
    ),
)

BUGS_OF_KEYS: Final = (
    PlantedBug(
        name="fork-without-a-hook",
        subject="reuse of draws",
        claim="A forked child may update a sketch, and then has the noise of its parent.",
        caught_by="tests/unit/sketches/test_live_state.py::"
        "test_a_forked_child_cannot_use_the_sketch[LazyCountMin]",
        patch=_without_fork_hook,
    ),
    PlantedBug(
        name="live-sketches-pickled",
        subject="reuse of draws",
        claim="A live private sketch can be pickled.",
        caught_by="tests/unit/sketches/test_live_state.py::"
        "test_a_live_private_sketch_is_not_copied[pickle 0-LazyCountMin]",
        patch=edited(
            "lazysketch.sketches.live_state:LiveState.__reduce_ex__",
            ('self._refuse("pickling")', "return type(self).from_spec, (self._spec,)"),
        ),
    ),
    PlantedBug(
        name="keys-pickled",
        subject="reuse of draws",
        claim="A key can be pickled, and its secret goes wherever the pickle goes.",
        caught_by="tests/unit/sketches/test_keys.py::test_a_secret_is_not_pickled[0]",
        patch=edited(
            f"{_KEYS}:Key.__reduce_ex__",
            ("raise LiveStateError(", "return Key.from_bytes, (self.to_bytes(),)\n    str("),
        ),
    ),
    PlantedBug(
        name="one-id-per-key",
        subject="reuse of draws",
        claim="All sketches of a master key have one id, hence the same noise.",
        caught_by="tests/unit/sketches/test_keys.py::test_one_master_key_serves_many_sketches",
        patch=edited(
            f"{_KEYS}:key_or_fresh", ("return key\n", f"return {_FIXED_ID}(key, bytes(16))\n")
        ),
    ),
    PlantedBug(
        name="default-key-is-public",
        subject="reuse of draws",
        claim="Sketches without a key get one that is written in the program.",
        caught_by="tests/unit/sketches/test_keys.py::test_without_a_key_there_is_a_fresh_one",
        patch=edited(f"{_KEYS}:key_or_fresh", ("Key.generate()", "Key.from_bytes(bytes(32))")),
    ),
)
