"""What a result must show, as its definition says; and a quick run against the recorded one.

===========  ====================================================================================
kind         what must hold
===========  ====================================================================================
``ratio``    series / than at every value lies between ``least`` and ``most``
``slope``    the exponent of the series against the axis does (``against = "log"``: its log2)
``falls``    the series at ``to`` over that at ``from`` does
``value``    the series, or every one, does
``beyond``   audited over claimed epsilon does
===========  ====================================================================================

A comparison of means fails only beyond four standard errors: if it holds just barely, chance makes
it fail once in 30,000 comparisons (normal). Timings are compared by medians, within one run.

A quick run has seeds of its own. Each of its average errors must lie where a new mean of so few
trials is expected after the recorded ones: Student's prediction interval for the mean of the
logarithm. All of them together fail by chance once in 10,000 runs, as far as logarithms of errors
are normal; as seeds are fixed, a pass stays a pass until the code changes. Noise that is half or
twice what it was, and 30 % of the columns missing, are seen
(tests/unit/experiments/test_experiments.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.definition import Definition, Value
from experiments.summary import Estimate, Result

__all__ = ["ALARM", "COMPARISONS", "Verdict", "exponent", "student_quantile", "verdicts"]

ALARM = 1e-4  # of a whole quick run
COMPARISONS = 128  # of one quick run, at most: they share the alarm
_STANDARD_ERRORS = 4.0
_TIMED = ("ns per event, plain", "ns per event, ours", "time")


@dataclass(frozen=True)
class Verdict:
    """Whether an expectation was met.

    Args:
        what: the expectation.
        seen: what was found.
        passed: whether it was met.
    """

    what: str
    seen: str
    passed: bool


def verdicts(definition: Definition, result: Result, recorded: Result | None) -> list[Verdict]:
    """Return what a result says to all expectations.

    Args:
        definition: the experiment.
        result: what was found.
        recorded: what a quick run is held against, or None.

    Returns:
        One verdict per expectation that the values at hand can decide.
    """
    found = [each for entry in definition.expect if (each := _verdict(entry, result))]
    if recorded is not None and recorded.digest == definition.digest:
        found += list(_against(result, recorded))
    return found


def _centre(metric: str, estimate: Estimate) -> float:
    return estimate.median if metric in _TIMED else estimate.mean


def _verdict(entry: Mapping[str, Any], result: Result) -> Verdict | None:
    pairs = _KINDS[entry["kind"]](entry, result)
    if not pairs:
        return None
    least, most = float(entry.get("least", -math.inf)), float(entry.get("most", math.inf))
    passed = all(least - slack <= value <= most + slack for _, value, slack in pairs)
    worst = min(pairs, key=lambda each: min(each[1] - least, most - each[1]))
    where = f" at {worst[0]}" if worst[0] else ""
    return Verdict(str(entry["what"]), f"{worst[1]:.3g}{where} {_band(least, most)}", passed)


def _band(least: float, most: float) -> str:
    if math.isinf(least):
        return f"(at most {most:g})"
    return f"(at least {least:g})" if math.isinf(most) else f"({least:g} to {most:g})"


# What each kind looks at: (where, value, four standard errors of it).
Looked = list[tuple[str, float, float]]


def _ratio(entry: Mapping[str, Any], result: Result) -> Looked:
    metric = entry["metric"]
    one, other = result.line(entry["series"], metric), result.line(entry["than"], metric)
    shared = [x for x in entry.get("at", one) if x in one and x in other]
    return [(f"{x:g}", *_quotient(metric, one[x], other[x])) for x in shared]


def _quotient(metric: str, one: Estimate, other: Estimate) -> tuple[float, float]:
    ratio = _centre(metric, one) / _centre(metric, other)
    if metric in _TIMED:
        return ratio, 0.0
    relative = math.hypot(one.error / one.mean, other.error / other.mean)
    return ratio, _STANDARD_ERRORS * ratio * relative


def exponent(
    line: Mapping[Value, Estimate], metric: str, *, logarithmic: bool = False
) -> float | None:
    """Return the exponent of a series against its axis, by least squares of logarithms.

    Args:
        line: of a plot.
        metric: what was measured.
        logarithmic: against log2 of the axis instead.

    Returns:
        The slope, or None with less than three points.
    """
    points = [(float(x), _centre(metric, each)) for x, each in line.items()]
    if len(points) < 3:
        return None
    xs, ys = np.array(points).T
    if (ys <= 0).any():
        return None
    xs = np.log2(xs) if logarithmic else xs
    return float(np.polyfit(np.log(xs), np.log(ys), 1)[0])


def _slope(entry: Mapping[str, Any], result: Result) -> Looked:
    whole = result.line(entry["series"], entry["metric"])
    line = {x: each for x, each in whole.items() if x in entry.get("at", whole)}
    found = exponent(line, entry["metric"], logarithmic=entry.get("against") == "log")
    return [] if found is None else [("", found, 0.0)]


def _falls(entry: Mapping[str, Any], result: Result) -> Looked:
    line = result.line(entry["series"], entry["metric"])
    if entry["from"] not in line or entry["to"] not in line:
        return []
    return [("", *_quotient(entry["metric"], line[entry["to"]], line[entry["from"]]))]


def _value(entry: Mapping[str, Any], result: Result) -> Looked:
    metric = entry["metric"]
    names = [entry["series"]] if "series" in entry else result.series
    return [
        (f"{name}, {x:g}", _centre(metric, each), _STANDARD_ERRORS * each.error)
        for name in names
        for x, each in result.line(name, metric).items()
        if x in entry.get("at", [x])
    ]


def _beyond(entry: Mapping[str, Any], result: Result) -> Looked:
    claimed = result.line(entry["series"], "epsilon claimed")
    audited = result.line(entry["series"], "epsilon audited")
    shared = [x for x in entry["at"] if x in claimed]
    return [(f"mu {x:g}", audited[x].mean / claimed[x].mean, 0.0) for x in shared]


_KINDS = {
    "beyond": _beyond,
    "falls": _falls,
    "ratio": _ratio,
    "slope": _slope,
    "value": _value,
}


def _against(result: Result, recorded: Result) -> Iterator[Verdict]:
    """Every average error of a quick run beside the recorded one."""
    for series in result.series:
        for x, new in result.line(series, "are").items():
            old = recorded.line(series, "are").get(x)
            if old is None or old.trials < 3:
                continue
            # Exact sketches often have no error at all, and then no logarithm of one.
            if not math.isnan(old.log_deviation) and not math.isnan(new.log_mean):
                yield _predicted(f"{series} at {x}", new, old)


def _predicted(name: str, new: Estimate, old: Estimate) -> Verdict:
    quantile = student_quantile(ALARM / COMPARISONS / 2, degrees=old.trials - 1)
    spread = old.log_deviation * math.sqrt(1 / new.trials + 1 / old.trials)
    low, high = (math.exp(old.log_mean + sign * quantile * spread) for sign in (-1, 1))
    found = math.exp(new.log_mean)
    return Verdict(
        f"{name}: the error is as recorded",
        f"{found:.3g} ({low:.3g} to {high:.3g})",
        low <= found <= high,
    )


def student_quantile(tail: float, *, degrees: int) -> float:
    """Return what Student's t exceeds with a probability.

    Args:
        tail: of the upper side, at most 0.5.
        degrees: of freedom, at least 1.

    Returns:
        By integration over t = sqrt(degrees) tan(angle) and bisection, to six digits.

    Example:
        >>> round(student_quantile(0.025, degrees=19), 3)
        2.093
    """
    angles = np.linspace(0, math.pi / 2, 200_001)
    heights = np.cos(angles) ** (degrees - 1)
    areas = np.concatenate([[0.0], np.cumsum((heights[1:] + heights[:-1]) / 2)])
    beyond = (1 - areas / areas[-1]) / 2
    at = float(np.interp(-tail, -beyond, angles))
    return math.sqrt(degrees) * math.tan(at)
