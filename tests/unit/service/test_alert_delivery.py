"""Alerts are told to an address at least once, in order, also over restarts and kills."""

from __future__ import annotations

import json
import logging
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from tests.unit.cli.serving import Serving
from tests.unit.service.publications import Service
from tests.unit.service.test_alerts_of_streams import SLICE, SLIDING, count, stream, told
from tests.unit.service.test_webhooks import Receiver, receiver, service
from tests.waiting import wait_until

from lazysketch.service.alert_delivery import AlertDelivery
from lazysketch.service.host import Host

__all__ = ["receiver", "service"]  # the fixtures


def delivery(service: Service, host: Host, receiver: Receiver) -> AlertDelivery:
    def failed(error: BaseException) -> None:
        raise AssertionError(error)

    return AlertDelivery(
        "pages",
        receiver.address,
        host.files,
        store=host.store,
        failed=failed,
        clock=service.clock,
        pauses=(0.005, 0.01),
    )


def live(service: Service, host: Host, numbers: range) -> None:
    for number in numbers:
        count(host, number)
        service.clock.now += SLICE
        assert host.publish("pages")


def ids(receiver: Receiver) -> list[str]:
    return [json.loads(body)["id"] for _, body in receiver.calls]


def raised(host: Host) -> list[str]:
    return [f"{one.number}-{one.position}" for one in told(host).raised]


def test_each_alert_is_told_once_by_a_service_that_goes_on(
    service: Service, receiver: Receiver
) -> None:
    host = service.host(stream(SLIDING, keep=60))
    with delivery(service, host, receiver):
        for number in range(16):
            live(service, host, range(number, number + 1))
            service.clock.now += 2.0
            wait_until(lambda: ids(receiver) == raised(host))
            service.clock.now -= 2.0
    assert len(raised(host)) > 3
    headers, body = receiver.calls[0]
    content = json.loads(body)
    assert content["stream"] == headers["Lazysketch-Stream"] == "pages"
    assert headers["Lazysketch-Alert"] == content["id"]
    assert content["low"] > content["above"] == 2_000
    assert content["item"] == "a"
    host.close()


def test_nothing_is_told_before_the_instant(service: Service, receiver: Receiver) -> None:
    host = service.host(stream(SLIDING))
    with delivery(service, host, receiver):
        live(service, host, range(2))
        assert raised(host)
        time.sleep(0.2)
        assert not receiver.calls
        service.clock.now += 2.0
        wait_until(lambda: ids(receiver) == raised(host))
    host.close()


def test_calls_are_repeated_until_they_are_answered(
    service: Service, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    """Later alerts wait; the log has neither the address nor an item."""
    caplog.set_level(logging.WARNING)
    host = service.host(stream(SLIDING, keep=60))
    receiver.statuses = [500, 503, 302, 0, 500, 204, 500]
    with delivery(service, host, receiver):
        live(service, host, range(12))
        service.clock.now += 2.0
        wait_until(lambda: len(set(ids(receiver))) == len(raised(host)))
    assert ids(receiver)[:6] == raised(host)[:1] * 6
    assert list(dict.fromkeys(ids(receiver))) == raised(host)
    said = {one.getMessage() for one in caplog.records}
    failures = ("status 500", "status 503", "status 302", "BadStatusLine")
    assert said == {f"pages: an alert was not told so far: {one}" for one in failures}
    host.close()


def test_the_next_life_tells_what_was_not_told(service: Service, receiver: Receiver) -> None:
    """An address that does not answer until the service ends; what was told is not told again."""
    chosen = stream(SLIDING, keep=60)
    host = service.host(chosen)
    with delivery(service, host, receiver):
        live(service, host, range(3))
        service.clock.now += 2.0
        wait_until(lambda: ids(receiver) == raised(host))
        service.clock.now -= 2.0
    first = raised(host)
    receiver.statuses = [500] * 10_000
    with delivery(service, host, receiver):
        live(service, host, range(3, 12))
        service.clock.now += 2.0
        wait_until(lambda: len(receiver.calls) > len(first) + 1)
    host.close()
    receiver.statuses.clear()
    failed = len(receiver.calls)
    host = service.host(chosen)
    with delivery(service, host, receiver):
        wait_until(lambda: len(receiver.calls) == failed + len(raised(host)) - len(first))
        time.sleep(0.05)
    assert first + ids(receiver)[failed:] == raised(host)
    host.close()


def test_an_answer_that_was_not_noted_is_told_again(
    service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill between the answer and the note: the note comes after the answer, never before."""
    chosen = stream(SLIDING, keep=60)
    host = service.host(chosen)
    live(service, host, range(3))
    service.clock.now += 2.0
    with monkeypatch.context() as patch:
        patch.setattr(host.store, "keep_note", lambda *_: threading.Event().wait())  # killed
        patch.setattr("lazysketch.service.webhooks._TIMEOUT", 0.2)
        with delivery(service, host, receiver):
            wait_until(lambda: len(receiver.calls) == 1)
    again = delivery(service, host, receiver)
    with again:
        wait_until(lambda: len(receiver.calls) == 1 + len(raised(host)))
    assert ids(receiver) == raised(host)[:1] + raised(host)
    host.close()


SETTINGS = """
[streams.pages]
every = "1s"
span = "3s"
keep = 300
domain = ["a", "b"]
width = 64
epsilon = 15.0
delta = 1e-6
alerts = [{{ above = 500, item = "a" }}]
alert_webhook = "{address}"

[read]
listen = "127.0.0.1:0"
[ingest]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
"""


def test_no_alert_is_lost_over_kills(tmp_path: Path, receiver: Receiver) -> None:
    """Lives that are killed at any moment: each alert of the last publication was told."""
    (tmp_path / "service.toml").write_text(SETTINGS.format(address=receiver.address))
    options = ("--settings", str(tmp_path / "service.toml"))
    lives = 4
    for life in range(lives):
        serving = Serving(tmp_path, *options)
        serving.send(f"web:{life + 1}", b"a\n" * 1_000)
        # Killed before the slice ends, before its publication, before the call, or after it.
        time.sleep(0.4 * (life + 1))
        serving.process.kill()
        serving.process.wait(60)
        time.sleep(3.0)  # the windows of the next life do not have these events
    serving = Serving(tmp_path, *options)
    address = f"{serving.address('page for readers')}/v1/streams/pages/alerts"
    deadline = time.monotonic() + 40.0
    shown: list[dict[str, Any]] = []
    while time.monotonic() < deadline and not (
        len(shown) >= lives
        and all(one["until"] for one in shown)
        and {one["id"] for one in shown} == set(ids(receiver))
    ):
        time.sleep(0.3)
        with suppress(HTTPError), urllib.request.urlopen(address, timeout=20) as answer:
            shown = json.load(answer)["raised"]
    assert len(shown) == lives, "one for each burst of events"
    assert {one["id"] for one in shown} == set(ids(receiver))
    assert len(receiver.calls) <= 2 * lives
    assert serving.end() == 0
