"""The public clock, and what is published at its ticks."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.service.publications import START, Service, run, settings
from tests.waiting import wait_until

import lazysketch as ls
from lazysketch.errors import ClosedError, ReleaseFormatError, StoreError
from lazysketch.service.host import Host, Publisher
from lazysketch.service.publication import Publication, SignedPublication
from lazysketch.service.signing import SigningKey
from lazysketch.service.tick import Tick
from lazysketch.windows.boundaries import ClockBoundaries

SECOND = 1_000_000_000
VISITS = ["/", "/", "/docs"] * 200


def published(host: Host) -> SignedPublication:
    found = host.files.read_signed("pages")
    assert found is not None
    return found


def newest(host: Host) -> int | None:
    """Return the number of the publication that is on the disk."""
    found = host.files.read_signed("pages")
    return None if found is None else found.number


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


@given(
    every=st.integers(1, 10**6).map(lambda n: n * SECOND // 100),
    slices=st.integers(1, 960),
    now=st.integers(0, 4 * 10**18),
)
def test_ticks_are_the_slices_of_windows(every: int, slices: int, now: int) -> None:
    """A tick begins at the first nanosecond at which the windows are in its slice."""
    tick = Tick(every, slices)
    window, passed = ClockBoundaries(every=every, slices=slices).place(now)
    number = tick.of(now)
    assert number == window * slices + passed
    begin = tick.begin(number)
    assert begin <= now < tick.begin(number + 1)
    assert tick.of(begin) == number
    assert tick.of(begin - 1) < number


@given(number=st.integers(0, 10**12), late=st.integers(-SECOND, 100 * SECOND))
def test_readers_see_whole_delays_only(number: int, late: int) -> None:
    """How long a publication took shows as a number of delays, and never less than it took."""
    tick = Tick(60 * SECOND, 6)
    begin = tick.begin(number)
    shown = tick.shown_at(number, ready=begin + late)
    assert shown >= begin + late
    assert (shown - begin) % tick.delay == 0
    assert shown - begin <= max(late, 0) + tick.delay
    assert tick.shown_at(number, ready=begin - late) == begin + tick.delay or late < 0


@given(number=st.integers(0, 10**12), passed=st.integers(0, 10 * SECOND - 1))
def test_the_next_publication_is_due_at_a_whole_delay(number: int, passed: int) -> None:
    """What becomes ready from now on is seen at that instant at the earliest."""
    tick = Tick(60 * SECOND, 6)
    now = tick.begin(number) + passed
    due = tick.next_shown(now)
    assert now < due <= now + tick.delay
    assert due == tick.shown_at(number, ready=now + 1)


def test_only_a_tick_publishes(service: Service) -> None:
    """Within a slice nothing is published again, whatever arrives in it."""
    with service.host(settings()).store as store:
        host = Host(store, service.folder / "public", clock=service.clock)
        host.streams = {}
        assert store.names == ("pages",)
    host = service.host(settings())
    host.stream("pages").counts.update_many(VISITS)
    assert host.publish("pages")
    before = published(host)
    host.stream("pages").counts.update_many(VISITS)
    service.clock.now += 9.9
    assert not host.publish("pages")
    assert published(host) == before
    service.clock.now += 0.1
    assert host.publish("pages")
    host.close()


def test_what_is_published_ends_at_the_tick(service: Service) -> None:
    """Events after the tick change no byte of its publication."""
    host = service.host(settings())
    for _ in range(2):
        host.stream("pages").counts.update_many(VISITS)
        service.clock.now += 10.0
    first = host.stream("pages").publication(ready=lambda: 0)
    host.stream("pages").counts.update_many(["/other"] * 1000)
    service.clock.now += 9.0
    assert host.stream("pages").publication(ready=lambda: 0).manifest() == first.manifest()
    host.close()


def test_waiting_for_the_store_is_seen_as_a_number_of_delays(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long senders keep the store busy moves the instant by whole delays alone."""
    host = service.host(settings())
    stream: Any = host.stream("pages")
    stream.counts.update_many(VISITS)
    service.clock.now += 10.0
    seen = stream._seen

    def busy() -> object:
        found = seen()
        service.clock.now += 3.0  # longer than the delay of two seconds
        return found

    monkeypatch.setattr(stream, "_seen", busy)
    assert host.publish("pages")
    assert published(host).publish_at.timestamp() == START + 10.0 + 4.0
    host.close()


