"""Names that are published too early or read too narrowly."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_DISCOVERY"]

_PUBLISHED: Final = "lazysketch.heavy_hitters.published_hitters"
_HEAVIEST: Final = "lazysketch.releases.public_table:PublicTable._heaviest"

BUGS_OF_DISCOVERY: Final = (
    PlantedBug(
        name="names-of-the-open-epoch",
        subject="discovery",
        claim="A query ends the open discovery epoch, to show its names.",
        caught_by="tests/unit/heavy_hitters/test_heavy_hitters.py::"
        "test_names_are_published_only_when_an_epoch_ends",
        patch=edited(
            f"{_PUBLISHED}:PublishedHitters._candidates",
            (
                "found = self._table._candidates()",
                "self._table.end_discovery_epoch()\n        found = self._table._candidates()",
            ),
        ),
    ),
    PlantedBug(
        name="epoch-by-its-content",
        subject="discovery",
        claim="A discovery epoch ends when it has seen many different items.",
        caught_by="tests/unit/heavy_hitters/test_heavy_hitters.py::"
        "test_names_are_published_only_when_an_epoch_ends",
        patch=edited(
            "lazysketch.heavy_hitters.heavy_hitters:HeavyHitters.update_many",
            (
                "column=column, threads=threads, user=user)",
                (
                    "column=column, threads=threads, user=user)\n"
                    "    if len(set(items)) > 100:\n"
                    "        self.end_discovery_epoch()"
                ),
            ),
        ),
    ),
    PlantedBug(
        name="names-chosen-without-correction",
        subject="discovery",
        claim="The intervals of the heaviest of many candidates are those of single items.",
        caught_by="tests/unit/heavy_hitters/test_heavy_hitters.py::"
        "test_a_known_domain_is_the_sketch_alone",
        patch=edited(f"{_PUBLISHED}:_KnownNames.hitters", ("among=len(self._whole)", "among=None")),
    ),
    PlantedBug(
        name="parents-chosen-without-correction",
        subject="discovery",
        claim="The intervals of implied parents leave out the candidates that implied them.",
        caught_by="tests/unit/heavy_hitters/test_hierarchical.py::"
        "test_intervals_of_implied_parents_cover_the_published_names_too",
        patch=edited(
            f"{_PUBLISHED}:PublishedHitters._named",
            ("len(items) + len(self._candidates())", "len(items)"),
        ),
    ),
    PlantedBug(
        name="top-of-a-release-without-correction",
        subject="discovery",
        claim="The intervals of the top items of a release are those of single items.",
        caught_by="tests/unit/releases/test_heavy_items.py::"
        "test_top_is_the_head_of_all_simultaneous_intervals[count-min]",
        patch=edited(_HEAVIEST, ("among = max(len(listed), 1)", "among = None")),
    ),
    PlantedBug(
        name="top-of-windows-without-correction",
        subject="discovery",
        claim="The intervals of the top items of windows are those of single items.",
        caught_by="tests/unit/windows/test_questions.py::"
        "test_intervals_of_the_top_cover_the_list_that_it_was_chosen_from",
        patch=edited(_HEAVIEST, ("max(len(listed), 1)", "1 + len(listed) // 2")),
    ),
    PlantedBug(
        name="changes-without-correction",
        subject="discovery",
        claim="The largest of many changes has the interval of a single one.",
        caught_by="tests/unit/windows/test_questions.py::"
        "test_changes_cover_the_list_that_they_were_chosen_from",
        patch=edited(
            "lazysketch.windows.changes:_shares",
            ("among=asked", "among=None"),
            ("/ 2.0 / asked", "/ 2.0"),
        ),
    ),
    PlantedBug(
        name="rows-chosen-without-correction",
        subject="discovery",
        claim="The command's intervals cover the rows that it shows, not the list it chose from.",
        caught_by="tests/unit/cli/commands/test_releases.py::"
        "test_intervals_of_the_rows_cover_the_list_that_they_were_chosen_from",
        patch=edited(_HEAVIEST, ("max(len(listed), 1)", "max(n, 1)")),
    ),
    PlantedBug(
        name="levels-count-events-for-names",
        subject="discovery",
        claim="Levels count events for their names, where weights were asked for.",
        caught_by="tests/unit/heavy_hitters/test_weighted_discovery.py::"
        "test_levels_and_windows_count_weights",
        patch=edited(
            "lazysketch.heavy_hitters.level_tables:specs_of_levels",
            ("counted_weight=discovery_weight", "counted_weight=None"),
        ),
    ),
    PlantedBug(
        name="size-of-an-epoch-by-single-weights",
        subject="discovery",
        claim="The smallest share takes a sum of weights for a number of events.",
        caught_by="tests/unit/heavy_hitters/test_weighted_discovery.py::"
        "test_the_threshold_is_a_sum_of_weights",
        patch=edited(
            "lazysketch.heavy_hitters.discovery_spec:_events_needed",
            (
                'math.ceil(spec.facts["sure_count"] / spec.counted_weight)',
                'spec.facts["sure_count"]',
            ),
        ),
    ),
)
