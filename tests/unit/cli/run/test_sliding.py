"""``top --span``: the last seconds of a pipe, steps and hours of files; what alerts start."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from lazysketch.cli import main

PATIENCE = 60.0
SPAN = ["--window", "1s", "--span", "2s", "--epsilon", "20", "--width", "256", "--share", "10%"]
HOSTILE = "$(touch pwned); `touch pwned` | touch pwned '\" \\ é"


class Run:
    """A run of the command on a pipe, and what it has written so far."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "lazysketch", "top", "-", "--format", "lines"]
        command += ["--json", "--every", "200ms", *SPAN, *options]
        with (folder / "errors.txt").open("wb") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=folder,
            )
        self.states: list[dict[str, Any]] = []
        assert self.process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=[self.process.stdout])
        self._reader.start()

    def feed(self, rows: str, *, until: Any) -> None:
        """Write rows again and again until something is true."""
        assert self.process.stdin is not None
        end = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < end
            self.process.stdin.write(rows)
            self.process.stdin.flush()
            time.sleep(0.05)

    def end(self) -> dict[str, Any]:
        """Close the pipe, and return the result."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._reader.join(PATIENCE)
        assert self.process.wait(PATIENCE) == 0
        return self.states[-1]

    def _read(self, lines: Iterable[str]) -> None:
        self.states.extend(json.loads(line) for line in lines)


@contextmanager
def address() -> Iterator[tuple[str, list[Any]]]:
    """An address, and what was sent to it."""
    sent: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/secret-path", sent
        finally:
            server.shutdown()
            thread.join()


def test_a_pipe_shows_its_last_seconds(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.feed("a\n" * 400 + "b\n" * 200, until=lambda: len(run.states) > 20)
    final = run.end()
    assert {row["item"] for row in final["items"]} == {"a", "b"}
    begin, end = (datetime.fromisoformat(final["window"][name][:-1]) for name in ("begin", "end"))
    assert (end - begin).total_seconds() == 2
    assert not final["window"]["whole"]  # the last slice ended with the pipe
    spans = {
        state["waiting"][0] for state in run.states[:-1] if state.get("waiting") and state["items"]
    }
    assert len(spans) >= 2, "the span moves on"
    assert all(one.startswith("the last 2 s, as of ") for one in spans)


def result_of(capsys: pytest.CaptureFixture[str], rows: Path, *options: str) -> dict[str, Any]:
    """The result of a run on a file."""
    command = ["top", str(rows), "--json", "--epsilon", "20", "--width", "256", "--share", "10%"]
    assert main([*command, *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


def test_a_file_shows_its_last_steps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = tmp_path / "rows.txt"
    rows.write_text("early\n" * 3_000 + "late\n" * 2_050)
    found = result_of(capsys, rows, "--format", "lines", "--window", "100", "--span", "1000")
    assert (found["window"]["begin"], found["window"]["end"]) == ("step 4,100", "step 5,050")
    assert not found["window"]["whole"]  # 50 of the last 100 steps
    assert [row["item"] for row in found["items"][:1]] == ["late"]
    assert all(abs(row["estimate"]) < 100 for row in found["items"][1:])


def test_a_file_shows_the_last_hours_of_a_range(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Rows are in any order of their times; those after the range are not counted."""
    rows = tmp_path / "rows.csv"
    times = {"late": "01T23:30", "early": "01T09:00", "after": "02T00:00"}
    lines = [f"2026-01-{time}:00Z,{item}" for item, time in times.items() for _ in range(900)]
    rows.write_text("\n".join(["time,item", *lines]))
    asked = ["--time", "time", "--by", "item", "--from", "2026-01-01", "--to", "2026-01-02"]
    found = result_of(capsys, rows, *asked, "--window", "1h", "--span", "3h")
    assert found["window"]["begin"] == "2026-01-01 21:00:00Z"
    assert found["window"]["end"] == "2026-01-02 00:00:00Z"
    assert found["window"]["whole"]
    counts = {row["item"]: row["estimate"] for row in found["items"]}
    assert "after" not in counts
    assert abs(counts["late"] - 900) < 100 > abs(counts.get("early", 0))


