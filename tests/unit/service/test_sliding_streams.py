"""Streams of sliding windows: every window that readers see has the events of its slices."""

from __future__ import annotations

import json
import time
import urllib.request
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from tests.unit.cli.serving import Serving
from tests.unit.service.publications import START, Service

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ReleaseFormatError
from lazysketch.service.host import Host
from lazysketch.service.publication import Publication, SignedPublication
from lazysketch.service.reading.answers import Answers
from lazysketch.service.reading.views import PublicationView
from lazysketch.service.stream_settings import StreamSettings
from lazysketch.windows import published_slides
from lazysketch.windows.published_slides import window_between

SLICE = 10.0
ITEMS = ("a", "b", "c")
# Noise has a deviation of a few events then: NEAR is many of them.
STREAM: dict[str, Any] = {
    "every": "10s",
    "span": "40s",
    "keep": 12,
    "domain": list(ITEMS),
    "epsilon": 15.0,
    "delta": 1e-6,
    "width": 64,
}
NEAR = 60.0


def stream(**changes: Any) -> StreamSettings:
    return StreamSettings.from_mapping("pages", {**STREAM, **changes})


def events_of(number: int) -> Counter[str]:
    """Return the events of a slice, which differ from slice to slice."""
    return Counter({"a": 300 + 200 * number, "b": 1500 * (number % 3), "c": 40})


def counted(service: Service, host: Host, numbers: range) -> None:
    """Count the events of slices, and publish at the end of each."""
    for number in numbers:
        host.stream("pages").counts.update_many(list(events_of(number).elements()))
        service.clock.now += SLICE
        assert host.publish("pages")


def shown(host: Host) -> PublicationView:
    """Return the view of what is on the disk, as the process of readers has it."""
    signed = host.files.read_signed("pages")
    assert signed is not None
    signed.check(host.public_key)
    return PublicationView(host.files.read(signed, "pages"))


def truth(begin: int, end: int) -> Counter[str]:
    return sum((events_of(number) for number in range(max(begin, 0), end)), Counter())


