"""Residual law: what is released minus the exact published count is the noise that is claimed.

For any configuration, end to end: the stream goes in at the front, the table comes out of Python,
of a release on disk, or of the command line; the exact counts come from an exact sketch of the same
hash seed and the audit's own schedule; the law from :mod:`lazysketch.audit.claims`. A run of one
table with 8192 cells sees a deviation that is wrong by 10 % with p below 1e-25.

Sees: a wrong sigma, level, variance or shape; noise that knows the count, or is left out somewhere;
a push too early, too late or with the wrong events; noise that two nodes share. Cannot see: a
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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit import p_values
from lazysketch.audit.claims import Claim
from lazysketch.audit.configuration import NO_EVENT, Configuration, places
from lazysketch.audit.finding import Outcome, exact, worst
from lazysketch.audit.schedule_model import Integers
from lazysketch.audit.system_under_test import Subject, Table
from lazysketch.errors import LazySketchError
from lazysketch.releases.release import Release
from lazysketch.specification.schedules import RoundRobin

__all__ = [
    "law_of_releases",
    "law_of_transcripts",
    "law_through_the_command_line",
    "law_through_the_disk",
    "stream",
]

UNIVERSE = 40
FEWEST = 64  # values whose squares are summed; fewer are not yet a normal law, but its rounding
TRANSCRIPT = 16  # pushes that are looked at together
Sample = NDArray[np.float64]


def stream(steps: int) -> Integers:
    """Return item numbers with Zipf-like shares, a fifth of the steps without an event.

    Args:
        steps: how many.

    Returns:
        int64 array, always the same; the noise is fresh.
    """
    generator = np.random.default_rng(2)
    shares = 1 / np.arange(1, UNIVERSE + 1) ** 1.3
    numbers = generator.choice(UNIVERSE, size=steps, p=shares / shares.sum())
    return np.where(generator.random(steps) < 0.2, NO_EVENT, numbers).astype(np.int64)


def _read_steps(configuration: Configuration) -> list[int]:
    """Three steps: after the first round, in the midst of a round, and late."""
    most = min(configuration.leaves, 46)
    if most == 1:
        return [configuration.end_of_round(1)]
    middle, late = max(2, most // 2), max(2, most - 1)
    inside = (configuration.end_of_round(middle) + configuration.end_of_round(middle - 1)) // 2
    found = {configuration.end_of_round(1), inside, configuration.end_of_round(late)}
    return sorted(step for step in found if step > 0)


def law_of_releases(
    subject: Subject, configuration: Configuration, *, seconds: float = 0.0
) -> Outcome:
    """Check the residuals of a stream at several steps, under fresh keys.

    Args:
        subject: what makes the tables.
        configuration: their parameters; wide, because every cell is a sample.
        seconds: for how long to make table after table; one by default. The clock decides when
            to stop, never what was seen.

    Returns:
        Mean, variance and shape per push; the covariance of two reads; the same variance where
        the count is zero and where it is not; no trace of the count.
    """
    steps = _read_steps(configuration)
    items = stream(steps[-1])

    made, end = 0, time.monotonic() + seconds

    def tested() -> Iterator[tuple[str, float]]:
        nonlocal made
        while not made or time.monotonic() < end:
            hash_seed = 11 + made
            made += 1
            machine = subject.open(configuration, hash_seed=hash_seed)
            claim = configuration.claim(machine.mechanism)
            yield "stated sigma", float(machine.sigma >= claim.sigma * (1 - 1e-9))
            tables, taken = [], 0
            for step in steps:
                machine.feed(items[taken:step])
                taken = step
                tables.append(machine.read())
            truths = [
                configuration.published(items, hash_seed=hash_seed, step=step) for step in steps
            ]
            yield from _of_one_table(configuration, claim, steps, tables, truths)

    claim = "released - exact = rounded Gaussian noise of the claimed law"
    found = worst(claim, tested(), samples=0)
    return replace(found, samples=made * configuration.cells * len(steps))


def _of_one_table(
    configuration: Configuration,
    claim: Claim,
    steps: list[int],
    tables: list[Table],
    truths: list[Integers],
) -> Iterator[tuple[str, float]]:
    known: list[tuple[Integers, Sample]] = []
    for step, table, truth in zip(steps, tables, truths, strict=True):
        yield f"integers at step {step}", float(np.array_equal(table, np.rint(table)))
        pushes, _ = configuration.progress(step)
        unpublished = table[:, pushes == 0]
        yield f"nothing before the first push, step {step}", float(not unpublished.any())
        yield from _of_residuals(claim, pushes, np.asarray(table - truth, np.float64), truth)
        known.append((pushes, np.asarray(table - truth, np.float64)))
    for (p, one), (q, other) in itertools.combinations(known, 2):
        for push, later in sorted(set(zip(p.tolist(), q.tolist(), strict=True))):
            if push > 0:
                at = (p == push) & (q == later)
                yield from _of_two_reads(claim, (push, one[:, at]), (later, other[:, at]))


def _of_residuals(
    claim: Claim, pushes: Integers, residuals: Sample, truth: Integers
) -> Iterator[tuple[str, float]]:
    standardised = np.zeros(residuals.shape)
    for push in np.unique(pushes[pushes > 0]).tolist():
        at = pushes == push
        x = claim.standardised(residuals[:, at], push).ravel()
        standardised[:, at] = x.reshape(len(residuals), -1)
        yield f"mean, push {push}", p_values.mean(x)
        yield from _variance(f"variance, push {push}", x)
        whole = np.floor(residuals[:, at]).astype(np.int64).ravel()
        yield f"shape, push {push}", p_values.shape(whole, claim.deviation(push))
    published = np.broadcast_to(pushes > 0, truth.shape)
    for zero in (True, False):
        x = standardised[published & ((truth == 0) == zero)]
        yield from _variance(f"variance where the count is zero: {zero}", x)
    if truth.any():
        yield "trace of the count", p_values.mean(standardised.ravel(), truth.ravel())


def _variance(name: str, x: Sample) -> Iterator[tuple[str, float]]:
    """The variance of enough values: one integer is 0 far more often than a normal is near it."""
    if x.size >= FEWEST:
        yield name, p_values.variance(x)


def _of_two_reads(
    claim: Claim, first: tuple[int, Sample], second: tuple[int, Sample]
) -> Iterator[tuple[str, float]]:
    (push, one), (later, other) = first, second
    if push == later:
        yield f"second read of push {push}", float(np.array_equal(one, other))
        return
    matrix = claim.covariance([push, later])
    correlation = float(matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1]))
    x, y = claim.standardised(one, push).ravel(), claim.standardised(other, later).ravel()
    yield f"covariance, pushes {push} and {later}", p_values.covariance(x, y, correlation)


def law_of_transcripts(subject: Subject, configuration: Configuration) -> Outcome:
    """Check all of the first pushes of every cell at once, made independent by the claim.

    Args:
        subject: what makes the table.
        configuration: its parameters; at least two leaves.

    Returns:
        Each whitened value's mean and variance, and all their pairs.
    """
    pushes = list(range(1, min(configuration.leaves, TRANSCRIPT) + 1))
    machine = subject.open(configuration, hash_seed=5)
    claim = configuration.claim(machine.mechanism)
    rows, taken = [], 0
    for push in pushes:
        step = configuration.end_of_round(push)
        machine.feed(np.full(step - taken, NO_EVENT))
        taken = step
        rows.append(machine.read().ravel())

    def tested() -> Iterator[tuple[str, float]]:
        centred = np.array(rows) - np.array([claim.rounding(p)[0] for p in pushes])[:, None]
        x = np.linalg.solve(np.linalg.cholesky(claim.covariance(pushes)), centred)
        for push, values in zip(pushes, x, strict=True):
            yield f"whitened mean {push}", p_values.mean(values)
            yield f"whitened variance {push}", p_values.variance(values)
        for i, j in itertools.combinations(range(len(pushes)), 2):
            yield (
                f"whitened pair {pushes[i]}, {pushes[j]}",
                p_values.covariance(x[i], x[j], 0.0),
            )

    claimed = "whitened transcripts are independent standard normals"
    return worst(claimed, tested(), samples=configuration.cells * len(pushes))


def _from_outside(
    configuration: Configuration, table: Table, items: Integers, **at: Any
) -> Outcome:
    """The law of one table that came by another way."""
    step = int(items.size)
    pushes, _ = configuration.progress(step)
    truth = _published_texts(configuration, items, at["hash_seed"])
    residuals = np.asarray(table - truth, np.float64)
    laws_of = _of_residuals(configuration.claim(at["mechanism"]), pushes, residuals, truth)
    return worst(f"the same law {at['way']}", laws_of, samples=configuration.cells)


def _published_texts(configuration: Configuration, items: Integers, hash_seed: int) -> Integers:
    """The exact published table of the items as texts, as a file holds them."""
    _, last = configuration.progress(int(items.size))
    table = np.zeros((configuration.depth, configuration.width), dtype=np.int64)
    for item in np.unique(items):
        steps = np.flatnonzero(items == item) + 1
        for row, column, sign in places(configuration, hash_seed, f"item {item}"):
            table[row, column] += sign * np.count_nonzero(steps <= last[column])
    return table


def law_through_the_disk(configuration: Configuration) -> Outcome:
    """Check the residuals of a release that was saved and loaded.

    Args:
        configuration: a Count-Min or Count Sketch.

    Returns:
        As :func:`law_of_releases`, for one release.
    """
    items = np.abs(stream(configuration.end_of_round(min(5, configuration.leaves))))
    with configuration.make(hash_seed=3) as sketch, tempfile.TemporaryDirectory() as folder:
        sketch.update_many([f"item {item}" for item in items])
        path = Path(folder) / "release.lzs"
        sketch.release().save(path)
        loaded = Release.load(path)
    return _from_outside(
        configuration,
        loaded.table,
        items,
        hash_seed=loaded.hash_seed,
        mechanism=loaded.parts[0].mechanism.name if loaded.parts[0].mechanism else "",
        way="through a release on disk",
    )


def law_through_the_command_line(configuration: Configuration) -> Outcome:
    """Check the residuals of a release that ``lazysketch estimate`` saved.

    Args:
        configuration: a Count-Min or Count Sketch with a horizon (round robin) or without
            (geometric); its horizon may be shortened.

    Returns:
        As :func:`law_of_releases`, for one release of another process.
    """
    items = np.abs(stream(configuration.end_of_round(min(5, configuration.leaves))))
    with tempfile.TemporaryDirectory() as folder:
        events, asked, saved = (Path(folder) / name for name in ("events", "items", "out.lzs"))
        events.write_text("".join(f"item {item}\n" for item in items), encoding="utf-8")
        asked.write_text("item 1\n", encoding="utf-8")
        command = [sys.executable, "-m", "lazysketch", "estimate", str(events)]
        options: dict[str, object] = {
            "items": asked,
            "save-release": saved,
            "kind": configuration.kind,
            "depth": configuration.depth,
            "width": configuration.width,
            "epsilon": configuration.epsilon,
            "delta": configuration.delta,
            "relation": configuration.relation,
            "mechanism": configuration.mechanism,
            "hash-seed": 3,
        }
        if configuration.schedule.horizon is not None:
            options["horizon"] = configuration.schedule.horizon
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own program
        if done.returncode:
            return exact("the command line counts", iter([done.stderr.strip()[-200:]]), cases=1)
        loaded = Release.load(saved)
    part = loaded.parts[0]
    if part.mechanism is None or part.step != items.size:
        raise LazySketchError("release: expected the whole stream with noise, got another")
    expected = configuration.schedule
    if isinstance(expected, RoundRobin):
        expected = replace(expected, period=1)
    return _from_outside(
        replace(configuration, schedule=expected),
        loaded.table,
        items,
        hash_seed=3,
        mechanism=part.mechanism.name,
        way="through the command line",
    )
