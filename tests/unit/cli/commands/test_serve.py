"""``lazysketch serve`` as a process: addresses, events in, counts out, kills, its end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest
from tests.unit.cli.serving import Serving

import lazysketch as ls
from lazysketch.service.settings import read_settings
from lazysketch.store.opening import open_store

SETTINGS = """
[streams.pages]
every = "366d"  # no tick while a test runs
slices = 1
share = 0.1
width = 64
epsilon = 8.0
delta = 1e-6

[read]
listen = "127.0.0.1:0"
[ingest]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
"""
CANARY = "canary-3f9c"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "service.toml").write_text(SETTINGS)
    return tmp_path


def test_events_count_once_whatever_ends_the_process(folder: Path) -> None:
    """A sender that repeats what was not acknowledged has each batch counted exactly once."""
    options = ("--settings", str(folder / "service.toml"))
    body = b"a\na\nb\n" * 100
    sent = 0
    for life in range(3):
        serving = Serving(folder, *options)
        killer = threading.Timer(0.4, serving.process.kill)
        killer.start()
        try:
            while True:
                serving.send(f"web:{sent + 1}", body)
                sent += 1
        except (OSError, URLError, HTTPException, ValueError):
            serving.process.wait(60)
        finally:
            killer.cancel()
        assert life < 3
    serving = Serving(folder, *options)
    assert serving.send(f"web:{sent + 1}", body)["events"] in (300, 0)
    sent += 1
    repeated = serving.send(f"web:{sent}", body)
    assert repeated["repeated"] is True
    with urllib.request.urlopen(f"{serving.address('operator')}/v1/spent", timeout=20) as answer:
        assert json.load(answer)["parts"] == [
            {"stream": "pages", "era": 0, "epsilon": 8.0, "delta": 1e-6}
        ]
    assert serving.end() == 0
    assert not any('"level": "error"' in line for line in serving.lines)
    stream = read_settings(folder / "service.toml").streams[0]
    store = open_store(
        folder / "state" / "store", key=ls.Key.from_file(folder / "key"), anchor=folder / "anchor"
    )
    with store:
        windows = stream.windows_of(store, clock=time.time)
        windows.finish()
        for item, times in (("a", 200), ("b", 100)):
            # A batch more or less would show: its noise has a deviation of at most 10.
            assert abs(windows.estimate(item, last=10) - sent * times) < times / 1.5


def test_followed_rows_count_once_over_lives(folder: Path) -> None:
    log = folder / "rows.txt"
    log.write_text("a\n" * 400)
    text = SETTINGS.replace("every", f'follow = "{log}"\nformat = "lines"\nevery', 1)
    (folder / "service.toml").write_text(text)
    options = ("--settings", str(folder / "service.toml"))
    serving = Serving(folder, *options)
    time.sleep(1.5)
    with log.open("a") as file:
        file.write("b\n" * 400)
    time.sleep(1.5)
    assert serving.end(signal.SIGINT) == 0
    # The stream goes on without its settings; only the addresses are given.
    (folder / "addresses.toml").write_text(SETTINGS[SETTINGS.index("[read]") :])
    serving = Serving(folder, "--settings", str(folder / "addresses.toml"))
    time.sleep(1.0)
    assert serving.end() == 0
    stream = read_settings(folder / "service.toml").streams[0]
    store = open_store(
        folder / "state" / "store", key=ls.Key.from_file(folder / "key"), anchor=folder / "anchor"
    )
    with store:
        windows = stream.windows_of(store, clock=time.time)
        windows.finish()
        for item in "ab":
            assert abs(windows.estimate(item, last=10) - 400) < 200


def test_readers_see_nothing_of_senders(folder: Path) -> None:
    """No byte that a reader gets depends on events before a tick, and no log has an item."""
    serving = Serving(folder, "--settings", str(folder / "service.toml"))
    read = serving.address("page for readers")

    def seen() -> list[bytes]:
        found = []
        for path in ("/v1/streams", "/healthz", "/metrics", "/v1/streams/pages/top"):
            try:
                with urllib.request.urlopen(read + path, timeout=20) as answer:
                    found.append(answer.read())
            except HTTPError as error:
                found.append(error.read())
        return found

    deadline = time.monotonic() + 30.0
    while b'"published":true' not in seen()[0]:  # the state of the last tick, which is empty
        assert time.monotonic() < deadline
        time.sleep(0.1)
    before = seen()
    for number in range(1, 20):
        serving.send(f"web:{number}", f"{CANARY}\n".encode() * 1_000)
    assert seen() == before
    bad = urllib.request.Request(
        f"{serving.address('events to')}/v1/streams/pages/events",
        data=f'[{{"item": "{CANARY}"}}, '.encode(),
        headers={"Content-Type": "application/json"},
    )
    with pytest.raises(HTTPError) as error:
        urllib.request.urlopen(bad, timeout=20)
    assert CANARY.encode() not in error.value.read()
    assert serving.end() == 0
    assert not any(CANARY in line for line in serving.lines)
    for path in folder.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--state: expected the directory of the service, got none"),
        (
            ["--state", "x", "--format", "lines"],
            "--format: expected --follow or --kafka too, got neither",
        ),
        (["--state", "x", "--topic", "t"], "--topic: expected --kafka too, got none"),
        (["--state", "x", "--kafka", "b:1"], "--topic: expected at least one with --kafka"),
        (["--state", "x", "--settings", "a.toml", "--by", "a"], "--settings: expected it without"),
        (["--state", "x", "--settings", "none.toml"], "none.toml: expected a readable file"),
        (["--state", "x", "--listen", "8320"], "read.listen: expected an address and a port"),
        (["--state", "x", "--every", "soon"], "streams.events.every: expected"),
        (["--state", "x", "--settings", "two.toml"], "streams.b.share: expected a number above 0"),
        (["--state", "x", "--settings", "bound.toml"], "streams.b.most_people: expected user too"),
    ],
)
def test_wrong_options_are_named(folder: Path, options: list[str], message: str) -> None:
    (folder / "two.toml").write_text("[streams.a]\n[streams.b]\nshare = 2\n")
    (folder / "bound.toml").write_text("[streams.a]\n[streams.b]\nmost_people = 9\n")
    done = subprocess.run(
        [sys.executable, "-m", "lazysketch", "serve", *options],
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "x").exists()  # no state, whose streams could not be changed any more
    assert not (folder / ".config").exists()  # and no key


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('format = "combind"', "streams.pages.format: expected one of auto, "),
        ('format = "combined"\nitem = "paht"', "streams.pages.item: expected one of host, path"),
    ],
)
def test_a_followed_file_names_the_settings(folder: Path, line: str, message: str) -> None:
    """Not the options of ``top``, which the operator has never seen."""
    (folder / "log").write_text("")
    listeners = SETTINGS[SETTINGS.index("[read]") :]
    path = folder / "follow.toml"
    path.write_text(f'[streams.pages]\nfollow = "{folder}/log"\n{line}\n{listeners}')
    command = [sys.executable, "-m", "lazysketch", "serve", "--state", str(folder / "x")]
    done = subprocess.run(
        [*command, "--settings", str(path)],
        env={**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert f"lazysketch: {message}" in done.stderr


def test_an_end_a_second_start_and_another_key_are_explained(folder: Path) -> None:
    options = ("--settings", str(folder / "service.toml"))
    serving = Serving(folder, *options)
    serving.send("web:1", b"a\n" * 10)
    port = serving.address("page for readers").rpartition(":")[2]
    text = SETTINGS.replace(
        '[read]\nlisten = "127.0.0.1:0"', f'[read]\nlisten = "127.0.0.1:{port}"'
    )
    (folder / "again.toml").write_text(text)
    command = [sys.executable, "-m", "lazysketch"]
    place = ["--key-file", str(folder / "key"), "--anchor", str(folder / "anchor")]

    def said(*words: str) -> str:
        done = subprocess.run(
            [*command, *words], capture_output=True, text=True, timeout=60, check=False
        )
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    second = ["serve", "--state", str(folder / "state"), *place, "--settings"]
    assert "a service that runs there has its state in use" in said(*second, f"{folder}/again.toml")
    assert serving.end(signal.SIGINT) == 0
    assert "ending; requests that are under way are answered first" in serving.lines[-2]
    assert f"the state is kept in {folder / 'state'}" in serving.lines[-1]
    state = said("state", str(folder / "state" / "store"), *place)
    assert "the streams of a service" in state
    assert re.search(r"pages +0 +8(\.0)? +1e-06", state), state
    ls.Key.generate().to_file(folder / "other")
    place[1] = str(folder / "other")
    wrong = said("serve", "--state", str(folder / "state"), *place, *options)
    assert "if the key was rotated, give the file of the new one" in wrong


def test_a_removed_directory_is_named_with_its_anchor(folder: Path) -> None:
    """One who removes the directory to begin anew is told which file still knows of it."""
    (folder / "anchor").write_bytes(b"of another store")
    command = [sys.executable, "-m", "lazysketch", "serve", "--state", str(folder / "x")]
    done = subprocess.run(
        [*command, "--settings", str(folder / "service.toml"), "--anchor", str(folder / "anchor")],
        env={**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert f"got one of another store, {folder / 'anchor'}: put its directory back" in done.stderr


def test_a_token_and_its_hash_are_printed(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lazysketch", "serve", "--new-token"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    from lazysketch.service.tokens import token_hash

    token, digest = (line.split()[1] for line in done.stdout.splitlines())
    assert token_hash(token) == digest
