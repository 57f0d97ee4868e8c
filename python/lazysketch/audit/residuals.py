"""Residuals: the release minus the exact published count has the distribution that is claimed.

For any case, end to end: the library is fed the stream; the table comes from Python, a release on
disk, or the command line; the exact counts come from an exact sketch with the same hash seed and
the audit's own schedule; the distribution comes from :mod:`lazysketch.audit.claimed_noise`. One
table with 8192 cells detects a deviation that is wrong by 10 % with p below 1e-25.

Detects: a wrong sigma, level, variance or shape; noise that depends on the count, or is missing; a
push too early, too late or with the wrong events; noise shared by two nodes. Cannot detect: a
deviation that is wrong by less than about 3 % (8192 cells), or draws shared by two of many cells
(:mod:`lazysketch.audit.hygiene` does).
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit import p_values
from lazysketch.audit.case import NO_EVENT, Case, places
from lazysketch.audit.claimed_noise import ClaimedNoise
from lazysketch.audit.finding import Outcome, exact_outcome, statistical_outcome
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.system_under_test import SystemUnderTest, Table
from lazysketch.errors import LazySketchError
from lazysketch.releases.release import Release
from lazysketch.specification.schedules import RoundRobin

__all__ = [
    "check_command_line",
    "check_releases",
    "check_saved_release",
    "check_transcripts",
    "of_residuals",
    "stream",
]

UNIVERSE = 40
FEWEST = 64  # values for a test of the variance; for fewer, rounding is not negligible
TRANSCRIPT = 16  # pushes that are tested jointly
Sample = NDArray[np.float64]


def stream(steps: int) -> Integers:
    """Return item numbers with Zipf-like shares, a fifth of the steps without an event.

    Args:
        steps: number of steps.

    Returns:
        int64 array, equal in every call.
    """
    generator = np.random.default_rng(2)
    shares = 1 / np.arange(1, UNIVERSE + 1) ** 1.3
    numbers = generator.choice(UNIVERSE, size=steps, p=shares / shares.sum())
    return np.where(generator.random(steps) < 0.2, NO_EVENT, numbers).astype(np.int64)


def _read_steps(case: Case) -> list[int]:
    """Up to three steps: after the first round, in the middle of a round, and late."""
    most = min(case.leaves, 46)
    if most == 1:
        return [case.end_of_round(1)]
    middle, late = max(2, most // 2), max(2, most - 1)
    inside = (case.end_of_round(middle) + case.end_of_round(middle - 1)) // 2
    found = {case.end_of_round(1), inside, case.end_of_round(late)}
    return sorted(step for step in found if step > 0)


def check_releases(system: SystemUnderTest, case: Case, *, seconds: float = 0.0) -> Outcome:
    """Test the residuals of a stream at several steps, under fresh keys.

    Args:
        system: the system under test.
        case: the tables; wide, because every cell is a sample.
        seconds: keep making tables for this time; one table by default. The stopping time depends
            on the clock only, never on the results.

    Returns:
        Tests of the mean, variance and shape per push; of the covariance of two reads; of the
        variance where the count is zero and where it is not; of no correlation with the count.
    """
    steps = _read_steps(case)
    items = stream(steps[-1])

    made, end = 0, time.monotonic() + seconds

    def tested() -> Iterator[tuple[str, float]]:
        nonlocal made
        while not made or time.monotonic() < end:
            hash_seed = 11 + made
            made += 1
            live = system.open(case, hash_seed=hash_seed)
            noise = case.claimed_noise(live.mechanism)
            yield "stated sigma", float(live.sigma >= noise.sigma * (1 - 1e-9))
            tables, taken = [], 0
            for step in steps:
                live.feed(items[taken:step])
                taken = step
                tables.append(live.read())
            truths = [case.published(items, hash_seed=hash_seed, step=step) for step in steps]
            yield from _of_one_table(case, noise, steps, tables, truths)

    claim = "released - exact = rounded Gaussian noise as claimed"
    found = statistical_outcome(claim, tested(), samples=0)
    return replace(found, samples=made * case.cells * len(steps))


def _of_one_table(
    case: Case,
    noise: ClaimedNoise,
    steps: list[int],
    tables: list[Table],
    truths: list[Integers],
) -> Iterator[tuple[str, float]]:
    known: list[tuple[Integers, Sample]] = []
    for step, table, truth in zip(steps, tables, truths, strict=True):
        yield f"integers at step {step}", float(np.array_equal(table, np.rint(table)))
        pushes, _ = case.progress(step)
        unpublished = table[:, pushes == 0]
        yield f"zero before the first push, step {step}", float(not unpublished.any())
        residuals = np.asarray(table - truth, np.float64)
        yield from of_residuals(noise, pushes, residuals, truth)
        known.append((pushes, residuals))
    for (p, one), (q, other) in itertools.combinations(known, 2):
        for push, later in sorted(set(zip(p.tolist(), q.tolist(), strict=True))):
            if push > 0:
                at = (p == push) & (q == later)
                yield from _of_two_reads(noise, (push, one[:, at]), (later, other[:, at]))


def of_residuals(
    noise: ClaimedNoise, pushes: Integers, residuals: Sample, truth: Integers
) -> Iterator[tuple[str, float]]:
    """Yield the tests of the residuals of one read.

    Args:
        noise: the claimed noise.
        pushes: number of pushes of every column.
        residuals: public minus exact counts, shape (depth, width).
        truth: the exact counts.

    Yields:
        Name and p-value of each test.
    """
    standardised = np.zeros(residuals.shape)
    for push in np.unique(pushes[pushes > 0]).tolist():
        at = pushes == push
        x = noise.standardised(residuals[:, at], push).ravel()
        standardised[:, at] = x.reshape(len(residuals), -1)
        yield f"mean, push {push}", p_values.mean(x)
        yield from _variance(f"variance, push {push}", x)
        whole = np.floor(residuals[:, at]).astype(np.int64).ravel()
        yield f"shape, push {push}", p_values.shape(whole, noise.deviation(push))
    published = np.broadcast_to(pushes > 0, truth.shape)
    for zero, name in ((True, "zero"), (False, "not zero")):
        x = standardised[published & ((truth == 0) == zero)]
        yield from _variance(f"variance where the count is {name}", x)
    if truth.any():
        yield "correlation with the count", p_values.mean(standardised.ravel(), truth.ravel())


def _variance(name: str, x: Sample) -> Iterator[tuple[str, float]]:
    """Yield the test of the variance if there are enough values; a single one may be exactly 0."""
    if x.size >= FEWEST:
        yield name, p_values.variance(x)


def _of_two_reads(
    noise: ClaimedNoise, first: tuple[int, Sample], second: tuple[int, Sample]
) -> Iterator[tuple[str, float]]:
    (push, one), (later, other) = first, second
    if push == later:
        yield f"second read of push {push}", float(np.array_equal(one, other))
        return
    matrix = noise.covariance([push, later])
    correlation = float(matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1]))
    x, y = noise.standardised(one, push).ravel(), noise.standardised(other, later).ravel()
    yield f"covariance, pushes {push} and {later}", p_values.covariance(x, y, correlation)


def check_transcripts(system: SystemUnderTest, case: Case) -> Outcome:
    """Test the first pushes of every cell jointly, whitened by the claimed covariance.

    Args:
        system: the system under test.
        case: the table; at least two leaves.

    Returns:
        Tests of the mean and variance of every whitened push, and of the covariance of every pair.
    """
    pushes = list(range(1, min(case.leaves, TRANSCRIPT) + 1))
    live = system.open(case, hash_seed=5)
    noise = case.claimed_noise(live.mechanism)
    rows, taken = [], 0
    for push in pushes:
        step = case.end_of_round(push)
        live.feed(np.full(step - taken, NO_EVENT))
        taken = step
        rows.append(live.read().ravel())

    def tested() -> Iterator[tuple[str, float]]:
        centred = np.array(rows) - np.array([noise.rounding(p)[0] for p in pushes])[:, None]
        x = np.linalg.solve(np.linalg.cholesky(noise.covariance(pushes)), centred)
        for push, values in zip(pushes, x, strict=True):
            yield f"whitened mean {push}", p_values.mean(values)
            yield f"whitened variance {push}", p_values.variance(values)
        for i, j in itertools.combinations(range(len(pushes)), 2):
            yield (
                f"whitened pair {pushes[i]}, {pushes[j]}",
                p_values.covariance(x[i], x[j], 0.0),
            )

    claim = "whitened transcripts are independent standard normals"
    return statistical_outcome(claim, tested(), samples=case.cells * len(pushes))


def _residuals_of_release(
    case: Case, release: Release, items: Integers, *, hash_seed: int, way: str
) -> Outcome:
    """Test the residuals of one release of the stream of items as texts."""
    stated = release.parts[0].mechanism
    name = stated.name if stated else ""
    pushes, last = case.progress(int(items.size))
    if release.finished:
        pushes, last = case.finished(int(items.size), name)
    truth = _published_texts(case, items, hash_seed, last=last)
    residuals = np.asarray(release.table - truth, np.float64)
    noise = case.claimed_noise(name)
    tested = of_residuals(noise, pushes, residuals, truth)
    return statistical_outcome(f"the same distribution {way}", tested, samples=case.cells)


def _published_texts(case: Case, items: Integers, hash_seed: int, *, last: Integers) -> Integers:
    """The exact published counts of the items as texts, as in a file."""
    table = np.zeros((case.spec.depth, case.spec.width), dtype=np.int64)
    for item in np.unique(items):
        steps = np.flatnonzero(items == item) + 1
        for row, column, sign in places(case, hash_seed, f"item {item}"):
            table[row, column] += sign * np.count_nonzero(steps <= last[column])
    return table


def check_saved_release(case: Case) -> Outcome:
    """Test the residuals of a release that was saved and loaded.

    Args:
        case: a Count-Min or Count Sketch.

    Returns:
        As :func:`check_releases`, for one release.
    """
    items = np.abs(stream(case.end_of_round(min(5, case.leaves))))
    with case.make(hash_seed=3) as sketch, tempfile.TemporaryDirectory() as folder:
        sketch.update_many([f"item {item}" for item in items])
        path = Path(folder) / "release.lzs"
        sketch.release().save(path)
        loaded = Release.load(path)
    return _residuals_of_release(
        case, loaded, items, hash_seed=loaded.hash_seed, way="through a release on disk"
    )


def check_command_line(case: Case) -> Outcome:
    """Test the residuals of a release that ``lazysketch estimate`` saved.

    Args:
        case: a Count-Min or Count Sketch with a horizon (round robin) or without (geometric).

    Returns:
        As :func:`check_releases`, for one release from another process.
    """
    items = np.abs(stream(case.end_of_round(min(5, case.leaves))))
    with tempfile.TemporaryDirectory() as folder:
        events, asked, saved = (Path(folder) / name for name in ("events", "items", "out.lzs"))
        events.write_text("".join(f"item {item}\n" for item in items), encoding="utf-8")
        asked.write_text("item 1\n", encoding="utf-8")
        command = [sys.executable, "-m", "lazysketch", "estimate", str(events)]
        options: dict[str, object] = {
            "items": asked,
            "save-release": saved,
            "kind": case.spec.kind,
            "depth": case.spec.depth,
            "width": case.spec.width,
            "epsilon": case.spec.epsilon,
            "delta": case.spec.delta,
            "relation": case.spec.relation,
            "mechanism": case.spec.mechanism,
            "hash-seed": 3,
        }
        if case.spec.schedule.horizon is not None:
            options["horizon"] = case.spec.schedule.horizon
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own program
        if done.returncode:
            failure = done.stderr.strip()[-200:]
            return exact_outcome("the command line succeeds", iter([failure]), cases=1)
        loaded = Release.load(saved)
    part = loaded.parts[0]
    if part.mechanism is None or part.step != items.size:
        raise LazySketchError("release: expected one of the whole stream with noise, got another")
    schedule = case.spec.schedule
    if isinstance(schedule, RoundRobin):
        schedule = replace(schedule, period=1)
    return _residuals_of_release(
        case.changed(schedule=schedule), loaded, items, hash_seed=3, way="through the command line"
    )