def test_a_gap_is_one_publication_and_time_never_goes_back(service: Service) -> None:
    host = service.host(settings())
    assert run(service, host, slices=3, events=lambda _: VISITS) == [True] * 3
    service.clock.now += 10_000.0
    assert host.publish("pages")
    number = published(host).number
    assert number == Tick(60 * SECOND, 6).of(int(service.clock.now) * SECOND)
    service.clock.now -= 5_000.0
    assert not host.publish("pages")
    host.stream("pages").counts.update_many(VISITS)
    assert not host.publish("pages")
    assert published(host).number == number
    host.close()


def test_clock_jumps_of_a_running_service_are_one_push_or_none(service: Service) -> None:
    """Forwards it is one publication; backwards there is none until the clock is where it was."""
    host = service.host(settings())
    host.stream("pages").counts.update_many(VISITS)
    failures: list[BaseException] = []
    tick = host.stream("pages").tick
    with Publisher(host, failed=failures.append):
        wait_until(lambda: host.published["pages"] == 1)
        for jump, publications in ((86_400.0, 2), (-86_000.0, 2), (86_000.0, 2), (10.0, 3)):
            service.clock.now += jump
            host.stream("pages").counts.update_many(VISITS)
            wait_until(partial(lambda expected: host.published["pages"] >= expected, publications))
            time.sleep(1.2)  # the publisher looks at the clock at least each second
            assert host.published["pages"] == publications
            latest = max(service.clock.now, START + 86_400.0)
            assert published(host).number == tick.of(int(latest * SECOND))
    assert not failures
    host.close()


def test_a_running_service_publishes_every_tick_of_a_quiet_stream(service: Service) -> None:
    """That there is a publication says nothing of whether there were events."""
    host = service.host(settings())
    windows, tick = host.stream("pages").counts, host.stream("pages").tick
    with Publisher(host, failed=lambda error: None):
        for events in (None, None, VISITS, None, None):
            if events is not None:
                windows.update_many(events)
            service.clock.now += 10.0
            now = tick.of(int(service.clock.now) * SECOND)
            wait_until(partial(lambda expected: newest(host) == expected, now))
    host.close()


def test_a_restart_publishes_the_same_bytes(service: Service) -> None:
    host = service.host(settings())
    run(service, host, slices=9, events=lambda _: VISITS)
    before, key = published(host), host.public_key
    host.close()
    host = service.host(settings())
    assert host.public_key == key
    assert not host.publish("pages")
    assert host.stream("pages").publication(ready=lambda: 0).number == before.number
    ready = int(service.clock.now) * SECOND
    again = SignedPublication.of(host.stream("pages").publication(ready=lambda: ready), host._key)
    assert again.manifest == before.manifest
    assert again.signature == before.signature
    host.close()


def test_publications_have_released_values_of_the_events(service: Service) -> None:
    """Names with a tenth of the events are there, with intervals that hold their counts."""
    host = service.host(settings())
    run(service, host, slices=18, events=lambda _: VISITS)
    signed = published(host)
    signed.check(host.public_key)
    found = host.files.read(signed, "pages")
    assert found.manifest() == signed.manifest
    queries = found.queries()
    whole = [one.window for one in found.windows if one.window.ended]
    assert [window.whole for window in whole] == [True] * 3
    for item, per_slice in (("/", 400), ("/docs", 200)):
        assert item in queries.candidates
        answer = queries.interval(item, last=3, confidence=1 - 1e-9)
        assert answer.low <= 18 * per_slice <= answer.high
    host.close()


@pytest.mark.parametrize("slices", [0, 2, 5])
def test_the_end_of_a_stream_is_published_at_the_next_tick(slices: int, service: Service) -> None:
    """Readers see it when the next one was due, and nothing follows, also in a later life."""
    host = service.host(settings())
    run(service, host, slices=slices, events=lambda _: VISITS)
    host.stream("pages").counts.update_many(VISITS)
    service.clock.now += 3.0
    host.finish("pages")
    before = host.files.read(published(host), "pages")
    assert not before.finished
    with pytest.raises(ClosedError):
        host.stream("pages").counts.update_many(VISITS)
    service.clock.now += 6.9
    assert not host.publish("pages")
    host.close()
    host = service.host(settings())
    service.clock.now += 0.1
    assert host.publish("pages")
    found = host.files.read(published(host), "pages")
    assert found.finished
    assert (found.number, found.publish_at) == (before.number + 1, before.next_at)
    last = found.windows[-1].window
    assert (last.ended, last.whole) == (True, False)
    answer = found.queries().interval("/", last=1, confidence=1 - 1e-9)
    assert answer.low <= 400 * (slices + 1) <= answer.high
    service.clock.now += 1000.0
    assert not host.publish("pages")
    host.close()


