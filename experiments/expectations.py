"""Expectations of the definitions, and the comparison of a quick run with the record.

===========  ====================================================================================
kind         the quantity that must lie between ``least`` and ``most``
===========  ====================================================================================
``ratio``    series / than, at every value
``slope``    the exponent of the series against the axis (``against = "log"``: against its log2)
``falls``    the series at ``to`` divided by the series at ``from``
``value``    the series, or every series, at every value
``beyond``   audited epsilon divided by claimed epsilon
===========  ====================================================================================

A comparison of means fails only beyond four standard errors: one that holds exactly fails by chance
once in 30,000 comparisons (normal). Timings are compared by medians, within one run.

A quick run has its own seeds. Each of its average errors must lie in Student's prediction interval
for the mean of the logarithm, computed from the recorded trials. The false-alarm rate of all of
them together is 1 in 10,000 runs, if logarithms of errors are normal; as seeds are fixed, a pass
stays a pass until the code changes. Noise that is halved or doubled, and a loss of 30 % of the
columns, are detected (tests/unit/experiments/test_experiments.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from experiments.definition import Definition, Expectation, Value
from experiments.summary import Estimate, Result

__all__ = ["ALARM", "COMPARISONS", "Verdict", "exponent", "student_quantile", "verdicts"]

ALARM = 1e-4  # false-alarm rate of a whole quick run
COMPARISONS = 128  # of one quick run, at most; the false-alarm rate is split among them
_STANDARD_ERRORS = 4.0
_TIMED = ("ns per event, plain", "ns per event, ours", "time")


@dataclass(frozen=True)
class Verdict:
    """The outcome of an expectation.

    Args:
        what: the expectation in words.
        seen: the value found, and the limits.
        passed: True if the expectation is met.
    """

    what: str
    seen: str
    passed: bool


def verdicts(definition: Definition, result: Result, recorded: Result | None) -> list[Verdict]:
    """Return the outcomes of all expectations.

    Args:
        definition: the experiment.
        result: its result.
        recorded: the record that a quick run is compared with, or None.

    Returns:
        One verdict per expectation that the measured values can decide.
    """
    found = [each for entry in definition.expect if (each := _verdict(entry, result))]
    if recorded is not None and recorded.digest == definition.digest:
        found += list(_against(result, recorded))
    return found


def _centre(metric: str, estimate: Estimate) -> float:
    return estimate.median if metric in _TIMED else estimate.mean


def _verdict(entry: Expectation, result: Result) -> Verdict | None:
    pairs = _KINDS[entry.kind](entry, result)
    if not pairs:
        return None
    least, most = entry.least, entry.most
    passed = all(least - slack <= value <= most + slack for _, value, slack in pairs)
    worst = min(pairs, key=lambda each: min(each[1] - least, most - each[1]))
    where = f" at {worst[0]}" if worst[0] else ""
    return Verdict(entry.what, f"{worst[1]:.3g}{where} {_band(least, most)}", passed)


def _band(least: float, most: float) -> str:
    if math.isinf(least):
        return f"(at most {most:g})"
    return f"(at least {least:g})" if math.isinf(most) else f"({least:g} to {most:g})"


# The quantities of an expectation: (position, value, four standard errors of it).
Quantities = list[tuple[str, float, float]]


def _ratio(entry: Expectation, result: Result) -> Quantities:
    metric = entry.metric
    one, other = result.line(entry.series, metric), result.line(entry.than, metric)
    shared = [x for x in entry.at or one if x in one and x in other]
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
        line: one line of a plot.
        metric: the metric of the line.
        logarithmic: True for the exponent against log2 of the axis.

    Returns:
        The slope, or None with fewer than three points.
    """
    points = [(float(x), _centre(metric, each)) for x, each in line.items()]
    if len(points) < 3:
        return None
    xs, ys = np.array(points).T
    if (ys <= 0).any():
        return None
    xs = np.log2(xs) if logarithmic else xs
    return float(np.polyfit(np.log(xs), np.log(ys), 1)[0])


def _slope(entry: Expectation, result: Result) -> Quantities:
    complete = result.line(entry.series, entry.metric)
    line = {x: each for x, each in complete.items() if not entry.at or x in entry.at}
    found = exponent(line, entry.metric, logarithmic=entry.logarithmic)
    return [] if found is None else [("", found, 0.0)]


def _falls(entry: Expectation, result: Result) -> Quantities:
    line = result.line(entry.series, entry.metric)
    if entry.start not in line or entry.end not in line:
        return []
    return [("", *_quotient(entry.metric, line[entry.end], line[entry.start]))]


def _value(entry: Expectation, result: Result) -> Quantities:
    names = [entry.series] if entry.series else result.series
    return [
        (f"{name}, {x:g}", _centre(entry.metric, each), _STANDARD_ERRORS * each.error)
        for name in names
        for x, each in result.line(name, entry.metric).items()
        if not entry.at or x in entry.at
    ]


def _beyond(entry: Expectation, result: Result) -> Quantities:
    claimed = result.line(entry.series, "epsilon claimed")
    audited = result.line(entry.series, "epsilon audited")
    shared = [x for x in entry.at if x in claimed]
    return [(f"mu {x:g}", audited[x].mean / claimed[x].mean, 0.0) for x in shared]


_KINDS = {
    "beyond": _beyond,
    "falls": _falls,
    "ratio": _ratio,
    "slope": _slope,
    "value": _value,
}


def _against(result: Result, recorded: Result) -> Iterator[Verdict]:
    """Compare every average error of a quick run with the recorded one."""
    for series in result.series:
        for x, new in result.line(series, "are").items():
            old = recorded.line(series, "are").get(x)
            if old is None or old.trials < 3:
                continue
            # Exact sketches often have an error of 0, which has no logarithm.
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
    """Return the upper quantile of Student's t.

    Args:
        tail: probability that t exceeds the quantile, at most 0.5.
        degrees: degrees of freedom, at least 1.

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
