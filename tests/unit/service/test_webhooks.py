"""Webhooks: called after the instant of a publication, with what readers get, and never more."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.unit.service.publications import Service, run, settings
from tests.waiting import wait_until
from typing_extensions import Self

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.service import service as services
from lazysketch.service import webhooks
from lazysketch.service.host import Host, Publisher
from lazysketch.service.webhooks import Webhook


class Receiver:
    """A program that is called, and answers with given statuses; 0 is an answer that is no HTTP."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        receiver = self

        class Answers(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.calls.append((dict(self.headers), body))
                receiver.may_answer.wait()
                status = receiver.statuses.pop(0) if receiver.statuses else 204
                if not status:
                    self.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")
                    return
                self.send_response(status)
                if status // 100 == 3:
                    self.send_header("Location", receiver.address)
                self.end_headers()

            def do_GET(self) -> None:
                raise AssertionError("nothing is read")

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}/hook?secret=canary-7f3a"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(webhooks, "_LOOK_EVERY", 0.005)
    return Service(tmp_path)


def publish(service: Service, host: Host) -> bytes:
    """Publish once more, and return what is signed."""
    run(service, host, slices=1, events=lambda _: ["/"] * 100)
    signed = host.files.read_signed("pages")
    assert signed is not None
    return signed.to_bytes()


def test_a_webhook_is_called_after_the_instant_with_what_readers_get(
    service: Service, receiver: Receiver
) -> None:
    host = service.host(settings())
    publish(service, host)
    service.clock.now += 3.0
    with Webhook("pages", receiver.address, host.files, clock=service.clock):
        time.sleep(0.1)
        assert not receiver.calls  # what was published before the start
        service.clock.now += 7.0
        service.clock.now -= 10.0
        content = publish(service, host)
        time.sleep(0.2)
        assert not receiver.calls  # it is on the disk, and not yet seen by readers
        service.clock.now += 2.0
        wait_until(lambda: len(receiver.calls) == 1)
        headers, body = receiver.calls[0]
        assert body == content
        assert headers["Lazysketch-Stream"] == "pages"
        time.sleep(0.1)
        assert len(receiver.calls) == 1
    host.close()


def test_what_is_published_before_the_thread_begins_is_told(
    service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = service.host(settings())
    publish(service, host)
    service.clock.now += 10.0
    may_begin, work = threading.Event(), Webhook._run

    def late(webhook: Webhook) -> None:
        may_begin.wait()
        work(webhook)

    monkeypatch.setattr(Webhook, "_run", late)
    with Webhook("pages", receiver.address, host.files, clock=service.clock):
        second = publish(service, host)
        service.clock.now += 2.0
        may_begin.set()
        wait_until(lambda: len(receiver.calls) == 1)
        assert receiver.calls[0][1] == second
    host.close()


def test_a_service_tells_of_what_it_publishes_at_once(
    service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = service.host(settings(webhook=receiver.address))

    class Early(Publisher):
        def __enter__(self) -> Self:
            service.clock.now += 10.0
            host.publish("pages")
            service.clock.now += 2.0
            return super().__enter__()

    monkeypatch.setattr(services, "Publisher", Early)
    with ExitStack() as running:
        for work in services._work_of(host, {}, pytest.fail):
            running.enter_context(work)
        wait_until(lambda: receiver.calls)
    host.close()


def test_a_late_publication_is_told_of_a_whole_number_of_delays_after_its_tick(
    service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that come after their instant: how long they took stays hidden, as from readers."""
    host = service.host(settings())
    publish(service, host)
    write = host.files.write

    def slow(*given: Any) -> None:
        service.clock.now += 2.5  # the delay is two seconds
        write(*given)

    with Webhook("pages", receiver.address, host.files, clock=service.clock):
        monkeypatch.setattr(host.files, "write", slow)
        publish(service, host)
        service.clock.now += 1.4
        time.sleep(0.2)
        assert not receiver.calls
        service.clock.now += 0.1
        wait_until(lambda: len(receiver.calls) == 1)
    host.close()


def test_calls_are_repeated_and_given_up(
    service: Service, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has neither the address nor a count."""
    host = service.host(settings())
    caplog.set_level(logging.WARNING)
    receiver.statuses = [500, 503, 204, 500, 500, 500, 500]
    with Webhook(
        "pages", receiver.address, host.files, clock=service.clock, pauses=(0.01, 0.01, 0.01)
    ):
        first = publish(service, host)
        service.clock.now += 2.0
        wait_until(lambda: len(receiver.calls) == 3)
        assert [body for _, body in receiver.calls] == [first] * 3
        service.clock.now += 8.0
        publish(service, host)
        service.clock.now += 2.0
        wait_until(lambda: len(receiver.calls) == 7)
        wait_until(lambda: bool(caplog.records))
        time.sleep(0.1)
        assert len(receiver.calls) == 7
    assert [one.getMessage() for one in caplog.records] == [
        "pages: the webhook was not told of a publication: status 500"
    ]
    host.close()


def test_a_later_publication_replaces_one_that_could_not_be_told(
    service: Service, receiver: Receiver
) -> None:
    host = service.host(settings())
    receiver.statuses = [500]
    receiver.may_answer.clear()
    with Webhook("pages", receiver.address, host.files, clock=service.clock, pauses=(0.01,) * 3):
        publish(service, host)
        service.clock.now += 2.0
        wait_until(lambda: len(receiver.calls) == 1)
        service.clock.now += 8.0
        second = publish(service, host)
        service.clock.now += 2.0
        receiver.may_answer.set()
        wait_until(lambda: len(receiver.calls) == 2)
        assert receiver.calls[1][1] == second
    host.close()


def test_an_address_that_does_not_answer_holds_nothing_up(service: Service) -> None:
    host = service.host(settings())
    with Webhook("pages", "http://127.0.0.1:9/", host.files, clock=service.clock, pauses=(0.01,)):
        for _ in range(3):
            publish(service, host)
            service.clock.now += 2.0
    assert host.published["pages"] == 3
    host.close()


@pytest.mark.parametrize("address", ["ftp://example.org", "file:///etc/passwd", "", "https://a b"])
def test_wrong_addresses_are_refused_without_being_quoted(address: str) -> None:
    with pytest.raises(ArgumentValueError, match="^webhook: expected an address") as refused:
        settings(webhook=address)
    assert not address or address not in str(refused.value)
    for wrong in ({"webhook": 1}, {"levels": ["ipv4"]}):
        with pytest.raises(ArgumentTypeError, match="expected a text"):
            settings(**wrong)


def test_the_address_is_not_published(service: Service) -> None:
    host = service.host(settings(webhook="https://example.org/canary-7f3a"))
    assert b"canary" not in publish(service, host)
    host.close()
    service.host(settings(webhook="https://example.org/another")).close()  # may change


def test_a_damaged_publication_ends_no_calls(service: Service, receiver: Receiver) -> None:
    """A manifest whose number or instant cannot be read is no publication; the next one is."""
    host = service.host(settings())
    with Webhook("pages", receiver.address, host.files, clock=service.clock):
        publish(service, host)
        path = service.folder / "public" / "streams" / "pages" / "publication"
        whole = path.read_bytes()
        for name in (b'"number":', b'"publish_at":'):
            path.write_bytes(whole.replace(name, b'"another":', 1))
            time.sleep(0.05)
        path.write_bytes(whole)
        service.clock.now += 2.0
        wait_until(lambda: len(receiver.calls) == 1)
        assert receiver.calls[0][1] == whole
    host.close()