def test_when_a_stream_ends_says_nothing_of_its_events(tmp_path: Path) -> None:
    """Without events and with many, readers see the same publications at the same instants."""
    seen: list[list[object]] = []
    nothing: list[str] = []
    for name, events in (("empty", nothing), ("full", VISITS * 20)):
        service = Service(tmp_path / name)
        service.folder.mkdir()
        host = service.host(settings())
        run(service, host, slices=3, events=([events] * 3).__getitem__)
        service.clock.now += 10.0  # a tick that its thread has not published yet
        host.finish("pages")
        instants: list[object] = []
        for _ in range(2):
            found = host.files.read(published(host), "pages")
            instants.append((found.number, found.at, found.publish_at, found.next_at))
            service.clock.now += 10.0
            assert host.publish("pages") is not found.finished
        seen.append(instants)
        host.close()
    assert seen[0] == seen[1]


def test_a_stream_ends_although_its_last_state_cannot_be_published(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = service.host(settings())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(host.files, "write", full)
        host.finish("pages")
    assert host.failed_publications == 1
    service.clock.now += 10.0
    assert host.publish("pages")
    assert host.files.read(published(host), "pages").finished
    host.close()


def test_releases_that_nothing_names_are_removed(service: Service) -> None:
    host = service.host(settings())
    run(service, host, slices=24, events=lambda _: VISITS[:30])
    folder = service.folder / "public" / "streams" / "pages" / "releases"
    kept = {path.name for path in folder.iterdir()}
    named = set(published(host).releases())
    assert named <= kept
    assert len(kept) <= 2 * (3 + 1)
    host.close()


def test_other_bytes_are_refused(service: Service) -> None:
    host = service.host(settings())
    run(service, host, slices=3, events=lambda _: VISITS)
    signed = published(host)
    changed = SignedPublication(signed.manifest.replace(b"Pages", b"pages"), signed.signature)
    for one, key in ((changed, host.public_key), (signed, SigningKey.generate().public)):
        with pytest.raises(ReleaseFormatError, match="signature"):
            one.check(key)
    for data in (b"", b"{}\n", signed.to_bytes()[:-2], signed.to_bytes() + b"x"):
        with pytest.raises(ReleaseFormatError):
            SignedPublication.from_bytes(data).check(host.public_key)
    releases = dict.fromkeys(signed.releases(), b"another")
    for wrong in ({}, releases):
        with pytest.raises(ReleaseFormatError, match="releases"):
            Publication.from_manifest(signed.manifest, wrong)
    path = service.folder / "public" / "streams" / "pages" / "releases" / signed.releases()[0]
    path.write_bytes(b"damaged")
    with pytest.raises(ReleaseFormatError):
        host.files.read(signed, "pages")
    host.close()


def test_the_directory_of_readers_has_no_secret(service: Service) -> None:
    """Neither an item that was not published, nor the signing key, nor that of the store."""
    host = service.host(settings())
    canary = "canary-7f3a-only-once"
    run(service, host, slices=8, events=lambda number: [*VISITS, canary] if number == 1 else VISITS)
    secrets = [canary.encode(), host._key.secret, host._key.secret.hex().encode()]
    secrets += [service.key.to_bytes(), service.key.to_bytes().hex().encode()]
    for path in (service.folder / "public").rglob("*"):
        if path.is_file():
            assert not any(secret in path.read_bytes() for secret in secrets)
    for path in (service.folder / "store").rglob("*"):
        assert not any(secret in path.read_bytes() for secret in secrets)
    host.close()


def test_stores_of_other_programs_are_refused(service: Service) -> None:
    from lazysketch.service.definitions import streams_to_open

    with ls.open_store(
        service.folder / "store", key=service.key, anchor=service.folder / "elsewhere" / "anchor"
    ) as store:
        store.windows("mine", every=100, share=0.1, epsilon=1.0, delta=1e-6)
        with pytest.raises(StoreError, match="another program"):
            streams_to_open(store, [], otherwise=settings())
