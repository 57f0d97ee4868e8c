"""Planted bugs of counts of distinct items, of distributions, ranges and sums, and their checks."""

from __future__ import annotations

from collections.abc import Iterator

from lazysketch.audit import (
    distinct_checks,
    people_of_sums,
    people_of_values,
    range_and_sum_window_checks,
    ranges_checks,
    statistic_window_checks,
    sums_checks,
    values_checks,
)
from lazysketch.audit.control import Control, controls_of_model
from lazysketch.audit.counts_system import CountsSystem
from lazysketch.audit.distinct_model import DistinctBug, DistinctModel
from lazysketch.audit.finding import Outcome
from lazysketch.audit.range_and_sum_window_system import (
    RangeAndSumWindowsBug,
    RangeAndSumWindowsModel,
)
from lazysketch.audit.ranges_model import RangesBug, RangesModel
from lazysketch.audit.statistic_window_system import StatisticWindowsBug, StatisticWindowsModel
from lazysketch.audit.sums_model import SumsBug, SumsModel, SumsSystem
from lazysketch.audit.values_model import ValuesBug, ValuesModel

__all__ = ["counts_controls"]


def counts_controls() -> Iterator[Control]:
    """Yield the controls of all of them.

    Yields:
        At least one per planted bug.
    """
    yield from _of_distinct_items()
    yield from _of_values()
    yield from _of_ranges()
    yield from _of_sums()
    yield from _of_people_of_values()
    yield from _of_people_of_sums()
    yield from _of_their_windows()
    yield from _of_windows_of_ranges_and_sums()


def _of_distinct_items() -> Iterator[Control]:
    def left(system: CountsSystem) -> Outcome:
        return distinct_checks.distances_of_distinct(system, "zero-out")

    def replaced(system: CountsSystem) -> Outcome:
        return distinct_checks.distances_of_distinct(system, "substitution")

    bugs = DistinctBug
    moves, noise = distinct_checks.moves_of_long_streams, distinct_checks.noise_of_distinct
    equal = distinct_checks.distinct_equals_model
    detected: tuple[tuple[DistinctBug, str, distinct_checks.Run], ...] = (
        (bugs.NO_MOVE, "distances of distinct items", left),
        (bugs.NO_MOVE, "moves of bits", moves),
        (bugs.NO_MOVE, "noise of levels of bits", noise),
        (bugs.ONE_CHANGE, "distances of distinct items", replaced),
        (bugs.EVENTS, "distances of distinct items", left),
        (bugs.EVENTS, "distinct items of the model", equal),
        (bugs.SHARED, "noise of levels of bits", noise),
        (bugs.SKIPPED, "noise of levels of bits", noise),
    )
    return controls_of_model(detected, DistinctModel)


def _of_values() -> Iterator[Control]:
    def replaced(system: CountsSystem) -> Outcome:
        return values_checks.distances_of_values(system, "substitution")

    bugs = ValuesBug
    trees, noise = values_checks.trees_over_bins, values_checks.noise_of_values
    equal = values_checks.values_equal_model
    detected: tuple[tuple[ValuesBug, str, values_checks.Run], ...] = (
        (bugs.NO_SUBSTITUTE, "distances of values", replaced),
        (bugs.NO_SUBSTITUTE, "trees over bins", trees),
        (bugs.NO_SUBSTITUTE, "noise of nodes over bins", noise),
        (bugs.TIME_ALONE, "distances of values", replaced),
        (bugs.BINS, "noise of nodes over bins", noise),
        (bugs.BINS, "values of the model", equal),
        (bugs.REPEATED, "noise of nodes over bins", noise),
        (bugs.EXACT_TOTAL, "noise of nodes over bins", noise),
        (bugs.SKIPPED, "noise of nodes over bins", noise),
    )
    return controls_of_model(detected, ValuesModel)


def _of_ranges() -> Iterator[Control]:
    def replaced(system: CountsSystem) -> Outcome:
        return ranges_checks.distances_of_ranges(system, "substitution")

    bugs = RangesBug
    sizes, noise = ranges_checks.ranges_of_all_sizes, ranges_checks.noise_of_ranges
    equal = ranges_checks.ranges_equal_model
    detected: tuple[tuple[RangesBug, str, ranges_checks.Run], ...] = (
        (bugs.NO_SUBSTITUTE, "distances of ranges", replaced),
        (bugs.NO_SUBSTITUTE, "noise of cells of ranges", noise),
        (bugs.NO_COLLISIONS, "distances of ranges", replaced),
        (bugs.NO_COLLISIONS, "ranges of all sizes", sizes),
        (bugs.EQUAL_ROWS, "distances of ranges", replaced),
        (bugs.ONE_DEPTH, "distances of ranges", replaced),
        (bugs.NODES, "ranges of the model", equal),
        (bugs.OVERLAP, "distances of ranges", replaced),
        (bugs.REPEATED, "noise of cells of ranges", noise),
        (bugs.SKIPPED, "noise of cells of ranges", noise),
    )
    return controls_of_model(detected, RangesModel)


