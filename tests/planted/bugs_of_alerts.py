"""Wrong alerts of streams: lost, told early or too late, or raised without an interval."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_ALERTS"]

_ALERTS: Final = "tests/unit/service/test_alerts_of_streams.py::"
_DELIVERY: Final = "tests/unit/service/test_alert_delivery.py::"
_LIVES: Final = _ALERTS + "test_alerts_do_not_depend_on_restarts_nor_on_missed_publications"
_TESTED: Final = "lazysketch.service.published_alerts:PublishedAlerts.tested"

BUGS_OF_ALERTS: Final = (
    PlantedBug(
        name="alert-by-the-estimate-of-a-stream",
        subject="distribution",
        claim="An alert of a stream is raised when the estimate is above, not its interval.",
        caught_by=_ALERTS + "test_a_count_whose_interval_holds_the_threshold_is_no_alert",
        patch=edited(
            "lazysketch.windows.alerts:Thresholds.at",
            ("if found.low[place] >", "if found.estimate[place] >"),
        ),
    ),
    PlantedBug(
        name="alerts-forgotten-by-the-next-publication",
        subject="durable state",
        claim="A publication has the alerts of its own windows alone: what lasts is raised again.",
        caught_by=_ALERTS + "test_alerts_are_those_of_the_true_counts[sliding]",
        patch=edited(_TESTED, ("last = {} if before is None else", "last = {} if True else")),
    ),
    PlantedBug(
        name="alert-lost-with-a-missed-publication",
        subject="durable state",
        claim="Of the windows that ended since the last publication, only the newest is tested.",
        caught_by=_LIVES + "[sliding]",
        patch=edited(_TESTED, ("for window in windows:", "for window in windows[-1:]:")),
    ),
    PlantedBug(
        name="windows-tested-in-every-publication",
        subject="durable state",
        claim="All kept windows are tested by each publication.",
        caught_by=_LIVES + "[plain]",
        patch=edited(
            "lazysketch.service.stream:Stream._with_alerts",
            ("found.ended_after(at)", "found.ended_after(None)"),
        ),
    ),
    PlantedBug(
        name="alerts-of-anyone",
        subject="durable state",
        claim="Alerts go on from whatever manifest is in the directory of readers.",
        caught_by=_ALERTS + "test_a_manifest_that_another_key_signed_is_not_gone_on_from",
        patch=edited(
            "lazysketch.service.host:Host._genuine",
            ("before.check(self.public_key)", "pass"),
        ),
    ),
    PlantedBug(
        name="alert-told-before-the-instant",
        subject="schedule",
        claim="An alert is told when a publication is on the disk, before readers see it.",
        caught_by=_DELIVERY + "test_nothing_is_told_before_the_instant",
        patch=edited(
            "lazysketch.service.webhooks:PublicationCalls._run",
            ("if publish_at > self._clock():", "if False:"),
        ),
    ),
    PlantedBug(
        name="alert-lost-over-a-restart",
        subject="durable state",
        claim="A life tells only the alerts of publications that it has made itself.",
        caught_by=_DELIVERY + "test_the_next_life_tells_what_was_not_told",
        patch=edited(
            "lazysketch.service.alert_delivery:AlertDelivery._last_before_start",
            ("return -1", "return self._number()"),
        ),
    ),
    PlantedBug(
        name="alert-noted-before-it-is-told",
        subject="durable state",
        claim="An alert is noted as told before the address has answered.",
        caught_by=_DELIVERY + "test_the_next_life_tells_what_was_not_told",
        patch=edited(
            "lazysketch.service.alert_delivery:AlertDelivery._call",
            (
                "if not self._deliver(one):",
                (
                    "if self._store.keep_note(_NOTE + self._name, "
                    'f"{one.number} {one.position}") or not self._deliver(one):'
                ),
            ),
        ),
    ),
    PlantedBug(
        name="alert-told-in-every-publication",
        subject="durable state",
        claim="What was told is told again with the next publication.",
        caught_by=_DELIVERY + "test_each_alert_is_told_once_by_a_service_that_goes_on",
        patch=edited(
            "lazysketch.service.alert_delivery:AlertDelivery._call",
            ("if one.id <= self._told():", "if False:"),
        ),
    ),
    PlantedBug(
        name="alert-told-to-where-a-redirect-leads",
        subject="durable state",
        claim="A redirect is followed, without what was to be told, and its answer is an answer.",
        caught_by=_DELIVERY + "test_calls_are_repeated_until_they_are_answered",
        patch=edited(
            "lazysketch.service.webhooks:failure_of",
            ("_OPENER.open(", "urllib.request.urlopen("),
        ),
    ),
)
