"""Sliding windows: every window counts the events of its slices, and states the noise it has."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.locations import ROOT
from tests.oracle.windows import PROMISE, Clock, exact
from tests.unit.windows.test_sliding_noise import differences

import lazysketch as ls
from lazysketch.audit.strategy import strategy
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, ClosedError, MergeError
from lazysketch.testing import seeded_key
from lazysketch.windows.sliding_noise import best_block, window_variances
from lazysketch.windows.window_tables import WindowTables

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@pytest.fixture(scope="module", autouse=True)
def an_id_per_block() -> Iterator[None]:
    """Noise is that of a seed and of the number of the block: two runs have the same."""

    def table(self: WindowTables, number: int) -> ls.HeavyHitters:
        key = seeded_key(7, sketch_id=number.to_bytes(16, "big"))
        return ls.HeavyHitters.from_spec(self._spec, key=key)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(WindowTables, "_table", table)
        yield


def made(**changes: Any) -> ls.Sliding:
    asked = {**PROMISE, "domain": range(50), "hash_seed": 3, "every": "1s"}
    return ls.Sliding(**{**asked, **changes})


def check_every_window(
    slides: ls.Sliding,
    silent: ls.Sliding,
    counted: dict[int, list[int]],
    *,
    first: int,
    end: int,
    known: int,
) -> None:
    """Every window of every length that can be asked for, against the events of its slices."""
    assert slides.slices == silent.slices == known
    for ago, last in itertools.product(range(known + 1), range(1, known + 2)):
        window, noise = slides.window(ago, last=last), silent.window(ago, last=last)
        if window is None or noise is None:
            assert (window, noise) == (None, None)
            assert ago >= known
            continue
        stop = end - ago
        start = max(stop - last, end - known)
        assert (window.begin, window.end) == tuple(
            EPOCH + timedelta(seconds=slice_end) for slice_end in (start, stop)
        )
        items = [item for number in range(start, stop) for item in counted[number]]
        assert np.array_equal(window.release.table - noise.release.table, exact(items))
        assert window.release.step == stop - start
        assert window.whole is (stop - last >= end - known and start > first)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-3, 9), st.lists(st.integers(0, 49), max_size=4)), max_size=10),
    st.integers(1, 6),
    st.integers(1, 5),
    st.floats(0, 20),
)
@example([(100.0, [1]), (1.0, [2])], 3, 2, 5.5)
@example([(1.0, [1]), (1.0, [2])], 4, 5, 8.0)
def test_windows_count_the_events_of_their_slices(
    calls: list[tuple[float, list[int]]], block: int, span: int, begin: float
) -> None:
    """Jumps over many blocks, and backwards; an oracle that looks at each event alone."""
    clocks = Clock(begin), Clock(begin)
    slides, silent = (
        made(span=f"{span}s", block=block, clock=clock, keep=2 * span) for clock in clocks
    )
    counted: dict[int, list[int]] = defaultdict(list)
    latest = begin
    for jump, items in calls:
        now = max(clocks[0].now + jump, 0.0)
        clocks[0].now = clocks[1].now = now
        latest = max(latest, now)
        slides.update_many(items)
        silent.advance()
        counted[int(latest)] += items
    first, end = int(begin), int(latest)
    check_every_window(
        slides, silent, counted, first=first, end=end, known=min(end - first, 2 * span)
    )


@pytest.mark.parametrize(("block", "span"), list(itertools.product((1, 2, 3, 4), (1, 2, 3))))
def test_all_streams_of_four_slices(block: int, span: int) -> None:
    """Each slice has one of two items or none: 81 streams, each with every window."""
    for items in itertools.product((None, 0, 1), repeat=4):
        clocks = Clock(2.0), Clock(2.0)
        slides, silent = (
            made(span=f"{span}s", block=block, clock=clock, keep=4) for clock in clocks
        )
        counted: dict[int, list[int]] = defaultdict(list)
        for number, item in enumerate(items, start=2):
            if item is not None:
                slides.update(item)
                counted[number].append(item)
            clocks[0].now = clocks[1].now = number + 1.0
            silent.advance()
        check_every_window(slides, silent, counted, first=2, end=6, known=4)


def test_the_end_publishes_the_open_slice() -> None:
    clocks = Clock(0.0), Clock(0.0)
    slides, silent = (made(span="3s", block=4, clock=clock) for clock in clocks)
    for second in range(6):
        clocks[0].now = clocks[1].now = float(second)
        slides.update_many([second] * 5)
        silent.advance()
    for one in (slides, silent):
        one.finish()
        one.finish()
    window, noise = slides.window(), silent.window()
    assert window is not None
    assert noise is not None
    assert (window.begin, window.end) == tuple(EPOCH + timedelta(seconds=n) for n in (3, 6))
    assert not window.whole
    assert np.array_equal(
        window.release.table - noise.release.table, exact([3] * 5 + [4] * 5 + [5] * 5)
    )
    with pytest.raises(ClosedError):
        slides.update(1)


@pytest.mark.parametrize("failing", range(1, 12))
def test_an_end_that_fails_is_made_up_by_the_next_call(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Publishing fails once, at each of the ends; afterwards all windows are as without it."""

    def run(fails_at: int) -> list[Any]:
        clock, calls = Clock(0.0), iter(range(1, 1000))

        def published(self: WindowTables, table: object, **facts: Any) -> ls.Window:
            if next(calls) == fails_at:
                raise MemoryError
            return original(self, table, **facts)

        monkeypatch.setattr(WindowTables, "published", published)
        failed = 0
        slides = made(span="3s", block=3, clock=clock, keep=9)
        for second in range(9):
            clock.now = float(second)
            try:
                slides.advance()
            except MemoryError:
                failed += 1
            slides.update_many([second] * (second + 1))
        clock.now = 9.0
        try:
            slides.advance()
        except MemoryError:
            failed += 1
        assert failed == (fails_at > 1 and fails_at < 11)
        return [
            (window.begin, window.end, window.whole, window.release.to_bytes())
            for ago in range(slides.slices)
            if (window := slides.window(ago)) is not None
        ]

    original = WindowTables.published
    if failing == 1:
        with pytest.raises(MemoryError):
            run(1)
    else:
        assert run(failing) == run(0)


