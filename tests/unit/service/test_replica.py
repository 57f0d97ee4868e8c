"""Replicas show what the key of the service signed, the same bytes, and nothing older."""

from __future__ import annotations

import asyncio
import io
import shutil
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.service.publications import Service, run, settings

from lazysketch.cli import main
from lazysketch.errors import LazySketchError, ReleaseFormatError, SourceError
from lazysketch.service.admin.exporting import archive_of
from lazysketch.service.host import Host
from lazysketch.service.origins import Archive, Directory, Origin, ServiceAddress, origin_of
from lazysketch.service.publication import SignedPublication
from lazysketch.service.publication_files import PublicationFiles
from lazysketch.service.reading.application import reading_application
from lazysketch.service.reading.published_streams import PublishedStreams
from lazysketch.service.replica import Replica
from lazysketch.service.signing import SigningKey

EVENTS = ["10.0.0.1"] * 300 + ["10.0.1.9"] * 200


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


@pytest.fixture
def host(service: Service) -> Iterator[Host]:
    """Two streams, one with levels; the second is published once."""
    host = service.host(settings(levels="ipv4", epsilon=8.0), settings(name="others"))
    run(service, host, slices=8, events=lambda _: EVENTS)
    host.publish("others")
    service.clock.now += 3.0
    yield host
    host.close()


def readers(service: Service, folder: Path) -> TestClient:
    streams = PublishedStreams(PublicationFiles(folder), clock=service.clock)
    asyncio.run(streams.look())
    return TestClient(reading_application(streams))


