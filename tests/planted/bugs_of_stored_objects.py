"""Objects of a store that lose a change, count one twice, or publish what a crash takes back."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_STORED_OBJECTS"]

_JOURNAL: Final = "lazysketch.store.journal:Journal"
_RECOVERED: Final = "lazysketch.store.recovered_objects"
_OBJECTS: Final = "lazysketch.store.stored_objects"
_CALLS: Final = "lazysketch.store.calls:Call"
_TESTS: Final = "tests/unit/store/test_store.py"
_ERAS: Final = "tests/unit/store/test_eras.py"
_WINDOWS: Final = "tests/unit/store/test_stored_windows.py"
_LIVES: Final = "tests/unit/store/test_restarts.py::test_restarts_change_nothing"

BUGS_OF_STORED_OBJECTS: Final = (
    PlantedBug(
        name="read-before-it-is-durable",
        subject="durable state",
        claim="A read shows changes that a crash may take back, whose noise then meets others.",
        caught_by=f"{_TESTS}::test_every_public_name_is_a_change_a_read_or_fixed[count-min]",
        patch=edited(f"{_JOURNAL}.read", ("self.commit()", "self.check()")),
    ),
    PlantedBug(
        name="change-counted-but-not-logged",
        subject="durable state",
        claim="A batch is counted in memory only.",
        caught_by=f"{_LIVES}[1-count-min]",
        patch=edited(
            f"{_JOURNAL}.change",
            (
                "self.last = self.native.append(record.parts)",
                "self.last = self.last if call.events else self.native.append(record.parts)",
            ),
        ),
    ),
    PlantedBug(
        name="refused-change-logged",
        subject="durable state",
        claim="A change that the object refuses is in the log.",
        caught_by=f"{_TESTS}::test_a_refused_change_is_not_logged",
        patch=edited(
            f"{_JOURNAL}.change",
            (
                "self._changing = False\n        raise",
                "self.native.append(record.parts)\n        raise",
            ),
        ),
    ),
    PlantedBug(
        name="interrupted-change-is-read",
        subject="durable state",
        claim="After an interrupt the object is ahead of the log, and is read.",
        caught_by=f"{_TESTS}::test_an_interrupted_change_ends_the_life[after]",
        patch=edited(f"{_JOURNAL}.change", ("except LazySketchError:", "except BaseException:")),
    ),
    PlantedBug(
        name="batch-counted-before-its-size-is-checked",
        subject="durable state",
        claim="A batch that the log cannot hold is counted, and the object is ahead of the log.",
        caught_by="tests/unit/store/test_ingestion.py"
        "::test_a_batch_too_large_for_the_log_is_refused_whole",
        patch=edited(f"{_JOURNAL}.change", ("if record.size > self.largest:", "if False:")),
    ),
    PlantedBug(
        name="clock-asked-again",
        subject="durable state",
        claim="Windows ask the clock when the log is repeated, and contain other events then.",
        caught_by=f"{_WINDOWS}::test_restarts_change_nothing[1-clock]",
        patch=edited(
            "lazysketch.store.stored_windows:WindowsOfStore._carry_out",
            ("self._clock.reading = call.now", "self._clock.reading = self._clock.now()"),
        ),
    ),
    PlantedBug(
        name="windows-end-without-a-record",
        subject="durable state",
        claim="A window that a clock ended in a refused change is open again after a restart.",
        caught_by=f"{_WINDOWS}::test_the_clock_ends_windows_in_records_of_their_own",
        patch=edited(
            "lazysketch.store.stored_windows:StoredWindows._log_time",
            (
                'self._journal.change(self, Call(object=self._name, method="advance", now=now))',
                'self._carry_out(Call(object=self._name, method="advance", now=now))',
            ),
        ),
    ),
    PlantedBug(
        name="tables-of-late-windows-share-ids",
        subject="durable state",
        claim="Window 2^58 of several tables has the ids, and the noise, of window 0.",
        caught_by="tests/unit/store/test_table_numbers.py::"
        "test_a_window_whose_tables_could_have_the_number_of_others_is_refused"
        f"[{2**58}]",
        patch=edited(
            "lazysketch.store.table_numbers:number_of_table",
            ("window != LEVELS_WITHOUT_EVENTS", "False"),
        ),
    ),
    PlantedBug(
        name="windows-of-a-store-share-an-id",
        subject="reuse of draws",
        claim="All windows of an object have one id, so that two windows have the same noise.",
        caught_by=f"{_WINDOWS}::test_windows_and_levels_have_ids_of_their_own",
        patch=edited(
            "lazysketch.store.stored_windows:_StoredTables._table",
            ("self._origin(number_of_window(number))", "self._origin(0)"),
        ),
    ),
    PlantedBug(
        name="ids-of-windows-repeat-after-256",
        subject="reuse of draws",
        claim="An id has one byte of the number of a window: after 256 windows noise repeats.",
        caught_by=f"{_WINDOWS}::test_windows_far_apart_have_ids_of_their_own[clock-3]",
        patch=edited(
            f"{_RECOVERED}:Origin.__call__",
            ("self.name, number)", "self.name, number % 2**8)"),
        ),
    ),
    PlantedBug(
        name="ended-windows-not-in-the-checkpoint",
        subject="durable state",
        claim="A checkpoint drops the releases of ended windows, which no log gives back.",
        caught_by=f"{_WINDOWS}::test_ended_windows_are_kept_without_their_tables",
        patch=edited(
            "lazysketch.windows.by_time:ByTime.progress", ("ended=self.ended", "ended=()")
        ),
    ),
    PlantedBug(
        name="fresh-noise-after-a-restart",
        subject="reuse of draws",
        claim="An object that is repeated from the log gets a fresh id, so that one content is"
        " published under two noises.",
        caught_by=f"{_TESTS}::test_weights_and_empty_rows_survive",
        patch=edited(
            f"{_RECOVERED}:Origin.__call__",
            ("key_of(self.era,", "key_of(self.era + (self.kept is not None),"),
        ),
    ),
    PlantedBug(
        name="era-is-a-counter",
        subject="reuse of draws",
        claim="The next era has the next number: every older copy begins the same one.",
        caught_by=f"{_ERAS}::test_an_era_of_an_older_copy_is_never_begun_again",
        patch=edited(
            "lazysketch.store.eras:begin_record", ('"id": secrets.randbits(64)', '"id": 1')
        ),
    ),
    PlantedBug(
        name="era-without-its-ids",
        subject="reuse of draws",
        claim="In another era the ids are those of the first, and so is the noise.",
        caught_by=f"{_ERAS}::test_an_old_copy_goes_on_with_fresh_noise[count-min]",
        patch=edited(f"{_RECOVERED}:Origin.__call__", ("key_of(self.era,", "key_of(0,")),
    ),
    PlantedBug(
        name="unchanged-object-keeps-its-era",
        subject="reuse of draws",
        claim="An object that has no event in an older copy keeps its id, with which the newest"
        " state may have published.",
        caught_by=f"{_ERAS}::test_an_object_that_is_not_opened_waits_for_its_era",
        patch=edited(
            f"{_RECOVERED}:RecoveredObjects.is_of_an_earlier_era",
            (
                "name in self._objects and",
                "name in self._objects and self._objects[name].calls and",
            ),
        ),
    ),
    PlantedBug(
        name="era-costs-nothing",
        subject="accounting",
        claim="The account has the objects of the last era alone.",
        caught_by=f"{_ERAS}::test_an_old_copy_goes_on_with_fresh_noise[count-min]",
        patch=edited(
            "lazysketch.store.eras:Eras.begin", ("self.number += 1", "self.parts.clear()")
        ),
    ),
    PlantedBug(
        name="account-not-in-the-checkpoint",
        subject="accounting",
        claim="A checkpoint drops what was spent.",
        caught_by=f"{_ERAS}::test_an_old_copy_goes_on_with_fresh_noise[count-min]",
        patch=edited(
            "lazysketch.store.eras:Eras.described",
            ('"spent": [list(part) for part in self.parts]', '"spent": []'),
        ),
    ),
    PlantedBug(
        name="life-without-an-anchor-goes-on",
        subject="durable state",
        claim="An anchor vouches for an era that was open without one, of which copies exist.",
        caught_by=f"{_ERAS}::test_an_anchor_does_not_vouch_for_a_life_without_one",
        patch=edited(
            "lazysketch.store.opening:_in_this_era",
            ("if not store._eras.anchored:", "if store._eras.anchored is None:"),
        ),
    ),
    PlantedBug(
        name="anchor-renewed-before-the-era-is-durable",
        subject="durable state",
        claim="A crash while an era begins leaves an old copy that its anchor vouches for.",
        caught_by=f"{_ERAS}::test_a_crash_while_an_era_begins[before]",
        patch=edited(
            "lazysketch.store.opening:open_store",
            (
                "begun = _in_new_era(path",
                (
                    "_native.Store(str(path.absolute()), key=chosen, anchor=str(place.absolute()),"
                    " renew=True).close()\n    begun = _in_new_era(path"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="killed-life-costs-nothing",
        subject="accounting",
        claim="With releases only, a life that is killed before its first save is not accounted.",
        caught_by="tests/unit/store/test_releases_only.py::test_a_killed_life_is_in_the_account",
        patch=edited(
            "lazysketch.store.releases_only:ReleasesOnly.__init__",
            ("self.release().save(path)", "pass"),
        ),
    ),
    PlantedBug(
        name="older-state-is-finished",
        subject="reuse of draws",
        claim="An object of an earlier era is finished in an older state, with noise that the"
        " newest state may have published with other counts.",
        caught_by=f"{_ERAS}::test_an_old_copy_goes_on_with_fresh_noise[count-min]",
        patch=edited(
            "lazysketch.store.objects_by_name:ObjectsByName._end",
            (
                "record = end_record(name, stored)",
                "stored.finish(); record = end_record(name, stored)",
            ),
        ),
    ),
    PlantedBug(
        name="repeated-batch-counted-again",
        subject="durable state",
        claim="A batch that its sender repeats is counted again.",
        caught_by=f"{_TESTS}::test_a_batch_of_a_source_is_counted_once",
        patch=edited(
            f"{_JOURNAL}.change_once",
            ("number <= self.sources.get", "number < self.sources.get"),
        ),
    ),
    PlantedBug(
        name="sources-forgotten-by-checkpoints",
        subject="durable state",
        claim="A checkpoint drops the last sequences, so that repeated batches are counted again.",
        caught_by=f"{_TESTS}::test_a_batch_of_a_source_is_counted_once",
        patch=edited(
            "lazysketch.store.checkpoint_header:header_of",
            ('"sources": dict(sources)', '"sources": {}'),
        ),
    ),
    PlantedBug(
        name="source-outside-of-the-record",
        subject="durable state",
        claim="The record of a batch does not say where it came from.",
        caught_by=f"{_TESTS}::test_a_batch_of_a_source_is_counted_once",
        patch=edited(
            f"{_CALLS}.encoded",
            ("if self.source is not None:", "if self.source is None and self.sequence:"),
        ),
    ),
    PlantedBug(
        name="tables-of-an-object-share-an-id",
        subject="reuse of draws",
        claim="The levels of a stored hierarchy have one id, and one noise where sizes are equal.",
        caught_by=f"{_TESTS}::test_tables_of_a_store_have_their_own_ids",
        patch=edited(
            f"{_RECOVERED}:Origin.__call__",
            ("self.name, number)", "self.name, 0)"),
        ),
    ),
    PlantedBug(
        name="objects-of-a-store-share-an-id",
        subject="reuse of draws",
        claim="All sketches of a store have one id: equal descriptions share all their noise.",
        caught_by=f"{_TESTS}::test_tables_of_a_store_have_their_own_ids",
        patch=edited(
            f"{_RECOVERED}:Origin.__call__",
            ("self.name, number)", '"", number)'),
        ),
    ),
    PlantedBug(
        name="other-parameters-go-on",
        subject="durable state",
        claim="With other parameters an object publishes its past under a second noise.",
        caught_by=f"{_TESTS}::test_other_parameters_are_refused",
        patch=edited(
            f"{_RECOVERED}:RecoveredObjects.repeat",
            (
                "if found.digest != digest_of(stored):",
                "if not found.digest or not digest_of(stored):",
            ),
        ),
    ),
    PlantedBug(
        name="missing-anchor-is-made",
        subject="durable state",
        claim="A store without its anchor opens, so that an old copy is not noticed.",
        caught_by=f"{_TESTS}::test_an_old_copy_is_refused",
        patch=edited(
            "lazysketch.store.opening:_in_this_era", ("if not place.exists() and", "if False and")
        ),
    ),
    PlantedBug(
        name="weights-not-logged",
        subject="durable state",
        claim="After a restart every event of a batch has weight 1.",
        caught_by=f"{_TESTS}::test_weights_and_empty_rows_survive",
        patch=edited(
            f"{_CALLS}.decoded",
            (
                '_counts(next(parts)) if header["weights"] else None',
                '(next(parts), None)[1] if header["weights"] else None',
            ),
        ),
    ),
    PlantedBug(
        name="key-file-of-others-accepted",
        subject="durable state",
        claim="A key that others could read opens a store.",
        caught_by="tests/unit/sketches/test_key_storage.py"
        "::test_a_file_that_others_can_use_is_refused[4]",
        patch=edited(
            "lazysketch.sketches.key_storage:_check_access",
            ("if mode & _OF_OTHERS:", "if mode & stat.S_IRWXG:"),
        ),
    ),
    PlantedBug(
        name="key-file-overwritten",
        subject="durable state",
        claim="A new key replaces the only copy of another, whose stores no one can open.",
        caught_by="tests/unit/sketches/test_key_storage.py::test_a_file_is_never_overwritten",
        patch=edited("lazysketch.sketches.key_storage:write_secret", ("os.O_EXCL", "os.O_TRUNC")),
    ),
)
