"""Planted bugs of distributions of values; those of sums in the core are among them."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs_of_ranges import BUGS_OF_RANGES_IN_THE_CORE
from tests.planted.bugs_of_sums import BUGS_OF_SUMS_IN_THE_CORE
from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_VALUES", "BUGS_OF_VALUES_IN_THE_CORE"]

_TREE: Final = "lazysketch.specification.value_tree"
_BINNED: Final = "lazysketch.estimation.binned"
_NOISE: Final = "tests/unit/privacy/test_values_noise.py::"
_COVERAGE: Final = "tests/statistical/test_distribution_coverage.py::"
_ENDS: Final = "tests/unit/estimation/test_binned.py::"
_VALUES: Final = "lazysketch.specification.values"
_PEOPLE: Final = (
    "tests/unit/privacy/test_values_of_people.py::"
    "test_no_person_moves_the_queries_further_than_calibrated"
)

BUGS_OF_VALUES_IN_THE_CORE: Final = (
    *BUGS_OF_SUMS_IN_THE_CORE,
    *BUGS_OF_RANGES_IN_THE_CORE,
    PlantedBug(
        name="values-without-the-substitute",
        subject="sensitivity",
        claim="The node sums of a value that replaces another are calibrated as those of one.",
        caught_by="lib mechanism::value_tree::tests::facts_equal_their_definition",
    ),
    PlantedBug(
        name="values-noise-on-bins",
        subject="sensitivity",
        claim="Counts of bins are published with the noise of nodes, instead of node sums.",
        caught_by="values releases_are_node_sums_and_noise",
    ),
    PlantedBug(
        name="exact-total-of-values",
        subject="distribution",
        claim="The total of a distribution has no noise, as if the number of events were public.",
        caught_by="values releases_are_node_sums_and_noise",
    ),
    PlantedBug(
        name="bins-are-read",
        subject="reuse of draws",
        claim="The count of a bin is published with the noise of a node sum.",
        caught_by="values bins_are_not_read",
    ),
    PlantedBug(
        name="a-bound-for-each-bin",
        subject="sensitivity",
        claim="A person may have so many values in each bin, not in all of them together.",
        caught_by="bounds_of_people a_person_has_one_place_in_a_table_of_sums",
    ),
)

BUGS_OF_VALUES: Final = (
    PlantedBug(
        name="replaced-values-as-one-event",
        subject="sensitivity",
        claim="Noise of values is that of zero-out under substitution too.",
        caught_by=_NOISE
        + "test_no_event_moves_the_queries_further_than_calibrated[substitution-tree-haar]",
        patch=edited(
            f"{_TREE}:ValueTree._facts",
            ('replaced = relation == "substitution"', "replaced = False"),
        ),
    ),
    PlantedBug(
        name="node-sums-of-one-bin",
        subject="accounting",
        claim="The account of floats takes an event for the change of one node sum.",
        caught_by=_NOISE + "test_an_event_that_is_replaced_costs_more_than_one_that_goes[tree]",
        patch=edited(
            f"{_TREE}:ValueTree.changed_nodes", ("return self._facts(relation)[1]", "return 1")
        ),
    ),
    PlantedBug(
        name="ranges-of-independent-prefixes",
        subject="accounting",
        claim="The noise of a range is that of its upper end alone.",
        caught_by=_ENDS + "test_variances_and_ends_are_those_of_the_noise[tree]",
        patch=edited(
            f"{_BINNED}:BinnedCounts._deviations",
            ("self.tree.variances(lows, highs)", "self.tree.variances(0 * lows, highs)"),
        ),
    ),
    PlantedBug(
        name="quantiles-without-half-their-noise",
        subject="accounting",
        claim="A bin may hold a quantile only within half of the deviations of its tests.",
        caught_by=_COVERAGE + "test_intervals_of_values_cover[even-median]",
        patch=edited(
            f"{_BINNED}:BinnedCounts._may_hold",
            ("bound = deviations *", "bound = 0.5 * deviations *"),
        ),
    ),
    PlantedBug(
        name="quantiles-of-an-exact-total",
        subject="accounting",
        claim="The interval of a quantile takes the noisy number of values for the true one.",
        caught_by=_COVERAGE + "test_intervals_of_values_cover[even-95 %]",
        patch=edited(
            f"{_BINNED}:BinnedCounts._may_hold",
            (
                "variances - 2.0 * share * covariances + share * share * self._variance_of_all",
                "variances - 2.0 * share * covariances",
            ),
        ),
    ),
    PlantedBug(
        name="releases-of-values-as-zero-out",
        subject="accounting",
        claim="A release of values states the noise multiplier of events that come or go.",
        caught_by="tests/unit/sketches/test_distribution.py::test_public_facts",
        patch=edited(
            "lazysketch.releases.parts:_sensitivity2_of",
            ('tree, relation=noise["relation"]', 'tree, relation="zero-out"'),
        ),
    ),
    PlantedBug(
        name="values-of-one-person-of-two",
        subject="sensitivity",
        claim="Noise of values covers the person who goes, and not the one who comes instead.",
        caught_by=f"{_PEOPLE}[1-None-substitution-haar-True]",
        patch=edited(
            f"{_VALUES}:node_sums_sensitivity2",
            (" * people_changed(person_bound, relation=relation) ** 2", ""),
        ),
    ),
    PlantedBug(
        name="values-of-a-person-as-one-event",
        subject="sensitivity",
        claim="Noise of values is that of one event, however many of a person are counted.",
        caught_by=f"{_PEOPLE}[2-None-zero-out-haar-True]",
        patch=edited(
            "lazysketch.specification.table_spec:TableSpec._events_per_cell",
            (
                "self.person_bound.events",
                "1 if self.kind == 'values' else self.person_bound.events",
            ),
        ),
    ),
    PlantedBug(
        name="draws-of-one-person-of-values",
        subject="accounting",
        claim="The account of floats takes all people who change for one.",
        caught_by="tests/unit/privacy/test_values_of_people.py::"
        "test_the_account_covers_all_draws_that_people_change[haar]",
        patch=edited(
            f"{_VALUES}:changed_node_sums",
            (" * people_changed(person_bound, relation=relation)", ""),
        ),
    ),
    PlantedBug(
        name="releases-of-people-of-values-as-events",
        subject="accounting",
        claim="A release of values states the noise multiplier of events where it protects people.",
        caught_by="tests/unit/sketches/test_people_of_values.py::"
        "test_a_release_says_who_is_protected",
        patch=edited(
            "lazysketch.releases.parts:_sensitivity2_of",
            (
                'relation=noise["relation"], person_bound=bound)',
                'relation=noise["relation"], person_bound=None)',
            ),
        ),
    ),
    PlantedBug(
        name="option-of-values-of-a-person-ignored",
        subject="sensitivity",
        claim="--per-person is accepted and not passed on.",
        caught_by="tests/unit/cli/commands/test_quantiles_of_people.py::"
        "test_the_guarantee_is_that_of_the_options",
        patch=edited(
            "lazysketch.cli.statistic_options:_EventsOrPeople.person_bound",
            ("self.per_person is None", "True"),
        ),
    ),
    PlantedBug(
        name="values-that-a-single-schedule-forgets",
        subject="estimates",
        claim="An interval does not hold the values that are published at the end only.",
        caught_by="tests/unit/releases/test_pending_events.py::"
        "test_a_distribution_says_nothing_of_values_before_its_end",
        patch=edited(
            f"{_BINNED}:BinnedCounts._range",
            ("high = min(high + self.pending, self.most)", "high = min(high, self.most)"),
        ),
    ),
)