@pytest.fixture
def address(service: Service, host: Host) -> Iterator[str]:
    """The read face of the service, over real HTTP, looked at anew by each request."""
    assert host.published

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = readers(service, service.folder / "public").get(self.path)
            self.send_response(found.status_code)
            self.end_headers()
            self.wfile.write(found.content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def exported(host: Host, name: str = "pages") -> bytes:
    signed = host.files.read_signed(name)
    assert signed is not None
    return b"".join(archive_of(host.files, host.facts, name, signed))


def test_a_stream_that_cannot_be_taken_holds_up_no_other(
    service: Service, host: Host, tmp_path: Path
) -> None:
    """The first stream lost a release; the second is kept, and the first when it is whole again."""
    origin = tmp_path / "origin"
    shutil.copytree(service.folder / "public", origin)
    signed = host.files.read_signed("pages")
    assert signed is not None
    release = origin / "streams/pages/releases" / signed.releases()[0]
    content = release.read_bytes()
    release.unlink()
    copy = PublicationFiles(tmp_path / "copy")
    replica = Replica(origin_of(str(origin)), host.public_key, copy)
    with pytest.raises((LazySketchError, OSError)):
        replica.look()
    facts = copy.facts()
    assert facts is not None
    assert facts.streams == ("others",)
    assert copy.read_signed("pages") is None
    release.write_bytes(content)
    assert replica.look() == 1


@pytest.mark.parametrize("kind", ["address", "directory", "archive"])
def test_a_replica_answers_with_the_same_bytes(
    kind: str, service: Service, host: Host, address: str, tmp_path: Path
) -> None:
    archive = tmp_path / "pages.tar"
    archive.write_bytes(exported(host))
    places = {"address": address, "directory": str(service.folder / "public")}
    place = places.get(kind, str(archive))
    copy = PublicationFiles(tmp_path / "copy")
    replica = Replica(origin_of(place), host.public_key, copy)
    assert replica.look() == (1 if kind == "archive" else 2)
    assert replica.look() == 0
    mine, theirs = readers(service, copy.folder), readers(service, service.folder / "public")
    number = theirs.get("/v1/streams/pages").json()["windows"][0]["number"]
    for path in (
        "", "/publication", "/overview", "/hierarchy", "/release?level=1", f"/windows/{number}",
    ):  # fmt: skip
        one, other = (each.get(f"/v1/streams/pages{path}") for each in (mine, theirs))
        assert (one.status_code, one.content) == (200, other.content), path
        assert one.headers["etag"] == other.headers["etag"]
    if kind != "archive":
        run(service, host, slices=1, events=lambda _: EVENTS)
        service.clock.now += 3.0
        assert replica.look() == 1
        now = readers(service, copy.folder).get("/v1/streams/pages/publication").content
        assert SignedPublication.from_bytes(now) == host.files.read_signed("pages")


class Busy(Origin):
    """An origin that publishes again while its releases are read."""

    def __init__(self, origin: Origin, publish: Callable[[], object], *, times: int) -> None:
        self._origin, self._publish, self._left = origin, publish, times

    def streams(self) -> Iterable[str]:
        return ["pages"]

    def signed(self, name: str) -> SignedPublication | None:
        return self._origin.signed(name)

    def release(self, name: str, window: int, level: int | None, digest: str) -> bytes:
        if self._left:
            self._left -= 1
            self._publish()
        return self._origin.release(name, window, level, digest)


@pytest.mark.parametrize(("times", "taken"), [(1, True), (99, False)])
def test_a_publication_that_is_replaced_while_it_is_read_is_no_failure(
    times: int, taken: bool, service: Service, host: Host, address: str, tmp_path: Path
) -> None:
    """The one after it is taken; an origin that never stands still is one, and holds up no end."""

    def publish() -> None:
        run(service, host, slices=1, events=lambda _: EVENTS)
        service.clock.now += 3.0

    origin = Busy(ServiceAddress(address), publish, times=times)
    copy = PublicationFiles(tmp_path / "copy")
    replica = Replica(origin, host.public_key, copy)
    if taken:
        assert replica.look() == 1
        assert copy.read_signed("pages") == host.files.read_signed("pages")
    else:
        with pytest.raises((ReleaseFormatError, SourceError)):
            replica.look()
        assert copy.read_signed("pages") is None


class Changed(Origin):
    """An origin that answers something else."""

    def __init__(self, origin: Origin, **answers: Any) -> None:
        self._origin, self._answers = origin, answers

    def streams(self) -> Iterable[str]:
        found: Iterable[str] = self._answers.get("streams", self._origin.streams())
        return found

    def signed(self, name: str) -> SignedPublication | None:
        change = self._answers.get("signed", lambda found, _: found)
        found: SignedPublication | None = change(self._origin.signed(name), self._origin)
        return found

    def release(self, name: str, window: int, level: int | None, digest: str) -> bytes:
        change = self._answers.get("release", lambda found: found)
        found: bytes = change(self._origin.release(name, window, level, digest))
        return found


OTHER = SigningKey.generate()
WRONG: dict[str, dict[str, Any]] = {
    "a damaged release": {"release": lambda found: found[:-1] + b"x"},
    "no release": {"release": lambda _: b""},
    "another manifest": {
        "signed": lambda found, _: SignedPublication(
            found.manifest.replace(b'"number":1', b'"number":2'), found.signature
        )
    },
    "another key": {
        "signed": lambda found, _: SignedPublication(found.manifest, OTHER.sign(found.manifest))
    },
    "a name that is a path": {"streams": ["../pages"]},
    "too many names": {"streams": [f"s{number}" for number in range(1_001)]},
}


@pytest.mark.parametrize("what", WRONG)
def test_what_the_key_did_not_sign_is_never_kept(
    what: str, service: Service, host: Host, tmp_path: Path
) -> None:
    origin = Directory(service.folder / "public")
    copy = PublicationFiles(tmp_path / "copy")
    asked: list[str] = []

    class Counted(Changed):
        def release(self, name: str, window: int, level: int | None, digest: str) -> bytes:
            asked.append(digest)
            return super().release(name, window, level, digest)

    with pytest.raises(ReleaseFormatError):
        Replica(Counted(origin, **WRONG[what]), host.public_key, copy).look()
    # At most one for each stream: bytes that are not those of the manifest are not gathered.
    assert len(asked) <= 2
    assert copy.read_signed("pages") is None
    assert not list((tmp_path / "copy").rglob("publication"))


def test_a_publication_of_another_stream_is_refused(
    service: Service, host: Host, tmp_path: Path
) -> None:
    """One key signs all streams; a directory may have them under wrong names."""
    streams = tmp_path / "swapped" / "streams"
    shutil.copytree(service.folder / "public", streams.parent)
    shutil.rmtree(streams / "pages")
    shutil.copytree(streams / "others", streams / "pages")
    files, copy = PublicationFiles(streams.parent), PublicationFiles(tmp_path / "copy")
    with pytest.raises(ReleaseFormatError, match="of another stream"):
        Replica(Directory(streams.parent), host.public_key, copy).look()
    signed = files.read_signed("pages")
    assert signed is not None
    with pytest.raises(ReleaseFormatError, match="of another stream"):
        files.read(signed, "pages")
    assert copy.read_signed("pages") is None


def test_an_older_publication_is_not_taken(service: Service, host: Host, tmp_path: Path) -> None:
    """Also by the next life of the replica, which has what it kept."""
    old = tmp_path / "old"
    shutil.copytree(service.folder / "public", old)
    run(service, host, slices=1, events=lambda _: EVENTS)
    copy = PublicationFiles(tmp_path / "copy")
    assert Replica(Directory(service.folder / "public"), host.public_key, copy).look() == 2
    kept = copy.read_signed("pages")
    assert Replica(Directory(old), host.public_key, copy).look() == 0
    assert copy.read_signed("pages") == kept == host.files.read_signed("pages")


def test_an_origin_that_fails_changes_nothing(host: Host, tmp_path: Path) -> None:
    copy = PublicationFiles(tmp_path / "copy")
    for place in (str(tmp_path / "nothing"), "http://127.0.0.1:9"):
        with pytest.raises(SourceError):
            Replica(origin_of(place), host.public_key, copy).look()
    (tmp_path / "no.tar").write_bytes(b"x" * 2000)
    with pytest.raises(SourceError, match="expected an archive"):
        Archive(tmp_path / "no.tar")
    with pytest.raises(SourceError, match="got none"):
        ServiceAddress("http://127.0.0.1:9", timeout=1.0).signed("pages")


def test_holes_of_an_archive_do_not_unpack(tmp_path: Path) -> None:
    """A header of 512 bytes can stand for any number of zeros."""
    name, head = b"streams/pages/publication", bytearray(512)
    head[: len(name)] = name
    head[124:136] = head[386:398] = head[398:410] = b"%011o\0" % 0
    head[483:495] = b"%011o\0" % (1 << 20)
    head[148:156], head[156:157], head[257:265] = b" " * 8, b"S", b"ustar  \0"
    head[148:156] = b"%06o\0 " % sum(head)
    path = tmp_path / "holes.tar"
    path.write_bytes(bytes(head) + bytes(1024))
    with tarfile.open(path) as archive:
        (member,) = archive
        assert (member.isreg(), member.size) == (True, 1 << 20)
    assert Archive(path).signed("pages") is None


def test_a_running_replica_follows_and_survives_failures(
    service: Service, host: Host, tmp_path: Path
) -> None:
    copy, seen = PublicationFiles(tmp_path / "copy"), threading.Event()

    class Failing(Changed):
        calls = 0

        def streams(self) -> Iterable[str]:
            self.calls += 1
            if self.calls == 1:
                raise SourceError("origin: expected an answer, got none")
            if self.calls == 3:
                seen.set()
            return super().streams()

    origin = Failing(Directory(service.folder / "public"))
    with Replica(origin, host.public_key, copy, pause=0.01):
        assert seen.wait(20)
    assert copy.read_signed("pages") == host.files.read_signed("pages")


def test_an_export_is_a_tar_file_without_secrets(service: Service, host: Host) -> None:
    content = exported(host)
    assert content == exported(host)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        names = archive.getnames()
        assert names[:2] == ["service.json", "streams/pages/publication"]
        assert len(names) == len(set(names)) == 2 + len(set(published_digests(host)))
        assert not any("others" in name for name in names)
    for secret in (host._key.secret, service.key.to_bytes()):
        assert secret not in content
        assert secret.hex().encode() not in content


def published_digests(host: Host) -> tuple[str, ...]:
    signed = host.files.read_signed("pages")
    assert signed is not None
    return signed.releases()


def test_the_command_checks_an_archive(
    host: Host, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, key = tmp_path / "pages.tar", host.public_key.hex()
    path.write_bytes(exported(host))
    assert main(["serve", "--check", str(path), "--public-key", key]) == 0
    shown = capfd.readouterr().out
    assert "pages: publication " in shown
    assert "2 windows, signed by this key" in shown
    content = bytearray(path.read_bytes())
    content[-1500] ^= 1  # within the last release
    path.write_bytes(bytes(content))
    for wrong, message in (
        (["--public-key", key], "expected the releases that its manifest names"),
        (["--public-key", OTHER.public.hex()], "signature of the service's key"),
        (["--public-key", "12"], "--public-key: expected 64 hexadecimal digits"),
        ([], "--public-key: expected the key of the service"),
    ):
        assert main(["serve", "--check", str(path), *wrong]) == 2
        assert message in capfd.readouterr().err


def test_other_options_are_refused_with_a_replica(capfd: pytest.CaptureFixture[str]) -> None:
    start = ["serve", "--state", "x", "--replica", "y"]
    for wrong in (["--every", "1h"], ["--new-era"], ["--settings", "s"]):
        assert main([*start, "--public-key", "00" * 32, *wrong]) == 2
        assert "--replica: expected it with" in capfd.readouterr().err
    assert main(["serve", "--state", "x", "--public-key", "00" * 32]) == 2
    assert "--public-key: expected --replica or --check too" in capfd.readouterr().err
    assert main(start) == 2
    assert isinstance(SourceError(""), LazySketchError)