def test_alerts_run_a_command_and_call_an_address(tmp_path: Path) -> None:
    """The item is data: on standard input, never a part of a command line."""
    told = "sys.stdin.read() + os.environ['LAZYSKETCH_ALERT'] + chr(10)"
    writes = f"import os, sys; open('told', 'a').write({told})"
    (tmp_path / "tell.py").write_text(writes)
    command = f"{sys.executable} tell.py"
    with address() as (url, sent):
        rules = ["--alert", "* > 1e3", "--alert", "quiet > 5"]
        run = Run(tmp_path, *rules, "--alert-run", command, "--alert-post", url)
        run.feed(f"{HOSTILE}\n" * 400, until=lambda: sent)
        run.end()
    lines = [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
    assert lines[0] == lines[1] == sent[0]
    assert {one["item"] for one in sent} == {HOSTILE}
    assert sent[0]["low"] > sent[0]["above"] == 1_000
    assert sent[0]["begin"] < sent[0]["end"]
    assert not (tmp_path / "pwned").exists()
    assert "alert: $(touch" in (tmp_path / "errors.txt").read_text()


def test_what_is_told_has_no_effect_on_what_is_counted(tmp_path: Path) -> None:
    """A command that fails, one that is missing, an address where nobody listens."""
    dead = "http://127.0.0.1:9/secret-path"
    for command in (f"{sys.executable} -c 'raise SystemExit(3)'", "./missing"):
        run = Run(tmp_path, "--alert", "a > 100", "--alert-run", command, "--alert-post", dead)
        errors = tmp_path / "errors.txt"
        run.feed("a\n" * 400, until=lambda path=errors: "--alert-run: " in path.read_text())
        final = run.end()
        assert [row["item"] for row in final["items"]] == ["a"]
        told = errors.read_text()
        assert "--alert-run: expected a command that succeeds, got" in told
        assert "secret-path" not in told


def test_alerts_of_slices_of_steps(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, at the first end of a slice with more than 1,250 among the last 2,000 steps."""
    monkeypatch.chdir(tmp_path)
    Path("rows.txt").write_text("b\n" * 2_000 + "a\n" * 2_000)
    Path("items.txt").write_text("a\nb\n")
    command = f'{sys.executable} -c \'import sys; open("told", "a").write(sys.stdin.read())\''
    options = ["--window", "500", "--span", "2000", "--domain", "items.txt", "--epsilon", "15"]
    rules = ["--alert", "a > 1250", "--alert-run", command]
    assert main(["top", "rows.txt", *options, *rules, "--output", "json"]) == 0
    (line,) = Path("told").read_text().splitlines()
    told = json.loads(line)
    assert (told["item"], told["begin"], told["end"]) == ("a", 1_500, 3_500)
    captured = capsys.readouterr()
    assert "alert: a above 1,250: " in captured.err
    assert " from step 1,500 to step 3,500" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--span", "2s"], "--span: expected --window too, both with a time such as 1min"),
        (["--window", "10", "--span", "2s"], "--span: expected --window too, both with a time"),
        (["--window", "10", "--span", "25"], "--span: expected a whole number of times every"),
        (
            [*SPAN, "--from", "2026-01-01", "--to", "2026-01-02", "--alert", "a > 3"],
            "--alert: expected windows by the clock or by steps",
        ),
        (["--window", "2s", "--span", "3s"], "--span: expected a whole number of times every"),
        (["--window", "1s", "--span", "soon"], "--span: expected a time such as 90s"),
        ([*SPAN, "--from", "2026-01-01"], "--from, --to: expected both ends of a range"),
        (
            ["--window", "10", "--span", "20", "--from", "2026-01-01", "--to", "2026-01-02"],
            "--from, --to: expected none for slices of steps",
        ),
        ([*SPAN, "--keep", "3"], "--keep: expected no --span, got one"),
        ([*SPAN, "--plot", "page.html"], "--plot: expected no --span, got one"),
        (["--alert", "a > 3"], "--alert: expected --span too, got none"),
        ([*SPAN, "--alert", "a"], "--alert: expected ITEM > COUNT, such as"),
        ([*SPAN, "--alert", "a > many"], "--alert: expected ITEM > COUNT, such as"),
        ([*SPAN, "--alert-run", "x"], "--alert-run: expected --alert too, got none"),
        ([*SPAN, "--alert", "a > 3", "--alert-run", "'x"], "--alert-run: expected a command"),
        ([*SPAN, "--alert", "a > 3", "--alert-run", ""], "--alert-run: expected a command"),
        ([*SPAN, "--alert", "a > 3", "--alert-post", "file:///x"], "--alert-post: expected an"),
        ([*SPAN, "--alert", "a > 3", "--false-alarms", "60%"], "false_alarm_rate: expected"),
        (["rows.txt", *SPAN], "--from, --to: expected the public range of the windows of a file"),
    ],
)
def test_wrong_uses_are_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.txt").write_text("a\n" * 9)
    given = arguments if arguments[0] == "rows.txt" else ["-", *arguments]
    assert main(["top", *given]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert not captured.out
