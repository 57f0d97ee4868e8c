"""The checks of counts of distinct items, of distributions, ranges and sums; some seconds.

Each has a false-alarm rate of at most 1e-7, as those of :mod:`lazysketch.audit.suite`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, get_args

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
from lazysketch.audit.check import Check, of_library
from lazysketch.audit.counts_system import CountsLibrary
from lazysketch.audit.range_and_sum_window_system import RangeAndSumWindowsModel
from lazysketch.audit.statistic_window_system import StatisticWindowsModel
from lazysketch.audit.sums_model import SumsLibrary
from lazysketch.privacy.relations import Relation

__all__ = ["counts_checks"]

_RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)


def counts_checks() -> Iterator[Check]:
    """Yield the checks.

    Yields:
        Checks of the areas ``"distinct"``, ``"values"``, ``"ranges"`` and ``"sums"``, of people of
        values, of ranges and of sums, and of windows of all four.
    """
    yield from _of_distinct_items()
    yield from _of_values()
    yield from _of_ranges()
    yield from _of_people()
    yield from _of_sums()
    yield from _of_their_windows()


def _of_distinct_items() -> Iterator[Check]:
    library = CountsLibrary()

    def named(name: str, case: str, run: distinct_checks.Run) -> Check:
        return Check(name, "distinct", case, of_library(lambda: run(library)))

    equal = distinct_checks.distinct_equals_model
    yield named("distinct items of the model", "16 streams", equal)
    for relation in _RELATIONS:
        yield named(
            "distances of distinct items",
            f"2 levels, 4 steps, {relation}, 2 mechanisms",
            partial(distinct_checks.distances_of_distinct, relation=relation),
        )
    yield named("moves of bits", "8 to 1024 leaves", distinct_checks.moves_of_long_streams)
    yield named("noise of levels of bits", "512 counts, 16", distinct_checks.noise_of_distinct)


def _of_values() -> Iterator[Check]:
    library = CountsLibrary()

    def named(name: str, case: str, run: values_checks.Run) -> Check:
        return Check(name, "values", case, of_library(lambda: run(library)))

    yield named("values of the model", "24 streams", values_checks.values_equal_model)
    for relation in _RELATIONS:
        yield named(
            "distances of values",
            f"8 bins, 4 steps, {relation}, 2 rows x 3 mechanisms",
            partial(values_checks.distances_of_values, relation=relation),
        )
    yield named("trees over bins", "4 to 1024 bins", values_checks.trees_over_bins)
    yield named("noise of nodes over bins", "512 tables, 16", values_checks.noise_of_values)


def _of_ranges() -> Iterator[Check]:
    library = CountsLibrary()

    def named(name: str, case: str, run: ranges_checks.Run) -> Check:
        return Check(name, "ranges", case, of_library(lambda: run(library)))

    yield named("ranges of the model", "24 streams", ranges_checks.ranges_equal_model)
    for relation in _RELATIONS:
        yield named(
            "distances of ranges",
            f"4 and 3 bits, 3 steps, {relation}, 3 mechanisms",
            partial(ranges_checks.distances_of_ranges, relation=relation),
        )
    yield named("ranges of all sizes", "1 to 64 bits", ranges_checks.ranges_of_all_sizes)
    yield named("noise of cells of ranges", "512 tables, 16", ranges_checks.noise_of_ranges)


def _of_people() -> Iterator[Check]:
    people = people_of_values.PeopleOfValues()
    of_people: tuple[tuple[str, people_of_values.Run], ...] = (
        ("distances of people of values", people_of_values.distances_of_people_of_values),
        ("rule of people of values", people_of_values.rule_of_people_of_values),
    )
    for name, run in of_people:
        checked = of_library(partial(run, people))
        yield Check(name, "people", "8 bins or keys, 3 steps, 3 tables x 3 bounds", checked)


def _of_sums() -> Iterator[Check]:
    library = SumsLibrary()

    def named(name: str, case: str, run: sums_checks.Run) -> Check:
        return Check(name, "sums", case, of_library(lambda: run(library)))

    yield named("sums of the model", "8 streams", sums_checks.sums_equal_model)
    for relation in _RELATIONS:
        yield named(
            "distances of sums",
            f"2 x 2, 3 steps, {relation}, 2 bounds x 2 mechanisms",
            partial(sums_checks.distances_of_sums, relation=relation),
        )
    yield named("noise of both tables of sums", "512 sums, 4 + 4", sums_checks.noise_of_sums)
    people = people_of_sums.PeopleOfSums()
    of_people: tuple[tuple[str, people_of_sums.Run], ...] = (
        ("distances of people of sums", people_of_sums.distances_of_people_of_sums),
        ("rule of people of sums", people_of_sums.rule_of_people_of_sums),
    )
    for name, run in of_people:
        checked = of_library(partial(run, people))
        yield Check(name, "people", "2 x 2, 3 steps, 3 bounds", checked)


def _of_their_windows() -> Iterator[Check]:
    library, size = StatisticWindowsModel(), "2 windows of 2 slices"

    def named(name: str, run: statistic_window_checks.Run) -> Check:
        return Check(name, "windows", size, of_library(lambda: run(library)))

    yield named("moves between windows of values", statistic_window_checks.moves_of_values)
    yield named("noise of windows of statistics", statistic_window_checks.noise_of_windows)
    yield named("items within windows", statistic_window_checks.items_within_windows)
    keyed, by_key = RangeAndSumWindowsModel(), range_and_sum_window_checks
    of_keys: tuple[tuple[str, range_and_sum_window_checks.Run], ...] = (
        ("moves between windows of ranges", by_key.moves_of_keys),
        ("moves between windows of sums", by_key.moves_of_sums),
        ("noise of windows of ranges and sums", by_key.noise_of_keyed_windows),
    )
    for name, run in of_keys:
        yield Check(name, "windows", size, of_library(partial(run, keyed)))
