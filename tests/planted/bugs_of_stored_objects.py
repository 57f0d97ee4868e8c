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
        name="repeated-batch-counted-again",
        subject="durable state",
        claim="A batch that its sender repeats is counted again.",
        caught_by=f"{_TESTS}::test_a_batch_of_a_source_is_counted_once",
        patch=edited(
            f"{_JOURNAL}.change_once",
            ("call.sequence <= self.sources.get", "call.sequence < self.sources.get"),
        ),
    ),
    PlantedBug(
        name="sources-forgotten-by-checkpoints",
        subject="durable state",
        claim="A checkpoint drops the last sequences, so that repeated batches are counted again.",
        caught_by=f"{_TESTS}::test_a_batch_of_a_source_is_counted_once",
        patch=edited(f"{_RECOVERED}:header_of", ('"sources": dict(sources)', '"sources": {}')),
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
            f"{_RECOVERED}:RecoveredObjects.origins",
            ("key_of(_ERA, name, number)", "key_of(_ERA, name, 0)"),
        ),
    ),
    PlantedBug(
        name="objects-of-a-store-share-an-id",
        subject="reuse of draws",
        claim="All sketches of a store have one id: equal descriptions share all their noise.",
        caught_by=f"{_TESTS}::test_tables_of_a_store_have_their_own_ids",
        patch=edited(
            f"{_RECOVERED}:RecoveredObjects.origins",
            ("key_of(_ERA, name, number)", 'key_of(_ERA, "", number)'),
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
                "if found.digest != digest_of(tables_of(stored)):",
                "if not found.digest or not digest_of(tables_of(stored)):",
            ),
        ),
    ),
    PlantedBug(
        name="missing-anchor-is-made",
        subject="durable state",
        claim="A store without its anchor opens, so that an old copy is not noticed.",
        caught_by=f"{_TESTS}::test_an_old_copy_is_refused",
        patch=edited(
            "lazysketch.store.opening:open_store", ("if not place.exists() and", "if False and")
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
