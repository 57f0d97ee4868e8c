"""Planted bugs of the store: each is a ``planted!`` in ``rust/store/src``."""

from __future__ import annotations

from typing import Final

from tests.planted.planted_bug import PlantedBug

_LOCKS: Final = "tests/unit/store/test_locks.py::"
_CAMPAIGN: Final = "lazysketch-store faults campaign::a_fault_at_any_operation_breaks_no_promise"

BUGS_OF_THE_STORE: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="commit-without-fsync",
        subject="durable state",
        claim="A commit returns before the log is synced.",
        caught_by=_CAMPAIGN,
    ),
    PlantedBug(
        name="anchor-before-the-log",
        subject="durable state",
        claim="The anchor states records that are not durable.",
        caught_by=_CAMPAIGN,
    ),
    PlantedBug(
        name="recovered-tail-used-without-fsync",
        subject="durable state",
        claim="What a killed process left in the cache is given back before it is durable.",
        caught_by=_CAMPAIGN,
    ),
    PlantedBug(
        name="key-dropped-before-its-records-are-copied",
        subject="durable state",
        claim="The key of the last segment is destroyed before its records are in the next.",
        caught_by=_CAMPAIGN,
    ),
    PlantedBug(
        name="new-segment-without-its-name",
        subject="durable state",
        claim="The key ring lists a segment whose name is not durable.",
        caught_by=_CAMPAIGN,
    ),
    PlantedBug(
        name="checkpoint-listed-before-it-is-durable",
        subject="durable state",
        claim="The key ring lists a checkpoint whose body is not durable.",
        caught_by=_CAMPAIGN,
    ),
    PlantedBug(
        name="unproven-records-without-an-anchor",
        subject="durable state",
        claim=(
            "A copy without its anchor publishes records that the store may have lost, at steps "
            "where it counted others."
        ),
        caught_by=(
            "lazysketch-store faults damage::without_an_anchor_only_proven_records_are_there"
        ),
    ),
    PlantedBug(
        name="one-checkpoint-slot",
        subject="durable state",
        claim="A checkpoint is written over the last one.",
        caught_by="lazysketch-store faults damage::a_damaged_newest_checkpoint_costs_nothing",
    ),
    PlantedBug(
        name="sequence-off-by-one",
        subject="durable state",
        claim="The first record after a checkpoint is not given back.",
        caught_by=_CAMPAIGN,
    ),
    PlantedBug(
        name="log-dropped-before-the-newest-checkpoint",
        subject="durable state",
        claim="The log between the two checkpoints is dropped, so the older one is of no use.",
        caught_by="lazysketch-store faults damage::a_damaged_newest_checkpoint_costs_nothing",
    ),
    PlantedBug(
        name="record-without-its-place",
        subject="durable state",
        claim="A record is accepted at any place of its segment.",
        caught_by="lazysketch-store faults damage::a_record_at_another_place_is_refused",
    ),
    PlantedBug(
        name="anchor-ignored",
        subject="durable state",
        claim="A store that is older than its anchor opens.",
        caught_by="lazysketch-store faults damage::older_copies_of_any_files_are_refused",
    ),
    PlantedBug(
        name="sealed-records-keep-their-ends",
        subject="durable state",
        claim="A buffer that is used again still has the ends of its last records: commits panic.",
        caught_by="lazysketch-store faults "
        "early_writing::many_threads_append_and_commit_while_the_writer_works",
    ),
    PlantedBug(
        name="lock-ended-by-closing-alone",
        subject="durable state",
        claim="A store that was closed stays locked while a forked child has its files open.",
        caught_by=_LOCKS + "test_a_child_that_has_the_files_does_not_keep_a_store_open",
    ),
    PlantedBug(
        name="lock-ended-by-a-forked-child",
        subject="durable state",
        claim="A forked child that drops its copy of a store lets another process open it.",
        caught_by=_LOCKS + "test_a_child_that_drops_its_copy_does_not_end_the_lock",
    ),
)
