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
_OF_PEOPLE: Final = "tests/unit/privacy/test_ranges_of_people.py::"
_MOVED_BY_PEOPLE: Final = _OF_PEOPLE + "test_no_person_moves_the_queries_further_than_calibrated"
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
    PlantedBug(
        name="coefficients-believed-whole",
        subject="estimates",
        claim="Cells of nodes below the noise tell their halves as those of heavy nodes do.",
        caught_by="tests/unit/estimation/test_shrunk_coefficients.py::"
        "test_the_estimates_have_the_least_error_among_multiples_of_the_cells[5.0]",
        patch=edited(
            "lazysketch.estimation.shrunk_coefficients:ShrunkCoefficients.expected",
            ("(own + self.disturbances[depth])", "own"),
        ),
    ),
    PlantedBug(
        name="quantiles-of-the-left-half",
        subject="estimates",
        claim="A share of all keys is one of those in the left half of the domain.",
        caught_by=_ANSWERS + "test_every_quantile_is_exact_without_noise[among1-7]",
        patch=edited(f"{_KEYS}._excess", ("for half in (0, 1):", "for half in (0,):")),
    ),
    PlantedBug(
        name="quantiles-without-errors",
        subject="estimates",
        claim="The low end of a quantile is the key that the counts reach, whatever their noise.",
        caught_by=_COVERAGE + "test_intervals_of_quantiles_cover[even-0.5]",
        patch=edited(f"{_KEYS}.quantile", ("0 if found >= -half", "0 if found >= 0.0")),
    ),
    PlantedBug(
        name="ranges-that-wait-without-weights",
        subject="estimates",
        claim="Keys that are not published yet count as 1 in the intervals of ranges with weights.",
        caught_by="tests/unit/sketches/test_weights_of_ranges.py::test_intervals_hold_weights",
        patch=edited(
            "lazysketch.releases.ranges_release:RangesRelease.count_between",
            ("self._pending * self._max_weight", "self._pending"),
        ),
    ),
    PlantedBug(
        name="keys-of-one-person-of-two",
        subject="sensitivity",
        claim="Noise of ranges covers the person who goes, and not the one who comes instead.",
        caught_by=f"{_MOVED_BY_PEOPLE}[1-None-substitution-True]",
        patch=edited(
            f"{_RANGES}:ranges_sensitivity2",
            (" * people_changed(person_bound, relation=relation) ** 2", ""),
        ),
    ),
    PlantedBug(
        name="keys-of-a-person-as-one-event",
        subject="sensitivity",
        claim="Noise of ranges is that of one event, however many of a person are counted.",
        caught_by=f"{_MOVED_BY_PEOPLE}[2-None-zero-out-True]",
        patch=edited(
            "lazysketch.specification.table_spec:TableSpec._events_per_cell",
            (
                "self.person_bound.events",
                "1 if self.kind == 'ranges' else self.person_bound.events",
            ),
        ),
    ),
    PlantedBug(
        name="people-of-ranges-as-one-substituted-event",
        subject="sensitivity",
        claim="Under substitution people of ranges stay at their steps, as events do.",
        caught_by=_OF_PEOPLE + "test_substituted_events_are_no_substituted_people",
        patch=edited(
            f"{_RANGES}:ranges_sensitivity2",
            ("if person_bound is not None:", "if person_bound and relation == 'zero-out':"),
        ),
    ),
    PlantedBug(
        name="draws-of-one-person-of-ranges",
        subject="accounting",
        claim="The account of floats takes all people who change ranges for one.",
        caught_by=_OF_PEOPLE + "test_the_account_covers_all_draws_that_people_change",
        patch=edited(
            f"{_RANGES}:changed_cells_of_ranges",
            (" * people_changed(person_bound, relation=relation)", ""),
        ),
    ),
    PlantedBug(
        name="releases-of-people-of-ranges-as-events",
        subject="accounting",
        claim="A release of ranges states the noise multiplier of events where it protects people.",
        caught_by="tests/unit/sketches/test_people_of_ranges.py::"
        "test_a_release_says_who_is_protected",
        patch=edited(
            "lazysketch.releases.parts:_sensitivity2_of",
            ("depth, width, relation, person_bound=bound", "depth, width, relation"),
        ),
    ),
)
