"""``lazysketch ranges``: what it shows is the release, and rows without a key are steps."""

from __future__ import annotations

import io
import ipaddress
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.cli import main

ROWS = 6_000
RUN = ["ranges", "clients.csv", "--by", "client", "--epsilon", "4", "--delta", "1e-5"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    chance = np.random.default_rng(5)
    keys = np.concatenate(
        [
            (10 << 24) + chance.integers(0, 1 << 20, ROWS // 2),
            chance.integers(0, 1 << 32, ROWS // 2),
        ]
    )
    rows = [f"/page,{ipaddress.IPv4Address(int(key))}" for key in keys]
    Path("clients.csv").write_text("\n".join(["path,client", *rows]) + "\n")
    return tmp_path


def result_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--output", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def true_count(network: str) -> int:
    rows = Path("clients.csv").read_text().splitlines()[1:]
    keys = (ipaddress.IPv4Address(row.split(",")[1]) for row in rows)
    return sum(key in ipaddress.IPv4Network(network) for key in keys)


def test_ranges_of_a_file_and_of_its_release(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["10.0.0.0/8", "0-4294967296", "128.0.0.0/1"]
    shown = result_of(capsys, *RUN, *asked, "--save-release", "clients.lzs")
    assert [row["range"] for row in shown["items"]] == asked
    release = ls.RangesRelease.load("clients.lzs")
    assert (release.bits, shown["schedule"], shown["finished"]) == (32, "single", True)
    assert (shown["steps"], shown["field"], shown["confidence"]) == (ROWS, "client", 0.95)
    for network in asked[::2]:
        certain = release.prefix(network, confidence=1 - 1e-9)
        assert certain.low <= true_count(network) <= certain.high < ROWS
    assert result_of(capsys, "query", "clients.lzs", *asked)["items"] == shown["items"]
    parts = result_of(capsys, *RUN, "--live")
    assert (len(parts["items"]), parts["schedule"]) == (16, "punctual")
    assert parts["items"][1]["range"] == f"{1 << 28}-{2 << 28}"
    assert main([*RUN, "10.0.0.0/8"]) == 0
    assert "10.0.0.0/8" in capsys.readouterr().out


def test_ports_and_addresses_of_sixteen_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ports").write_text("443\n" * 700 + "50123\n" * 300 + "65536\n-1\nssh\n")
    run = ["ranges", "--format", "lines", "--delta", "1e-5", "--save-release"]
    found = result_of(capsys, *run, "ports.lzs", "ports", "--bits", "16", "0-1024")
    assert (found["steps"], found["items"][0]["range"]) == (1_003, "0-1024")
    release = ls.RangesRelease.load("ports.lzs")
    for low, high, truth in [(0, 1 << 16, 1_000), (0, 1_024, 700)]:
        certain = release.count_between(low, high, confidence=1 - 1e-9)
        assert certain.low <= truth <= certain.high
    Path("six").write_text("2001:db8::1\n" * 600 + "fe80::7\n" * 300 + "10.0.0.1\n" * 100)
    asked = ["2001:db8::/32", "::/0"]
    found = result_of(capsys, *run, "six.lzs", "six", "--bits", "64", *asked)
    assert [row["range"] for row in found["items"]] == asked
    for network, truth in zip(asked, [600, 900], strict=True):
        certain = ls.RangesRelease.load("six.lzs").prefix(network, confidence=1 - 1e-9)
        assert certain.low <= truth <= certain.high


@pytest.mark.parametrize("bits", ["16", "32", "64"])
def test_a_pipe_needs_neither_a_horizon_nor_another_delta(
    bits: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("ports").write_text("443\n" * 40)
    with Path("ports").open("rb") as pipe:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(pipe))
        run = ["ranges", "-", "--format", "lines", "--bits", bits, "--save-release", "piped.lzs"]
        assert result_of(capsys, *run, "0-1024")["steps"] == 40
    privacy = ls.RangesRelease.load("piped.lzs").privacy
    assert (privacy.epsilon, privacy.delta) == (1.0, 1e-8)


def test_a_state_keeps_the_bits(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ports").write_text("443\n" * 50)
    run = ["ranges", "ports", "--format", "lines", "--state", "kept", "--key-file", "key"]
    assert result_of(capsys, *run, "--bits", "16", "--delta", "1e-5")["steps"] == 50
    with Path("ports").open("a") as file:
        file.write("70000\n" + "22\n" * 49)
    found = result_of(capsys, *run, "0-1024", "--save-release", "kept.lzs")
    assert (found["steps"], ls.RangesRelease.load("kept.lzs").bits) == (100, 16)
    assert main([*run, "0-65537"]) == 2
    assert "RANGE: expected keys from 0 to 2^16" in capsys.readouterr().err
    assert main([*run, "--bits", "32"]) == 2
    assert "--bits: expected 16, as in the first run with kept" in capsys.readouterr().err


WEIGHED = ["ranges", "flows.csv", "--by", "port", "--bits", "16", "--delta", "1e-5"]
WEIGHED += ["--epsilon", "8", "--weight", "bytes", "--max-weight", "1500"]


def test_weights_are_added_up_and_clipped(capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["443,1500"] * 400 + ["80,9000"] * 200 + ["50123,20"] * 50 + ["22,none"]
    Path("flows.csv").write_text("\n".join(["port,bytes", *rows]) + "\n")
    found = result_of(capsys, *WEIGHED, "0-100", "100-1000", "--save-release", "flows.lzs")
    assert found["steps"] == 651
    release = ls.RangesRelease.load("flows.lzs")
    assert release.parts[0].privacy.max_weight == 1_500
    for low, high, truth in [(0, 100, 300_000), (100, 1_000, 600_000), (1_000, 65_536, 1_000)]:
        certain = release.count_between(low, high, confidence=1 - 1e-9)
        assert certain.low <= truth <= certain.high
    assert abs(release.total().estimate - 901_000) < 100_000
    windows = result_of(capsys, *WEIGHED, "0-1000", "--window", "651", "--save-release", "w.lzs")
    assert windows["items"][0]["range"] == "0-1000"
    assert abs(ls.RangesRelease.load("w.lzs").total().estimate - 901_000) < 300_000
    assert main([*WEIGHED[:-2], "0-1000"]) == 2
    assert "--max-weight" in capsys.readouterr().err


def test_a_state_keeps_the_largest_weight(capsys: pytest.CaptureFixture[str]) -> None:
    Path("flows.csv").write_text("port,bytes\n" + "443,1500\n" * 300)
    state = ["--state", "kept", "--key-file", "key", "--save-release", "kept.lzs"]
    assert result_of(capsys, *WEIGHED, *state)["steps"] == 300
    with Path("flows.csv").open("a") as file:
        file.write("80,1500\n" * 300)
    assert result_of(capsys, "ranges", "flows.csv", *state)["steps"] == 600
    release = ls.RangesRelease.load("kept.lzs")
    assert release.parts[0].privacy.max_weight == 1_500
    assert abs(release.total().estimate - 900_000) < 200_000


def test_a_ledger_is_charged(capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs fit the cap by themselves, and not together."""
    place = ["--ledger", "spent", "--ledger-key-file", "key", "--ledger-anchor", "anchor"]
    made = ["spent", "--population", "all", "--epsilon", "1.2", "--delta", "1e-6"]
    assert main(["ledger", "init", *made, "--key-file", "key", "--anchor", "anchor"]) == 0
    run = [*RUN[:-4], *place, "--population", "all"]
    assert main(run) == 0
    capsys.readouterr()
    assert main(run) == 2
    found = capsys.readouterr()
    assert "cap" in found.err
    assert not found.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bits", "65"], "--bits"),
        (["--width", "1"], "--width: expected an integer from 2 to 16777216, got 1"),
        (["9-3"], "RANGE: expected keys from 0 to 2^32, the lower one first"),
        (["0-4294967297"], "RANGE: expected keys from 0 to 2^32"),
        (["2001:db8::/32"], "RANGE: expected one such as '10.0.0.0/8', got another text"),
        (["10.0.0.0/8", "--bits", "16"], "RANGE: expected keys of 32 bits (IPv4) or 64 (IPv6)"),
        (["2001:db8::/80", "--bits", "64"], "RANGE: expected a prefix of at most 64 bits"),
        (["--by", "nothing"], "nothing"),
    ],
)
def test_what_cannot_be_counted_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main([*RUN, *arguments]) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert not found.out


def test_ranges_alone_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ranges", "10.0.0.0/8"]) == 2
    assert "expected at least one FILE, got ranges alone" in capsys.readouterr().err
