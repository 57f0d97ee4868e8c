"""Planted bugs of counts of ranges of keys."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_RANGES", "BUGS_OF_RANGES_IN_THE_CORE"]

_ALL: Final = "return depth - 1"
_RANGES: Final = "lazysketch.specification.ranges"
_KEYS: Final = "lazysketch.estimation.key_ranges:KeyRanges"
_NOISE: Final = "tests/unit/privacy/test_ranges_noise.py::"
_ANSWERS: Final = "tests/unit/estimation/test_key_ranges.py::"
_COVERAGE: Final = "tests/statistical/test_ranges_coverage.py::"

BUGS_OF_RANGES_IN_THE_CORE: Final = (
    PlantedBug(
        name="halves-of-a-node-with-one-sign",
        subject="sensitivity",
        claim="Both halves of a node add to its cell, so that the cell is no coefficient.",
        caught_by="ranges releases_are_coefficients_and_noise",
    ),
    PlantedBug(
        name="nodes-in-the-cells-of-others",
        subject="sensitivity",
        claim="Packed depths share cells, so that one key adds to one of them more than once.",
        caught_by="ranges releases_are_coefficients_and_noise",
    ),
    PlantedBug(
        name="ranges-with-unsigned-halves",
        subject="sensitivity",
        claim="The core's own check takes a row with collisions for one of a Count-Min.",
        caught_by="ranges the_cores_own_check_covers_a_replaced_key",
    ),
)

BUGS_OF_RANGES: Final = (
    PlantedBug(
        name="replaced-keys-as-one-event",
        subject="sensitivity",
        claim="Noise of ranges is that of zero-out under substitution too.",
        caught_by=_NOISE
        + "test_no_event_moves_the_queries_further_than_calibrated[substitution-haar]",
        patch=edited(
            f"{_RANGES}:ranges_sensitivity2", ('if relation == "zero-out":', "if relation:")
        ),
    ),
    PlantedBug(
        name="all-coefficients-with-a-column",
        subject="sensitivity",
        claim="Rows with collisions count as rows in which each node has a column.",
        caught_by=_NOISE
        + "test_no_event_moves_the_queries_further_than_calibrated[substitution-haar]",
        patch=edited(
            f"{_RANGES}:exact_coefficients",
            ("return sum(2 << row <= (row + 1) * width for row in range(1, depth))", _ALL),
        ),
    ),
    PlantedBug(
        name="sensitivity-of-unpacked-rows",
        subject="sensitivity",
        claim="A depth has cells of its own only where its nodes fit one row.",
        caught_by=_NOISE + "test_the_sensitivity_over_sizes",
        patch=edited(
            f"{_RANGES}:exact_coefficients",
            ("2 << row <= (row + 1) * width", "1 << row <= width"),
        ),
    ),
    PlantedBug(
        name="depths-of-ranges-as-equal-rows",
        subject="sensitivity",
        claim="Depths that change by 4 and by 2 share the sensitivity of a substitution equally.",
        caught_by=_NOISE + "test_depths_that_share_unequally_count_as_fewer_rows",
        patch=edited(f"{_RANGES}:sharing_rows", ('kind != "ranges" or', "kind or")),
    ),
    PlantedBug(
        name="packed-nodes-read-from-others",
        subject="estimates",
        claim="The coefficient of a packed node is read from the cell of another depth.",
        caught_by=_ANSWERS + "test_every_range_is_exact_without_noise[7]",
        patch=edited(f"{_RANGES}:packed_cell", ("(1 << row) + node", "node")),
    ),
    PlantedBug(
        name="sign-of-the-half-as-that-of-the-node",
        subject="estimates",
        claim="The sign with which a key counts is taken for that of its node.",
        caught_by=_ANSWERS + "test_every_range_is_exact_without_noise[7]",
        patch=edited(
            f"{_KEYS}._below",
            ("if bool(flipped[row]) != is_right else", "if bool(flipped[row]) else"),
        ),
    ),
    PlantedBug(
        name="ranges-without-collisions",
        subject="estimates",
        claim="Intervals of ranges have the noise alone, and nothing of what collides.",
        caught_by=_COVERAGE + "test_intervals_of_ranges_cover[heavy-range]",
        patch=edited(
            f"{_KEYS}._collides",
            ("return cell[0] > self._exact", "return False"),
        ),
    ),
)