def _of_sums() -> Iterator[Control]:
    def replaced(system: SumsSystem) -> Outcome:
        return sums_checks.distances_of_sums(system, "substitution")

    bugs = SumsBug
    equal, noise = sums_checks.sums_equal_model, sums_checks.noise_of_sums
    detected: tuple[tuple[SumsBug, str, sums_checks.Run], ...] = (
        (bugs.NO_SUBSTITUTE, "distances of sums", replaced),
        (bugs.NO_SUBSTITUTE, "noise of both tables of sums", noise),
        (bugs.HALF, "distances of sums", replaced),
        (bugs.WHOLE_BUDGET, "distances of sums", replaced),
        (bugs.FROM_LOW, "sums of the model", equal),
        (bugs.UNCLIPPED, "distances of sums", replaced),
        (bugs.STATED, "distances of sums", replaced),
        (bugs.SHARED, "noise of both tables of sums", noise),
        (bugs.SKIPPED, "noise of both tables of sums", noise),
    )
    return controls_of_model(detected, SumsModel)


def _of_people_of_values() -> Iterator[Control]:
    bugs = people_of_values.PeopleOfValuesBug
    distances = people_of_values.distances_of_people_of_values
    rule = people_of_values.rule_of_people_of_values
    detected: tuple[tuple[people_of_values.PeopleOfValuesBug, str, people_of_values.Run], ...] = (
        (bugs.UNBOUNDED, "distances of people of values", distances),
        (bugs.UNBOUNDED, "rule of people of values", rule),
        (bugs.BY_BIN, "distances of people of values", distances),
        (bugs.BY_BIN, "rule of people of values", rule),
        (bugs.ONE_VALUE, "distances of people of values", distances),
        (bugs.ONE_PERSON, "distances of people of values", distances),
    )
    return controls_of_model(detected, people_of_values.PeopleOfValuesModel)


def _of_people_of_sums() -> Iterator[Control]:
    bugs = people_of_sums.PeopleOfSumsBug
    distances = people_of_sums.distances_of_people_of_sums
    rule = people_of_sums.rule_of_people_of_sums
    detected: tuple[tuple[people_of_sums.PeopleOfSumsBug, str, people_of_sums.Run], ...] = (
        (bugs.UNBOUNDED, "distances of people of sums", distances),
        (bugs.UNBOUNDED, "rule of people of sums", rule),
        (bugs.ONE_TABLE, "distances of people of sums", distances),
        (bugs.ONE_TABLE, "rule of people of sums", rule),
        (bugs.ONE_EVENT, "distances of people of sums", distances),
        (bugs.ONE_PERSON, "distances of people of sums", distances),
    )
    return controls_of_model(detected, people_of_sums.PeopleOfSumsModel)


def _of_their_windows() -> Iterator[Control]:
    bugs = StatisticWindowsBug
    moves, noise = statistic_window_checks.moves_of_values, statistic_window_checks.noise_of_windows
    items = statistic_window_checks.items_within_windows
    detected: tuple[tuple[StatisticWindowsBug, str, statistic_window_checks.Run], ...] = (
        (bugs.IN_PLACE, "moves between windows of values", moves),
        (bugs.RELEASES, "moves between windows of values", moves),
        (bugs.SHARED, "noise of windows of statistics", noise),
        (bugs.EVERYWHERE, "items within windows", items),
    )
    return controls_of_model(detected, StatisticWindowsModel)


def _of_windows_of_ranges_and_sums() -> Iterator[Control]:
    bugs, by_key = RangeAndSumWindowsBug, range_and_sum_window_checks
    keys, sums = "moves between windows of ranges", "moves between windows of sums"
    noise = "noise of windows of ranges and sums"
    detected: tuple[tuple[RangeAndSumWindowsBug, str, range_and_sum_window_checks.Run], ...] = (
        (bugs.TWO_WINDOWS, keys, by_key.moves_of_keys),
        (bugs.RELEASES, keys, by_key.moves_of_keys),
        (bugs.HALF, sums, by_key.moves_of_sums),
        (bugs.SHARED_RANGES, noise, by_key.noise_of_keyed_windows),
        (bugs.SHARED_SUMS, noise, by_key.noise_of_keyed_windows),
    )
    return controls_of_model(detected, RangeAndSumWindowsModel)
