"""Alerts of streams: by the intervals of windows, each tested once, whatever comes in between."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.service.publications import Service
from tests.unit.service.reading.test_application import shown

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ReleaseFormatError
from lazysketch.service.alert_settings import thresholds_of
from lazysketch.service.host import Host
from lazysketch.service.publication import Publication
from lazysketch.service.published_alerts import PublishedAlerts
from lazysketch.service.reading.application import reading_application
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.windows.alerts import Thresholds

SLICE = 10.0
ABOVE = 2_000
# Noise has a deviation of a few events then: no count comes near the threshold.
QUIET: dict[str, Any] = {"domain": ["a", "b"], "epsilon": 15.0, "delta": 1e-6, "width": 64}
SLIDING: dict[str, Any] = {**QUIET, "every": "10s", "span": "40s", "keep": 12}
PLAIN: dict[str, Any] = {**QUIET, "every": "20s", "slices": 2, "keep": 6}
RULES: list[dict[str, Any]] = [{"above": ABOVE, "item": "a"}, {"above": 5_000}]
BOTH = pytest.mark.parametrize("values", [SLIDING, PLAIN], ids=["sliding", "plain"])
SLICES = 24


def stream(values: dict[str, Any], **changes: Any) -> StreamSettings:
    return StreamSettings.from_mapping("pages", {**values, "alerts": RULES, **changes})


def events_of(number: int) -> Counter[str]:
    """Return the events of a slice: both items rise above and fall, at other times."""
    return Counter({"a": 1_500 if number % 8 < 3 else 100, "b": 4_000 if number % 11 < 2 else 10})


def count(host: Host, number: int) -> None:
    host.stream("pages").counts.update_many(list(events_of(number).elements()))


def told(host: Host) -> PublishedAlerts:
    signed = host.files.read_signed("pages")
    assert signed is not None
    found, _ = signed.alerts()
    assert found is not None
    return found


def episodes(alerts: PublishedAlerts, start: float) -> list[tuple[object, float, int, int | None]]:
    """Return item, threshold, and the slices at which an alert was raised and ended."""

    def slice_of(moment: Any) -> int:
        return round((moment.timestamp() - start) / SLICE)

    return [
        (
            one.alert.item,
            one.alert.above,
            slice_of(one.alert.end),
            None if one.until is None else slice_of(one.until),
        )
        for one in alerts.raised
    ]


def expected(values: dict[str, Any], slices: int) -> list[tuple[object, float, int, int | None]]:
    """Return the same from the true counts, by looking at each window."""
    span, pace = (4, 1) if values is SLIDING else (2, 2)
    found: list[tuple[object, float, int, int | None]] = []
    lasting: dict[tuple[object, float], int] = {}
    for end in range(pace, slices + 1, pace):
        true = sum(map(events_of, range(max(end - span, 0), end)), Counter())
        for item, above in (("a", ABOVE), ("a", 5_000), ("b", 5_000)):
            key = (item, above)
            if true[item] > above and key not in lasting:
                lasting[key] = len(found)
                found.append((item, above, end, None))
            elif true[item] <= above and key in lasting:
                place = lasting.pop(key)
                found[place] = (*found[place][:3], end)
    return found


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


@BOTH
def test_alerts_are_those_of_the_true_counts(service: Service, values: dict[str, Any]) -> None:
    """Each is raised at its first window, and lasts until a window in which it is not above."""
    start = service.clock.now
    host = service.host(stream(values, keep=60))
    for number in range(SLICES):
        count(host, number)
        service.clock.now += SLICE
        assert host.publish("pages")
        assert episodes(told(host), start) == expected(values, number + 1)
    assert len(expected(values, SLICES)) > 4
    host.close()


def test_what_ended_before_the_kept_windows_is_left_out(service: Service) -> None:
    start = service.clock.now
    host = service.host(stream(SLIDING))
    for number in range(SLICES):
        count(host, number)
        service.clock.now += SLICE
        host.publish("pages")
    whole = expected(SLIDING, SLICES)
    kept = [one for one in whole if one[3] is None or one[3] >= SLICES - 12]
    assert episodes(told(host), start) == kept != whole
    host.close()


def copies(service: Service, chosen: StreamSettings) -> Iterator[Service]:
    """Yield copies of one store that has counted nothing: their noise is the same."""
    service.host(chosen).close()
    for number in range(9):
        place = service.folder.parent / f"copy {number}"
        shutil.copytree(service.folder, place)
        yield Service(place, key=service.key)


def lived(service: Service, chosen: StreamSettings, *, restarts: set[int], missed: set[int]) -> Any:
    """Return the alerts of a life that is interrupted, and that misses publications."""
    host = service.host(chosen)
    for number in range(SLICES):
        count(host, number)
        if number in restarts:
            host.store.commit()
            host.close()
            host = service.host(chosen)
        service.clock.now += SLICE
        if number not in missed:
            assert host.publish("pages")
    found = told(host)
    host.close()
    return found


@BOTH
def test_alerts_do_not_depend_on_restarts_nor_on_missed_publications(
    tmp_path: Path, values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same noise, so the same alerts to the digit; and each window is tested once."""
    chosen = stream(values)
    tested: list[int] = []
    at = Thresholds.at

    def counted(self: Thresholds, window: ls.Window, listed: Any = ()) -> list[ls.Alert]:
        tested.append(window.number)
        return at(self, window, listed)

    monkeypatch.setattr(Thresholds, "at", counted)
    (tmp_path / "first").mkdir()
    lives = copies(Service(tmp_path / "first"), chosen)
    whole = lived(next(lives), chosen, restarts=set(), missed=set())
    every = list(tested)
    assert len(set(every)) == len(every) == (SLICES if values is SLIDING else SLICES // 2)
    for restarts, missed in (
        (set(range(SLICES)), set()),
        ({5}, {3, 4, 5, 6}),
        ({9, 10}, {8, 10, 11, 12}),
    ):
        tested.clear()
        again = lived(next(lives), chosen, restarts=restarts, missed=missed)
        assert again == whole
        assert tested == every


def test_a_publication_that_cannot_be_written_loses_no_alert(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = service.clock.now
    host = service.host(stream(SLIDING, keep=60))

    def failing(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for number in range(SLICES):
        count(host, number)
        service.clock.now += SLICE
        if number % 3 != 2:
            with monkeypatch.context() as patch:
                patch.setattr(host.files, "write", failing)
                with pytest.raises(OSError, match="space"):
                    host.publish("pages")
        else:
            assert host.publish("pages")
    assert episodes(told(host), start) == expected(SLIDING, SLICES)
    host.close()


def test_a_count_whose_interval_holds_the_threshold_is_no_alert(service: Service) -> None:
    """An estimate above is not enough: its interval at the stated rate has to clear it."""
    host = service.host(stream({**SLIDING, "epsilon": 2.0}, alerts=[]))
    for number in range(4):
        count(host, number)
        service.clock.now += SLICE
        assert host.publish("pages")
    counts = host.stream("pages").counts
    assert isinstance(counts, ls.Sliding)
    window = counts.window()
    assert window is not None
    names = ["a", "b"]
    estimate = window.release.decode(names).tolist()[0]
    # Two items in as many windows as a day has slices, on one side.
    found = window.release.interval_many(["a"], confidence=0.98, among=2 * 8_640, known=names)
    low = found.low[0]
    assert low < estimate - 2.0
    host.close()
    for above, is_raised in ((estimate - 1.0, False), (low + 1.0, False), (low - 1.0, True)):
        chosen = stream({**SLIDING, "epsilon": 2.0}, alerts=[{"above": above}])
        place = service.folder / "public" / "streams" / "pages" / "publication"
        place.unlink()  # the kept windows are tested again
        host = service.host(chosen)
        assert host.publish("pages")
        raised = {one.alert.item for one in told(host).raised if one.until is None}
        assert ("a" in raised) is is_raised
        host.close()


def test_names_that_are_found_are_watched(service: Service) -> None:
    """A rule for any item watches the names of the window, of all types."""
    host = service.host(stream(SLIDING, domain=None, share=0.1, alerts=[{"above": 500}]))
    items = ["/login"] * 700 + [7] * 800 + [b"\xff"] * 900
    for _ in range(5):
        host.stream("pages").counts.update_many(items)
        service.clock.now += SLICE
        assert host.publish("pages")
    found = {one.alert.item for one in told(host).raised}
    assert found == {"/login", 7, b"\xff"}
    host.close()


def test_rules_may_change_for_the_windows_after(service: Service) -> None:
    host = service.host(stream(SLIDING))
    for number in range(6):
        count(host, number)
        service.clock.now += SLICE
        host.publish("pages")
    host.close()
    host = service.host(stream(SLIDING, alerts=[{"above": 300, "item": "a"}]))
    count(host, 6)
    service.clock.now += SLICE
    host.publish("pages")
    found = told(host)
    assert [rule.above for rule in found.rules] == [300.0]
    assert [one.alert.above for one in found.raised if one.until is None] == [300.0]
    assert all(one.until is not None for one in found.raised if one.alert.above != 300.0)
    host.close()


def test_a_manifest_that_another_key_signed_is_not_gone_on_from(service: Service) -> None:
    """Its alerts could be anything; the kept windows are tested again."""
    start = service.clock.now
    host = service.host(stream(SLIDING))
    for number in range(4):
        count(host, number)
        service.clock.now += SLICE
        host.publish("pages")
    path = service.folder / "public" / "streams" / "pages" / "publication"
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"item":"a"', b'"item":"x"'))
    service.clock.now += SLICE
    assert host.publish("pages")
    assert [one[:3] for one in episodes(told(host), start)] == [("a", 2000.0, 2), ("b", 5000.0, 2)]
    host.close()


@pytest.mark.parametrize("content", [b"", b"damaged", b"[]\n00\n", "of another stream"])
def test_what_is_no_publication_of_the_stream_is_not_gone_on_from(
    service: Service, content: bytes | str
) -> None:
    start = service.clock.now
    host = service.host(stream(SLIDING), replace(stream(SLIDING), name="other"))
    for number in range(4):
        count(host, number)
        service.clock.now += SLICE
        host.publish("pages")
    service.clock.now += SLICE
    assert host.publish("other")
    streams = service.folder / "public" / "streams"
    other = (streams / "other" / "publication").read_bytes()
    (streams / "pages" / "publication").write_bytes(
        content if isinstance(content, bytes) else other
    )
    assert host.publish("pages")
    assert [one[:3] for one in episodes(told(host), start)] == [("a", 2000.0, 2), ("b", 5000.0, 2)]
    host.close()


@pytest.mark.parametrize(("every", "windows"), [("7h", 4), ("10h", 3), ("1d", 1), ("2d", 1)])
def test_the_rate_is_that_of_any_day(every: str, windows: int) -> None:
    """As many windows as may end in a day, wherever it begins."""
    found = thresholds_of(stream({"every": every, "span": None, "keep": 3}))
    assert found is not None
    assert found.readings == windows


def test_manifests_are_read_as_they_were_written(service: Service) -> None:
    host = service.host(stream(SLIDING))
    for number in range(3):
        count(host, number)
        service.clock.now += SLICE
        host.publish("pages")
    signed = host.files.read_signed("pages")
    assert signed is not None
    found = host.files.read(signed, "pages")
    assert found.alerts == told(host)
    assert found.manifest() == signed.manifest
    content = {**json.loads(signed.manifest), "windows": []}
    del content["alerts"]["raised"][0]["until"]
    with pytest.raises(ReleaseFormatError, match="publication: expected a manifest"):
        Publication.from_manifest(json.dumps(content).encode(), {})
    host.close()


def test_readers_see_what_lasts_first(service: Service) -> None:
    """As JSON, on the page, and as a gauge; a stream without rules has no such address."""
    host = service.host(stream(SLIDING), replace(stream(SLIDING, alerts=[]), name="plain"))
    for number in range(11):
        count(host, number)
        service.clock.now += SLICE
        for name in ("pages", "plain"):
            host.publish(name)
    service.clock.now += 2.0
    client = TestClient(reading_application(shown(service)))
    found = client.get("/v1/streams/pages/alerts").json()
    assert [(one["item"], one["until"] is None) for one in found["raised"]] == [
        ("a", True),
        ("b", False),
        ("a", False),
    ]
    assert found["lasting"] == 1
    assert found["rules"] == [{"above": 2000.0, "item": "a"}, {"above": 5000.0, "item": None}]
    assert (found["false_alarm_rate"], found["readings"]) == (0.01, 8_640)
    assert client.get("/v1/streams/pages/overview").json()["alerts"]["raised"] == found["raised"]
    assert "alerts" not in client.get("/v1/streams/plain/overview").json()
    assert client.get("/v1/streams/plain/alerts").status_code == 404
    gauges = client.get("/metrics").text.splitlines()
    assert [one for one in gauges if one.startswith("lazysketch_public_alerts")] == [
        'lazysketch_public_alerts{stream="pages"} 1.0'
    ]
    host.close()


def test_a_stream_without_rules_says_nothing_of_alerts(service: Service) -> None:
    host = service.host(stream(SLIDING, alerts=[]))
    service.clock.now += SLICE
    assert host.publish("pages")
    signed = host.files.read_signed("pages")
    assert signed is not None
    assert b"alerts" not in signed.manifest
    host.close()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"alerts": {"above": 1}}, ArgumentTypeError, "alerts: expected a list of tables"),
        ({"alerts": ["a > 1"]}, ArgumentTypeError, "alerts: expected tables"),
        ({"alerts": [{"item": "a"}]}, ArgumentTypeError, "alerts: expected above"),
        ({"alerts": [{"above": 1, "low": 1}]}, ArgumentTypeError, "alerts: expected above and"),
        ({"alerts": [{"above": "1"}]}, ArgumentValueError, "alerts: above: expected"),
        ({"alerts": [{"above": -1}]}, ArgumentValueError, "alerts: above: expected"),
        ({"alerts": [{"above": 1, "item": 1.5}]}, ArgumentTypeError, "alerts: expected a text"),
        ({"alerts": [{"above": 1, "item": "x" * 5_000}]}, ArgumentValueError, "alerts: expected"),
        ({"false_alarms": 1e-17}, ArgumentValueError, "false_alarms: expected a number from 1e-09"),
        ({"false_alarms": 0.5}, ArgumentValueError, "false_alarms: expected a number"),
        ({"false_alarms": "1 %"}, ArgumentTypeError, "false_alarms: expected a"),
        ({"alerts": [], "false_alarms": 0.1}, ArgumentTypeError, "false_alarms: expected it with"),
        ({"alert_webhook": "ftp://example.org"}, ArgumentValueError, "alert_webhook: expected an"),
        (
            {"alerts": [], "alert_webhook": "http://example.org"},
            ArgumentTypeError,
            "alert_webhook: expected it with",
        ),
        (
            {"span": None, "levels": "ipv4", "domain": None, "share": 0.1},
            ArgumentTypeError,
            "alerts: expected none with levels",
        ),
        (
            {"span": None, "kind": "distinct", "domain": None, "width": None},
            ArgumentTypeError,
            "alerts: expected none for kind distinct",
        ),
    ],
)
def test_wrong_rules_are_named(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=rf"^streams\.pages\.{message}"):
        stream(SLIDING, **changes)
