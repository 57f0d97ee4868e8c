"""Planted bugs of the service: what readers see, when, and what senders are told."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import Patch, PlantedBug

__all__ = ["BUGS_OF_THE_SERVICE"]

_STREAM: Final = "tests/unit/service/test_stream.py::"
_LEVELS: Final = "tests/unit/service/test_levels.py::"
_WEBHOOKS: Final = "tests/unit/service/test_webhooks.py::"
_LEDGER: Final = "tests/unit/service/test_charging.py::"
_REPLICA: Final = "tests/unit/service/test_replica.py::"
_READING: Final = "tests/unit/service/reading/test_application.py::"
_NEIGHBOURS: Final = "tests/unit/service/test_neighbours.py::"
_INGEST: Final = "tests/unit/service/ingest/test_application.py::"

_DISTINCT: Final = "tests/unit/service/test_distinct_streams.py::"
_SUMS: Final = "tests/unit/service/test_sum_streams.py::"
_VALUES: Final = "tests/unit/service/test_value_streams.py::"
_BROWSER: Final = "tests/browser/test_updates.py::"


def _policy(right: str, wrong: str) -> Patch:
    """Return a patch of the policy that the page is sent with."""
    changed = f"one.replace({right.encode()!r}, {wrong.encode()!r})"
    return edited(
        "lazysketch.service.reading.application:_with_headers",
        ("*_HEADERS]", f"*((key, {changed}) for key, one in _HEADERS)]"),
    )


def _page(right: str, wrong: str) -> Patch:
    """Return a patch of the scripts of the page."""
    return edited(
        "lazysketch.service.reading.page_files:page_files",
        (
            "content = path.read_bytes()",
            f"content = path.read_bytes().replace({right.encode()!r}, {wrong.encode()!r})",
        ),
    )


BUGS_OF_THE_SERVICE: Final = (
    PlantedBug(
        name="weighted-ranges-with-the-noise-of-one",
        subject="sensitivity",
        claim="A stream of ranges has the noise of keys of weight 1, whatever they weigh.",
        caught_by="tests/unit/service/test_range_streams.py::"
        "test_the_noise_is_that_of_the_largest_weight",
        patch=edited(
            "lazysketch.service.statistics_of_streams:_ranges",
            ("1 if settings.weight is None else settings.max_weight", "1"),
        ),
    ),
    PlantedBug(
        name="noise-of-weights-that-no-event-has",
        subject="sensitivity",
        claim="A new stream without a field of weights pays for a largest weight.",
        caught_by="tests/unit/service/test_new_streams.py::"
        "test_a_largest_weight_of_events_without_weights_is_refused[values0]",
        patch=edited(
            "lazysketch.service.definitions:check_new_stream",
            ("settings.weight is None and", "False and"),
        ),
    ),
    PlantedBug(
        name="bound-of-people-who-are-not-known",
        subject="sensitivity",
        claim="A new stream with a bound of people and without their field protects single events.",
        caught_by="tests/unit/service/test_new_streams.py::"
        "test_a_bound_of_people_without_their_field_is_refused[cells-3-values0]",
        patch=edited(
            "lazysketch.service.definitions:check_new_stream",
            ("settings.user is None and", "False and"),
        ),
    ),
    PlantedBug(
        name="publication-when-it-is-ready",
        subject="schedule",
        claim="Readers see a publication as soon as it is computed, which takes longer with more "
        "names.",
        caught_by=_STREAM + "test_readers_see_whole_delays_only",
        patch=edited(
            "lazysketch.service.tick:Tick.shown_at",
            (
                "return self.begin(number) + max(1, -(-since // self.delay)) * self.delay",
                "return self.begin(number) + since",
            ),
        ),
    ),
    PlantedBug(
        name="publication-before-its-instant",
        subject="schedule",
        claim="A publication is shown when it has been read, not at its instant.",
        caught_by=_READING + "test_a_publication_shows_from_its_instant_on",
        patch=edited(
            "lazysketch.service.reading.published_streams:PublishedStreams.look",
            (
                "if due is not None and stream.next_at <= self._now():",
                "if due is not None:",
            ),
        ),
    ),
    PlantedBug(
        name="late-publication-shown-when-loaded",
        subject="schedule",
        claim="A publication whose files come after its instant is shown as soon as it is read.",
        caught_by="tests/unit/service/reading/test_published_streams.py::"
        "test_a_late_publication_shows_a_whole_number_of_delays_after_its_tick[2.1-2]",
        patch=edited(
            "lazysketch.service.reading.published_streams:PublishedStream.wait_for",
            ("if at < now and self.answers is not None:", "if False:"),
        ),
    ),
    PlantedBug(
        name="publication-of-anyone",
        subject="schedule",
        claim="The signature of a publication is not checked before it is shown.",
        caught_by=_READING + "test_a_publication_shows_from_its_instant_on",
        patch=edited(
            "lazysketch.service.reading.published_streams:PublishedStreams._read",
            ("signed.check(public_key)", "pass"),
        ),
    ),
    PlantedBug(
        name="courses-of-open-windows",
        subject="schedule",
        claim="What was shown of an open window stays when it has ended.",
        caught_by=_READING + "test_courses_of_an_open_window_are_not_those_of_its_end",
        patch=edited(
            "lazysketch.service.windows_view:WindowsView.__init__",
            (
                "ended = {window.number for window in before._windows if window.ended}",
                "ended = {window.number for window in before._windows}",
            ),
        ),
    ),
    PlantedBug(
        name="webhook-before-the-instant",
        subject="schedule",
        claim="A webhook is called when a publication is on the disk, before readers see it.",
        caught_by=_WEBHOOKS + "test_a_webhook_is_called_after_the_instant_with_what_readers_get",
        patch=edited(
            "lazysketch.service.webhooks:PublicationCalls._run",
            ("if publish_at > self._clock():", "if False:"),
        ),
    ),
    PlantedBug(
        name="webhook-when-the-files-are-there",
        subject="schedule",
        claim="A late publication is posted to a webhook as soon as its files are there.",
        caught_by=_WEBHOOKS
        + "test_a_late_publication_is_told_of_a_whole_number_of_delays_after_its_tick",
        patch=edited(
            "lazysketch.service.webhooks:PublicationCalls._instant",
            ("if instant >= now:", "if True:"),
        ),
    ),
    PlantedBug(
        name="stream-that-is-not-charged",
        subject="accounting",
        claim="A new stream of a service takes events without a charge to its ledger.",
        caught_by=_LEDGER + "test_a_stream_is_charged_once",
        patch=edited(
            "lazysketch.service.host:Host._charged",
            ("with charges.charged_after(settings.name, settings.privacy):", "if True:"),
        ),
    ),
    PlantedBug(
        name="stream-of-another-era-is-charged-before",
        subject="accounting",
        claim="A stream that begins anew in another era costs nothing more.",
        caught_by=_LEDGER + "test_another_era_is_charged_anew",
        patch=edited(
            "lazysketch.service.charging:StreamCharges._state",
            ('f"{self._store_id} {name}"', "name"),
        ),
    ),
    PlantedBug(
        name="replica-of-anyone",
        subject="schedule",
        claim="A replica keeps what its origin says, under the signature of any key.",
        caught_by=_REPLICA + "test_what_the_key_did_not_sign_is_never_kept[another key]",
        patch=edited(
            "lazysketch.service.replica:Replica._take", ("signed.check(self._key)", "pass")
        ),
    ),
    PlantedBug(
        name="replica-goes-back",
        subject="schedule",
        claim="A replica takes an older publication in place of a later one.",
        caught_by=_REPLICA + "test_an_older_publication_is_not_taken",
        patch=edited(
            "lazysketch.service.replica:Replica._take",
            ("signed.number <= before.number", "signed.number == before.number"),
        ),
    ),
    PlantedBug(
        name="publication-under-the-name-of-another",
        subject="schedule",
        claim="A publication is shown for another stream of the same key.",
        caught_by=_REPLICA + "test_a_publication_of_another_stream_is_refused",
        patch=edited(
            "lazysketch.service.publication:Publication.of_stream",
            ("if found.facts.stream != name:", "if False:"),
        ),
    ),
    PlantedBug(
        name="levels-beyond-the-signature",
        subject="schedule",
        claim="The signed manifest names the release of the finest level alone.",
        caught_by=_LEVELS + "test_a_publication_signs_the_release_of_every_level",
        patch=edited(
            "lazysketch.service.published_window:PublishedWindow.described",
            ("list(self.digests)", "list(self.digests[-1:])"),
        ),
    ),
    PlantedBug(
        name="publication-within-a-slice",
        subject="schedule",
        claim="A tick that was published is published again, whatever readers have seen.",
        caught_by=_STREAM + "test_only_a_tick_publishes",
        patch=edited(
            "lazysketch.service.host:Host.publish",
            (
                "if before is not None and before.number >= publication.number:",
                "if before is not None and before.number > publication.number:",
            ),
        ),
    ),
    PlantedBug(
        name="end-of-a-stream-shown-at-once",
        subject="schedule",
        claim="The end of a stream is published at the moment when the stream is finished, not at "
        "the next tick.",
        caught_by=_STREAM + "test_the_end_of_a_stream_is_published_at_the_next_tick[2]",
        patch=edited(
            "lazysketch.service.host:Host.publish",
            ("if stream.tick.begin(publication.number) > self.now():", "if False:"),
        ),
    ),
    PlantedBug(
        name="acknowledged-before-it-is-durable",
        subject="durable state",
        claim="Senders get their answer before the commit of what they sent.",
        caught_by=_INGEST + "test_an_answer_comes_after_the_commit[small]",
        patch=edited(
            "lazysketch.service.ingest.commits:GroupCommit._carried_out",
            ("self._commit()", "pass"),
        ),
    ),
    PlantedBug(
        name="acknowledged-after-a-failed-commit",
        subject="durable state",
        claim="A commit that failed is answered like one that did not.",
        caught_by=_INGEST
        + "test_a_failure_of_the_store_acknowledges_nothing_and_ends_the_service[commit]",
        patch=edited(
            "lazysketch.service.ingest.commits:GroupCommit._carried_out",
            ("self._commit()", "try:\n        self._commit()\n    except Exception:\n        pass"),
        ),
    ),
    PlantedBug(
        name="publication-later-with-more-events",
        subject="schedule",
        claim="The instant of a publication is put off by the bytes in the log.",
        caught_by=_NEIGHBOURS + "test_an_empty_stream_looks_like_a_saturated_one",
        patch=edited(
            "lazysketch.service.host:Host.publish",
            ("self.now() + _MARGIN", "self.now() + self.store._journal.bytes_logged * 10_000"),
        ),
    ),
    PlantedBug(
        name="quiet-stream-not-published",
        subject="schedule",
        claim="A tick before which nothing new is in the log publishes nothing.",
        caught_by=_STREAM + "test_a_running_service_publishes_every_tick_of_a_quiet_stream",
        patch=edited(
            "lazysketch.service.host:Publisher._publish",
            (
                "self._host.publish(name)",
                (
                    "journal = self._host.store._journal\n"
                    "        if journal.bytes_logged > self.__dict__.get('_logged', 0):\n"
                    "            self._host.publish(name)\n"
                    "        self._logged = journal.bytes_logged"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="refused-events-are-published",
        subject="schedule",
        claim="The facts of a stream, which readers see, change with its records in the log.",
        caught_by=_NEIGHBOURS + "test_what_senders_do_wrong_is_not_seen[listed]",
        patch=edited(
            "lazysketch.service.stream:Stream.facts",
            (
                "title=settings.title or settings.name",
                "title=str(self.counts._journal.bytes_logged)",
            ),
        ),
    ),
    PlantedBug(
        name="status-by-backlog",
        subject="schedule",
        claim="The service says that it is not ready while batches wait for a commit.",
        caught_by=_INGEST + "test_while_the_store_is_held_others_are_answered",
        patch=edited(
            "lazysketch.service.ingest.commits:GroupCommit.check",
            ("if self.failure is not None:", "if self.failure or self._running is not None:"),
        ),
    ),
    PlantedBug(
        name="repeated-among-others-counted-again",
        subject="durable state",
        claim="Of batches of several sources that are one change, a repeated one counts again.",
        caught_by="tests/unit/store/test_ingestion.py"
        "::test_batches_of_several_sources_are_counted_all_or_none",
        patch=edited(
            "lazysketch.store.journal:Journal.change_once",
            ("sequences = dict(call.sources)", "sequences = {}"),
        ),
    ),
    PlantedBug(
        name="sources-of-one-change-forgotten",
        subject="durable state",
        claim="After a restart, what several sources sent in one change counts again.",
        caught_by="tests/unit/store/test_ingestion.py"
        "::test_batches_of_several_sources_are_counted_all_or_none",
        patch=edited(
            "lazysketch.store.recovered_objects:RecoveredObjects._add",
            ("self._sources.update(call.sources)", "pass"),
        ),
    ),
    PlantedBug(
        name="refused-events-of-another-batch",
        subject="durable state",
        claim="Of batches that are counted together, a sender reads the refusals of the first.",
        caught_by="tests/unit/service/ingest/test_counting_together.py"
        "::test_batches_of_a_stream_are_one_change_in_their_order",
        patch=edited(
            "lazysketch.service.ingest.counting:_parts",
            ("begin += one.rows", "begin += 0"),
        ),
    ),
    PlantedBug(
        name="end-of-distinct-items-shows-late-events",
        subject="schedule",
        claim="A count that ends takes a last step only if something came since its last slice.",
        caught_by=_DISTINCT + "test_the_end_is_published_at_the_next_tick_whatever_came[late0]",
        patch=edited(
            "lazysketch.store.stored_held_table:StoredHeldTables.finish",
            ("steps=0 if self._ended_steps is None else 1", "steps=0"),
        ),
    ),
    PlantedBug(
        name="events-of-distinct-items-take-steps",
        subject="schedule",
        claim="The number of steps of a count by the clock, which readers see, is that of events.",
        caught_by=_DISTINCT + "test_events_change_the_noisy_counts_alone",
        patch=edited(
            "lazysketch.store.stored_held_table:StoredHeldTables._batch",
            ('method="add_to_batch"', 'method="update_many"'),
        ),
    ),
    PlantedBug(
        name="values-are-published-between-slices",
        subject="schedule",
        claim="What is read of a statistic between two ticks has the events of the open slice.",
        caught_by=_VALUES + "test_a_value_is_shown_once_its_slice_has_ended",
        patch=edited(
            "lazysketch.service.statistic_stream:StatisticStream._state",
            (
                "release = self._count.release()",
                "_, release = self._count.tick(), self._count.release()",
            ),
        ),
    ),
    PlantedBug(
        name="sums-are-charged-as-counts",
        subject="accounting",
        claim="A stream of sums is charged what its table of events spends, without the values.",
        caught_by=_SUMS + "test_both_tables_are_charged",
        patch=edited(
            "lazysketch.service.host:Host._charged",
            (
                "charges.charged_after(settings.name, settings.privacy)",
                "charges.charged_after(settings.name, settings.privacy.counts)",
            ),
        ),
    ),
    PlantedBug(
        name="page-with-scripts-of-names",
        subject="page",
        claim="The policy of the page lets scripts within it run, such as one in a name.",
        caught_by=_READING + "test_the_page_and_its_headers",
        patch=_policy("script-src 'self'", "script-src 'self' 'unsafe-inline'"),
    ),
    PlantedBug(
        name="page-that-asks-other-servers",
        subject="page",
        claim="The policy of the page lets it send what readers look at to any other server.",
        caught_by=_READING + "test_the_page_and_its_headers",
        patch=_policy("connect-src 'self'", "connect-src *"),
    ),
    PlantedBug(
        name="page-of-old-numbers",
        subject="page",
        claim="The page does not say that its numbers are old.",
        caught_by=_BROWSER + "test_numbers_become_old_and_new_again",
        patch=_page("return now() > Date.parse(due) +", "return now() < 0 * Date.parse(due) +"),
    ),
)