@pytest.mark.parametrize(("block", "span"), [(1, 7), (4, 4), (16, 5), (16, 40), (15, 31), (60, 60)])
def test_the_noise_of_a_window_is_that_of_its_definition(block: int, span: int) -> None:
    """Lemma 12a from the exact weights of the draws, and the formula by which blocks are chosen."""
    clock = Clock(0.0)
    slides = made(span=f"{span}s", block=block, clock=clock, keep=span)
    formula = window_variances(block, span)
    for end in range(span + 1, span + 2 * block + 2):
        clock.now = float(end)
        release = slides.release()
        expected = 0.0
        for part in release.parts:
            mechanism = part.mechanism
            assert mechanism is not None
            rows = strategy(mechanism.name, mechanism.leaves)
            weights: dict[int, Fraction] = defaultdict(Fraction)
            (late,) = set(part.pushes(release.width).tolist())
            for push, sign in ((late, 1), (part.since, -1)):
                if push:
                    for node, weight in rows.weights(push).items():
                        weights[node] += sign * weight
            sigma2 = part.privacy.sigma**2
            expected += sigma2 * float(sum(weight * weight for weight in weights.values()))
        assert release.noise_deviation**2 == pytest.approx(np.full(release.width, expected))
        (first, *_) = release.parts
        assert first.mechanism is not None
        unit = first.privacy.sigma**2 / float(first.mechanism.sensitivity2)
        assert expected / unit == pytest.approx(formula[(end - 1) % block])
        copy = ls.Release.from_bytes(release.to_bytes())
        assert np.array_equal(copy.noise_deviation, release.noise_deviation)
        assert copy.step == span


def test_blocks_have_the_least_noise_in_the_noisiest_window() -> None:
    """As docs/windows.md has them; a sum of slices and a long counter are never better."""
    assert [best_block(span) for span in (1, 2, 4, 8, 24, 60, 168)] == [1, 1, 2, 4, 16, 60, 240]
    for span in range(1, 61):
        chosen = window_variances(best_block(span), span).max()
        assert window_variances(1, span) == pytest.approx([span])
        assert chosen <= span * (1 + 1e-12)
        assert chosen <= window_variances(480, span).max()
        if span > 2:
            assert chosen < min(span, differences("tree", span).max())


