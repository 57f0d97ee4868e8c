"""Sliding windows: noise, intervals and alarms are those that are stated, with fresh keys.

Noise is tested from both sides, at ends within a block and across blocks. Every trial of intervals
and of alarms has windows of its own, so the number of failures is binomial, and Chernoff's bound
gives the p-values. Planted wrong answers are rejected; false-alarm rates: `declared`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.statistical import declared
from tests.statistical.misses import narrowed, too_few, too_many

import lazysketch as ls
from lazysketch.audit import p_values
from lazysketch.windows import published_slides

BUDGET = declared.budget("sliding windows")
NOISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
TRIALS, PLANTED, ITEMS, CONFIDENCE = 100, 40, 60, 0.8
WEIGHTS = np.arange(1, ITEMS + 1) ** -1.1
READINGS, RATE, WATCHED, PER_SLICE = 24, 0.2, 7, 300


def at(seconds: int, **options: Any) -> ls.Sliding:
    """Windows without events, after some seconds."""
    now = [0.0]
    asked = {"every": "1s", "depth": 4, "width": 2048, "domain": ["a"], **NOISE, **options}
    slides = ls.Sliding(clock=lambda: now[0], **asked)
    now[0] = float(seconds)
    return slides


def standardised(release: ls.Release) -> NDArray[np.float64]:
    """Values of a table of noise alone in stated deviations; rounding adds 1/500 at most."""
    values: NDArray[np.float64] = (release.table / release.noise_deviation).ravel()
    return values


@pytest.mark.parametrize(
    ("span", "block", "end"), [(5, 32, 27), (5, 32, 34), (20, 8, 45), (6, 1, 9), (30, None, 41)]
)
def test_noise_of_windows(span: int, block: int | None, end: int) -> None:
    """Within a block, from one to the next, over whole blocks, of slices, and as chosen."""
    release = at(end, span=f"{span}s", block=block).release()
    what = f"window of {span} in blocks of {block}"
    BUDGET.check(p_values.mean(standardised(release)), f"mean: {what}")
    BUDGET.check(p_values.variance(standardised(release)), f"variance: {what}")
    deviation = float(release.noise_deviation[0])
    BUDGET.check(p_values.shape(release.table.ravel(), deviation), f"shape: {what}")


def of_both(self: ls.Mechanism, late: Any, early: Any) -> NDArray[np.float64]:
    """Planted: the variance of a difference of independent prefixes."""
    return self.variances(late) + self.variances(early)


def of_one(self: ls.Mechanism, late: Any, early: Any) -> NDArray[np.float64]:
    """Planted: the variance of one prefix."""
    del early
    return self.variances(late)


@pytest.mark.parametrize("planted", [of_both, of_one])
def test_wrong_variances_are_rejected(planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    release = at(27, span="5s", block=32).release()
    monkeypatch.setattr(ls.Mechanism, "difference_variances", planted)
    again = ls.Release.from_bytes(release.to_bytes())
    assert p_values.variance(standardised(again)) <= BUDGET.alpha


def missed(rng: np.random.Generator, *, width: float = 1.0) -> bool:
    """Whether any count of a list is outside of its interval, in a window of many."""
    now, counted = [0.0], []
    slides = ls.Sliding(
        every="1s", span="6s", block=4, domain=range(ITEMS), depth=3, width=256,
        clock=lambda: now[0], **NOISE,
    )  # fmt: skip
    for second in range(12):
        now[0] = float(second)
        counted.append(rng.choice(ITEMS, 2_000, p=WEIGHTS / WEIGHTS.sum()))
        slides.update_many(counted[-1])
    ago = int(rng.integers(0, 5))
    now[0] = 12.0
    window = slides.window(ago)
    assert window is not None
    stop = 12 - ago
    true = np.bincount(np.concatenate(counted[stop - 6 : stop]), minlength=ITEMS)
    found = window.release.interval_many(
        list(range(ITEMS)), confidence=CONFIDENCE, simultaneous=True
    )
    ends = [narrowed(one.estimate, one.low, one.high, by=width) for one in found]
    return any(
        not low <= count <= high for (low, high), count in zip(ends, true.tolist(), strict=True)
    )


def test_intervals_of_windows_cover() -> None:
    rng = np.random.default_rng(3)
    found = sum(missed(rng) for _ in range(TRIALS))
    BUDGET.check(too_many(found, of=TRIALS, confidence=CONFIDENCE), "intervals cover")
    found = sum(missed(rng, width=0.3) for _ in range(TRIALS))
    BUDGET.check(too_few(found, of=TRIALS, least=0.5), "0.3 of the width does not")


def test_a_window_off_by_one_slice_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a window that begins with the slice before its first one."""
    original = published_slides.window_between

    def shifted(ends: Any, asked: int, *, every: int) -> ls.Window:
        return original(ends[:-1], asked, every=every)

    monkeypatch.setattr(published_slides, "window_between", shifted)
    rng = np.random.default_rng(4)
    found = sum(missed(rng) for _ in range(PLANTED))
    assert too_many(found, of=PLANTED, confidence=CONFIDENCE) <= BUDGET.alpha


def fired(*, above: int, readings: int = READINGS, rate: float = RATE) -> bool:
    """Whether a count that is ``above`` its threshold in every window is reported in any."""
    now = [0.0]
    slides = ls.Sliding(
        every="1s",
        span="4s",
        domain=range(ITEMS),
        depth=3,
        width=256,
        clock=lambda: now[0],
        **NOISE,
    )
    threshold = 4 * PER_SLICE - above
    events = np.append(np.full(PER_SLICE, WATCHED), np.arange(ITEMS - 1).repeat(5))
    events = events[(events != WATCHED) | (np.arange(len(events)) < PER_SLICE)]
    for second in range(4):
        now[0] = float(second)
        slides.update_many(events)
    rule = ls.AlertRule(above=threshold, item=WATCHED)
    alerts = ls.Alerts(slides, [rule], false_alarm_rate=rate, readings=readings)
    for second in range(4, 4 + READINGS):
        now[0] = float(second)
        slides.update_many(events)
        if alerts.check():
            return True
    return False


def test_alarms_are_as_rare_as_stated() -> None:
    """A count at its threshold in all readings is reported in any of them with the rate at most."""
    found = sum(fired(above=0) for _ in range(TRIALS))
    BUDGET.check(too_many(found, of=TRIALS, confidence=1.0 - RATE), "false alarms")
    found = sum(fired(above=200) for _ in range(TRIALS))
    BUDGET.check(too_few(found, of=TRIALS, least=0.7), "counts above the threshold")


def test_a_rate_for_each_reading_is_rejected() -> None:
    """Planted: the rate is not divided among the readings."""
    found = sum(fired(above=0, readings=1, rate=0.45) for _ in range(PLANTED))
    assert too_many(found, of=PLANTED, confidence=1.0 - RATE) <= BUDGET.alpha
