"""Alerts of sliding windows: what is reported, once, and at which level."""

from __future__ import annotations

from typing import Any

import pytest
from tests.oracle.windows import Clock

import lazysketch as ls
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ItemError

QUIET: dict[str, Any] = {"epsilon": 16.0, "delta": 1e-6}


def hour(clock: Clock, **changes: Any) -> ls.Sliding:
    asked = {"every": "1min", "span": "10min", "domain": ["a", "b", "c"], **QUIET, **changes}
    return ls.Sliding(clock=clock, **asked)


def reported(alerts: ls.Alerts) -> list[tuple[object, float, str]]:
    return [(one.item, one.above, f"{one.end:%H:%M}") for one in alerts.check()]


def test_an_item_is_reported_once_until_it_has_fallen() -> None:
    """Nearly without noise: the true counts of windows of ten minutes tell every report."""
    clock = Clock(0.0)
    slides = hour(clock)
    alerts = ls.Alerts(slides, [ls.AlertRule(above=500, item="a")])
    found = []
    for minute in range(60):
        clock.now = 60.0 * minute
        slides.update_many(["a"] * (100 if minute % 30 < 10 else 0) + ["b"] * 100)
        found += reported(alerts)
    # The sixth minute makes 600 in a window, and the next time after it has fallen.
    assert found == [("a", 500.0, "00:06"), ("a", 500.0, "00:36")]


@pytest.mark.parametrize("finishes", [False, True])
def test_slices_of_steps_are_watched_by_their_steps(finishes: bool) -> None:
    """Once per item until it has fallen, by the true counts of the last 400 steps."""
    slides = ls.Sliding(every=100, span=400, domain=["a", "b"], **QUIET)
    slides.update_many(["a"] * 100)
    alerts = ls.Alerts(slides, [ls.AlertRule(above=250, item="a")])
    steps = (["a"] * 300 + ["b"] * 400) * 2 + ["a"] * 340
    found = []
    for begin in range(0, len(steps), 70):
        slides.update_many(steps[begin : begin + 70])
        found += [(one.begin, one.end) for one in alerts.check()]
    if finishes:
        slides.finish()
        found += [(one.begin, one.end) for one in alerts.check()]
    steps = ["a"] * 100 + steps
    expected, above = [], False
    for end in range(200, len(steps) + 1, 100):
        begin = max(end - 400, 0)
        now = steps[begin:end].count("a") > 250
        expected += [(begin, end)] if now and not above else []
        above = now
    assert found == expected
    assert len(expected) > 2
    assert ls.FiredAlerts([]).to_dict().keys() >= {"begin", "end"}


def test_slices_that_ended_between_two_checks_are_all_read() -> None:
    clock = Clock(0.0)
    slides = hour(clock)
    alerts = ls.Alerts(slides, [ls.AlertRule(above=50)])
    slides.update_many(["a"] * 100)
    clock.now = 120.0
    slides.update_many(["b"] * 100)
    clock.now = 17 * 60.0
    assert reported(alerts) == [("a", 50.0, "00:01"), ("b", 50.0, "00:03")]
    assert reported(alerts) == []
    later = ls.Alerts(slides, [ls.AlertRule(above=50)])
    assert reported(later) == [], "readings begin with the alerts"


def test_rules_watch_names_or_one_item_each() -> None:
    clock = Clock(0.0)
    slides = hour(clock)
    rules = [ls.AlertRule(above=0, item="c"), ls.AlertRule(above=150), ls.AlertRule(above=250)]
    alerts = ls.Alerts(slides, rules)
    assert alerts.rules == tuple(rules)
    slides.update_many(["a"] * 200 + ["b"] * 300 + ["c"] * 100 + ["other"] * 900)
    clock.now = 60.0
    assert sorted((item, above) for item, above, _ in reported(alerts)) == [
        ("a", 150.0), ("b", 150.0), ("b", 250.0), ("c", 0.0),
    ]  # fmt: skip


def test_the_rate_is_divided_among_readings_and_items(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(0.0)
    slides = hour(clock)
    asked = []

    def interval_many(self: ls.Release, items: list[str], **options: Any) -> ls.Intervals:
        asked.append(options)
        return original(self, items, **options)

    original = ls.Release.interval_many
    monkeypatch.setattr(ls.Release, "interval_many", interval_many)
    rules = [ls.AlertRule(above=10), ls.AlertRule(above=20, item="a")]
    alerts = ls.Alerts(slides, rules, false_alarm_rate=0.02, readings=500)
    slides.update_many(["a"] * 100)
    clock.now = 60.0
    assert [row.item for row in alerts.check()] == ["a", "a"]
    (options,) = asked
    # Three items and one more, at 500 readings: each end misses with 0.02 / 2,000.
    level = (1.0 - options["confidence"]) / 2.0 / options["among"]
    assert level == pytest.approx(0.02 / (4 * 500))


def test_names_that_are_discovered_are_watched() -> None:
    clock = Clock(0.0)
    slides = hour(clock, domain=None, share=0.2, discovery_epoch=1)
    alerts = ls.Alerts(slides, [ls.AlertRule(above=1_000)])
    for minute in range(4):
        clock.now = 60.0 * minute
        slides.update_many(["new"] * 800)
        if minute == 1:
            assert reported(alerts) == []
    assert reported(alerts) == [("new", 1_000.0, "00:02")]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"rules": []}, ArgumentValueError, "rules: expected one or more"),
        ({"rules": ls.AlertRule(above=1)}, ArgumentTypeError, "rules: expected a list"),
        ({"rules": ["a > 3"]}, ArgumentTypeError, "rules: expected a list of AlertRule, got one"),
        ({"false_alarm_rate": 0.5}, ArgumentValueError, "false_alarm_rate: expected a number"),
        ({"false_alarm_rate": 0.0}, ArgumentValueError, "false_alarm_rate"),
        ({"readings": 0}, ArgumentValueError, "readings: expected an integer"),
        ({"windows": 5}, ArgumentTypeError, "windows: expected Sliding, got int"),
    ],
)
def test_refusals(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    asked = {"windows": hour(Clock()), "rules": [ls.AlertRule(above=1)], **changes}
    windows, rules = asked.pop("windows"), asked.pop("rules")
    with pytest.raises(error, match=message):
        ls.Alerts(windows, rules, **asked)


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ({"above": -1}, ArgumentValueError),
        ({"above": "5"}, ArgumentTypeError),
        ({"above": True}, ArgumentTypeError),
        ({"above": float("nan")}, ArgumentValueError),
        ({"above": 1, "item": 2.5}, ItemError),
    ],
)
def test_rules_that_are_refused(rule: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=f"^{'item' if 'item' in rule else 'above'}: expected"):
        ls.AlertRule(**rule)
