"""``demo``: reproducible data, known truth, fresh noise."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from lazysketch.cli import main
from lazysketch.cli.commands.demo import ITEMS, SKEW, Traffic

SMALL = ["--events", "200000", "-k", "5"]


def demo(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["demo", *SMALL, "--output", "json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def counted(traffic: Traffic) -> Counter[str]:
    return Counter(traffic.items[i] for block in traffic.blocks() for i in block.tolist())


def test_private_counts_come_with_the_true_ones(capsys: pytest.CaptureFixture[str]) -> None:
    found = demo(capsys)
    truth = counted(Traffic(events=200_000, seed=1, field="path"))
    for row in found["items"]:
        assert row["true"] == truth[row["item"]]
        assert row["relative_error"] == pytest.approx(row["estimate"] / row["true"] - 1)
    assert found["items"][0]["item"] == truth.most_common(1)[0][0]
    assert found["mean_relative_error"] < 0.2
    assert found["found_of_true_top"] >= 4
    assert found["steps"] == 200_000
    assert found["generated"] is True
    assert found["events_per_second"] > 0


def test_the_seed_fixes_the_data_and_not_the_noise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = [demo(capsys, "--seed", "7") for _ in range(2)]
    true = [{row["item"]: row["true"] for row in run["items"]} for run in runs]
    shared = true[0].keys() & true[1].keys()
    assert shared
    assert all(true[0][item] == true[1][item] for item in shared)
    estimates = [[row["estimate"] for row in run["items"]] for run in runs]
    assert estimates[0] != estimates[1]
    assert demo(capsys, "--seed", "8")["items"][0]["true"] != runs[0]["items"][0]["true"]


def test_the_table_states_that_the_data_are_generated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", *SMALL, "--field", "host"]) == 0
    out = capsys.readouterr().out
    for part in ("generated, not real traffic", "client addresses", "events/s"):
        assert part in out
    assert " 10." in out


def test_one_event_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--events", "1", "-k", "1"]) == 0
    assert "\n1 step of generated data" in capsys.readouterr().out


@pytest.mark.parametrize("field", ["path", "host"])
def test_all_items_differ(field: str) -> None:
    items = Traffic(events=1, seed=0, field=field).items
    assert len(set(items)) == len(items) == ITEMS


def test_the_stream_has_its_length_and_distribution() -> None:
    events = 300_001
    blocks = list(Traffic(events=events, seed=3, field="path").blocks())
    assert sum(map(len, blocks)) == events
    seen = np.bincount(np.concatenate(blocks), minlength=ITEMS)
    weights = np.arange(1, ITEMS + 1) ** -SKEW
    expected = events * weights / weights.sum()
    # Fixed seed; the bound is six standard deviations for each of the 50 first ranks.
    assert np.all(np.abs(seen - expected)[:50] < 6 * np.sqrt(expected[:50]))