def test_the_table_of_the_page() -> None:
    """Every row of docs/windows.md, to the decimal it states."""
    page = (ROOT / "docs" / "windows.md").read_text(encoding="utf-8")
    pattern = r"^\| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| (\d+) \|$"
    rows = re.findall(pattern, page, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [1, 4, 8, 12, 24, 60, 168]
    for span, block, mean, worst, summed in rows:
        found = window_variances(int(block), int(span))
        assert int(block) == best_block(int(span))
        assert (mean, worst) == (f"{found.mean():.1f}", f"{found.max():.1f}")
        assert summed == span


def test_names_of_slices() -> None:
    """Names are published at the end of each discovery epoch, also in the middle of a block."""
    clock = Clock(0.0)
    slides = ls.Sliding(every="1min", span="1h", share=0.2, epsilon=4.0, delta=1e-6, clock=clock)
    assert slides.block == 60
    for minute in range(21):
        clock.now = 60.0 * minute
        slides.update_many(["a" if minute < 11 else "b"] * 500)
        if minute == 9:
            assert slides.candidates == []
        if minute == 10:
            assert slides.candidates == ["a"]
    assert set(slides.candidates) == {"a", "b"}
    assert [hitter.item for hitter in slides.top(2, last=5)] == ["b", "a"]


def test_changes_compare_the_last_slices_with_those_before() -> None:
    clock = Clock(0.0)
    slides = made(span="10s", domain=["a", "b"], clock=clock, epsilon=8.0)
    for second in range(25):
        clock.now = float(second)
        slides.update_many(["a"] * (400 if second < 15 else 100) + ["b"] * 200)
        if second == 9:
            assert slides.changes() == []
    clock.now = 25.0
    for against in ("previous", "earlier"):
        rise = {change.item: change.difference for change in slides.changes(against=against)}
        assert rise.keys() == {"a", "b"}
        assert rise["a"] < 0 < rise["b"]
    assert slides.changes(5, against="previous") == []  # seconds 20 to 24, and 15 to 19


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"every": None}, ArgumentTypeError, "every: expected a length"),
        ({"span": None}, ArgumentTypeError, "span: expected a length"),
        ({"every": 5}, ArgumentTypeError, "span: expected an integer"),
        ({"span": "90ms"}, ArgumentValueError, "span: expected a whole number of times every"),
        ({"span": "1500ms"}, ArgumentValueError, "span: expected a whole number of times every"),
        ({"keep": 3}, ArgumentValueError, "keep: expected an integer from 4"),
        ({"block": 481}, ArgumentValueError, "block: expected an integer from 1 to 480"),
        ({"discovery_epoch": 1}, ArgumentTypeError, "discovery_epoch: expected none"),
        ({"clock": 5}, ArgumentTypeError, "clock: expected a function"),
        ({"slices": 5}, ArgumentTypeError, "slices"),
    ],
)
def test_refusals(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        made(**{"span": "4s", **options})


def test_questions_before_the_first_slice_has_ended() -> None:
    slides = made(span="4s", clock=Clock(3.5))
    assert (slides.slices, slides.window()) == (0, None)
    assert list(slides.top(3)) == []
    with pytest.raises(ArgumentValueError, match="last: expected slices that have ended"):
        slides.release()
    with pytest.raises(ArgumentTypeError, match="times: expected none"):
        slides.update_many([1], times=[0])
    assert repr(slides).startswith("<Sliding open, 0 slices ended, 4 in a window, epsilon=1")


def test_windows_that_overlap_are_not_merged() -> None:
    """Their noise is not independent, and their events would count twice."""
    clock = Clock(0.0)
    slides = made(span="2s", block=8, clock=clock)
    clock.now = 5.0
    one, other = slides.window(), slides.window(1)
    assert one is not None
    assert other is not None
    with pytest.raises(MergeError, match="one sketch id twice"):
        one.release.merge(other.release)
