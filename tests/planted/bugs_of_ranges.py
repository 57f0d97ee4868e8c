"""Planted bugs of counts of ranges of keys."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_RANGES", "BUGS_OF_RANGES_IN_THE_CORE"]

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
            ("return min(depth, width.bit_length()) - 1", "return depth - 1"),
        ),
    ),
    PlantedBug(
        name="sign-of-the-half-as-that-of-the-node",
        subject="estimates",
        claim="The sign with which a key counts is taken for that of its node.",
        caught_by=_ANSWERS + "test_every_range_is_exact_without_noise",
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
            ("return cell[0] > exact_coefficients(*self.table.shape)", "return False"),
        ),
    ),
)