def close_to(rows: Any, expected: Counter[str]) -> bool:
    found = {row["item"]: row["estimate"] for row in rows}
    return all(abs(found[item] - expected[item]) < NEAR for item in ITEMS)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def test_readers_see_the_last_span_at_every_slice(service: Service) -> None:
    """At each tick: the last window, all windows together, their courses and the changes."""
    host = service.host(stream())
    for passed in range(1, 18):
        counted(service, host, range(passed - 1, passed))
        view = shown(host)
        overview: Any = view.overview()
        assert close_to(overview["last"]["items"], truth(passed - 4, passed))
        whole = min(max(passed // 4, 1), 3)
        assert len(overview["facts"]["windows"]) == whole
        first = passed - min(4 * whole, passed)
        assert close_to(overview["items"], truth(first, passed))
        assert abs(overview["total"]["estimate"] - truth(first, passed).total()) < 3 * NEAR
        for row in overview["items"]:
            for place, one in enumerate(reversed(row["course"])):
                begin, end = passed - 4 * place - 4, passed - 4 * place
                assert abs(one["estimate"] - truth(begin, end)[row["item"]]) < NEAR
        two: Any = view.counts(["a"], last=2, include_open=True)
        expected = truth(passed - 8 if passed >= 8 else passed - 4, passed)
        assert abs(two["items"][0]["estimate"] - expected["a"]) < NEAR
    host.close()


def test_answers_are_those_of_the_library(service: Service) -> None:
    """Counts, intervals, lists and changes of readers are those of the windows in the store."""
    host = service.host(stream(share=0.05, domain=None, epsilon=8.0))
    counted(service, host, range(11))
    counts, view = host.stream("pages").counts, shown(host)
    assert isinstance(counts, ls.Sliding)
    top: Any = view.top(n=3, last=1, include_open=True)
    mine = counts.top(3)
    assert [row["item"] for row in top["items"]] == [one.item for one in mine]
    assert [row["low"] for row in top["items"]] == [round(one.low, 1) for one in mine]
    window = counts.window()
    assert window is not None
    assert top["windows"][0]["begin"][:19] == window.begin.isoformat()[:19]  # type: ignore[union-attr]
    interval: Any = view.counts(["a"], last=2, include_open=True)
    assert interval["items"][0]["high"] == round(counts.interval("a", last=8).high, 1)
    changes: Any = view.changes("previous")
    assert [one["item"] for one in changes["changes"]] == [one.item for one in counts.changes()]
    signed = host.files.read_signed("pages")
    assert signed is not None
    answer = Answers(view, signed).merged_release(1, -1)
    assert answer is not None
    assert ls.Release.from_bytes(answer.body).estimate("a") == counts.estimate("a")
    host.close()


def test_the_next_life_goes_on_and_publishes_the_same(service: Service) -> None:
    """After a restart the ends of earlier slices are the same bytes, and windows reach back."""
    host = service.host(stream())
    counted(service, host, range(6))
    before = host.files.read_signed("pages")
    assert before is not None
    host.close()
    host = service.host(stream())
    assert not host.publish("pages")
    counted(service, host, range(6, 8))
    after = host.files.read_signed("pages")
    assert after is not None
    assert set(before.releases()) < set(after.releases())
    view = shown(host)
    overview: Any = view.overview()
    assert close_to(overview["last"]["items"], truth(4, 8))
    assert close_to(overview["items"], truth(0, 8))
    host.close()


def test_a_stream_that_ends_shows_its_last_slice_at_the_next_tick(service: Service) -> None:
    host = service.host(stream())
    counted(service, host, range(5))
    host.stream("pages").counts.update_many(list(events_of(5).elements()))
    host.finish("pages")
    assert not host.publish("pages")
    service.clock.now += SLICE
    assert host.publish("pages")
    view = shown(host)
    assert view.publication.finished
    overview: Any = view.overview()
    assert close_to(overview["last"]["items"], truth(2, 6))
    host.close()


def test_manifests_say_the_span_where_there_is_one(service: Service) -> None:
    host = service.host(stream())
    counted(service, host, range(2))
    signed = host.files.read_signed("pages")
    assert signed is not None
    found = host.files.read(signed, "pages")
    assert found.facts.span == 40.0
    assert found.facts.every == 10.0
    assert found.facts.slices == 1
    contents = {
        digest: content
        for one in found.windows
        for digest, content in zip(one.digests, one.contents, strict=True)
    }
    again = Publication.from_manifest(found.manifest(), contents)
    assert again.manifest() == found.manifest() == SignedPublication.of(found, host._key).manifest
    host.close()


@pytest.mark.parametrize(
    ("changes", "error", "name"),
    [
        ({"span": 40}, ArgumentTypeError, "span"),
        ({"span": "forty"}, ArgumentValueError, "span"),
        ({"levels": "ipv4", "domain": None}, ArgumentTypeError, "span"),
        ({"slices": 2}, ArgumentValueError, "slices"),
        ({"kind": "distinct", "domain": None, "width": None}, ArgumentTypeError, "span"),
        ({"span": None, "block": 3}, ArgumentTypeError, "block"),
        ({"span": None, "discovery_epoch": 1}, ArgumentTypeError, "discovery_epoch"),
    ],
)
def test_what_a_span_cannot_have(changes: Any, error: type[Exception], name: str) -> None:
    with pytest.raises(error, match=rf"^streams\.pages\.{name}: expected"):
        stream(**changes)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"span": "45s"}, "span"),
        ({"keep": 3}, "keep"),
        ({"block": 0}, "block"),
        ({"block": 2, "discovery_epoch": 3, "domain": None, "share": 0.1}, "discovery_epoch"),
    ],
)
def test_what_the_windows_refuse(changes: Any, name: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{name}: expected"):
        stream(**changes).privacy  # noqa: B018


def test_the_span_is_kept_with_the_stream() -> None:
    """Another span is another stream; the guarantee is stated before any event."""
    assert stream(span="80s", keep=24).changed_since(stream()) == "span"
    assert stream().privacy.epsilon == 15.0


SETTINGS = """
[streams.pages]
every = "1s"
span = "5min"
keep = 300
domain = ["a", "b"]
width = 64
epsilon = 15.0
delta = 1e-6

[read]
listen = "127.0.0.1:0"
[ingest]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
"""


def test_events_count_once_over_kills(tmp_path: Path) -> None:
    """Slices of a life that was killed are in the windows of the next, each event once."""
    (tmp_path / "service.toml").write_text(SETTINGS)
    options = ("--settings", str(tmp_path / "service.toml"))
    for life in range(3):
        serving = Serving(tmp_path, *options)
        serving.send(f"web:{life + 1}", b"a\na\nb\n" * 100)
        time.sleep(1.2)  # a slice ends
        serving.process.kill()
        serving.process.wait(60)
    serving = Serving(tmp_path, *options)
    assert serving.send("web:3", b"a\na\nb\n" * 100)["repeated"] is True
    address = (
        f"{serving.address('page for readers')}/v1/streams/pages/estimate?item=a&item=b&last=1"
    )
    deadline = time.monotonic() + 30.0
    found: list[float] = []
    while time.monotonic() < deadline and not (found and abs(found[0] - 600) < 60):
        time.sleep(0.5)
        # Before the first publication there is no answer.
        with suppress(HTTPError), urllib.request.urlopen(address, timeout=20) as answer:
            found = [one["estimate"] for one in json.load(answer)["items"]]
    assert abs(found[0] - 600) < 60
    assert abs(found[1] - 300) < 60
    assert serving.end() == 0


def test_readers_of_the_first_version_refuse_sliding_windows(service: Service) -> None:
    """They would show the ends of slices, which have the counts of whole blocks, as windows."""
    for chosen, version in ((stream(), 2), (stream(span=None), 1)):
        host = Service(service.folder / str(version)).host(chosen)
        assert host.publish("pages")
        signed = host.files.read_signed("pages")
        assert signed is not None
        content = json.loads(signed.manifest)
        assert content["version"] == version
        host.close()


def test_a_publication_of_another_version_is_refused(service: Service) -> None:
    host = service.host(stream())
    assert host.publish("pages")
    signed = host.files.read_signed("pages")
    assert signed is not None
    content = json.loads(signed.manifest)
    for version, expected in ((3, "expected version 1 or 2"), ("2", "expected version")):
        changed = json.dumps({**content, "version": version}).encode()
        with pytest.raises(ReleaseFormatError, match=expected):
            Publication.from_manifest(changed, {})
    host.close()


def test_windows_of_a_publication_are_made_once(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many questions are asked of it: three windows for the page, one for each question."""
    host = service.host(stream())
    counted(service, host, range(13))
    made: list[int] = []

    def between(ends: Any, asked: int, *, every: int) -> ls.Window:
        made.append(asked)
        return window_between(ends, asked, every=every)

    monkeypatch.setattr(published_slides, "window_between", between)
    view = shown(host)
    assert made == [4, 4, 4]
    signed = host.files.read_signed("pages")
    assert signed is not None
    answers = Answers(view, signed)
    made.clear()
    assert [answers.within(last) for last in (1, 2, 3, 4, None)] == [1, 2, None, None, None]
    assert not made
    assert answers.merged_release(2, -1) is not None
    view.counts(["a"], last=1, include_open=False)
    assert made == [8, 4]
    host.close()


@pytest.mark.parametrize("block", [1, 3, 8])
def test_blocks_have_the_slices_that_were_asked_for(service: Service, block: int) -> None:
    """Each block is a sketch of its own; windows over them have the counts of their slices."""
    host = service.host(stream(block=block))
    counted(service, host, range(13))
    counts = host.stream("pages").counts
    assert isinstance(counts, ls.Sliding)
    assert counts.block == block
    first = int(START / SLICE)  # blocks begin at multiples of their length since 1970
    blocks = {slice_ // block for slice_ in range(first, first + 13)}
    assert {end.begin.timestamp() for end in counts.ends} == {SLICE * block * one for one in blocks}  # type: ignore[union-attr]
    view = shown(host)
    overview: Any = view.overview()
    assert close_to(overview["last"]["items"], truth(9, 13))
    host.close()
    assert stream(block=block).changed_since(stream()) == "block"
    with pytest.raises(ArgumentValueError, match="expected"):
        service.host(stream(block=block + 1))


@pytest.mark.parametrize("epoch", [1, 3])
def test_names_are_found_after_each_epoch(service: Service, epoch: int) -> None:
    chosen = stream(domain=None, share=0.2, epsilon=12.0, block=6, discovery_epoch=epoch)
    host = service.host(chosen)
    found = []
    for _ in range(6):
        host.stream("pages").counts.update_many(["a"] * 3_000)
        service.clock.now += SLICE
        assert host.publish("pages")
        found.append(shown(host).candidates)
    assert found == [["a"] if passed >= epoch else [] for passed in range(1, 7)]
    assert chosen.changed_since(stream(domain=None, share=0.2, epsilon=12.0, block=6)) == (
        "discovery_epoch"
    )
    host.close()
