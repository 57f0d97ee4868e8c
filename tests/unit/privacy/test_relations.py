"""Sensitivities compared with enumeration of every small hash function and every short stream.

Streams of length one or two, three items and weights 0, 1 and 2 are enough to attain every bound.
The tables are those after each step, so the measured change is that of all prefixes: a difference
at one step is one change that stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from lazysketch.arguments import checked_integer, checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.privacy.relations import changed_cells, square_root_up, table_sensitivity2

ITEMS = (0, 1, 2)
WIDTH = 2
Event: TypeAlias = tuple[int, int] | None  # (item, weight), or an empty step
Stream: TypeAlias = tuple[Event, ...]
Row: TypeAlias = tuple[tuple[int, int], ...]  # (bucket, sign) of each item


def hash_functions(kind: str) -> list[Row]:
    """Return every hash function of one row."""
    signs = (1, -1) if kind == "count-sketch" else (1,)
    cells = list(itertools.product(range(WIDTH), signs))
    return list(itertools.product(cells, repeat=len(ITEMS)))


def prefix_rows(stream: Stream, cells: Row) -> npt.NDArray[np.int64]:
    """Return the counts of one row after each step."""
    row = np.zeros(WIDTH, dtype=np.int64)
    prefixes = []
    for event in stream:
        if event is not None:
            item, weight = event
            bucket, sign = cells[item]
            row[bucket] += sign * weight
        prefixes.append(row.copy())
    return np.array(prefixes)


def neighbours(relation: str, length: int, max_weight: int) -> Iterator[tuple[Stream, Stream]]:
    """Yield every pair of neighbouring streams of one length."""
    events: list[Event] = [(i, w) for i in ITEMS for w in range(max_weight + 1)]
    for stream in itertools.product([None, *events], repeat=length):
        for step, event in enumerate(stream):
            if event is None:
                continue  # the relations are symmetric: the other stream yields this pair
            others: list[Event] = [None] if relation == "zero-out" else events
            for other in others:
                yield stream, (*stream[:step], other, *stream[step + 1 :])


def largest_changes(kind: str, relation: str, depth: int, max_weight: int = 1) -> tuple[int, int]:
    """Return the largest squared L2 change and the largest number of changed cells."""
    largest, most_cells = 0, 0
    for length in (1, 2):
        pairs = list(neighbours(relation, length, max_weight))
        shape = (len(hash_functions(kind)), len(pairs), length, WIDTH)
        changes = np.zeros(shape, dtype=np.int64)
        for (f, cells), (p, pair) in itertools.product(
            enumerate(hash_functions(kind)), enumerate(pairs)
        ):
            changes[f, p] = prefix_rows(pair[0], cells) - prefix_rows(pair[1], cells)
        # The change appears at one step and stays: only one prefix changes.
        appeared = np.diff(changes, axis=2, prepend=0).any(axis=3)
        assert appeared.sum(axis=2).max() <= 1
        # A sketch has one hash function per row: enumerate them and add up the rows.
        squares, cells_changed = (changes**2).sum(axis=3), np.count_nonzero(changes, axis=3)
        for rows in itertools.product(range(shape[0]), repeat=depth):
            largest = max(largest, int(squares[list(rows)].sum(axis=0).max()))
            most_cells = max(most_cells, int(cells_changed[list(rows)].sum(axis=0).max()))
    return largest, most_cells


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_brute_force_attains_the_sensitivity(kind: Any, relation: Any, depth: int) -> None:
    largest, most_cells = largest_changes(kind, relation, depth)
    assert largest == table_sensitivity2(kind, depth=depth, relation=relation)
    assert most_cells == changed_cells(kind, depth=depth, relation=relation)


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_weights_scale_the_square_by_their_square(kind: Any, relation: Any) -> None:
    largest, _ = largest_changes(kind, relation, 1, max_weight=2)
    assert largest == 4 * table_sensitivity2(kind, depth=1, relation=relation)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_papers_two_d_is_exceeded(depth: int) -> None:
    largest, _ = largest_changes("count-sketch", "substitution", depth)
    paper = table_sensitivity2(
        "count-sketch", depth=depth, relation="substitution", calibration="classical"
    )
    assert paper == 2 * depth
    assert largest == 4 * depth > paper


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
@pytest.mark.parametrize("max_changes", [1, 2, 3])
def test_counters_by_brute_force(relation: Any, max_changes: int) -> None:
    counters = 3
    vectors = [np.array(v) for v in itertools.product((0, 1), repeat=counters)]
    largest, most_cells = 0, 0
    for first, second in itertools.product(vectors, vectors):
        change = first - second
        events = first.sum() <= 1 and second.sum() <= 1
        empty = first.sum() == 0 or second.sum() == 0
        by_update = events and (relation == "substitution" or empty)
        if by_update or np.count_nonzero(change) <= max_changes:
            largest = max(largest, int((change**2).sum()))
            most_cells = max(most_cells, int(np.count_nonzero(change)))
    arguments: dict[str, Any] = {"depth": 1, "relation": relation, "max_changes": max_changes}
    assert largest == table_sensitivity2("counters", **arguments)
    assert most_cells == changed_cells("counters", **arguments)


@pytest.mark.parametrize(
    ("kind", "relation", "calibration", "expected"),
    [
        ("count-min", "zero-out", "analytic", 5),
        ("count-min", "zero-out", "classical", 5),
        ("count-min", "substitution", "analytic", 10),
        ("count-min", "substitution", "classical", 10),
        ("count-sketch", "zero-out", "analytic", 5),
        ("count-sketch", "zero-out", "classical", 5),
        ("count-sketch", "substitution", "analytic", 20),
        ("count-sketch", "substitution", "classical", 10),
    ],
)
def test_the_table_of_sensitivities(
    kind: Any, relation: Any, calibration: Any, expected: int
) -> None:
    found = table_sensitivity2(kind, depth=5, relation=relation, calibration=calibration)
    assert found == expected


def test_numpy_integers_are_accepted_and_the_result_is_an_int() -> None:
    found = table_sensitivity2("count-min", depth=np.int32(3), relation="zero-out")
    assert (found, type(found)) == (3, int)


GOOD: dict[str, Any] = {"kind": "count-min", "depth": 3, "relation": "substitution"}


@pytest.mark.parametrize("function", [table_sensitivity2, changed_cells])
@pytest.mark.parametrize(
    ("name", "bad", "error"),
    [
        ("kind", "bloom", ArgumentValueError),
        ("kind", None, ArgumentTypeError),
        ("kind", ["count-min"], ArgumentTypeError),
        ("relation", "swap", ArgumentValueError),
        ("relation", True, ArgumentTypeError),
        ("depth", 0, ArgumentValueError),
        ("depth", -1, ArgumentValueError),
        ("depth", 65, ArgumentValueError),
        ("depth", 2**40, ArgumentValueError),
        ("depth", 3.0, ArgumentTypeError),
        ("depth", True, ArgumentTypeError),
        ("depth", np.bool_(True), ArgumentTypeError),
        ("depth", None, ArgumentTypeError),
        ("depth", "3", ArgumentTypeError),
        ("max_changes", 0, ArgumentValueError),
        ("max_changes", 2, ArgumentTypeError),
        ("max_changes", 2.0, ArgumentTypeError),
    ],
)
def test_bad_arguments(function: Any, name: str, bad: object, error: type[Exception]) -> None:
    arguments = {**GOOD, name: bad}
    with pytest.raises(error, match=f"^{name}: expected .*, got "):
        function(arguments.pop("kind"), **arguments)


def test_bad_calibration() -> None:
    with pytest.raises(ArgumentValueError, match="^calibration: "):
        table_sensitivity2(**GOOD, calibration="renyi")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="^calibration: "):
        table_sensitivity2(**GOOD, calibration=1)  # type: ignore[arg-type]


def test_counters_have_one_row() -> None:
    with pytest.raises(ArgumentTypeError, match="^depth: expected 1 for counters, got 3"):
        table_sensitivity2("counters", depth=3, relation="zero-out")


def test_messages_never_print_endless_values() -> None:
    with pytest.raises(ArgumentValueError, match="got an integer of 16610 bits"):
        checked_integer("width", 10**5000)
    with pytest.raises(ArgumentValueError, match="got a larger integer"):
        checked_real("epsilon", 10**5000)
    with pytest.raises(ArgumentValueError) as caught:
        table_sensitivity2("x" * 10**6, depth=1, relation="zero-out")  # type: ignore[arg-type]
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("square", [1, 2, 3, 49, 2**53 + 1, 2**63 - 1, 10**40 + 1, 10**300 + 7])
def test_square_roots_are_rounded_up_and_close(square: int) -> None:
    numerator, denominator = square_root_up(square).as_integer_ratio()
    assert numerator**2 >= square * denominator**2
    assert numerator**2 * 10**15 <= square * denominator**2 * (10**15 + 1)


def test_a_square_beyond_floats_is_refused() -> None:
    with pytest.raises(ArgumentValueError, match="^max_weight: "):
        square_root_up(10**700)
