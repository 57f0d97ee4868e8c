"""Errors of sliding windows of a real stream, predicted before any event.

The data are not part of the repository; the test is skipped if they are missing.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from datetime import datetime
from functools import partial
from itertools import chain

import numpy as np
import pytest
from tests.locations import DATA

import lazysketch as ls
from lazysketch.windows.sliding_noise import window_variances

FLOWS = DATA / "ctu13_s11_netflow" / "flows_pseudonymised.csv.gz"
SPAN, ITEMS, DEPTH = 60, 30, 4
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "depth": DEPTH, "width": 4096}


def flows_by_second() -> list[list[str]]:
    """The destinations of all flows, by the second of their begin."""
    with gzip.open(FLOWS, "rt", encoding="utf-8") as lines:
        rows = [(row["StartTime"], row["DstAddr"]) for row in csv.DictReader(lines)]
    times = [datetime.fromisoformat(time.replace("/", "-")).timestamp() for time, _ in rows]
    first = int(min(times))
    seconds: list[list[str]] = [[] for _ in range(int(max(times)) - first + 1)]
    for time, (_, address) in zip(times, rows, strict=True):
        seconds[int(time) - first].append(address)
    return seconds


@pytest.mark.skipif(not FLOWS.exists(), reason="no real streams in ../shared/data")
def test_errors_are_those_that_were_predicted() -> None:
    """The last minute at every second of a quarter of an hour: RMS errors of 30 heavy addresses.

    Predicted: the noise of a cell over the rows of an item; other addresses in its cells are few.
    About 450 errors are independent of each other, so the RMS of a run is within 5 % of its mean;
    30 % is beyond six deviations.
    """
    seconds = flows_by_second()
    listed = [item for item, _ in Counter(chain(*seconds)).most_common(ITEMS)]
    for block in (1, 60, 480):
        now = [0.0]
        slides = ls.Sliding(
            every="1s",
            span="1min",
            block=block,
            domain=listed,
            clock=partial(now.__getitem__, 0),
            **PROMISE,
        )
        errors = []
        for second, flows in enumerate(seconds):
            now[0] = float(second)
            slides.update_many(flows)
            if second >= SPAN and second % 5 == 0:
                window = slides.window()
                assert window is not None
                counts = Counter(chain(*seconds[second - SPAN : second]))
                found = window.release.decode(listed)
                errors.append(found - [counts[item] for item in listed])
        spec = ls.LazyCountMin(horizon=1, schedule=None, **PROMISE).privacy
        unit = spec.noise_multiplier**2 * 2 * DEPTH
        predicted = np.sqrt(unit * window_variances(block, SPAN).mean() / DEPTH)
        measured = np.sqrt((np.array(errors) ** 2).mean())
        assert measured == pytest.approx(predicted, rel=0.3), f"blocks of {block} slices"
