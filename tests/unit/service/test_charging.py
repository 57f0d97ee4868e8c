"""Streams charged to a ledger: before they are made, once, and not if they do not fit."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pkgutil
from pathlib import Path
from typing import Any

import pytest
from tests.unit.service.publications import Service, run, settings

import lazysketch as ls
from lazysketch.errors import ArgumentValueError, CapError, StoreError
from lazysketch.service.charging import StreamCharges
from lazysketch.service.host import Host

KEY = ls.Key.generate()


class Charged(Service):
    """Lives of a service next to a ledger."""

    def create(self, **terms: Any) -> None:
        asked: dict[str, Any] = {"unit": "event", "epsilon": 40.0, "delta": 1e-4, **terms}
        place = {"key": KEY, "anchor": self.folder / "ledger.anchor"}
        ls.Ledger.create(self.folder / "ledger", population="visitors", **place, **asked).close()

    def ledger(self) -> ls.Ledger:
        return ls.Ledger(self.folder / "ledger", key=KEY, anchor=self.folder / "ledger.anchor")

    def charged_host(self, *streams: Any, **options: Any) -> Host:
        store = ls.open_store(
            self.folder / "store",
            key=self.key,
            anchor=self.folder / "elsewhere" / "anchor",
            **options,
        )
        host = Host(store, self.folder / "public", clock=self.clock, ledger=self.ledger)
        try:
            host.open_streams(streams)
        except BaseException:
            store.close()
            raise
        return host

    def runs(self) -> list[tuple[str, float, bool]]:
        """What was charged: the note, epsilon, and whether it is open."""
        with self.ledger() as ledger:
            return [
                (entry.note, round(entry.charge.epsilon, 9), entry.closed is None)
                for entry in ledger.entries()
            ]


@pytest.fixture
def service(tmp_path: Path) -> Charged:
    return Charged(tmp_path)


@pytest.mark.parametrize("levels", [None, "url"])
def test_the_guarantee_is_known_before_the_stream_is_made(
    levels: str | None, service: Charged
) -> None:
    one = settings(levels=levels)
    host = service.host(one)
    assert one.privacy == host.stream("pages").counts.privacy
    host.close()


def test_a_stream_is_charged_once(service: Charged) -> None:
    service.create()
    host = service.charged_host(settings())
    assert service.runs() == [("stream pages", 4.0, True)]
    run(service, host, slices=3, events=lambda _: ["/"] * 50)
    host.close()
    for _ in range(3):  # restarts
        host = service.charged_host(settings())
        host.close()
    host = service.charged_host(settings(), settings(name="others"))
    assert [one[0] for one in service.runs()] == ["stream pages", "stream others"]
    host.finish("pages")
    assert service.runs() == [("stream pages", 4.0, False), ("stream others", 4.0, True)]
    host.close()
    service.charged_host(settings(), settings(name="others")).close()
    assert len(service.runs()) == 2  # the end of a stream is not charged again


def test_a_stream_that_does_not_fit_is_not_made(service: Charged) -> None:
    service.create(epsilon=6.0)
    host = service.charged_host(settings())
    with pytest.raises(CapError, match=r"streams.others.*refused"):
        host.open_streams([settings(name="others")])
    assert list(host.streams) == ["pages"]
    assert host.store.names == ("pages",)
    assert [part.name for part in host.store.spent.parts] == ["pages"]
    host.close()
    with pytest.raises(CapError):
        service.charged_host(settings(), settings(name="others"))
    assert [one[0] for one in service.runs()] == ["stream pages"]


def test_a_stream_that_was_never_charged_is_charged_at_the_next_start(service: Charged) -> None:
    service.host(settings()).close()
    service.create(epsilon=3.0)
    with pytest.raises(CapError):
        service.charged_host(settings())
    assert service.runs() == []


def test_another_era_is_charged_anew(service: Charged) -> None:
    service.create()
    service.charged_host(settings()).close()
    (service.folder / "elsewhere" / "anchor").unlink()
    service.charged_host(settings(), on_doubt="new-era").close()
    assert service.runs() == [("stream pages", 4.0, True)] * 2


def test_streams_of_people_within_a_window_are_refused(service: Charged) -> None:
    """A person in k windows is k changes, which no charge of one window covers."""
    service.create(unit="person", relation="zero-out")
    one = settings(user="who", cells=2, relation="zero-out", epsilon=8.0)
    with pytest.raises(ArgumentValueError, match="within one window"):
        service.charged_host(one)
    assert service.runs() == []
    store = functools.partial(ls.open_store, service.folder / "store", key=service.key)
    with store(anchor=service.folder / "elsewhere" / "anchor") as opened:
        assert opened.names == ()


def test_an_end_that_a_crash_cut_short_is_completed_at_the_next_start(
    service: Charged, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.create()
    host = service.charged_host(settings())
    with monkeypatch.context() as crashed:
        crashed.setattr(StreamCharges, "end", lambda *_: None)
        host.finish("pages")
    host.close()
    assert service.runs() == [("stream pages", 4.0, True)]
    service.charged_host(settings()).close()
    assert service.runs() == [("stream pages", 4.0, False)]


def test_a_stream_that_cannot_be_made_is_not_charged(
    service: Charged, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.create(epsilon=9.5)  # two streams
    host = service.charged_host(settings())

    def full(*_: object) -> None:
        raise StoreError("state: expected room on the disk, got none")

    with monkeypatch.context() as failing:
        failing.setattr("lazysketch.service.host.keep_definition", full)
        with pytest.raises(StoreError, match="room on the disk"):
            host.open_streams([settings(name="others")])
    assert service.runs() == [("stream pages", 4.0, True)]
    assert list(host.streams) == ["pages"]
    host.open_streams([settings(name="others")])  # the room is still there
    assert service.runs() == [("stream pages", 4.0, True), ("stream others", 4.0, True)]
    host.close()


# Where a process may end while it makes a stream, and how many runs are charged there.
ENDS = {
    "lazysketch.service.host.keep_definition": 0,
    "lazysketch.service.host.WindowsStream": 0,
    "lazysketch.store.Store.commit": 0,
    "lazysketch.service.charging.StreamCharges._charge": 0,
    "lazysketch.service.publication_files.PublicationFiles.write_facts": 1,
}


def end_at(place: str, service: Charged, *, after: bool) -> None:
    """Make the stream, and end before or after a call, as a kill does."""
    holder, _, name = place.rpartition(".")
    owner = pkgutil.resolve_name(holder)
    called = getattr(owner, name)

    def ended(*args: Any, **kwargs: Any) -> None:
        if after:
            called(*args, **kwargs)
        os._exit(9)

    store = ls.open_store(
        service.folder / "store",
        key=service.key,
        anchor=service.folder / "elsewhere" / "anchor",
    )
    host = Host(store, service.folder / "public", clock=service.clock, ledger=service.ledger)
    setattr(owner, name, ended)
    host.open_streams([settings()])


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("place", ENDS)
def test_a_stream_is_charged_once_wherever_the_process_ends(
    place: str, after: bool, service: Charged
) -> None:
    service.create(epsilon=4.0)  # room for one
    context = multiprocessing.get_context("fork")
    making = context.Process(target=end_at, args=(place, service), kwargs={"after": after})
    making.start()
    making.join(60)
    assert making.exitcode == 9
    charged = ENDS[place] or int(after and place.endswith("_charge"))
    assert len(service.runs()) == charged
    host = service.charged_host(settings())
    assert service.runs() == [("stream pages", 4.0, True)]
    run(service, host, slices=3, events=lambda _: ["/"] * 50)
    assert host.published["pages"] > 0
    host.close()
    service.charged_host(settings()).close()
    assert service.runs() == [("stream pages", 4.0, True)]
