"""Files that a service follows: how the thread that counts them ends, and what senders change."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.service.publications import Service, settings
from tests.waiting import wait_until

from lazysketch.service.following import FollowedFile, FollowedPositions


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def grown(log: Path, rows: int) -> None:
    with log.open("a") as file:
        file.write("/\n" * rows)


def failures_of_life(service: Service, log: Path, *, finishes: bool) -> list[BaseException]:
    """Follow a growing file until its thread has ended; return what it reported."""
    failures: list[BaseException] = []
    host = service.host(settings(follow=str(log), format="lines"))
    positions = FollowedPositions(host.store)
    following = FollowedFile(
        host.stream("pages"), host.store, positions=positions, failed=failures.append
    )
    with following:
        if finishes:
            wait_until(lambda: any(one.startswith("file ") for one in host.store.sources))
            host.finish("pages")
        grown(log, 10)
        wait_until(lambda: not following._thread.is_alive())
    host.close()
    return failures


def test_a_file_of_a_stream_that_has_ended_is_left_alone(service: Service) -> None:
    """The service goes on, in this life and in the next."""
    log = service.folder / "log"
    grown(log, 10)
    assert failures_of_life(service, log, finishes=True) == []
    assert failures_of_life(service, log, finishes=False) == []


def test_a_failure_that_is_no_error_of_ours_is_reported(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = service.folder / "log"
    grown(log, 10)
    failures: list[BaseException] = []
    host = service.host(settings(follow=str(log), format="lines"))

    def refused(*_: object, **__: object) -> bool:
        raise RuntimeError("/secret page")

    monkeypatch.setattr(host.store, "ingest", refused)
    positions = FollowedPositions(host.store)
    with FollowedFile(
        host.stream("pages"), host.store, positions=positions, failed=failures.append
    ):
        wait_until(lambda: failures)
    host.close()
    assert [type(failure) for failure in failures] == [RuntimeError]
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


def test_a_sender_whose_name_is_that_of_files_is_no_file(service: Service) -> None:
    host = service.host(settings())
    host.store.ingest("file pages web", 1, ["/"], into=host.stream("pages").counts)
    assert not FollowedPositions(host.store)._known
    host.close()
