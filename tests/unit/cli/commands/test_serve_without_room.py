"""``lazysketch serve`` on a disk that is full: nothing that was acknowledged is lost."""

from __future__ import annotations

import json
import resource
import signal
import time
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest
from tests.unit.cli.commands.test_serve import SETTINGS
from tests.unit.cli.serving import Serving

import lazysketch as ls
from lazysketch.service.settings import read_settings
from lazysketch.store.opening import open_store

BODY = b"a\na\nb\n" * 100


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits another process: Linux only")
@pytest.mark.parametrize("lives", [2, pytest.param(20, marks=pytest.mark.long)])
def test_a_full_disk_ends_the_service_and_loses_nothing(tmp_path: Path, lives: int) -> None:
    """The sender repeats what was not acknowledged; after space is back, the service goes on."""
    (tmp_path / "service.toml").write_text(SETTINGS)
    options = ("--settings", str(tmp_path / "service.toml"))
    sent = 0
    for life in range(lives):
        serving = Serving(tmp_path, *options)
        for _ in range(3 + life):
            assert serving.send(f"web:{sent + 1}", BODY)["events"] == 300
            sent += 1
        # As on a full disk: from here on no file of the process grows beyond this.
        largest = max(one.stat().st_size for one in (tmp_path / "state").rglob("log-*"))
        limit = (min(largest, 1 << (12 + life % 3)), resource.RLIM_INFINITY)
        resource.prlimit(serving.process.pid, resource.RLIMIT_FSIZE, limit)
        refused = None
        try:
            while True:
                serving.send(f"web:{sent + 1}", BODY)
                sent += 1
        except HTTPError as error:
            refused = error.code, json.load(error)["error"]["argument"]
        except (OSError, URLError, HTTPException):
            pass  # the end of the process came before the answer
        assert refused in (None, (503, "store"))
        assert serving.process.wait(60) not in (0, -signal.SIGXFSZ)
        serving._reader.join(10)
        assert not any("Traceback" in line for line in serving.lines), serving.lines
    serving = Serving(tmp_path, *options)
    answer = serving.send(f"web:{sent + 1}", BODY)
    assert serving.send(f"web:{sent + 1}", BODY)["repeated"] is True
    sent += 1
    assert answer["events"] == 300
    assert serving.end() == 0
    stream = read_settings(tmp_path / "service.toml").streams[0]
    store = open_store(
        tmp_path / "state" / "store", key=ls.Key.from_file(tmp_path / "key"),
        anchor=tmp_path / "anchor",
    )  # fmt: skip
    with store:
        assert store.last_sequence(" pages web") == sent
        windows = stream.windows_of(store, clock=time.time)
        windows.finish()
        for item, times in (("a", 200), ("b", 100)):
            # A batch more or less would show: its noise has a deviation of at most 10.
            assert abs(windows.estimate(item, last=10) - sent * times) < times / 1.5
