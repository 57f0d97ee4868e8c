"""Planted bugs of discovery in the core: each is a ``planted!`` in ``rust/core/src/discovery``."""

from __future__ import annotations

from typing import Final

from tests.planted.planted_bug import PlantedBug

_PROPERTIES: Final = "tests/properties/"
_STATISTICAL: Final = "tests/statistical/"
_UNIT: Final = "tests/unit/"

BUGS_OF_DISCOVERY_IN_THE_CORE: tuple[PlantedBug, ...] = (
    PlantedBug(
        name="numeric-delta-of-discovery-not-paid",
        subject="discovery",
        claim="The threshold of names takes all of delta, and the numerics take more.",
        caught_by="lib discovery::spec::tests::the_numeric_part_is_paid",
    ),
    PlantedBug(
        name="hash-of-long-items-in-64-bits",
        subject="discovery",
        claim="The identity of a long item has 64 bits, where delta pays for 128.",
        caught_by="lib discovery::name::tests::hashes_of_long_items_have_128_bits",
    ),
    PlantedBug(
        name="lanes-share-the-first-key",
        subject="discovery",
        claim="Long items that are hashed together get the key of one type.",
        caught_by="lib discovery::keyed_hashes::tests::lanes_equal_the_crate",
    ),
    PlantedBug(
        name="fingerprints-of-each-epoch-at-the-beginning",
        subject="discovery",
        claim="Where an epoch ends in a batch of long items, the sketch counts others for some.",
        caught_by="heavy_sketch long_items_are_counted_as_in_rows",
    ),
    PlantedBug(
        name="threshold-2-low",
        subject="discovery",
        claim="Names are published at 2 below the threshold.",
        caught_by=(
            _UNIT + "heavy_hitters/test_discovery.py::test_names_equal_the_oracle[list of int-1]"
        ),
    ),
    PlantedBug(
        name="discovery-without-noise",
        subject="discovery",
        claim="Names are published by their exact counts.",
        caught_by=_PROPERTIES
        + "test_reach.py::test_many_slots_and_epochs_equal_the_oracle[dictionary]",
    ),
    PlantedBug(
        name="misra-gries-without-shared-noise",
        subject="discovery",
        claim="Misra-Gries draws only the noise of each slot.",
        caught_by=(
            _PROPERTIES + "test_reach.py::test_many_slots_and_epochs_equal_the_oracle[misra-gries]"
        ),
    ),
    PlantedBug(
        name="laplace-scale-5-percent-low",
        subject="discovery",
        claim="Discovery draws at 1.05 epsilon.",
        caught_by=(
            _UNIT + "heavy_hitters/test_discovery_enumeration.py::"
            "test_a_draw_loses_epsilon_exactly[1.0]"
        ),
    ),
    PlantedBug(
        name="selection-rises-5-percent-fast",
        subject="discovery",
        claim="Names are published more often with each event than epsilon allows.",
        caught_by=(
            _UNIT + "heavy_hitters/test_discovery_enumeration.py::"
            "test_counts_of_every_size_are_as_private_as_promised[1-zero-out]"
        ),
    ),
    PlantedBug(
        name="both-rates-are-those-of-one-event",
        subject="discovery",
        claim="A replaced event costs a name that falls or one that rises, and not both.",
        caught_by=(
            _UNIT + "heavy_hitters/test_discovery_enumeration.py::"
            "test_counts_of_every_size_are_as_private_as_promised[1-substitution]"
        ),
    ),
    PlantedBug(
        name="both-geometric-draws-share-a-digit",
        subject="discovery",
        claim="The two geometric variables of a Laplace draw have their first digit in common.",
        caught_by=_STATISTICAL + "test_discovery_noise.py::test_draws_are_discrete_laplace[3.0]",
    ),
    PlantedBug(
        name="one-identity-per-place",
        subject="discovery",
        claim="Long items that begin at the same byte of a batch are one item.",
        caught_by=_UNIT + "heavy_hitters/test_long_items.py::"
        "test_items_at_one_place_that_differ_in_length_are_told_apart",
    ),
    PlantedBug(
        name="places-of-the-last-batch",
        subject="discovery",
        claim="A long item is taken for the one that was at its place in an earlier batch.",
        caught_by=_UNIT + "heavy_hitters/test_long_items.py::"
        "test_memory_that_holds_another_item_in_the_next_batch",
    ),
    PlantedBug(
        name="identity-by-fingerprint",
        subject="discovery",
        claim=("Items are told apart by the public fingerprint, so anyone can make two names one."),
        caught_by=(
            _PROPERTIES + "test_reach.py::"
            "test_items_with_one_fingerprint_have_two_names[6-negative]"
        ),
    ),
    PlantedBug(
        name="eviction-in-the-order-of-slots",
        subject="discovery",
        claim="Misra-Gries evicts by the order of slots instead of the fixed order of keys.",
        caught_by=(
            _PROPERTIES + "test_reach.py::test_many_slots_and_epochs_equal_the_oracle[misra-gries]"
        ),
    ),
    PlantedBug(
        name="slots-in-the-order-of-arrival",
        subject="discovery",
        claim="The noise of a name follows the first events of an epoch, not its secret identity.",
        caught_by=_UNIT
        + "heavy_hitters/test_arrival.py::test_any_order_gives_the_same_names[dictionary]",
    ),
    PlantedBug(
        name="slots-by-half-an-identity",
        subject="discovery",
        claim="Identities that begin alike are ordered as they arrived.",
        caught_by=_UNIT
        + "heavy_hitters/test_arrival.py::test_any_order_gives_the_same_names[dictionary]",
    ),
    PlantedBug(
        name="noise-of-threads-begins-anew",
        subject="discovery",
        claim="Epochs of a batch in several threads have the noise of the first epochs again.",
        caught_by="discovery_in_threads any_number_of_threads_publishes_the_same_names",
    ),
    PlantedBug(
        name="last-thread-says-when-a-name-came",
        subject="discovery",
        claim="A name has the epoch of the thread that published it last.",
        caught_by="discovery_in_threads any_number_of_threads_publishes_the_same_names",
    ),
    PlantedBug(
        name="counts-of-an-epoch-stay",
        subject="discovery",
        claim="An event counts in its epoch and in the next.",
        caught_by=(
            _UNIT + "heavy_hitters/test_discovery.py::test_names_equal_the_oracle[list of int-6]"
        ),
    ),
    PlantedBug(
        name="truncated-names-are-one-name",
        subject="discovery",
        claim="Two long items with the same beginning are published as one.",
        caught_by=(
            _UNIT + "heavy_hitters/test_discovery.py::"
            "test_long_items_are_told_apart_and_published_by_their_beginning"
        ),
    ),
    PlantedBug(
        name="weights-counted-where-not-declared",
        subject="discovery",
        claim="Discovery adds weights that its guarantee does not cover.",
        caught_by=(
            _UNIT + "heavy_hitters/test_discovery.py::"
            "test_without_a_declaration_weights_change_no_name[True]"
        ),
    ),
    PlantedBug(
        name="a-weight-is-a-unit",
        subject="discovery",
        claim="The law of exact counts takes each weight of 1 for an event.",
        caught_by="discovery names_equal_the_definition",
    ),
    PlantedBug(
        name="weights-of-names-are-not-cut",
        subject="discovery",
        claim="The whole weight of an event counts for its name, where less is protected.",
        caught_by="discovery names_equal_the_definition",
    ),
    PlantedBug(
        name="a-weighted-event-is-one-unit-of-misra-gries",
        subject="discovery",
        claim="The noise of Misra-Gries hides a weight of 1, and an event counts for more.",
        caught_by="lib discovery::spec::tests::units_follow_from_the_relation_and_the_user",
    ),
)
