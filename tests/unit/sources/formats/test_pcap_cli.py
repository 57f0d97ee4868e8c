"""Captures on the command line, from files and live pipes, to the counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.oracle import captures as made
from tests.oracle.captures import ETHERNET, framed, ip

from lazysketch.cli import main

CLEAR = ["--epsilon", "12", "--width", "16", "--output", "json"]
WEB = framed(ip("10.0.0.1", "203.0.113.9", ports=(40_000, 443)), ETHERNET)
NAMES = framed(ip("10.0.0.2", "203.0.113.53", protocol=17, ports=(9, 53)), 1)
TRAFFIC = ([WEB] * 2 + [NAMES, made.arp()]) * 1000
SLACK = 100  # for noise with a standard deviation of about 5, and for lag


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("traffic.pcap").write_bytes(made.pcap(TRAFFIC))
    Path("hosts.txt").write_text("203.0.113.9\n203.0.113.53\n198.51.100.1\n")


def answer(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[dict[str | int, float], dict[str, Any], str]:
    assert main([*arguments, *CLEAR]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    return {row["item"]: row["estimate"] for row in found["items"]}, found, captured.err


@pytest.mark.parametrize("option", ["--by", "--field"])
def test_a_file_by_a_field(capsys: pytest.CaptureFixture[str], option: str) -> None:
    asked = ["top", "traffic.pcap", option, "dst", "--domain", "hosts.txt"]
    counts, found, err = answer(capsys, *asked)
    assert list(counts)[:2] == ["203.0.113.9", "203.0.113.53"]
    assert abs(counts["203.0.113.9"] - 2000) < SLACK
    assert abs(counts["203.0.113.53"] - 1000) < SLACK
    assert (found["steps"], found["format"], found["field"]) == (4000, "pcap", "dst")
    assert "4,000 rows" in err
    assert "1,000 of them without the field (for the operator" in err
    assert "malformed" not in err


def test_ports_are_integers(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ports.txt").write_text("443\n53\n80\n")
    asked = ["estimate", "traffic.pcap", "--by", "dport", "--items", "ports.txt"]
    counts, _, _ = answer(capsys, *asked, "--items-type", "int")
    assert abs(counts[443] - 2000) < SLACK
    assert abs(counts[80]) < SLACK
    assert main(asked) == 2
    assert "expected int for field 'dport' of format 'pcap'" in capsys.readouterr().err


def test_flows_and_protocols(capsys: pytest.CaptureFixture[str]) -> None:
    flow = "tcp 10.0.0.1:40000 > 203.0.113.9:443"
    Path("flows.txt").write_text(f"{flow}\nudp\n")
    asked = ["estimate", "traffic.pcap", "--items", "flows.txt", "--by"]
    assert abs(answer(capsys, *asked, "flow")[0][flow] - 2000) < SLACK
    assert abs(answer(capsys, *asked, "proto")[0]["udp"] - 1000) < SLACK


def test_bytes_instead_of_packets(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["estimate", "traffic.pcap", "--by", "dst", "--items", "hosts.txt"]
    counts, found, err = answer(capsys, *asked, "--weight", "size", "--max-weight", "100")
    size = WEB.size
    assert found["privacy"]["max_weight"] == 100
    assert abs(counts["203.0.113.9"] - 2000 * size) < 100 * SLACK
    assert f"total weight {3000 * size:,}, 0 weights clipped" in err


def test_a_pipe_in_small_pieces() -> None:
    command = [sys.executable, "-m", "lazysketch", "top", "-", "--domain", "hosts.txt", *CLEAR]
    with subprocess.Popen(
        [*command, "--format", "pcap", "--by", "dst"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        data = Path("traffic.pcap").read_bytes()
        assert process.stdin
        for begin in range(0, 600, 7):
            process.stdin.write(data[begin : begin + 7])
            process.stdin.flush()
        out, err = process.communicate(data[begin + 7 :])
    assert process.returncode == 0, err
    found = json.loads(out)
    assert found["steps"] == 4000
    assert abs(found["items"][0]["estimate"] - 2000) < SLACK


def test_a_truncated_capture_shows_what_was_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = Path("traffic.pcap").read_bytes()
    Path("traffic.pcap").write_bytes(data[:-7])
    asked = ["estimate", "traffic.pcap", "--by", "dst", "--items", "hosts.txt", *CLEAR]
    record = 16 + made.arp().size
    message = (
        "traffic.pcap: expected a whole capture, got one that is cut short, after packet 3,999 "
        f"and byte {len(data) - record:,}; {record - 7} bytes were not read\n"
    )
    # What is published at the end only is not published after a failure of the content.
    assert main(asked) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert main([*asked, "--save-release", "on-the-way.lzs", "--save-every", "1h"]) == 2
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["steps"] == 3999
    assert abs(found["items"][0]["estimate"] - 2000) < SLACK
    assert captured.err.endswith(message)
    assert main([*asked, "--strict"]) == 2
    assert capsys.readouterr().out == ""


def test_a_horizon_ends_a_capture_among_absent_rows(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["estimate", "traffic.pcap", "--by", "dst", "--items", "hosts.txt", *CLEAR]
    assert main([*asked, "--horizon", "402"]) == 2
    assert json.loads(capsys.readouterr().out)["steps"] == 402
